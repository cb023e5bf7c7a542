"""benchmarks/decontaminators.py on a few texts: the variants of a text, which rows are false alarms, and the table."""

import json
import random
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest

from benchmarks.decontaminators import (
    GROUPS,
    KEY,
    LEAKS,
    PAIR,
    TOOLS,
    VERDICTS,
    draw_pairs,
    find_leaks,
    find_pairs,
    interval,
    is_part,
    judged_table,
    read_sources,
    run_tool,
    search_runs,
    show_place,
    table,
    write_groups,
)
from benchmarks.planted_leaks import VARIANTS, change_words, swap_letters
from tests.support.paths import SOURCES

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
    assert lines[0] == "| planted | ours | 13-grams |"
    assert "| exact | 100 / 100 | " in "\n".join(lines)
    assert f"| innocent rows | {60 * GROUPS * (GROUPS - 1):,} | 1,200 |" in lines
    assert "| false alarms in 100,000 of them | 0.0 | 0.0 |" in lines
    assert lines[-1] == f"not measured: {', '.join(list(TOOLS)[2:])}"


def test_a_text_of_a_source_is_found_in_the_rows_of_others_with_its_place(tmp_path: Path) -> None:
    text = "The old lighthouse keeper counted eleven ships before the fog came in."
    sources = tmp_path / "sources"
    for name in ("lines", "objects", "packed", "marked", "nothing"):
        (sources / name).mkdir(parents=True)
    (sources / "lines/rows.csv").write_text(f"id,text\n1,Only here and in none of the others\n2,{text}\n", "utf-8")
    rows = [{"title": "Evening at the lighthouse, as told", "body": f"He wrote: {text} Then he slept."}]
    (sources / "objects/rows.json").write_text(json.dumps(rows), "utf-8")
    with zipfile.ZipFile(sources / "packed/all.zip", "w") as packed:
        packed.writestr("in/rows.jsonl", json.dumps({"text": f"Once more, as somebody at the harbour had it: {text}"}))
    (sources / "marked/rows.xml").write_text(f"<a><b>too short</b><b>{text}</b></a>", "utf-8")
    (sources / "nothing/rows.bin").write_text("nothing that is read", "utf-8")
    pairs, count = find_pairs(sources, tmp_path)
    assert count == 5
    of_text = pairs.filter(text=text).select("text_file", "text_row", "file", "row", "kind")
    assert of_text.rows() == [
        ("lines/rows.csv", 1, "marked/rows.txt", 0, "exact"),
        ("lines/rows.csv", 1, "objects/rows.json", 0, "contained"),
        ("lines/rows.csv", 1, "packed/in/rows.jsonl", 0, "contained"),
    ]
    assert pairs.filter(text=text, file="objects/rows.json")["held"].to_list() == [rows[0]["body"]]


def make_pairs(kinds: list[str]) -> pl.DataFrame:
    """A pair of each of these kinds, with hashes that are its number."""
    rows = [("a/b", number, "c/d", number, f"t{number}", f"r{number}", kind) for number, kind in enumerate(kinds)]
    return pl.DataFrame(rows, PAIR, orient="row")


def test_pairs_are_drawn_by_hash_and_passages_first() -> None:
    pairs = make_pairs(["passage"] * 130 + ["contained"] * 100 + ["near"] * 2 + ["exact", "folded"] * 20)
    drawn = draw_pairs(pairs)
    counts = dict(drawn.group_by("kind").len().rows())
    assert counts["passage"] == 120
    assert len(drawn) == 200
    assert set(counts) <= {"passage", "contained", "near"}
    assert drawn.equals(draw_pairs(pairs.reverse()))
    assert draw_pairs(make_pairs(["contained"] * 300)).height == 200


def test_of_a_long_row_forty_words_around_the_text_are_shown() -> None:
    around = [f"w{number}" for number in range(100)]
    row = " ".join([*around, "One two, THREE four", *around])
    assert show_place(row, "one two three four") == " ".join(
        ["...", *around[60:], "One two, THREE four", *around[:40], "..."]
    )
    assert show_place("a b c", "x y z") == "a b c"


@pytest.mark.parametrize(
    ("count", "total", "written"), [(10, 10, "100.0 (72.2 to 100.0)"), (1, 2, "50.0 (9.5 to 90.5)"), (0, 0, "-")]
)
def test_the_interval_is_wilson_s(count: int, total: int, written: str) -> None:
    assert interval(count, total, 100, 1) == written


def test_verdicts_count_for_the_pairs_that_are_still_listed() -> None:
    pairs = make_pairs(["passage"] * 4 + ["contained"] * 3)
    verdicts = ["leak", "not", "unsure", "leak", "leak", "leak"]
    seconds = ["leak", "leak", "", None, "", ""]
    judged = pairs[:6].with_columns(first=pl.Series(verdicts), second=pl.Series(seconds))
    lines = judged_table(judged, pairs[1:], 200_000).splitlines()
    assert lines[2] == "| near | 0 | 0 | 0 | 0 | 0 | - | - | - |"
    assert (
        lines[3]
        == "| contained | 3 | 2 | 2 | 0 | 0 | 100.0 (34.2 to 100.0) | 0.00 (0.00 to 0.99) | 0.00 (0.00 to 0.99) |"
    )
    assert lines[4].startswith("| passage | 3 | 3 | 1 | 1 | 1 | 33.3 (6.1 to 79.2) | 0.50 (0.09 to 1.19) | 1.00 (")
    assert lines[-1] == "200,000 rows; both readers agree on 50.0 (9.5 to 90.5) % of 2 pairs"


def test_verdicts_are_of_pairs_by_place_and_hash_without_their_texts() -> None:
    judged = pl.read_csv(LEAKS, separator="\t", infer_schema=False)
    assert judged.columns == [*PAIR, "first", "second", "why"]
    assert len(judged) == judged.select(KEY).n_unique() == 200
    assert set(judged["first"]) <= set(VERDICTS)
    assert set(judged["second"].drop_nulls()) <= set(VERDICTS)
    assert judged["why"].null_count() == 0
    assert all(re.fullmatch("[0-9a-f]{16}", name) for name in judged.select(pl.concat_list(KEY)).to_series().explode())
    assert judged["why"].n_unique() < 40


@pytest.mark.slow
@pytest.mark.skipif(not SOURCES.is_dir(), reason="needs ../shared/sources")
def test_no_judged_leak_is_lost_and_no_passage_is_listed_that_nobody_read(tmp_path: Path) -> None:
    judged = pl.read_csv(LEAKS, separator="\t", infer_schema=False)
    pairs, _ = find_pairs(SOURCES, tmp_path)
    assert judged.filter(first="leak").join(pairs, on=KEY, how="anti").is_empty()
    uncertain = pairs.filter(pl.col("kind").is_in(["near", "passage"])).drop("text", "held")
    assert uncertain.join(judged, on=KEY, how="anti").rows() == []
