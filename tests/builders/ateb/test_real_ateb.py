"""ATEB's factuality, safety and paraphrase sets from real raw files, compared with what their sources and the benchmark say.

The test sets of e-SNLI, VitaminC, BeaverTails and of HH-RLHF's harmless part are complete. Of DialFact there are 300 rows, of
PAR3 one book as JSON: these go through the same steps.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.ateb import dialfact, par3
from builders.errors import SourceError
from builders.shaping.folding import fold_text
from builders.spec import Raw, RawFiles, Tables
from pipelines.make import BuildResult, make
from pipelines.release import staging
from tests.support.paths import ROOT
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPLETE = ("esnli-classification", "vitaminc-classification", "beavertails-qa-classification")
FOUR = (*COMPLETE, "hhrlhf-harmlessness-classification")


@pytest.fixture(scope="session")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., BuildResult]:
    """The release of a dataset's test split from real raw files, of version 1.0.0 or another, built once a session."""
    how = sample_settings(tmp_path_factory.mktemp("real-ateb"))
    how = replace(how, sample=False, splits=("test",), places=replace(how.places, raw_dir=real_sources))
    made = dict[tuple[str, str], BuildResult]()

    def outcome(name: str, version: str = "1.0.0") -> BuildResult:
        if (name, version) not in made:
            made[name, version] = make(definition_of(name), version, how, lambda _: None)
        return made[name, version]

    return outcome


def frame(outcome: BuildResult) -> pl.DataFrame:
    return staging.frames_of(outcome.place, outcome.manifest)["default"]["test"].collect()


def warnings(outcome: BuildResult) -> dict[str, int]:
    return {one["kind"]: one["count"] for one in outcome.manifest["findings"] if one["severity"] == "warning"}


def labels(rows: pl.DataFrame) -> dict[str, int]:
    return dict(Counter(rows["label_text"]))


def rows_of(tables: Tables) -> pl.DataFrame:
    return tables.frames["default"]["test"].lazy().collect()


@pytest.mark.parametrize("name", COMPLETE)
def test_the_test_splits_are_built_from_the_pinned_files(name: str, real: Callable[[str], BuildResult]) -> None:
    manifest = real(name).manifest
    assert manifest["partial"] is True
    assert manifest["dropped"] == []
    # The rows of BeaverTails were written anew: no digest of that file is upstream's.
    assert {raw["verified"] for raw in manifest["raw"]} == {not name.startswith("beavertails")}


