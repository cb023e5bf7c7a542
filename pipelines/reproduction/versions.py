"""Which version of the package and which libraries made a release, and how to install them.

A manifest says it, and is foreign data: only a commit in hex and plain version numbers get into a command.
"""

import re
from collections.abc import Mapping

from pipelines import installation
from pipelines.release import fingerprint

COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})(-dirty)?")
VERSION = re.compile(r"\d[0-9A-Za-z.+!_-]{0,40}", re.ASCII)
COMMIT_KEY = "commit"


def known_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """What a manifest says of the package, Python and the libraries that take part in a build; nothing else that it may say."""
    versions = {name: tools[name] for name in fingerprint.tools() if VERSION.fullmatch(tools.get(name, ""))}
    commit = tools.get(COMMIT_KEY, "")
    return versions | ({COMMIT_KEY: commit} if COMMIT.fullmatch(commit) else {})


def how_to_install(tools: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """The steps that install what made a release, a line each; empty where it is what runs here.

    tools: of the release. own: of this package.
    """
    made_by = known_tools(tools)
    commit, version = made_by.get(COMMIT_KEY, ""), made_by.get(installation.NAME, "")
    libraries = [
        f"{name}=={value}"
        for name, value in made_by.items()
        if name not in {COMMIT_KEY, installation.NAME, "python"} and own.get(name) != value
    ]
    steps = []
    if commit and commit != own.get(COMMIT_KEY):
        sha = commit.removesuffix("-dirty")
        folder = f"../{installation.NAME}-{sha[:12]}"
        steps += [f"git worktree add {folder} {sha}", f"python -m pip install {folder}"]
    elif not commit and version and version != own.get(installation.NAME):
        steps.append(f"python -m pip install {installation.NAME}=={version}")
    if libraries:
        steps.append(f"python -m pip install {' '.join(libraries)}")
    return steps
