"""ria_news: how single articles are cleaned, compared and dropped, and what real articles become."""

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from builders.rumteb.ria_news import retrieval
from builders.spec import Raw, RawFiles, Tables


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Tables]:
    """Build the tables of a raw file with articles as (title, html), or with the bytes `data`."""

    def build_tables(
        *articles: tuple[str, str], data: bytes | None = None, limit: int | None = None, **options: Any
    ) -> Tables:
        lines = [json.dumps({"text": text, "title": title}, ensure_ascii=False) + "\n" for title, text in articles]
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        path = folder / "ria.json.gz"
        path.write_bytes(gzip.compress("".join(lines).encode() if data is None else data))
        raw = RawFiles(("test",), {"articles": Raw("ria_news/ria.json.gz", path, limit=limit)}, folder)
        return retrieval.recipe(raw, **{"queries": 1} | options)

    return build_tables


def rows(tables: Tables, config: str) -> list[tuple[Any, ...]]:
    return tables.frames[config]["test"].lazy().collect().rows()


def dropped(tables: Tables) -> dict[str, tuple[str, ...]]:
    return {drop.reason: drop.examples for drop in tables.dropped}


def test_an_article_becomes_its_text_without_markup_and_dateline(build: Callable[..., Tables]) -> None:
    html = (
        "<p><strong></strong></p>\n<p><strong>москва, 1 дек&nbsp;&mdash; риа новости.</strong> мост&nbsp; открыт.</p>"
    )
    tables = build(("мост открыли ", html))
    assert rows(tables, "corpus") == [("1", "", "мост открыт.")]
    assert rows(tables, "queries") == [("q1", "мост открыли ")]
    assert rows(tables, "qrels") == [("q1", "1", 1)]


def test_the_length_limit_applies_to_the_cleaned_text(build: Callable[..., Tables]) -> None:
    dateline = "москва, 1 дек - риа новости. "
    tables = build(("a", f"<p>{dateline}{'а&nbsp;' * 4}  бв </p>"), ("b", f"{dateline}{'а' * 11}"), max_length=10)
    assert rows(tables, "corpus") == [("1", "", "а а а а бв")]
    assert dropped(tables) == {"the text is longer than 10 characters": ("2",)}


def test_length_counts_characters_not_bytes(build: Callable[..., Tables]) -> None:
    assert rows(build(("a", "😀" * 2000)), "corpus") == [("1", "", "😀" * 2000)]


@pytest.mark.parametrize(
    ("articles", "kept", "reason"),
    [
        ([("мост", "1"), ("мост", "2"), ("мост ", "3"), ("Мост", "4")], ["1", "3", "4"], "title"),
        (
            [("a", "<p>мост&nbsp;открыт.</p>"), ("b", "москва, 1 дек - риа новости. мост <b>открыт.</b>")],
            ["1"],
            "text",
        ),
    ],
    ids=["titles exactly", "texts after cleaning"],
)
def test_of_equal_titles_and_texts_the_first_is_kept(
    articles: list[tuple[str, str]], kept: list[str], reason: str, build: Callable[..., Tables]
) -> None:
    tables = build(*articles)
    assert [row[0] for row in rows(tables, "corpus")] == kept
    assert dropped(tables) == {f"an earlier article has the same {reason}": ("2",)}


def test_an_article_dropped_for_another_reason_makes_no_later_article_a_duplicate(build: Callable[..., Tables]) -> None:
    too_long, same_title, same_text = ("a", "x" * 11), ("a", "1"), ("b", "2")
    tables = build(too_long, same_title, ("a", "2"), same_text, max_length=10)
    assert [row[0] for row in rows(tables, "corpus")] == ["2", "4"]
    reasons = {"the text is longer than 10 characters": ("1",), "an earlier article has the same title": ("3",)}
    assert dropped(tables) == reasons


def test_an_article_without_a_title_is_a_document_but_never_a_query(build: Callable[..., Tables]) -> None:
    tables = build((" \n", "1"), ("мост", "2"))
    assert [row[0] for row in rows(tables, "corpus")] == ["1", "2"]
    assert rows(tables, "queries") == [("q2", "мост")]
    with pytest.raises(RecipeError, match="too few titles"):
        build((" \n", "1"), ("мост", "2"), queries=2)


