"""embedding-datasets publish NAME... --org ORG : releases to the Hub, each in one commit, read back and tagged."""

from __future__ import annotations

import argparse
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from builders.errors import DatasetError, PublishError, SourceError, UsageError
from pipelines import command
from pipelines.process.stages import show_stages
from pipelines.process.terminal import format_size

if TYPE_CHECKING:
    from builders.catalogue import Definition
    from builders.spec import Dataset
    from pipelines.hub.client import HubClient
    from pipelines.hub.commits import Publication
    from pipelines.hub.planning import Plan, PublishOptions
    from pipelines.hub.published_indexes import IndexFile

EXAMPLES = """\
  embedding-datasets publish cedr --org ORG --dry-run       what would be written, and how it differs from the version before
  embedding-datasets publish cedr --org ORG                 outputs/cedr-classification/<newest> as ORG/cedr-classification
  embedding-datasets publish cedr-classification@1.0.0 --org ORG --private    an older version too: main stays at the newest
  embedding-datasets publish cedr --org ORG --all-versions  from the oldest to the newest
  embedding-datasets publish rumteb --org ORG --collection  and add the repositories to the collection ruMTEB
  embedding-datasets publish --repair cedr --org ORG        tags and main as they were recorded
  embedding-datasets publish ria-news --org ORG --i-have-the-rights
  embedding-datasets publish --raw cedr --org ORG --raw-dir DIR    its raw files by digest, as a mirror: ORG/raw-cedr
  embedding-datasets publish --index mteb-2.26.index --org ORG     what contamination index wrote: ORG/index-mteb-2.26"""

# Options that mean nothing for what else is published.
OF_RELEASES = (
    "--all-versions",
    "--attestation",
    "--collection",
    "--create-pr",
    "--no-download",
    "--no-record",
    "--take-over",
)
OF_RAW_FILES = ("--raw-dir", "--cache")
OF_COMMITS = ("--i-have-the-rights", "--message", "--overwrite-card", "--private")
REFUSED = {
    "--repair": (*OF_RELEASES, *OF_RAW_FILES, *OF_COMMITS, "--version"),
    "--raw": (*OF_RELEASES, "--ledger", "--repo-name", "--version"),
    "--index": (*OF_RELEASES, *OF_RAW_FILES, "--ledger", "--i-have-the-rights"),
    "": (*OF_RAW_FILES, "--version"),
}

Item = TypeVar("Item")

logger = logging.getLogger(__name__)


def main() -> int:
    """Publish what the command line names; returns the exit code: that of the first dataset that failed, if any did."""
    options = command.parse(parser(), _find_mistakes)
    from pipelines.hub import client, foreign_edits, planning, publishing

    others = {"repair": _repair, "index": _publish_indexes, "raw": _publish_raw}
    if other := next((other for name, other in others.items() if getattr(options, name)), None):
        return other(options)
    datasets = command.resolve_datasets(options.names)
    _require_one(options, "repo_name", datasets, "dataset")
    if options.all_versions:
        datasets = _all_versions(datasets, options)
    _require_one(options, "attestation", datasets, "release")
    settings = _publish_options(options)
    hub = client.connect(PublishError) if options.dry_run else publishing.login()
    if not options.dry_run:
        publishing.require_record(hub, settings)
    code, failed = 0, set[str]()
    done: list[tuple[Dataset, str]] = []
    for definition, version in datasets:
        name = definition.dataset.name
        if options.all_versions and name in failed:
            logger.info("%s@%s: not published, because an older version was not", name, version)
            continue
        release_dir = options.releases / name / version
        try:
            if options.dry_run:
                plan, publication = planning.make_plan(definition, release_dir, settings, hub), None
                planning.pretend(hub, plan)
                settings = replace(settings, planned={**settings.planned, f"{name}@{version}": release_dir})
            else:
                with show_stages(name):
                    publication = publishing.publish(definition, release_dir, settings, hub)
                plan = publication.plan
            if options.json:
                command.print_json(publishing.to_json(plan, publication))
            else:
                print("\n".join(_page(plan, publication)), flush=True)
            if publication is None:
                foreign_edits.require_no_card_edits(plan.repo, plan.card_edits, overwrite=options.overwrite_card)
            done.append((definition.dataset, plan.repo))
        except DatasetError as error:
            failure = command.print_failure(error, as_json=options.json, dataset=name, version=version)
            code = code or failure
            failed |= set() if options.dry_run else {name}
    collected = _collect(done, options, hub) if options.collection else 0
    return code or collected


