"""A build report taken over: its digests into the lock file, its versions into the ledger."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import catalogue
from pipelines import accept as command
from pipelines.build_report import records
from pipelines.build_report.records import DatasetReport
from pipelines.raw.pins import LockEntry
from pipelines.release.fingerprint import recipe_sha256
from tests.support.faulty_server import FaultyServer
from tests.support.first_contact import build, published_files, typed_report
from tests.support.paths import ROOT
from tests.support.processes import run

NAME = "alpacafarm/alpaca_human_preference.json"


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report from golden files: of alpacafarm, whose file nobody pins, and of a source that pins other files."""
    folder = tmp_path_factory.mktemp("sent")
    with FaultyServer(published_files()) as server:
        process = build(server, folder, "alpacafarm", "cedr")
    assert process.returncode == 0, process.stderr
    return folder / "outputs" / "build-report.json"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with an empty lock file and an empty ledger."""
    for name in ("raw.lock.json", "ledger.json"):
        (tmp_path / name).write_text("{}\n")
    return tmp_path


def accept(report: Path, checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = ["--lock", str(checkout / "raw.lock.json"), "--ledger", str(checkout / "ledger.json")]
    return run("accept", str(report), *arguments, *files)


def altered(sent: Path, folder: Path, **changes: Any) -> Path:
    """A report with the first dataset of another, changed."""
    report, path = typed_report(sent), folder / "report.json"
    path.write_bytes(records.encode(replace(report, datasets=(replace(report.datasets[0], **changes),))))
    return path


def contents(checkout: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The lock file and the ledger."""
    return json.loads((checkout / "raw.lock.json").read_text()), json.loads((checkout / "ledger.json").read_text())


def test_an_installed_package_takes_a_report_over_only_into_files_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.process.installation.is_checkout", lambda: False)
    for named in ([], ["--lock", "mine.json"], ["--ledger", "mine.json"]):
        process = run("accept", str(tmp_path / "report.json"), *named)
        assert process.returncode == 2
        assert "an installed package keeps its lock file and ledger" in process.stderr


def test_new_digests_and_the_versions_built_from_them_are_added(sent: Path, checkout: Path) -> None:
    alpacafarm = typed_report(sent).datasets[0]
    assert alpacafarm.ledger is not None
    process = accept(sent, checkout)
    assert process.returncode == 0, process.stderr
    lock, ledger = contents(checkout)
    assert lock[NAME] == {"sha256": alpacafarm.lock[NAME].sha256, "bytes": alpacafarm.lock[NAME].bytes}
    assert set(lock) == {NAME}, "cedr was built from other files than those that are pinned: its archive is unknown too"
    assert list(ledger) == ["alpacafarm-reranking"]
    assert ledger["alpacafarm-reranking"]["2.0.0"]["content_sha256"] == alpacafarm.ledger.content_sha256
    assert "added: 1 to raw.lock.json, 1 to ledger.json" in process.stdout
    assert (
        f"raw.lock.json: {NAME}, {alpacafarm.lock[NAME].bytes:,} bytes\n  {alpacafarm.lock[NAME].sha256}\n"
        in process.stdout
    )
    assert f"alpacafarm-reranking@2.0.0, 1 raw files\n  {alpacafarm.ledger.content_sha256}\n" in process.stdout
    words = "nothing is taken: cedr/main/train.jsonl is not the file that this checkout pins"
    assert f"cedr-classification@4.0.0: {words}" in process.stdout
    assert "added: 0 to raw.lock.json, 0 to ledger.json" in accept(sent, checkout).stdout, (
        "a second time changes nothing"
    )


def test_a_dry_run_and_a_name_limit_what_is_written(sent: Path, checkout: Path) -> None:
    assert "would add: 1 to raw.lock.json" in accept(sent, checkout, "--dry-run").stdout
    assert contents(checkout) == ({}, {})
    assert "added: 0 to raw.lock.json, 0 to ledger.json" in accept(sent, checkout, "cedr").stdout
    assert contents(checkout) == ({}, {})


def test_of_many_datasets_a_line_each_and_counts_are_shown_and_all_with_v(
    sent: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "FEW", 1)
    brief = accept(sent, checkout, "--dry-run").stdout
    assert re.search(r"^cedr-classification@4.0.0 +built +2 of 2 +0 +not compared$", brief, re.MULTILINE)
    assert brief.endswith(
        "\n1 datasets: nothing is taken\nwould add: 1 to raw.lock.json, 1 to ledger.json; -v shows all\n"
    )
    full = accept(sent, checkout, "--dry-run", "-v").stdout
    assert "cedr-classification@4.0.0: nothing is taken: cedr/main/train.jsonl is not" in full
    assert full.endswith("\nwould add: 1 to raw.lock.json, 1 to ledger.json\n")


