"""embedding-datasets show [NAME...] : the catalogue, or all that is known of some datasets before a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from builders.raw_files import RawFile
    from cards.manifest import Manifest

EXAMPLES = """\
  embedding-datasets show                    the catalogue
  embedding-datasets show rumteb             a benchmark: its tasks and sizes, beside those of its paper
  embedding-datasets show mteb-rus-v1.1      the tasks of mteb's leaderboard, with our dataset and version for each
  embedding-datasets show rarb               a group
  embedding-datasets show training           training data, beside the table of the paper
  embedding-datasets show training --overlaps    pairs that two sets of built training data share
  embedding-datasets show rubq-retrieval     one dataset: its recipe, options, versions and raw files
  embedding-datasets show cedr@1.0.0         the same for one version: its options, rows, dropped rows, findings
  embedding-datasets show --sources rumteb   what a group needs: raw files, sizes, who may have them"""


def main() -> int:
    """Show what the command line names."""
    options = command.parse(parser())
    from builders.spec import TRAINING
    from pipelines.catalogue_pages import paper_tables
    from pipelines.process import tables

    datasets = command.resolve_datasets(options.names or ["all", "training"])
    if options.sources:
        return _show_sources([definition for definition, _ in datasets], as_json=options.json)
    if options.overlaps:
        return _show_overlaps(datasets, options.releases, as_json=options.json)
    described = [describe(definition, version, options.releases) for definition, version in datasets]
    if options.json:
        for row in described:
            sets = {"sets": paper_tables.describe_sets(row)} if row["group"] == TRAINING else {}
            command.print_json(row | sets)
    elif len(options.names) == 1 and options.names[0].casefold() in paper_tables.NOTES:
        name = options.names[0].casefold()
        page = paper_tables.benchmark_page(name, described, command.width(), verbose=options.verbose)
        command.print_page(page.splitlines())
    elif [name.casefold() for name in options.names] == ["training"]:
        command.print_page(paper_tables.training_page(described, command.width()).splitlines())
    elif len(datasets) > 1:
        heading = ["dataset", "group", "task", "source", "licence", "newest", "verified on", "built"]
        rows = [heading, *map(_row, described)]
        optional = ("licence", "source", "group", "task", "newest")
        command.print_page(tables.table(rows, width=command.width(), optional=optional).splitlines())
        if not options.names:
            command.print_page(["", *tables.wrap(paper_tables.status_summary(), "")])
    else:
        print(_page(datasets[0][0], described[0]))
    return 0


def _row(described: dict[str, Any]) -> list[str]:
    """A dataset in the catalogue; its status without the words of the heading."""
    columns = ("dataset", "group", "task", "source", "license", "newest", "status", "built")
    return [str(described[column]).removeprefix("verified on ") for column in columns]


def _show_sources(definitions: Sequence[Definition], *, as_json: bool) -> int:
    from pipelines.catalogue_pages import sources
    from pipelines.raw.settings import RawSettings

    lock_files = RawSettings().lock_files
    if as_json:
        command.print_json(*map(asdict, sources.describe_sources(definitions, lock_files)))
    else:
        print(sources.sources_page(definitions, lock_files))
    return 0


def _show_overlaps(datasets: Sequence[tuple[Definition, str]], output: Path, *, as_json: bool) -> int:
    from builders.errors import ReleaseError, UsageError
    from builders.spec import TRAINING
    from pipelines.process.stages import show_stages
    from pipelines.release import shared_texts

    names = [
        (definition.dataset.name, version) for definition, version in datasets if definition.dataset.group == TRAINING
    ]
    if not names:
        raise UsageError("--overlaps is for training data", todo="embedding-datasets show training --overlaps")
    sets, missing = shared_texts.find_sets(names, output)
    if not sets:
        todo = "build some: embedding-datasets build training; or name the folder with the releases: --releases DIR"
        raise ReleaseError("no training data to compare", where=str(output), found="no release of these", todo=todo)
    with show_stages("overlaps"):
        shared = shared_texts.find_shared_pairs(sets)
    if as_json:
        command.print_json(*map(shared_texts.to_json, shared))
    else:
        command.print_page(shared_texts.shared_pairs_page(shared, sets, missing, command.width()))
    return 0


def describe(definition: Definition, version: str, output: Path) -> dict[str, Any]:
    """What is known of a version of a dataset.

    status: which real files its recipe has met (pipelines.release.ledger). built: the versions in the output folder. waiting:
    those that wait for `decide`. rows, dropped, findings, scores: of the release of this version there; without one, the rows of
    the ledger, or None, and the findings that the builder declares. scores: None where none were computed. needs: the published
    files that this version is built from, by key, as in pipelines.catalogue_pages.sources.FileNeed.
    """
    from builders.catalogue import needed_files
    from pipelines.catalogue_pages.sources import file_needs
    from pipelines.raw.pins import is_waiting
    from pipelines.raw.settings import RawSettings
    from pipelines.release import ledger

    dataset, source = definition.dataset, definition.source
    keys = needed_files(definition, dataset.task.splits, version)
    return {
        "dataset": dataset.name,
        "group": dataset.group,
        "task": dataset.task.type.name,
        "source": source.name,
        "license": definition.license,
        "newest": dataset.newest,
        "status": ledger.status(dataset.name),
        "built": ", ".join(_built_versions(output / dataset.name)) or "-",
        "summary": dataset.summary,
        "languages": list(dataset.languages),
        "splits": list(dataset.task.splits),
        "versions": {number: version.notes for number, version in dataset.versions.items()},
        "waiting": [number for number in dataset.versions if is_waiting(definition, number)],
        "version": version,
        "options": dataset.options(version),
        **_known_content(definition, version, output / dataset.name / version),
        "homepage": source.homepage,
        "raw": [{"name": file.name, "digest": file.sha256 or file.git_blob} for file in source.files.values()],
        "needs": {key: asdict(need) for key, need in file_needs(source, keys, RawSettings().lock_files).items()},
    }


def _known_content(definition: Definition, version: str, release_dir: Path) -> dict[str, Any]:
    """Rows, dropped rows and findings of a version, and where they are known from."""
    from cards.scores import summarize_scores
    from pipelines.release import ledger
    from pipelines.release.folder import read_manifest, read_scores

    manifest = read_manifest(release_dir)
    if manifest is not None:
        scores = read_scores(release_dir)
        dropped, findings = ([asdict(item) for item in items] for items in (manifest.dropped, manifest.findings))
        return {
            "rows": manifest.rows,
            "dropped": dropped,
            "findings": findings,
            "counted_in": ", ".join([str(release_dir), *_marks(manifest)]),
            "scores": scores and {"summary": summarize_scores(scores), **asdict(scores)},
        }
    entry = ledger.find_entry(definition.dataset.name, version)
    known = definition.dataset.versions[version].known
    return {
        "rows": {table.location: table.rows for table in entry.tables} if entry else None,
        "dropped": None,
        "findings": list(map(asdict, known)) or None,
        "counted_in": "ledger" if entry else None,
        "scores": None,
    }


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("show", "List the catalogue, or show one dataset.", EXAMPLES)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"{command.NAMES}; NAME@VERSION for one version")
    command.add_releases_option(arguments, "--output")
    command.add_flags(
        arguments,
        {
            "--sources": "the raw files of the sources: size, who may have them, digest, cost of a build",
            "--overlaps": "the pairs and queries that sets of training data share, of the releases below --releases",
            "--json": "one JSON object per dataset (or source), for programs",
        },
    )
    return arguments


def _built_versions(dataset_dir: Path) -> list[str]:
    from pipelines.release.folder import read_manifest, version_dirs

    marked = []
    for release_dir in version_dirs(dataset_dir):
        marks = ", ".join(_marks(read_manifest(release_dir)))
        marked.append(f"{release_dir.name} ({marks})" if marks else release_dir.name)
    return marked


def _marks(manifest: Manifest | None) -> list[str]:
    return [mark for mark in ("sample", "partial") if getattr(manifest, mark, False)]


def _page(definition: Definition, row: dict[str, Any]) -> str:
    """One dataset, for reading."""
    from builders.catalogue import needed_files
    from builders.spec import version_key
    from builders.tasks import layouts
    from pipelines.process.tables import facts, wrap
    from pipelines.raw.requests import file_url

    dataset, source = definition.dataset, definition.source
    columns = [f"{layout.config}: {', '.join(layout.columns)}" for layout in layouts(dataset.task)]
    versions = sorted(row["versions"], key=version_key)
    newest = row["version"] == row["newest"]
    waiting = dict.fromkeys(row["waiting"], "waits for decide. ")
    said = {
        "version": row["version"] if newest else f"{row['version']}; the newest is {row['newest']}",
        "task": f"{row['task']} ({dataset.group}), {', '.join(row['languages'])}",
        "splits": ", ".join(row["splits"]),
        "tables": "; ".join(columns),
        "source": f"{source.title}, {definition.license}, {source.homepage}",
        "options": ", ".join(f"{name}={value!r}" for name, value in row["options"].items()) or "none",
        **_content_facts(row),
        "built": row["built"],
    }
    lines = [*wrap(f"{dataset.name} - {dataset.summary}"), ""]
    lines += facts(said.items())
    lines += ["", "  versions:"]
    lines += [
        line
        for number in versions
        for line in wrap(f"{waiting.get(number, '')}{row['versions'][number]}", f"    {number:<8}")
    ]
    lines += ["", "  raw files (below --raw-dir DIR, or downloaded):"]
    for key in needed_files(definition, dataset.task.splits, row["version"]):
        file = source.files[key]
        where = file_url(file.location) or "to be fetched by hand"
        lines += [f"    {source.name}/{file.name}  {_digest(file)}", f"      {where}"]
    name = dataset.name if newest else f"{dataset.name}@{row['version']}"
    return "\n".join([*lines, "", f"  build it: embedding-datasets build {name}"])


def _content_facts(row: dict[str, Any]) -> dict[str, str]:
    """Rows, dropped rows and findings of a version, as texts."""
    if row["counted_in"] is None:
        return {"rows": "unknown until it is built"}
    facts = {"rows": ", ".join(f"{location} {count:,}" for location, count in row["rows"].items())}
    if row["dropped"] is not None:
        facts["dropped"] = (
            "; ".join(f"{drop['count']:,} {drop['split']}: {drop['reason']}" for drop in row["dropped"]) or "none"
        )
    if row["findings"] is not None:
        found = [
            f"{finding['kind']} {finding['count']:,}"
            f" ({finding.get('location') or '/'.join(filter(None, (finding['config'], finding['split'])))})"
            for finding in row["findings"]
        ]
        facts["findings"] = "; ".join(found) or "none"
    if row["scores"] is not None:
        facts["scores"] = row["scores"]["summary"]
    return facts | {
        "counted": "rows in the ledger, findings declared"
        if row["counted_in"] == "ledger"
        else f"in {row['counted_in']}"
    }


def _digest(file: RawFile) -> str:
    if file.sha256:
        return f"sha256 {file.sha256[:16]}"
    return f"git {file.git_blob[:16]}" if file.git_blob else "no digest known"


if __name__ == "__main__":
    command.run(main)
