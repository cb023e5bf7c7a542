"""Findings in words."""

from dataclasses import replace

import pytest

from builders import tasks
from cards.evidence import Quote
from cards.manifest import Finding
from cards.render import describe_problems, summarize

ONE_TEXT = tasks.Classification(labels=("bad", "good"))
REPEATED = Finding("duplicate_text", "warning", "default", "test", "text", 1234, 0.00001, ("id-1",))
SHORT = Finding("short_text", "info", "default", "train", "text", 1, 0.5, ("id-2",))


def test_problems_are_listed_by_severity_with_their_share_and_the_reason_why_they_stay() -> None:
    known = replace(REPEATED, why="The source has *them*.")
    first, second = describe_problems(ONE_TEXT, [SHORT, known], [Quote("."), Quote("a|b")], {"default": "default"})
    assert (first.mark, first.name, first.where) == ("⚠", "repeated text", "`test`")
    assert (first.rows, first.example, first.why) == (
        "1,234 (&lt;0.01\u00a0%)",
        "“a&#124;b”",
        "The source has *them*.",
    )
    assert (second.mark, second.rows, second.why) == ("ℹ", "1 (50.00\u00a0%)", "")


def test_where_names_the_config_and_the_column_only_where_there_are_several() -> None:
    configs = {"corpus": "ru-corpus", "queries": "ru-queries"}
    [found] = describe_problems(tasks.Retrieval(), [replace(SHORT, config="corpus")], [], configs)
    assert found.where == "`ru-corpus` `train`"
    pair = replace(SHORT, column="sentence2")
    [found] = describe_problems(tasks.STS(low=0, high=5), [pair], [], {"default": "default"})
    assert found.where == "`train` `sentence2`"


@pytest.mark.parametrize(
    ("text", "twin", "example"),
    [
        ("a b c d e f g h", "a b c d e X g h", "“… b c d e **f** g h”; train: “… b c d e **X** g h”"),
        ("a b c", "a b new c", "“a b c”; train: “a b **new** c”"),
        ("a b c", "a b c", "“a b c”"),
        ("*a*", "", "“**&#42;a&#42;**”; train: “”"),
    ],
    ids=["a word changed", "a word added", "equal", "an empty twin"],
)
def test_the_words_in_which_twins_differ_are_bold(text: str, twin: str, example: str) -> None:
    leak = replace(SHORT, kind="near_leak", twins=("train: id-7",))
    [found] = describe_problems(ONE_TEXT, [leak], [Quote(text, twin)], {"default": "default"})
    assert found.example == example


def test_without_a_text_the_row_is_named() -> None:
    [found] = describe_problems(ONE_TEXT, [SHORT], [None], {"default": "default"})
    assert found.example == "`id-2`"


def test_the_problems_are_counted_in_words() -> None:
    assert summarize([REPEATED, REPEATED, SHORT]) == "2 warnings, 1 for information"
    assert summarize([SHORT]) == "1 for information"
    assert summarize([]) == ""
