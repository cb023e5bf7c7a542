"""A build report taken over: its digests into the lock file, its versions into the ledger."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import catalogue
from builders.errors import UsageError
from pipelines import accept as command
from pipelines.build_report import records
from pipelines.raw.pins import LockEntry
from tests.support.faulty_server import FaultyServer
from tests.support.first_contact import build, published_files, typed_report
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
    entry = replace(report.datasets[0], **changes)
    path.write_bytes(records.encode(replace(report, datasets=(entry,))))
    return path


def contents(checkout: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The lock file and the ledger."""
    return json.loads((checkout / "raw.lock.json").read_text()), json.loads((checkout / "ledger.json").read_text())


def test_an_installed_package_takes_a_report_over_only_into_files_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.process.installation.is_checkout", lambda: False)
    for named in ([], ["--lock", "mine.json"], ["--ledger", "mine.json"]):
        monkeypatch.setattr(sys, "argv", ["accept", str(tmp_path / "report.json"), *named])
        with pytest.raises(UsageError, match="an installed package keeps its lock file and ledger"):
            command.main()


def test_new_digests_and_the_versions_built_from_them_are_added(sent: Path, checkout: Path) -> None:
    alpacafarm = typed_report(sent).datasets[0]
    assert alpacafarm.ledger is not None
    process = accept(sent, checkout)
    assert process.returncode == 0, process.stderr
    lock, ledger = contents(checkout)
    assert lock[NAME] == {"sha256": alpacafarm.lock[NAME].sha256, "bytes": alpacafarm.lock[NAME].bytes}
    assert set(lock) == {NAME, "cedr/main.zip"}
    assert list(ledger) == ["alpacafarm-reranking"]
    assert ledger["alpacafarm-reranking"]["2.0.0"]["content_sha256"] == alpacafarm.ledger.content_sha256
    assert "added: 2 to raw.lock.json, 1 to ledger.json" in process.stdout
    words = "not for the ledger: cedr/main/train.jsonl is not the file that this checkout pins"
    assert f"cedr-classification@3.0.0: {words}" in process.stdout
    assert "added: 0 to raw.lock.json, 0 to ledger.json" in accept(sent, checkout).stdout, (
        "a second time changes nothing"
    )


def test_a_dry_run_and_a_name_limit_what_is_written(sent: Path, checkout: Path) -> None:
    dry = accept(sent, checkout, "--dry-run")
    assert "would add: 2 to raw.lock.json" in dry.stdout
    assert contents(checkout) == ({}, {})
    assert "added: 1 to raw.lock.json" in accept(sent, checkout, "cedr").stdout
    lock, ledger = contents(checkout)
    assert (list(lock), ledger) == (["cedr/main.zip"], {})


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
    assert "alpacafarm-reranking@2.0.0: not for the ledger: " in process.stdout
    assert words[change] in process.stdout
    assert contents(checkout)[1] == {}


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
