"""python -m pipelines.fetch NAME... : raw files, found or downloaded, and verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from builders.errors import DatasetError
from pipelines import command
from pipelines.terminal import size_words

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from pipelines.raw.locations import RawSettings

EXAMPLES = """\
  python -m pipelines.fetch rubq                         download what rubq's datasets are built from
  python -m pipelines.fetch all --raw-dir DIR --offline  verify what is here, say what is missing
  python -m pipelines.fetch hhrlhf-harmlessness --splits test"""


def main() -> int:
    """Fetch what the command line names; returns the exit code: that of the first file that failed, if any did."""
    options = _parse()
    from pipelines.report import text

    places = command.raw_settings(options)
    code, rows = 0, [["file", "size", "sha256", "state", "from"]]
    for built, key in _files(command.resolve_datasets(options.names), options.splits):
        try:
            found = _find(built, key, places)
        except DatasetError as error:
            command.print_error(error)
            code = code or error.exit_code
            continue
        if options.json:
            print(json.dumps(found, ensure_ascii=False), flush=True)
        state = "verified" if found["verified"] else "unverified"
        rows.append([found["name"], size_words(found["bytes"]), found["sha256"][:16], state, found["origin"]])
    if not options.json and len(rows) > 1:
        print(text.table(rows))
    return code


def _parse() -> argparse.Namespace:
    arguments = command.parser("fetch", "Find or download raw files and verify them.", EXAMPLES)
    arguments.add_argument("names", nargs="+", metavar="NAME", help=command.NAMES)
    command.add_raw_options(arguments)
    arguments.add_argument("--splits", type=command.split_names, metavar="A,B", help="only what these splits need")
    arguments.add_argument("--json", action="store_true", help="one JSON object a file on stdout, for programs")
    return arguments.parse_args()


def _files(wanted: list[tuple[Definition, str]], splits: tuple[str, ...] | None) -> list[tuple[Definition, str]]:
    """Every raw file that the datasets need, once, with a dataset of its source."""
    from builders.catalogue import needed_files, requested_splits

    files: dict[tuple[str, str], tuple[Definition, str]] = {}
    for built, _ in wanted:
        for key in needed_files(built, requested_splits(built, splits)):
            files.setdefault((built.source.name, key), (built, key))
    return list(files.values())


def _find(built: Definition, key: str, places: RawSettings) -> dict[str, Any]:
    from pipelines.raw.locations import locate

    found = locate(built.source, key, places)
    kept = {name: getattr(found, name) for name in ("url", "sha256", "bytes", "verified", "origin")}
    return {
        "name": f"{built.source.name}/{found.name}",
        **kept,
        "path": str(found.raw.path),
        "member": found.raw.member,
    }


if __name__ == "__main__":
    command.run(main)
