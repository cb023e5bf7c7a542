"""embedding-datasets contamination index|scan|map : which rows of benchmarks are in a training corpus."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command

if TYPE_CHECKING:
    from pipelines.decontamination.scans import Scan, TableSummary

SUBCOMMANDS = {
    "index": "write the hashes of the texts of benchmarks to a file that can be shared",
    "scan": "find the texts of an index in a training corpus",
    "map": "find the texts that datasets share with each other",
}
EXAMPLES = """\
  embedding-datasets contamination index rumteb --output rumteb.index
  embedding-datasets contamination scan corpus/ --index rumteb.index
  embedding-datasets contamination map outputs/ --output map.json
  embedding-datasets contamination scan --help       the options of one of them"""
INDEX_EXAMPLES = """\
  embedding-datasets contamination index cedr terra --output my.index       releases below outputs/
  embedding-datasets contamination index outputs/ --output all.index        all of them
  embedding-datasets contamination index rumteb ateb --all-built --output my.index      and a list of those not built
  embedding-datasets contamination index ORG/cedr-classification@v1.0.0 --output my.index
  embedding-datasets contamination index mteb/stsbenchmark-sts --splits validation --output sts.index
  embedding-datasets contamination index --mteb 'MTEB(rus, v1.1)' --output mteb-rus.index      from the Hub; or --mteb all
  embedding-datasets contamination index data.csv --task Classification --map text=sentence --output my.index

An index has hashes and no text: docs/contamination.md describes it to the byte."""
SCAN_EXAMPLES = """\
  embedding-datasets contamination scan corpus/ --index my.index            Parquet, JSON lines (.gz, .zst), CSV ...
  embedding-datasets contamination scan 'data/*.jsonl.zst' --text text --index my.index
  embedding-datasets contamination scan hf://datasets/ORG/NAME@REVISION/train --index my.index
  embedding-datasets contamination scan s3://BUCKET/corpus/ --index my.index        read by the workers
  embedding-datasets contamination scan corpus/ --index ORG/index-mteb-2.26@v1.0.0     a published index, into the cache
  embedding-datasets contamination scan corpus/ --index my.index --html report.html --matches matches.parquet
  embedding-datasets contamination scan corpus/ --index my.index --clean clean/     the corpus without these rows
  embedding-datasets contamination scan corpus/ --index my.index --flag rows.parquet --fail-on exact:0.1%
  embedding-datasets contamination scan corpus/ --index my.index --engine ray --jobs 16

