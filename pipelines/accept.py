"""embedding-datasets accept REPORT [NAME...] : the lock and ledger entries of a build report, into this checkout."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import ReleaseError, UsageError
from pipelines import command
from pipelines.process import installation
from pipelines.process.tables import table, wrap

if TYPE_CHECKING:
    import argparse

    from pipelines.build_report.entries import NewEntries
    from pipelines.build_report.records import DatasetReport

EXAMPLES = """\
  embedding-datasets accept build-report.json --dry-run    what a report says, and what it would add
  embedding-datasets accept build-report.json              add all of it; then review and commit both files
  embedding-datasets accept probe.json                     the digests that `fetch --probe --records` learned
  embedding-datasets accept build-report.json shp rubq     only these datasets
  embedding-datasets accept build-report.json --rebuild --raw-dir raw     build these versions here first"""

FEW = 10  # of more, digests, errors and reasons are only shown with -v


def main() -> int:
    """Show a build report, and write what it adds to the lock file and the ledger; returns the exit code."""
    options = command.parse(parser())
    from builders import catalogue
    from pipelines.build_report.entries import new_entries, probe_entries, rebuild_entries, write_entries
    from pipelines.build_report.records import read_report
    from pipelines.raw.pins import LOCK_FILE
    from pipelines.release.ledger import LEDGER

    if not (options.lock and options.ledger) and not installation.is_checkout():
        raise UsageError(
            "an installed package keeps its lock file and ledger as they are",
            todo="give both --lock FILE and --ledger FILE, or run this in a checkout of the repository",
        )
    names = {entry.dataset for entry, _ in catalogue.resolve(options.names)} if options.names else None
    lock, ledger = options.lock or LOCK_FILE, options.ledger or LEDGER
    if not options.report.is_file():
        raise ReleaseError("no build report found", where=str(options.report), todo="name a build-report.json")
    sources = {entry.source for entry, _ in catalogue.resolve(options.names)}
    shown: list[DatasetReport] = []
    if (entries := probe_entries(options.report.read_bytes(), sources, lock)) is None:
        report = read_report(options.report)
        assert report is not None, "the file exists"
        entries = new_entries(report, names, lock, ledger)
        shown = [dataset for dataset in report.datasets if names is None or dataset.dataset in names]
    brief = not options.verbose and max(map(len, (shown, entries.left_out, entries.lock, entries.ledger))) > FEW
    _print_datasets(shown, brief=brief)
    if brief:
        reasons = Counter(reason.partition(":")[0] for _, reason in entries.left_out)
        command.print_page([f"{count} datasets: {reason}" for reason, count in reasons.items()])
    else:
        _print_entries(entries, lock.name, ledger.name)
    if options.rebuild:
        rebuild_entries(entries, command.raw_settings(options))
    if not options.dry_run:
        write_entries(entries, lock, ledger)
    verb = "would add" if options.dry_run else "added"
    more = "; -v shows all" if brief else ""
    print(f"{verb}: {len(entries.lock)} to {lock.name}, {len(entries.ledger)} to {ledger.name}{more}")
    return 0


def _print_entries(entries: NewEntries, lock: str, ledger: str) -> None:
    """Print why some are left out, and the digests that are new. lock, ledger: the names of the files."""
    for name, reason in entries.left_out:
        command.print_page(_wrapped(f"{name}: {reason}"))
    for name, digest in entries.lock.items():
        command.print_page([f"{lock}: {name}, {digest.bytes:,} bytes", f"  {digest.sha256}"])
    for (name, version), entry in entries.ledger.items():
        command.print_page([f"{ledger}: {name}@{version}, {len(entry.raw)} raw files", f"  {entry.content_sha256}"])


def _wrapped(text: str) -> list[str]:
    return wrap(text, width=width, break_words=False) if (width := command.width()) else [text]


def _print_datasets(shown: list[DatasetReport], *, brief: bool) -> None:
    """Print a line for each dataset, and below them the errors. brief: without these."""
    if not shown:
        return
    rows = [["dataset", "state", "files", "new", "figures that agree"], *map(_row, shown)]
    command.print_page(table(rows, width=command.width()).splitlines())
    for outcome in () if brief else shown:
        for error in outcome.errors:
            parts = ", ".join(filter(None, (error.where, error.found)))
            command.print_page(_wrapped(f"{outcome.name}: {error.what}; {parts}"))


def _row(entry: DatasetReport) -> list[str]:
    figures = entry.figures
    obtained = [file for file in entry.files if file.sha256 is not None]
    agreeing = f"{figures.agree} of {len(figures.lines)}" if figures else "none published"
    if figures and figures.corrected:  # the published ones are of rows that it corrects
        agreeing = "not compared"
    return [
        entry.name,
        entry.state,
        f"{len(obtained)} of {len(entry.files)}",
        str(sum(file.known_by == "nobody" for file in obtained)),
        agreeing if entry.content_sha256 else "",
    ]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("accept", "Adopt new digests and versions from a build report.", EXAMPLES)
    arguments.add_argument("report", type=Path, metavar="REPORT", help="a build-report.json, or a probe.json")
    arguments.add_argument("names", nargs="*", default=(), metavar="NAME", help=f"only these: {command.NAMES}")
    command.add_flags(
        arguments,
        {
            "--dry-run": "show what would be added, and write nothing",
            "--rebuild": "build each version for the ledger from the raw files on this machine, and add nothing if one has"
            " other rows",
        },
    )
    command.add_raw_options(arguments)
    arguments.add_argument(
        "--lock", type=Path, metavar="FILE", help="the lock file (pipelines/raw.lock.json of a checkout)"
    )
    arguments.add_argument(
        "--ledger", type=Path, metavar="FILE", help="the ledger (pipelines/ledger.json of a checkout)"
    )
    return arguments


if __name__ == "__main__":
    command.run(main)
