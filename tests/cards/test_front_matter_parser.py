"""Front matter as other programs and people write it, and as an attacker would."""

import contextlib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.limits import MAX_CARD, MAX_FRONT_MATTER, MAX_VALUES
from cards.front_matter import parse_front_matter, split_front_matter
from tests.support.card_inputs import TASKS, card_for, front_matter_of


@pytest.mark.parametrize(
    ("card", "front_matter", "body"),
    [
        ("---\na: 1\n---\n\n# Title\n", "a: 1\n", "\n# Title\n"),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---\r\na: 1\r\n---\r\n# Title\r\n", "a: 1\r\n", "# Title\r\n"),
        ("\ufeff---\na: 1\n---\n", "a: 1\n", ""),
        ("--- \na: 1\n---\t\nb", "a: 1\n", "b"),
        ("---\na: |\n  x---\n  --- x\n---\nb", "a: |\n  x---\n  --- x\n", "b"),
        ("---\n---\nb\n---\n", "", "b\n---\n"),
        ("# Title\n\n---\na: 1\n---\n", "", "# Title\n\n---\na: 1\n---\n"),
        ("---\na: 1\n", "", "---\na: 1\n"),
        ("----\na: 1\n----\n", "", "----\na: 1\n----\n"),
        ("", "", ""),
    ],
)
def test_front_matter_is_between_two_lines_of_hyphens_at_the_head(card: str, front_matter: str, body: str) -> None:
    assert split_front_matter(card) == (front_matter, body)


@pytest.mark.parametrize("task_type", TASKS)
def test_the_front_matter_of_our_cards_is_parsed(task_type: str) -> None:
    card = card_for(task_type)
    assert parse_front_matter(card.encode(), "here") == front_matter_of(card) != {}
    front_matter, body = split_front_matter(card)
    assert f"---\n{front_matter}---\n{body}" == card


@pytest.mark.parametrize("card", [b"", b"# Title\n", b"---\n---\n", b"---\n# comment\n---\n", b"---\nnull\n---\n"])
def test_a_card_without_metadata_has_no_keys(card: bytes) -> None:
    assert parse_front_matter(card, "here") == {}


def test_aliases_merge_keys_and_bytes_that_are_not_utf_8_are_read() -> None:
    card = b"---\na: &a {x: 1}\nb: *a\nc: {<<: *a, y: [*a, *a]}\nd: caf\xe9\n---\n"
    one = {"x": 1}
    assert parse_front_matter(card, "here") == {"a": one, "b": one, "c": {"x": 1, "y": [one, one]}, "d": "caf\ufffd"}


def nested_aliases(item: str) -> str:
    """25 lines in which each value holds the one before twice: 2 ** 25 copies of the first."""
    lines = ["v0: &v0 {x: 1}"]
    lines += [f"v{number}: &v{number} {item.format(f'*v{number - 1}')}" for number in range(1, 25)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("configs: [", "expected the node content"),
        ("a: \x07", "special characters are not allowed"),
        ("a: b: c", "mapping values are not allowed"),
        ("? [a]\n: b", "unhashable key"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: 2024-99-99", "month must be in 1..12"),
        ("a: !!int ''", "does not fit its tag"),
        ("a: !!float ''", "does not fit its tag"),
        ("a: !!bool maybe", "does not fit its tag"),
        ("a: !!timestamp now", "does not fit its tag"),
        ('a: "\\ud800"', "surrogates not allowed"),
        ("a: " + "1" * 6000, "a number of more than 100 digits"),
        ("a: 0x" + "f" * 6000, "a number of more than 100 digits"),
        ("a: 1" + ":1" * 6000, "a number of more than 100 digits"),
        ("a: !!int '" + "1" * 6000 + "'", "a number of more than 100 digits"),
        ("a: " + "[" * 120 + "]" * 120, "nested in more than 100 levels"),
        ("a: " + "[" * 100_000, "nested in more than 100 levels"),
        ("\n".join(" " * depth + "-" for depth in range(1000)), "nested in more than 100 levels"),
        ("v0: &v0 [x]\n" + "\n".join(f"v{n}: &v{n} [*v{n - 1}]" for n in range(1, 200)), "more than 100 levels"),
        (nested_aliases("[{0}, {0}]"), "more than 10,000,000 characters, aliases expanded"),
        (nested_aliases("{{<<: [{0}, {0}]}}"), "more than 10,000,000 characters, aliases expanded"),
        ("a: &a " + "x" * 20_000 + "\nb: [" + "*a, " * 600 + "]", "more than 10,000,000 characters, aliases expanded"),
        ("a: &a [*a]", "a value contains an alias of itself"),
        ("a: &a {b: {c: *a}}", "a value contains an alias of itself"),
        ("a: 1\n" * (MAX_FRONT_MATTER // 5 + 1), "2,000,006 characters, more than 2,000,000"),
        pytest.param("a: [" + "b," * MAX_VALUES + "]", "more than 500,000 values", marks=pytest.mark.slow),
    ],
    ids=range(26),
)
def test_yaml_that_is_invalid_or_exceeds_a_limit_is_an_error(text: str, found: str) -> None:
    with pytest.raises(SourceError, match="invalid YAML in the front matter") as caught:
        parse_front_matter(f"---\n{text}\n---\n# Title\n".encode(), "ORG/NAME")
    assert found in str(caught.value.found)
    assert caught.value.where == "ORG/NAME"
    assert len(str(caught.value)) < 1000


def test_a_card_that_is_too_large_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"README.md is too large") as caught:
        parse_front_matter(b"---\na: 1\n---\n" + bytes(MAX_CARD), "ORG/NAME")
    assert caught.value.where == "ORG/NAME"


@pytest.mark.parametrize(("text", "kind"), [("- a", "list"), ("some text", "str"), ("3", "int"), ("false", "bool")])
def test_front_matter_that_is_not_a_mapping_is_an_error(text: str, kind: str) -> None:
    with pytest.raises(SourceError, match="the front matter is not a mapping") as caught:
        parse_front_matter(f"---\n{text}\n---\n".encode(), "here")
    assert caught.value.found == kind


YAML_TEXT = st.text(alphabet=st.sampled_from("&*a<>|!:?-[]{},'\"#%@`0x1.~= \n"), max_size=60)
TAGGED = st.builds(
    "k: !!{} {}".format,
    st.sampled_from(
        ["int", "float", "bool", "null", "str", "binary", "timestamp", "seq", "map", "set", "omap", "pairs"]
    ),
    YAML_TEXT,
)


@given(st.one_of(YAML_TEXT, TAGGED, st.text()))
def test_any_text_is_a_mapping_or_an_error(text: str) -> None:
    with contextlib.suppress(SourceError):
        metadata: Any = parse_front_matter(f"---\n{text}\n---\n".encode("utf-8", "surrogatepass"), "here")
        assert isinstance(metadata, dict)


JSON_LIKE = st.recursive(st.text() | st.integers() | st.booleans(), st.lists)


@given(st.dictionaries(st.text(min_size=1), JSON_LIKE, max_size=4))
def test_valid_front_matter_has_the_values_that_pyyaml_reads(metadata: dict[str, Any]) -> None:
    text = yaml.safe_dump(metadata, allow_unicode=True)
    assert parse_front_matter(f"---\n{text}---\n# Title\n".encode(), "here") == yaml.safe_load(text)
