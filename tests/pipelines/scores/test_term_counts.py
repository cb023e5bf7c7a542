"""pipelines.scores.text_models: the words of queries, counted in a corpus that is read in batches."""

import numpy as np
import polars as pl
import pytest

from pipelines.scores.retrieval import score_bm25, score_named, score_shared_words
from pipelines.scores.text_models import count_query_terms

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
