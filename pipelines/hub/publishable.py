"""Which releases may be published at all, and how their files compare with what a repository holds."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from builders.catalogue import Definition
from builders.errors import FindingsError, PublishError
from builders.licenses import describe_license, permits_commercial_use, permits_derivatives, permits_redistribution
from builders.tasks import Contrastive, config_folder
from cards.manifest import Manifest, decode, encode
from pipelines.audit import integrity
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.repository import Snapshot, file_digests, find_differences, listed_digests
from pipelines.raw.pins import is_waiting
from pipelines.release import comparison, fingerprint, folder, ledger
from pipelines.release.loading import find_loading_faults

TODO_RIGHTS = (
    "publish it only if you hold the rights or were given them: then pass --i-have-the-rights to embedding-datasets"
    " publish"
)


def require_publishable(
    definition: Definition, release_dir: Path, *, rights: bool, sample: bool, ledger_file: Path
) -> Manifest:
    """The manifest of a release that may be published.

    rights: the user has the rights that `require_rights` asks for. sample: publish samples and parts too.

    Raises PublishError for a release that is missing, damaged, incomplete or not licensed, or whose rows are not those in the
    ledger; FindingsError for defects in its rows; ReleaseError where its digests may be those of a wrong cache.
    """
    dataset = definition.dataset
    name = f"{dataset.name}@{release_dir.name}"
    require_rights(definition, release_dir.name, rights=rights)
    if not sample and is_waiting(definition, release_dir.name):
        raise PublishError(
            f"{name} waits for decide",
            where=str(release_dir),
            found="no digest of its keys is known",
            todo="build it with the keys, and accept the build report",
        )
    manifest = folder.read_manifest(release_dir)
    if manifest is None:
        raise PublishError(
            f"{name}: no release to publish", where=str(release_dir), todo=f"build it: embedding-datasets build {name}"
        )
    if not sample and not manifest.complete:
        what = "a sample" if manifest.sample else "a part of the dataset"
        raise PublishError(
            f"{name}: {what} is never published", where=str(release_dir), todo="build the complete dataset"
        )
    moving = [file.name for file in manifest.raw if file.name in definition.source.moving and not file.verified]
    if moving and not manifest.sample:
        raise PublishError(
            f"{name}: a version that its publisher may change is never published",
            where=str(release_dir),
            found=f"no commit of {', '.join(moving)}",
            todo="accept the build report, which brings the commit (docs/first-contact.md); then build it again",
        )
    if (manifest.dataset, manifest.version) != (dataset.name, release_dir.name):
        raise PublishError(f"{name}: its folder holds another release", where=str(release_dir), found=manifest.name)
    problems = folder.verify_release(release_dir, manifest) + folder.edited_documents(release_dir, manifest)
    if problems:
        raise PublishError(
            f"{name}: the release is damaged",
            where=str(release_dir),
            found=problems[0],
            todo=f"build it again: embedding-datasets build {name} --force",
        )
    fingerprint.verify_cached_imports(definition.entry.module)
    _refuse_defects(definition, release_dir, manifest)
    recorded = ledger.find_entry(dataset.name, release_dir.name, ledger_file)
    if recorded is not None and recorded.content_sha256 != manifest.content_sha256 and not manifest.sample:
        raise PublishError(
            f"{name}: its rows are not those in the ledger",
            where=str(ledger_file),
            found=comparison.describe_difference(recorded.tables, manifest.tables),
            todo="give the change a new version",
        )
    return manifest


def require_rights(definition: Definition, version: str, *, rights: bool) -> None:
    """Refuse a dataset whose licence does not permit publishing it. rights: the user says that they may publish it.

    A licence that forbids derivatives is refused without `rights`; for training data, whatever the user says. Training data are
    also refused without `rights` where the licence is unknown or forbids commercial use (`unclear_licence`).

    Raises PublishError.
    """
    source, licence = definition.source, definition.license
    training = isinstance(definition.dataset.task, Contrastive)
    reason = unclear_licence(definition)
    todo: str | None = TODO_RIGHTS
    if not permits_derivatives(licence):
        reason = "does not permit publishing derivatives"
        if training:
            rights, todo = False, "keep it on your machines: training data are not published under such a licence"
    if reason and not rights:
        raise PublishError(
            f"{definition.dataset.name}@{version}: licence {licence} {reason}",
            where=source.homepage,
            found=source.license_note or (describe_license(licence) if training else None),
            todo=todo,
        )


def unclear_licence(definition: Definition) -> str | None:
    """Why the licence of training data is not enough to publish them without rights of one's own; None where it is.

    None also for benchmark datasets: they are there to be compared, training data to be built on.
    """
    if not isinstance(definition.dataset.task, Contrastive):
        return None
    if not permits_redistribution(definition.license):
        return "is not known to permit publishing training data"
    return None if permits_commercial_use(definition.license) else "does not permit commercial use of training data"


def _refuse_defects(definition: Definition, release_dir: Path, manifest: Manifest) -> None:
    """Refuse rows with defects. The rows themselves are audited, because a manifest can be edited."""
    frames = folder.scan_tables(release_dir, manifest.tables)
    found = integrity.audit_integrity(definition.dataset.task, frames, manifest.splits, sample=manifest.sample)
    errors = [
        f"{finding.kind} in {finding.location}: {finding.count}"
        for finding in (rows.finding for rows in found)
        if finding.severity == "error"
    ]
    errors += [finding.kind for finding in manifest.findings if finding.severity == "error"]
    if errors:
        raise FindingsError("blocking defects in the rows", where=str(release_dir), found="; ".join(errors))


def refuse_another_dataset(where: str, published: Manifest | None, ours: Manifest) -> None:
    """Refuse to publish where there is a release of another dataset."""
    if published is not None and published.dataset != ours.dataset:
        raise PublishError(
            "the repository holds another dataset", where=where, found=published.dataset, expected=ours.dataset,
            todo="choose another --org or --repo-name",
        )  # fmt: skip


def refuse_other_content(where: str, published: Manifest | None, ours: Manifest) -> Manifest:
    """Refuse to publish a version that is published with other rows; returns the published manifest."""
    refuse_another_dataset(where, published, ours)
    if published is None or published.content_sha256 != ours.content_sha256:
        raise PublishError(
            f"{ours.name} is published with other content, and a published version never changes",
            where=where,
            found=comparison.describe_difference(ours.tables, published.tables) if published else "no manifest of ours",
            todo="give the change a new version",
        )
    return published


def digest_faults(repo: str, at: Snapshot, writes: Mapping[str, bytes | Path], manifest: Manifest) -> list[str]:
    """The faults of a snapshot that should hold the files of a release and load as it, by the Hub's digests."""
    differences = find_differences(at, writes, file_digests(manifest))
    return differences + find_loading_faults(at.digests, content_of(writes[folder.CARD]), manifest, repo)


