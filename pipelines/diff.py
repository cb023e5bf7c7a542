"""embedding-datasets diff A B : what differs between two releases, on disk or on the Hub."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  embedding-datasets diff cedr@1.0.0 cedr@2.0.0             two versions built below outputs/
  embedding-datasets diff outputs/cedr-classification/1.0.0 outputs/cedr-classification/2.0.0
  embedding-datasets diff ORG/cedr-classification@v1.0.0 ORG/cedr-classification@v2.0.0
  embedding-datasets diff ORG/cedr-classification@v1.0.0 outputs/cedr-classification   the published and the local one

0 means the same rows, 1 other rows (or, with an error on stderr, a release that cannot be read)."""


def main() -> int:
    """Compare the two releases that the command line names; returns 0 for the same rows, 1 for others."""
    options = command.parse(parser(), _check_options)
    from pipelines.checking import text

    result = diff(options.a, options.b, options.releases)
    if options.json:
        print(json.dumps(result, ensure_ascii=False, default=asdict), flush=True)
    else:
        print("\n".join(text.difference_page(result)), flush=True)
    return 0 if result["same"] else 1


def diff(old: str, new: str, releases: Path = Path("outputs")) -> dict[str, Any]:
    """What differs between two releases: see pipelines.release.comparison. releases: where those of the catalogue are.

    Raises UsageError, SourceError or ReleaseError where a release cannot be read, and ReleaseError where its rows differ from
    its manifest.
    """
    from pipelines.checking.targets import resolve_release
    from pipelines.release.comparison import compare_releases

    return compare_releases((old, resolve_release(old, releases)), (new, resolve_release(new, releases)))


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("diff", "Show what differs between two releases: rows, statistics, findings.", EXAMPLES)
    kinds = "a release, a folder of releases of one dataset (the newest), a version of the catalogue, or one on the Hub"
    for name in ("a", "b"):
        arguments.add_argument(name, nargs="?", metavar=name.upper(), help=f"PATH, cedr@1.0.0 or ORG/NAME@TAG: {kinds}")
    command.add_releases_option(arguments)
    arguments.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
    return arguments


def _check_options(arguments: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error where options do not fit together."""
    if options.b is None:
        arguments.error("name two releases, the older first: embedding-datasets diff cedr@1.0.0 cedr@2.0.0")


if __name__ == "__main__":
    command.run(main)
