"""pipelines.scores.text_models: models of few lines, and what they do where there is little to learn from.
pipelines.scores.text_models: the words of queries, counted in a corpus that is read in batches. pipelines.scores: what
is read of texts, by models and without one.
"""

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.neighbors import KNeighborsClassifier

from pipelines.scores import text_models
from pipelines.scores.retrieval import score_bm25, score_named, score_shared_words
from pipelines.scores.text_models import (
    count_query_terms,
    count_terms,
    describe_lengths,
    fold,
    shared_letters,
    shared_words,
    split_sides,
    standardize,
    weigh_terms,
)

ROWS = csr_matrix(np.eye(3)[[0, 0, 1, 1, 2, 2]])
LABELS = np.array([0, 0, 1, 1, 1, 1])


def test_a_label_without_rows_is_never_predicted() -> None:
    predicted = text_models.predict_classes(ROWS, LABELS, ROWS, 3)
    assert predicted.argmax(axis=1).tolist() == LABELS.tolist()
    assert (predicted[:, 2] == text_models.NEVER).all()
    assert np.exp(predicted[:, :2]).sum(axis=1) == pytest.approx(1)


def test_of_one_label_alone_each_row_has_it() -> None:
    assert text_models.predict_classes(ROWS, np.ones(6, int), ROWS, 2).argmax(axis=1).tolist() == [1] * 6


def test_there_may_be_as_many_labels_as_rows() -> None:
    rows = csr_matrix(np.eye(30))
    assert text_models.predict_classes(rows, np.arange(30), rows, 30).argmax(axis=1).tolist() == list(range(30))


def test_values_are_predicted_by_a_line() -> None:
    line = np.arange(200.0)[:, np.newaxis]
    assert text_models.predict_values(line, 3 * line[:, 0] + 1, line[:2]) == pytest.approx([1, 4], abs=1e-2)


def test_the_nearest_mean_is_that_of_the_direction() -> None:
    scored = csr_matrix(np.array([[1.0, 0, 0], [0, 0.6, 0.8], [0, 0, 0]]))
    assert text_models.predict_centroids(ROWS, LABELS, scored, 3).tolist() == [0, 1, 0]


def test_neighbours_vote_for_each_label_as_in_mteb() -> None:
    angles = np.array([0.0, 0.1, 0.25, 0.4, 0.7, 1.0, 1.2])
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 0], [0, 1], [1, 1]])
    expected = KNeighborsClassifier(n_neighbors=5).fit(rows, labels).predict(rows)
    assert text_models.predict_by_neighbours(csr_matrix(rows), labels, csr_matrix(rows)).tolist() == expected.tolist()


DOCUMENTS = [
    "Bees make honey, honey and wax.",
    "Ants bite.",
    "A bee; the bees make wax!",
    "",
    "Honey",
    "The ants make no honey: they bite and bite.",
]
QUERIES = ["Who makes honey and wax, honey?", "Do ants bite honey bees?", "none of these"]


def scores_of(scored: object) -> list[dict[int, float]]:
    return [dict(zip(documents.tolist(), scores.tolist(), strict=True)) for documents, scores in scored]


@pytest.mark.parametrize("batch", [1, 4, 6])
def test_bm25_is_that_of_bm25s(batch: int) -> None:
    import bm25s

    batches = [pl.Series(DOCUMENTS[start : start + batch]) for start in range(0, 6, batch)]
    found = scores_of(score_bm25(count_query_terms(pl.Series(QUERIES), batches)))

    def split(text: str) -> list[str]:
        return "".join(character if character.isalnum() else " " for character in text.lower()).split()

    index = bm25s.BM25()
    index.index([split(text) for text in DOCUMENTS], show_progress=False)
    for query, own in zip(QUERIES, found, strict=True):
        expected = index.get_scores(split(query))
        assert [own.get(document, 0.0) for document in range(6)] == pytest.approx(expected.tolist(), abs=1e-3)


def test_shared_words_are_a_share_of_the_words_of_both() -> None:
    [own] = scores_of(score_shared_words(count_query_terms(pl.Series(["bees and ants"]), [pl.Series(DOCUMENTS)])))
    assert own == pytest.approx({0: 2 / 6, 1: 1 / 4, 2: 1 / 8, 5: 2 / 9})


def test_a_document_is_named_if_the_query_has_all_its_words() -> None:
    documents = pl.Series(["Dennis", "Megan", "Megan Fox", "Denny", ""])
    [own] = scores_of(score_named(count_query_terms(pl.Series(["Megan asked Dennis about the fox"]), [documents])))
    assert sorted(own, key=lambda document: -own[document]) == [1, 0, 2]


def test_russian_words_are_compared_by_their_stems() -> None:
    [own] = scores_of(
        score_named(count_query_terms(pl.Series(["о пчёлах и мёде"]), [pl.Series(["Мёд", "Пчела", "Воск"])]))
    )
    assert set(own) == {0, 1}
    counts = count_query_terms(pl.Series(["bees"]), [pl.Series(["bee"])])
    assert counts.postings.nnz == 0
    assert np.array_equal(counts.lengths, [1])


def test_terms_are_words_and_single_characters_of_punctuation() -> None:
    assert count_terms(["Is it? It is!", "?"]).toarray().tolist() == [[1, 1, 2, 2], [0, 1, 0, 0]]
    assert count_terms(["", " "]).toarray().tolist() == [[0], [0]]


def test_only_terms_of_training_rows_have_a_weight() -> None:
    counts = count_terms(["red bee", "red ant", "blue ant"])
    training, scored = weigh_terms(counts[:2], counts[2:])
    assert training.shape[1] == 3
    assert scored.toarray().max() == 1.0
    assert np.allclose(np.sqrt(training.multiply(training).sum(axis=1)), 1)


def test_lengths_are_characters_words_and_shares_of_kinds_of_characters() -> None:
    [row] = describe_lengths(pl.Series(["Два 22!?"])).tolist()
    assert row == pytest.approx([np.log(9), np.log(3), 2 / 8, 2 / 8, 1 / 8])
    assert describe_lengths(pl.Series([""])).tolist() == [[0, 0, 0, 0, 0]]


def test_a_constant_feature_is_zero() -> None:
    training, scored = standardize(np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([[9.0, 3.0]]))
    assert training.tolist() == [[0, -1], [0, 1]]
    assert scored.tolist() == [[0, 0]]


def test_overlap_ignores_case_and_punctuation() -> None:
    left, right = fold(pl.Series(["A red bee!", "!"])), fold(pl.Series(["red, Bee?", "?"]))
    assert shared_words(left, right).tolist() == [2 / 3, 0]
    assert shared_letters(["ab"], ["ab"]).tolist() == [1]
    assert shared_letters(["ab"], ["b"]).tolist() == [0]


def test_texts_of_two_sides_are_divided_and_others_are_not() -> None:
    sides = split_sides(["Premise: a Hypothesis: b Hypothesis: c", "Premise: a Hypothesis: "])
    assert sides is not None
    assert [side.to_list() for side in sides] == [["a", "a"], ["b Hypothesis: c", ""]]
    assert split_sides(["Premise: a Hypothesis: b", "Premise: a"]) is None