def _require_one(options: argparse.Namespace, option: str, items: Sized, one: str, several: str = "") -> None:
    """Refuse an option that is for one thing where there are several."""
    if getattr(options, option) and len(items) > 1:
        what = f"--{option.replace('_', '-')} is for one {one}"
        raise UsageError(what, found=f"{len(items)} {several or f'{one}s'}", todo="name one")


def _collect(done: Sequence[tuple[Dataset, str]], options: argparse.Namespace, hub: HubClient) -> int:
    """Add the repositories of datasets to their collections, or show what would be added; returns the exit code."""
    from pipelines.hub import organisation

    code, collections = 0, dict[str, dict[str, None]]()
    for dataset, repo in done:
        collections.setdefault(organisation.collection_title(dataset), {})[repo] = None
    if others := collections.pop("", None):
        logger.info("of no benchmark, and added to no collection: %s", ", ".join(others))
    for title, repos in collections.items():
        try:
            change = organisation.extend_collection(
                hub, options.org, title, tuple(repos), private=options.private, dry_run=options.dry_run
            )
        except DatasetError as error:
            failure = command.print_failure(error, as_json=options.json, collection=title)
            if not options.dry_run:
                logger.info("the datasets are published; the collection %s is not complete", title)
            code = code or failure
            continue
        if options.json:
            command.print_json(asdict(change))
        else:
            command.print_page(organisation.collection_page(change))
    return code


def _repair(options: argparse.Namespace) -> int:
    """Bring repositories back to the record of refs; returns the exit code: that of the first that failed, if any did."""
    from pipelines.hub import repairs
    from pipelines.hub.commits import Publication, require_name
    from pipelines.hub.revisions import Repository
    from pipelines.raw.digests import default_cache

    names = dict.fromkeys(definition.dataset.name for definition, _ in command.resolve_datasets(options.names))
    _require_one(options, "repo_name", names, "dataset")

    def repair(repo: Repository, hub: HubClient) -> Any:
        return repairs.repair(repo, default_cache(), hub, dry_run=options.dry_run)

    repos = [Repository(require_name(options.org, options.repo_name or name), name, options.ledger) for name in names]
    return _publish_each(
        {repo.name: repo for repo in repos},
        options,
        repair,
        lambda repo, hub: Publication(repair(repo, hub), ""),
        what="repository",
        pages=repairs,
    )


def _publish_raw(options: argparse.Namespace) -> int:
    """Mirror the raw files of sources; returns the exit code: that of the first source that failed, 3 for a missing file."""
    from pipelines.hub import raw_publishing

    sources = [definition.source for definition, _ in command.resolve_datasets(options.names)]
    raw, settings = command.raw_settings(options), _publish_options(options)

    return _publish_each(
        {source.name: source for source in sources},
        options,
        lambda source, hub: raw_publishing.make_raw_plan(source, raw, settings, hub),
        lambda source, hub: raw_publishing.publish_raw(source, raw, settings, hub),
        what="source",
        pages=raw_publishing,
    )


def _publish_indexes(options: argparse.Namespace) -> int:
    """Publish the indexes in files; returns the exit code: that of the first that failed, if any did."""
    from pipelines.decontamination.pages import index_to_publish
    from pipelines.hub import published_indexes

    _require_one(options, "repo_name", options.names, "index", "indexes")
    settings = _publish_options(options)

    def index(name: str) -> IndexFile:
        return index_to_publish(Path(name), options.version or "1.0.0", options.repo_name)

    return _publish_each(
        {name: name for name in options.names},
        options,
        lambda name, hub: published_indexes.make_index_plan(index(name), settings, hub),
        lambda name, hub: published_indexes.publish_index(index(name), settings, hub),
        what="index",
        pages=published_indexes,
    )


