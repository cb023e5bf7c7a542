"""Scripts that complete the command line in a shell: commands, options, names of the catalogue, paths.

They are written for the catalogue of now: after new datasets, write them again. Nothing here changes what a command accepts.
"""

import argparse
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import shtab

from builders import catalogue

SHELLS = ("bash", "zsh", "fish")
FOLDERS = {"DIR"}  # placeholders of options that take a folder


def completion_script(program: str, commands: Iterable[tuple[str, str]], shell: str) -> str:
    """The script for one of SHELLS. commands: the name of each command, which is a module of this package, and its summary."""
    root = argparse.ArgumentParser(prog=program, allow_abbrev=False)
    root.add_argument("--version", action="store_true", help="show version and commit, and exit")
    root.add_argument("--print-completion", choices=SHELLS, help="print a script for a shell")
    subparsers = root.add_subparsers()
    entries = catalogue.entries().values()
    declared = (name for entry in entries for name in (entry.group, entry.source, entry.dataset))
    names = list(dict.fromkeys(["all", *declared]))
    for name, summary in commands:
        options: argparse.ArgumentParser = import_module(f"pipelines.{name}").parser()
        # The description stays behind: shtab would show its examples as a summary.
        copy = subparsers.add_parser(name, help=summary, parents=[options], add_help=False)
        for action in copy._actions:  # noqa: SLF001 - argparse has no other list of the options; shtab reads it too
            _describe(action, names)
    return str(shtab.complete(root, shell))


def _names_and_files(names: list[str]) -> dict[str, str | dict[str, str]]:
    """What shtab takes for an argument that is a name of the catalogue or a path."""
    function, words = "_embedding_datasets_names_and_files", " ".join(names)
    return {
        "bash": function,
        "zsh": function,
        "fish": f"(__fish_complete_path (commandline -ct)) {words}",
        "preamble": {
            "bash": f'{function}() {{\n  compgen -W "{words}" -- "$1"\n  compgen -f -- "$1"\n}}\n',
            "zsh": f"{function}() {{\n  compadd -- {words}\n  _files\n}}\n",
        },
    }


def _describe(action: argparse.Action, names: list[str]) -> None:
    """Say what completes an option or argument: names of the catalogue, a folder, a file."""
    words = action.metavar.split("|") if isinstance(action.metavar, str) and not action.option_strings else []
    if words == ["NAME"]:
        action.choices, action.help = names, "a name of the catalogue"
    elif "NAME" in words or words in (["A"], ["B"]):  # the two sides of a comparison
        action.help = "a name of the catalogue, or a path"
        action.complete = _names_and_files(names)  # type: ignore[attr-defined]
    elif action.type is Path or action.metavar in {"FILE", "DIR", "PATH"}:
        action.complete = shtab.DIRECTORY if action.metavar in FOLDERS else shtab.FILE  # type: ignore[attr-defined]
