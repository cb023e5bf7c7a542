"""What publishing a release would do: every rule of it, and nothing done yet.

A release is published when its rows are sound, whole and licensed, and when its repository holds the same dataset in no newer
version. A version that was published never changes.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from builders.errors import FindingsError, PublishError, ReleaseError, UsageError
from builders.spec import version_key
from builders.tasks import config_folder
from pipelines.audit import integrity
from pipelines.hub import client
from pipelines.release import comparison, ledger, staging
from pipelines.release.verification import verify_release

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from builders.catalogue import Definition
    from pipelines.hub.client import HubClient, Snapshot

NEW, UNTAGGED, DONE = "to be published", "to be tagged", "already published"
FRONT_MATTER = re.compile(r"---\r?\n(.*?\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
# The keys that a card of ours may have; all others in a card on the Hub are somebody's own.
OUR_KEYS = frozenset(
    {
        "annotations_creators", "configs", "dataset_info", "language", "license", "license_link", "license_name",
        "multilinguality", "pretty_name", "size_categories", "source_datasets", "tags", "task_categories", "task_ids",
    }
)  # fmt: skip


@dataclass(frozen=True)
class PublishOptions:
    """What the command line says about how to publish.

    repo_name: instead of the dataset's name. private: create the repository as a private one. create_pr: open a pull request
    instead of committing. message: of the commit. rights: whoever publishes may, though the licence forbids derivatives.
    cache: where releases of the Hub are kept. sample: publish samples and parts too; for tests, on no command line.
    """

    org: str
    cache: Path
    repo_name: str | None = None
    private: bool = False
    create_pr: bool = False
    message: str | None = None
    rights: bool = False
    ledger: Path = ledger.LEDGER
    sample: bool = False


@dataclass(frozen=True)
class Plan:
    """What publishing a release would do.

    at: the repository as it is: main, or the tag (None: there is no repository). writes: content or path on disk, by path in
    the repository. kept: those of them that it has already. deletes: stale files. against: the newest version with a tag.
    changes: what becomes of the tables of that one. notes: what else whoever publishes should know.
    """

    repo: str
    version: str
    state: str
    manifest: Mapping[str, Any] = field(repr=False)
    at: Snapshot | None = None
    writes: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False)
    kept: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    against: str | None = None
    changes: tuple[comparison.Change, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """What the version is called on the Hub."""
        return f"v{self.version}"

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file to write."""
        return {
            path: len(content) if isinstance(content, bytes) else content.stat().st_size
            for path, content in self.writes.items()
        }


def repository_name(built: Definition, order: PublishOptions) -> str:
    """The repository of a dataset: `ORG/<dataset name>` unless the order names another.

    Raises UsageError for a name that the Hub does not take.
    """
    repo = f"{order.org}/{order.repo_name or built.dataset.name}"
    if not client.REPOSITORY.fullmatch(repo):
        raise UsageError("this is no name of a repository", found=repo, expected="ORG/NAME", todo="correct --org")
    return repo


def make_plan(built: Definition, place: Path, order: PublishOptions, hub: HubClient) -> Plan:
    """What publishing the release at a place would do; nothing is changed on the Hub.

    Raises PublishError where the release may not be published, FindingsError for defects in its rows.
    """
    manifest = _publishable(built, place, order)
    repo, version = repository_name(built, order), manifest["version"]
    notes = [f"unverified raw file: {raw['name']}" for raw in manifest["raw"] if not raw["verified"]]
    at = client.snapshot(hub, repo)
    if at is None:
        return Plan(repo, version, NEW, manifest, None, _files(place, manifest), notes=tuple(notes))
    if order.private and not at.private:
        raise PublishError(
            "the repository is public: --private is for those that publishing creates",
            where=repo, todo="make it private on its settings page, or leave --private out",
        )  # fmt: skip
    tagged = client.list_versions(hub, repo)
    if version in tagged:
        at = require_same_rows(hub, repo, f"v{version}", manifest, order)
        return Plan(repo, version, DONE, manifest, at, notes=tuple(notes))
    theirs = client.read_manifest_at(hub, repo, at)
    _refuse_misplaced(repo, theirs, manifest, tagged)
    if theirs is not None and theirs["version"] == version:
        _refuse_other_content(f"{repo} at main", theirs, manifest)
        if not find_faults(hub, repo, at, order.cache):
            return Plan(repo, version, UNTAGGED, manifest, at, notes=tuple(notes))
        notes.append("main holds a damaged copy of this release: it is written anew")
    writes: dict[str, bytes | Path] = dict(_files(place, manifest))
    writes[staging.CARD], others = _merged(place, client.read_file(hub, repo, at, staging.CARD))
    notes += [f"kept in the card's front matter, as it is on the Hub: {', '.join(others)}"] if others else []
    against, changes = tagged[0] if tagged else None, list[comparison.Change]()
    newest = client.snapshot(hub, repo, f"v{against}") if against else None
    if newest is not None:
        try:
            changes = comparison.compare_tables(fetch_verified(hub, repo, newest, order.cache), place)
        except ReleaseError as error:
            notes.append(f"v{against} cannot be compared with: {error.what}")
    kept = tuple(file["path"] for file in staging.files_of(manifest) if at.digests.get(file["path"]) == file["sha256"])
    deletes = tuple(stale_files(at, [manifest, *([theirs] if theirs else [])], writes))
    return Plan(repo, version, NEW, manifest, at, writes, kept, deletes, against, tuple(changes), tuple(notes))