def _publish_each(
    items: Mapping[str, Item],
    options: argparse.Namespace,
    make_plan: Callable[[Item, HubClient], Any],
    publish: Callable[[Item, HubClient], Any],
    *,
    what: str,
    pages: Any,
) -> int:
    """Publish several things, or show the plans for them; returns the exit code.

    what: the key of their names in JSON. pages: has `page` and `to_json`, which take a plan and its publication.
    """
    from pipelines.hub import client, publishing

    hub = client.connect(PublishError) if options.dry_run else publishing.login()
    code = 0
    for name, item in items.items():
        try:
            if options.dry_run:
                plan, publication = make_plan(item, hub), None
            else:
                with show_stages(name):
                    publication = publish(item, hub)
                plan = publication.plan
        except DatasetError as error:
            failure = command.print_failure(error, as_json=options.json, **{what: name})
            code = code or failure
            continue
        if options.json:
            command.print_json(pages.to_json(plan, publication))
        else:
            command.print_page(pages.page(plan, publication))
        code = code or (SourceError.exit_code if plan.missing else 0)
    return code


def _all_versions(datasets: list[tuple[Definition, str]], options: argparse.Namespace) -> list[tuple[Definition, str]]:
    """What command.all_versions returns. Raises PublishError for a version that is not built."""
    from pipelines.release import folder

    every = command.all_versions(datasets, options.names)
    missing = [
        f"{definition.dataset.name}@{version}"
        for definition, version in every
        if folder.read_manifest(options.releases / definition.dataset.name / version) is None
    ]
    if missing:
        raise PublishError(
            "versions without a release to publish",
            where=str(options.releases),
            found=", ".join(missing),
            todo="build first: " + " && ".join(f"embedding-datasets build {name}" for name in missing),
        )
    return every


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser(
        "publish", "Publish releases on the Hub: one commit each, read back, compared and tagged.", EXAMPLES
    )
    arguments.add_argument("names", nargs="+", metavar="NAME", help=f"{command.NAMES}; NAME@VERSION for one version")
    arguments.add_argument("--org", required=True, metavar="ORG", help="the organisation (or user) of the repositories")
    command.add_releases_option(arguments, "--output")
    command.add_flags(
        arguments,
        {
            "--dry-run": "show the plan, and change nothing on the Hub",
            "--all-versions": "every version of each dataset, the oldest first; all must be built",
            "--collection": "add the repositories to the collection of their benchmark, or of training data, in the"
            " organisation",
            "--private": "create missing repositories as private ones",
            "--create-pr": "open a pull request; once merged, run again to tag",
        },
    )
    arguments.add_argument("--repo-name", metavar="NAME", help="name of the repository, instead of the dataset's")
    arguments.add_argument("--message", metavar="TEXT", help="message of the commit")
    arguments.add_argument("--attestation", type=Path, metavar="FILE", help="put this statement beside the release")
    command.add_flags(
        arguments,
        {
            "--take-over": "publish into a repository with somebody else's data; tags it before-embedding-datasets first",
            "--overwrite-card": "replace a card that was edited by hand on the Hub",
            "--i-have-the-rights": "publish although the licence forbids derivatives (of training data: is unknown or "
            "non-commercial), or raw files that it does not permit to share",
            "--no-download": "compare the published files by the Hub's digests instead of reading them back; not compared "
            "with the newest tag",
        },
    )
    arguments.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="the ledger to read; what is published is recorded in refs/ beside it. By default pipelines/ledger.json of a "
        "checkout; with another HF_ENDPOINT there is no default",
    )
    command.add_flags(
        arguments,
        {
            "--no-record": "publish although nothing can record it, and record nothing",
            "--repair": "bring tags and main back to the record of refs, instead of publishing; whatever is in the way is"
            " moved aside",
            "--raw": "publish raw files instead, by digest, where their licence permits it (docs/raw-files.md)",
            "--index": "publish indexes of texts instead: each NAME is a file that contamination index wrote"
            " (docs/contamination.md)",
        },
    )
    arguments.add_argument("--version", type=_version, metavar="X.Y.Z", help="with --index: its version (1.0.0)")
    arguments.add_argument(
        "--raw-dir", type=Path, metavar="DIR", help="with --raw: local raw files, DIR/<source>/<file>"
    )
    arguments.add_argument(
        "--cache", type=Path, metavar="DIR", help="with --raw: where downloads are (default: the user's cache)"
    )
    arguments.set_defaults(offline=True)  # --raw publishes what is on this machine
    arguments.add_argument("--json", action="store_true", help="one JSON object per dataset on stdout, for programs")
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    kinds = [kind for kind in REFUSED if kind and getattr(options, kind.removeprefix("--"))]
    kind = kinds[0] if kinds else ""
    given = [name for name in REFUSED[kind] if getattr(options, name.removeprefix("--").replace("-", "_"))]
    first = given[0] if given else ""
    only = "only for --index" if first == "--version" else "only for --raw"
    return {
        f"{' or '.join(kinds[:2])}, not both": len(kinds) > 1,
        f"{first} is {f'not for {kind}' if kind else only}": given,
        "--collection is not for --create-pr: pass it once the pull request is merged": (
            options.collection and options.create_pr
        ),
        f"--ledger: cannot write to {options.ledger}": (
            options.ledger and not os.access(options.ledger.absolute().parent, os.W_OK)
        ),
    }


