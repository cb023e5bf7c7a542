"""Reads the front matter of a card: the YAML between the two `---` lines at the head of a README.md.

A card from the Hub is data, not trusted text. PyYAML alone is not enough: a few lines of nested aliases expand to billions of
values, and many tags make it raise exceptions of Python. Everything is measured before any value is built; the limits are in
builders/limits.py.
"""

import re
from typing import Any

import yaml

from builders import limits
from builders.errors import SourceError

FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)

TOO_DEEP = f"values nested in more than {limits.MAX_DEPTH} levels"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
UNMEASURED = (0, 0)  # size and depth of a node while its children are being measured


def split_front_matter(card: str) -> tuple[str, str]:
    """The YAML of a card, with its final newline, and the text below it. Without front matter, the YAML is empty."""
    match = FRONT_MATTER.match(card)
    return (match[1] or "", card[match.end() :]) if match else ("", card)


def parse_front_matter(card: bytes, where: str) -> dict[str, Any]:
    """The metadata of a card; empty for a card without front matter.

    card: the bytes of a README.md, or one more than `limits.MAX_CARD` of a longer one. where: the file or repository.

    Raises SourceError for invalid YAML, for a card or YAML that exceeds a limit, and for anything but a mapping.
    """
    if len(card) > limits.MAX_CARD:
        found, expected = f"more than {limits.MAX_CARD:,} bytes", f"at most {limits.MAX_CARD:,}"
        raise SourceError("README.md is too large", where=where, found=found, expected=expected, todo="shorten it")
    text, _ = split_front_matter(card.decode("utf-8", "replace"))
    try:
        metadata = _load(text)
    except (yaml.YAMLError, ValueError) as error:
        found = " ".join(str(error).split())[:500]
        todo = "fix the front matter of README.md"
        raise SourceError("invalid YAML in the front matter", where=where, found=found, todo=todo) from None
    if metadata is not None and not isinstance(metadata, dict):
        raise SourceError(
            "the front matter is not a mapping",
            where=where,
            found=type(metadata).__name__,
            expected="lines of `key: value`",
            todo="fix the front matter of README.md",
        )
    return metadata or {}


def _load(text: str) -> Any:
    if len(text) > limits.MAX_FRONT_MATTER:
        raise ValueError(f"{len(text):,} characters, more than {limits.MAX_FRONT_MATTER:,}")
    loader = _CountingLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, {})
        return loader.construct_document(node)
    except (LookupError, AttributeError):  # what PyYAML raises for `!!int ''`, `!!bool maybe` and `!!timestamp now`
        raise ValueError("a value does not fit its tag") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    finally:
        loader.dispose()


class _CountingLoader(yaml.SafeLoader):
    """The safe loader of PyYAML, which stops at too many values: each takes it some 20 microseconds."""

    _count = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._count += 1
        if self._count > limits.MAX_VALUES:
            raise ValueError(f"more than {limits.MAX_VALUES:,} values")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def _measure(node: yaml.Node, measured: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The size and the depth of a node with its aliases expanded: in `[&a xy, *a]` the text counts twice.

    measured: the results so far, by the id of the node.

    Raises ValueError for a node that exceeds a limit or contains itself, and for text that is not Unicode.
    """
    if (extent := measured.get(id(node))) is not None:
        if extent == UNMEASURED:
            raise ValueError("a value contains an alias of itself")
        return extent
    measured[id(node)] = UNMEASURED
    if isinstance(node, yaml.ScalarNode):
        size, depth = 1 + len(node.value.encode()), 1  # `"\ud800"` cannot be encoded
        if node.tag in NUMBERS and size > limits.MAX_DIGITS:
            raise ValueError(f"a number of more than {limits.MAX_DIGITS} digits")
    else:
        children = (
            [child for pair in node.value for child in pair] if isinstance(node, yaml.MappingNode) else node.value
        )
        extents = [_measure(child, measured) for child in children]
        size, depth = 1 + sum(size for size, _ in extents), 1 + max((depth for _, depth in extents), default=0)
    if size > limits.MAX_EXPANDED:
        raise ValueError(f"values of more than {limits.MAX_EXPANDED:,} characters, aliases expanded")
    if depth > limits.MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    measured[id(node)] = size, depth
    return size, depth