def _publishable(built: Definition, place: Path, order: PublishOptions) -> dict[str, Any]:
    """The manifest of a release that may be published."""
    name = f"{built.dataset.name}@{place.name}"
    if "nd" in built.source.license.lower().split("-") and not order.rights:
        raise PublishError(
            f"{name}: its licence, {built.source.license}, forbids to publish what is derived from the source",
            where=built.source.homepage,
            found=built.source.license_note or None,
            todo="publish it only if you hold the rights or were given them: then say --i-have-the-rights",
        )
    if staging.read_manifest(place) is None:
        todo = f"build it: python -m pipelines.build {name}"
        raise PublishError(f"{name}: there is no release to publish", where=str(place), todo=todo)
    manifest = comparison.manifest_of(place)
    for mark in ("sample", "partial"):
        if manifest[mark] and not order.sample:
            what = "a sample" if mark == "sample" else "a part of the dataset"
            raise PublishError(f"{name}: {what} is never published", where=str(place), todo="build the whole of it")
    if (manifest["dataset"], manifest["version"]) != (built.dataset.name, place.name):
        found = f"{manifest['dataset']}@{manifest['version']}"
        raise PublishError(f"{name}: another release lies in its place", where=str(place), found=found)
    problems = verify_release(place, manifest)
    if problems:
        todo = f"build it again: python -m pipelines.build {name} --force"
        raise PublishError(f"{name}: the release is damaged", where=str(place), found=problems[0], todo=todo)
    _refuse_defects(built, place, manifest)
    known = ledger.find_entry(built.dataset.name, place.name, order.ledger)
    if known is not None and known["content_sha256"] != manifest["content_sha256"] and not manifest["sample"]:
        raise PublishError(
            f"{name}: its rows are not those that the ledger knows of this version",
            where=str(order.ledger), found=staging.difference(known, manifest), todo="give the change a new version",
        )  # fmt: skip
    return manifest


def _refuse_defects(built: Definition, place: Path, manifest: Mapping[str, Any]) -> None:
    """The rows themselves are asked: a manifest could have been written over."""

    frames = staging.frames_of(place, manifest)
    found = integrity.check_integrity(built.dataset.task, frames, tuple(manifest["splits"]), sample=manifest["sample"])
    errors = [f"{one.kind} in {one.location}: {one.count}" for one in found if one.severity == "error"]
    errors += [one["kind"] for one in manifest["findings"] if one["severity"] == "error"]
    if errors:
        raise FindingsError("defects in the rows forbid to publish them", where=str(place), found="; ".join(errors))


