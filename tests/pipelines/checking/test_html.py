"""The HTML report of a check: complete, without external resources, and safe against its data."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
import pytest

from builders.errors import SourceError
from builders.tasks import EVALUATED
from cards.kinds import KINDS
from pipelines.checking import html as html_report
from pipelines.make import BuildResult
from pipelines.process import installation
from tests.support.foreign import check_subsets
from tests.support.processes import run
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables, combine, with_rows, with_value

HOSTILE = "<script>alert('x')</script><img src=\"http://example.org/x.png\">"


class Page(HTMLParser):
    """A page as a browser parses it: its elements with their attributes, and its text."""

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
        if tag in self.VOID:  # the end of a `<rect>` with a `<title>` inside
            return
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f"{data} "


def page_of(dataset_dir: Path, out: Path) -> tuple[str, Page]:
    """The report of a dataset: its text, and the page as parsed."""
    html_report.write(out, [html_report.section(result) for result in check_subsets(dataset_dir)])
    text = out.read_text("utf-8")
    return text, Page(text)


@pytest.mark.parametrize("task_type", EVALUATED)
def test_a_report_shows_every_task_type_and_has_no_external_resources(task_type: str, tmp_path: Path) -> None:
    tables = clean_tables(task_type)
    text, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    assert "no problems" in page.text
    assert "<th></th>" not in text, "no header cell is empty"
    for config, splits in tables.items():
        for split in splits:
            assert f"{config}/{split}" in page.text or config == "top_ranked"
    assert "longest" in page.text
    assert "&amp;#" not in page.text, "no Markdown"
    assert any(tag == "svg" for tag, _ in page.elements)
    for tag, attributes in page.elements:
        assert not {"src", "href", "action", "data", "xlink:href"} & {
            name for name, value in attributes.items() if not (value or "").startswith("#")
        }, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert not [external for external in ("url(", "@import") if external in text]
    assert "default-src 'none'" in text


def test_values_of_the_data_are_shown_as_text(tmp_path: Path) -> None:
    texts = [HOSTILE, HOSTILE, "&amp;", "\u202eturned", None, "\u202eturned"]
    table = pl.DataFrame({"sentences": texts, "labels": ["a", HOSTILE, "b", "b", "b", "</style>"], "<b>": [1] * 6})
    dataset_dir = write_dataset(tmp_path / "<i>set", {"default": {"test": table}})
    text, page = page_of(dataset_dir, tmp_path / "report.html")
    assert "<script" not in text
    assert "<img" not in text
    assert "\u202e" not in text, "characters that reverse a line are escaped"
    assert HOSTILE in page.text
    assert "&amp;" in page.text
    assert "\\u202eturned" in page.text
    assert "ignored columns <b>" in page.text
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "link", "b>", "i"})


def test_a_finding_is_shown_with_its_definition_and_the_rows_concerned(tmp_path: Path) -> None:
    tables = combine(
        with_value("corpus", "test", "text", 2, None), with_rows("qrels", "test", ("q1", "d9", 1), ("q2", "d1", -1))
    )(clean_tables("Retrieval"))
    _, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    assert "defective" in page.text
    for kind in ("null_text", "dangling_qrel", "score_out_of_range"):
        assert kind in page.text
        assert KINDS[kind].definition in page.text
    text = " ".join(page.text.split())
    assert "d3 text null" in text
    assert "q1 d9 score 1 queries: text who makes honey (test)" in text, (
        "a judgement is shown with its query, and with its document if it exists"
    )
    assert "q2 d1 score -1 queries: text what do bees build with (test) corpus: text Bees make honey." in text


def test_findings_come_first_and_each_kind_is_listed_and_defined_once(tmp_path: Path) -> None:
    tables = with_rows("qrels", "test", (None, "d1", 1), ("q1", None, 1))(clean_tables("Retrieval"))
    _, page = page_of(write_dataset(tmp_path / "set", tables), tmp_path / "report.html")
    words = " ".join(page.text.split())
    headings = ["Findings", "Lengths and labels", "Tables", "What the findings mean"]
    assert [words.index(f" {heading} ") for heading in headings] == sorted(words.index(f" {one} ") for one in headings)
    assert words.count(" ".join(KINDS["null_value"].definition.split())) == 1
    assert "q1 score 1 queries: text who makes honey (test)" in words, "a judgement without a document"
    assert words.count("null instead of a value") == 3, "in the verdict, where it is found, and where it is defined"
    assert "qrels/test.corpus-id 1 (20.00 %) qrels/test.query-id 1 (20.00 %)" in words
    assert not any("open" in attributes for tag, attributes in page.elements if tag == "details"), "examples are folded"
    assert f" with {installation.describe()}." in words


def test_each_row_is_in_one_bar_of_a_chart(tmp_path: Path) -> None:
    texts = [f"{'x' * number}{number:04}" for number in range(1000)] + ["y" * 100_000]
    labels = [str(number % 30) for number in range(1001)]
    table = pl.DataFrame({"sentences": texts, "labels": labels})
    [result] = check_subsets(write_dataset(tmp_path / "set", {"default": {"test": table}}))
    lengths, clusters = html_report.section(result)["charts"]
    assert sum(bar["count"] for bar in lengths["bars"]) == 1001
    last = lengths["bars"][-1]
    assert (last["count"], last["name"]) == (5, "1,000 or more"), "the last bar counts all longer texts"
    assert max(bar["size"] for bar in lengths["bars"]) == 1
    assert (len(clusters["bars"]), clusters["bars"][0]["count"]) == (20, 34)
    assert clusters["caption"] == "distinct values: 30; the 20 most frequent are shown"


def test_a_report_of_several_datasets_has_a_section_for_each(
    tmp_path: Path, golden_release: Callable[[str], BuildResult]
) -> None:
    release = golden_release("cedr-classification")
    sound = write_dataset(tmp_path / "sound", clean_tables("STS"))
    (tmp_path / "empty").mkdir()
    out = tmp_path / "new" / "report.html"
    names = [str(release.release_dir), str(sound), str(tmp_path / "empty")]
    assert run("check", *names, "--html", str(out)).returncode == 2
    text = out.read_text("utf-8")
    page = Page(text)
    anchors = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert anchors[:3] == ["#d1", "#d2", "#d3"]
    assert re.search(r"<h1>3 datasets</h1>\n<p class=.soft.>Checked on \d{4}-\d\d-\d\d with embedding-datasets ", text)
    assert release.manifest.content_sha256 in page.text
    assert '<span class="badge soft">sample, not judged</span>' in text
    assert "not checked" in page.text
    assert "the folder holds no dataset" in page.text
    assert run("check", *names, "--html", str(out)).returncode == 2
    assert out.read_text("utf-8") == text, "the same data give the same report"
    assert run("check", names[-1], "--html", str(out.with_name("other.html"))).returncode == 2
    assert [path.name for path in out.parent.iterdir()] == ["report.html"], "none of what could not be read"


def test_a_damaged_release_is_shown_as_damaged(tmp_path: Path, golden_release: Callable[[str], BuildResult]) -> None:
    release_dir = golden_release("terra-pairclassification").release_dir
    path = release_dir / "data" / "dev-00000-of-00001.parquet"
    complete = path.read_bytes()
    try:
        path.write_bytes(complete[:-3])
        assert run("check", str(release_dir), "--html", str(tmp_path / "report.html")).returncode == 1
    finally:
        path.write_bytes(complete)
    page = Page((tmp_path / "report.html").read_text("utf-8"))
    assert "damaged" in page.text
    assert "has changed" in page.text


def test_a_report_that_cannot_be_rendered_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    broken: list[dict[str, Any]] = [html_report.failure("set", SourceError("gone")), {"name": "no section"}]
    with pytest.raises(jinja2.UndefinedError):
        html_report.write(out, broken)
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def labelled(*rows: tuple[str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["text", "label"], orient="row")


LEAKING = {
    "default": {
        "train": labelled(("Bees make honey.", 1), ("Ants bite.", 0), ("bees make HONEY", 0), ("A wasp.", 1)),
        "test": labelled(("Bees make honey.", 1), ("ANTS bite", 1), ("Wax.", 0), ("Wax.", 1)),
    }
}


def test_a_leak_is_shown_with_the_rows_that_it_repeats_and_a_conflict_with_the_other_labels(tmp_path: Path) -> None:
    [result] = check_subsets(write_dataset(tmp_path / "set", LEAKING))
    found = {
        (one["kind"], example["name"]): [
            (twin["name"], *(value for _, value in twin["values"])) for twin in example["twins"]
        ]
        for one in html_report.section(result)["findings"]
        for example in one["rows"]
    }
    leaks = {name: twins for (kind, name), twins in found.items() if kind == "split_leak"}
    assert [twin[0].startswith("train: ") for twins in leaks.values() for twin in twins] == [True, True]
    texts = [[twin[1:] for twin in twins] for twins in leaks.values()]
    assert texts == [[("Bees make honey.", "1")], [("A<mark>nts bite.</mark>", "0")]]
    conflicts = [twins for (kind, _), twins in found.items() if kind == "conflicting_label"]
    assert [("Wax.", "1")] in [[twin[1:] for twin in twins] for twins in conflicts]


def test_the_part_that_is_wrong_is_marked_also_far_inside_a_text(tmp_path: Path) -> None:
    long = f"{'word ' * 80}<br> & more"
    table = pl.DataFrame({"sentences": [long, "a <b>", "c"], "labels": ["x", "y", "y"]})
    text, page = page_of(write_dataset(tmp_path / "set", {"default": {"test": table}}), tmp_path / "report.html")
    assert re.findall("<mark>.*?</mark>", text) == ["<mark>&lt;br&gt;</mark>", "<mark>&lt;b&gt;</mark>"]
    assert "…word word word word word word <mark>&lt;br&gt;</mark> &amp; more</dd>" in text
    assert [tag for tag, _ in page.elements].count("mark") == 2


def test_what_a_design_implies_is_folded_below_the_findings(tmp_path: Path) -> None:
    [result] = check_subsets(write_dataset(tmp_path / "set", LEAKING))
    leaks = [one for one in result.findings if one.kind == "split_leak"]
    findings = [replace(one, by_design=one in leaks, why="So it is." * (one in leaks)) for one in result.findings]
    html_report.write(tmp_path / "r.html", [html_report.section(replace(result, findings=tuple(findings)))])
    text = " ".join(Page((tmp_path / "r.html").read_text("utf-8")).text.split())
    assert (
        text.index("conflicting_label")
        < text.index("By design: text also in an earlier split")
        < text.index("So it is.")
    )


def test_a_report_shows_twins_and_code_and_the_verdict(tmp_path: Path) -> None:
    text, page = page_of(write_dataset(tmp_path / "set", LEAKING), tmp_path / "report.html")
    assert len(re.findall(r"beside\s+train: ", page.text)) == 6
    assert "2 of 3 test texts leak from train" in page.text
    assert '<span class="badge error">compromised</span>' in text
    assert "`" not in page.text
    assert "<code>" in text


def test_long_texts_are_cut_and_texts_with_backticks_and_markup_stay_text(tmp_path: Path) -> None:
    texts = ["a" * 5000, "a" * 5000, "b\tc\nd", *["`<b>bold</b>` and <i>more</i>"] * 2]
    table = pl.DataFrame({"sentences": texts, "labels": ["x", "y", "y", "x", "y"]})
    text, page = page_of(write_dataset(tmp_path / "set", {"default": {"test": table}}), tmp_path / "report.html")
    assert "a" * 241 not in html.unescape(text)
    assert "a" * 240 + " […]" in page.text
    assert "`<b>bold</b>`" in page.text
    assert "<b>bold" not in text
    assert "<i>more" not in text
