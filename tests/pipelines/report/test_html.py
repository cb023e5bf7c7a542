"""The report of a check: everything in it, nothing outside it, and nothing of the data that a browser would act on."""

from __future__ import annotations

import html
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl
import pytest

from builders.errors import SourceError
from pipelines import check
from pipelines.audit import kinds
from pipelines.foreign.datasets import ForeignOptions
from pipelines.report import checks
from pipelines.report import html as html_report
from tests.support.releases import write_dataset
from tests.support.tables import TASKS, clean_tables, combine, with_rows, with_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pipelines.make import BuildResult

HOSTILE = "<script>alert('x')</script><img src=\"http://example.org/x.png\">"


class Page(HTMLParser):
    """A page as a browser takes it: its elements with their attributes, and its text."""

    VOID = ("meta", "line", "rect", "link", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag in self.VOID:  # `<rect ...><title>..</title></rect>` is not empty
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def page_of(folder: Path, out: Path) -> tuple[str, Page]:
    """The report of a folder, as it was written."""
    results = checks.check_folder(folder, folder.name, ForeignOptions(), language_sample=2000)
    html_report.write(out, [html_report.section(one) for one in results])
    text = out.read_text("utf-8")
    return text, Page(text)


@pytest.mark.parametrize("kind", TASKS)
def test_a_report_shows_tables_lengths_and_statistics_of_every_type_of_task(kind: str, tmp_path: Path) -> None:
    tables = clean_tables(kind)
    _, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    assert "sound" in page.text
    for config, splits in tables.items():
        for split in splits:
            assert f"{config}/{split}" in page.text or config == "top_ranked"
    assert "num samples" in page.text
    assert any(tag == "svg" for tag, _ in page.elements)


def test_whatever_the_data_hold_is_text(tmp_path: Path) -> None:
    texts = [HOSTILE, HOSTILE, "&amp;", "\u202eturned", None, "\u202eturned"]
    table = pl.DataFrame({"sentences": texts, "labels": ["a", HOSTILE, "b", "b", "b", "</style>"], "<b>": [1] * 6})
    folder = write_dataset(tmp_path / "<i>set", {"default": {"test": table}})
    text, page = page_of(folder, tmp_path / "report.html")
    assert "<script" not in text
    assert "<img" not in text
    assert "\u202e" not in text, "what turns a line around is shown as an escape"
    assert HOSTILE in page.text
    assert "&amp;" in page.text
    assert "\\u202eturned" in page.text
    assert "columns not looked at: <b>" in page.text
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "link", "b>", "i"})


def test_a_report_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    text, page = page_of(write_dataset(tmp_path / "set", clean_tables("Reranking")), tmp_path / "report.html")
    for tag, attributes in page.elements:
        assert not {"src", "href", "action", "data", "xlink:href"} & {
            name for name, value in attributes.items() if not (value or "").startswith("#")
        }, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_a_finding_is_shown_with_its_meaning_and_the_rows_it_is_about(tmp_path: Path) -> None:
    tables = combine(
        with_value("corpus", "test", "text", 2, None), with_rows("qrels", "test", ("q1", "d9", 1), ("q2", "d1", -1))
    )(clean_tables("Retrieval"))
    _, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    assert "defective" in page.text
    for kind in ("null_text", "dangling_qrel", "score_out_of_range"):
        assert kind in page.text
        assert kinds.KINDS[kind].definition in page.text
    told = " ".join(page.text.split())
    assert "d3 text null" in told
    assert "q1 d9 score 1 queries: text who makes honey (test)" in told, (
        "of a judgement its query, and its document if there is one"
    )
    assert "q2 d1 score -1 queries: text what do bees build with (test) corpus: text Bees make honey." in told


def test_judgements_of_nothing_do_not_stop_a_report(tmp_path: Path) -> None:
    tables = with_rows("qrels", "test", (None, "d1", 1), ("q1", None, 1))(clean_tables("Retrieval"))
    _, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    assert page.text.count("null_value") == 2
    assert "q1 score 1 queries: text who makes honey (test)" in " ".join(page.text.split())


def test_bars_count_every_row_once(tmp_path: Path) -> None:
    texts = [f"{'x' * number}{number:04}" for number in range(1000)] + ["y" * 100_000]
    labels = [str(number % 30) for number in range(1001)]
    table = pl.DataFrame({"sentences": texts, "labels": labels})
    [checked] = checks.check_folder(
        write_dataset(tmp_path / "set", {"default": {"test": table}}), "set", ForeignOptions(), language_sample=2000
    )
    lengths, clusters = html_report.section(checked)["charts"]
    assert sum(bar.count for bar in lengths.bars) == 1001
    assert (lengths.bars[-1].count, lengths.bars[-1].name) == (5, "1,000 or more"), (
        "the last bar is for all that is longer"
    )
    assert max(bar.size for bar in lengths.bars) == 1
    assert (len(clusters.bars), clusters.bars[0].count) == (20, 34)
    assert clusters.caption == "30 of them, 10 rarer ones not drawn"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["check", *arguments])
    return check.main()


def test_several_datasets_make_one_report_with_a_section_for_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden_release: Callable[[str], BuildResult]
) -> None:
    ours = golden_release("cedr-classification")
    sound = write_dataset(tmp_path / "sound", clean_tables("STS"))
    (tmp_path / "empty").mkdir()
    out = tmp_path / "new" / "report.html"
    names = [str(ours.place), str(sound), str(tmp_path / "empty")]
    assert run(monkeypatch, *names, "--html", str(out)) == 3
    text = out.read_text("utf-8")
    page = Page(text)
    anchors = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert anchors == ["#d1", "#d2", "#d3"]
    assert ours.manifest["content_sha256"] in page.text
    assert "not checked" in page.text
    assert "no table is found here" in page.text
    assert run(monkeypatch, *names, "--html", str(out)) == 3
    assert out.read_text("utf-8") == text, "the same data make the same report"
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_a_damaged_release_is_shown_as_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden_release: Callable[[str], BuildResult]
) -> None:
    place = golden_release("terra-pairclassification").place
    path = place / "data" / "dev-00000-of-00001.parquet"
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:-3])
        assert run(monkeypatch, str(place), "--html", str(tmp_path / "report.html")) == 1
    finally:
        path.write_bytes(whole)
    page = Page((tmp_path / "report.html").read_text("utf-8"))
    assert "damaged" in page.text
    assert "has changed" in page.text


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    broken: list[dict[str, Any]] = [html_report.failure("set", SourceError("gone")), {"name": "no section"}]
    with pytest.raises(jinja2.UndefinedError):
        html_report.write(out, broken)
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_texts_are_cut_and_shown_as_they_are(tmp_path: Path) -> None:
    table = pl.DataFrame({"sentences": ["a" * 5000, "a" * 5000, "b\tc\nd"], "labels": ["x", "y", "y"]})
    text, page = page_of(write_dataset(tmp_path / "set", {"default": {"test": table}}), tmp_path / "report.html")
    assert "a" * 241 not in html.unescape(text)
    assert "a" * 240 + " […]" in page.text
