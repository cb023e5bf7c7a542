"""benchmarks/decontaminators.py on a few texts: the variants of a text, which rows are false alarms, and the table."""

import random
from pathlib import Path

import pytest

from benchmarks.decontaminators import (
    GROUPS,
    TOOLS,
    find_leaks,
    is_part,
    read_sources,
    run_tool,
    search_runs,
    table,
    write_groups,
)
from benchmarks.planted_leaks import VARIANTS, change_words, swap_letters

TEXT = 'Any "one" of those three little words'
OTHERS = ["Before it"]
WRITTEN = {
    "exact": TEXT,
    "decomposed letters (NFD), no-break spaces": 'Any\u00a0"one"\u00a0of\u00a0those\u00a0three\u00a0little\u00a0words',
    "JSON escapes": r"Any \"one\" of those three little words",
    "soft hyphens": 'Any "one" of those three lit\u00adtle words',
    "glued words": 'Any"one"ofthosethreelittlewords',
    "in a longer text": f"Before it {TEXT} Before it",
    "in a longer text, glued words": 'Before it Any"one"ofthosethreelittlewords Before it',
    "the first half": 'Any "one" of',
    "the second half": "those three little words",
}


@pytest.mark.parametrize("variant", WRITTEN)
def test_a_variant_of_a_text_is_written_so(variant: str) -> None:
    assert VARIANTS[variant](random.Random(1), TEXT, OTHERS) == WRITTEN[variant]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_depends_on_the_random_source_alone(variant: str) -> None:
    one, other = (VARIANTS[variant](random.Random(2), TEXT, OTHERS) for _ in range(2))
    assert one == other


def test_at_least_one_word_is_changed_and_others_are_kept() -> None:
    words = change_words(random.Random(1), "a b c d", 0.05, str.upper).split()
    assert [word.lower() for word in words] == ["a", "b", "c", "d"]
    assert sum(word.isupper() for word in words) == 1


def test_letters_that_look_alike_are_swapped_in_both_directions() -> None:
    assert swap_letters("peace") == "\u0440\u0435\u0430\u0441\u0435"
    assert swap_letters("\u0440\u0435\u0430\u0441\u0435, \u0436") == "peace, \u0436"


def test_a_line_ends_with_a_hyphen_inside_a_word() -> None:
    written = VARIANTS["hyphens at line ends"](random.Random(1), f"{'a' * 50} b", OTHERS)
    assert written == f"{'a' * 40}-\n{'a' * 10} b"


def test_a_run_of_words_lists_a_row_and_a_share_of_the_runs_lists_fewer() -> None:
    texts = ["one two three four five", "Another TEXT, of five words"]
    rows = [(3, "zero one two three nil"), (5, "another text of five words!"), (8, "two four one five three")]
    assert list(search_runs(Path(), texts, iter(rows), 3)) == [3, 5]
    assert list(search_runs(Path(), texts, iter(rows), 3, 0.7)) == [5]


def test_half_of_the_words_in_runs_of_three_are_a_part() -> None:
    text = "one two three four five six seven eight"
    assert is_part(f"before ONE two, three four after {'more ' * 20}", text)
    assert not is_part(f"before one two three after {'more ' * 20}", text)
    assert not is_part("eight seven six five four three two one", text)
    assert is_part("three four five", text)


def test_a_row_with_a_text_is_a_leak_and_one_with_a_few_of_its_words_is_none() -> None:
    texts = ["one two three four five six seven eight nine ten", "the last of the texts is here"]
    rows = {
        4: "so one two three four five six it is",
        6: "one two three four and nothing else of it",
        9: "no words of them",
    }
    assert find_leaks(texts, rows) == {4}


def test_sources_are_folders_with_texts_of_five_words_or_more(tmp_path: Path) -> None:
    for name, content in (("b", "text\nfive words are in here\ntoo short\nfive words are in here\n"), ("a", "id\n1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text(content, "utf-8")
    assert read_sources(tmp_path, 0) == [["five words are in here"]]


def test_the_table_has_a_column_for_each_tool_that_ran_and_names_the_others(tmp_path: Path) -> None:
    write_groups(tmp_path, read_sources(None, 60), 1)
    for name in ("ours", "13-grams"):
        run_tool(name, tmp_path)
    lines = table(tmp_path).splitlines()
    assert lines[0] == "| | ours | 13-grams |"
    assert "| exact | 100 / 100 | " in "\n".join(lines)
    assert f"| innocent rows | {60 * GROUPS * (GROUPS - 1):,} | 1,200 |" in lines
    assert "| false alarms in 100,000 of them | 0.0 | 0.0 |" in lines
    assert lines[-1] == f"not measured: {', '.join(list(TOOLS)[2:])}"
