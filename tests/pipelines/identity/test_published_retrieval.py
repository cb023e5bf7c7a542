"""Published documents, queries and judgements found in the raw source: by ids for MIRACL, by texts for RIA news. Keys by hand."""

import gzip
import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import embedding_datasets as ed
from benchmarks.ria_articles import write_articles
from builders.errors import RecipeError, SourceError
from builders.spec import AS_PUBLISHED
from pipelines.make import GOLDEN, BuildResult, make
from tests.support.first_contact import publish_golden_files
from tests.support.processes import run
from tests.support.published_copies import COPIES, HARD, MIRACL, RIA, STATION, Copy, decide
from tests.support.real_releases import read_table
from tests.support.releases import definition_of, sample_settings

# table, number of the record in it, how many have its text and label, what was changed. An article's number is its line - 1.
KEYS = {
    RIA: [
        ("corpus", 15, 1, "exact"),
        ("corpus", 8, 2, "exact"),  # lines 9 and 10 have no text
        ("corpus", 5, 1, "headless"),
        ("corpus", 4, 1, "whole"),
        ("corpus", 10, 2, "exact"),  # lines 11 and 19 have one text
        ("corpus", 1, 2, "folded"),  # lines 2 and 12 too
        ("corpus", 2, 1, "exact"),
        ("queries", 10, 1, "exact"),  # line 1 has the same title, and another article
        ("queries", 5, 1, "exact"),
        ("queries", 2, 1, "trimmed"),  # exactly the title of line 13, which is not relevant
        ("qrels", 2, 1, "exact"),
        ("qrels", 10, 1, "exact"),
        ("qrels", 5, 1, "exact"),
    ],
    HARD: [
        *(("corpus", line - 1, 1, "exact") for line in (8, 22, 4)),
        *(("queries", line - 1, 1, "exact") for line in (4, 8)),
        *(("qrels", line - 1, 1, "exact") for line in (4, 8)),
    ],
    MIRACL: [  # passages by shard, docs-10 after docs-9; questions without 31 and 44
        ("corpus", 22, 1, "exact"),  # 734#0, not 733#0, which has the same title and text
        ("corpus", 5, 1, "exact"),
        ("corpus", 1, 1, "spaced"),
        ("corpus", 14, 1, "exact"),
        ("corpus", 0, 1, "exact"),
        ("queries", 4, 1, "exact"),
        ("queries", 0, 1, "exact"),
        ("qrels", 11, 1, "exact"),
        ("qrels", 13, 1, "exact"),
        ("qrels", 1, 1, "exact"),
        ("qrels", 0, 1, "exact"),
    ],
}


def build(name: str, folder: Path, *, partial: bool = False) -> BuildResult:
    settings = replace(sample_settings(folder), golden=folder / "golden", partial=partial)
    return make(definition_of(name), AS_PUBLISHED, settings)


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    for source in ("ria_news", "miracl"):
        shutil.copytree(GOLDEN / source / "raw", tmp_path / "golden" / source / "raw")
    return tmp_path / "golden"


@pytest.mark.parametrize("name", COPIES)
def test_keys_name_the_records_that_were_published_and_the_build_equals_the_copy(
    name: str, golden: Path, tmp_path: Path
) -> None:
    found, keys = decide(name, COPIES[name], tmp_path, golden)
    assert found.keys.rows() == KEYS[name]
    assert keys.read_bytes() == (GOLDEN / keys.relative_to(golden)).read_bytes()
    release = build(name, tmp_path)
    difference = ed.diff(tmp_path / "copy", release.release_dir, allow=["ids"])
    assert (difference.same, "order" in difference.differences) == (True, False), difference
    ids = read_table(release, "corpus", definition_of(name).dataset.task.splits[0])["id"].to_list()
    assert (ids == [row[0] for row in COPIES[name].corpus]) == (name == MIRACL)


def spoil(copy: Copy) -> Copy:
    """The copy of MIRACL with a passage of no source, relevant for a query, one with the id of another, and another score."""
    corpus = [*copy.corpus, ("1#0", "Кот", "Кот спит."), ("402#0", STATION, "Станция находится в черте города.")]
    return Copy(corpus, copy.queries, [("58", "205#2", 1), ("58", "734#0", 1), ("3", "1#0", 1), ("3", "101#1", 0)])


