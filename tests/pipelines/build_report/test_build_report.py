"""A build of several datasets writes a report: from files on a loopback server at the real paths, some of them wrong."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.build_report import records
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.first_contact import GOLDEN, build, path_of, published_files, read_report, start_build, typed_report
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.raw_files import TOKEN, sha256

CANARY = "Zanzibar"  # a word of a row, which no report may repeat
NAMES = (
    "alpacafarm", "beavertails", "cedr", "dialfact", "geo_reviews", "hellaswag", "instrusum", "kinopoisk", "rubq", "sts22"
)  # fmt: skip
CHANGED = path_of("dialfact", "test_split.jsonl")
GONE = path_of("hellaswag", "hellaswag_val.jsonl")
TOO_LARGE = path_of("kinopoisk", "kinopoisk.jsonl")
DENIED = path_of("instrusum", "human_eval.json")
DAMAGED = path_of("alpacafarm", "alpaca_human_preference.json")
FAILED = {
    "dialfact-classification": 3,
    "hellaswag-retrieval": 3,
    "instrusum-reranking": 3,
    "kinopoisk-sentiment-classification": 3,
    "alpacafarm-reranking": 3,
    "rarb-hellaswag": 3,
    "sts22-ru": 3,
}


def damage(content: bytes) -> bytes:
    """The preference of a record is a text, where a number belongs."""
    changed = content.replace(b'"preference": 1', f'"preference": "{CANARY}"'.encode(), 1)
    assert changed != content
    return changed


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(published_files()) as running:
        yield running


@pytest.fixture(scope="module")
def contact(tmp_path_factory: pytest.TempPathFactory) -> "Contact":
    """A build that meets one changed file, one that is gone, one too large, one denied and one that does not parse."""
    folder = tmp_path_factory.mktemp("contact")
    with FaultyServer(published_files()) as server:
        server.files[CHANGED] += b"\n"
        del server.files[GONE]
        server.files[TOO_LARGE] *= 2
        server.always[DENIED] = Fault(status=401)
        server.files[DAMAGED] = damage(server.files[DAMAGED])
        process = build(server, folder, *NAMES)
    return Contact(folder, process, read_report(folder))


@dataclass(frozen=True)
class Contact:
    """The result of a build."""

    folder: Path
    process: subprocess.CompletedProcess[str]
    report: dict[str, Any]

    def entry(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.report["datasets"][name]
        return entry

    def error(self, name: str) -> dict[str, Any]:
        error: dict[str, Any]
        [error] = self.entry(name)["errors"]
        return error


def test_the_others_are_built_and_the_exit_code_is_that_of_the_first_failure(contact: Contact) -> None:
    assert contact.process.returncode == 3, contact.process.stderr
    states = {name: entry["state"] for name, entry in contact.report["datasets"].items()}
    assert {name for name, state in states.items() if state == "failed"} == set(FAILED)
    assert {name for name, state in states.items() if state == "built"} == {
        "beavertails-qa-classification",
        "cedr-classification",
        "georeview-classification",
        "georeview-clustering-p2p",
        "rubq-reranking",
        "rubq-retrieval",
    }
    assert contact.report["complete"] is True


def test_a_summary_with_the_failed_datasets_ends_the_build(contact: Contact) -> None:
    files, summary = contact.process.stderr.split("13 datasets: ")
    assert summary.splitlines()[0] == "6 built, 7 failed: 3 raw files are missing, 3 for other reasons"
    assert "  failed       dialfact-classification@" in summary
    by_hand = files.split("to be fetched by hand\n")[1]
    assert by_hand.startswith("  sts22/articles.zip\n")
    assert "    for sts22-ru\n" in by_hand
    assert summary.rstrip().endswith("outputs/build-report.json")


@pytest.mark.parametrize(
    ("name", "what", "found", "expected", "where"),
    [
        (
            "dialfact-classification",
            "dialfact/test_split.jsonl is not the pinned file",
            sha256(published_files()[CHANGED] + b"\n"),
            "git blob",
            CHANGED,
        ),
        ("hellaswag-retrieval", "hellaswag/hellaswag_val.jsonl not found at its URL", "status 404", "", GONE),
        (
            "kinopoisk-sentiment-classification",
            "",
            f"{2 * len(published_files()[TOO_LARGE]):,} bytes",
            f"{len(published_files()[TOO_LARGE]):,} bytes",
            TOO_LARGE,
        ),
        ("instrusum-reranking", "instrusum/human_eval.json: the server denies access", "status 401", "", DENIED),
        ("sts22-ru", "sts22/articles.zip must be fetched by hand", "", "", ""),
    ],
    ids=["changed", "gone", "too large", "denied", "to be fetched by hand"],
)
def test_a_file_that_cannot_be_had_is_reported_with_what_was_found_and_expected(
    name: str, what: str, found: str, expected: str, where: str, contact: Contact
) -> None:
    error = contact.error(name)
    assert what in error["what"]
    assert found in (error["found"] or "")
    assert expected in (error["expected"] or "")
    assert where in (error["where"] or "")


def test_a_file_that_was_not_fetched_has_no_digest(contact: Contact) -> None:
    [file] = [file for file in contact.entry("hellaswag-retrieval")["files"] if "_val" in file["name"]]
    assert (file["origin"], file["sha256"], file["bytes"]) == ("none", None, None)
    pairs, articles = contact.entry("sts22-ru")["files"]
    content = published_files()[path_of("sts22", "final_evaluation_data.csv")]
    assert (pairs["origin"], pairs["sha256"]) == ("download", sha256(content))
    assert (articles["origin"], articles["url"]) == ("none", None)


def test_a_damaged_record_is_reported_with_file_record_and_type_but_without_its_value(contact: Contact) -> None:
    error = contact.error("alpacafarm-reranking")
    assert error == {
        "kind": "SourceError",
        "exit_code": 3,
        "what": "alpacafarm/alpaca_human_preference.json: preference has the wrong type",
        "where": error["where"],
        "found": "a string",
        "expected": "an integer of 64 bits",
    }
    assert error["where"].startswith("alpacafarm/alpaca_human_preference.json, record ")
    [file] = contact.entry("alpacafarm-reranking")["files"]
    assert (file["origin"], file["known_by"]) == ("download", "nobody")
    assert file["sha256"] == sha256(damage(published_files()[DAMAGED]))


def test_a_digest_is_new_where_neither_source_nor_lock_file_knew_it_and_of_a_member_that_of_its_archive(
    contact: Contact,
) -> None:
    names = ("beavertails-qa-classification", "cedr-classification", "alpacafarm-reranking")
    pinned, of_archive, unknown = map(contact.entry, names)
    assert {file["known_by"] for file in pinned["files"]} == {"source"}
    assert pinned["lock"] == of_archive["lock"] == {}
    [file] = unknown["files"]
    entry = {"sha256": file["sha256"], "bytes": file["bytes"], "commit": None}
    assert (file["known_by"], unknown["lock"]) == ("nobody", {"alpacafarm/alpaca_human_preference.json": entry})


def test_the_entries_to_commit_are_those_that_the_build_wrote(contact: Contact) -> None:
    ledger = json.loads((contact.folder / "ledger.json").read_text("utf-8"))
    lock = json.loads((contact.folder / "raw.lock.json").read_text("utf-8"))
    entries = contact.report["datasets"].values()
    reported = {name: digest for entry in entries for name, digest in entry["lock"].items()}
    assert {name: {**digest, "commit": None} for name, digest in lock.items()} == reported
    for entry in entries:
        if entry["verified"]:
            assert entry["ledger"] == ledger[entry["dataset"]][entry["version"]]
        else:
            assert entry["dataset"] not in ledger


def test_published_figures_are_compared_line_by_line(contact: Contact) -> None:
    figures = contact.entry("cedr-classification")["figures"]
    assert figures["corrected"] is True, "the newest version corrects the published dataset"
    assert figures["agree"] + figures["differ"] == len(figures["lines"]) > 0
    for line in figures["lines"]:
        if line["ours"] is not None:
            assert line["difference"] == line["ours"] - line["published"]


def test_dropped_rows_and_findings_are_reported_without_examples(contact: Contact) -> None:
    entry = contact.entry("rubq-retrieval")
    assert {"reason": "no paragraph answers the question", "count": 4, "split": "test"} in entry["dropped"]
    keys = {
        key for dataset in contact.report["datasets"].values() for finding in dataset["findings"] for key in finding
    }
    assert keys == {"kind", "severity", "location", "count", "share", "detail", "known"}


def test_the_report_holds_no_row_no_path_of_this_machine_and_no_token(contact: Contact) -> None:
    text = (contact.folder / "outputs" / "build-report.json").read_text("utf-8")
    for secret in (CANARY, str(contact.folder), str(ROOT), TOKEN):
        assert secret not in text
    rows = [
        path
        for name in NAMES
        for path in (GOLDEN / name).rglob("*.jsonl")
        if not path.is_relative_to(GOLDEN / name / "raw")
    ]
    values = {
        value for path in rows for line in path.read_text("utf-8").splitlines() for value in texts(json.loads(line))
    }
    assert len(values) > 100
    assert [value for value in values if json.dumps(value, ensure_ascii=False)[1:-1] in text] == []


def texts(value: Any) -> Iterator[str]:
    """The texts of some length in a row."""
    if isinstance(value, str) and len(value) > 15:
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def test_a_report_is_read_back_as_it_was_written(contact: Contact) -> None:
    path = contact.folder / "outputs" / "build-report.json"
    assert records.encode(typed_report(path)) == path.read_bytes()
    names = reported_names(path)
    assert names == sorted(names)


def reported_names(path: Path) -> list[str]:
    """The datasets of a report with their versions."""
    return [entry.name for entry in typed_report(path).datasets]


def without_time(folder: Path) -> dict[str, Any]:
    return {key: value for key, value in read_report(folder).items() if key != "written_at"}


def test_two_builds_of_the_same_files_write_the_same_report(server: FaultyServer, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert build(server, tmp_path / name, "cedr", "terra").returncode == 0
    assert without_time(tmp_path / "one") == without_time(tmp_path / "two")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_build_that_ends_early_leaves_what_is_known_and_the_next_one_completes_it(
    how: signal.Signals, server: FaultyServer, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    names = ("alpacafarm", "beavertails", "cedr")  # the catalogue's order: cedr, alpacafarm, beavertails
    assert build(server, whole, *names).returncode == 0
    before = len(server.log)
    server.fail(path_of("beavertails", "round0/30k/test.jsonl.gz"), Fault(stall_after=10))
    process = start_build(server, tmp_path, *names)
    server.wait_for_requests(before + 4)  # cedr's archive, alpacafarm's file, beavertails' train and test
    process.send_signal(how)
    _, stderr = process.communicate()
    server.release.set()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "3 datasets: 2 built, 1 not reached\n  not reached  beavertails-qa-classification@2.0.0" in stderr
    early = read_report(tmp_path)
    assert early["complete"] is False
    assert {name: entry["state"] for name, entry in early["datasets"].items()} == {
        "alpacafarm-reranking": "built",
        "beavertails-qa-classification": "pending",
        "cedr-classification": "built",
    }
    assert build(server, tmp_path, *names).returncode == 0
    resumed, expected = without_time(tmp_path), without_time(whole)
    assert resumed["complete"] is True
    assert resumed["datasets"]["cedr-classification"]["state"] == "up to date"
    # Built again, because the digest that was new to the first build is in the lock file now.
    assert resumed["datasets"]["alpacafarm-reranking"]["verified"] is True
    for entry in (*resumed["datasets"].values(), *expected["datasets"].values()):
        del entry["state"], entry["verified"]
    assert resumed == expected, "files that the first build downloaded are still marked as new"


def test_datasets_that_are_up_to_date_are_reported_by_their_manifests_and_statistics(
    server: FaultyServer, tmp_path: Path
) -> None:
    build(server, tmp_path, "terra", "rubq")
    first = read_report(tmp_path)["datasets"]
    process = build(server, tmp_path, "terra", "rubq")
    second = read_report(tmp_path)["datasets"]
    assert "3 datasets: 3 up to date" in process.stderr
    assert {entry.pop("state") for entry in first.values()} == {"built"}
    assert {entry.pop("state") for entry in second.values()} == {"up to date"}
    assert second == first, "what the first build fetched stays in the report"
    [statistics] = tmp_path.glob("outputs/terra-pairclassification/*/statistics.json")
    statistics.write_text("{")
    process = build(server, tmp_path, "terra", "rubq")
    assert process.returncode == 0, process.stderr
    third = read_report(tmp_path)["datasets"]["terra-pairclassification"]
    assert third["figures"] == first["terra-pairclassification"]["figures"] is not None, (
        "its statistics are written again"
    )


def test_a_defect_in_a_builder_does_not_stop_the_others(server: FaultyServer, tmp_path: Path) -> None:
    process = build(server, tmp_path, "cedr", "terra", defect="cedr-classification")
    assert process.returncode == 1
    assert "ZeroDivisionError: a row of data" in process.stderr, "the traceback is for this terminal"
    assert "cedr-classification@4.0.0: unexpected ZeroDivisionError" in process.stderr
    report = read_report(tmp_path)["datasets"]
    assert report["terra-pairclassification"]["state"] == "built"
    [error] = report["cedr-classification"]["errors"]
    assert (error["kind"], error["what"]) == ("DatasetError", "cedr-classification@4.0.0: unexpected ZeroDivisionError")
    assert error["where"].startswith("pipelines/release/writing.py, line ")
    assert "a row of data" not in str(error)


def test_builds_of_other_datasets_and_versions_add_to_the_report(server: FaultyServer, tmp_path: Path) -> None:
    build(server, tmp_path, "rubq")
    build(server, tmp_path, "rubq@1.0.0")
    assert reported_names(tmp_path / "outputs" / "build-report.json") == [
        "rubq-reranking@1.0.0",
        "rubq-reranking@2.0.0",
        "rubq-retrieval@1.0.0",
        "rubq-retrieval@2.0.0",
    ]


def test_one_dataset_has_a_report_only_where_one_is_requested(server: FaultyServer, tmp_path: Path) -> None:
    process = build(server, tmp_path, "terra")
    assert process.returncode == 0
    assert "datasets:" not in process.stderr
    assert not (tmp_path / "outputs" / "build-report.json").exists()
    build(server, tmp_path, "terra", "--report", str(tmp_path / "sent" / "terra.json"))
    assert reported_names(tmp_path / "sent" / "terra.json") == ["terra-pairclassification@1.0.0"]


def test_a_build_from_golden_samples_has_a_report_only_where_one_is_requested(tmp_path: Path) -> None:
    process = run("build", "rubq", "--sample", "--output", str(tmp_path), "--jobs", "2")
    assert "2 datasets: 2 built" in process.stderr
    assert not (tmp_path / "build-report.json").exists()
    path = tmp_path / "r.json"
    run("build", "rubq", "terra", "--sample", "--output", str(tmp_path), "--report", str(path), "--jobs", "2")
    report = typed_report(path)
    assert [(entry.sample, entry.files, entry.ledger, entry.figures) for entry in report.datasets] == [
        (True, (), None, None)
    ] * 3


def test_parallel_jobs_report_the_errors_of_raw_files_whole(tmp_path: Path) -> None:
    for source in ("terra", "piqa"):
        shutil.copytree(GOLDEN / source / "raw", tmp_path / "raw" / source)
    options = ["--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"), "--offline", "--jobs", "2"]
    process = run("build", "terra", "piqa-retrieval", *options, "--output", str(tmp_path / "outputs"))
    assert process.returncode == 3
    error = read_report(tmp_path)["datasets"]["terra-pairclassification"]["errors"][0]
    assert error["where"] == "<raw-dir>/terra/val.jsonl"
    assert sha256((GOLDEN / "terra/raw/val.jsonl").read_bytes()) in error["found"]


def test_an_invalid_lock_file_fails_every_dataset_and_is_reported(server: FaultyServer, tmp_path: Path) -> None:
    (tmp_path / "raw.lock.json").write_text("[]")
    process = build(server, tmp_path, "alpacafarm", "cedr")
    assert process.returncode == 3
    assert "Traceback" not in process.stderr
    errors = [entry["errors"][0] for entry in read_report(tmp_path)["datasets"].values()]
    assert [error["what"] for error in errors] == ["the lock file of raw files is invalid"] * 2


def test_a_wrong_option_leaves_no_report(tmp_path: Path) -> None:
    process = run("build", "rubq", "--splits", "tset", "--output", str(tmp_path / "outputs"))
    assert process.returncode == 2
    assert "2 datasets: 2 failed" in process.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}", "missing required field `format`"),
        (b"my notes", "malformed"),
        (b'{"format": 99}', "format 99"),
        (b'{"format": 1, "complete": 1}', "$.complete"),
    ],
    ids=["an object", "a text", "a later format", "a wrong type"],
)
def test_a_file_that_is_not_a_report_is_not_replaced(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    process = run("build", "rubq", "--sample", "--output", str(tmp_path / "out"), "--report", str(path))
    assert process.returncode == 1
    assert words in process.stderr
    assert "Traceback" not in process.stderr
    assert path.read_bytes() == content
    assert not (tmp_path / "out").exists()


def test_the_schema_in_the_documentation_is_generated_from_the_records() -> None:
    generated = json.dumps(records.schema(), indent=2, ensure_ascii=False) + "\n"
    path = ROOT / "docs" / "build-report.schema.json"
    assert path.read_text("utf-8") == generated, (
        "python -m pipelines.build_report.records > docs/build-report.schema.json"
    )
