"""Scans on a Ray cluster whose nodes come, go and are killed, and share no folder, give the bytes of the local engine."""

import random
import subprocess
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

from pipelines.checking.corpora import open_corpus
from pipelines.decontamination.engines import PACKAGES, Engine, read_results, run_partitions
from tests.pipelines.decontamination.test_clean import content, run_scan
from tests.pipelines.decontamination.test_engines import wait_until
from tests.support.benchmark_tables import LATIN, sentence
from tests.support.buckets import open_bucket, upload
from tests.support.clusters import blind_node, finish, open_cluster, start_scan
from tests.support.corpus_work import list_texts
from tests.support.foreign import write_json_lines
from tests.support.loopback_hub import Blob, Commit, LoopbackHub, Repo
from tests.support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.extra("ray")]
CAN_HIDE = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
OPTIONS = (
    "--index",
    "hidden/my.index",
    "--benchmark",
    "hidden/test.jsonl",
    "--task",
    "Classification",
    "--cache",
    "cache",
)


@pytest.fixture
def scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index and its texts in `hidden`, and a corpus of 1,200 texts, scanned by the local engine into
    `local`. Every tenth row has a text of the index, half of them without one of its 40 words."""
    monkeypatch.chdir(tmp_path)
    source = random.Random(7)
    leaks = [sentence(source, 40, LATIN) for _ in range(30)]
    write_json_lines(Path("hidden/test.jsonl"), *({"text": text, "label": row % 2} for row, text in enumerate(leaks)))
    for name, left_out in (("a", 0), ("b", 1)):
        texts = [
            leaks[row // 10 % 30].split(" ", left_out)[-1] if row % 10 == 0 else sentence(source, 40, LATIN)
            for row in range(600)
        ]
        write_json_lines(Path("corpus", f"{name}.jsonl"), *({"text": text} for text in texts))
    assert run_scan("index", "hidden/test.jsonl", "--task", "Classification", "--output", "hidden/my.index") == 0
    assert run_scan("scan", "corpus", *OPTIONS, *outputs("local")) == 0
    found = pl.read_parquet("local.parquet")
    assert found.group_by("kind", "is_estimated").len().sort("kind").rows() == [
        ("exact", False, 60),
        ("near", False, 60),
    ]
    return tmp_path


def outputs(name: str) -> tuple[str, ...]:
    return "--matches", f"{name}.parquet", "--clean", name


def start(folder: Path, address: str, corpus: str = "corpus") -> "AbstractContextManager[subprocess.Popen[str]]":
    """The same scan on a cluster, in many partitions, into `cluster`."""
    return start_scan(folder, 2_000, corpus, *OPTIONS, *outputs("cluster"), "--engine", "ray", "--address", address)


def assert_equal(folder: Path) -> None:
    """The outputs of the cluster are those of the local engine."""
    assert (folder / "cluster.parquet").read_bytes() == (folder / "local.parquet").read_bytes()
    assert content(folder / "cluster") == content(folder / "local")


def finished(folder: Path) -> int:
    return len([*(folder / "cache").glob("scans/*/*.arrow")])


def test_nodes_that_come_go_and_are_killed_do_not_change_a_byte(scanned: Path) -> None:
    with open_cluster() as cluster, start(scanned, cluster.address) as driver:
        first = cluster.add_node(num_cpus=1)
        wait_until(lambda: finished(scanned) >= 5)
        cluster.remove_node(first, allow_graceful=False)
        second, before = cluster.add_node(num_cpus=1), finished(scanned)
        wait_until(lambda: finished(scanned) >= before + 20)
        cluster.add_node(num_cpus=2)
        cluster.remove_node(second)
        assert driver.poll() is None, "the nodes were changed while it ran"
        finish(driver)
    assert_equal(scanned)


@pytest.mark.skipif(not CAN_HIDE, reason="no right to hide a folder from a process")
def test_a_node_that_sees_neither_cache_nor_index_nor_our_package_works(scanned: Path) -> None:
    hidden = [scanned / "cache", scanned / "hidden", *(ROOT / name for name in PACKAGES)]
    with open_cluster() as cluster, blind_node(cluster.address, *hidden), start(scanned, cluster.address) as driver:
        finish(driver)
    assert_equal(scanned)


@pytest.mark.skipif(not CAN_HIDE, reason="no right to hide a folder from a process")
def test_a_corpus_on_s3_is_read_by_the_nodes(scanned: Path) -> None:
    """They see no file of it, nor of the cache."""
    with open_bucket() as client:
        address = upload(client, scanned / "corpus")
        assert run_scan("scan", address, *OPTIONS, "--matches", "local.parquet") == 0
        hidden = scanned / "cache", scanned / "hidden", scanned / "corpus"
        with (
            open_cluster() as cluster,
            blind_node(cluster.address, *hidden),
            start(scanned, cluster.address, address) as driver,
        ):
            finish(driver)
    assert_equal(scanned)


@pytest.mark.skipif(not CAN_HIDE, reason="no right to hide a folder from a process")
def test_a_corpus_on_the_hub_is_read_by_the_nodes(scanned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They see no file of it, nor of the cache, which has none."""
    name, tree = "hf://datasets/org/corpus", content(scanned / "corpus")
    with LoopbackHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.repos["org/corpus"] = Repo(private=False)
        hub.repos["org/corpus"].add(
            "main", Commit({path: Blob(tree[path], lfs=False) for path in tree}, None, "first", "")
        )
        with start_scan(scanned, 2_000, name, *OPTIONS, "--matches", "local.parquet") as local:
            finish(local)
        hidden = scanned / "cache", scanned / "hidden", scanned / "corpus"
        with (
            open_cluster() as cluster,
            blind_node(cluster.address, *hidden),
            start(scanned, cluster.address, name) as driver,
        ):
            finish(driver)
        assert sum("/resolve/" in request.path for request in hub.log) > 2 * 2 * len(tree["a.jsonl"]) // 2_000
    assert_equal(scanned)
    assert not [path for path in (scanned / "cache").rglob("*") if path.is_file()]


def test_tasks_follow_the_processors_of_the_nodes(tmp_path: Path) -> None:
    """Nodes that come later work on more tasks than were given to the first one."""
    log = tmp_path / "log"
    log.mkdir()
    write_json_lines(tmp_path / "a.jsonl", *({"text": f"text {row}"} for row in range(40)))
    parts = open_corpus([str(tmp_path / "a.jsonl")], partition_bytes=1).partitions
    with open_cluster() as cluster:
        cluster.add_node(num_cpus=1)
        scan = Thread(
            target=run_partitions,
            args=(parts, partial(list_texts, seconds=0.5, log=str(log)), Engine("ray", 1, cluster.address), tmp_path),
        )
        scan.start()
        wait_until(lambda: len([*log.iterdir()]) >= 1)
        cluster.add_node(num_cpus=6)
        scan.join(120)
    assert len([*read_results(tmp_path, parts)]) == 40
    processes = {path.name.split("-")[1] for path in log.iterdir()}
    assert len(processes) >= 5
