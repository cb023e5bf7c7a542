"""The command contamination: an index of a release, a scan of a small corpus, and what it prints and writes."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from builders import catalogue
from builders.errors import ReleaseError, SourceError, UsageError
from pipelines.decontamination.index_file import SCHEMA
from tests.pipelines.decontamination.test_clean import run_scan
from tests.support.benchmark_tables import LATIN, sentence
from tests.support.foreign import write_json_lines

SOURCE = random.Random(11)
TEXTS = [sentence(SOURCE, 12, LATIN) for _ in range(20)]
CONTRACT = [
    "corpus_file", "corpus_row", "corpus_column", "dataset", "version", "config", "split", "row", "column", "kind",
    "similarity",
]  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs the command with arguments in an empty folder; returns its exit code."""
    monkeypatch.chdir(tmp_path)
    return run_scan


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """A classification of others, in one file; two of its texts are very short."""
    path = tmp_path / "test.jsonl"
    write_json_lines(path, *({"text": text, "label": n % 2} for n, text in enumerate([*TEXTS, "yes", "thank you"])))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four rows of texts of the benchmark, one of each kind, and rows of other texts."""
    near = f"{TEXTS[2][:-1]} ba."
    contained = f"{sentence(SOURCE, 9, LATIN)} {TEXTS[3]} {sentence(SOURCE, 9, LATIN)}"
    texts = [TEXTS[0], TEXTS[1].upper(), near, contained, "yes", *(sentence(SOURCE, 12, LATIN) for _ in range(5))]
    rows = ({"content": text, "source": "<script>alert(1)</script>"} for text in texts)
    write_json_lines(tmp_path / "corpus" / "part.jsonl", *rows)
    return tmp_path / "corpus"


def scan(run: Any, corpus: Path, benchmark: Path, *options: str) -> int:
    """Index the benchmark, and scan the corpus for it."""
    run("index", str(benchmark), "--task", "Classification", "--language", "eng-Latn", "--output", "my.index", "-q")
    known = ["--benchmark", str(benchmark), "--task", "Classification", "--language", "eng-Latn", "--cache", "cache"]
    code: int = run("scan", str(corpus), "--text", "content", "--index", "my.index", *known, *options)
    return code


def test_what_is_built_is_indexed_and_what_is_missing_is_listed(
    run: Any, golden_release: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = golden_release("terra-pairclassification").release_dir
    shutil.copytree(built, tmp_path / "outputs" / built.parent.name / built.name)
    releases = ["--releases", "outputs", "--output", "my.index"]
    with pytest.raises(ReleaseError, match=r"(?s)2 datasets have not been built.*rubq-retrieval.*--all-built"):
        run("index", "terra", "rubq", *releases)
    assert not (tmp_path / "my.index").exists()
    assert run("index", "terra", "rubq", "--all-built", "--json", *releases) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["missing"] == ["rubq-reranking", "rubq-retrieval"]
    assert {table["dataset"] for table in found["tables"]} == {"terra-pairclassification"}
    assert run("index", "--all-built", *releases) == 0
    added = sum(entry.group == "other" for entry in catalogue.entries().values())  # by somebody, to this checkout
    assert f"not built, so not in the index: {50 + added} datasets: " in capsys.readouterr().out
    with pytest.raises(ReleaseError, match="no dataset of these has been built"):
        run("index", "rubq", "--all-built", *releases)
    with pytest.raises(UsageError, match="name datasets, or pass --all-built"):
        run("index", *releases)


def test_each_row_counts_once_with_its_strictest_kind(
    run: Any, corpus: Path, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scan(run, corpus, benchmark, "--json") == 0
    [found] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith('{"dataset"')]
    assert {kind: found[kind] for kind in ("rows", "exact", "folded", "near", "contained", "short", "estimated")} == {
        "rows": 22, "exact": 1, "folded": 1, "near": 1, "contained": 1, "short": 1, "estimated": 0,
    }  # fmt: skip
    assert found["share"] == 4 / 22
    assert (found["split"], found["column"], found["at_hand"]) == ("test", "text", True)


def test_matches_flags_page_and_clean_corpus_are_written(run: Any, corpus: Path, benchmark: Path) -> None:
    outputs = ["--matches", "m.parquet", "--flag", "f.parquet", "--html", "r.html", "--clean", "clean"]
    assert scan(run, corpus, benchmark, *outputs) == 0
    matches = pl.read_parquet("m.parquet")
    assert matches.columns[:11] == CONTRACT
    assert matches.schema["corpus_row"] == pl.Int64
    assert matches.select("corpus_row", "kind").rows() == [(0, "exact"), (1, "folded"), (2, "near"), (3, "contained")]
    assert matches.equals(matches.sort(CONTRACT))
    flags = pl.read_parquet("f.parquet")
    assert flags.columns == ["dataset", "version", "config", "split", "row", "kinds", "matches"]
    assert sorted(flags["row"]) == sorted(matches["row"])
    assert sorted(flags["kinds"].to_list()) == [["contained"], ["exact"], ["folded"], ["near"]]
    [clean] = (corpus.parent / "clean").glob("*.jsonl")
    assert len(clean.read_text("utf-8").splitlines()) == 6
    page = (corpus.parent / "r.html").read_text("utf-8")
    assert "4 texts of 1 dataset are in the corpus" in page
    assert f"<mark>{TEXTS[3][:-1]}</mark>" in page
    assert "<script>" not in page


def test_a_scan_prints_a_table_and_fails_only_on_request(
    run: Any, corpus: Path, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scan(run, corpus, benchmark, "--fail-on", "exact:50%") == 0
    output = capsys.readouterr().out
    for part in ("test.jsonl", "1 dataset, 22 texts", "bytes a text"):  # of the index
        assert part in output
    assert "1 file, 10 rows" in output
    assert "18.18 %" in output
    assert "texts of 1 to 4 words" in output
    assert scan(run, corpus, benchmark, "--fail-on", "exact:0.1%") == 1
    assert "exact:0.1%" in capsys.readouterr().out


def test_what_is_not_read_is_named_in_every_output(
    run: Any, corpus: Path, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json_lines(corpus / "chats.jsonl", {"messages": [{"content": TEXTS[4], "n": 1}], "id": "né"})
    (corpus / "notes.md").write_text("1234567", "utf-8")
    run("index", str(benchmark), "--task", "Classification", "--output", "my.index", "-q")
    scanned = ["scan", corpus.name, "--index", "my.index", "--cache", "cache"]
    assert run(*scanned, "--html", "r.html", "--clean", "clean", "--fail-on", "unread") == 1
    output = " ".join(capsys.readouterr().out.split())
    for column in ("messages[].n (number,", "id (by its name,", "corpus/notes.md (a file in another format,"):
        assert column in output
        assert column in (corpus.parent / "r.html").read_text("utf-8")
    expected = [
        {"column": "messages[].n", "reason": "number", "bytes": 8},
        {"column": "corpus/notes.md", "reason": "format", "bytes": 7},
        {"column": "id", "reason": "name", "bytes": 3},
    ]
    assert json.loads((corpus.parent / "clean" / "removed.json").read_text("utf-8"))["unread"] == expected
    assert (corpus.parent / "clean" / "chats.jsonl").read_text("utf-8") == "", "the chat had a text of the index"
    assert run(*scanned, "--json", "--fail-on", "unread:90%") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["unread"] == expected
    (corpus / "notes.md").unlink()
    assert run(*scanned, "--fail-on", "unread") == 0, "numbers and short ids cannot be texts of an index"


def test_a_scan_reads_the_texts_of_the_index_once(
    run: Any, corpus: Path, benchmark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, read = list[str](), pq.ParquetFile.read

    def count(file: Any, names: list[str], **options: Any) -> Any:
        columns.extend(names)
        return read(file, names, **options)

    monkeypatch.setattr(pq.ParquetFile, "read", count)
    assert scan(run, corpus, benchmark) == 0
    assert columns == SCHEMA.names


def test_a_missing_or_damaged_index_and_unknown_names_are_errors(run: Any, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="index not found"):
        run("scan", str(corpus), "--index", "nowhere")
    (tmp_path / "damaged").write_bytes(b"PAR1 and no more")
    with pytest.raises(SourceError, match="cannot be read"):
        run("scan", str(corpus), "--index", "damaged")
    with pytest.raises(UsageError, match="rubk"):
        run("index", "rubk", "--output", "x")
    with pytest.raises(UsageError, match="no kind of match is named 'exakt'"):
        run("scan", str(corpus), "--index", "damaged", "--fail-on", "exakt:1%")
    assert not (tmp_path / "x").exists()


def test_a_map_lists_the_texts_that_two_datasets_share(
    run: Any, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "train.jsonl"
    texts = [sentence(SOURCE, 9, LATIN), *TEXTS[:2]]
    write_json_lines(other, *({"text": text, "label": number % 2} for number, text in enumerate(texts)))
    assert run("map", str(benchmark), str(other), "--cache", "cache", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["of"]["dataset"], one["in"]["dataset"], one["kinds"]) for one in found["shared"]] == [
        ("test.jsonl", "train.jsonl", {"exact": 2}),
        ("train.jsonl", "test.jsonl", {"exact": 2}),
    ]
