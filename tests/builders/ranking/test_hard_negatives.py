"""Hard negatives: what is in the pools of queries, and which rankings are refused. Expected pools are written by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.errors import RecipeError, SourceError
from builders.ranking import hard_negatives
from builders.ranking.hard_negatives import MODELS, RANKED, document_texts, pool_hard_negatives
from builders.ranking.mined_negatives import (
    FORMAT,
    KEY,
    RankingHeader,
    digest_texts,
    encode_header,
    queries_digest,
)
from builders.shaping.benchmark_index import header_metadata
from builders.spec import Raw, RawFiles, Tables
from pipelines.audit.tables import model_input

# BM25 ranks a, b for "кот" (a is shorter), and c alone for "пёс"; d to h share no word with a query.
CORPUS = {
    "a": "кот", "b": "кот и дом", "c": "пёс", "d": "река", "e": "лес", "f": "поле", "g": "море", "h": "небо",
}  # fmt: skip
QUERIES = {"q1": "кот", "q2": "пёс"}
LARGE = {"q1": "adef", "q2": "cfgh"}
MISTRAL = {"q1": "edag", "q2": "hgfc"}


def judgements(**relevant: str) -> list[tuple[str, str, int]]:
    """Relevant documents of each query; those after a blank are judged irrelevant."""
    return [
        (query, document, int(part == 0))
        for query, documents in relevant.items()
        for part, names in enumerate(documents.split(" "))
        for document in names
    ]


def dataset(qrels: list[tuple[str, str, int]]) -> Tables:
    corpus = pl.DataFrame({"id": list(CORPUS), "title": [""] * len(CORPUS), "text": list(CORPUS.values())})
    queries = pl.DataFrame({"id": list(QUERIES), "text": list(QUERIES.values())})
    judged = pl.DataFrame(qrels, ["query-id", "corpus-id", "score"], orient="row")
    frames = {"corpus": corpus.lazy(), "queries": queries, "qrels": judged}
    return Tables({config: {"test": frame} for config, frame in frames.items()}, observed={"records": 8})


Pool = Callable[..., Tables]


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Pools the dataset above: of so many documents of BM25 and two rankings, whose headers `changes` changes."""
    runs: list[Path] = []

    def write(model: str, ranking: dict[str, str], depth: int, folder: Path, changes: dict[str, Any]) -> Raw:
        texts = pl.DataFrame({"id": list(QUERIES), "query": list(QUERIES.values())})
        places = [[list(CORPUS).index(name) for name in ranking[query][:depth]] for query in QUERIES]
        asked = changes.pop("asked", queries_digest(texts))
        header = RankingHeader(
            FORMAT, "base", "2.0.0", "corpus", model, model, "0", "", "", "mean", 512, "exact", "by place", (1, depth),
            digest_texts(CORPUS.values(), len(CORPUS)), asked, {},
        )  # fmt: skip
        metadata = header_metadata(KEY, encode_header(msgspec.structs.replace(header, **changes)))
        path = folder / f"{model.rpartition('/')[2]}.parquet"
        pq.write_table(pa.table({"candidates": places}).replace_schema_metadata(metadata), path)
        return Raw(path.name, path)

    def run(
        *,
        queries: int = 2,
        depth: int = 2,
        union: bool = False,
        limit: int | None = None,
        qrels: list[tuple[str, str, int]] | None = None,
        **changes: Any,
    ) -> Tables:
        folder = tmp_path / str(len(runs))
        (folder / "scratch").mkdir(parents=True)
        runs.append(folder)
        rankings = zip(RANKED, MODELS, (LARGE, MISTRAL), strict=True)
        files = {key: write(model, ranking, depth, folder, dict(changes)) for key, model, ranking in rankings}
        files["corpus"] = Raw("corpus", folder, limit=limit)
        whole = dataset(qrels or judgements(q1="a", q2="c"))
        raw = RawFiles(("test",), files, folder / "scratch")
        options = {"queries": queries, "depth": depth, "union": union}
        return pool_hard_negatives(whole, raw, "test", seed="seed", **options)

    return run


def ids(tables: Tables, config: str = "corpus") -> str:
    return "".join(tables.frames[config]["test"].lazy().collect()["id"])


