"""embedding-datasets new NAME --task T : begin a dataset, then list what is missing until it is finished."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import UsageError
from pipelines import command
from pipelines.process.tables import wrap

if TYPE_CHECKING:
    from cards.texts import Gap
    from pipelines.scaffold.templates import Plan

EXAMPLES = """\
  embedding-datasets new shop_questions --task Classification     begin: writes an example that builds
  embedding-datasets new shop_questions                           list what is still missing or wrong
  embedding-datasets new my_pairs --task STS --benchmark rumteb   for a benchmark
  embedding-datasets new my_pairs --task STS --file pairs.csv     the raw file is a CSV of this name"""
HEADINGS = {
    "build": "nothing can be built before this is done:",
    "finish": "a sample can be built; before a complete release:",
    "later": "for later:",
}

logger = logging.getLogger(__name__)


def main() -> int:
    """Write the files of a new dataset, or list the gaps of one that exists; returns 1 where such a list is not empty."""
    options = command.parse(parser(), _find_mistakes)
    from pipelines.scaffold import checkout

    checkout.require_checkout()
    checkout.require_name(options.name)
    try:
        entries = checkout.read_entries()
    except (ValueError, SyntaxError) as error:
        todo = "correct the builder, and run the same command again"
        raise UsageError("a builder cannot be read", found=str(error), todo=todo) from None
    own = [entry for entry in entries.values() if entry.source == options.name]
    if own:
        from pipelines.scaffold.dataset_gaps import find_gaps

        return _list_gaps(options.name, find_gaps(own, build=True))
    if options.task is None:
        from builders.tasks import EVALUATED

        todo = f"begin it: embedding-datasets new {options.name} --task TASK, one of {', '.join(EVALUATED)}"
        raise UsageError(f"no builder is named {options.name!r}", where="builders/", todo=todo)
    from pipelines.scaffold.templates import Plan

    plan = Plan(options.name, options.task, options.benchmark, options.file)
    checkout.require_free(plan, entries)
    changed = checkout.find_changed_beginnings(plan, entries)
    files = checkout.write_missing(plan, dry_run=options.dry_run)
    _show_files(plan, files, dry_run=options.dry_run)
    for beginnings, meaning in changed.items():
        logger.info("%s will no longer mean %s: write more of that name", beginnings, meaning)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    from builders.benchmarks import BENCHMARKS
    from builders.tasks import EVALUATED

    names = {name.lower(): name for name in EVALUATED}  # in lower case: the case of a name does not matter
    arguments = command.parser("new", "Begin a dataset, and list what it lacks until it is finished.", EXAMPLES)
    arguments.add_argument("name", metavar="NAME", help="of the source: lower-case letters, digits, underscores")
    arguments.add_argument(
        "--task",
        type=lambda text: names.get(text.lower(), text),
        choices=EVALUATED,
        metavar="TASK",
        help=f"the task type: {', '.join(EVALUATED)}",
    )
    arguments.add_argument("--benchmark", choices=BENCHMARKS, help="the benchmark it belongs to (default: none)")
    arguments.add_argument(
        "--file", default="records.jsonl", metavar="FILE", help="the raw file, .jsonl or .csv (default: records.jsonl)"
    )
    arguments.add_argument(
        "--dry-run", action="store_true", help="list the files that would be written, and write none"
    )
    return arguments


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    name = options.file
    is_wrong = Path(name).name != name or not name.strip(".") or '"' in name or not name.isprintable()
    return {f"--file is the name of a file, without folders: {name!r}": is_wrong}


def _show_files(plan: Plan, files: Sequence[str], *, dry_run: bool) -> None:
    """Print what was written, and what to do next."""
    from cards.texts import MARK
    from pipelines.scaffold.checkout import ROOT

    below = "" if Path.cwd() == ROOT else f" below {ROOT}"
    print(f"would write{below}:" if dry_run else f"written{below}:")
    print("\n".join(f"  {name}" for name in files))
    if dry_run:
        return
    steps = (
        f"embedding-datasets build {plan.dataset} --sample: the example becomes a release",
        f"put your own data in its place: every line with {MARK}, and the records of the golden sample",
        f"embedding-datasets new {plan.name}: lists what is still missing",
        "docs/adding-a-dataset.md walks through all of it",
    )
    print("\nnext:")
    print("\n".join(line for number, step in enumerate(steps, 1) for line in wrap(step, f"  {number}. ")))


def _list_gaps(name: str, gaps: Sequence[Gap]) -> int:
    """Print the gaps of a source by level, file by file; returns the exit code."""
    from cards.texts import NOT_WRITTEN
    from pipelines.scaffold.checkout import ROOT

    urgent = sum(gap.level != "later" for gap in gaps)
    print(f"{name}: {urgent} gap{'s' * (urgent != 1)}" if urgent else f"{name}: complete")
    for level, heading in HEADINGS.items():
        listed = [gap for gap in gaps if gap.level == level]
        if listed:
            print(f"\n{heading}")
        shown = ""
        for gap in listed:
            where = gap.where.removeprefix(f"{ROOT}/")
            if gap.what == NOT_WRITTEN:
                path, _, line = where.rpartition(":")
                print(
                    "\n".join([f"  {path}: {gap.todo}"] * (path != shown) + wrap(gap.expected or "...", f"{line:>7}  "))
                )
                shown = path
            else:
                print("\n".join([f"  {where}", *wrap(str(gap), "    "), *wrap(gap.todo, "      -> ")]))
    if not urgent:
        print("\nnext: python -m pytest; then build it from its real files, and commit")
    return 1 if urgent else 0


if __name__ == "__main__":
    command.run(main)
