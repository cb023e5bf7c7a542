"""What a release asks to be built again: version, options, raw files by their digests, and the libraries that made it.

A manifest is untrusted. Its dataset, version, splits, limit and digests are compared with the catalogue; its addresses are not
fetched, its paths not opened, its module not imported. Only a commit in hex and plain version numbers get into a command.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from builders import catalogue
from builders.errors import DatasetError, SourceError
from builders.spec import AS_PUBLISHED
from cards.manifest import Manifest, options_as_read
from pipelines.process import installation
from pipelines.process.stages import stage
from pipelines.raw.locations import GOLDEN, golden_input, locate, missing_golden_files, placement, require_golden
from pipelines.raw.settings import RawSettings, make_request, stored_file
from pipelines.release import fingerprint

SHOWN = 200  # characters of what a manifest says
LARGEST_LIMIT = 2**31 - 1  # what every library counts rows with


@dataclass(frozen=True)
class Rebuild:
    """A build that should give the rows of a release.

    splits: only these, None for all. golden: from the golden sample. digests: sha256 of the raw files by name, as the manifest of
    the release says. partial: published rows may be missing, as in the release.
    """

    definition: catalogue.Definition
    version: str
    splits: tuple[str, ...] | None
    golden: bool
    limit: int | None
    digests: dict[str, str]
    partial: bool

    @property
    def keys(self) -> list[str]:
        """The keys of the raw files that it reads."""
        splits = catalogue.requested_splits(self.definition, self.splits)
        return catalogue.needed_files(self.definition, splits, self.version)

    @property
    def other_files(self) -> list[str]:
        """The raw files that only one of the two reads: this package, or the build of the release."""
        own = {self.definition.source.files[key].name for key in self.keys}
        return sorted(own ^ self.digests.keys())

    def has_recipe_of(self, manifest: Manifest) -> bool:
        """Whether this package has the recipe that made a release: the same code and the same options."""
        module = self.definition.entry.module
        options = options_as_read(self.definition.dataset.options(self.version, sample=self.golden))
        options |= {"partial": True} if self.partial else {}
        recipe = manifest.recipe
        return recipe.sha256 == fingerprint.recipe_sha256(module) and recipe.options == options


def plan_rebuild(manifest: Manifest) -> Rebuild:
    """The build that a manifest asks for.

    Raises SourceError for a dataset, version, split or limit that this package does not have.
    """
    entry = catalogue.entries().get(manifest.dataset)
    if entry is None:
        raise SourceError("this package has no such dataset", found=manifest.dataset[:SHOWN])
    definition = catalogue.load(entry)
    dataset = definition.dataset
    if manifest.version not in dataset.versions:
        raise SourceError(
            f"this package has no such version of {dataset.name}",
            found=manifest.version,
            expected=", ".join(dataset.versions),
        )
    splits = tuple(split for split in dataset.task.splits if split in manifest.splits)
    if not splits or set(splits) != set(manifest.splits):
        raise SourceError(
            f"this package has other splits of {dataset.name}",
            found=", ".join(manifest.splits)[:SHOWN] or "none",
            expected=", ".join(dataset.task.splits),
        )
    if manifest.limit is not None and not 1 <= manifest.limit <= LARGEST_LIMIT:
        raise SourceError("no build has such a limit", found=str(manifest.limit), expected=f"from 1 to {LARGEST_LIMIT}")
    digests = {raw.name: raw.sha256 for raw in manifest.raw}
    chosen = None if splits == dataset.task.splits else splits
    partial = manifest.version == AS_PUBLISHED and manifest.recipe.options.get("partial") is True
    rebuild = Rebuild(definition, manifest.version, chosen, False, manifest.limit, digests, partial)
    # A part of the real files is marked as a sample too: the digests tell the two apart.
    is_golden = manifest.sample and not manifest.unpinned and (manifest.limit is None or _are_golden(rebuild))
    return replace(rebuild, golden=is_golden)


def _are_golden(rebuild: Rebuild) -> bool:
    """Whether the digests are those of the golden sample."""
    source, keys = rebuild.definition.source, rebuild.keys
    if missing_golden_files(source, keys, GOLDEN):
        return False
    entries = [golden_input(source, key, GOLDEN, limit=None).entry for key in keys]
    return {entry.name: entry.sha256 for entry in entries} == rebuild.digests


COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})(-dirty)?")
VERSION = re.compile(r"\d[0-9A-Za-z.+!_-]{0,40}", re.ASCII)
COMMIT_KEY = "commit"


def known_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """What a manifest says of the package, Python and the libraries that take part in a build; nothing else that it may say."""
    versions = {name: tools[name] for name in fingerprint.tools() if VERSION.fullmatch(tools.get(name, ""))}
    commit = tools.get(COMMIT_KEY, "")
    return versions | ({COMMIT_KEY: commit} if COMMIT.fullmatch(commit) else {})


def how_to_install(tools: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """The steps that install what made a release, a line each; empty where it is what runs here.

    tools: of the release. own: of this package.
    """
    made_by = known_tools(tools)
    commit, version = made_by.get(COMMIT_KEY, ""), made_by.get(installation.NAME, "")
    libraries = [
        f"{name}=={value}"
        for name, value in made_by.items()
        if name not in {COMMIT_KEY, installation.NAME, "python"} and own.get(name) != value
    ]
    steps = []
    if commit and commit != own.get(COMMIT_KEY):
        sha = commit.removesuffix("-dirty")
        folder = f"../{installation.NAME}-{sha[:12]}"
        steps += [f"git worktree add {folder} {sha}", f"python -m pip install {folder}"]
    elif not commit and version and version != own.get(installation.NAME):
        steps.append(f"python -m pip install {installation.NAME}=={version}")
    if libraries:
        steps.append(f"python -m pip install {' '.join(libraries)}")
    return steps


OTHER_VERSION = "build with the version of the package that made the release"


def gather_raw_files(rebuild: Rebuild, settings: RawSettings, folder: Path) -> list[DatasetError]:
    """Link the raw files of a rebuild into a folder, laid out as for --raw-dir; a golden sample is only compared.

    Returns the errors, one for every file that is missing or has another digest than the release was built from: nothing
    is to be built then.

    Raises UsageError where the --raw-dir of the settings does not exist.
    """
    problems: dict[tuple[str | None, ...], DatasetError] = {}
    with stage("raw files", total=len(rebuild.keys), unit="files") as advance:
        for problem in _compare_golden(rebuild) if rebuild.golden else _link_files(rebuild, settings, folder):
            advance(1)
            if problem is None:
                continue
            key = (problem.what, problem.where, problem.found, problem.todo)
            if (same := problems.get(key)) is not None:  # one archive, and another file in it
                same.expected = "; ".join(filter(None, dict.fromkeys((same.expected, problem.expected))))
            problems.setdefault(key, problem)
    return list(problems.values())


def _compare_golden(rebuild: Rebuild) -> Iterator[DatasetError | None]:
    source = rebuild.definition.source
    require_golden(source, rebuild.keys, GOLDEN)
    for key in rebuild.keys:
        entry = golden_input(source, key, GOLDEN, limit=None).entry
        expected = rebuild.digests.get(entry.name)
        wrong = expected not in (None, entry.sha256)
        where = str(GOLDEN / source.name / "raw" / entry.name)
        yield (
            _other_file(f"{source.name}/{entry.name}", where, entry.sha256, expected, OTHER_VERSION) if wrong else None
        )


def _link_files(rebuild: Rebuild, settings: RawSettings, folder: Path) -> Iterator[DatasetError | None]:
    """For each raw file the error, or None once it is linked."""
    source = rebuild.definition.source
    for key in rebuild.keys:
        file = source.files[key]
        name, expected = f"{source.name}/{file.name}", rebuild.digests.get(file.name)
        try:
            request = make_request(source, file, settings)
            pinned = request.pin.sha256
            if expected and pinned and pinned != expected:
                yield _other_file(name, f"the catalogue ({request.pin.provenance})", pinned, expected, OTHER_VERSION)
                continue
            found = locate(source, key, settings, limit=rebuild.limit)
        except SourceError as error:
            yield _missing_file(error, name, expected)
            continue
        if expected not in (None, found.sha256):
            member = f": {found.raw.member}" if found.raw.member else ""
            yield _other_file(
                name,
                f"{found.raw.path}{member}",
                found.sha256,
                expected,
                f"find the file of this digest and {placement(request)}",
            )
            continue
        stored = file if found.raw.member is None else stored_file(file)
        link = folder / source.name / stored.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():  # as an archive does that several files are in
            try:
                link.symlink_to(found.raw.path.resolve())
            except OSError:  # the system allows no links
                shutil.copyfile(found.raw.path, link)
        yield None


def _missing_file(error: SourceError, name: str, expected: str | None) -> SourceError:
    """The error for a raw file that was not found, with the digest that the manifest of the release has."""
    if error.missing is None or expected is None:
        return error
    wanted = f"{name} with sha256 {expected} (in the manifest of the release)"
    return SourceError(error.what, where=error.where, found=error.found, expected=wanted, todo=error.todo)


def _other_file(name: str, where: str, found: str, expected: str | None, todo: str) -> SourceError:
    return SourceError(
        f"{name} is not the file that the release was built from",
        where=where,
        found=f"sha256 {found}",
        expected=f"sha256 {expected} (in the manifest of the release)",
        todo=todo,
    )