def test_documents_of_no_source_or_another_id_and_judgements_of_them_make_a_part_at_most(
    golden: Path, tmp_path: Path
) -> None:
    found, _ = decide(MIRACL, spoil(COPIES[MIRACL]), tmp_path, golden)
    assert (
        found.keys.rows()
        == [
            *KEYS[MIRACL][:5],
            ("corpus", None, 0, "absent"),
            ("corpus", 14, 1, "relabelled"),  # the text of 733#0 and 734#0
            *KEYS[MIRACL][5:7],
            ("qrels", 11, 1, "exact"),
            ("qrels", 13, 1, "relabelled"),
            ("qrels", None, 0, "absent"),
            ("qrels", 1, 1, "exact"),
        ]
    )
    assert found.absent == ["Кот спит."]
    with pytest.raises(
        RecipeError, match=r"(?s)1 of corpus: no raw record.*1 of qrels: a raw record has the text with another"
    ):
        build(MIRACL, tmp_path)
    release = build(MIRACL, tmp_path, partial=True)
    # The query without a relevant document, and its other judgement, are left out too.
    assert release.manifest.rows == {"corpus/dev": 5, "queries/dev": 1, "qrels/dev": 1}
    assert "**in part**: 6 published rows cannot be made" in (release.release_dir / "README.md").read_text("utf-8")


DATELINE = r"^[^.—–]{2,70}?, \d+ \w+\s*[-–—] (?:риа новости|р-спорт|прайм)(?:, [^.]+)?\. ?"
INVENTED = "этой статьи в источнике нет."


def test_of_a_copy_that_another_program_drew_decide_tells_the_three_rows_that_differ(tmp_path: Path) -> None:
    """The program follows the card, with BeautifulSoup and a random draw."""
    raw = tmp_path / "golden" / "ria_news" / "raw" / "ria.json.gz"
    raw.parent.mkdir(parents=True)
    write_articles(raw, 400)
    articles = [json.loads(line) for line in gzip.decompress(raw.read_bytes()).splitlines()]
    plain = [BeautifulSoup(article["text"], "html.parser").get_text() for article in articles]
    texts = [re.sub(DATELINE, "", " ".join(text.split())) for text in plain]
    titles, rng = [article["title"] for article in articles], random.Random(5)
    short = [
        n for n, text in enumerate(texts) if texts.index(text) == titles.index(titles[n]) == n and len(text) <= 2_000
    ]
    blank = next(n for n in short if titles[n] != titles[n].strip())
    pool = rng.sample([n for n in short if n != blank], 80)
    asked = [*pool[:20], blank]
    documents = rng.sample([*pool, blank], 81)
    judged = {n: int(n == asked[7]) + 1 for n in rng.sample(asked, 21)}
    shown = [(f"d{n}", "", texts[n]) for n in documents]
    copy = Copy(
        [*shown[:40], ("x", "", INVENTED), *shown[40:]],
        [(f"t{n}", titles[n].strip() if n == blank else titles[n]) for n in asked],
        [(f"t{n}", f"d{n}", score) for n, score in judged.items()],
    )
    found, _ = decide(HARD, copy, tmp_path, tmp_path / "golden")
    drawn = [("corpus", n, texts.count(texts[n]), "exact") for n in documents]
    assert found.keys.rows() == [
        *drawn[:40],
        ("corpus", None, 0, "absent"),
        *drawn[40:],
        *(("queries", n, 1, "trimmed" if n == blank else "exact") for n in asked),
        *(("qrels", n, 1, "relabelled" if score == 2 else "exact") for n, score in judged.items()),
    ]
    assert found.absent == [INVENTED]
    release = build(HARD, tmp_path, partial=True)
    tables = {table.config: table for table in ed.diff(tmp_path / "copy", release.release_dir).tables}
    assert {name: (table.equal + table.new_ids, table.removed, table.after) for name, table in tables.items()} == {
        "corpus": (81, 1, 81),
        "queries": (20, 1, 20),  # that of the judgement has no relevant document
        "qrels": (20, 1, 20),
    }


def test_keys_of_another_source_are_refused(golden: Path, tmp_path: Path) -> None:
    raw = golden / "ria_news" / "raw" / "ria.json.gz"
    lines = gzip.decompress(raw.read_bytes()).split(b"\n")
    raw.write_bytes(gzip.compress(b"\n".join(lines[1:])))
    with pytest.raises(SourceError, match="not the keys of published rows, or damaged") as caught:
        build(HARD, tmp_path)
    assert "other rows than those that were compared" in str(caught.value.found)


def test_decide_reads_the_subset_of_a_copy_with_several_languages(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_golden_files(monkeypatch, "http://127.0.0.1:9", tmp_path)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    COPIES[MIRACL].write(tmp_path / "copy", "dev", "ru-")
    COPIES[RIA].write(tmp_path / "copy", "dev", "sw-")
    raw = tmp_path / "raw"
    shutil.copytree(golden / "miracl" / "raw", raw / "miracl", ignore=lambda *_: ["published"])
    process = run("decide", MIRACL, "--published", str(tmp_path / "copy"), "--raw-dir", str(raw), "--offline")
    assert process.returncode == 0, process.stderr
    assert " ".join(process.stdout.split()).endswith("corpus 4 1 queries 2 0 qrels 4 0")
