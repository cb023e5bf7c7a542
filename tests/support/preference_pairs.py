"""Shared by the tests of preference sets: raw files, reranking tables, and guesses of preferences from all but the texts."""

import json
import math
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
from polars.testing import assert_frame_equal

from builders.ateb.lmsys_arena import PATH as BATTLES
from builders.spec import Raw, RawFiles, Tables
from pipelines.audit import integrity
from pipelines.make import GOLDEN
from tests.support.releases import definition_of

CONFIGS = ("corpus", "queries", "qrels", "top_ranked")


def golden_raw(name: str) -> Path:
    """The folder of the golden raw files of a dataset's source."""
    return GOLDEN / definition_of(name).source.name / "raw"


def build_tables(name: str, folder: Path, *splits: str) -> Tables:
    """Run the recipe of a reranking dataset on the raw files in a folder, and check the rules of its task."""
    definition = definition_of(name)
    dataset, source = definition.dataset, definition.source
    splits = splits or dataset.task.splits
    keys = [key for split in splits for key in dataset.needs[split]]
    files = {key: Raw(f"{source.name}/{source.files[key].name}", folder / source.files[key].name) for key in keys}
    tables = dataset.recipe(RawFiles(splits, files, folder / "scratch"))
    frames = {config: {split: frame(tables, config, split).lazy() for split in splits} for config in CONFIGS}
    assert integrity.audit_integrity(dataset.task, frames, splits) == []
    return tables


def frame(tables: Tables, config: str, split: str = "test") -> pl.DataFrame:
    return tables.frames[config][split].lazy().collect()


def dropped_counts(tables: Tables, split: str = "test") -> dict[str, int]:
    return {dropped.reason: dropped.count for dropped in tables.dropped if dropped.split == split}


def candidates(tables: Tables) -> dict[str, list[tuple[str, int]]]:
    """For each query, the texts and scores of its candidates, in the order of its list."""
    texts = dict(frame(tables, "corpus").select("id", "text").iter_rows())
    scores = {(query, document): score for query, document, score in frame(tables, "qrels").iter_rows()}
    lists = frame(tables, "top_ranked").iter_rows()
    return {query: [(texts[document], scores[query, document]) for document in ranked] for query, ranked in lists}


def assert_same_tables(one: Tables, other: Tables) -> None:
    assert one.frames.keys() == other.frames.keys() == set(CONFIGS)
    for config in CONFIGS:
        assert one.frames[config].keys() == other.frames[config].keys()
        for split in one.frames[config]:
            assert_frame_equal(frame(one, config, split), frame(other, config, split))
    assert one.dropped == other.dropped
    assert one.observed == other.observed


def write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def json_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_parquet(path: Path, rows: list[dict[str, Any]], like: Path) -> None:
    """Write rows with the schema of another Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.Table.from_pylist(rows, pa.parquet.read_schema(like)), path)


@cache
def _unflagged_battle() -> dict[str, Any]:
    return read_rows(GOLDEN / "lmsys_arena" / "battles.jsonl")[0]


def make_battle(n: int, message: str, a: str, b: str, winner: str) -> dict[str, Any]:
    """A record of lmsys_arena: a battle with one message, which nothing flags."""
    conversations = {
        f"conversation_{side}": [{"content": message, "role": "user"}, {"content": answer, "role": "assistant"}]
        for side, answer in (("a", a), ("b", b))
    }
    return _unflagged_battle() | conversations | {"question_id": f"question {n}", "winner": winner}


def write_battles(folder: Path, rows: list[dict[str, Any]]) -> None:
    write_parquet(folder / BATTLES, rows, golden_raw("lmsys-reranking") / BATTLES)


def change_last_record(path: Path, change: dict[str, Any]) -> int:
    """Change values of the last record of a Parquet file, a JSON array or JSON lines. Returns its number, from 1."""
    if path.suffix == ".parquet":
        *rows, last = pa.parquet.read_table(path).to_pylist()
        write_parquet(path, [*rows, last | change], path)
        return len(rows) + 1
    is_array = path.read_bytes().startswith(b"[")
    *rows, last = json.loads(path.read_bytes()) if is_array else read_rows(path)
    changed = [*rows, last | change]
    path.write_bytes(json.dumps(changed).encode() if is_array else json_lines(changed))
    return len(changed)


def find_clues(tables: Tables, split: str = "test") -> tuple[pl.DataFrame, pl.Series]:
    """Everything about a pair except texts and scores, as yes-or-no columns, and the truth: is its first candidate preferred?"""
    lists = frame(tables, "top_ranked", split).with_row_index("position")
    ranked = pl.col("corpus-ids")
    rows = lists.select("position", "query-id", x=ranked.list.get(0), y=ranked.list.get(1))
    corpus = frame(tables, "corpus", split).with_row_index("row").select("id", "row")
    qrels = frame(tables, "qrels", split).with_row_index("qrel").cast({"qrel": pl.Int64})
    list_counts = lists.explode("corpus-ids").group_by("corpus-ids").len("lists")
    for side in ("x", "y"):
        rows = rows.join(corpus.rename({"id": side, "row": f"row_{side}"}), on=side)
        rows = rows.join(list_counts.rename({"corpus-ids": side, "lists": f"lists_{side}"}), on=side)
        own = qrels.rename({"corpus-id": side, "qrel": f"qrel_{side}", "score": f"score_{side}"})
        rows = rows.join(own, on=["query-id", side])
    rows = rows.sort("position")
    odd = {side: pl.col(side).str.contains("[13579]$") for side in ("query-id", "x", "y")}
    clues = rows.select(
        is_first=pl.lit(value=True),
        smaller_id=pl.col("x") < pl.col("y"),
        earlier_in_corpus=pl.col("row_x") < pl.col("row_y"),
        earlier_in_qrels=pl.col("qrel_x") < pl.col("qrel_y"),
        in_more_lists=pl.col("lists_x") > pl.col("lists_y"),
        in_fewer_lists=pl.col("lists_x") < pl.col("lists_y"),
        odd_query=odd["query-id"],
        odd_position=pl.col("position") % 2 == 1,
        odd_id_first=odd["x"],
        odd_id_second=odd["y"],
        late=pl.col("position") > rows.height // 2,
    )
    return clues, rows["score_x"] == 1


def guess_preferences(tables: Tables, split: str = "test") -> tuple[float, int]:
    """The share of pairs that the best rule guesses, among all single clues and all pairs of clues; and the number of pairs."""
    clues, truth = find_clues(tables, split)
    rules = [*clues.get_columns(), *(clues[one] ^ clues[other] for one, other in combinations(clues.columns, 2))]
    hits = max(max(same, truth.len() - same) for same in (int((rule == truth).sum()) for rule in rules))
    return hits / truth.len(), truth.len()


def chance_limit(pairs: int) -> float:
    """The share that no rule should reach by luck: five standard deviations above a half."""
    return 0.5 + 2.5 / math.sqrt(pairs)
