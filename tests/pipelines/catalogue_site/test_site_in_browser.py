"""The site in headless Chromium, opened from its folder: every kind of page, clicked through."""

import os
import random
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

from builders import tasks
from builders.shaping.folding import hash_texts
from pipelines.catalogue_site import text_index
from pipelines.catalogue_site.documentation import write_documentation
from pipelines.catalogue_site.lists import as_json, write_rows
from pipelines.make import BuildResult
from tests.support.paths import ROOT
from tests.support.sites import HOSTILE, LEAK, build_site, copy_as_real, hostile_releases

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CEDR, RUBQ, RIA = "cedr-classification", "rubq-reranking", "ria-news-retrieval"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium of the system."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no browser found: {', '.join(BROWSERS)}")
    # Chromium makes a socket in TMPDIR, and the path of a socket has at most 107 bytes.
    with TemporaryDirectory(dir="/tmp") as folder, playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, env=os.environ | {"TMPDIR": folder})
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, golden_release: Callable[..., BuildResult]) -> Path:
    """A site of two hostile versions of CEDR, of a reranking dataset, and of one whose texts may not be shown."""
    folder = tmp_path_factory.mktemp("site")
    releases = hostile_releases(folder)
    release_dir = golden_release(RUBQ).release_dir
    shutil.copytree(release_dir, releases / RUBQ / release_dir.name)
    copy_as_real(golden_release(RIA).release_dir, releases)
    return build_site(releases, folder / "site", "cedr", RUBQ, RIA)


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """A page of the browser; the test fails on an error in the console and on a request that leaves the site's folder."""
    context = browser.new_context(viewport={"width": 400, "height": 900})
    page = context.new_page()
    faults = watch(page, site)
    page.set_default_timeout(20_000)
    yield page
    assert not page.evaluate("document.title").count("broken out")
    context.close()
    assert faults == []


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, *_: object) -> None:
        pass


def watch(page: Any, folder: Path) -> list[str]:
    """The errors and warnings of a page from now on, and the addresses of its requests that leave a folder."""
    faults, own = list[str](), (f"{folder.as_uri()}/", "data:")
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(own) else faults.append(request.url))
    return faults


def texts(page: Any, selector: str) -> list[str]:
    return [one.text_content() for one in page.query_selector_all(selector)]


def wait_for_status(page: Any, text: str) -> None:
    page.wait_for_function("text => document.getElementById('status').textContent.includes(text)", arg=text)


