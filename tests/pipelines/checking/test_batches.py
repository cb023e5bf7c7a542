"""Labels as texts; values of any depth as texts with names, and what is not read."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from pipelines.checking.batches import Collector, Unread, label_texts
from pipelines.checking.corpora import open_corpus, read_partition


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ([3, None, -1], ["3", None, "-1"]),
        ([3.0, 0.25, 100.0, None], ["3", "0.25", "100", None]),
        (["3.0", " joy ", "-0.50", "0.0", "1.2.0"], ["3", "joy", "-0.5", "0", "1.2.0"]),
        ([True, False], ["1", "0"]),
        ([[2, 1], None, []], ["1,2", None, ""]),
    ],
)
def test_equal_labels_are_equal_texts(labels: list[Any], texts: list[str | None]) -> None:
    assert label_texts(pl.Series(labels)).to_list() == texts


TEXT = "a text of more than four words"
CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": TEXT}], "turns": 2}


def collect(record: dict[str, Any]) -> tuple[list[tuple[str, str]], Unread]:
    collector = Collector()
    for name, value in record.items():
        collector.add(0, name, value, is_text=name != "type")
    return list(zip(collector.columns, collector.texts, strict=True)), collector.unread


@pytest.mark.parametrize(
    ("record", "texts"),
    [
        (CHAT, [("messages[0].role", "user"), ("messages[0].content", "Hi"), ("messages[1].role", "assistant"),
                ("messages[1].content", TEXT)]),
        ({"positive_passages": [{"docid": "7", "text": TEXT}]}, [("positive_passages[0].text", TEXT)]),
        ({"pairs": [["a", ["b"]], []]}, [("pairs[0][0]", "a"), ("pairs[0][1][0]", "b")]),
        ({"payload": '{"q": ["x", 1]}'}, [("payload", '{"q": ["x", 1]}'), ("payload.q[0]", "x")]),
        ({"text": "[1] Text in brackets"}, [("text", "[1] Text in brackets")]),
        ({"type": TEXT}, [("type", TEXT)]),
        ({"type": "сегодня на улице идёт дождь"}, [("type", "сегодня на улице идёт дождь")]),
        ({"type": "\u4eca\u5929" * 4}, [("type", "\u4eca\u5929" * 4)]),
        ({"type": "short"}, []),
        ({"": {"": "x"}}, [(".", "x")]),
    ],
)  # fmt: skip
def test_a_string_at_any_depth_is_a_text(record: dict[str, Any], texts: list[tuple[str, str]]) -> None:
    assert collect(record)[0] == texts


def test_what_is_not_read_is_counted_by_column_and_reason() -> None:
    record = {
        "type": "née", "n": 3, "flag": True, "nothing": None, "vector": [0.5, 1.5], "image": b"12345",
        "list": [{"id": "7", "score": 1}, {"id": "80", "score": 2}], "score": 1.5,
    }  # fmt: skip
    assert collect(record)[1] == {
        ("type", "name"): 4, ("n", "number"): 8, ("flag", "number"): 8, ("vector[]", "number"): 16, ("image", "binary"): 5,
        ("list[].id", "name"): 3, ("list[].score", "number"): 16, ("score", "number"): 0,
    }  # fmt: skip


def test_values_below_the_greatest_depth_are_named() -> None:
    value: Any = "deep"
    for _ in range(150):
        value = [value]
    texts, unread = collect({"x": value})
    assert texts == []
    assert [(reason, size) for (_, reason), size in unread.items()] == [("nesting", 106)]


def test_parquet_has_the_same_texts_as_json_and_names_what_it_does_not_read(tmp_path: Path) -> None:
    record = CHAT | {"nested": [["a", "b"], ["c"]], "meta": {"url": "http://x", "note": TEXT}, "url": "http://y"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    columns = pl.DataFrame([record]).with_columns(image=pl.lit(b"123"), vector=pl.lit([0.5]), empty=pl.lit(None))
    columns.write_parquet(tmp_path / "b.parquet")
    read = []
    for name in ("a.jsonl", "b.parquet"):
        batches = [
            batch for partition in open_corpus([str(tmp_path / name)]).partitions for batch in read_partition(partition)
        ]
        unread = {key for batch in batches for key in batch.unread}
        read.append((pl.concat(batch.texts for batch in batches).rows(), sum(batch.count for batch in batches), unread))
    assert read[0][:2] == read[1][:2]
    assert [column for _, column, _ in read[1][0]] == [
        "messages[0].role", "messages[0].content", "messages[1].role", "messages[1].content",
        "nested[0][0]", "nested[0][1]", "nested[1][0]", "meta.note",
    ]  # fmt: skip
    common = {("turns", "number"), ("meta.url", "name"), ("url", "name")}
    assert read[0][2] == common
    assert read[1][2] == common | {("image", "binary"), ("vector[]", "number"), ("empty", "null")}


def test_only_leaves_that_are_strings_are_read_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"image": [{"bytes": b"12", "caption": TEXT}], "label": ["joy"], "n": [1]})
    frame.write_parquet(tmp_path / "a.parquet")
    asked, iterate = [], pq.ParquetFile.iter_batches

    def watch(file: Any, size: int, groups: list[int], columns: list[str], **options: Any) -> Any:
        asked.append(columns)
        return iterate(file, size, groups, columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watch)
    [partition] = open_corpus([str(tmp_path / "a.parquet")]).partitions
    texts = pl.concat(batch.texts for batch in read_partition(partition))
    assert texts["column"].to_list() == ["image.caption"]
    assert asked == [["image.caption", "label"]]
