"""Build every version of every dataset from its golden sample and compare each table with the expected rows.

tests/golden/<source>/raw/                                         the sample, written by hand in the real raw format
tests/golden/<source>/<dataset>/<version>/<config>.<split>.jsonl   the expected rows
tests/golden/<source>/<dataset>/<version>/counts.json              content hash, dropped rows, observed counts

`pytest --update-golden` rewrites the expected files and prints the changes; review them before you commit.
"""

import difflib
import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from builders.tasks import Classification
from pipelines.make import GOLDEN, BuildResult
from pipelines.release import folder
from tests.support.releases import NAMES, definition_of


def expected_files(outcome: BuildResult) -> dict[str, str]:
    """Return the expected files of a golden release: content by file name."""
    files = {}
    for config, splits in folder.scan_tables(outcome.release_dir, outcome.manifest.tables).items():
        for split, frame in splits.items():
            rows = frame.collect().iter_rows(named=True)
            files[f"{config}.{split}.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    manifest = outcome.manifest
    counts: dict[str, Any] = {
        "content_sha256": manifest.content_sha256,
        "dropped": [asdict(dropped) for dropped in manifest.dropped],
        "observed": manifest.observed,
    }
    files["counts.json"] = json.dumps(counts, ensure_ascii=False, indent=2) + "\n"
    return files


def read_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*"))} if folder.is_dir() else {}


def diff_files(before: dict[str, str], after: dict[str, str]) -> str:
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = (side.get(name, "").split("\n") for side in (before, after))
        lines += difflib.unified_diff(old, new, f"expected {name}", f"built {name}", lineterm="", n=1)
    return "\n".join(lines)


# 30 configs, four seconds a version: the first version and the newest are built in CI.
SLOW = {("medi-contrastive", "1.1.0"), ("medi-contrastive", "2.0.0")}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        pytest.param(name, version, marks=pytest.mark.slow if (name, version) in SLOW else ())
        for name in NAMES
        for version in definition_of(name).dataset.versions
    ],
)
def test_the_golden_sample_builds_the_expected_rows(
    name: str, version: str, golden_release: Callable[..., BuildResult], request: pytest.FixtureRequest
) -> None:
    folder = GOLDEN / definition_of(name).source.name / name / version
    files, current = expected_files(golden_release(name, version)), read_files(folder)
    changes = diff_files(current, files)
    if changes and request.config.getoption("--update-golden"):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in current.keys() - files.keys():
            (folder / stale).unlink()
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{name}@{version}: rewritten\n{changes}")
        return
    assert not changes, f"{changes}\n\nIf this change is intended, run pytest --update-golden and review its output."


def test_a_sample_with_more_than_two_labels_has_more_than_two_in_every_split() -> None:
    """Else mteb takes the task for binary."""
    for definition in map(definition_of, NAMES):
        if not isinstance(definition.dataset.task, Classification) or len(definition.dataset.task.labels) == 2:
            continue
        for path in sorted((GOLDEN / definition.source.name / definition.dataset.name).glob("*/default.*.jsonl")):
            assert len({json.loads(line)["label"] for line in path.read_text("utf-8").splitlines()}) > 2, path


def expected_rows(name: str, version: str) -> dict[str, str]:
    files = read_files(GOLDEN / definition_of(name).source.name / name / version)
    return {file: text for file, text in files.items() if file != "counts.json"}


@pytest.mark.parametrize("name", NAMES)
def test_no_two_versions_have_the_same_rows_so_the_sample_shows_what_each_version_does(name: str) -> None:
    versions = sorted(definition_of(name).dataset.versions)
    equal = [pair for pair in combinations(versions, 2) if expected_rows(name, pair[0]) == expected_rows(name, pair[1])]
    assert not equal, "add records to the golden sample on which these versions differ"
