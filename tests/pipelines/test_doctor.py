"""The command doctor: what would stop a build on this machine, and what the token may do."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.raw_files import Hub
from pipelines import doctor
from pipelines.process import installation
from pipelines.raw import diagnosis
from pipelines.raw.diagnosis import Line, diagnose, diagnosis_page, gated_files
from tests.support.loopback_hub import EXPIRED, FINE_GRAINED, READER, WRITER, Blob, Commit, Fault, LoopbackHub, Repo
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def hub() -> Iterator[LoopbackHub]:
    """A Hub with the gated files of our sources, at the revisions that we pin."""
    with LoopbackHub() as running:
        for file in gated_files().values():
            assert isinstance(file.location, Hub)
            repo = Repo(private=False, gated=True)
            repo.tags[file.location.revision] = repo.add(
                "main", Commit({file.location.path: Blob(b"secret rows", lfs=False)}, None, "data", "")
            )
            running.repos[file.location.repo] = repo
        yield running


@pytest.fixture(autouse=True)
def no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a proxy nor a token of this machine."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)


def look(tmp_path: Path, hub: LoopbackHub | None = None) -> dict[str, list[Line]]:
    """The lines by topic; without a Hub, offline."""
    lines = diagnose(tmp_path / "cache", tmp_path / "outputs", offline=hub is None, endpoint=hub and hub.url)
    return {line.topic: [other for other in lines if other.topic == line.topic] for line in lines}


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (WRITER, "from HF_TOKEN: of tester, may read and write; organisations: org"),
        (READER, "from HF_TOKEN: of tester, may read; organisations: org"),
        (
            FINE_GRAINED,
            (
                "from HF_TOKEN: of tester, fine-grained: may do what its settings say, does not read public gated "
                "repositories; organisations: org"
            ),
        ),
    ],
    ids=["write", "read", "fine-grained"],
)
def test_the_token_is_described_without_being_shown(
    token: str, text: str, hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    lines = look(tmp_path, hub)
    assert [line.text for line in lines["token"]] == [text]
    assert token not in diagnosis_page([line for several in lines.values() for line in several])


def test_an_expired_token_is_a_warning_that_says_where_to_make_another(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", EXPIRED)
    [line] = look(tmp_path, hub)["token"]
    assert (line.state, line.text) == ("warning", "from HF_TOKEN: not valid: the Hub answers 401")
    assert "settings/tokens" in line.todo
    assert EXPIRED not in str(line)


@pytest.mark.parametrize(
    ("token", "state", "text"),
    [
        (WRITER, "ok", "your token may read it"),
        (READER, "warning", "not readable: the terms are not accepted (status 403)"),
        (None, "warning", "not readable: no token (status 401)"),
    ],
    ids=["accepted", "not accepted", "no token"],
)
def test_every_gated_file_is_asked_for_once_and_not_downloaded(
    token: str | None, state: str, text: str, hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.log.clear()
    lines = look(tmp_path, hub)["gated"]
    assert {(line.state, line.text) for line in lines} == {(state, f"{name}: {text}") for name in gated_files()}
    asked = [request.path for request in hub.log if request.method == "HEAD"]
    assert len(asked) == len(set(asked)) == len(gated_files())
    assert {request.method for request in hub.log if "whoami" not in request.path} == {"HEAD"}


def test_a_hub_in_trouble_is_a_warning_and_not_an_error(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", WRITER)
    hub.fail(0, Fault(status=503), always=True)
    try:
        lines = look(tmp_path, hub)
    finally:
        hub.stop_failing()
    assert {line.state for line in (*lines["token"], *lines["gated"])} == {"warning"}
    assert "unknown: the Hub answers 503" in lines["gated"][0].text


def test_a_hub_out_of_reach_or_without_https_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", WRITER)
    for endpoint, failure in (
        ("http://127.0.0.1:9", "the Hub cannot be reached (ConnectError)"),
        ("http://hub.example", "the Hub: the URL is not https, or redirects to one that is not"),
    ):
        lines = diagnose(tmp_path / "cache", tmp_path / "outputs", offline=False, endpoint=endpoint)
        [token] = [line for line in lines if line.topic == "token"]
        assert (token.state, token.text) == ("warning", f"from HF_TOKEN: unknown what it may do: {failure}")
        assert {line.text.partition(": ")[2] for line in lines if line.topic == "gated"} == {f"unknown: {failure}"}


def test_offline_the_hub_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(WRITER)
    lines = look(tmp_path)
    assert lines["Hub"][0].text == "not asked, because --offline is set"
    assert lines["token"][0].text == f"from the file {tmp_path / 'token'}"
    assert "gated" not in lines


def test_the_cache_and_the_releases_are_measured(tmp_path: Path) -> None:
    assert look(tmp_path)["cache"][0].text.endswith("cache: empty, it does not exist yet")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "file").write_bytes(b"x" * 2000)
    assert look(tmp_path)["cache"][0].text.endswith("cache: 2 KB")


def test_a_full_disk_is_a_problem_and_a_small_one_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    for free, state in ((10**8, "problem"), (10**10, "warning"), (10**11, "ok")):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: usage._replace(free=free))
        assert look(tmp_path)["disk"][0].state == state


def test_the_package_is_named_as_version_names_it_with_its_folder(tmp_path: Path) -> None:
    [line] = look(tmp_path)["package"]
    assert line.text == f"{installation.describe()}, a checkout: {ROOT}"


def test_a_missing_package_is_a_problem_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnosis, "NEEDED", ("polars", "no-such-package"))
    folders = ["--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "outputs")]
    monkeypatch.setattr("sys.argv", ["doctor", "--offline", *folders])
    assert doctor.main() == 1
    out = capsys.readouterr().out
    assert "problem  no-such-package  not installed\n" in out
    assert "to do: python -m pip install" in out
    assert max(len(line) for line in out.splitlines() if str(tmp_path)[:20] not in line) <= 80


def test_a_machine_that_can_build_gives_an_object_a_line_and_exit_code_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["doctor", "--offline", "--json", "--cache", str(tmp_path / "cache")])
    assert doctor.main() == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"python", "polars", "package", "cache", "disk", "token"} <= {line["topic"] for line in lines}
    assert lines[0].keys() == {"topic", "state", "text", "todo"}


def test_each_mirror_is_listed_with_whether_it_answers(
    tmp_path: Path, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    repo = next(iter(hub.repos))
    mirrors = [
        tmp_path.as_uri(),
        f"{tmp_path.as_uri()}/none",
        hub.url,
        f"hf://datasets/{repo}",
        "hf://datasets/org/none",
    ]
    monkeypatch.setenv("EMBEDDING_DATASETS_MIRRORS", " ".join(mirrors))
    assert [(line.state, line.text) for line in look(tmp_path, hub)["mirror"]] == [
        ("ok", f"{tmp_path}: answers"),
        ("warning", f"{tmp_path}/none: no such folder, or not readable"),
        ("ok", f"{hub.url}: answers"),
        ("ok", f"hf://datasets/{repo}: answers"),
        ("warning", "hf://datasets/org/none: status 401"),
    ]
    assert look(tmp_path)["mirror"][2].text == f"{hub.url}: not asked"
    monkeypatch.setenv("EMBEDDING_DATASETS_MIRRORS", "http://a.example")
    assert [line.state for line in look(tmp_path)["mirrors"]] == ["problem"]
