"""What a release asks to be built, looked up in the catalogue of this package.

A manifest is foreign data. It says which dataset, version, splits and limit, and the digests of raw files; each is compared with
what the catalogue has. Its addresses are not fetched, its paths not opened, its module not imported.
"""

from dataclasses import dataclass
from pathlib import Path

from builders import catalogue
from builders.catalogue import Definition
from builders.errors import SourceError
from cards.manifest import Manifest, options_as_read
from pipelines.raw.inputs import GOLDEN, golden_input, missing_golden_files
from pipelines.release import fingerprint

SHOWN = 200  # characters of what a manifest says
LARGEST_LIMIT = 2**31 - 1  # what every library counts rows with


@dataclass(frozen=True)
class Rebuild:
    """A build that should give the rows of a release.

    splits: only these, None for all. golden: from the golden sample. digests: sha256 of the raw files by name, as the manifest of
    the release says.
    """

    definition: Definition
    version: str
    splits: tuple[str, ...] | None
    golden: bool
    limit: int | None
    digests: dict[str, str]

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
        recipe = manifest.recipe
        return recipe.sha256 == fingerprint.recipe_sha256(module) and recipe.options == options


def plan_rebuild(manifest: Manifest, golden: Path = GOLDEN) -> Rebuild:
    """The build that a manifest asks for. golden: the folder of all golden samples.

    Raises SourceError for a dataset, version, split or limit that this package does not have.
    """
    entry = catalogue.entries().get(manifest.dataset)
    if entry is None:
        raise SourceError("this package has no such dataset", found=manifest.dataset[:SHOWN])
    definition = catalogue.load(entry)
    dataset = definition.dataset
    if manifest.version not in dataset.versions:
        expected = ", ".join(dataset.versions)
        raise SourceError(
            f"this package has no such version of {dataset.name}", found=manifest.version, expected=expected
        )
    splits = tuple(split for split in dataset.task.splits if split in manifest.splits)
    if not splits or set(splits) != set(manifest.splits):
        found, expected = ", ".join(manifest.splits)[:SHOWN] or "none", ", ".join(dataset.task.splits)
        raise SourceError(f"this package has other splits of {dataset.name}", found=found, expected=expected)
    if manifest.limit is not None and not 1 <= manifest.limit <= LARGEST_LIMIT:
        raise SourceError("no build has such a limit", found=str(manifest.limit), expected=f"from 1 to {LARGEST_LIMIT}")
    digests = {raw.name: raw.sha256 for raw in manifest.raw}
    chosen = None if splits == dataset.task.splits else splits
    rebuild = Rebuild(definition, manifest.version, chosen, False, manifest.limit, digests)
    # A part of the real files is marked as a sample too: the digests tell the two apart.
    is_golden = manifest.sample and (manifest.limit is None or _are_golden(rebuild, golden))
    return Rebuild(definition, manifest.version, chosen, is_golden, manifest.limit, digests)


def _are_golden(rebuild: Rebuild, golden: Path) -> bool:
    """Whether the digests are those of the golden sample."""
    source, keys = rebuild.definition.source, rebuild.keys
    if missing_golden_files(source, keys, golden):
        return False
    entries = [golden_input(source, key, golden, limit=None).entry for key in keys]
    return {entry.name: entry.sha256 for entry in entries} == rebuild.digests