def test_too_few_titles_are_an_error_unless_a_limit_is_set(build: Callable[..., Tables]) -> None:
    articles = [(f"title {number}", f"text {number}") for number in range(4)]
    with pytest.raises(RecipeError, match="too few titles") as caught:
        build(*articles, queries=5)
    assert (caught.value.found, caught.value.expected) == ("4 titles", "at least 5 titles")
    assert len(rows(build(*articles, queries=5, limit=3), "queries")) == 3


def test_an_empty_file_has_too_few_titles(build: Callable[..., Tables]) -> None:
    with pytest.raises(RecipeError, match="too few titles"):
        build()


def test_an_article_that_beautifulsoup_cannot_parse_is_dropped_and_counted(
    build: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.shaping.text._parse", lambda _: None)
    tables = build(("a", "<p>1</p>"), ("b", "<!-- x -->2"))
    assert rows(tables, "corpus") == [("1", "", "1")]
    assert dropped(tables) == {"BeautifulSoup cannot parse the HTML": ("2",)}
    assert tables.observed == {"articles": 2, "articles with a dateline": 0, "articles left to BeautifulSoup": 1}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"text": "1"}', "title is missing"),
        ('{"text": null, "title": "a"}', "text is null"),
        ('{"text": 1, "title": "a"}', "text has the wrong type"),
        ('{"text": "1", "title": "a"', "invalid JSON"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_number(
    line: str, what: str, build: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.reading.json.BATCH", 20_000)
    good = json.dumps({"text": "x" * 500, "title": "a"}).encode() + b"\n"
    with pytest.raises(SourceError, match=what) as caught:
        build(data=good * 400 + line.encode() + b"\n" + good)
    assert caught.value.where == "ria_news/ria.json.gz, line 401"


def test_rows_do_not_depend_on_batches_or_threads(
    build: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    articles = [(f"title {number % 90}", f"<p>text&nbsp;{number % 80}</p>") for number in range(200)]
    tables = [build(*articles, queries=20)]
    monkeypatch.setattr("builders.reading.json.BATCH", 500)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    tables.append(build(*articles, queries=20))
    one, other = ({config: rows(built, config) for config in built.frames} for built in tables)
    assert one == other
    assert tables[0].dropped == tables[1].dropped


def test_progress_is_reported_in_bytes_of_the_raw_file(build: Callable[..., Tables], tmp_path: Path) -> None:
    build(*((f"title {number}", f"text {number}" * 50) for number in range(20_000)))
    [path] = tmp_path.rglob("ria.json.gz")
    positions: list[int] = []
    file = Raw("ria_news/ria.json.gz", path, watch=positions.append)
    retrieval.recipe(RawFiles(("test",), {"articles": file}, path.parent), queries=1)
    assert len(positions) >= 5, "20 MB are read in pieces of 4 MB"
    assert positions == sorted(positions)
    assert positions[-1] == path.stat().st_size


def test_real_articles_become_clean_documents(real_sources: Path, tmp_path: Path) -> None:
    file = Raw("ria_news/ria.json.gz", real_sources / "ria_news" / "ria.first10.json.gz")
    tables = retrieval.recipe(RawFiles(("test",), {"articles": file}, tmp_path), queries=5)
    corpus = tables.frames["corpus"]["test"].lazy().collect()
    assert corpus["id"].to_list() == ["2", "4", "5", "7", "8", "9", "10"]
    assert corpus["text"].str.len_chars().is_between(300, 2000).all()
    assert not corpus["text"].str.contains(r"риа новости\.|[<>&\n\x{a0}]|  ").any()
    assert dropped(tables) == {"the text is longer than 2,000 characters": ("1", "3", "6")}
    assert tables.observed == {"articles": 10, "articles with a dateline": 10, "articles left to BeautifulSoup": 0}
    assert isinstance(tables.frames["corpus"]["test"], pl.LazyFrame), "the corpus is never in memory as a whole"
