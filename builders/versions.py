"""Versions of a dataset: options of its recipe, the findings that it keeps, and the one whose negatives are mined."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


@dataclass(frozen=True)
class KnownFinding:
    """A finding that a maintainer examined and keeps.

    kind, location: as in the finding (`split_leak`, `default/test.text`). count: the sum over findings of this kind at this
    location, on complete raw files; a build that counts differently fails. why: the reason for keeping it, for the card.
    detail: only findings with this detail, where there are several.
    """

    kind: str
    location: str
    count: int
    why: str
    detail: str = ""


@dataclass(frozen=True)
class Version:
    """A version is options of the recipe, never a copy of it.

    notes: what changed, for the card's history. needs: keys of the raw files that this version takes beside those of the dataset,
    for every split.
    """

    notes: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    known: tuple[KnownFinding, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mining:
    """Raw files with hard negatives for training data, which an embedding model ranks: `embedding-datasets decide` writes them.

    version: the one whose rows are mined; its options name `mined_ranks`, the first and the last rank that the files hold. files:
    the key of the raw file of each config.
    """

    version: str
    files: Mapping[str, str]


def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a version: its numbers, so that 10.0.0 comes after 9.0.0."""
    return tuple(int(number) for number in version.split("."))
