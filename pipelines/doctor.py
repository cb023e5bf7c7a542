"""embedding-datasets doctor : what this machine has of all that a build needs, and what the Hub does of all that is assumed."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from builders.errors import DatasetError, PublishError
from pipelines import command

EXAMPLES = """\
  embedding-datasets doctor              Python, packages, cache, disk, the token and the gated files it may read
  embedding-datasets doctor --offline    the same, without asking the Hub
  embedding-datasets doctor --hub ORG    instead: does the Hub behave as publishing assumes? in a private repository of ORG"""


def main() -> int:
    """Look at everything; returns 1 where something would stop builds, or the Hub behaves otherwise than assumed, else 0."""
    options = command.parse(parser(), _find_mistakes)
    if options.hub:
        return _ask_hub(options)
    try:
        from pipelines.raw.diagnosis import diagnose, diagnosis_page
        from pipelines.raw.digests import default_cache

        lines = diagnose(options.cache or default_cache(), options.releases, offline=options.offline)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"the module {error.name} is not installed, and every build needs it",
            todo="install this package again: python -m pip install -e . in a checkout",
        ) from None
    if options.json:
        command.print_json(*map(asdict, lines))
    else:
        print(diagnosis_page(lines))
    return int(any(line.state == "problem" for line in lines))


def _ask_hub(options: argparse.Namespace) -> int:
    """Ask the Hub whether it behaves as assumed; returns 1 where it does not."""
    from pipelines.hub import assumptions, publishing

    command.confirm(
        f"a private repository {options.hub}/doctor-... will be created, filled and deleted",
        yes=options.yes,
        refused=PublishError("nothing was created", todo="answer y, or add --yes"),
    )
    hub = publishing.login()
    with assumptions.throwaway_repository(hub, options.hub, options.releases) as made:
        answers = assumptions.ask_all(made)
        if options.json:
            command.print_json(*map(asdict, answers))
        else:
            print(assumptions.page(f"{options.hub} at {hub.api.endpoint}", answers), flush=True)
    return int(any(answer.state == "did not hold" for answer in answers))


def _find_mistakes(options: argparse.Namespace) -> Mapping[str, object]:
    """The usage errors that options may make together, each with whether they do."""
    return {"--offline or --hub, not both": options.offline and options.hub}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    arguments = command.parser("doctor", "Find out what would stop a build on this machine.", EXAMPLES)
    arguments.add_argument(
        "--cache", type=Path, metavar="DIR", help="where downloads are kept (default: the user's cache)"
    )
    command.add_releases_option(arguments, "--output")
    arguments.add_argument("--offline", action="store_true", help="ask the Hub nothing")
    arguments.add_argument(
        "--hub",
        metavar="ORG",
        help="ask the Hub in a private throwaway repository of ORG whether it behaves as assumed",
    )
    command.add_yes_option(arguments, "with --hub: without a question")
    arguments.add_argument("--json", action="store_true", help="one JSON object per line, for programs")
    return arguments


if __name__ == "__main__":
    command.run(main)
