"""ria_news: what becomes of single articles, and of real ones."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from builders.rumteb.ria_news import retrieval
from builders.spec import Raw, RawFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders.spec import Tables


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Tables]:
    """The tables of a raw file: articles as (title, html), or its bytes."""

    def made(*articles: tuple[str, str], data: bytes | None = None, limit: int | None = None, **options: Any) -> Tables:
        lines = [json.dumps({"text": text, "title": title}, ensure_ascii=False) + "\n" for title, text in articles]
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        path = folder / "ria.json.gz"
        path.write_bytes(gzip.compress("".join(lines).encode() if data is None else data))
        raw = RawFiles(("test",), {"articles": Raw("ria_news/ria.json.gz", path, limit=limit)}, folder)
        return retrieval.recipe(raw, **{"queries": 1} | options)

    return made


def rows(tables: Tables, config: str) -> list[tuple[Any, ...]]:
    return tables.frames[config]["test"].lazy().collect().rows()


def dropped(tables: Tables) -> dict[str, tuple[str, ...]]:
    return {one.reason: one.examples for one in tables.dropped}


def test_an_article_becomes_its_text_without_markup_and_dateline(make: Callable[..., Tables]) -> None:
    html = (
        "<p><strong></strong></p>\n<p><strong>москва, 1 дек&nbsp;&mdash; риа новости.</strong> мост&nbsp; открыт.</p>"
    )
    tables = make(("мост открыли ", html))
    assert rows(tables, "corpus") == [("1", "", "мост открыт.")]
    assert rows(tables, "queries") == [("q1", "мост открыли ")]
    assert rows(tables, "qrels") == [("q1", "1", 1)]


def test_a_text_may_be_as_long_as_the_limit_once_everything_else_is_done(make: Callable[..., Tables]) -> None:
    dateline = "москва, 1 дек - риа новости. "
    tables = make(("a", f"<p>{dateline}{'а&nbsp;' * 4}  бв </p>"), ("b", f"{dateline}{'а' * 11}"), max_length=10)
    assert rows(tables, "corpus") == [("1", "", "а а а а бв")]
    assert dropped(tables) == {"the text is longer than 10 characters": ("2",)}


def test_length_counts_characters_not_bytes(make: Callable[..., Tables]) -> None:
    assert rows(make(("a", "😀" * 2000)), "corpus") == [("1", "", "😀" * 2000)]


def test_titles_are_compared_as_they_are_and_the_first_stays(make: Callable[..., Tables]) -> None:
    tables = make(("мост", "1"), ("мост", "2"), ("мост ", "3"), ("Мост", "4"))
    assert [row[0] for row in rows(tables, "corpus")] == ["1", "3", "4"]
    assert dropped(tables) == {"an earlier article has the same title": ("2",)}


def test_texts_are_compared_once_they_are_clean(make: Callable[..., Tables]) -> None:
    tables = make(("a", "<p>мост&nbsp;открыт.</p>"), ("b", "москва, 1 дек - риа новости. мост <b>открыт.</b>"))
    assert [row[0] for row in rows(tables, "corpus")] == ["1"]
    assert dropped(tables) == {"an earlier article has the same text": ("2",)}


def test_what_is_left_out_for_another_reason_makes_no_later_article_a_duplicate(make: Callable[..., Tables]) -> None:
    too_long, same_title, same_text = ("a", "x" * 11), ("a", "1"), ("b", "2")
    tables = make(too_long, same_title, ("a", "2"), same_text, max_length=10)
    assert [row[0] for row in rows(tables, "corpus")] == ["2", "4"]
    reasons = {"the text is longer than 10 characters": ("1",), "an earlier article has the same title": ("3",)}
    assert dropped(tables) == reasons


def test_an_article_without_a_title_is_a_document_and_never_a_query(make: Callable[..., Tables]) -> None:
    tables = make((" \n", "1"), ("мост", "2"))
    assert [row[0] for row in rows(tables, "corpus")] == ["1", "2"]
    assert rows(tables, "queries") == [("q2", "мост")]
    with pytest.raises(RecipeError, match="too few titles"):
        make((" \n", "1"), ("мост", "2"), queries=2)


def test_too_few_titles_are_an_error_unless_a_limit_was_asked_for(make: Callable[..., Tables]) -> None:
    articles = [(f"title {number}", f"text {number}") for number in range(4)]
    with pytest.raises(RecipeError, match="too few titles") as caught:
        make(*articles, queries=5)
    assert (caught.value.found, caught.value.expected) == ("4 titles", "at least 5 titles")
    assert len(rows(make(*articles, queries=5, limit=3), "queries")) == 3


def test_an_empty_file_has_too_few_titles(make: Callable[..., Tables]) -> None:
    with pytest.raises(RecipeError, match="too few titles"):
        make()


def test_an_article_that_beautifulsoup_refuses_is_left_out_and_counted(
    make: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.shaping.text._soup", lambda _: None)
    tables = make(("a", "<p>1</p>"), ("b", "<!-- x -->2"))
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
def test_a_malformed_line_is_an_error_with_its_number(line: str, what: str, make: Callable[..., Tables]) -> None:
    good = json.dumps({"text": "x" * 5000, "title": "a"}).encode() + b"\n"
    with pytest.raises(SourceError, match=what) as caught:
        make(data=good * 4000 + line.encode() + b"\n" + good)
    assert caught.value.where == "ria_news/ria.json.gz, line 4001"


def test_rows_do_not_depend_on_batches_or_threads(make: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch) -> None:
    articles = [(f"title {number % 90}", f"<p>text&nbsp;{number % 80}</p>") for number in range(200)]
    tables = [make(*articles, queries=20)]
    monkeypatch.setattr("builders.reading.json.BATCH", 500)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    tables.append(make(*articles, queries=20))
    one, other = ({config: rows(made, config) for config in made.frames} for made in tables)
    assert one == other
    assert tables[0].dropped == tables[1].dropped


def test_who_watches_the_raw_file_is_told_how_far_it_is_read(make: Callable[..., Tables], tmp_path: Path) -> None:
    make(*((f"title {number}", f"text {number}" * 50) for number in range(20_000)))
    [path] = tmp_path.rglob("ria.json.gz")
    places: list[int] = []
    file = Raw("ria_news/ria.json.gz", path, watch=places.append)
    retrieval.recipe(RawFiles(("test",), {"articles": file}, path.parent), queries=1)
    assert len(places) > 5
    assert places == sorted(places)
    assert places[-1] == path.stat().st_size


def test_the_real_articles_come_out_whole(real_sources: Path, tmp_path: Path) -> None:
    file = Raw("ria_news/ria.json.gz", real_sources / "ria_news" / "ria.first10.json.gz")
    tables = retrieval.recipe(RawFiles(("test",), {"articles": file}, tmp_path), queries=5)
    corpus = tables.frames["corpus"]["test"].lazy().collect()
    assert corpus["id"].to_list() == ["2", "4", "5", "7", "8", "9", "10"]
    assert corpus["text"].str.len_chars().is_between(300, 2000).all()
    assert not corpus["text"].str.contains(r"риа новости\.|[<>&\n\x{a0}]|  ").any()
    assert dropped(tables) == {"the text is longer than 2,000 characters": ("1", "3", "6")}
    assert tables.observed == {"articles": 10, "articles with a dateline": 10, "articles left to BeautifulSoup": 0}
    assert isinstance(tables.frames["corpus"]["test"], pl.LazyFrame), "the corpus is never in memory as a whole"