def _version(text: str) -> str:
    if not re.fullmatch(r"\d{1,6}\.\d{1,6}\.\d{1,6}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"three numbers such as 1.0.0, not {text[:20]!r}")
    return text


def _publish_options(options: argparse.Namespace) -> PublishOptions:
    """How to publish, as the options say; those of releases alone are at their defaults for anything else."""
    from pipelines.hub.planning import PublishOptions
    from pipelines.raw.digests import default_cache

    return PublishOptions(
        options.org,
        default_cache(),
        repo_name=options.repo_name,
        private=options.private,
        create_pr=options.create_pr,
        message=options.message,
        rights=options.i_have_the_rights,
        ledger=options.ledger,
        record=not options.no_record,
        download=not options.no_download,
        take_over=options.take_over,
        overwrite_card=options.overwrite_card,
        attestation=options.attestation,
    )


def _page(plan: Plan, publication: Publication[Plan] | None) -> list[str]:
    """A plan, and the result of publishing, for reading."""
    from pipelines.checking.text import changes_page
    from pipelines.hub import foreign_edits

    manifest = plan.manifest
    rows = ", ".join(f"{location} {count:,}" for location, count in manifest.rows.items())
    created = " (to be created)" if plan.at is None and not publication else ""
    is_older = plan.newest and plan.writes
    facts = {
        "at": publication.url if publication else "",
        "commit": publication.commit if publication else "",
        "as": f"{plan.repo}{created}, tag {plan.tag}",
        "on": f"branch {plan.branch}, deleted when tagged: main holds the newer {plan.newest}" if is_older else "",
        "first": f"tags the data of somebody else, main, as {foreign_edits.TAG}" if plan.takes_over else "",
        "rows": rows,
        "content": manifest.content_sha256,
        "missing": f"not on the Hub yet: {', '.join(plan.absent)} (--all-versions)" if plan.absent else "",
    }
    lines = [f"{manifest.dataset} {manifest.version}: {publication.state if publication else plan.state}"]
    lines += [f"  {name:<10}{text}" for name, text in facts.items() if text]
    if plan.writes:
        lines.append(f"  files     {len(plan.writes)}, {format_size(sum(plan.sizes.values()))}")
        marks = {path: "=" if path in plan.unchanged else "+" for path in plan.writes} | dict.fromkeys(
            plan.deletes, "-"
        )
        for path, mark in marks.items():
            size = format_size(plan.sizes[path]) if path in plan.sizes else ""
            lines.append(f"    {mark} {path}  {size}".rstrip())
    lines += [f"  note      {note}" for note in plan.notes]
    if plan.card_edits:
        lines += ["", "  hand edits of the card on the Hub:", *(f"  {line}" for line in plan.card_edits)]
    if plan.changes:
        lines += [
            "",
            f"  against v{plan.against}:",
            *(f"  {line}".rstrip() for line in changes_page(plan.changes, width=78)),
        ]
    return lines


if __name__ == "__main__":
    command.run(main)
