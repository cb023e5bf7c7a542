"""Texts of benchmarks are found in a corpus, as what they are, and nothing else is found."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.checking.batches import LABEL_SCHEMA, TEXT_SCHEMA, TextBatch
from pipelines.decontamination.index_file import Lookup, TextIndex, arrange_index
from pipelines.decontamination.indexing import IndexedDataset, StoredTexts, available_texts
from pipelines.decontamination.matching import FOUND_SCHEMA, ORDER, find_matches, short_texts
from tests.support.benchmark_tables import LATIN, classification, index_of, retrieval, sentence, similarity, store_texts


def batch(rows: Sequence[Mapping[str, str]], labels: Mapping[int, str] | None = None, first_row: int = 0) -> TextBatch:
    """A batch of the rows of a corpus, each with its texts by column."""
    texts = [(first_row + number, column, text) for number, row in enumerate(rows) for column, text in row.items()]
    return TextBatch(
        "corpus.jsonl",
        pl.DataFrame(texts, TEXT_SCHEMA, orient="row"),
        pl.DataFrame(list((labels or {}).items()), LABEL_SCHEMA, orient="row"),
    )


def lookup_of(tmp_path: Path, *datasets: IndexedDataset) -> Lookup:
    return arrange_index(index_of(datasets, tmp_path))


def stored_lookup(tmp_path: Path, dataset: IndexedDataset) -> tuple[Lookup, StoredTexts]:
    """A lookup of a dataset, and its texts, which are available."""
    lookup = lookup_of(tmp_path, dataset)
    return lookup, store_texts(lookup.index, [dataset], tmp_path)


def found(matches: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return matches.select(columns).rows()


def edit(text: str, share: float, source: random.Random) -> str:
    """The text with this share of its words replaced."""
    words = text.split(" ")
    for position in source.sample(range(len(words)), max(round(share * len(words)), 1)):
        words[position] = sentence(source, 1).lower().rstrip(".")
    return " ".join(words)


@pytest.fixture
def source() -> random.Random:
    return random.Random(4)


@pytest.fixture
def texts() -> list[str]:
    source = random.Random(11)
    return [sentence(source, 6 + number % 120, LATIN if number % 3 else matching_syllables()) for number in range(120)]


def matching_syllables() -> tuple[str, ...]:
    return ("бо", "ши", "ке", "ля", "мю", "зо", "ща", "ро")


def test_a_text_is_found_as_the_strictest_kind_that_it_is(tmp_path: Path, source: random.Random) -> None:
    text = sentence(source, 30)
    near = f"{text} да"
    inside = f"{sentence(source, 40)} {text} {sentence(source, 40)}"
    lookup, stored = stored_lookup(tmp_path, classification("reviews", [text], [1]))
    corpus = batch([{"text": one} for one in (text, f" {text.upper()}!!", near, inside, sentence(source, 30))])
    matches = find_matches(lookup, corpus, stored).matches
    assert found(matches, "corpus_row", "kind") == [(0, "exact"), (1, "folded"), (2, "near"), (3, "contained")]
    assert dict(matches.schema) == FOUND_SCHEMA
    assert matches.drop("corpus_row", "kind", "similarity", "is_estimated").unique().height == 1


def test_a_match_names_both_sides(tmp_path: Path, source: random.Random) -> None:
    documents = [sentence(source, 12) for _ in range(3)]
    lookup = lookup_of(tmp_path, retrieval("facts", documents, [(sentence(source, 8), [0])]))
    matches = find_matches(lookup, batch([{"query": "other", "pos[1]": documents[2]}], first_row=700)).matches
    assert matches.to_dicts() == [
        {
            "corpus_file": "corpus.jsonl",
            "corpus_row": 700,
            "corpus_column": "pos[1]",
            "dataset": "facts",
            "version": "2.0.0",
            "config": "corpus",
            "split": "test",
            "row": "d2",
            "column": "text",
            "kind": "exact",
            "similarity": 1.0,
            "is_estimated": False,
            "unit": "text",
            "view": "as is",
            "entry": 2,
        }
    ]


def test_near_is_measured_where_the_release_is_available_and_estimated_elsewhere(
    tmp_path: Path, source: random.Random
) -> None:
    texts = [sentence(source, 100) for _ in range(40)]
    lookup, stored = stored_lookup(tmp_path, classification("reviews", texts, [0] * 40))
    corpus = batch([{"text": edit(text, 0.01 if number % 2 else 0.03, source)} for number, text in enumerate(texts)])
    measured = find_matches(lookup, corpus, stored, threshold=0.8).matches
    assert len(measured) > 35
    for match in measured.to_dicts():
        assert not match["is_estimated"]
        assert match["similarity"] == pytest.approx(jaccard(texts, corpus, match), abs=1e-9)
        assert match["similarity"] >= 0.8
    estimated = find_matches(lookup, corpus, whole_texts=True).matches
    assert estimated["is_estimated"].all()
    assert 10 < len(estimated) < 40


def jaccard(texts: list[str], corpus: TextBatch, match: Mapping[str, Any]) -> float:
    """The share of common runs of three words, computed as the definition says."""
    sides = texts[match["corpus_row"]], corpus.texts["text"][match["corpus_row"]]
    one, other = ({*runs_of(text)} for text in sides)
    return len(one & other) / len(one | other)


def runs_of(text: str) -> list[tuple[str, ...]]:
    words = text.lower().replace(".", "").split()
    return [tuple(words[start : start + 3]) for start in range(len(words) - 2)]


def test_planted_leaks_are_all_found_and_nothing_else(tmp_path: Path, texts: list[str], source: random.Random) -> None:
    lookup, stored = stored_lookup(tmp_path, classification("reviews", texts, [0] * len(texts)))
    rows, expected = [], set()
    for number, text in enumerate(texts):
        rows += [text, text.upper().replace(" ", "  "), f"{sentence(source, 50)} «{text}» {sentence(source, 9)}"]
        expected |= {(3 * number, text, "exact"), (3 * number + 1, text, "folded")}
        if len(text.split()) >= 8:
            expected.add((3 * number + 2, text, "contained"))
    rows += [sentence(source, 5 + number % 200, LATIN if number % 2 else matching_syllables()) for number in range(500)]
    matches = find_matches(lookup, batch([{"text": row} for row in rows]), stored).matches
    names = dict(zip(lookup.index.columns["row"].to_pylist(), texts, strict=True))
    listed = {
        (row, names[name], kind) for row, name, kind in found(matches, "corpus_row", "row", "kind") if kind != "near"
    }
    near = {
        (row, names[name], "contained")
        for row, name, kind in found(matches, "corpus_row", "row", "kind")
        if kind == "near"
    }
    assert (
        listed | near == expected
    )  # a text of 119 words inside one of 178 is contained; none of these is near as well
    assert matches["similarity"].min() >= 0.9


@given(st.data())
def test_whatever_is_around_a_text_of_eight_words_it_is_contained(tmp_path_factory: Any, data: st.DataObject) -> None:
    words = st.lists(st.text("аябёЁyzA1", min_size=1, max_size=12), min_size=8, max_size=30)
    text = data.draw(words.map(" ".join))
    around = st.text("яz1 .,-—«»\n\u00a0", max_size=40)
    before, after = data.draw(around), data.draw(around)
    gap = data.draw(st.sampled_from([" ", ", ", "\n\n", " — ", "...", "\u00a0"]))
    document = f"{before} {gap.join(text.split(' ')).upper()}, {after} " + "слово в конце " * 20
    lookup = lookup_of(tmp_path_factory.mktemp("index"), classification("reviews", [text], [0]))
    matches = find_matches(lookup, batch([{"text": document}])).matches
    assert matches["kind"].to_list() == ["contained"]


def test_a_text_of_seven_words_is_not_looked_for_inside_others(tmp_path: Path, source: random.Random) -> None:
    text = sentence(source, 7)
    lookup = lookup_of(tmp_path, classification("reviews", [text], [0]))
    assert find_matches(lookup, batch([{"text": f"{text} {sentence(source, 30)}"}])).matches.is_empty()


def test_words_that_only_begin_alike_are_not_the_same(tmp_path: Path) -> None:
    """Words are read by their first 16 bytes: these have the same rough number, and only the comparison tells them apart."""
    words = [f"достопримечательность{end}" for end in ("а", "б", "в", "г", "д", "е", "ж", "з")]
    lookup = lookup_of(tmp_path, classification("reviews", [" ".join(words)], [0]))
    corpus = batch([{"text": " ".join([*reversed(words)])}, {"text": "и " + " ".join(reversed(words)) + " тоже"}])
    assert find_matches(lookup, corpus).matches.filter(pl.col("kind") != "near").is_empty()


def test_a_text_split_over_two_fields_of_a_row_is_contained(tmp_path: Path, source: random.Random) -> None:
    title, text = sentence(source, 3), sentence(source, 20)
    lookup, stored = stored_lookup(tmp_path, classification("reviews", [f"{title} {text}"], [0]))
    corpus = batch([{"title": title, "text": text}, {"title": title}, {"text": text}])
    matches = find_matches(lookup, corpus, stored, whole_texts=True).matches
    assert found(matches, "corpus_row", "corpus_column", "kind") == [(0, "title+text", "contained")]


@pytest.mark.parametrize("fields", [("sentence1", "sentence2"), ("sentence2", "sentence1"), ("anchor", "negative")])
def test_a_pair_in_one_row_is_a_unit_in_either_order(
    tmp_path: Path, fields: tuple[str, str], source: random.Random
) -> None:
    one, other = sentence(source, 9), sentence(source, 9)
    lookup = lookup_of(tmp_path, similarity("pairs", [(one, other), (one, sentence(source, 9))], [3.0, 1.0]))
    rows = [{fields[0]: one, fields[1]: other}, {fields[0]: one, fields[1]: sentence(source, 9)}]
    matches = find_matches(lookup, batch(rows)).matches
    first = lookup.index.columns["row"][0].as_py()
    units = {
        (row, name == first, column): unit
        for row, name, column, unit in found(matches, "corpus_row", "row", "column", "unit")
    }
    assert units == {
        (0, True, "sentence1"): "pair",
        (0, True, "sentence2"): "pair",
        (0, False, "sentence1"): "text",
        (1, True, "sentence1"): "text",
        (1, False, "sentence1"): "text",
    }


def test_a_pair_of_equal_texts_needs_two_texts(tmp_path: Path) -> None:
    text = sentence(random.Random(4), 9)
    lookup = lookup_of(tmp_path, similarity("pairs", [(text, text)], [5.0]))
    matches = find_matches(lookup, batch([{"a": text}, {"a": text, "b": text}])).matches
    assert set(found(matches, "corpus_row", "unit")) == {(0, "text"), (1, "pair")}


def test_a_query_with_one_of_its_relevant_documents_is_a_unit(tmp_path: Path, source: random.Random) -> None:
    documents = [sentence(source, 20) for _ in range(4)]
    query = sentence(source, 6)
    lookup = lookup_of(tmp_path, retrieval("facts", documents, [(query, [1, 2])]))
    matches = find_matches(
        lookup, batch([{"query": query, "pos": documents[2]}, {"query": query, "neg": documents[0]}])
    ).matches
    assert found(matches, "corpus_row", "config", "row", "unit") == [
        (0, "corpus", "d2", "query with positive"),
        (0, "queries", "q0", "query with positive"),
        (1, "corpus", "d0", "text"),
        (1, "queries", "q0", "text"),
    ]


@pytest.mark.parametrize("label", ["1", "good"])
def test_a_text_with_its_label_is_a_unit(tmp_path: Path, label: str) -> None:
    text = sentence(random.Random(4), 9)
    lookup = lookup_of(tmp_path, classification("reviews", [text], [1]))
    corpus = batch([{"text": text}, {"text": text}, {"text": text}], {0: label, 2: "0"})
    matches = find_matches(lookup, corpus).matches
    assert found(matches, "corpus_row", "unit") == [(0, "labelled text"), (1, "text"), (2, "text")]


def test_short_texts_are_counted_and_not_listed(tmp_path: Path) -> None:
    lookup = lookup_of(tmp_path, classification("reviews", ["thank you", "Thank you!", "no"], [0, 1, 0]))
    corpus = batch([{"a": "thank you", "b": "THANK YOU"}, {"a": "thank you"}, {"a": "yes"}], {0: "0", 1: "0"})
    result = find_matches(lookup, corpus)
    assert result.matches.is_empty()
    counts = short_texts(lookup, [result.short, result.short])
    assert found(counts, "dataset", "column", "corpus_rows") == [("reviews", "text", 4)] * 2


def test_short_texts_are_listed_with_their_whole_unit(tmp_path: Path) -> None:
    lookup = lookup_of(tmp_path, similarity("pairs", [("old car", "new car"), ("old car", "a bus")], [3.0, 1.0]))
    result = find_matches(lookup, batch([{"a": "Old car", "b": "new car"}, {"a": "old car"}]))
    assert found(result.matches, "corpus_row", "corpus_column", "column", "kind", "unit") == [
        (0, "a", "sentence1", "folded", "pair"),
        (0, "b", "sentence2", "exact", "pair"),
    ]


def test_a_short_text_of_many_rows_costs_nothing(tmp_path: Path, source: random.Random) -> None:
    pairs = [(sentence(source, 6), "yes") for _ in range(300)]
    lookup = lookup_of(tmp_path, similarity("pairs", pairs, [0.0] * 300))
    result = find_matches(
        lookup, batch([{"a": f"{number} other words here again", "b": "yes"} for number in range(100)])
    )
    assert result.matches.is_empty()
    assert result.short["rows"].to_list() == [100]
    whole = find_matches(lookup, batch([{"a": pairs[7][0], "b": "yes"}])).matches
    assert whole["unit"].to_list() == ["pair", "pair"]


def test_equal_rows_of_a_benchmark_are_all_reported(tmp_path: Path) -> None:
    text = sentence(random.Random(4), 9)
    lookup = lookup_of(tmp_path, classification("one", [text, text], [0, 0]), classification("two", [text], [0]))
    matches = find_matches(lookup, batch([{"text": text}])).matches
    name = lookup.index.columns["row"][0].as_py()
    assert found(matches, "dataset", "row") == [("one", name), ("one", f"{name}-2"), ("two", name)]


@pytest.mark.parametrize("text", ["", "   ", "...", ":)", "№"])
def test_texts_without_words_do_not_match_each_other(tmp_path: Path, text: str) -> None:
    lookup = lookup_of(tmp_path, classification("reviews", ["", " ", ":)", "***", "№"], [0] * 5))
    result = find_matches(lookup, batch([{"text": text}]))
    assert result.matches.is_empty()
    assert len(result.short) == (1 if text in (":)", "№") else 0)


def test_matches_do_not_depend_on_chunks_and_batches(
    tmp_path: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch, source: random.Random
) -> None:
    pairs = list(zip(texts[:40], texts[40:80], strict=True))
    lookup = lookup_of(tmp_path, similarity("pairs", pairs, [1.0] * 40), classification("one", texts, [0] * len(texts)))
    rows = [{"a": edit(one, 0.01, source), "b": other} for one, other in pairs]
    rows += [{"a": f"{sentence(source, 5)} {one}", "b": f"{other} {one}"} for one, other in pairs]
    whole = find_matches(lookup, batch(rows)).matches
    monkeypatch.setattr("pipelines.decontamination.fingerprints.CHUNK_ROWS", 7)
    parts = [find_matches(lookup, batch(rows[start : start + 9], first_row=start)).matches for start in range(0, 80, 9)]
    assert pl.concat(parts).sort(*ORDER).equals(whole)
    assert len(whole) > 200


def test_an_empty_batch_and_an_empty_index_have_no_matches(tmp_path: Path) -> None:
    empty = lookup_of(tmp_path, classification("reviews", [], []))
    assert find_matches(empty, batch([{"text": sentence(random.Random(1), 90)}])).matches.is_empty()
    some = lookup_of(tmp_path, classification("reviews", ["one two three four five six"], [0]))
    assert find_matches(some, batch([])).matches.is_empty()
    assert dict(find_matches(some, batch([])).matches.schema) == FOUND_SCHEMA


def test_texts_that_are_not_those_of_the_index_are_not_available(tmp_path: Path) -> None:
    texts = [f"one two three four five {number}" for number in range(4)]
    lookup = lookup_of(tmp_path, classification("reviews", texts, [0] * 4), similarity("pairs", [("a", "b")], [1.0]))
    changed = classification("reviews", [texts[0], "other", texts[2]], [0] * 3)
    stored = store_texts(lookup.index, [changed, similarity("pairs", [("a", "b")], [1.0])], tmp_path)
    given = available_texts(stored, lookup.index.columns["table"].nonzero()[0][::-1]).to_list()
    assert available_texts(stored, pl.Series([3, 0, 1, 2, 0]).to_numpy()).to_list() == [
        None,
        texts[0],
        None,
        texts[2],
        texts[0],
    ]
    assert given == ["b", "a"]


def test_contained_comes_before_a_similarity_that_is_only_estimated(tmp_path: Path) -> None:
    text = sentence(random.Random(2), 30)
    lookup = lookup_of(tmp_path, classification("reviews", [text], [1]))
    matches = find_matches(lookup, batch([{"text": f"{text} да"}])).matches
    assert found(matches, "kind", "is_estimated") == [("contained", False)]


def test_a_text_of_a_template_is_compared_with_the_most_similar_ones(tmp_path: Path, source: random.Random) -> None:
    template = sentence(source, 110)
    texts = [f"{template} {sentence(source, 2)}" for _ in range(300)]
    lookup = lookup_of(tmp_path, classification("reviews", texts, [0] * 300))
    matches = find_matches(lookup, batch([{"text": texts[170]}, {"text": f"{template} other words"}])).matches
    own = lookup.index.columns["row"][170].as_py()
    assert found(matches.filter(pl.col("kind") == "exact"), "corpus_row", "row") == [(0, own)]
    assert 150 < len(matches) <= 200


# Views, parts and passages.

QUESTION = "Who wrote the long letter?"


@pytest.mark.parametrize(
    ("written", "kind", "view"),
    [
        ("query: {}", "exact", "prefix"),
        ("Instruct: Given a question, retrieve passages\nQuery: {}", "exact", "prefix"),
        ("Represent this sentence for searching relevant passages: {}", "exact", "prefix"),
        ("Represent the question; Input: {}", "exact", "prefix"),
        ("Retrieve the answer to the question. {}", "exact", "prefix"),
        ("title: none | text: {}", "exact", "prefix"),
        ("<|im_start|>user\n{}<|im_end|>", "folded", "chat"),
        ("[INST] {} [/INST]", "folded", "chat"),
        ("<b>Who</b> wrote&nbsp;the long letter&#63;", "folded", "html"),
        ("Who\\u0020wrote the long letter?", "exact", "json"),
        ("Who [wrote](http://x.org/1) the long letter?", "exact", "markdown"),
        ("Who wro\u00adte the lo-\nng letter?", "exact", "joined"),
        ("passage: Who wrote the [long](http://x.org) let&#116;er?", "exact", "html+markdown+prefix"),
        ("Whowrote the longletter", "folded", "letters"),
        ("Some other words\nUnknown label = {}\nand more", "contained", "part"),
        ("{}", "exact", "as is"),
    ],
)
def test_a_text_of_five_words_is_found_however_it_is_written(
    tmp_path: Path, written: str, kind: str, view: str
) -> None:
    lookup = lookup_of(tmp_path, classification("questions", [QUESTION], [0]))
    corpus = batch([{"text": written.format(QUESTION)}])
    assert found(find_matches(lookup, corpus).matches, "kind", "view") == [(kind, view)]
    plain = find_matches(lookup, corpus, whole_texts=True).matches
    assert found(plain, "view") == ([("as is",)] if view == "as is" else [])


def test_the_end_of_a_row_and_the_beginning_of_the_next_are_no_text(tmp_path: Path) -> None:
    lookup = lookup_of(tmp_path, classification("questions", [QUESTION], [0]))
    halves = [{"text": "Who wrote"}, {"text": "the long letter?"}]
    assert find_matches(lookup, batch(halves)).matches.is_empty()
    [match] = find_matches(lookup, batch([{"title": "Who wrote", "text": "the long letter?"}])).matches.to_dicts()
    assert (match["corpus_column"], match["kind"], match["view"]) == ("title+text", "contained", "part")


def test_a_row_of_the_first_format_has_no_views(tmp_path: Path) -> None:
    index = index_of([classification("questions", [QUESTION], [0])], tmp_path)
    old = arrange_index(TextIndex(index.tables, index.columns))
    assert find_matches(old, batch([{"text": f"query: {QUESTION}"}])).matches.is_empty()


@pytest.mark.parametrize("is_available", [True, False])
@pytest.mark.parametrize("words", [16, 24, 60, 200])
def test_an_edited_text_inside_a_longer_one_is_a_passage(
    tmp_path: Path, source: random.Random, words: int, *, is_available: bool
) -> None:
    texts = [sentence(source, words) for _ in range(20)]
    dataset = classification("reviews", texts, [0] * 20)
    lookup = lookup_of(tmp_path, dataset)
    stored = store_texts(lookup.index, [dataset], tmp_path) if is_available else None
    rows = [{"text": f"{sentence(source, 30)} {edit(text, 0.04, source)} {sentence(source, 30)}"} for text in texts]
    rows += [{"text": f"{sentence(source, 30)} {edit(text, 0.5, source)}"} for text in texts]
    matches = find_matches(lookup, batch(rows), stored).matches
    assert found(matches, "corpus_row", "kind", "is_estimated") == [
        (row, "passage", not is_available) for row in range(20)
    ]
    by_name = dict(zip(lookup.index.columns["row"].to_pylist(), texts, strict=True))
    for row, name, share in found(matches, "corpus_row", "row", "similarity"):
        assert by_name[name] == texts[row]
        assert share == pytest.approx(
            share_of_runs(by_name[name], rows[row]["text"]), abs=1e-9 if is_available else 0.3
        )


def test_a_passage_names_the_fields_that_hold_it_alone_and_other_rows_change_nothing(
    tmp_path: Path, source: random.Random
) -> None:
    texts = [sentence(source, 40) for _ in range(200)]
    lookup, stored = stored_lookup(tmp_path, classification("reviews", texts, [0] * 200))
    rows = []
    for text in texts:
        words = text.split(" ")
        words[12] = words[20] = words[28] = "another"
        rows.append({"title": sentence(source, 8), "text": " ".join(words), "note": sentence(source, 8)})
    matches = find_matches(lookup, batch(rows), stored).matches
    assert found(matches, "corpus_row", "corpus_column", "kind") == [(row, "text", "passage") for row in range(200)]
    for row in (0, 120, 199):
        [alone] = find_matches(lookup, batch([rows[row]]), stored).matches.to_dicts()
        assert alone == matches.row(row, named=True) | {"corpus_row": 0}


def share_of_runs(text: str, row: str) -> float:
    """The share of a text's runs of three words that a row has, as the definition says."""
    runs, of_row = runs_of(text), runs_of(row)
    return sum(run in of_row for run in runs) / len(runs)