def has_no_overflow(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_the_index_is_searched_filtered_and_sorted(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/index.html")
    shown = "#datasets tbody tr:not([hidden]) td:first-child a"
    assert texts(page, shown) == [CEDR, RIA, RUBQ]
    page.fill("#search", "emotions")
    assert texts(page, shown) == [CEDR]
    page.click("#clear")
    page.select_option("[data-filter=task]", "Reranking")
    assert texts(page, shown) == [RUBQ]
    assert "task=Reranking" in page.url
    page.reload()
    assert texts(page, shown) == [RUBQ], "an address leads back to the same filters"
    page.click("#clear")
    page.click("th[data-sort=name] button")
    page.click("th[data-sort=name] button")
    assert texts(page, shown) == [RUBQ, RIA, CEDR]
    assert page.get_attribute("th[data-sort=name]", "aria-sort") == "descending"
    assert has_no_overflow(page)
    page.click(f"text={CEDR}")
    assert page.text_content("h1").split() == [CEDR, "2.0.0", "sample"]


def test_a_benchmark_has_a_view_with_its_name_and_address(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/index.html#benchmark=RAR-b")
    assert page.text_content("#status") == "3 of 3 datasets", "no dataset is in that benchmark"
    page.click("#views >> text=ruMTEB")
    page.wait_for_function("document.querySelector('h1').textContent === 'ruMTEB'")
    page.click("th[data-sort=leaks] button")
    assert page.url.endswith("#sort=-leaks&benchmark=ruMTEB")
    page.select_option("[data-filter=use]", "may be redistributed")
    assert RIA not in texts(page, "#datasets tbody tr:not([hidden]) td:first-child a")


def test_a_dataset_page_shows_findings_charts_and_the_card(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/index.html")
    headings = texts(page, "main > section > h2")
    assert headings == ["Findings", "At a glance", "Versions", "Card"]
    assert page.query_selector("figure svg rect")
    assert page.query_selector(".card table")
    assert has_no_overflow(page)
    page.click("text=2.0.0 >> nth=0")
    page.click("nav >> text=Rows")
    wait_for_status(page, "rows 1 to")


def test_rows_are_filtered_searched_and_linked(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/1.0.0/rows.html")
    wait_for_status(page, "rows 1 to")
    page.select_option("#label", label=next(text for text in texts(page, "#label option") if text.startswith("anger")))
    wait_for_status(page, "found in all")
    labels = texts(page, ".row .label")
    assert labels
    assert all("anger" in label for label in labels)
    page.select_option("#label", "")
    page.fill("#search", "EXAMPLE.org/x")
    page.press("#search", "Enter")
    wait_for_status(page, "1 row found in all")
    assert texts(page, ".row mark") == ["example.org/x"]
    name = page.text_content(".row .name")
    page.click(".row .name")
    page.wait_for_selector(".row.target")
    page.reload()
    page.wait_for_selector(".row.target")
    assert page.text_content(".row.target .name") == name
    page.goto(f"{site.as_uri()}/{CEDR}/1.0.0/rows.html#table=1&row={name}")
    page.wait_for_selector(".row.target")
    page.select_option("#table", label=next(text for text in texts(page, "#table option") if text.startswith("test")))
    page.wait_for_selector(f".row >> text={LEAK}")


def test_hostile_texts_are_shown_as_texts(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/1.0.0/rows.html")
    wait_for_status(page, "rows 1 to")
    shown = texts(page, ".row .text")
    for text in HOSTILE[:5]:
        assert text in shown
    assert r"\u202eturned around\u2066 and\u2028 parted" in shown, "characters that turn a text are named"
    assert r"a zero\u0000byte, a bell\u0007 and a soft\u00adhyphen" in shown
    assert page.query_selector_all("#records script, #records img, #records svg, #records b") == []


def test_a_finding_opens_all_its_rows_beside_their_twins(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/1.0.0/index.html")
    page.click("#findings ~ * a:has-text('text also in an earlier split')")
    page.wait_for_selector(".finding-rows:not([hidden]) .row")
    sides = texts(page, ".finding-rows:not([hidden]) .row:has-text('проверочной') .text")
    assert sides == [LEAK, LEAK]
    assert texts(page, ".finding-rows:not([hidden]) .row:first-child .side > .column")[0].startswith("test ")
    assert has_no_overflow(page)
    page.click(".finding-rows:not([hidden]) .row:has-text('проверочной') .name >> nth=1")
    page.wait_for_selector(".row.target")
    assert LEAK in page.text_content(".row.target")


def test_a_query_is_shown_with_its_positives_and_negatives(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{RUBQ}/index.html")
    page.click("nav >> text=Queries")
    page.wait_for_selector(".query[open] .document.positive")
    assert page.query_selector(".query[open] .side + .side .document")
    page.fill("#most", "1")
    page.press("#most", "Enter")
    wait_for_status(page, "5 of 8 queries with 0 to 1 positives")
    assert all("1 positive," in text for text in texts(page, ".query summary"))
    page.click(".counts[open] a >> text=3")
    wait_for_status(page, "1 of 8 queries with 3 positives")
    assert has_no_overflow(page)


def test_pages_without_rows_say_why(page: Any, site: Path) -> None:
    for name in ("index", "rows", "findings"):
        page.goto(f"{site.as_uri()}/{RIA}/2.0.0/{name}.html")
        assert "does not permit sharing derivatives" in page.text_content(".note")
        assert page.query_selector(".row") is None


def test_two_versions_are_compared(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/index.html")
    page.click("nav >> text=Changes")
    wait_for_status(page, "removed")
    options = texts(page, "#list option")
    assert any(text.startswith("train") for text in options)
    assert LEAK in texts(page, "#records .text")
    assert "the text is also in the test split" in page.text_content("main")
    assert has_no_overflow(page)


def test_the_pages_are_the_same_on_a_web_server(browser: Any, site: Path) -> None:
    faults = list[str]()
    with HTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(f"http://127.0.0.1:{server.server_port}/{CEDR}/1.0.0/rows.html")
        wait_for_status(page, "rows 1 to")
        page.keyboard.press("/")
        page.keyboard.type(LEAK)
        page.keyboard.press("Enter")
        wait_for_status(page, "1 row found in all")
        page.close()
        server.shutdown()
    assert faults == []


HARD_MARKS = "ΣσςİıIiﬁﬃẞß\u200d\u200b\u00ad.,-'’№€ AaZяЯёЁ\u0301\u0308"


def hard_texts(number: int) -> list[str]:
    """Texts of all characters that Python knows, of combining ones, and of those whose case or width folding changes."""
    rng = random.Random(1)
    known = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    marks = [character for character in known if unicodedata.combining(character)]
    words = [
        "".join(rng.choices(rng.choice([known, marks, HARD_MARKS, HARD_MARKS]), k=rng.randrange(1, 8)))
        for _ in range(2_000)
    ]
    words += ["слово", "Ельма", "the", "Σίσυφος", "3.14", "№5"] * 300
    return [" ".join(rng.choices(words, k=rng.randrange(1, 40))) for _ in range(number)]


def test_folding_hash_and_runs_are_those_of_python_for_10_000_hard_texts(page: Any, site: Path) -> None:
    texts = pl.Series(hard_texts(10_000))
    folded = text_index.fold_for_search(texts)
    positions, runs = text_index.select_runs(folded)
    expected = pl.DataFrame({"text": positions, "run": runs}).group_by("text").agg("run")
    stored = dict(expected.with_columns(pl.col("run").list.sort()).iter_rows())
    page.goto(f"{site.as_uri()}/search.html")
    script = """texts => texts.map((text) => {
      const folded = foldText(text);
      const runs = [...new Set(selectRuns(folded).map(([number]) => number))].sort((a, b) => a - b);
      const hashes = [folded, text].map((one) => hashText(one).map((half) => half.toString(16).padStart(8, "0")).join(""));
      return [folded, ...hashes, runs];
    })"""
    found = page.evaluate(script, texts.to_list())
    assert [each[0] for each in found] == folded.to_list()
    for place, hashed in ((1, folded), (2, texts)):
        assert [each[place] for each in found] == [f"{number:016x}" for number in hash_texts(hashed).tolist()]
    assert [each[3][: text_index.MAX_RUNS] for each in found] == [stored.get(row, []) for row in range(len(texts))]
    assert sum(map(len, stored.values())) > 40_000


def look_up(page: Any, text: str) -> list[str]:
    """The rows of the table of results for a text."""
    page.fill("#search", text)
    page.press("#search", "Control+Enter")
    page.wait_for_function("() => /^(Listed|Not found)/.test(document.getElementById('status').textContent)")
    return [" ".join(one.inner_text().split()) for one in page.query_selector_all("#records tr") if one.is_visible()]


def test_a_text_is_found_in_all_releases_whole_edited_and_inside_another(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/search.html")
    places = [f"{CEDR} 2.0.0 test / text 17", f"{CEDR} 1.0.0 train / text 45", f"{CEDR} 1.0.0 test / text 18"]
    assert look_up(page, f"{LEAK}\n") == [f"exact {place}" for place in places]
    page.reload()
    assert look_up(page, page.input_value("#search")) == [f"exact {place}" for place in places], (
        "the address has the text"
    )
    folded = f"  {LEAK.upper().replace(',', ' –')}"
    assert look_up(page, folded) == [f"same ignoring case, punctuation, white space {place}" for place in places]
    river = "Со́льва — река на севере края, левый приток Ельмы. Впадает в неё"
    [edited] = look_up(page, f"{river} где-то")
    assert edited.startswith("in part shares ")
    assert "; estimated. It has 18 words; shared are words 1 to " in edited
    assert edited.endswith(f"{RUBQ} 2.0.0 corpus / test / text 1")
    page.click("#records td:last-child a")
    page.wait_for_selector(".row.target")
    assert river[:20] in page.text_content(".row.target")


def test_texts_inside_a_paragraph_are_found_also_those_that_may_not_be_shown(
    page: Any, site: Path, golden_release: Callable[..., BuildResult]
) -> None:
    document = pl.read_parquet(golden_release(RIA).release_dir / "corpus" / "*.parquet")["text"][0]
    page.goto(f"{site.as_uri()}/search.html")
    [withheld] = look_up(page, f"Перед ним есть другие слова. {document} И после него есть другие слова.")
    assert "shares 6 of 6 numbers" in withheld
    assert withheld.endswith(f"{RIA} 2.0.0 corpus / test / text 1 not shown here: the licence does not permit it")
    assert page.query_selector("#records td:last-child a") is None
    assert look_up(page, "В этом предложении нет ничего, что есть хотя бы в одной строке наборов.") == []
    assert page.text_content("#status") == "Not found in 8 columns of 4 releases"
    assert look_up(page, " ".join(document.split()[:7])) == []
    assert "fewer than 8 words" in page.text_content("#notes")
    assert look_up(page, " ".join(f"слово{number}" for number in range(2_000))) == []
    assert "looked up to word" in page.text_content("#notes")
    assert has_no_overflow(page)


def test_two_releases_are_shown_side_by_side_with_the_texts_of_both(page: Any, site: Path) -> None:
    page.goto(f"{site.as_uri()}/{CEDR}/2.0.0/index.html")
    page.click("text=Side by side with another")
    wait_for_status(page, f"{CEDR}@2.0.0 beside {CEDR}@1.0.0")
    assert texts(page, "tr:has-text('rows: default / train') mark") == ["39", "45"]
    page.select_option("#other", label=f"{RUBQ}@2.0.0")
    wait_for_status(page, f"beside {RUBQ}@2.0.0")
    assert "No text of one is in the other" in page.text_content("#records")
    page.go_back()
    wait_for_status(page, f"beside {CEDR}@1.0.0")
    ours, theirs = (
        set(
            text_index.fold_for_search(
                pl.read_parquet(site.parent / "outputs" / CEDR / version / "data" / "*.parquet")["text"]
            )
        )
        for version in ("2.0.0", "1.0.0")
    )
    assert f"{len(ours & theirs)} texts, " in page.text_content("#records")
    assert has_no_overflow(page)
    page.click("#records td a >> nth=1")
    page.wait_for_selector(".row.target")


AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: npm install --no-save axe-core")


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """The rules of axe that a page breaks, each with the elements concerned."""
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text("utf-8"))
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in page.evaluate("axe.run()")["violations"]]


@needs_axe
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize(
    "name",
    ["index", "catalogue", f"search.html#q={quote(LEAK)}", "compare", f"{CEDR}/index", f"{CEDR}/1.0.0/rows",
     f"{CEDR}/1.0.0/findings", f"{CEDR}/2.0.0/changes-from-1.0.0", f"{RUBQ}/2.0.0/queries", f"{RIA}/index"],
)  # fmt: skip
def test_axe_finds_nothing(browser: Any, site: Path, name: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{site.as_uri()}/{name}" if "#" in name else f"{site.as_uri()}/{name}.html")
    for button in page.query_selector_all("button.open"):
        button.click()
    found = violations(page)
    context.close()
    assert found == []


@needs_axe
@pytest.mark.extra("zensical")
def test_axe_finds_nothing_in_the_documentation(browser: Any, tmp_path: Path) -> None:
    write_documentation(tmp_path / "docs")
    for scheme, width in product(("light", "dark"), (400, 1280)):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", bypass_csp=True
        )
        page = context.new_page()
        for name in (
            "index",
            *(f"docs/{name}" for name in ("tutorials/train", "results", "scores", "commands", "python")),
        ):
            page.goto((tmp_path / "docs" / f"{name}.html").as_uri())
            assert violations(page) == [], (name, scheme, width)
        context.close()


@pytest.mark.slow
def test_a_corpus_of_100_000_rows_is_scrolled_and_searched(page: Any, site: Path) -> None:
    """Screen after screen over the borders of pages, to the end, and a search of all rows that can be stopped."""
    rows, source = 100_000, site / RUBQ / "2.0.0"
    table = pl.LazyFrame(
        {"id": [f"d{n}" for n in range(rows)], "title": [""] * rows, "text": [f"text {n} of many" for n in range(rows)]}
    )
    folder = source.parent / "large"
    folder.mkdir()
    listed = write_rows(folder, "table-1", table)
    one = {
        "config": "corpus", "split": "test", "rows": rows + 1, "columns": ["id", "title", "text"], "texts": ["title", "text"],
        "list": {"folder": "table-1", "records": listed.records, "pages": listed.pages}, "note": "", "label": "", "filters": [],
    }  # fmt: skip
    viewer = as_json({"language": "en", "tables": [one], "labels": tasks.label_names(tasks.Retrieval())}).decode()
    html = (source / "rows.html").read_text("utf-8")
    start = html.index('id="data">') + len('id="data">')
    (folder / "rows.html").write_text(html[:start] + viewer + html[html.index("</script>", start) :], "utf-8")
    page.goto(f"{folder.as_uri()}/rows.html")
    wait_for_status(page, "rows 1 to 100 of 100,000")
    for screen in range(1, 25):
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.keyboard.press("n")
        wait_for_status(page, f"rows {screen * 100 + 1:,} to")
    page.fill("#jump", "99950")
    page.press("#jump", "Enter")
    wait_for_status(page, "rows 99,901 to 100,000")
    assert texts(page, ".row:last-child .text") == ["text 99999 of many"]
    assert page.is_disabled("#next")
    page.fill("#search", "text 99998 ")
    page.press("#search", "Enter")
    wait_for_status(page, "1 row found in all 100,000 rows")
    page.goto(f"{folder.as_uri()}/rows.html#table=1&row=d77777&at=5")
    page.wait_for_selector(".row.target")
    assert page.text_content(".row.target .text") == "text 77777 of many"
    page.goto(f"{folder.as_uri()}/rows.html#table=1&position=88888")
    page.wait_for_selector(".row.target >> text=text 88888 of many")
    page.goto(f"{folder.as_uri()}/rows.html#table=1&position={rows}")
    wait_for_status(page, "Row 100,001 is not among the rows that are shown.")
    assert page.evaluate("cache.size") <= 12, "pages that were shown are given up"
    # Clicked by the page itself: under load, the search may end between two messages of the test.
    page.evaluate(
        "(() => { const stop = document.getElementById('stop');"
        " new MutationObserver(() => stop.hidden || stop.click()).observe(stop, {attributes: true}); })()"
    )
    page.fill("#search", "many")
    page.press("#search", "Enter")
    wait_for_status(page, "stopped")


@pytest.mark.extra("zensical")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_documentation_loads_nothing_from_elsewhere_and_is_searched_without_a_server(
    scheme: str, browser: Any, tmp_path: Path
) -> None:
    write_documentation(tmp_path / "docs")
    context = browser.new_context(viewport={"width": 400, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    faults = watch(page, tmp_path)
    for name in ("index.html", "docs/contamination.html", "docs/tutorials/train.html"):
        page.goto((tmp_path / "docs" / name).as_uri())
        assert has_no_overflow(page), name
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light"), background
    page.keyboard.press("/")
    page.keyboard.type("compromised")
    page.wait_for_selector("a[href*='checking.html?h=']")
    context.close()
    assert faults == []
