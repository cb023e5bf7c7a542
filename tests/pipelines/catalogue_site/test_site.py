"""The site as files: complete, the same every time, safe against its data, and never in the place of something else."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import ReleaseError, UsageError
from cards.manifest import encode
from cards.scores import ModelScore
from pipelines import site as command
from pipelines.catalogue_site import release_data
from pipelines.catalogue_site import site as site_pages
from pipelines.catalogue_site.pages import write_index
from pipelines.catalogue_site.release_data import find_datasets
from pipelines.catalogue_site.site import write_site
from pipelines.make import BuildResult, make
from pipelines.process import workers
from pipelines.release.folder import require_manifest
from pipelines.scores.scoring import record_scores
from tests.pipelines.checking.test_html import Page
from tests.support.releases import definition_of, sample_settings, tree, with_published_version
from tests.support.scores import baseline, scores_of
from tests.support.sites import HOSTILE, LEAK, build_site, copy_as_real, hostile_releases, read_records

CEDR, RIA = "cedr-classification", "ria-news-retrieval"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of CEDR with hostile texts."""
    return hostile_releases(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="module")
def site(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(releases, tmp_path_factory.mktemp("site") / "cedr", "cedr")


class SitePage(Page):
    """A page of the site as a browser parses it."""

    VOID = (*Page.VOID, "input", "hr")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["site", *map(str, arguments)])
    return command.main()


def data_of(page: Path) -> Any:
    """The data block of a page."""
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert block
    return json.loads(block[1])


