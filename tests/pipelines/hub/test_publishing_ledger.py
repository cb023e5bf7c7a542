"""What the ledger says about published versions, and what it forbids."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from builders.errors import ReleaseError
from pipelines.hub import client
from pipelines.hub.planning import PublishOptions, publication_ledger
from pipelines.hub.publishing import require_record
from pipelines.make import BuildSettings, make
from pipelines.raw.requests import HUB
from pipelines.release import folder, ledger
from pipelines.release.ledger import LedgerEntry, LedgerTable, RefEvent
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    TERRA,
    Versions,
    refused,
    with_manifest,
)
from tests.support.releases import as_full, definition_of, other_golden


@pytest.fixture
def full(settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildSettings:
    """Settings with which golden raw files pass for the complete real ones."""
    return as_full(settings, tmp_path, monkeypatch)


@pytest.fixture
def complete(hub: LoopbackHub, options: PublishOptions, full: BuildSettings) -> Versions:
    """TERRa, built with them."""
    dataset = definition_of(TERRA)
    with_ledger = replace(options, sample=False, ledger=full.ledger)
    return Versions(hub, with_ledger, dataset, {"1.0.0": make(dataset, "1.0.0", full)})


def recorded(beside: Path | None) -> dict[str, str | None]:
    """The commit that the record has for version 1.0.0, by repository."""
    assert beside is not None
    return {repo: tags["v1.0.0"].commit for repo, tags in ledger.expected_refs(TERRA, beside).items()}


def hub_commit(hub: LoopbackHub) -> dict[str, str]:
    """The commit that the tag of version 1.0.0 is on, by repository."""
    return {REPO: hub.repos[REPO].tags["v1.0.0"]}


def test_a_version_recorded_as_published_is_not_replaced_even_with_force(
    hub: LoopbackHub,
    complete: Versions,
    settings: BuildSettings,
    full: BuildSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = complete.outcomes["1.0.0"]
    complete.publish("1.0.0")
    entry = json.loads(settings.ledger.read_text())[TERRA]["1.0.0"]
    assert ledger.find_entry(TERRA, "1.0.0", settings.ledger) == ledger.ledger_entry(outcome.manifest)
    assert recorded(settings.ledger) == hub_commit(hub)
    again = make(definition_of(TERRA), "1.0.0", replace(full, force=True))
    assert again.manifest.content_sha256 == outcome.manifest.content_sha256
    assert json.loads(settings.ledger.read_text())[TERRA]["1.0.0"] == entry, "a new build must not change the entry"
    changed = as_full(replace(full, golden=other_golden(tmp_path / "golden")), tmp_path, monkeypatch)
    for force in (False, True):
        with pytest.raises(ReleaseError, match="would get other rows than before") as caught:
            make(definition_of(TERRA), "1.0.0", replace(changed, force=force))
        assert caught.value.where == f"published as {REPO}"
        assert "--force" not in str(caught.value)
    assert folder.read_manifest(outcome.release_dir) == again.manifest


def test_rows_that_differ_from_the_ledger_are_not_published(
    hub: LoopbackHub, complete: Versions, settings: BuildSettings
) -> None:
    entries = json.loads(settings.ledger.read_text())
    entries[TERRA]["1.0.0"]["content_sha256"] = "0" * 64
    settings.ledger.write_text(json.dumps(entries))
    complete.refuse("1.0.0", "not those in the ledger")
    assert hub.repos == {}


def test_a_version_from_unverified_files_carries_a_note_and_enters_the_ledger_when_published(
    options: PublishOptions, terra: Versions, tmp_path: Path, hub: LoopbackHub
) -> None:
    outcome = terra.outcomes["1.0.0"]
    complete = with_manifest(outcome, tmp_path)
    assert ledger.ledger_entry(complete.manifest) is None
    assert terra.publish(complete, sample=False).plan.notes == ("unverified raw file: val.jsonl",)
    manifest = outcome.manifest
    tables = [LedgerTable(table.config, table.split, table.rows, table.content_sha256) for table in manifest.tables]
    assert ledger.find_entry(TERRA, "1.0.0", options.ledger) == LedgerEntry(
        manifest.content_sha256, tuple(tables), {"val.jsonl": manifest.raw[0].sha256}
    )
    assert recorded(options.ledger) == hub_commit(hub)


def test_a_published_version_that_is_not_recorded_yet_is_recorded_when_it_is_found(
    hub: LoopbackHub, complete: Versions, settings: BuildSettings
) -> None:
    complete.publish("1.0.0")
    settings.ledger.unlink()
    ledger.record_file(TERRA, settings.ledger).unlink()
    assert complete.publish("1.0.0").state == "already published"
    assert ledger.find_entry(TERRA, "1.0.0", settings.ledger) is not None
    [event] = ledger.read_events(TERRA, settings.ledger)
    assert (event.event, event.repo, event.commit) == ("observed", REPO, hub.repos[REPO].tags["v1.0.0"])


@pytest.mark.parametrize("content", ["{}", '{"repo": "org/x", "tag": "v1.0.0", "commit": "main"}', "[", "\xff"])
def test_a_damaged_record_is_an_error_that_names_the_line(tmp_path: Path, content: str) -> None:
    beside = tmp_path / "ledger.json"
    assert ledger.append_event(TERRA, RefEvent(REPO, "v1.0.0", "a" * 40, "publish", "first", "b" * 64), beside)
    path = tmp_path / "refs" / f"{TERRA}.jsonl"
    path.write_bytes(path.read_bytes() + content.encode("latin-1") + b"\n")
    with pytest.raises(ReleaseError, match="damaged record of refs") as caught:
        ledger.expected_refs(TERRA, beside)
    assert caught.value.where == f"{path}:2"


def test_the_last_event_of_a_tag_counts_and_no_line_is_rewritten(tmp_path: Path) -> None:
    beside = tmp_path / "ledger.json"
    for commit, event in (("a" * 40, "publish"), ("c" * 40, "restore")):
        ledger.append_event(TERRA, RefEvent(REPO, "v1.0.0", commit, event, "why", "b" * 64), beside)  # type: ignore[arg-type]
    before = (tmp_path / "refs" / f"{TERRA}.jsonl").read_bytes()
    assert ledger.expected_refs(TERRA, beside)[REPO]["v1.0.0"].commit == "c" * 40
    ledger.append_event(TERRA, RefEvent(REPO, "v1.0.0", None, "repair", "renamed"), beside)
    assert ledger.expected_refs(TERRA, beside) == {}
    assert ledger.find_repositories(TERRA, "1.0.0", beside) == ()
    after = (tmp_path / "refs" / f"{TERRA}.jsonl").read_bytes()
    assert after.startswith(before)
    first = json.loads(after.splitlines()[0])
    assert {name: first[name] for name in first if name != "when"} == {
        "repo": REPO, "tag": "v1.0.0", "commit": "a" * 40, "event": "publish", "why": "why", "content_sha256": "b" * 64,
    }  # fmt: skip


def test_an_event_is_recorded_as_a_whole_line_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, path = tmp_path / "ledger.json", tmp_path / "refs" / f"{TERRA}.jsonl"
    first = RefEvent(REPO, "v1.0.0", "a" * 40, "publish", "first", "b" * 64)
    ledger.append_event(TERRA, first, beside)
    path.write_bytes(before := path.read_bytes().rstrip(b"\n"))  # as some editors leave it
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", Mock(side_effect=OSError(errno.ENOSPC, "the disk is full")))
        with pytest.raises(OSError, match="full"):
            ledger.append_event(TERRA, replace(first, tag="v2.0.0"), beside)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before
    ledger.append_event(TERRA, replace(first, tag="v2.0.0"), beside)
    assert path.read_bytes().startswith(before + b"\n")
    assert [event.tag for event in ledger.read_events(TERRA, beside)] == ["v1.0.0", "v2.0.0"]


def test_publishing_is_refused_where_nothing_can_record_it(hub: LoopbackHub, options: PublishOptions) -> None:
    connection = client.connect(endpoint=hub.url)
    error = refused("nowhere to record what is published", require_record, connection, replace(options, ledger=None))
    assert error.found == "HF_ENDPOINT is not the Hub"
    assert "--no-record" in (error.todo or "")
    require_record(connection, replace(options, ledger=None, record=False))
    require_record(connection, options)


@pytest.mark.parametrize(
    ("endpoint", "requested", "expected"),
    [
        (HUB, None, ledger.LEDGER),
        (f"{HUB}/", None, ledger.LEDGER),
        (f"{HUB}.example.org", None, None),
        ("http://127.0.0.1:9", None, None),
        ("http://127.0.0.1:9", Path("mine.json"), Path("mine.json")),
        (HUB, Path("mine.json"), Path("mine.json")),
    ],
)
def test_only_the_hub_is_recorded_in_the_ledger_of_this_package(
    endpoint: str, requested: Path | None, expected: Path | None
) -> None:
    assert publication_ledger(client.connect(endpoint=endpoint), requested) == expected
