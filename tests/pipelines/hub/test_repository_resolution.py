"""Which files `datasets` reads of a repository on the Hub: compared with the library itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from pipelines.release.resolution import resolve_files
from tests.support.loopback_hub import LoopbackHub
from tests.support.processes import environment

LOADER = """
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
            [sys.executable, "-c", LOADER], input=json.dumps(requests), env=environment(hub, tmp_path),
            capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert [json.loads(line) for line in process.stdout.splitlines()] == ours
