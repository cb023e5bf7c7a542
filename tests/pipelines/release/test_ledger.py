"""The ledger: what it keeps of a version, and damaged files."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from builders.errors import ReleaseError
from pipelines.make import BuildResult
from pipelines.release.ledger import (
    LEDGER,
    LedgerEntry,
    RefEvent,
    append_event,
    expected_refs,
    find_entry,
    find_repositories,
    ledger_entry,
    ledger_part,
    read_events,
    read_ledger,
    read_parts,
    record_entry,
    release_entry,
    status,
)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<<<<<<< HEAD\n{}", "JSON is malformed"),
        (b'{"cedr": {"1.0.0": {"more": ' + b"[" * 100_000, "maximum recursion depth exceeded"),
        (b'{"cedr": {"1.0.0": {"content_sha256": "0"}}}', "$[...].content_sha256"),
        (b'{"\xff": {}}', "utf-8"),
        (
            b'{"cedr": {"1.0.0": {"content_sha256": "%s", "tables": [], "raw": {}, "commits": {"org/cedr": "v1"}}}}'
            % (b"1" * 64),
            "$[...].commits[...]",
        ),
    ],
    ids=["not_json", "nested_deeply", "no_digest", "not_utf8", "no_commit"],
)
def test_a_damaged_ledger_is_an_error_that_names_the_file(tmp_path: Path, content: bytes, found: str) -> None:
    ledger = tmp_path / "ledger.json"
    ledger.write_bytes(content)
    with pytest.raises(ReleaseError, match="damaged ledger") as caught:
        find_entry("cedr", "1.0.0", ledger)
    assert caught.value.where == str(ledger)
    assert found in str(caught.value.found)


def test_the_ledger_of_this_package_keeps_its_bytes_when_it_is_written_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    before = LEDGER.read_bytes()
    entries = json.loads(before)
    dataset, versions = min(entries.items())
    version, last = min(versions.items())
    del versions[version]
    ledger.write_text(json.dumps(entries))
    record_entry(dataset, version, msgspec.convert(last, LedgerEntry), ledger)
    assert ledger.read_bytes() == before


def test_publications_in_a_ledger_of_version_0_2_0_count_and_move_into_the_record(tmp_path: Path) -> None:
    ledger, record = tmp_path / "ledger.json", tmp_path / "refs" / "cedr-classification.jsonl"
    released = {"content_sha256": "1" * 64, "tables": [], "raw": {}}
    published = released | {"published": ["org/cedr"], "commits": {"org/cedr": "a" * 40}}
    ledger.write_text(json.dumps({"cedr-classification": {"1.0.0": published}}))
    assert find_repositories("cedr-classification", "1.0.0", ledger) == ("org/cedr",)
    assert not record.exists()
    record_entry("terra", "1.0.0", msgspec.convert(released, LedgerEntry), ledger)
    assert json.loads(ledger.read_bytes())["cedr-classification"] == {"1.0.0": released}
    [line] = map(json.loads, record.read_text().splitlines())
    assert (line["repo"], line["tag"], line["commit"]) == ("org/cedr", "v1.0.0", "a" * 40)
    assert expected_refs("cedr-classification", ledger)["org/cedr"]["v1.0.0"].event == "observed"


def test_an_event_after_publications_in_a_ledger_of_version_0_2_0_counts_before_and_after_they_move(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "ledger.json"
    released = {"content_sha256": "1" * 64, "tables": [], "raw": {}}
    ledger.write_text(json.dumps({"cedr": {"1.0.0": released | {"commits": {"org/cedr": "a" * 40}}}}))
    append_event("cedr", RefEvent("org/cedr", "v1.0.0", "b" * 40, "repair", "moved"), ledger)
    assert expected_refs("cedr", ledger)["org/cedr"]["v1.0.0"].commit == "b" * 40
    record_entry("terra", "1.0.0", msgspec.convert(released, LedgerEntry), ledger)
    assert [event.commit for event in read_events("cedr", ledger)] == ["a" * 40, "b" * 40]


def test_the_ledger_of_an_installed_package_is_never_written(
    tmp_path: Path, golden_release: Callable[..., BuildResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = golden_release("terra-pairclassification").manifest
    own, other = tmp_path / "ledger.json", tmp_path / "other.json"
    monkeypatch.setattr("pipelines.release.ledger.LEDGER", own)
    monkeypatch.setattr("pipelines.release.ledger.is_checkout", lambda: False)
    assert not record_entry(manifest.dataset, manifest.version, release_entry(manifest), own)
    assert list(tmp_path.iterdir()) == []
    entry = release_entry(manifest)
    assert record_entry(manifest.dataset, manifest.version, entry, other), "a file that the user names is the user's"


def test_what_was_built_of_some_splits_is_a_part_that_blocks_nothing(
    tmp_path: Path, golden_release: Callable[..., BuildResult]
) -> None:
    ledger = tmp_path / "ledger.json"
    sample = golden_release("cedr-classification", "1.0.0").manifest
    whole = replace(sample, sample=False, raw=tuple(replace(file, verified=True) for file in sample.raw))
    part = replace(whole, partial=True, tables=tuple(table for table in whole.tables if table.split == "test"))
    assert status("cedr-classification", ledger) == "golden sample only"
    assert ledger_entry(part) is None
    kept = ledger_part(part)
    assert kept is not None
    assert kept.splits == ("test",)
    assert [table.location for table in kept.tables] == ["default/test"]
    assert record_entry("cedr-classification", "1.0.0", kept, ledger)
    assert not record_entry("cedr-classification", "1.0.0", kept, ledger)
    assert read_ledger(ledger) == {}
    assert status("cedr-classification", ledger) == "verified on a part"

    entry = ledger_entry(whole)
    assert entry is not None
    assert record_entry("cedr-classification", "1.0.0", entry, ledger)
    assert read_parts(ledger) == {"cedr-classification": {"1.0.0": kept}}
    assert status("cedr-classification", ledger) == "verified on complete real files"
    assert list(json.loads(ledger.read_text())) == ["cedr-classification", "parts"]


def test_a_sample_and_files_of_unknown_digest_are_no_part(golden_release: Callable[..., BuildResult]) -> None:
    sample = replace(golden_release("cedr-classification", "1.0.0").manifest, partial=True)
    assert ledger_part(sample) is None
    unknown = replace(sample, sample=False, raw=tuple(replace(file, verified=False) for file in sample.raw))
    assert ledger_part(unknown) is None
