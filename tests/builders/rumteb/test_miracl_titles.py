"""MIRACL's titles with first paragraphs: which passages are joined, wherever batches and shards are cut."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.reading import json as json_reader
from builders.rumteb.miracl import titles
from builders.rumteb.miracl.passages import SHARDS
from builders.rumteb.miracl.titles import texts_to_measure, title_pairs
from builders.shaping.measurements import read_tokens
from builders.shaping.popularity import Pool, select_pool
from builders.spec import Raw
from tests.support.measurements import count_words, write_tokens

Passage = tuple[str, str, str]


def write_shards(folder: Path, *shards: list[Passage]) -> dict[str, Raw]:
    """The files of the corpus; those that are not given are empty."""
    files = {}
    for number, name in enumerate(SHARDS):
        passages = shards[number] if number < len(shards) else []
        records = [{"docid": docid, "title": title, "text": text} for docid, title, text in passages]
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        path = folder / f"{name}.jsonl.gz"
        path.write_bytes(gzip.compress(lines.encode()))
        files[name] = Raw(f"miracl/{path.name}", path)
    return files


def pool_of(folder: Path, *shards: list[Passage], articles: int = 100, limit: int = 500) -> Pool:
    files = write_shards(folder, *shards)
    texts = {text for batch in texts_to_measure(files, articles) for text in batch["text"]}
    tokens = read_tokens(write_tokens(folder / "tokens.parquet", {text: count_words(text) for text in texts}))
    return select_pool(title_pairs(100, articles, tokens, limit), files, "miracl", tokens, folder, limit=limit)


def texts_of(pool: Pool) -> dict[str, str]:
    return dict(zip(pool.rows["query"], pool.rows["positives"].list.first(), strict=True))


def dropped(pool: Pool) -> dict[str, int]:
    return {drop.reason: drop.count for drop in pool.dropped}


def words(count: int, word: str = "слово") -> str:
    return " ".join([word] * count)


def test_passages_are_joined_as_long_as_all_of_them_together_have_the_limit(tmp_path: Path) -> None:
    pool = pool_of(
        tmp_path,
        [("1#0", "A", words(4, "раз")), ("1#1", "A", words(4, "два")), ("1#2", "A", "три"), ("1#3", "A", "ещё")],
        [("2#0", "B", words(10)), ("2#1", "B", "конец"), ("3#0", "C", words(11)), ("3#1", "C", "конец")],
        limit=10,
    )
    assert texts_of(pool) == {"A": f"{words(4, 'раз')}\n{words(4, 'два')}\nтри\nещё"} | {"B": words(10)}
    assert dropped(pool) == {"a positive of more than 10 tokens (texts)": 1, "no positive of at most 10 tokens": 1}


def test_a_passage_that_does_not_fit_ends_the_text_even_if_a_later_one_would(tmp_path: Path) -> None:
    passages = [("1#0", "A", "раз"), ("1#1", "A", words(10)), ("1#2", "A", "три")]
    assert texts_of(pool_of(tmp_path, passages, limit=10)) == {"A": "раз"}


def test_a_gap_in_the_numbers_ends_the_text_and_an_article_needs_its_first_passage(tmp_path: Path) -> None:
    pool = pool_of(
        tmp_path,
        [("1#0", "A", "раз"), ("1#1", "A", "два"), ("1#3", "A", "четыре"), ("2#1", "B", "два"), ("2#2", "B", "три")],
    )
    assert texts_of(pool) == {"A": "раз\nдва"}
    assert dropped(pool) == {"an article without its first passage": 1}


def test_passages_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    passages = [(f"1#{number}", "A", f"абзац {number}") for number in (0, 10, 2, 1, *range(3, 10))]
    text = "\n".join(f"абзац {number}" for number in range(11))
    assert texts_of(pool_of(tmp_path, passages)) == {"A": text}


@pytest.mark.parametrize("size", [1, 200, json_reader.BATCH], ids=lambda size: f"batches of {size}")
def test_an_article_may_go_on_in_the_next_batch_and_the_next_shard(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", size)
    shards = [
        [("1#0", "A", "раз"), ("2#0", "B", "a\u2028b"), ("2#1", "B", "два")],
        [("2#2", "B", "три")],
        [],
        [("2#3", "B", "четыре"), ("3#0", "C", "раз")],
    ]
    expected = {"A": "раз", "B": "a\u2028b\nдва\nтри\nчетыре", "C": "раз"}
    assert texts_of(pool_of(tmp_path, *shards)) == expected


def test_of_many_articles_the_first_in_hash_order_are_taken_and_measured(tmp_path: Path) -> None:
    passages = [(f"{number}#0", f"T{number}", f"текст {number}") for number in range(30)]
    for name in ("few", "more", "all"):
        (tmp_path / name).mkdir()
    few, more = (
        set(pool_of(tmp_path / name, passages, articles=count).rows["id"]) for name, count in (("few", 5), ("more", 12))
    )
    assert (len(few), len(more)) == (5, 12)
    assert few < more
    files = write_shards(tmp_path / "all", passages)
    assert pl.concat(texts_to_measure(files, 5)).height == 10


def test_a_long_joined_text_is_not_measured_but_a_long_first_passage_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(titles, "MAX_CHARACTERS", 20)
    passages = [("1#0", "A", "раз"), ("1#1", "A", words(4)), ("2#0", "B", words(6)), ("2#1", "B", "два")]
    assert texts_of(pool_of(tmp_path, passages)) == {"A": "раз", "B": words(6)}
    measured = set(pl.concat(texts_to_measure(write_shards(tmp_path, passages)))["text"])
    assert measured == {"A", "B", "раз", words(6)}


def test_a_docid_of_another_form_is_refused_with_its_shard_and_line(tmp_path: Path) -> None:
    files = write_shards(tmp_path, [("1#0", "A", "раз")], [("2", "B", "два")])
    with pytest.raises(SourceError, match="docid of another form") as caught:
        list(texts_to_measure(files))
    assert "docs-1.jsonl.gz" in str(caught.value.where)