def test_a_site_has_an_index_and_pages_of_every_version(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    version = ("index", "rows", "findings")
    assert pages == {
        "index.html",
        "catalogue.html",
        "search.html",
        "compare.html",
        f"{CEDR}/index.html",
        *(f"{CEDR}/{number}/{name}.html" for number in ("1.0.0", "2.0.0") for name in version),
        f"{CEDR}/2.0.0/changes-from-1.0.0.html",
    }
    assert "../assets/site.css" in (site / CEDR / "index.html").read_text("utf-8")


def test_every_link_of_every_page_leads_somewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for tag, attributes in SitePage(path.read_text("utf-8")).elements:
            target = attributes.get("href") or attributes.get("src") or "#"
            if target.startswith(("https://", "#", "data:")):
                continue
            assert (path.parent / target.partition("#")[0]).is_file(), (path, tag, target)


def test_no_page_runs_or_loads_what_is_not_of_the_site(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        assert "default-src 'none'; script-src 'self' file:;" in text
        assert not any(one in text for one in HOSTILE[:3]), path
        for tag, attributes in SitePage(text).elements:
            assert not any(name.startswith("on") or name == "style" for name in attributes), (path, tag, attributes)
            if tag == "script":
                assert attributes.get("type") == "application/json" or (attributes["src"] or "").startswith(
                    ("assets/", "../")
                )
            assert tag not in ("iframe", "object", "embed", "img"), path
            assert "action" not in attributes, path
    for path in site.rglob("rows-*.js"):
        assert "<" not in path.read_text("utf-8"), path


def test_the_rows_of_a_release_are_in_its_pages(site: Path, releases: Path) -> None:
    table = pl.read_parquet(releases / CEDR / "1.0.0" / "data" / "train-*.parquet")
    records = read_records(site / CEDR / "1.0.0", "table-1")
    assert [tuple(record[2:]) for record in records] == table.rows()
    assert {record[2] for record in records} >= {*HOSTILE, LEAK}


def test_the_rows_of_a_leak_are_listed_with_their_twins(site: Path) -> None:
    page_dir = site / CEDR / "1.0.0"
    leak = next(
        finding for finding in data_of(page_dir / "findings.html")["findings"] if finding["kind"] == "split_leak"
    )
    records = read_records(page_dir, leak["list"]["folder"])
    assert len(records) == leak["list"]["records"]
    assert (LEAK, "train", LEAK) in [(record[2][0], record[4], record[5][0]) for record in records]


def test_two_versions_are_compared_row_by_row_with_what_each_drops(site: Path) -> None:
    page_dir = site / CEDR / "2.0.0"
    [train, _] = data_of(page_dir / "changes-from-1.0.0.html")["changes"]
    removed = [record[2][0] for record in read_records(page_dir, train["lists"]["removed"]["folder"])]
    assert LEAK in removed
    assert len(removed) == train["removed"] == train["before"] - train["after"]
    assert "the text is also in the test split" in (page_dir / "changes-from-1.0.0.html").read_text("utf-8")


def test_the_same_releases_give_the_same_bytes(site: Path, releases: Path) -> None:
    before = tree(site)
    assert tree(build_site(releases, site, "cedr")) == before
    assert {path.name for path in site.parent.iterdir()} == {"cedr"}, "nothing is left beside it"


def test_several_processes_write_the_same_bytes_as_one(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of each dataset are numbered behind those of the others, whichever process is ready first."""
    for name in (RIA, CEDR, "terra-pairclassification"):
        release_dir = golden_release(name).release_dir
        shutil.copytree(release_dir, tmp_path / "releases" / name / release_dir.name)
    one = tree(build_site(tmp_path / "releases", tmp_path / "one"))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(site_pages, "STARTING_RELEASES", 1)
    started = []
    monkeypatch.setattr(workers, "_start", lambda work, start=workers._start: started.append(work) or start(work))
    assert tree(build_site(tmp_path / "releases", tmp_path / "two")) == one
    assert len(started) == 2


def test_a_site_that_cannot_be_completed_leaves_the_old_one(
    site: Path, releases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(site)
    monkeypatch.setattr(site_pages, "write_index", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        build_site(releases, site, "cedr")
    assert tree(site) == before
    assert {path.name for path in site.parent.iterdir()} == {"cedr"}


@pytest.mark.parametrize("content", ["notes.txt", "site.json", ".git"])
def test_a_folder_with_other_files_is_refused_and_stays(
    content: str, releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / content).write_text('{"generator": "another", "files": ["site.json"]}')
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="holds other files"):
        run(monkeypatch, "cedr", "--releases", releases, "--output", tmp_path / "mine")
    assert tree(tmp_path) == before


def test_a_file_that_was_added_to_a_site_is_not_deleted(site: Path, releases: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(site, mine)
    (mine / "CNAME").write_text("example.org")
    with pytest.raises(UsageError, match="CNAME"):
        build_site(releases, mine, "cedr")
    assert (mine / "CNAME").is_file()


def test_the_folder_of_the_releases_is_never_replaced(releases: Path) -> None:
    with pytest.raises(UsageError, match="a release is in the folder"):
        build_site(releases, releases, "cedr")


def test_without_releases_the_error_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no releases found") as caught:
        find_datasets(["terra"], tmp_path)
    assert "embedding-datasets build terra" in str(caught.value)
    with pytest.raises(UsageError, match="no such folder"):
        find_datasets([], tmp_path / "nowhere")


def test_a_release_of_an_unknown_dataset_is_named_in_a_warning(
    releases: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(releases / CEDR, tmp_path / CEDR)
    (tmp_path / "unknown" / "1.0.0").mkdir(parents=True)
    (tmp_path / "unknown" / "1.0.0" / "manifest.json").write_text("{}")
    find_datasets([], tmp_path)
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'unknown'}: not in the catalogue, its releases are not shown"
    ]


def test_a_dataset_without_a_release_is_listed_as_not_built(releases: Path, tmp_path: Path) -> None:
    index = build_site(releases, tmp_path / "site", "cedr", "terra") / "index.html"
    for page in (index, index.with_name("catalogue.html")):
        text = page.read_text("utf-8")
        assert 'data-name="terra-pairclassification"' in text
        assert 'data-state="missing"' in text
    assert not (index.parent / "terra-pairclassification").exists()


def test_training_data_with_what_their_recipe_found_are_shown(tmp_path: Path) -> None:
    """The recipe of its first version says which rows are in a benchmark; such a finding has no table."""
    name = "ru-wanli-contrastive"
    make(definition_of(name), "1.0.0", sample_settings(tmp_path))
    index = build_site(tmp_path / "outputs", tmp_path / "site", name) / "index.html"
    assert name in row_of(index, name)


def test_without_names_all_releases_are_shown_training_data_too(tmp_path: Path) -> None:
    for name in (CEDR, "habr-qna-contrastive"):
        make(definition_of(name), definition_of(name).dataset.newest, sample_settings(tmp_path))
    found = [
        release.manifest.dataset for _, releases in find_datasets([], tmp_path / "outputs") for release in releases
    ]
    assert found == [CEDR, "habr-qna-contrastive"]


def row_of(index: Path, name: str) -> str:
    """The row of a dataset as HTML."""
    found = re.search(rf'<tr data-name="{name}".*?</tr>', index.read_text("utf-8"), re.DOTALL)
    assert found
    return found[0]


def test_a_sample_is_not_judged_and_has_the_figures_that_were_counted_on_the_real_files(site: Path) -> None:
    """The figures are in docs/results.md too."""
    row = row_of(site / "index.html", CEDR)
    text = " ".join(SitePage(row).text.split())
    assert f"{CEDR} verified" in text
    assert "1.0.0 0.75 % 14 of 1,875" in text
    assert "4.0.0 0.11 % 2 of 1,875" in text
    assert "findings.html" not in row, "the rows that were counted are not in the site"
    assert "9,359 rows · rows here: sample" in text
    assert "4.0.0 42.8" in text
    assert "published, of other rows: 51.9 E5-mistral-7b-instruct" in text
    assert "sample, not judged" in row_of(site / "catalogue.html", CEDR)
    page = (site / CEDR / "1.0.0" / "index.html").read_text("utf-8")
    assert '<span class="badge soft">sample, not judged</span>' in page


def test_a_bar_leads_to_the_rows_of_its_finding(releases: Path, tmp_path: Path) -> None:
    """Of hostile releases that pass for complete ones, with five of 17 test texts in train too."""
    shutil.copytree(releases, tmp_path / "releases")
    for path in (tmp_path / "releases").glob("*/*/manifest.json"):
        path.write_bytes(encode(replace(require_manifest(path.parent), sample=False)))
    folder = build_site(tmp_path / "releases", tmp_path / "site", "cedr")
    row = row_of(folder / "index.html", CEDR)
    assert f"{CEDR} raw files not verified" in " ".join(SitePage(row).text.split())
    [target] = re.findall(r'href="([^"]+)"><b>[^<]*</b> <span class="soft small count">5 of 17<', row)
    page, _, name = target.partition("#")
    assert re.search(rf'<li id="{name}">\n<h2>.* text also in an earlier split ', (folder / page).read_text("utf-8"))


def test_documents_and_queries_are_counted_apart_and_licences_are_filtered_by_use(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    releases = golden_release(RIA).release_dir.parents[1]
    index = build_site(releases, tmp_path / "site", RIA, "cedr") / "index.html"
    assert re.search(r"\d+ documents, \d+ queries", row_of(index, RIA))
    assert 'data-use=""' in row_of(index, RIA), "cc-by-nc-nd-4.0"
    assert 'data-use="commercial use allowed|may be redistributed"' in row_of(index, CEDR)


def test_every_page_has_a_title_a_description_and_a_picture_for_links(releases: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(find_datasets(["cedr"], releases), site, rights=False, address="https://example.org/site")
    names = list[str]()
    for path in site.rglob("*.html"):
        values = {
            attributes.get("property") or attributes.get("name"): attributes["content"]
            for tag, attributes in SitePage(path.read_text("utf-8")).elements
            if tag == "meta" and "content" in attributes
        }
        assert values["og:image"] == "https://example.org/site/assets/preview.png"
        assert values["description"] == values["og:description"]
        names.append(f"{values['og:title']} {values['description']}")
    assert len({*names}) == len(names) - 1, "the page of a dataset is that of its newest version"
    assert (site / "assets" / "preview.png").is_file()


def test_the_size_of_a_dataset_that_nobody_built_is_unknown(tmp_path: Path) -> None:
    write_index(tmp_path, [(definition_of("rubq-retrieval"), ())])
    assert 'data-rows="-1" data-size="unknown"' in (tmp_path / "catalogue.html").read_text("utf-8")


def test_the_catalogue_says_where_each_version_is_and_has_the_tables_of_the_papers(site: Path) -> None:
    text = " ".join(SitePage((site / "catalogue.html").read_text("utf-8")).text.split())
    assert "2.0.0 sample; recorded" in text
    assert "3.0.0 missing; recorded" in text
    assert "ruMTEB, beside its paper" in text
    assert "7,528 / 1,882" in text


@pytest.mark.parametrize(("digest", "state"), [(None, "waits for decide"), ("0" * 64, "missing")])
def test_the_published_rows_wait_for_decide_until_their_keys_have_a_digest(
    digest: str | None, state: str, tmp_path: Path
) -> None:
    write_index(tmp_path, [(with_published_version(definition_of("terra-pairclassification"), digest), ())])
    text = " ".join(SitePage((tmp_path / "catalogue.html").read_text("utf-8")).text.split())
    assert f" 0.1.0 {state}" in text


def test_the_page_of_a_version_says_where_the_others_are(site: Path) -> None:
    for page in ("index.html", "1.0.0/index.html"):
        text = " ".join(SitePage((site / CEDR / page).read_text("utf-8")).text.split())
        assert text.count("sample; recorded") == 2
        assert text.count("missing; recorded") == 2
        assert "apache-2.0: you may share it with the notices of the licence" in text


def test_the_catalogue_has_the_scores_of_the_newest_version_and_sorts_by_the_lead_of_a_model(
    releases: Path, tmp_path: Path
) -> None:
    shutil.copytree(releases, tmp_path / "releases")
    [release_dir] = (tmp_path / "releases").glob("*/2.0.0")
    models = (ModelScore("<b>model</b>", "weights", "0" * 64, "CEDR", "accuracy", 40.5),)
    baselines = (baseline(39.0, "majority"),)
    manifest = require_manifest(release_dir)
    scores = scores_of(manifest, metric="accuracy", split="test", baselines=baselines, models=models)
    record_scores(release_dir, scores)
    index = (build_site(tmp_path / "releases", tmp_path / "site") / "catalogue.html").read_text("utf-8")
    assert 'data-lead="1.5"' in index
    assert "best baseline 39.0 · &lt;b&gt;model&lt;/b&gt; 40.5" in index
    assert 'href="cedr-classification/2.0.0/index.html#card-scores"' in index
    page = (tmp_path / "site" / "cedr-classification" / "2.0.0" / "index.html").read_text("utf-8")
    assert 'id="card-scores"' in page


def test_texts_under_a_licence_without_derivatives_are_shown_to_who_has_the_rights_and_if_made_up(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    made_up = golden_release(RIA).release_dir
    real = copy_as_real(made_up, tmp_path / "releases")
    texts = pl.read_parquet(real / "corpus" / "*.parquet")["text"].to_list()
    for release_dir, rights, shown in ((real, False, False), (real, True, True), (made_up, False, True)):
        folder = build_site(release_dir.parents[1], tmp_path / f"{release_dir.parts[-3]} {rights}", RIA, rights=rights)
        written = [path.read_text("utf-8") for path in folder.rglob("*.*") if path.suffix in (".html", ".js")]
        assert any(json.dumps(text, ensure_ascii=False)[1:-1] in page for text in texts for page in written) is shown
        rows = (folder / RIA / release_dir.name / "rows.html").read_text("utf-8")
        assert ("does not permit sharing derivatives" in rows) is not shown


def test_a_large_table_shows_the_rows_that_are_named_and_says_so(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_data, "MAX_BYTES", 2_000)
    release_dir = golden_release(RIA).release_dir
    folder = build_site(release_dir.parents[1], tmp_path / "site", RIA, rights=True) / RIA / release_dir.name
    corpus = data_of(folder / "rows.html")["tables"][0]
    judged = set(pl.read_parquet(release_dir / "qrels" / "*.parquet")["corpus-id"])
    listed = {record[1] for record in read_records(folder, "table-1")}
    assert judged <= listed
    assert len(listed) == corpus["list"]["records"] < corpus["rows"]
    assert f"Of its {corpus['rows']} documents, the {len(listed)} that a query" in corpus["note"]
    [queries] = data_of(folder / "queries.html")["queries"]
    documents = [
        document for _, judgements, _ in read_records(folder, queries["list"]["folder"]) for document, _ in judgements
    ]
    assert documents
    assert all(isinstance(document, int) and document < len(listed) for document in documents)


def test_a_damaged_release_has_a_page_that_says_so_and_no_rows(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(releases / CEDR, tmp_path / "releases" / CEDR)
    copy = tmp_path / "releases" / CEDR / "1.0.0"
    data = next(copy.glob("data/train-*"))
    data.write_bytes(data.read_bytes()[:-1])
    assert run(monkeypatch, "cedr", "--releases", tmp_path / "releases", "--output", tmp_path / "site") == 1
    pages = tmp_path / "site" / CEDR
    assert '<span class="badge error">damaged</span>' in (pages / "1.0.0" / "index.html").read_text("utf-8")
    assert not list((pages / "1.0.0").rglob("rows-*.js"))
    assert list((pages / "2.0.0").rglob("rows-*.js"))
    assert not (pages / "2.0.0" / "changes-from-1.0.0.html").exists(), "nothing is compared with it"
    assert "changes-from" not in (pages / "2.0.0" / "index.html").read_text("utf-8")
    assert "2 releases: open " in capsys.readouterr().out


def test_every_field_of_every_page_has_a_label(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = path.read_text("utf-8")
        fields = re.findall(r"<(?:input|select|textarea)\b", page)
        labelled = re.findall(r"<label[^>]*>[^<]+<(?:input|select|textarea)\b", page)
        assert len(fields) == len(labelled), path


def test_json_output_names_the_index_and_the_releases(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, f"{CEDR}@1.0.0", "--releases", releases, "--output", tmp_path / "site", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["index"] == str(tmp_path / "site" / "index.html")
    assert [release["release"] for release in result["releases"]] == [f"{CEDR}@1.0.0"]
