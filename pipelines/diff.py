"""embedding-datasets diff A B : whether two datasets are the same, and what differs: releases, or anybody's."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict

from pipelines import command

EXAMPLES = """\
  embedding-datasets diff cedr@1.0.0 cedr@2.0.0             two versions built below outputs/
  embedding-datasets diff ORG/cedr-classification@v1.0.0 outputs/cedr-classification   the published and the local one
  embedding-datasets diff ORG/NAME@main mteb/NAME@COMMIT    a re-upload, whatever its layout
  embedding-datasets diff old.csv new.parquet --map text=sentence --html difference.html
  embedding-datasets diff ORG/NAME@main NEW/NAME@main --format markdown >> "$GITHUB_STEP_SUMMARY"

0 means the same rows, in any order; 1 other rows (or, with an error on stderr, a damaged release)."""


def main() -> int:
    """Compare the two datasets that the command line names; returns 0 for the same rows, 1 for others."""
    options = command.parse(parser(), _find_mistakes)
    from pipelines.identity import USUAL, pages
    from pipelines.identity.datasets import compare_datasets, read_side
    from pipelines.process.stages import show_stages

    foreign = command.foreign_options(options)
    with show_stages("diff"):
        sides = [read_side(name, foreign, options.releases) for name in (options.a, options.b)]
        allowed = () if options.strict else (*USUAL, *options.allow)
        result = compare_datasets(sides[0], sides[1], foreign, allowed)
    if options.html:
        pages.write_html(options.html, result)
    if options.format == "json":
        print(json.dumps(result, ensure_ascii=False, default=asdict), flush=True)
    else:
        command.print_page(pages.markdown_page(result) if options.format == "markdown" else pages.text_page(result))
    return 0 if result["same"] else 1


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    from pipelines.identity import ALLOWED, USUAL

    arguments = command.parser("diff", "Show whether two datasets have the same rows, and what differs.", EXAMPLES)
    kinds = (
        "a release, a folder of releases of one dataset (the newest), a version of the catalogue; or any other folder, data"
        " file or dataset on the Hub"
    )
    for name in ("a", "b"):
        arguments.add_argument(
            name, nargs="?", metavar=name.upper(), help=f"PATH, cedr@1.0.0 or ORG/NAME@REVISION: {kinds}"
        )
    command.add_releases_option(arguments)
    arguments.add_argument(
        "--format",
        choices=("text", "markdown", "json"),
        default="text",
        help="what is printed: text; markdown, for a pull request; json",
    )
    arguments.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json, for programs"
    )
    command.add_output(arguments, "--html", "page", metavar="FILE", help="write a page to read in a browser, one file")
    arguments.add_argument(
        "--allow",
        action="append",
        default=[],
        choices=[*ALLOWED],
        metavar="WHAT",
        help="what may differ beside the order of rows and types: "
        + "; ".join(f"{word}, {meaning}" for word, meaning in ALLOWED.items() if word not in USUAL)
        + "; repeatable",
    )
    arguments.add_argument(
        "--strict", action="store_true", help="allow nothing: neither another order of rows nor other types of columns"
    )
    command.add_foreign_options(arguments)
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    return {
        "name two datasets, the older first: embedding-datasets diff cedr@1.0.0 cedr@2.0.0": options.b is None,
        "--strict allows nothing: leave out --allow": options.strict and options.allow,
    }


if __name__ == "__main__":
    command.run(main)
