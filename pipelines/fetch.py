"""embedding-datasets fetch NAME... : raw files, found or downloaded, and verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError
from pipelines import command
from pipelines.terminal import format_size

if TYPE_CHECKING:
    import argparse

    from builders.errors import MissingFile
    from pipelines.raw.locations import LocatedFile

EXAMPLES = """\
  embedding-datasets fetch rubq                         download what rubq's datasets are built from
  embedding-datasets fetch all --raw-dir DIR --offline  verify the files in DIR, list the missing ones
  embedding-datasets fetch hhrlhf-harmlessness --splits test"""


def main() -> int:
    """Fetch the raw files of the named datasets; returns the exit code: that of the first file that failed, or 0."""
    options = command.parse(parser())
    from builders.catalogue import needed_files, requested_splits
    from pipelines.raw.locations import locate
    from pipelines.raw.missing_files import missing_file_of
    from pipelines.report.missing_files_page import log_missing_files
    from pipelines.report.text import table

    settings = command.raw_settings(options)
    definitions = [definition for definition, _ in command.resolve_datasets(options.names)]
    sources = {}  # by source and file: datasets of one source share files
    for definition in definitions:
        for key in needed_files(definition, requested_splits(definition, options.splits)):
            sources[definition.source.name, key] = definition.source
    failed: dict[str, MissingFile] = {}
    code, rows = 0, [["file", "size", "sha256", "state", "from"]]
    for (_, key), source in sources.items():
        try:
            file = locate(source, key, settings)
        except DatasetError as error:
            missing = missing_file_of(error) if len(sources) > 1 else None
            if missing is None or (missing.reason == "unavailable" and missing.name not in failed):
                command.print_error(error)  # the summary says all of the others
            if missing is not None:
                failed[missing.name] = missing
            code = code or error.exit_code
            continue
        if options.json:
            command.print_json(_to_json(source.name, file))
        state = "verified" if file.verified else "unverified"
        rows.append([f"{source.name}/{file.name}", format_size(file.bytes), file.sha256[:16], state, file.origin])
    if not options.json and len(rows) > 1:
        print(table(rows))
    if failed:
        log_missing_files(definitions, settings, options.splits, failed.values())
    return code


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("fetch", "Find or download raw files and verify them.", EXAMPLES)
    arguments.add_argument("names", nargs="+", metavar="NAME", help=command.NAMES)
    command.add_raw_options(arguments)
    arguments.add_argument("--splits", type=command.split_names, metavar="A,B", help="only the files of these splits")
    arguments.add_argument("--json", action="store_true", help="one JSON object per file on stdout, for programs")
    return arguments


def _to_json(source: str, file: LocatedFile) -> dict[str, Any]:
    return {
        "name": f"{source}/{file.name}",
        "url": file.url,
        "sha256": file.sha256,
        "bytes": file.bytes,
        "verified": file.verified,
        "origin": file.origin,
        "path": str(file.raw.path),
        "member": file.raw.member,
    }


if __name__ == "__main__":
    command.run(main)
