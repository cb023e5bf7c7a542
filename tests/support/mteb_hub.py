"""A Hub in memory with datasets of mteb's tasks: at the paths and revisions of the mteb that is installed, in its layouts."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.hub import client
from tests.support.loopback_hub import Blob, Commit, LoopbackHub, Repo
from tests.support.publishing import patience


def parquet(**columns: Any) -> bytes:
    content = io.BytesIO()
    pl.DataFrame(columns).write_parquet(content)
    return content.getvalue()


def card(*configs: str, **paths: str) -> bytes:
    """The front matter of a repository: the path of each split, below a folder for each config."""
    files = [
        {
            "config_name": config,
            "data_files": [{"split": split, "path": f"{config}/{path}"} for split, path in paths.items()],
        }
        for config in configs
    ]
    return f"---\n{json.dumps({'configs': files})}\n---\n".encode()


def parts(prefix: str = "", split: str = "test", **columns: Any) -> dict[str, bytes]:
    """A retrieval dataset of two documents and two queries, one of which is judged; of a reranking, with candidates."""
    tables = {
        "corpus": {"_id": ["d1", "d2"], "title": ["", ""], "text": ["a passage about rain", "a distractor about sun"]},
        "queries": {"_id": ["q1", "q2"], "text": ["what is rain", "nobody judged this query"]},
        "qrels": {"query-id": ["q1"], "corpus-id": ["d1"], "score": [1]},
        **columns,
    }
    files = {f"{prefix}{part}/{split}.parquet": parquet(**table) for part, table in tables.items()}
    return files | {"README.md": card(*(f"{prefix}{part}" for part in tables), **{split: f"{split}.parquet"})}


@contextmanager
def mteb_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """The only Hub that commands find; folder: with the cache, and the working directory."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(folder / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with LoopbackHub() as server:
        connect = client.connect
        monkeypatch.setattr(client, "connect", lambda: connect(endpoint=server.url, token=False, patience=patience()))
        yield server


def publish(hub: LoopbackHub, task: str, files: dict[str, bytes], *, gated: bool = False, revision: str = "") -> Repo:
    """Put the files of a task's dataset where mteb looks for them: under its name, at its revision unless another is given."""
    import mteb

    dataset = mteb.get_task(task).metadata.dataset
    tree = {path: Blob(content, path.endswith(".parquet")) for path, content in files.items()}
    repo = hub.repos.setdefault(dataset["path"], Repo(private=False))
    sha = revision or dataset["revision"]
    repo.gated, repo.branches["main"] = gated, sha
    repo.commits[sha] = Commit(tree, None, "as mteb reads it", "")
    return repo
