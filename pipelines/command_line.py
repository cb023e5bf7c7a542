"""One command for all: `embedding-datasets COMMAND`, the same as `python -m pipelines COMMAND`.

`python -m pipelines.COMMAND` runs one command too.
"""

import argparse
import difflib
import sys
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path

from pipelines import command
from pipelines.process import installation


@dataclass(frozen=True)
class Command:
    """A command, which is the module `pipelines.<name>`. heading, summary: in the list of commands."""

    name: str
    heading: str
    summary: str


EVERY = (
    Command("show", "use", "list the catalogue, or show one dataset or benchmark"),
    Command("fetch", "use", "find or download raw files, and verify them"),
    Command("build", "use", "build releases from raw files"),
    Command("check", "use", "verify releases, and find the problems of any dataset"),
    Command("diff", "use", "show what differs between two releases"),
    Command("publish", "use", "publish releases on the Hub"),
    Command("export", "use", "write training data in the format of a trainer"),
    Command("score", "understand", "compute what baselines and models score on releases"),
    Command("contamination", "understand", "find the rows of benchmarks that are in a training corpus"),
    Command("reproduce", "understand", "build a release again from its raw files, and compare"),
    Command("site", "understand", "write a catalogue of releases to browse, without a server"),
    Command("new", "develop", "begin a dataset, and list what it lacks"),
    Command("doctor", "develop", "find out what would stop a build on this machine"),
    Command("decide", "develop", "judge or measure texts once, with a model; find published rows"),
    Command("accept", "develop", "adopt new digests and versions from a build report"),
)
# A wheel of packaging/check has a part of them.
COMMANDS = tuple(listed for listed in EVERY if Path(__file__).with_name(f"{listed.name}.py").is_file())
EXAMPLES = """\
  embedding-datasets show                  the catalogue
  embedding-datasets build rubq --sample   from a golden sample, without network
  embedding-datasets build --help          the options of a command"""


def main() -> int:
    """Run the command that the command line names; without one, list the commands. Returns the exit code."""
    name = sys.argv[1] if len(sys.argv) > 1 else None
    if name in {listed.name for listed in COMMANDS}:
        sys.argv = [f"{command.PROGRAM} {name}", *sys.argv[2:]]
        code: int = import_module(f"pipelines.{name}").main()
        return code
    arguments = _parser()
    if name in {listed.name for listed in EVERY}:
        arguments.error(f"{name} is a command of embedding-datasets: python -m pip install embedding-datasets")
    if name is not None and not name.startswith("-"):
        nearest = difflib.get_close_matches(name, [listed.name for listed in COMMANDS], n=1)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        arguments.error(f"no command is named {name!r}: {hint}{command.PROGRAM} --help lists them")
    options = arguments.parse_args()
    if options.version:
        print(installation.describe())  # which asks git for the commit
    elif options.print_completion:
        from pipelines.completion import completion_script  # imports the options of all commands

        summaries = [(listed.name, listed.summary) for listed in COMMANDS]
        print(completion_script(command.PROGRAM, summaries, options.print_completion))
    else:
        arguments.print_help()
    return 0


def _parser() -> argparse.ArgumentParser:
    what = "Build, check and publish" if COMMANDS == EVERY else "Check and compare"
    arguments = argparse.ArgumentParser(
        prog=command.PROGRAM,
        usage=f"{command.PROGRAM} COMMAND ...",
        description=f"{what} embedding-benchmark datasets.\n\n{_list_commands()}",
        epilog=f"examples:\n{EXAMPLES}" if COMMANDS == EVERY else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments.add_argument("--version", action="store_true", help="show version and commit, and exit")
    arguments.add_argument(
        "--print-completion",
        choices=("bash", "zsh", "fish"),
        help="print a script that completes commands, options and names in a shell, and exit",
    )
    return arguments


def _list_commands() -> str:
    lines = list[str]()
    width = max(len(listed.name) for listed in COMMANDS) + 2
    for heading, commands in groupby(COMMANDS, key=lambda listed: listed.heading):
        lines += [f"{heading}:", *(f"  {listed.name:<{width}}{listed.summary}" for listed in commands)]
    return "\n".join(lines)


def run() -> None:
    """Run the command line and leave with its exit code."""
    command.run(main)
