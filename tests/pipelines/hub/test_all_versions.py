"""Versions in any order, taking over and hand edits, as commands."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback_hub import LoopbackHub

Run = Callable[..., subprocess.CompletedProcess[str]]

CEDR = "cedr-classification"
REPO = f"org/{CEDR}"
RECORD = ("--ledger", "trial.json")


def build(run: Run, *versions: str) -> None:
    for version in versions:
        built = run("build", f"{CEDR}@{version}", "--raw-dir", "raw", "--offline")
        assert built.returncode == 0, built.stderr


@pytest.mark.both_hubs
@pytest.mark.slow
def test_cedr_2_0_0_and_then_1_0_0_are_planned_published_and_recorded_and_main_is_2_0_0(
    hub: LoopbackHub, run: Run, work_dir: Path
) -> None:
    build(run, "2.0.0", "1.0.0")
    newest = run("publish", f"{CEDR}@2.0.0", "--org", "org", "--no-record")
    assert newest.returncode == 0, newest.stderr
    assert "missing   not on the Hub yet: 1.0.0, 3.0.0, 4.0.0 (--all-versions)" in newest.stdout
    planned = run("publish", f"{CEDR}@1.0.0", "--org", "org", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "on        branch release-v1.0.0, deleted when tagged: main holds the newer 2.0.0" in planned.stdout
    older = run("publish", f"{CEDR}@1.0.0", "--org", "org", "--json", "--ledger", str(work_dir / "ledger.json"))
    assert older.returncode == 0, older.stderr
    report = json.loads(older.stdout)
    assert (report["state"], report["branch"], report["newest"]) == ("published", "release-v1.0.0", "2.0.0")
    repository = hub.repos[REPO]
    assert repository.branches == {"main": repository.tags["v2.0.0"]}
    [event] = map(json.loads, (work_dir / "refs" / f"{CEDR}.jsonl").read_text().splitlines())
    assert (event["event"], event["commit"]) == ("publish", repository.tags["v1.0.0"])


def test_all_versions_are_published_from_the_oldest_to_the_newest_once_all_are_built(
    hub: LoopbackHub, run: Run
) -> None:
    build(run, "1.0.0", "3.0.0", "4.0.0")
    incomplete = run("publish", "cedr", "--org", "org", "--all-versions", *RECORD)
    assert (incomplete.returncode, incomplete.stdout) == (5, "")
    assert f"build first: embedding-datasets build {CEDR}@2.0.0\n" in incomplete.stderr
    assert hub.repos == {}, "nothing may be published before all versions are built"
    build(run, "2.0.0")
    published = run("publish", "cedr", "--org", "org", "--all-versions", *RECORD)
    assert published.returncode == 0, published.stderr
    assert re.findall(rf"^{CEDR} .*", published.stdout, re.MULTILINE) == [
        f"{CEDR} {version}: published" for version in ("1.0.0", "2.0.0", "3.0.0", "4.0.0")
    ]
    tags = ["v1.0.0", "v2.0.0", "v3.0.0", "v4.0.0"]
    assert [ref for ref, _ in hub.repos[REPO].moves] == ["main", *(ref for tag in tags for ref in ("main", tag))]
    again = run("publish", "cedr", "--org", "org", "--all-versions", *RECORD, "--json")
    assert [json.loads(line)["state"] for line in again.stdout.splitlines()] == ["already published"] * 4


@pytest.mark.both_hubs
def test_a_dry_run_of_all_versions_plans_each_on_top_of_the_one_before(hub: LoopbackHub, run: Run) -> None:
    build(run, "1.0.0", "2.0.0", "3.0.0", "4.0.0")

    def publish(*arguments: str) -> list[dict[str, Any]]:
        done = run("publish", "cedr", "--org", "org", "--all-versions", *RECORD, "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    text = run("publish", "cedr", "--org", "org", "--all-versions", "--dry-run").stdout
    assert text.count("(to be created)") == 1
    assert [line.split()[-1] for line in text.splitlines() if "  against v" in line] == [
        "v1.0.0:",
        "v2.0.0:",
        "v3.0.0:",
    ]
    planned = publish("--dry-run")
    assert hub.repos == {}
    published = publish()
    keys = (
        "version",
        "tag",
        "content_sha256",
        "branch",
        "newest",
        "against",
        "changes",
        "deletes",
        "absent",
        "files",
        "notes",
    )
    for plan, done in zip(planned, published, strict=True):
        assert {key: plan[key] for key in keys} == {key: done[key] for key in keys}
    assert [plan["absent"] for plan in planned] == [
        ["2.0.0", "3.0.0", "4.0.0"], ["3.0.0", "4.0.0"], ["4.0.0"], [],
    ]  # fmt: skip


@pytest.mark.both_hubs
def test_a_dry_run_plans_older_versions_on_their_branches(hub: LoopbackHub, run: Run) -> None:
    build(run, "1.0.0", "2.0.0", "3.0.0", "4.0.0")
    assert run("publish", f"{CEDR}@4.0.0", "--org", "org", "--no-record").returncode == 0
    commits = len(hub.repos[REPO].commits)
    arguments = ["publish", "cedr", "--org", "org", "--all-versions", "--no-record", "--json"]
    planned = [json.loads(line) for line in run(*arguments, "--dry-run").stdout.splitlines()]
    assert len(hub.repos[REPO].commits) == commits
    assert [(plan["branch"], plan["against"], plan["state"]) for plan in planned] == [
        ("release-v1.0.0", None, "to be published"), ("release-v2.0.0", "1.0.0", "to be published"),
        ("release-v3.0.0", "2.0.0", "to be published"), ("main", None, "already published"),
    ]  # fmt: skip
    published = [json.loads(line) for line in run(*arguments).stdout.splitlines()]
    assert [plan["changes"] for plan in planned] == [done["changes"] for done in published]


@pytest.mark.both_hubs
@pytest.mark.slow
def test_after_a_version_that_fails_the_newer_ones_are_not_published(hub: LoopbackHub, run: Run) -> None:
    build(run, "1.0.0", "2.0.0", "3.0.0", "4.0.0")
    hub.before_answer["/tag/"] = lambda: hub.repos[REPO].tags.update({"v1.0.0": hub.repos[REPO].moves[0][1]})
    failed = run("publish", "cedr", "--org", "org", "--all-versions", *RECORD)
    assert failed.returncode == 5
    assert "published with other content" in failed.stderr
    assert f"{CEDR}@2.0.0: not published, because an older version was not" in failed.stderr
    assert f"{CEDR}@4.0.0: not published, because an older version was not" in failed.stderr
    assert hub.repos[REPO].tags.keys() == {"v1.0.0"}


@pytest.mark.both_hubs
@pytest.mark.slow
def test_taking_over_and_hand_edits_as_commands(hub: LoopbackHub, run: Run) -> None:
    build(run, "1.0.0", "2.0.0")
    first = ("publish", f"{CEDR}@1.0.0", "--org", "org", "--no-record")
    assert run(*first).returncode == 0
    theirs = hub.commit(REPO, {"manifest.json": None, "statistics.json": None, "data/test-more.csv": b"a\n"})
    hub.repos[REPO].tags.clear()

    refused = run(*first, "--dry-run")
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "the repository holds data, and no release of this package" in refused.stderr
    planned = run(*first, "--dry-run", "--take-over")
    assert planned.returncode == 0, planned.stderr
    assert "first     tags the data of somebody else, main, as before-embedding-datasets" in planned.stdout
    assert "- data/test-more.csv" in planned.stdout
    assert run(*first, "--take-over").returncode == 0
    assert hub.repos[REPO].tags["before-embedding-datasets"] == theirs

    card = (
        hub.tree(REPO)["README.md"]
        .decode()
        .replace("\n## Before you use it\n", "\n## Before you use it\n\nAn \x1b[31medit.\n")
    )
    hub.commit(REPO, {"README.md": card.encode()})
    second = ("publish", f"{CEDR}@2.0.0", "--org", "org", "--no-record")
    shown = run(*second, "--dry-run")
    assert shown.returncode == 5
    assert "hand edits of the card on the Hub:" in shown.stdout
    assert "+An \\u001b[31medit." in shown.stdout
    assert "edited by hand since our last release" in shown.stderr
    refused = run(*second)
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "+An \\u001b[31medit." in refused.stderr
    assert hub.repos[REPO].tags.keys() == {"v1.0.0", "before-embedding-datasets"}
    assert run(*second, "--overwrite-card").returncode == 0
    assert "An \x1b" not in hub.tree(REPO, "v2.0.0")["README.md"].decode()
