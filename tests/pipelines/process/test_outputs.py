"""What commands may write: tried as a user types them, with each output in turn over something that must stay."""

import argparse
import importlib
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from builders.errors import UsageError
from pipelines import build, command, contamination
from pipelines.command_line import COMMANDS
from pipelines.process import outputs
from pipelines.process.files import protect, replacing, write_atomically
from pipelines.process.outputs import KINDS, Output, claim
from tests.pipelines.decontamination.test_clean import content, run_scan
from tests.support.benchmark_tables import LATIN, sentence
from tests.support.foreign import write_json_lines
from tests.support.paths import ROOT

OLD = ROOT / "tests" / "golden" / "old"
# Options that take a path and write nothing of their own there: what is read, and folders with a layout of this package.
READ = {
    "accept": {"report", "raw_dir", "cache"}, "diff": {"releases"},
    "build": {"raw_dir", "cache", "output", "sign"}, "fetch": {"raw_dir", "cache"}, "doctor": {"cache", "releases"},
    "check": {"releases", "ledger", "statement", "key", "rules"}, "decide": {"raw_dir", "cache", "releases"},
    "publish": {"releases", "raw_dir", "cache", "attestation"}, "reproduce": {"raw_dir", "cache", "releases", "sign"},
    "score": {"releases", "raw_dir", "cache"}, "show": {"releases", "raw_dir", "cache"},
    "export": {"releases"}, "site": {"releases"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_protected_afterwards() -> Iterator[None]:
    yield
    protect(())


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of one file and the data of a benchmark, some of whose texts it has; the current folder."""
    source = random.Random(7)
    texts = [sentence(source, 12, LATIN) for _ in range(12)]
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    write_json_lines(Path("corpus/texts.jsonl"), *({"text": text} for text in texts))
    write_json_lines(
        Path("test.jsonl"), *({"text": text, "label": number % 2} for number, text in enumerate(texts[:8]))
    )
    return tmp_path


def index(output: str, *more: str) -> int:
    return run_scan("index", "test.jsonl", "--task", "Classification", "--output", output, *more)


def refused(*arguments: str, words: str) -> UsageError:
    """What the command refuses; all files stay as they were."""
    before = content(Path())
    with pytest.raises(UsageError, match=words) as caught:
        run_scan(*arguments)
    assert content(Path()) == before
    return caught.value


def test_an_index_over_the_data_that_it_is_made_of_is_refused(corpus: Path) -> None:
    arguments = ("index", "test.jsonl", "--task", "Classification", "--output")
    refused(*arguments, "test.jsonl", words="the output is an input")
    refused(*arguments, "../" + corpus.name + "/test.jsonl", "--overwrite", words="the output is an input")
    Path("link").symlink_to("test.jsonl")
    refused(*arguments, "link", "--overwrite", words="the output is an input")
    os.link("test.jsonl", "second-name")
    refused(*arguments, "second-name", "--overwrite", words="the output is an input")


@pytest.mark.parametrize("option", ["--matches", "--flag", "--html"])
def test_a_scan_replaces_neither_its_corpus_nor_its_index(corpus: Path, option: str) -> None:
    assert index("my.index") == 0
    for victim in ("corpus/texts.jsonl", "my.index"):
        for names in (["corpus"], ["corpus/*.jsonl"], ["corpus/texts.jsonl"]):
            refused("scan", *names, "--index", "my.index", option, victim, "--overwrite", words="is an input")
    os.link("corpus/texts.jsonl", "elsewhere")
    refused("scan", "corpus", "--index", "my.index", option, "elsewhere", "--overwrite", words="is an input")


def test_two_outputs_in_one_place_are_refused(corpus: Path) -> None:
    assert index("my.index") == 0
    scan = ("scan", "corpus", "--index", "my.index")
    for first, second in (("out", "out"), ("out", "./out"), ("out", "OUT"), ("out", "corpus/../out")):
        refused(*scan, "--matches", first, "--html", second, words="in one place")
    Path("other").symlink_to("out")
    refused(*scan, "--matches", "out", "--html", "other", words="in one place")
    refused(*scan, "--clean", "clean", "--html", "clean/page.html", words="in one place")


@pytest.mark.parametrize("option", ["--matches", "--flag", "--html", "--clean"])
def test_what_somebody_else_wrote_is_replaced_only_on_demand(corpus: Path, option: str) -> None:
    assert index("my.index") == 0
    scan = ("scan", "corpus", "--index", "my.index", option, "theirs")
    if option == "--clean":
        Path("theirs").mkdir()
        Path("theirs/removed.json").write_text("{}", "utf-8")
        Path("theirs/mine.txt").write_text("x", "utf-8")
    else:
        Path("theirs").write_text("<!doctype html>a page of somebody else", "utf-8")
    error = refused(*scan, words="the folder holds other files" if option == "--clean" else "that this package wrote")
    assert "--overwrite" in str(error)
    assert error.exit_code == 2
    run_scan(*scan, "--overwrite")
    first = content(Path())
    assert "theirs/mine.txt" not in first
    run_scan(*scan)
    assert content(Path()).keys() == first.keys(), "its own output is replaced without a word"


def test_an_older_index_is_replaced_and_other_parquet_is_not(corpus: Path) -> None:
    Path("old.index").write_bytes((OLD / "terra.index").read_bytes())
    assert index("old.index") == 0
    pl.DataFrame({"text": ["a"]}).write_parquet("data.parquet")
    refused("index", "test.jsonl", "--task", "Classification", "--output", "data.parquet", words="not an index")
    assert index("data.parquet", "--overwrite") == 0


def test_outputs_of_0_2_0_are_known(tmp_path: Path) -> None:
    for kind, name in (("index", "terra.index"), ("statement", "statement.json"), ("report", "build-report.json")):
        claim([Output("--to", OLD / name, KINDS[kind])])
    claim([Output("--to", OLD / "export", KINDS["export"])])
    columns = {"matches": outputs.MATCH_COLUMNS, "flags": outputs.FLAG_COLUMNS}
    for kind, names in columns.items():
        pl.DataFrame({name: ["x"] for name in names}).write_parquet(tmp_path / kind)
        claim([Output("--to", tmp_path / kind, KINDS[kind])])
        with pytest.raises(UsageError, match="not an index"):
            claim([Output("--to", tmp_path / kind, KINDS["index"])])
    page = tmp_path / "page.html"
    page.write_bytes(outputs.OLD_PAGE + b"\n<meta name")
    claim([Output("--html", page, KINDS["page"])])
    (tmp_path / "map.json").write_text('{"datasets": [], "shared": []}', "utf-8")
    claim([Output("--output", tmp_path / "map.json", KINDS["map"])])
    (tmp_path / "map.json").write_text('{"datasets": []}', "utf-8")
    with pytest.raises(UsageError, match="not a map of shared texts"):
        claim([Output("--output", tmp_path / "map.json", KINDS["map"])])


@pytest.mark.parametrize("place", ["outputs/cedr/2.0.0/page.html", "outputs/cedr/2.0.0/data/page.html"])
def test_nothing_is_written_into_a_release(tmp_path: Path, place: str) -> None:
    (tmp_path / "outputs/cedr/2.0.0/data").mkdir(parents=True)
    (tmp_path / "outputs/cedr/2.0.0/manifest.json").write_text("{}", "utf-8")
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="inside a release"):
            claim([Output("--html", tmp_path / place, KINDS["page"])], overwrite=overwrite)
        with pytest.raises(UsageError, match="a release is in the folder"):
            claim([Output("--to", tmp_path / "outputs", KINDS["export"])], overwrite=overwrite)


def test_a_folder_with_an_input_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "to/data").mkdir(parents=True)
    (tmp_path / "to/data/raw.jsonl").touch()
    for given in ("to", "to/data", "to/data/raw.jsonl"):
        with pytest.raises(UsageError, match="an input is in the folder"):
            claim([Output("--to", tmp_path / "to", KINDS["export"])], [tmp_path / given], overwrite=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="special files")
def test_special_files_and_folders_are_no_place_for_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, found in (("pipe", "a special file"), ("folder", "a folder")):
        with pytest.raises(UsageError, match=f"(?s)something else.*found:    {found}"):
            claim([Output("--html", tmp_path / name, KINDS["page"])], overwrite=True)


def test_an_output_that_becomes_an_input_while_a_command_runs_is_not_written(tmp_path: Path) -> None:
    given, output = tmp_path / "corpus.jsonl", tmp_path / "page.html"
    given.write_text("data", "utf-8")
    protect([given])
    write_atomically(output, "first")
    output.unlink()

    def write() -> None:
        with replacing(output) as part:
            part.write_text("page", "utf-8")
            os.link(given, output)

    with pytest.raises(UsageError, match="has become an input"):
        write()
    assert given.read_text("utf-8") == "data"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl", "page.html"]


def test_lock_file_and_ledger_are_no_outputs_and_are_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build with --report that downloads a raw file or builds a new version writes into both."""
    monkeypatch.chdir(tmp_path)
    for name, place in (
        ("raw.lock.json", "pipelines.raw.pins.LOCK_FILE"),
        ("ledger.json", "pipelines.release.ledger.LEDGER"),
    ):
        Path(name).write_text("{}", "utf-8")
        monkeypatch.setattr(place, tmp_path / name)
        monkeypatch.setattr(sys, "argv", ["build", "cedr", "--findings", "rows", "--report", name])
        with pytest.raises(UsageError, match=r"in one place|the output is an input"):
            command.parse(build.parser())
    Path("key.pem").write_text("secret", "utf-8")
    monkeypatch.setattr(sys, "argv", ["build", "cedr", "--attest", "built.json", "--sign", "key.pem"])
    command.parse(build.parser())
    write_atomically(tmp_path / "ledger.json", "{...}")
    write_atomically(tmp_path / "raw.lock.json", "{...}")
    with pytest.raises(UsageError, match="has become an input"):
        write_atomically(tmp_path / "key.pem", "statement")


def test_what_is_written_says_what_it_is(corpus: Path) -> None:
    """The marks themselves, for programs that ask: no other test would see that one is lost."""
    assert index("my.index") == 0
    run_scan("scan", "corpus", "--index", "my.index", "--matches", "m", "--flag", "f", "--html", "page.html")
    assert pq.read_metadata("m").metadata[b"embedding-datasets"] == b"matches"
    assert pq.read_metadata("f").metadata[b"embedding-datasets"] == b"flags"
    assert '<meta name="generator" content="embedding-datasets">' in Path("page.html").read_text("utf-8")
    assert run_scan("map", str(OLD / "outputs"), "--output", "map.json") == 0
    assert '"$schema": "urn:embedding-datasets:contamination-map"' in Path("map.json").read_text("utf-8")


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for listed in COMMANDS:
        if listed.name != "contamination":
            yield listed.name, importlib.import_module(f"pipelines.{listed.name}").parser()
    for name in contamination.SUBCOMMANDS:
        yield f"contamination {name}", getattr(contamination, f"_{name}_parser")()


def test_every_option_that_takes_a_path_is_read_or_an_output_with_the_rule() -> None:
    unruled: dict[str, Any] = {}
    for name, parser in parsers():
        outputs_of = parser.get_default("outputs") or {}
        paths = {action.dest for action in parser._actions if action.type is Path}
        assert {kind for _, kind in outputs_of.values()} <= KINDS.keys()
        if rest := paths - outputs_of.keys() - READ.get(name, {"releases", "cache", "index"}):
            unruled[name] = rest
    assert unruled == {"accept": {"lock", "ledger"}, "publish": {"ledger"}, "reproduce": {"keep"}}, (
        "records that only grow, and a folder that must not exist"
    )
