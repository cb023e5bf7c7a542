"""Published versions as users load them, which files `datasets` reads; and publish, check and diff as commands."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.hub.planning import PublishOptions
from pipelines.release import folder
from pipelines.release.resolution import resolve_files
from tests.support.loopback_hub import READER, LoopbackHub
from tests.support.paths import ROOT
from tests.support.processes import environment
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    Versions,
)

# os._exit skips the interpreter teardown, in which pyarrow threads may abort after streaming (huggingface/datasets#7566).
LOADER = """
import json, os, sys
import datasets
repo, *arguments = sys.argv[1:]
for argument in arguments:
    config, split, revision = argument.split()
    whole = datasets.load_dataset(repo, config, split=split, revision=revision).to_list()
    streamed = list(datasets.load_dataset(repo, config, split=split, revision=revision, streaming=True))
    print(json.dumps([whole, streamed]), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_datasets_loads_each_version_by_tag_as_a_whole_and_streaming(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, name: str
) -> None:
    versions = Versions(hub, options, *releases(name))
    outcomes = versions.outcomes
    for version in outcomes:
        versions.publish(version)
    tables = [(table.config, table.split) for table in outcomes["1.0.0"].manifest.tables]
    loads = [(config, split, version) for version in outcomes for config, split in tables]
    process = subprocess.run(
        [sys.executable, "-c", LOADER, f"org/{name}", *(f"{config} {split} v{version}" for config, split, version in loads)],
        env=environment(hub, tmp_path), capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert len(lines) == len(loads)
    for line, (config, split, version) in zip(lines, loads, strict=True):
        frames = folder.scan_tables(outcomes[version].release_dir, outcomes[version].manifest.tables)
        rows = frames[config][split].collect().to_dicts()
        assert json.loads(line) == [rows, rows]


def test_publish_check_and_diff_work_as_commands(
    hub: LoopbackHub, run: Callable[..., subprocess.CompletedProcess[str]], work_dir: Path, tmp_path: Path
) -> None:
    raw = ["--raw-dir", "raw", "--offline"]
    refused = run("build", "terra", *raw, "--push", "org", token=READER)
    assert (refused.returncode, refused.stdout) == (5, "")
    assert "the token can only read" in refused.stderr
    assert not (work_dir / "outputs" / TERRA).exists(), "the token must be checked before the build"
    assert run("build", "terra", *raw).returncode == 0
    planned = run("publish", "terra", "--org", "org", "--dry-run", token="")
    assert planned.returncode == 0, planned.stderr
    assert "to be published" in planned.stdout
    assert f"as        {REPO} (to be created), tag v1.0.0" in planned.stdout
    assert "+ data/dev-00000-of-00001.parquet" in planned.stdout
    assert hub.repos == {}

    unrecorded = run("build", "terra", *raw, "--push", "org", "--json")
    assert unrecorded.returncode == 5
    assert "nowhere to record what is published" in unrecorded.stderr
    assert hub.repos == {}
    pushed = run("build", "terra", *raw, "--push", "org", "--no-record", "--json")
    assert pushed.returncode == 0, pushed.stderr
    report = json.loads(pushed.stdout)["published"]
    assert (report["repo"], report["tag"], report["state"]) == (REPO, "v1.0.0", "published")
    assert hub.repos[REPO].tags == {"v1.0.0": report["commit"]}
    assert hub.xet.files, "large files go through Xet by default"
    assert pushed.stderr == "", "stderr should hold no progress bars"
    assert TERRA in json.loads((work_dir / "ledger.json").read_text())
    assert not (work_dir / "refs").exists(), "the build is recorded, the trial publication is not"
    recorded = run("publish", "terra", "--org", "org", "--ledger", str(tmp_path / "trial.json"))
    assert (recorded.returncode, recorded.stderr) == (
        0, f"{TERRA}@1.0.0: v1.0.0 recorded in refs/{TERRA}.jsonl\n"
    )  # fmt: skip
    assert f"{TERRA} 1.0.0: already published" in recorded.stdout
    assert TERRA in json.loads((tmp_path / "trial.json").read_text())
    [trial] = map(json.loads, (tmp_path / "refs" / f"{TERRA}.jsonl").read_text().splitlines())
    assert (trial["repo"], trial["commit"], trial["event"]) == (REPO, report["commit"], "observed")
    again = run("publish", "terra", "--org", "org", "--ledger", str(tmp_path / "trial.json"))
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: already published" in again.stdout
    nowhere = run("publish", "terra", "--org", "org", "--ledger", str(tmp_path / "no_folder" / "trial.json"))
    assert nowhere.returncode == 2
    assert "--ledger: cannot write to" in nowhere.stderr

    record = ("--org", "org", "--ledger", str(tmp_path / "trial.json"))
    kept = hub.repos[REPO].tags.pop("v1.0.0")
    assert run("check", *record, "--no-download").returncode == 1
    planned = run("publish", "--repair", "terra", *record, "--dry-run")
    step = f"v1.0.0: the tag was missing, it is put on {kept}"
    assert (planned.returncode, planned.stdout) == (0, f"{REPO}: to be repaired\n  {step}\n")
    assert hub.repos[REPO].tags == {}
    repaired = json.loads(run("publish", "--repair", "terra", *record, "--json").stdout)
    assert repaired == {"repo": REPO, "state": "repaired", "steps": [step], "missing": [], "todo": []}
    assert (hub.repos[REPO].tags, run("check", *record, "--no-download").returncode) == ({"v1.0.0": kept}, 0)
    tag, lost = hub.repos[REPO].tags.pop("v1.0.0"), hub.repos[REPO].commits.pop(kept)
    hub.repos[REPO].branches["main"] = hub.repos[REPO].moves[0][1]
    gone = run("publish", "--repair", "terra", *record)
    assert gone.returncode == 3
    assert (
        f"to do: embedding-datasets publish {TERRA}@1.0.0 --org org --ledger {tmp_path / 'trial.json'}" in gone.stdout
    )
    hub.repos[REPO].commits[kept], hub.repos[REPO].tags["v1.0.0"], hub.repos[REPO].branches["main"] = lost, tag, kept
    refused = run("publish", "--repair", "terra", "--org", "org")
    assert refused.returncode == 5
    assert "no tag of this repository is recorded" in refused.stderr
    assert run("publish", "--repair", "terra", *record, "--take-over").returncode == 2

    sound = run("check", f"{REPO}@v1.0.0", token="")
    assert (sound.returncode, sound.stderr) == (0, "")
    assert f"{TERRA} 1.0.0: 2 warnings: traces of a table read wrongly (5)\n" in sound.stdout
    hub.repos[REPO].tags["v9.9.9"] = hub.repos[REPO].tags["v1.0.0"]
    for command in (["check", f"{REPO}@v9.9.9"], ["diff", f"{REPO}@v9.9.9", f"outputs/{TERRA}"]):
        wrong = run(*command, token="")
        assert wrong.returncode == 1
        assert "v9.9.9 holds another version than its name says" in wrong.stderr
        assert f"found:    {TERRA}@1.0.0" in wrong.stderr
    same = run("diff", f"{REPO}@v1.0.0", f"outputs/{TERRA}")
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("the same rows\n")
    process = subprocess.run(  # which finds the Hub by HF_ENDPOINT
        [sys.executable, "-m", "pipelines.check", f"{REPO}@v1.0.0"], cwd=ROOT, env=environment(hub, tmp_path, HF_TOKEN=""),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(f"{TERRA} 1.0.0: 2 warnings: traces of a table read wrongly (5)\n")


RESOLVER = """
import json, os, sys
import datasets
for repo, config in json.loads(sys.stdin.read()):
    files = datasets.load_dataset_builder(repo, config).config.data_files
    print(json.dumps({str(split): [path.partition("@")[2].partition("/")[2] for path in files[split]] for split in files}))
sys.stdout.flush()
os._exit(0)
"""
# By the name of the repository: its files, and the patterns of its configs.
REPOSITORIES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "shards": (["data/train-00000-of-00001.parquet", "data/train-extra.parquet", "data/test-00000-of-00001.parquet"], {}),
    "names": (["train.csv", "test.csv", "en/x test.csv", ".hidden/train.csv", "__special__/train.csv"], {}),
    "folders": (["train/a.jsonl", "test/a.jsonl", "en/valid-1/b.jsonl", "notes.txt"], {}),
    "one": (["en.parquet", "de.parquet", "script.py", "README.txt"], {}),
    "patterns": (
        ["data/train-00000-of-00001.parquet", "data/train-extra.parquet", "data/train-notes.txt", "data/deep/train-1.parquet"],
        {"default": [{"split": "train", "path": "data/train-*"}], "deep": "**/train-*", "twice": ["data/*.parquet", "data/**"]},
    ),
    "hidden": ([".hidden/a.csv", "__special__/b.csv", "c.csv"], {"default": "**/*.csv", "all": [".hidden/*", "__special__/*"]}),
}  # fmt: skip


def test_a_repository_is_resolved_as_the_library_resolves_it_on_the_hub(tmp_path: Path) -> None:
    ours, requests = [], []
    with LoopbackHub() as hub:
        for name, (paths, patterns) in REPOSITORIES.items():
            configs = [{"config_name": config, "data_files": files} for config, files in patterns.items()]
            front_matter = {"configs": configs} if configs else {}
            card = f"---\n{yaml.safe_dump(front_matter)}---\n".encode()
            tree = dict.fromkeys(paths, b"") | {"README.md": card}
            hub.create(f"org/{name}", tree)
            files = resolve_files(tree, front_matter, name)
            ours += list(files.values())
            requests += [(f"org/{name}", config) for config in files]
        process = subprocess.run(
            [sys.executable, "-c", RESOLVER], input=json.dumps(requests), env=environment(hub, tmp_path),
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert [json.loads(line) for line in process.stdout.splitlines()] == ours
