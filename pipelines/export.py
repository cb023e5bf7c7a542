"""embedding-datasets export NAME... --as TRAINER --output DIR : training data in the format of a trainer."""

import argparse
from functools import partial
from pathlib import Path

from pipelines import command

EXPORTING = Path(__file__).parent / "exporting"
MOST_NEGATIVES = 7
EXAMPLES = """\
  embedding-datasets export training --as sentence-transformers --output train    all sets that were built, in one mixture
  embedding-datasets export ru-hnp-contrastive@2.0.0 --as flagembedding --output train
  embedding-datasets export medi --configs nq,squad --as medi --output train
  embedding-datasets export outputs/ru-wanli-contrastive/2.0.0 --as sentence-transformers --negatives 3 --output train

The folder gets the data, a README.md with code that trains on them, and
export.json: releases, options, rows and sampling weights, digests. The same
releases and options give the same bytes."""


def main() -> int:
    """Export what the command line names; returns 0."""
    options = command.parse(parser())
    from pipelines.exporting.export import export_page, write_export
    from pipelines.exporting.sets import find_releases, select_sets
    from pipelines.exporting.trainers import TRAINERS, make_choices
    from pipelines.process.stages import show_stages

    choices = make_choices(TRAINERS[options.trainer], options.negatives, options.positives, options.prefixes)
    sets = select_sets(find_releases(options.names, options.releases), options.configs)
    with show_stages("export"):
        record = write_export(sets, options.output, choices, overwrite=options.overwrite)
    folder = options.output.absolute()
    if options.json:
        command.print_json({"export": str(folder), **record})
    else:
        command.print_page(export_page(record, folder, width=command.width(), brief=not options.verbose))
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("export", "Write training data in the format of a trainer.", EXAMPLES)
    # Each trainer has a template of its README.md; to import their records would take longer than --help.
    trainers = sorted(path.name.removesuffix(".md.jinja") for path in (EXPORTING / "readme").glob("*.md.jinja"))
    names = (
        "training data: a dataset (NAME@VERSION for one version), a source, the group training, a folder, ORG/NAME@TAG"
    )
    arguments.add_argument("names", nargs="+", metavar="NAME", help=names)
    arguments.add_argument(
        "--as", dest="trainer", required=True, choices=trainers, help="the trainer whose format is written"
    )
    command.add_output(
        arguments,
        "--output",
        "export",
        "--to",
        required=True,
        metavar="DIR",
        help="the folder to write: new, empty, or an older export",
    )
    arguments.add_argument(
        "--configs",
        type=partial(command.split_names, of="sets", example="nq,squad"),
        metavar="NAMES",
        help="only these sets, joined by commas (default: all)",
    )
    arguments.add_argument(
        "--negatives",
        type=_number_of_negatives,
        metavar="N",
        help=f"the most negatives of a row, 0 to {MOST_NEGATIVES}: provided, then mined, then random ones"
        f" (default: {MOST_NEGATIVES}; medi has 1)",
    )
    arguments.add_argument(
        "--positives",
        choices=("first", "each"),
        help="of several positives, write the first or a row for each (default: first; flagembedding has all in a row)",
    )
    arguments.add_argument(
        "--prefixes",
        choices=("text", "instruction"),
        help="for medi: prefixes in the text, or as its instruction, which INSTRUCTOR's train.py refuses (default: text)",
    )
    command.add_releases_option(arguments)
    arguments.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
    return arguments


def _number_of_negatives(text: str) -> int:
    if text not in map(str, range(MOST_NEGATIVES + 1)):
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {MOST_NEGATIVES}, not {text[:20]!r}")
    return int(text)


if __name__ == "__main__":
    command.run(main)