Kinds: exact, folded (case, punctuation, spacing), near, contained in a longer text, passage (edited or cut, in a longer text)."""
MAP_EXAMPLES = """\
  embedding-datasets contamination map outputs/                       which of these releases share texts
  embedding-datasets contamination map cedr terra --output map.json"""


def main() -> int:
    """Run the subcommand that the command line names; returns its exit code: 1 on --fail-on, else 0."""
    name = sys.argv[1] if len(sys.argv) > 1 else None
    if name not in SUBCOMMANDS:
        arguments = parser()
        arguments.parse_args()
        arguments.error("name index, scan or map before the options")
    sys.argv = [f"{sys.argv[0]} {name}", *sys.argv[2:]]
    run, options = {"index": (_index, _index_parser), "scan": (_scan, _scan_parser), "map": (_map, _map_parser)}[name]
    return run(command.parse(options()))


def _index(options: argparse.Namespace) -> int:
    from pipelines.decontamination import index_file, indexing, mteb_tasks, pages
    from pipelines.process.stages import show_stages
    from pipelines.raw.digests import default_cache

    options.output.parent.mkdir(parents=True, exist_ok=True)
    with show_stages("index"):
        names = options.names or (["all"] if options.all_built else [])
        if bool(names) == bool(options.mteb):
            raise UsageError(
                "name datasets, or pass --all-built" + ", and no --mteb" * bool(names),
                todo="embedding-datasets contamination index --help",
            )
        if options.mteb and (options.splits or options.task or options.map or options.subset or options.language):
            raise UsageError(
                "with --mteb, splits, subsets, columns and types are mteb's", todo="leave these options out"
            )
        if options.mteb:
            tables = mteb_tasks.index_mteb(options.mteb, options.output, default_cache())
        else:
            missing: list[index_file.Unread] | None = [] if options.all_built else None
            datasets = indexing.find_datasets(names, options.releases, command.foreign_options(options), missing)
            record = index_file.Record(unread=tuple(missing)) if missing else None
            tables = indexing.index_tables(datasets, options.output, options.splits, record)
    record = index_file.read_record(options.output)
    if options.json:
        command.print_json(pages.index_to_json(tables, options.output, record))
    else:
        command.print_page(pages.index_page(tables, options.output, record, width=command.width()))
    return 0


def _scan(options: argparse.Namespace) -> int:
    from pipelines.checking import corpora, verdict
    from pipelines.decontamination import clean, engines, index_file, indexing, pages, scans
    from pipelines.hub.published_indexes import find_index
    from pipelines.process.stages import show_stages
    from pipelines.raw.digests import default_cache

    conditions = verdict.parse_conditions(options.fail_on, pages.GRAMMAR)
    engine = engines.Engine(options.engine, options.jobs, options.address)
    cache = options.cache or default_cache()
    with show_stages("scan"):
        index = find_index(options.index, cache)
        tables = index_file.read_index_header(index).tables
        datasets = indexing.available_releases(tables, options.releases)
        datasets += indexing.find_datasets(options.benchmark, options.releases, command.foreign_options(options))
        corpus = corpora.open_corpus(options.corpus, options.text, releases=options.releases)
        if options.clean:
            clean.check_target([*(file for file, _ in corpus.files), *corpus.empty], options.clean)
        choices = {"threshold": options.threshold, "whole_texts": options.whole_texts}
        with scans.open_scan(corpus, index, datasets, engine, checkpoints=cache / "scans", **choices) as scan:
            summaries = scans.summarise(scan)
            met = pages.met_conditions(conditions, scan.sums, summaries)
            lines = _write(scan, summaries, options)
    if options.json:
        for line in pages.scan_to_json(scan, summaries):
            command.print_json(line)
    else:
        lines += [f"fails on: {', '.join(met)}"] if met else []
        if command.is_terminal() and not options.clean and any(summary.found for summary in summaries):
            lines.append("next: --clean DIR writes the corpus without these rows")
        command.print_page([*pages.scan_page(scan, summaries, width=command.width()), *lines])
    return int(bool(met))


def _write(scan: Scan, summaries: list[TableSummary], options: argparse.Namespace) -> list[str]:
    """Write what the options ask for; returns a line for each output."""
    from pipelines.decontamination import clean, pages, scans
    from pipelines.decontamination.engines import Engine

    outputs = (
        (options.matches, partial(scans.write_matches, scan), "every match"),
        (options.flag, partial(scans.write_flags, scan), "the rows of the benchmarks that were found"),
        (options.html, partial(pages.write, scan=scan, summaries=summaries), "a page to read in a browser"),
    )
    lines = list[str]()
    for path, write, what in outputs:
        if path:
            write(path)
            lines.append(f"{path}: {what}")
    if options.clean:
        cleaned = clean.write_clean(
            [*(file for file, _ in scan.corpus.files), *scan.corpus.empty],
            scans.rows_to_drop(scan),
            options.clean,
            scanned=scan.files,
            unread=scan.sums.unread.to_dicts(),
            engine=Engine(options.engine if options.address else "local", options.jobs, options.address),
            overwrite=options.overwrite,
        )
        lines += pages.clean_page(cleaned, options.clean)
    return lines


def _map(options: argparse.Namespace) -> int:
    from pipelines.checking.datasets import ForeignOptions
    from pipelines.decontamination import contamination_map, indexing
    from pipelines.process.stages import show_stages
    from pipelines.raw.digests import default_cache

    with show_stages("map"):
        datasets = indexing.find_datasets(options.names, options.releases, ForeignOptions())
        found = contamination_map.make_map(datasets, options.cache or default_cache())
    if options.output:
        contamination_map.write_map(found, options.output)
    if options.json:
        command.print_json(found)
    else:
        command.print_page(contamination_map.map_page(found, width=command.width()))
    return 0


def parser() -> argparse.ArgumentParser:
    """The subcommands; each has its own options."""
    listed = "\n".join(f"  {name:<7}{summary}" for name, summary in SUBCOMMANDS.items())
    about = f"Find the rows of benchmarks that are in a training corpus.\n\n{listed}"
    arguments = command.parser("contamination", about, EXAMPLES)
    arguments.add_argument("subcommand", choices=list(SUBCOMMANDS), metavar="index|scan|map", help="what to do")
    return arguments


def _index_parser() -> argparse.ArgumentParser:
    arguments = command.parser("contamination index", "Write an index of the texts of benchmarks.", INDEX_EXAMPLES)
    _add_names(arguments, "*")
    arguments.add_argument(
        "--all-built",
        action="store_true",
        help="leave out what has not been built below --releases, and list it; default: all",
    )
    arguments.add_argument(
        "--mteb",
        action="append",
        default=[],
        metavar="NAME",
        help="instead of datasets: a benchmark or a task of the mteb that is installed, or all; repeatable. Its datasets are "
        "read from the Hub at mteb's revisions, the splits that mteb evaluates; an interrupted command resumes",
    )
    command.add_output(arguments, "--output", "index", required=True, metavar="FILE", help="the index to write")
    arguments.add_argument(
        "--splits",
        type=command.split_names,
        default=(),
        metavar="NAMES",
        help="index these too, joined by commas: train,validation; without it, the split that a benchmark evaluates",
    )
    arguments.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
    command.add_foreign_options(arguments)
    return arguments


def _scan_parser() -> argparse.ArgumentParser:
    arguments = command.parser("contamination scan", "Find the texts of an index in a training corpus.", SCAN_EXAMPLES)
    add = arguments.add_argument
    add(
        "corpus",
        nargs="+",
        metavar="CORPUS",
        help="files, folders, globs, addresses such as s3://BUCKET/FOLDER, ORG/NAME[@REVISION], "
        "hf://datasets/ORG/NAME[@REVISION]/PATH for a part of one, or the name of a release",
    )
    add(
        "--index",
        required=True,
        metavar="FILE|NAME",
        help="what `contamination index` wrote: a file; on the Hub, ORG/NAME[@TAG], or NAME[@TAG] of an organisation that "
        "EMBEDDING_DATASETS_MIRRORS names",
    )
    add(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column with texts, also in lists and objects; repeatable; default: all strings but ids, addresses and labels",
    )
    add("--threshold", type=_share, default=0.9, metavar="SHARE", help="the similarity of near texts (0.9)")
    add(
        "--whole-texts",
        action="store_true",
        help="without views (prefixes, escapes, chats ...) and passages: half of the time",
    )
    add("--engine", choices=["local", "ray"], default="local", help="processes of this machine (the default), or Ray")
    add("--jobs", type=command.positive_int, default=1, metavar="N", help="processes (1, which uses all cores)")
    add("--address", metavar="HOST:PORT", help="of a running Ray cluster; without it, Ray runs on this machine")
    output = partial(command.add_output, arguments)
    output("--matches", "matches", metavar="FILE", help="write every match, as Parquet")
    output("--flag", "flags", metavar="FILE", help="write the rows of the benchmarks that were found, as Parquet")
    about_clean = "write the corpus without the rows that have a match, into a folder or to an address"
    output("--clean", "clean", type=_path_or_address, metavar="DIR", help=about_clean)
    output("--html", "page", metavar="FILE", help="write a page to read in a browser, texts side by side")
    add("--json", action="store_true", help="one JSON object per dataset, split and column on stdout, for programs")
    add(
        "--fail-on",
        action="append",
        default=[],
        metavar="CONDITION",
        help="exit with 1 on this: KIND, any, a share of a split: exact:0.1%%, or unread: text that was not read; repeatable, or "
        "joined by commas",
    )
    add(
        "--benchmark",
        action="append",
        default=[],
        metavar="NAME",
        help="a dataset in the index whose texts are available: a folder, a file, ORG/NAME; repeatable. Near texts are then "
        "measured, not estimated; releases below --releases are found without it",
    )
    command.add_releases_option(arguments)
    add("--cache", type=Path, metavar="DIR", help="where downloads and partial results are kept (the user's cache)")
    command.add_foreign_options(arguments)
    return arguments


def _map_parser() -> argparse.ArgumentParser:
    about = "Find the texts that datasets share with each other, in all of their splits."
    arguments = command.parser("contamination map", about, MAP_EXAMPLES)
    _add_names(arguments)
    command.add_output(arguments, "--output", "map", metavar="FILE", help="write it as JSON too")
    arguments.add_argument("--cache", type=Path, metavar="DIR", help="where scratch files are (the user's cache)")
    arguments.add_argument("--json", action="store_true", help="JSON on stdout, for programs")
    return arguments


def _add_names(arguments: argparse.ArgumentParser, nargs: str = "+") -> None:
    arguments.add_argument(
        "names",
        nargs=nargs,
        metavar="NAME|PATH|ORG/NAME[@REVISION]",
        help=f"{command.NAMES}, built below --releases; the folder of a release or of several; any dataset that check reads",
    )
    command.add_releases_option(arguments)


def _path_or_address(text: str) -> Path | str:
    from pipelines.process.addresses import ADDRESS

    return text.rstrip("/") if ADDRESS.fullmatch(text) else Path(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a number from 0.5 to 1, not {text[:20]!r}")
    return value


if __name__ == "__main__":
    command.run(main)
