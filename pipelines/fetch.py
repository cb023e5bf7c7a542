"""embedding-datasets fetch NAME... : raw files, found or downloaded, and verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError
from pipelines import command
from pipelines.terminal import format_size

if TYPE_CHECKING:
    import argparse

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
    from pipelines.report.failures import error_as_json
    from pipelines.report.text import table
    from pipelines.stages import show_stages, stage

    settings = command.raw_settings(options)
    sources = {}  # by source and file: datasets of one source share files
    for definition, _ in command.resolve_datasets(options.names):
        for key in needed_files(definition, requested_splits(definition, options.splits)):
            sources[definition.source.name, key] = definition.source
    code, rows = 0, [["file", "size", "sha256", "state", "from"]]
    for number, ((_, key), source) in enumerate(sources.items(), 1):
        try:
            with show_stages(f"file {number} of {len(sources)}"), stage(f"{source.name}/{source.files[key].name}"):
                file = locate(source, key, settings)
        except DatasetError as error:
            command.print_error(error)
            if options.json:
                name = f"{source.name}/{source.files[key].name}"
                command.print_json({"name": name, "state": "failed", "error": error_as_json(error)})
            code = code or error.exit_code
            continue
        if options.json:
            command.print_json(_to_json(source.name, file))
        state = "verified" if file.verified else "unverified"
        rows.append([f"{source.name}/{file.name}", format_size(file.bytes), file.sha256[:16], state, file.origin])
    if not options.json and len(rows) > 1:
        command.print_page(table(rows, width=command.width()).splitlines())
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
