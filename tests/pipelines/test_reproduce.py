"""The command reproduce: in a clean process, from a folder or the Hub, with exit codes and JSON for programs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.hub import client
from pipelines.make import BuildResult
from pipelines.reproduction import clean_process
from pipelines.reproduction.clean_process import clean_environment
from tests.support.altered_releases import copy_release, with_manifest
from tests.support.loopback_hub import WRITER, LoopbackHub
from tests.support.paths import ROOT
from tests.support.processes import LONGEST, run
from tests.support.releases import tree

TERRA = "terra-pairclassification"


@pytest.fixture
def terra(golden_release: Callable[..., BuildResult], tmp_path: Path) -> Path:
    """The golden release of TERRa below an output folder."""
    return copy_release(golden_release(TERRA).release_dir, tmp_path / "outputs" / TERRA / "1.0.0")


def run_command(*arguments: object) -> tuple[int, Any, str]:
    """Run the command in this process: exit code, the object it prints, what it says."""
    done = run("reproduce", "--json", *map(str, arguments))
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_dataset_below_the_outputs_is_built_again_in_a_clean_process(
    terra: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of these would break a process that inherits it.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "polars.py").write_text("raise SystemExit('inherited')\n", "utf-8")
    monkeypatch.setenv("POLARS_MAX_THREADS", "not a number")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    options = ["--releases", tmp_path / "outputs", "--cache", tmp_path / "cache", "--keep", tmp_path / "kept"]
    options += ["--attest", tmp_path / "statement.json", "--by", "Ann"]
    code, printed, _ = run_command("terra@1.0.0", *options)
    assert (code, printed["verdict"]) == (0, "rows and bytes equal")
    assert (tmp_path / "kept" / TERRA / "1.0.0" / "data").is_dir()
    statement = json.loads((tmp_path / "statement.json").read_bytes())["predicate"]
    assert (statement["verificationResult"], statement["verifier"]["id"]) == ("PASSED", "urn:embedding-datasets:by:Ann")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_the_clean_process_gets_neither_tokens_nor_settings_of_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "POLARS_MAX_THREADS", "PYTHONHASHSEED", "LANG", "OMP_NUM_THREADS", "GIT_DIR"):
        monkeypatch.setenv(name, "1")
    assert set(clean_environment()) <= {*clean_process.KEPT, "LC_ALL", "TZ"}
    assert clean_environment()["LC_ALL"] == "C.UTF-8"


def test_a_build_that_ends_without_a_result_cannot_say(
    terra: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean_process, "PROGRAM", "import os; os.kill(os.getpid(), 9)")
    code, printed, _ = run_command(terra, "--cache", tmp_path / "cache")
    assert (code, printed["verdict"]) == (3, "cannot say")
    assert "exit code -9" in printed["problems"][0]["found"]


def test_a_damaged_release_is_an_error_before_anything_is_built(
    terra: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_manifest(terra, content_sha256="0" * 64)
    monkeypatch.setattr(clean_process, "PROGRAM", "raise SystemExit(1)")
    code, printed, errors = run_command(terra, "--cache", tmp_path / "cache")
    assert code == 1
    assert printed["error"]["what"] == "the release is damaged: it is not what its own manifest says"
    assert "the release is damaged" in errors


def test_a_release_on_the_hub_is_fetched_into_the_cache_that_is_named(
    terra: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_manifest(terra, version="9.9.9")
    with LoopbackHub() as hub:
        connected = client.connect(endpoint=hub.url, token=WRITER)
        monkeypatch.setattr(client, "connect", lambda: connected)
        connected.api.create_repo(f"org/{TERRA}", repo_type="dataset")
        hub.commit(f"org/{TERRA}", {name: content for name, content in tree(terra).items() if content != b"<folder>"})
        code, printed, _ = run_command(f"org/{TERRA}@main", "--cache", tmp_path / "cache")
    assert (code, printed["verdict"]) == (3, "cannot say")
    assert printed["problems"][0]["found"] == "9.9.9"
    assert (tmp_path / "cache" / "hub" / "org" / TERRA).is_dir()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([f"org/{TERRA}@v1.0.0", "--offline"], "a dataset on the Hub has to be downloaded, and --offline is set"),
        (["rumteb"], "'rumteb' means 23 datasets"),
        (["nowhere/at/all"], "no such folder"),
    ],
    ids=["offline", "group", "folder"],
)
def test_a_name_that_is_no_release_is_a_usage_error(arguments: list[str], what: str) -> None:
    code, printed, _ = run_command(*arguments)
    assert code == 2
    assert what in printed["error"]["what"]


def test_a_kept_release_never_replaces_another(terra: Path, tmp_path: Path) -> None:
    before = tree(terra)
    code, printed, _ = run_command(terra, "--keep", tmp_path / "outputs")
    assert (code, printed["error"]["what"]) == (2, "--keep would overwrite a folder")
    assert tree(terra) == before


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_a_build_ends_with_the_command_however_it_ends(
    number: signal.Signals, golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    release_dir = golden_release("rubq-retrieval").release_dir
    command = [sys.executable, "-m", "pipelines.reproduce", str(release_dir), "--cache", str(tmp_path / "cache")]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE)
    scratch = tmp_path / "cache" / "reproductions"
    deadline = time.monotonic() + LONGEST
    while not list(scratch.glob("*/outputs")):  # the build has begun
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=LONGEST)  # the build has this end of the pipe too: it has ended
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_where_nothing_can_be_said_nothing_is_stated(terra: Path, tmp_path: Path) -> None:
    with_manifest(terra, version="9.9.9")
    options = ["--cache", tmp_path / "cache", "--attest", tmp_path / "statement.json"]
    code, _, said = run_command(terra, *options)
    assert code == 3
    assert "no statement was written" in said
    assert not (tmp_path / "statement.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [["--sign", "key.pem"], ["--by", "Ann"], ["--attest", "x", "--by", "a\nb"], ["--attest", "no/such/folder/x"]],
    ids=["sign", "by", "lines", "folder"],
)
def test_options_of_a_statement_that_do_not_fit_are_a_usage_error(arguments: list[str]) -> None:
    assert run("reproduce", "terra", *arguments).returncode == 2


def test_a_build_states_how_it_was_done_for_one_dataset_only(tmp_path: Path) -> None:
    options = ["--sample", "--output", str(tmp_path / "outputs"), "--attest", str(tmp_path / "built.json")]
    assert run("build", "terra", *options).returncode == 0
    statement = json.loads((tmp_path / "built.json").read_bytes())
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    assert "--attest is for one dataset" in run("build", "terra", "cedr", *options).stderr