def test_a_corpus_is_the_union_of_the_first_documents_of_three_rankings(pool: Pool) -> None:
    tables = pool(union=True)  # q1: a b, a d, e d; q2: c, c f, h g
    assert ids(tables) == "abcdefgh"
    assert ids(pool(depth=1, union=True)) == "aceh"  # q1: a, a, e; q2: c, c, h
    assert tables.observed == {
        "records": 8,
        "documents of the whole corpus": 8,
        "documents of all pools, each as often as pools have it": 8,
        "relevant documents that no ranking has": 0,
    }


def test_in_turn_a_pool_has_so_many_documents_in_all_the_best_ranks_first_and_bm25_before_the_models(
    pool: Pool,
) -> None:
    assert ids(pool(depth=1)) == "ac"
    assert ids(pool(depth=2)) == "aceh"  # q1: a, then e, first of the third ranking; q2: c, then h
    tables = pool(depth=3)  # q1: a, e, then b, second of BM25; q2: c, h, then f, before g of the third ranking
    assert ids(tables) == "abcefh"
    assert tables.observed["documents of all pools, each as often as pools have it"] == 6


def test_judged_documents_are_in_the_pool_though_no_ranking_has_them_and_more_than_it_has_room_for(pool: Pool) -> None:
    qrels = judgements(q1="gb hd", q2="c")
    tables = pool(depth=1, qrels=qrels)
    assert ids(tables) == "bcdgh"
    assert tables.frames["qrels"]["test"].lazy().collect().rows() == qrels
    assert tables.observed["relevant documents that no ranking has"] == 2
    assert ids(pool(depth=1, union=True, qrels=qrels)) == "abcdegh"


def test_queries_are_drawn_by_a_hash_of_their_ids_and_bring_their_own_documents_alone(pool: Pool) -> None:
    """BLAKE2b with the key `seed`: q1 has the hash 04d3..., q2 7251... (openssl mac)."""
    assert ids(pool(), "queries") == "q1q2"
    tables = pool(queries=1, depth=1, union=True)
    assert (ids(tables, "queries"), ids(tables)) == ("q1", "ae")
    assert tables.frames["qrels"]["test"].lazy().collect().rows() == [("q1", "a", 1)]
    with pytest.raises(RecipeError, match="too few queries"):
        pool(queries=3)


def test_a_build_of_a_part_of_the_raw_files_has_pools_of_bm25_alone(pool: Pool) -> None:
    assert ids(pool(limit=8, queries=9)) == "abc"


def test_rows_do_not_depend_on_the_size_of_batches(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pool(depth=2)
    monkeypatch.setattr(hard_negatives, "BATCH", 3)
    assert ids(pool(depth=2)) == ids(whole)


@pytest.mark.parametrize(
    ("changes", "what", "found"),
    [
        ({"model": "intfloat/multilingual-e5-small"}, "ranked by another model", "intfloat/multilingual-e5-small"),
        ({"ranks": (1, 9)}, "other ranks", "ranks 1 to 9"),
        ({"pool": digest_texts(["кот"], 1)}, "a ranking of another pool of documents", "1 with sha256"),
        ({"asked": digest_texts(["кот"], 1)}, "a ranking of other queries", "1 with sha256"),
    ],
)
def test_a_ranking_of_another_model_depth_corpus_or_queries_is_refused(
    changes: dict[str, Any], what: str, found: str, pool: Pool
) -> None:
    with pytest.raises(SourceError, match=what) as caught:
        pool(**changes)
    assert found in str(caught.value.found)
    assert "multilingual-e5-large" in caught.value.what
    assert caught.value.todo is not None
    assert "embedding-datasets decide" in caught.value.todo


def test_documents_are_ranked_as_mteb_passes_them_to_a_model() -> None:
    corpus = pl.LazyFrame({"title": ["Река", "", " "], "text": ["Тальма\n", " море", "\u3000"]})
    assert list(document_texts(corpus)) == ["Река Тальма", "море", ""]
    assert list(document_texts(corpus)) == corpus.select(model_input("corpus", "text")).collect().to_series().to_list()
