"""Texts that a recipe made of a premise and a hypothesis are found in corpora that have them in two fields."""

import random
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.decontamination.batches import LABEL_SCHEMA, TEXT_SCHEMA, CorpusBatch
from pipelines.decontamination.index_file import arrange_index, read_index
from pipelines.decontamination.indexing import index_tables
from pipelines.decontamination.matching import find_matches
from tests.support.benchmark_tables import LATIN, classification, sentence, store_texts

SOURCE = random.Random(3)
PAIRS = [(sentence(SOURCE, 12, LATIN), sentence(SOURCE, 6, LATIN)) for _ in range(3)]
TEXTS = [f"Premise: {premise} Hypothesis: {hypothesis}" for premise, hypothesis in PAIRS]


def test_both_sides_of_a_text_are_found_as_a_pair(tmp_path: Path) -> None:
    index_tables([classification("inference", TEXTS, [0, 1, 2])], tmp_path / "index")
    rows = [(0, "anchor", PAIRS[0][0]), (0, "negative", PAIRS[0][1]), (1, "anchor", PAIRS[1][0])]
    batch = CorpusBatch("c", pl.DataFrame(rows, TEXT_SCHEMA, orient="row"), pl.DataFrame(schema=LABEL_SCHEMA))
    matches = find_matches(arrange_index(read_index(tmp_path / "index")), batch).matches
    assert matches.select("corpus_row", "corpus_column", "column", "kind", "unit").rows() == [
        (0, "anchor", "text[premise]", "exact", "pair"),
        (0, "negative", "text[hypothesis]", "exact", "pair"),
        (1, "anchor", "text[premise]", "exact", "text"),
    ]


def test_both_sides_of_a_text_at_hand_are_stored(tmp_path: Path) -> None:
    dataset = classification("inference", TEXTS, [0, 1, 2])
    index_tables([dataset], tmp_path / "index")
    index = read_index(tmp_path / "index")
    stored = store_texts(index, [dataset], tmp_path).texts(np.arange(len(index.exact)))
    assert stored.to_list() == [*TEXTS, *(side for pair in PAIRS for side in pair)]


def test_a_premise_ends_at_the_first_hypothesis(tmp_path: Path) -> None:
    text = "Premise: A dog. Hypothesis: He said: Hypothesis: it barks."
    tables = index_tables([classification("inference", [text], [0])], tmp_path / "index")
    assert [one.column for one in tables] == ["text", "text[premise]", "text[hypothesis]"]
    assert [one.pair for one in tables] == [None, 2, 1]
    expected = index_tables(
        [classification("plain", ["A dog.", "He said: Hypothesis: it barks."], [0, 0])], tmp_path / "plain"
    )
    assert [one.column for one in expected] == ["text"]
    assert read_index(tmp_path / "index").exact[1:].tolist() == read_index(tmp_path / "plain").exact.tolist()


def test_one_text_of_another_form_leaves_all_as_they_are(tmp_path: Path) -> None:
    tables = index_tables([classification("mixed", [*TEXTS, "Premise: alone."], [0, 1, 2, 0])], tmp_path / "index")
    assert [one.column for one in tables] == ["text"]
