"""embedding-datasets doctor : what this machine has of all that a build needs, and what to do about the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import DatasetError
from pipelines import command

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  embedding-datasets doctor              Python, packages, cache, disk, the token and the gated files it may read
  embedding-datasets doctor --offline    the same, without asking the Hub"""


def main() -> int:
    """Look at everything; returns 1 where something would stop builds, else 0."""
    options = command.parse(parser())
    from dataclasses import asdict

    try:
        from pipelines.raw.diagnosis import diagnose, diagnosis_page
        from pipelines.raw.digests import default_cache

        lines = diagnose(options.cache or default_cache(), options.output, offline=options.offline)
    except ModuleNotFoundError as error:
        todo = "install this package again: python -m pip install -e . in a checkout"
        raise DatasetError(f"the module {error.name} is not installed, and every build needs it", todo=todo) from None
    if options.json:
        for line in lines:
            command.print_json(asdict(line))
    else:
        print(diagnosis_page(lines))
    return int(any(line.state == "problem" for line in lines))


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("doctor", "Find out what would stop a build on this machine.", EXAMPLES)
    arguments.add_argument(
        "--cache", type=Path, metavar="DIR", help="where downloads are kept (default: the user's cache)"
    )
    command.add_releases_option(arguments, "--output")
    arguments.add_argument("--offline", action="store_true", help="ask the Hub nothing")
    arguments.add_argument("--json", action="store_true", help="one JSON object per line, for programs")
    return arguments


if __name__ == "__main__":
    command.run(main)
