"""The dataset repositories of an organisation on the Hub: which of them hold a dataset of this package, what is wrong with them,
and the collections that show them together.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

import msgspec
from huggingface_hub import Collection as HubCollection
from huggingface_hub import get_session, hf_raise_for_status

from builders import catalogue
from builders.errors import UsageError
from builders.spec import TRAINING, Dataset
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.inspection import PublishedDataset, inspect_dataset, inspect_mirror
from pipelines.hub.revisions import Expectations, Repository, Revision
from pipelines.process.tables import cut_middle, fact, facts, wrap
from pipelines.raw.mirrors import repository_name
from pipelines.release import folder

logger = logging.getLogger(__name__)

Item = TypeVar("Item")

MAX_PAGES = 1000  # of a listing; the Hub sends hundreds of repositories a page


@dataclass(frozen=True)
class _File:
    rfilename: str


@dataclass(frozen=True)
class Listed:
    """A repository in the Hub's listing. siblings: its files at main, which the Hub may leave out."""

    id: str
    siblings: tuple[_File, ...] | None = None


@dataclass(frozen=True)
class _ListedCollection:
    slug: str
    title: str


def find_repositories(
    hub: HubClient, org: str, expected: Expectations, names: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The repositories of an organisation that hold a dataset of this package, or should, each with the dataset; and the others.

    Ours have the name of a dataset or of a mirror of raw files, are in the record, or have a manifest of ours at main. names:
    only these datasets; each of them is listed even if it has no repository, and no others are.

    Raises UsageError for an invalid name, the client's error where the Hub cannot list them.
    """
    if not client.REPOSITORY.fullmatch(f"{org}/name"):
        raise UsageError("invalid name of an organisation", found=org, todo="correct --org")
    listed = list_repositories(hub, org)
    datasets = catalogue.entries().keys() | expected.refs.keys()
    ours = {f"{org}/{name}": name for name in names}
    ours |= {repo: dataset for dataset, refs in expected.refs.items() for repo in refs if repo.startswith(f"{org}/")}
    sources = {repository_name(entry.source) for entry in catalogue.entries().values()} if not names else set()
    ours |= {
        repo: name for repo in listed if repo not in ours and (name := repo.partition("/")[2]) in datasets | sources
    }
    for repo in [repo for repo, may_be_ours in listed.items() if may_be_ours and repo not in ours]:
        if (dataset := _dataset_of(hub, repo)) is not None:
            ours[repo] = dataset
    chosen = {repo: dataset for repo, dataset in sorted(ours.items()) if not names or dataset in names}
    return chosen, [] if names else [repo for repo in listed if repo not in ours]


def inspect_repositories(hub: HubClient, ours: Mapping[str, str], expected: Expectations) -> Iterator[PublishedDataset]:
    """What each repository of ours holds, in this order; several are read at the same time.

    Raises the client's error where the Hub is out of reach.
    """

    def inspect(numbered: tuple[int, tuple[str, str]]) -> PublishedDataset:
        number, (name, dataset) = numbered
        logger.info("%s (%d of %d)", name, number, len(ours))
        if dataset not in expected.refs and dataset not in catalogue.entries():
            return inspect_mirror(hub, name)
        return inspect_dataset(hub, Repository(name, dataset, expected.requested), expected)

    pool = ThreadPoolExecutor(client.AT_ONCE)
    try:
        yield from pool.map(inspect, enumerate(ours.items(), 1))
    finally:
        pool.shutdown(cancel_futures=True)


def list_repositories(hub: HubClient, org: str) -> dict[str, bool]:
    """The dataset repositories of an organisation that the token may see, and whether each may have a manifest.json at main.

    Raises the client's error where the Hub does not answer, or sends to another server for the rest.
    """
    found = dict[str, bool]()
    for listed in _list(hub, org, "datasets", {"author": org, "full": "True"}, Listed):
        name = listed.id.removeprefix(f"{org}/")
        if client.REPOSITORY.fullmatch(f"{org}/{name}") and name != listed.id and name.strip("."):
            files = listed.siblings
            found[listed.id] = files is None or any(file.rfilename == folder.MANIFEST for file in files)
    return dict(sorted(found.items()))


def _list(hub: HubClient, org: str, what: str, query: Mapping[str, str], kind: type[Item]) -> Iterator[Item]:
    """What an organisation has of `datasets` or `collections`, page by page."""
    url = start = f"{hub.api.endpoint}/api/{what}"
    for _ in range(MAX_PAGES):
        page, rest = client.call(hub, f"listing its {what}", org, partial(read_page, hub, url, query, kind))
        yield from page
        if rest is None:
            return
        if not rest.startswith(f"{start}?"):
            raise hub.error("the listing continues on another server", where=org, todo="run the command again later")
        url, query = rest, {}
    raise hub.error("the listing does not end", where=org, found=f"{MAX_PAGES:,} pages")


def read_page(hub: HubClient, url: str, query: Mapping[str, str], kind: type[Item]) -> tuple[list[Item], str | None]:
    """A page of the listing, and the URL of the next one. The library's own call would wait for ever, and go to any server."""
    response = get_session().get(url, params=query or None, headers=hub.headers)
    hf_raise_for_status(response)
    return msgspec.convert(response.json(), list[kind]), response.links.get("next", {}).get("url")  # type: ignore[valid-type]


def _dataset_of(hub: HubClient, repo: str) -> str | None:
    """The dataset of the manifest at main, where it is one of ours that may be read."""
    try:
        at = repository.snapshot(hub, repo)
        if at is None or len(at.digests.get(folder.MANIFEST, "")) != repository.GIT_BLOB:
            return None
        manifest = repository.read_manifest_at(hub, repo, at)
    except hub.error as error:
        if client.explain_error(error).transient:
            raise
        return None
    return manifest.dataset if manifest else None


TRAINING_TITLE = "Training data for text embeddings"
DESCRIPTION = "Built, audited and published by embedding-datasets."  # of a new collection; the Hub takes 150 characters


@dataclass(frozen=True)
class CollectionChange:
    """What a collection gets. collection: its title. adds: repositories that it lacks, or lacked. present: those that it had.
    url: empty where it is still to be created.
    """

    collection: str
    state: str
    adds: tuple[str, ...]
    present: tuple[str, ...]
    url: str = ""


def collection_title(dataset: Dataset) -> str:
    """The collection that a dataset belongs in: of its benchmark, or of training data; empty for any other dataset."""
    if dataset.group == TRAINING:
        return TRAINING_TITLE
    return dataset.benchmark.title if dataset.benchmark else ""


def extend_collection(
    hub: HubClient, org: str, title: str, repos: Sequence[str], *, private: bool, dry_run: bool = False
) -> CollectionChange:
    """Add repositories to the collection of this title, which is created where there is none; items of others stay.

    dry_run: say what it would get, and change nothing.

    Raises the client's error where the Hub fails: the same call then does the rest.
    """
    known = _find_collection(hub, org, title)
    items = {item.item_id for item in known.items if item.item_type == "dataset"} if known else set()
    adds, present = (tuple(repo for repo in repos if (repo in items) is there) for there in (False, True))
    state = "to be created" if known is None else "to be extended" if adds else "complete"
    planned = CollectionChange(title, state, adds, present, known.url if known else "")
    if dry_run or not adds:
        return planned

    def find_or_create() -> HubCollection:
        return _find_collection(hub, org, title) or hub.api.create_collection(
            title, namespace=org, description=DESCRIPTION, private=private, exists_ok=True
        )

    denied = f"use a token that may write the collections of {org} (collection.write)"
    found = client.call(hub, "creating the collection", f"{org}: {title}", find_or_create, denied=denied)
    for repo in adds:
        add = partial(hub.api.add_collection_item, found.slug, repo, "dataset", exists_ok=True)
        client.call(hub, f"adding {repo}", f"{org}: {title}", add, denied=denied)
    return replace(planned, state="extended" if known else "created", url=found.url)


def _find_collection(hub: HubClient, org: str, title: str) -> HubCollection | None:
    """The collection of an organisation with this title, with all its items; the oldest of several."""
    listed = _list(hub, org, "collections", {"owner": org}, _ListedCollection)
    slugs = [each.slug for each in listed if each.title == title and each.slug.startswith(f"{org}/")]
    return client.call(hub, "reading", min(slugs), partial(hub.api.get_collection, min(slugs))) if slugs else None


def collection_page(change: CollectionChange) -> list[str]:
    """A collection, and what is or would be added to it, as lines."""
    lines = [f"collection {change.collection}: {change.state}"]
    lines += [f"  at        {change.url}"] if change.url else []
    return lines + [f"    + {repo}" for repo in change.adds] + [f"    = {repo}" for repo in change.present]


HEADING = ("repository", "at", "version", "ledger", "local", "state")
WIDTHS = (34, 7, 7, 6, 5, 11)  # 80 characters with two spaces between; the longest name of a dataset has 34
OTHERS = 10  # repositories that are listed by name


def to_json(dataset: PublishedDataset) -> dict[str, Any]:
    """What `--json` prints for a dataset."""
    return {
        "repository": dataset.repo,
        "dataset": dataset.dataset,
        "state": dataset.state,
        "revisions": [asdict(revision) | {"state": revision.state} for revision in dataset.revisions],
        "other_tags": list(dataset.other_tags),
    }


def page(org: str, datasets: Sequence[PublishedDataset], others: Sequence[str], expected: Expectations) -> str:
    """A table with a line for each tag and main, then a paragraph for each dataset that is not sound."""
    counts = Counter(dataset.state for dataset in datasets)
    total = f"{len(datasets):,} dataset{'s' if len(datasets) != 1 else ''}"
    states = ", ".join(f"{counts[state]:,} {state}" for state in ("sound", "wrong", "not checked") if counts[state])
    how = "rows verified" if expected.download else "digests compared, rows not verified"
    lines = [*wrap(f"{org}: {total}: {states} ({how})" if datasets else f"{org}: no dataset of this package")]
    if datasets:
        lines += ["", _line(HEADING), _line(["-" * width for width in WIDTHS])]
        lines += [line for dataset in datasets for line in _rows(dataset)]
    for dataset in datasets:
        lines += _paragraph(dataset)
    if expected.record is None:
        words = "HF_ENDPOINT is not the Hub: tags are not compared with recorded commits (--ledger FILE is beside them)"
        lines += ["", *wrap(words)]
    if others:
        more = f" and {len(others) - OTHERS:,} more" if len(others) > OTHERS else ""
        names = ", ".join(name.partition("/")[2] for name in others[:OTHERS])
        lines += ["", *wrap(f"without a release of this package, not checked: {names}{more}")]
    return "\n".join(lines)


def _rows(dataset: PublishedDataset) -> list[str]:
    name = cut_middle(dataset.repo.partition("/")[2], WIDTHS[0])
    return [
        _line(
            [
                "" if number else name, cut_middle(revision.name, WIDTHS[1]), revision.version or "-",
                revision.ledger.replace("none", "-"), revision.local.replace("none", "-"), revision.state,
            ]
        )
        for number, revision in enumerate(dataset.revisions)
    ]  # fmt: skip


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _paragraph(dataset: PublishedDataset) -> list[str]:
    """What is wrong at each revision, what to do about it, and notes; nothing for a sound dataset without notes."""
    lines = [line for revision in dataset.revisions for line in _sentences(revision)]
    if dataset.other_tags:
        lines += fact("tags", f"{', '.join(dataset.other_tags)}: not of a version")
    return ["", dataset.repo, *lines] if lines else []


def _sentences(revision: Revision) -> list[str]:
    lines = []
    for problem in revision.problems:
        lines += [*fact(revision.name, problem.what), *fact("  to do", problem.todo)]
        lines += [f"{'':<14}{command}" for command in problem.commands]  # in one line each, to be copied
    not_checked = revision.not_checked and f"not checked: {revision.not_checked}"
    return lines + facts([(revision.name, not_checked), *(("note", note) for note in revision.notes)])