def different_documents(hub: HubClient, repo: str, at: Snapshot, writes: Mapping[str, bytes | Path]) -> list[str]:
    """The documents of a snapshot that are not the planned ones; of the manifest, time and tools may differ.

    A card may be edited together with its digest in the manifest. Only what has another digest is fetched.
    """
    faults = []
    for path in filter(writes.__contains__, (*folder.DOCUMENTS, folder.MANIFEST)):
        if at.digests.get(path, "") in listed_digests(writes[path]):
            continue
        published, ours = repository.read_file(hub, repo, at, path), content_of(writes[path])
        if path == folder.MANIFEST and published is not None:
            published, ours = (encode(replace(decode(one, path), built_at="", tools={})) for one in (published, ours))
        if published != ours:
            faults.append(f"{path} is not the one of the release")
    return faults


def content_of(file: bytes | Path) -> bytes:
    """The content of a planned file."""
    return file if isinstance(file, bytes) else file.read_bytes()


def stale_files(at: Snapshot, manifests: Sequence[Manifest], wanted: Container[str]) -> list[str]:
    """The files of an older release: Parquet in the folders of the manifests' configs, and documents that this one lacks.

    Everything else is somebody else's.
    """
    folders = {config_folder(table.config) for manifest in manifests for table in manifest.tables}
    documents = {name for manifest in manifests for name in folder.document_names(manifest)}
    paths = [PurePosixPath(path) for path in at.digests if path not in wanted]
    return [
        str(path)
        for path in paths
        if str(path) in documents or (path.suffix == ".parquet" and str(path.parent) in folders)
    ]


def refuse_other_files(repo: str, paths: Iterable[str], writes: Mapping[str, bytes | Path], manifest: Manifest) -> None:
    """Refuse to commit beside files of others that would be loaded with the release, or instead of it."""
    if faults := find_loading_faults(paths, content_of(writes[folder.CARD]), manifest, repo):
        raise PublishError(
            "load_dataset would not give the rows of the release",
            where=repo,
            found="; ".join(faults),
            todo="remove these files on the Hub, then run the command again",
        )
