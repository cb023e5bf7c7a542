"""What the ledger says about published versions, and what it forbids."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError, ReleaseError
from pipelines.hub import client
from pipelines.hub.planning import PublishOptions
from pipelines.hub.publishing import publication_ledger
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.raw.requests import HUB
from pipelines.release import folder, ledger
from pipelines.release.ledger import LedgerEntry, LedgerTable
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    TERRA,
    first,
    publish,
    with_manifest,
)
from tests.support.releases import as_full, definition_of, other_golden


def publish_complete(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[BuildSettings, BuildResult]:
    """Build TERRa as if from complete raw files, and publish it."""
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    return full, outcome


def hub_commit(hub: LoopbackHub) -> dict[str, str]:
    """The commit that the tag of version 1.0.0 is on, by repository."""
    return {REPO: hub.repos[REPO].tags["v1.0.0"]}


def test_a_version_recorded_as_published_is_not_replaced_even_with_force(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, outcome = publish_complete(hub, options, settings, tmp_path, monkeypatch)
    entry = json.loads(settings.ledger.read_text())[TERRA]["1.0.0"]
    assert (entry["published"], entry["commits"]) == ([REPO], hub_commit(hub))
    assert ledger.find_entry(TERRA, "1.0.0", settings.ledger) == replace(
        ledger.ledger_entry(outcome.manifest),  # type: ignore[type-var]
        published=(REPO,),
        commits=hub_commit(hub),
    )
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
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = make(definition_of(TERRA), "1.0.0", full)
    entries = json.loads(settings.ledger.read_text())
    entries[TERRA]["1.0.0"]["content_sha256"] = "0" * 64
    settings.ledger.write_text(json.dumps(entries))
    with pytest.raises(PublishError, match="not those in the ledger"):
        publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    assert hub.repos == {}


def test_a_version_from_unverified_files_carries_a_note_and_enters_the_ledger_when_published(
    options: PublishOptions, releases: Any, tmp_path: Path, hub: LoopbackHub
) -> None:
    dataset, outcome = first(releases())
    complete = with_manifest(outcome, tmp_path)
    assert ledger.ledger_entry(complete.manifest) is None
    published = publish(hub, dataset, complete, replace(options, sample=False))
    assert published.plan.notes == ("unverified raw file: val.jsonl",)
    manifest = outcome.manifest
    tables = [LedgerTable(table.config, table.split, table.rows, table.content_sha256) for table in manifest.tables]
    assert ledger.find_entry(TERRA, "1.0.0", options.ledger) == LedgerEntry(
        manifest.content_sha256, tuple(tables), {"val.jsonl": manifest.raw[0].sha256}, (REPO,), hub_commit(hub)
    )


def test_a_published_version_that_is_not_recorded_yet_is_recorded_when_it_is_found(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, outcome = publish_complete(hub, options, settings, tmp_path, monkeypatch)
    settings.ledger.unlink()
    again = publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    assert again.state == "already published"
    entry = ledger.find_entry(TERRA, "1.0.0", settings.ledger)
    assert entry is not None
    assert entry.commits == hub_commit(hub)


def test_a_tag_on_another_commit_than_the_recorded_one_is_a_warning_and_the_record_stays(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    _, outcome = publish_complete(hub, options, settings, tmp_path, monkeypatch)
    before = hub_commit(hub)
    hub.repos[REPO].tags["v1.0.0"] = moved = hub.commit(REPO, {"notes.txt": b"mine"})
    with caplog.at_level("INFO"):
        publish(hub, definition_of(TERRA), outcome, replace(options, sample=False, ledger=settings.ledger))
    entry = ledger.find_entry(TERRA, "1.0.0", settings.ledger)
    assert entry is not None
    assert entry.commits == before
    assert f"is on commit {moved}, and on {before[REPO]} in ledger.json" in caplog.text


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
    connection = client.connect(endpoint=endpoint)
    assert publication_ledger(connection, requested) == expected