def test_another_process_with_other_threads_gets_the_same_rows(
    real: Callable[[str], BuildResult], real_sources: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.build", *(f"{name}@1.0.0" for name in FOUR), "--splits", "test", "--json",
         "--offline", "--raw-dir", str(real_sources), "--output", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")],
        cwd=ROOT, env=os.environ | {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "7"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    hashes = {row["dataset"]: row["content_sha256"] for row in map(json.loads, done.stdout.splitlines())}
    assert hashes == {name: real(name).manifest["content_sha256"] for name in FOUR}


def test_a_clean_version_shows_none_of_what_it_mends_and_loses_no_other_row(real: Callable[..., BuildResult]) -> None:
    left_out = {
        "esnli-classification": {},
        "vitaminc-classification": {"the pair has another label too": 26, "the pair stands in an earlier row too": 515},
        "beavertails-qa-classification": {"the text stands in an earlier row too": 2},
        "hhrlhf-harmlessness-classification": {"the answer is empty": 4},
    }
    for name in FOUR:
        first, clean = real(name), real(name, "2.0.0")
        assert {drop["reason"]: drop["count"] for drop in clean.manifest["dropped"]} == left_out[name]
        assert not {"duplicate_text", "conflicting_label"} & warnings(clean).keys()
        before, after = frame(first), frame(clean)
        assert after["text"].n_unique() == after.height
        texts = before.group_by("text").agg(pl.col("label").n_unique()).filter(label=1)
        assert after.height == texts.height
        assert before.join(after.select("id"), on="id", how="semi", maintain_order="left").equals(after)


def test_esnli_has_the_published_rows_and_no_pair_twice(real: Callable[[str], BuildResult]) -> None:
    outcome = real("esnli-classification")
    rows = frame(outcome)
    assert rows.height == 9824
    assert labels(rows) == {"entailment": 3368, "contradiction": 3237, "neutral": 3219}
    assert rows["text"].n_unique() == rows["id"].n_unique() == 9824
    premises = rows["text"].str.split(" Hypothesis: ").list.first()
    assert premises.n_unique() == 3323
    assert warnings(outcome) == {}
    first = rows.row(0, named=True)
    assert (first["id"], first["label"]) == ("2677109430.jpg#1r1n", 1)
    assert first["text"].startswith("Premise: This church choir sings to the masses as they sing joyous songs from the")
    assert first["text"].endswith(" Hypothesis: The church has cracks in the ceiling.")


def test_vitaminc_has_the_published_rows_pairs_and_conflicts(real: Callable[[str], BuildResult]) -> None:
    outcome = real("vitaminc-classification")
    rows = frame(outcome)
    assert rows.height == 34_481 + 20_716 == 55_197
    assert labels(rows) == {"entailment": 27_664, "neutral": 7_268, "contradiction": 20_265}
    assert rows["text"].n_unique() == 54_668
    assert labels(rows.tail(20_716)) == {"entailment": 10_358, "contradiction": 10_358}, "the synthetic part"
    assert warnings(outcome) == {
        "duplicate_text": 55_197 - 54_668,
        "conflicting_label": 12,
        "encoding_residue": 144,
    }


def test_beavertails_has_the_published_rows_and_each_unsafe_one_a_kind_of_harm(
    real: Callable[[str], BuildResult],
) -> None:
    outcome = real("beavertails-qa-classification")
    rows = frame(outcome)
    assert rows.height == 3021
    assert labels(rows) == {"unsafe": 1733, "safe": 1288}
    assert outcome.manifest["observed"] == {"safe rows with a kind of harm, unsafe rows without": 0}
    harms = Counter(rows["category"].explode().drop_nulls())
    assert len(harms) == 14
    assert (harms["violence,aiding_and_abetting,incitement"], harms["self_harm"]) == (724, 19)
    assert all(kinds == sorted(kinds) for kinds in rows["category"].to_list()), "upstream's order is the alphabet's"
    assert warnings(outcome) == {"duplicate_text": 2, "html_residue": 1}


def test_dialfact_turns_its_real_example_rows_into_evidence_and_answer(real_sources: Path, tmp_path: Path) -> None:
    path = real_sources / "dialfact" / "testsmall.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    made = dialfact.classification.recipe(
        RawFiles(("test",), {"test": Raw("dialfact/testsmall.jsonl", path)}, tmp_path)
    )
    rows = rows_of(made)
    assert rows.height == 300
    assert labels(rows) == {"entailment": 99, "contradiction": 103, "neutral": 98}
    assert rows["response_id"].to_list() == [record["id"] for record in records]
    assert set(made.observed.values()) == {0}, "every row has evidence, also the 39 personal ones"
    assert sum(record["type_label"] == "personal" for record in records) == 39
    # Upstream's own joined evidence, made for its models, tells the snippets independently of this package.
    for text, record in zip(rows["text"], records, strict=True):
        told = [part.split(" content: ", 1)[1] for part in record["evidence_touse"].split(" ### ")]
        snippets = " ".join(snippet for snippet in told if snippet.strip())
        assert text == f"Premise: {snippets} Hypothesis: {record['response']}"


@pytest.fixture(scope="session")
def candide(real_sources: Path) -> dict[str, Any]:
    book: dict[str, Any] = json.loads((real_sources / "par3" / "par3_candide_fr.json").read_text("utf-8"))
    return book


def pairs(data: Any, folder: Path, **options: Any) -> Tables:
    """What the recipe makes of data that come as a pickle."""
    path = folder / "par3.pkl"
    path.write_bytes(pickle.dumps(data, protocol=3))
    raw = RawFiles(("test",), {"books": Raw("par3/par3.pkl", path)}, folder)
    return par3.pair_classification.recipe(raw, **options)


def test_a_real_book_gives_two_pairs_a_paragraph_both_from_its_first_two_translations(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    made = pairs(candide, tmp_path)
    rows = rows_of(made)
    first, second = (one["translator_paras"] for one in candide["candide_fr"]["translator_data"].values())
    assert (made.dropped, made.observed) == ((), {"books": 1, "paragraphs": 306})
    same, other = (rows.filter(pl.col("labels") == label) for label in (1, 0))
    assert same["sentence1"].to_list() == other["sentence1"].to_list() == first
    assert same["sentence2"].to_list() == second
    assert other["sentence2"].n_unique() == 172
    assert rows["id"].head(4).to_list() == ["candide_fr-0-1", "candide_fr-0-0", "candide_fr-1-1", "candide_fr-1-0"]


def told_by_length(rows: pl.DataFrame) -> float:
    """The area under the ROC curve of guessing label 1 from the difference of the two lengths: 0.5 is chance."""
    lengths = [pl.col(side).str.len_chars().cast(pl.Int64) for side in ("sentence1", "sentence2")]
    rows = rows.select("labels", apart=(lengths[0] - lengths[1]).abs())
    one, other = (rows.filter(labels=label)["apart"].to_list() for label in (1, 0))
    wins = sum((mine > theirs) + (mine == theirs) / 2 for mine in one for theirs in other)
    return wins / (len(one) * len(other))


def test_lengths_give_the_label_of_a_real_pair_away_in_the_first_version_and_tell_nothing_in_the_second(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    assert round(told_by_length(rows_of(pairs(candide, tmp_path))), 2) == 0.91
    made = pairs(candide, tmp_path, clean=True)
    assert 0.49 < told_by_length(rows_of(made)) < 0.51
    [dropped] = made.dropped
    assert (dropped.count, dropped.examples) == (3, ("candide_fr-0", "candide_fr-30", "candide_fr-67"))
    assert (made.observed, rows_of(made).height) == ({"books": 1, "paragraphs": 303}, 606)


def test_a_clean_version_takes_the_paragraph_closest_in_length_to_the_translation_whose_place_it_takes(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    rows = rows_of(pairs(candide, tmp_path, clean=True))
    texts = dict(
        rows.filter(labels=1).select(pl.col("id").str.extract(r"-(\d+)-").cast(pl.Int64), "sentence2").iter_rows()
    )
    assert len(texts) == 303
    for place, text in zip(texts, rows.filter(labels=0)["sentence2"], strict=True):
        far = [other for other in texts if abs(other - place) >= 5]
        chosen = min(far, key=lambda other: (abs(len(texts[other]) - len(texts[place])), abs(other - place), other))
        assert text == texts[chosen]


def test_pairs_0_of_the_real_book_are_the_closest_in_length_of_all_that_are_far_enough(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    rows = rows_of(pairs(candide, tmp_path))
    first, second = (one["translator_paras"] for one in candide["candide_fr"]["translator_data"].values())
    for place, text in enumerate(rows.filter(pl.col("labels") == 0)["sentence2"]):
        far = [other for other in range(306) if abs(other - place) >= 5]
        chosen = min(far, key=lambda other: (abs(len(second[other]) - len(first[place])), abs(other - place), other))
        assert text == second[chosen]


SHORT_TEXT = st.text("aB. ", max_size=3)
BOOKS = st.lists(st.lists(st.tuples(SHORT_TEXT, SHORT_TEXT), max_size=6), max_size=3)


@settings(deadline=None, max_examples=50)
@given(books=BOOKS)
def test_in_a_clean_version_no_pair_stands_twice_nor_with_both_labels_whatever_the_books_repeat(
    books: list[list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = {
        f"book {number}": {
            "translator_data": {
                name: {"translator_paras": [two[side] for two in sides]} for side, name in enumerate("xy")
            }
        }
        for number, sides in enumerate(books)
    }
    made = pairs(data, tmp_path_factory.getbasetemp(), apart=1, clean=True)
    rows = rows_of(made)
    plain = rows.select(fold_text(pl.col("sentence1")), fold_text(pl.col("sentence2")))
    assert not plain.is_duplicated().any()
    assert rows.filter(labels=1).height == rows.filter(labels=0).height
    assert all(len(text.strip()) > 1 for side in ("sentence1", "sentence2") for text in rows[side])
    assert rows.height // 2 + sum(drop.count for drop in made.dropped) == sum(map(len, books))


SIDES = st.lists(st.tuples(st.text("ab ", max_size=4), st.text("ab ", max_size=4)), min_size=1, max_size=9)


@settings(deadline=None, max_examples=50)
@given(sides=SIDES, apart=st.integers(1, 4))
def test_each_paragraph_has_one_pair_of_either_label_or_is_counted(
    sides: list[tuple[str, str]], apart: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = ([side[number] for side in sides] for number in (0, 1))
    translations = {name: {"translator_paras": texts} for name, texts in (("one", first), ("two", second))}
    made = pairs({"a book": {"translator_data": translations}}, tmp_path_factory.getbasetemp(), apart=apart)
    rows = rows_of(made)
    whole = [place for place, texts in enumerate(sides) if all(text.strip() for text in texts)]
    for place in whole:
        far = [other for other in whole if abs(other - place) >= apart]
        mine = rows.filter(pl.col("id").str.starts_with(f"a book-{place}-"))["labels"].to_list()
        assert mine == ([1, 0] if far else [])
    assert rows.height // 2 + sum(drop.count for drop in made.dropped) == len(sides)


def test_the_first_two_translations_count_and_a_book_with_one_is_left_out(tmp_path: Path) -> None:
    def book(*translations: list[str]) -> dict[str, Any]:
        return {"translator_data": {f"translator_{i}": {"translator_paras": one} for i, one in enumerate(translations)}}

    data = {"three": book(["a", "b"], ["c", "d"], ["e", "f", "g"]), "one": book(["x", "y"]), "none": book()}
    made = pairs(data, tmp_path, apart=1)
    assert rows_of(made)["sentence2"].to_list() == ["c", "d", "d", "c"]
    [dropped] = made.dropped
    assert (dropped.count, dropped.examples) == (2, ("one-0", "one-1"))


@pytest.mark.parametrize(
    ("data", "what", "where"),
    [
        ([], "not the structure of PAR3", ""),
        ({"b": []}, "not the structure of PAR3", "book 'b'"),
        ({"b": {"translator_data": []}}, "not the structure of PAR3", "book 'b'"),
        ({"b": {"translator_data": {"t": {}}}}, "not the structure of PAR3", "book 'b', 't'"),
        ({"b": {"translator_data": {"t": {"translator_paras": "text"}}}}, "not the structure of PAR3", "book 'b', 't'"),
        (
            {"b": {"translator_data": {"t": {"translator_paras": ["a", None]}}}},
            "not the structure",
            "book 'b', 't', text 1",
        ),
        ({"b": {"translator_data": {"t": {"translator_paras": ["\ud800"]}}}}, "no Unicode", "book 'b', 't', text 0"),
        ({7: {"translator_data": {}}}, "not the structure of PAR3", "book '7'"),
        (
            {"b": {"translator_data": {"t": {"translator_paras": ["a"]}, "u": {"translator_paras": ["a", "b"]}}}},
            "translations that are not aligned",
            "book 'b'",
        ),
    ],
)
def test_a_pickle_of_another_structure_is_refused_with_the_book(
    data: Any, what: str, where: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match=what) as caught:
        pairs(data, tmp_path)
    assert (caught.value.where or "").startswith(", ".join(filter(None, ("par3/par3.pkl", where))))


def test_a_book_that_brings_a_program_is_refused_and_the_program_does_not_run(
    candide: dict[str, Any], tmp_path: Path
) -> None:
    class Program:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "it ran"),)

    with pytest.raises(SourceError, match="unsafe pickle, not loaded"):
        pairs(candide | {"attack_fr": Program()}, tmp_path)
    assert not (tmp_path / "it ran").exists()