@pytest.mark.parametrize("where", ["raw.lock.json", "ledger.json"])
def test_a_digest_or_rows_that_differ_are_an_error_and_nothing_is_written(
    where: str, sent: Path, checkout: Path
) -> None:
    accept(sent, checkout, "alpacafarm")
    path = checkout / where
    key = "sha256" if where == "raw.lock.json" else "content_sha256"
    content = json.loads(path.read_text())
    record = content[NAME] if where == "raw.lock.json" else content["alpacafarm-reranking"]["2.0.0"]
    record[key] = "0" * 64
    path.write_text(json.dumps(content))
    before = contents(checkout)
    process = accept(sent, checkout)
    assert process.returncode == 1
    assert "does not agree with this checkout" in process.stderr
    assert f"expected: {'0' * 64}" in process.stderr
    assert contents(checkout) == before


@pytest.mark.parametrize("change", ["recipe", "unknown digest"])
def test_a_version_that_cannot_be_built_again_stays_out_of_the_ledger(
    change: str, sent: Path, checkout: Path, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {"recipe": {"recipe_sha256": "0" * 64}, "unknown digest": {"lock": {}}}
    words = {"recipe": "another state of the recipe", "unknown digest": f"{NAME} has no known digest: pin sha256 "}
    process = accept(altered(sent, tmp_path, **changes[change]), checkout)
    assert "alpacafarm-reranking@2.0.0: n" in process.stdout
    assert words[change] in process.stdout
    assert contents(checkout)[1] == {}


# Reports that say what no build says. Each is forged in one place, or consistently in several.
ZEROS = "0" * 64


def forged(entry: DatasetReport) -> dict[str, tuple[DatasetReport, str]]:
    """A forged entry by what is forged, each with the words of the refusal."""
    assert entry.ledger is not None
    ledger, [file], [table, *others] = entry.ledger, entry.files, entry.ledger.tables
    other_table = replace(table, content_sha256=ZEROS)
    return {
        "no files": (replace(entry, files=()), "names 0 raw files, and the version needs 1"),
        "one file more": (replace(entry, files=(file, replace(file, name="x/y"))), "names 2 raw files"),
        "a file twice": (replace(entry, files=(file, file)), "names 2 raw files"),
        "a path upward": (replace(entry, files=(replace(file, name="../../ledger.json"),)), "see ../../ledger.json"),
        "a file that was not there": (replace(entry, files=(replace(file, sha256=None),)), "was not there"),
        "failed": (replace(entry, state="failed"), "it was not built: failed"),
        "a sample": (replace(entry, sample=True), "a sample"),
        "a part": (replace(entry, partial=True), "is a part, and has a ledger entry"),
        "another source": (replace(entry, source="rubq"), "the report takes it from rubq"),
        "no such version": (replace(entry, version="9.9.9"), "does not have the version"),
        "the hash of the rows": (replace(entry, content_sha256=ZEROS), "has two content hashes"),
        "the hash in the ledger": (replace(entry, ledger=replace(ledger, content_sha256=ZEROS)), "has two content hashes"),
        "both hashes": (
            replace(entry, content_sha256=ZEROS, ledger=replace(ledger, content_sha256=ZEROS)), "not that of its tables",
        ),
        "the hash of a table": (replace(entry, ledger=replace(ledger, tables=(other_table, *others))), "not that of its tables"),
        "a table twice": (replace(entry, ledger=replace(ledger, tables=(table, *ledger.tables))), "two tables of one name"),
        "the number of rows": (
            replace(entry, ledger=replace(ledger, tables=(replace(table, rows=table.rows + 1), *others))), "two numbers of rows",
        ),
        "the raw files": (replace(entry, ledger=replace(ledger, raw={})), "differ from those of its ledger entry"),
        "a raw digest": (
            replace(entry, ledger=replace(ledger, raw=dict.fromkeys(ledger.raw, ZEROS))), "differ from those of its ledger entry",
        ),
        "a lock digest": (replace(entry, lock={NAME: LockEntry(ZEROS, entry.lock[NAME].bytes)}), "two digests or sizes"),
        "a lock size": (replace(entry, lock={NAME: LockEntry(entry.lock[NAME].sha256, 1)}), "two digests or sizes"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def forgeries(sent: Path) -> dict[str, tuple[DatasetReport, str]]:
    return forged(typed_report(sent).datasets[0])


@pytest.mark.parametrize("what", [
    "no files", "one file more", "a file twice", "a path upward", "a file that was not there", "failed", "a sample", "a part",
    "another source", "no such version", "the hash of the rows", "the hash in the ledger", "both hashes", "the hash of a table",
    "a table twice", "the number of rows", "the raw files", "a raw digest", "a lock digest", "a lock size",
])  # fmt: skip
def test_nothing_of_a_forged_report_is_taken(
    what: str,
    forgeries: dict[str, tuple[DatasetReport, str]],
    sent: Path,
    checkout: Path,
    tmp_path: Path,
) -> None:
    entry, words = forgeries[what]
    path = tmp_path / "forged.json"
    path.write_bytes(records.encode(replace(typed_report(sent), datasets=(entry,))))
    process = accept(path, checkout)
    assert words in process.stdout + process.stderr
    assert contents(checkout) == ({}, {})
    assert len(forgeries) == 20


def test_a_report_is_taken_only_after_a_build_with_the_same_rows(sent: Path, checkout: Path, tmp_path: Path) -> None:
    """The rows of the report are those of the golden file; a raw file with a record less gives others."""
    raw = tmp_path / "raw" / NAME
    raw.parent.mkdir(parents=True)
    golden = (ROOT / "tests" / "golden" / "alpacafarm" / "raw" / "alpaca_human_preference.json").read_bytes()
    raw.write_bytes(golden)
    rebuild = ("alpacafarm", "--rebuild", "--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"))
    raw.write_bytes(golden + b"\n")
    process = accept(sent, checkout, *rebuild)
    assert (process.returncode, contents(checkout)) == (1, ({}, {}))
    assert "built from other raw files here" in process.stderr
    raw.unlink()
    assert accept(sent, checkout, *rebuild).returncode == 3, "the raw file is missing"
    assert contents(checkout) == ({}, {})
    raw.write_bytes(golden)
    process = accept(sent, checkout, *rebuild)
    assert process.returncode == 0, process.stderr
    assert list(contents(checkout)[1]) == ["alpacafarm-reranking"]


def test_only_raw_files_that_the_catalogue_does_not_pin_enter_the_lock_file(
    sent: Path, checkout: Path, tmp_path: Path
) -> None:
    pinned = catalogue.load(catalogue.entries()["terra-pairclassification"]).source.files["val"]
    planted = {
        "terra/TERRa.zip": LockEntry("0" * 64, 1),
        "terra/val.jsonl": LockEntry("0" * 64, 1),
        "x/y": LockEntry("0" * 64, 1),
    }
    assert pinned.sha256
    terra = {"dataset": "terra-pairclassification", "version": "1.0.0", "source": "terra"}
    path = altered(sent, tmp_path, **terra, lock=planted, ledger=None)
    assert "added: 0 to raw.lock.json" in accept(path, checkout).stdout
    assert contents(checkout) == ({}, {})


def test_the_index_that_training_sets_were_built_with_gets_one_entry_for_all(
    sent: Path, checkout: Path, tmp_path: Path
) -> None:
    def trained(name: str, data: str, index: str) -> DatasetReport:
        definition = catalogue.load(catalogue.entries()[f"{name}-contrastive"])
        source = definition.source.name
        digests = {f"{source}/{data}": "1" * 64, f"{source}/benchmark-index.parquet": index * 64}
        files = tuple(replace(file, name=key, sha256=digest, bytes=7) for key, digest in digests.items())
        recipe = recipe_sha256(definition.entry.module)
        changes: dict[str, Any] = {
            "source": source,
            "files": files,
            "recipe_sha256": recipe,
            "lock": {},
            "ledger": None,
        }
        return replace(entry, dataset=f"{name}-contrastive", version="1.0.0", **changes)

    [file], entry = typed_report(sent).datasets[0].files, typed_report(sent).datasets[0]
    path = tmp_path / "report.json"
    sets = [trained("ru-wanli", "data/train.parquet", "a"), trained("query2doc", "train.jsonl", "b")]
    path.write_bytes(records.encode(replace(typed_report(sent), datasets=tuple(sets))))
    process = accept(path, checkout)
    assert process.returncode == 1
    assert "benchmark-index.parquet had other bytes for query2doc-contrastive@1.0.0" in process.stderr
    assert accept(path, checkout, "ru-wanli").returncode == 0
    assert contents(checkout)[0] == {"benchmark-index.parquet": {"sha256": "a" * 64, "bytes": 7}}
    assert accept(path, checkout, "query2doc").returncode == 1, "another index gives another version"