def test_the_beginning_of_a_text_is_a_passage_that_was_cut(tmp_path: Path, source: random.Random) -> None:
    text = sentence(source, 300)
    lookup = lookup_of(tmp_path, classification("reviews", [text], [0]))
    words = text.split(" ")
    rows = [" ".join(words[:60]), f"query: {' '.join(words[:60])}", " ".join(words[120:180]), " ".join(words[:20])]
    matches = find_matches(lookup, batch([{"text": row} for row in rows])).matches
    assert found(matches, "corpus_row", "kind", "view") == [(0, "passage", "cut"), (1, "passage", "cut")]


def test_a_notice_that_many_texts_have_is_no_passage_of_them(tmp_path: Path, source: random.Random) -> None:
    notice = sentence(source, 30)
    texts = [f"{sentence(source, 8)} {notice}" for _ in range(30)]
    lookup, stored = stored_lookup(tmp_path, classification("reviews", texts, [0] * 30))
    rows = [
        {"text": f"{sentence(source, 40)} {notice}"},
        {"text": f"{sentence(source, 9)} {texts[3]} {sentence(source, 9)}"},
    ]
    for available in (stored, None):
        matches = find_matches(lookup, batch(rows), available).matches
        assert found(matches, "corpus_row", "kind") == [(1, "contained")]
