"""The nearest documents by exact inner product, whatever the blocks are."""

import numpy as np
import numpy.typing as npt
import pytest

from pipelines.models import mining
from pipelines.models.mining import rank_documents

Vectors = npt.NDArray[np.float32]


def vectors(count: int, seed: int, *, repeated: bool = False) -> Vectors:
    """Normalized vectors; repeated: each one four times, in another order."""
    made = np.random.default_rng(seed).standard_normal((count, 24))
    if repeated:
        made = made[np.arange(count) % (count // 4)]
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("f4")


def ranked(queries: Vectors, documents: Vectors, last: int, start: int = 0) -> list[list[int]]:
    return [places.tolist() for block in rank_documents(queries, documents, last, start) for places in block]


def ranked_plainly(queries: Vectors, documents: Vectors, last: int) -> list[list[int]]:
    """All products in double precision, sorted by score and place."""
    scores = queries.astype("f8") @ documents.astype("f8").T
    return [sorted(range(len(documents)), key=lambda one: (-round(row[one], 9), one))[:last] for row in scores]


@pytest.mark.parametrize("repeated", [False, True], ids=["all different", "each document four times"])
@pytest.mark.parametrize("blocks", [(4, 7), (64, 50), (1000, 1000)], ids=str)
def test_the_ranking_is_that_of_all_products_whatever_the_blocks(
    blocks: tuple[int, int], repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "QUERIES", blocks[0])
    monkeypatch.setattr(mining, "DOCUMENTS", blocks[1])
    queries, documents = vectors(40, 1), vectors(200, 2, repeated=repeated)
    assert ranked(queries, documents, 30) == ranked_plainly(queries, documents, 30)


def test_equal_documents_are_ranked_by_their_place_and_a_small_pool_is_ranked_whole() -> None:
    query = vectors(1, 1)
    documents = np.repeat(query, 5, axis=0)
    assert ranked(query, documents, 3) == [[0, 1, 2]]
    assert ranked(query, documents, 100) == [[0, 1, 2, 3, 4]]


def test_a_later_block_is_ranked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "QUERIES", 8)
    queries, documents = vectors(20, 3), vectors(50, 4)
    assert ranked(queries, documents, 10, start=8) == ranked(queries, documents, 10)[8:]
    assert ranked(queries[:0], documents, 10) == []