def _refuse_another_dataset(where: str, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> None:
    if theirs is not None and theirs["dataset"] != ours["dataset"]:
        raise PublishError(
            "the repository holds another dataset", where=where, found=theirs["dataset"], expected=ours["dataset"],
            todo="choose another --org or --repo-name",
        )  # fmt: skip


def _refuse_other_content(where: str, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> None:
    _refuse_another_dataset(where, theirs, ours)
    if theirs is None or theirs["content_sha256"] != ours["content_sha256"]:
        raise PublishError(
            f"{ours['dataset']}@{ours['version']} is published with other content, and what was published never changes",
            where=where,
            found=staging.difference(ours, theirs) if theirs else "no manifest of this package",
            todo="give the change a new version",
        )


def _refuse_misplaced(repo: str, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any], tagged: list[str]) -> None:
    """The main branch of a repository holds the newest version."""
    _refuse_another_dataset(repo, theirs, ours)
    newest = max([ours["version"], *tagged, *([theirs["version"]] if theirs else [])], key=version_key)
    if newest != ours["version"]:
        raise PublishError(
            f"{ours['dataset']}@{ours['version']}: a newer version was published, and would be replaced by this one",
            where=repo, found=newest, todo="publish versions from the oldest to the newest",
        )  # fmt: skip


def require_same_rows(
    hub: HubClient, repo: str, revision: str, manifest: Mapping[str, Any], order: PublishOptions
) -> Snapshot:
    """The repository at a revision that holds exactly the rows of a manifest.

    The Hub's digests of the data files tell, where they are those of ours; else the files are fetched and their rows hashed.

    Raises PublishError where it holds anything else.
    """
    at, where = client.snapshot(hub, repo, revision), f"{repo} at {revision}"
    if at is None:
        raise PublishError("there is no such revision any more", where=where, todo="run the command again")
    _refuse_other_content(where, client.read_manifest_at(hub, repo, at), manifest)
    if any(at.digests.get(file["path"]) != file["sha256"] for file in staging.files_of(manifest)):
        wrong = find_faults(hub, repo, at, order.cache)
        if wrong:
            raise PublishError("what is published is not what its manifest says", where=where, found="; ".join(wrong))
    return at


def find_faults(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> list[str]:
    """What is wrong with the release at a snapshot: its files, its rows, or files of another release that load with it."""
    try:
        manifest = comparison.manifest_of(fetch_verified(hub, repo, at, cache))
    except ReleaseError as error:
        return [f"{error.what}: {error.found}" if error.found else error.what]
    named = {file["path"] for file in staging.files_of(manifest)}
    return [f"{path} is of another release" for path in stale_files(at, [manifest], named)]


def fetch_verified(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> Path:
    """The folder of a release on the Hub, fetched, whose files and rows are those of its manifest.

    Raises ReleaseError where they are not.
    """
    place = client.fetch_release(hub, repo, at, cache)
    problems = verify_release(place, comparison.manifest_of(place))
    if problems:
        shutil.rmtree(place)  # if the copy is at fault, the next run makes a new one
        raise ReleaseError("the release on the Hub is not what its manifest says", where=repo, found=problems[0])
    return place


def stale_files(at: Snapshot, manifests: Iterable[Mapping[str, Any]], wanted: Container[str]) -> list[str]:
    """The files of an older release: Parquet in the folders of the configs of some manifests. All else is somebody's own."""
    folders = {config_folder(table["config"]) for manifest in manifests for table in manifest["tables"]}
    paths = [PurePosixPath(path) for path in at.digests if path not in wanted]
    return [str(path) for path in paths if path.suffix == ".parquet" and str(path.parent) in folders]


def _files(place: Path, manifest: Mapping[str, Any]) -> dict[str, bytes | Path]:
    names = [staging.CARD, staging.MANIFEST, staging.STATISTICS, *(file["path"] for file in staging.files_of(manifest))]
    return {name: place / name for name in names}


def _merged(place: Path, theirs: bytes | None) -> tuple[bytes | Path, list[str]]:
    """The card with the keys that somebody added to the front matter of the one on the Hub, and which these are."""

    path = place / staging.CARD
    head = FRONT_MATTER.match((theirs or b"").decode("utf-8", "replace").removeprefix("\ufeff"))
    try:
        found = yaml.safe_load(head[1] or "") if head else None
    except yaml.YAMLError:
        found = None  # the Hub shows such a card as one without metadata
    others = {key: value for key, value in found.items() if key not in OUR_KEYS} if isinstance(found, dict) else {}
    if not others:
        return path, []
    card = path.read_text("utf-8")
    ours = FRONT_MATTER.match(card)
    if ours is None:
        raise ReleaseError("the card has no front matter", where=str(path), todo="build the release again with --force")
    added = yaml.safe_dump(others, sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{ours[1]}{added}---\n{card[ours.end() :]}".encode(), [str(key) for key in others]
