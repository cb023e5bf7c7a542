"""The URLs of raw files, and what the Hub is sent. Waiting times in words."""

import os
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest

from builders.errors import SourceError
from builders.raw_files import RawFile, by_hand, github, https, hub, member
from pipelines.raw.requests import describe_end, describe_wait, file_url
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.paths import ROOT
from tests.support.raw_files import COMMIT, CONTENT, PIN, TOKEN, error_of, locate_file, serve, sha256


def test_urls_are_those_of_the_public_sites() -> None:
    assert file_url(github("org/data", COMMIT, "a b/ф#1?.json").location) == (
        f"https://raw.githubusercontent.com/org/data/{COMMIT}/a%20b/%D1%84%231%3F.json"
    )
    assert file_url(github("org/data", COMMIT, "big.gz", lfs=True).location) == (
        f"https://media.githubusercontent.com/media/org/data/{COMMIT}/big.gz"
    )
    assert file_url(hub("org/data", COMMIT, "a b/ф#1?.json").location) == (
        f"https://huggingface.co/datasets/org/data/resolve/{COMMIT}/a%20b/%D1%84%231%3F.json"
    )
    assert file_url(https("https://example.org/f.zip?id=7", name="f.zip").location) == "https://example.org/f.zip?id=7"
    assert (
        file_url(member(https("https://example.org/f.zip"), "a b.txt").location)
        == "https://example.org/f.zip#a%20b.txt"
    )
    assert file_url(by_hand("f.zip", "ask").location) is None
    assert file_url(member(by_hand("f.zip", "ask"), "a.txt").location) is None


@pytest.mark.parametrize(
    ("file", "path"),
    [
        (github("org/data", COMMIT, "a b/f.txt", **PIN), f"/raw/org/data/{COMMIT}/a%20b/f.txt"),
        (github("org/data", COMMIT, "f.txt", lfs=True, **PIN), f"/media/org/data/{COMMIT}/f.txt"),
        (hub("org/data", COMMIT, "f.txt", **PIN), f"/datasets/org/data/resolve/{COMMIT}/f.txt"),
    ],
    ids=["github", "git-lfs", "hub"],
)
def test_a_file_from_a_mirror_is_reported_with_its_public_url(
    raw_settings: RawSettings, server: FaultyServer, file: RawFile, path: str
) -> None:
    server.files[path] = CONTENT
    located = locate_file(file, raw_settings)
    assert [request.path for request in server.log] == [path]
    assert located.url == file_url(file.location)
    assert server.url not in str(located.url)


def test_hf_endpoint_sets_the_url_of_the_hub(server: FaultyServer, tmp_path: Path) -> None:
    server.files[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = CONTENT
    script = (
        "import sys; from pathlib import Path; from builders.raw_files import hub; from builders.spec import Source\n"
        "from pipelines.raw.locations import locate\n"
        "from pipelines.raw.settings import RawSettings\n"
        f"files = {{'file': hub('org/data', '{COMMIT}', 'f.txt', sha256='{sha256(CONTENT)}')}}\n"
        "source = Source('demo', 'Demo', 'mit', 'https://example.org', 'demo2020', files)\n"
        "print(locate(source, 'file', RawSettings(cache=Path(sys.argv[1]), lock=Path(sys.argv[1], 'lock'))).url)\n"
    )
    environment = os.environ | {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN}
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "cache"],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"https://huggingface.co/datasets/org/data/resolve/{COMMIT}/f.txt"
    assert server.log[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("status", [401, 403])
def test_the_error_for_a_gated_file_says_where_to_accept_its_terms_and_how_to_set_a_token(
    raw_settings: RawSettings, server: FaultyServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = hub("org/data", COMMIT, "f.txt", gated=True, **PIN)
    server.always[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = Fault(status=status)
    error = error_of(locate_file, file, raw_settings)
    assert "https://huggingface.co/datasets/org/data" in str(error)
    assert "the token has no access" in str(error)
    assert "HF_TOKEN" in str(error)
    assert "hf auth login" in str(error)
    assert TOKEN not in str(error)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    assert "no token was found" in str(error_of(locate_file, file, raw_settings))
    assert [request.headers.get("authorization") for request in server.log] == [f"Bearer {TOKEN}", None]


def test_the_token_is_sent_to_the_hub_alone(raw_settings: RawSettings, server: FaultyServer) -> None:
    with FaultyServer({"/cdn": CONTENT}) as cdn:
        redirect = Fault(status=302, headers={"Location": f"{cdn.url}/cdn"})
        server.always[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = redirect
        server.files[f"/raw/org/data/{COMMIT}/g.txt"] = CONTENT
        locate_file(hub("org/data", COMMIT, "f.txt", gated=True, **PIN), raw_settings)
        locate_file(github("org/data", COMMIT, "g.txt", **PIN), raw_settings)
        locate_file(serve(server, **PIN), raw_settings)
        sent = {request.path.rsplit("/", 1)[1]: "authorization" in request.headers for request in server.log + cdn.log}
    assert sent == {"f.txt": True, "g.txt": False, "file.jsonl": False, "cdn": False}


@pytest.mark.parametrize("broken", ["hf_секрет", "hf_se cret", "hf_\x01secret"])
def test_a_token_that_fits_in_no_header_is_not_shown(
    raw_settings: RawSettings, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: broken)
    with pytest.raises(SourceError, match="HF_TOKEN") as caught:
        locate_file(hub("org/data", COMMIT, "f.txt"), raw_settings)
    assert broken not in str(caught.value)
    assert server.log == []


def test_the_error_for_a_missing_revision_names_it(raw_settings: RawSettings) -> None:
    with pytest.raises(SourceError, match="not found at its URL") as caught:
        locate_file(hub("org/data", COMMIT, "f.txt"), raw_settings)
    assert caught.value.expected == f"revision {COMMIT} of org/data"


NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (1.5, "1.5 s"), (120, "120 s"), (121, "3 min, until 12:02 UTC"), (3600, "60 min, until 13:00 UTC")],
)
def test_a_wait_of_more_than_two_minutes_is_given_in_minutes_with_its_end(seconds: float, words: str) -> None:
    assert describe_wait(seconds, NOON) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (86_400, "after 2026-03-05 12:00 UTC"),
        (400 * 86_400, "in more than a year"),
        (float("inf"), "in more than a year"),
    ],
)
def test_the_end_of_a_long_wait_has_a_date(seconds: float, words: str) -> None:
    assert describe_end(seconds, NOON) == words
