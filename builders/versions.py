"""Versions of a dataset: options of its recipe, and the findings that it keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """A version is options of the recipe, never a copy of it. `notes` says what changed, for the card's history."""

    notes: str
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    known: tuple[KnownFinding, ...] = ()


def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a version: its numbers, so that 10.0.0 comes after 9.0.0."""
    return tuple(int(number) for number in version.split("."))
