"""Escaping of text for Markdown."""

import html
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from cards import markdown


@given(st.text())
def test_a_code_span_holds_any_text_and_gives_it_back(text: str) -> None:
    span = markdown.code(text, limit=10**6)
    assert span[0] == span[-1] == "`"
    assert not set(span[1:-1]) & {"`", "|", "\n"}
    assert span[1:-1].isprintable()
    assert json.loads(span[1:-1] if not text.strip() else f'"{span[1:-1]}"') == text


@given(st.text())
def test_plain_text_renders_as_it_is_on_one_line(text: str) -> None:
    escaped = markdown.plain(text)
    assert not re.search(r"[\\`*_\[\]<>|~$]", escaped)
    assert escaped.isprintable()
    one_line = " ".join(text.split())
    assert html.unescape(escaped) == one_line or not one_line.isprintable()


def test_names_are_joined_as_in_a_sentence() -> None:
    assert [markdown.join_with_and(list(names)) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


@given(st.text(alphabet="`\n a"))
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text: str) -> None:
    first, *_, last = markdown.fenced(text).split("\n")
    assert first == last
    assert first not in text


def test_characters_that_nobody_sees_have_the_escapes_of_json() -> None:
    assert markdown.visible("a\u202c\u00ad\x7f\tb") == r"a\u202c\u00ad\u007f\tb"
