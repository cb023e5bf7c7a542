"""Probing: every way in which a publisher's answer can be wrong, and what is asked of it."""

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from builders.raw_files import RawFile, by_hand, https, hub, member
from pipelines import fetch
from pipelines.raw import probing as probe_module
from pipelines.raw.probing import MEMORY, PATIENCE, Judgement, ProbedFile, probe_files, probe_page, to_json
from pipelines.raw.settings import RawSettings
from tests.support.downloads import PAGE, Waits
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import (
    COMMIT,
    CONTENT,
    OTHER,
    PIN,
    TOKEN,
    error_of,
    git_blob,
    locate_file,
    serve,
    sha256,
    source_of,
)

PATH = "/file.jsonl"
ON_HUB = f"/datasets/org/data/resolve/{COMMIT}/f.txt"


class AsyncWaits(Waits):
    """Seconds that a probe waited, without waiting."""

    async def wait(self, seconds: float) -> None:
        """Note the seconds."""
        self.append(seconds)


@pytest.fixture
def waits() -> AsyncWaits:
    return AsyncWaits()


def ask(settings: RawSettings, *files: RawFile, waits: AsyncWaits | None = None, **patience: Any) -> list[ProbedFile]:
    patient = replace(PATIENCE, sleep=(AsyncWaits() if waits is None else waits).wait, **patience)
    return probe_files([(source_of(file), file) for file in files], settings, lambda _: None, patient)


def state(settings: RawSettings, file: RawFile, **patience: Any) -> tuple[str, str, str]:
    """State, what was found and what was expected of one file."""
    judgement = ask(settings, file, **patience)[0].judgement
    return judgement.state, judgement.found, judgement.expected


def methods(server: FaultyServer) -> list[str]:
    return [request.method for request in server.log]


def test_a_file_in_its_size_is_found_by_one_head_request(server: FaultyServer, raw_settings: RawSettings) -> None:
    (file,) = ask(raw_settings, serve(server, **PIN))
    assert (file.name, file.bytes, file.judgement.state) == ("demo/file.jsonl", len(CONTENT), "ok")
    assert file.judgement.compared == ("size",)
    assert methods(server) == ["HEAD"]
    assert server.log[0].headers["user-agent"].startswith("embedding-datasets/")


@pytest.mark.parametrize("status", [400, 403, 405, 501])
@pytest.mark.parametrize("ignore_range", [False, True])
def test_a_server_that_refuses_head_is_asked_for_a_byte_and_its_body_is_not_read(
    server: FaultyServer, raw_settings: RawSettings, status: int, ignore_range: bool
) -> None:
    file = serve(server, **PIN)
    server.always[PATH] = Fault(head=status, ignore_range=ignore_range, stall_after=1)
    assert state(raw_settings, file)[0] == "ok"
    assert methods(server) == ["HEAD", "GET"]
    assert server.log[1].headers["range"] == "bytes=0-0"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(status=404), ("gone", "status 404")),
        (Fault(status=410), ("gone", "status 410")),
        (Fault(status=500), ("unreachable", "status 500")),
        (Fault(status=429, headers={"Retry-After": "7200"}), ("unreachable", "status 429; it asks to wait 7,200 s")),
        (Fault(status=401), ("denied", "status 401")),
        (Fault(status=403), ("denied", "status 403")),
        (Fault(body=OTHER), ("other size", "15,000 bytes")),
        (Fault(body=b""), ("other size", "an empty file")),
        (Fault(body=PAGE, headers={"Content-Type": "text/html; charset=utf-8"}), ("page", "an HTML page")),
        (
            Fault(status=302, headers={"Location": "file:///etc/passwd"}),
            ("redirect", "redirected to an address, not by https"),
        ),
        (Fault(status=302, headers={"Location": PATH}), ("redirect", "redirected more than 10 times")),
        (
            Fault(status=302, headers={"Location": "ftp://a.example/x"}),
            ("redirect", "redirected to a.example, not by https"),
        ),
        (Fault(status=304), ("denied", "status 304")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else str(value.status or "body"),
)
def test_what_is_wrong_is_named(
    server: FaultyServer, raw_settings: RawSettings, fault: Fault, expected: tuple[str, str]
) -> None:
    file = serve(server, **PIN)
    server.always[PATH] = fault
    assert state(raw_settings, file)[:2] == expected


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ({PATH: [Fault(headers={"Content-Length": "0"})]}, "ok"),
        ({PATH: [Fault(headers={"Content-Type": "text/html"})]}, "ok"),
        (
            {
                PATH: [Fault(status=302, headers={"Location": "/login"})] * 2,
                "/login": [Fault(body=PAGE, headers={"Content-Type": "text/html"})] * 2,
            },
            "page",
        ),
    ],
    ids=["HEAD says another size", "the server calls a file HTML", "a page to sign in after a redirect"],
)
def test_a_file_is_judged_by_its_size_and_a_page_is_no_file(
    server: FaultyServer, raw_settings: RawSettings, faults: dict[str, list[Fault]], expected: str
) -> None:
    file = serve(server, **PIN)
    for path, listed in faults.items():
        server.fail(path, *listed)
    assert state(raw_settings, file)[0] == expected


def test_a_server_that_hangs_is_given_up_and_not_asked_for_all_of_its_files(
    server: FaultyServer, raw_settings: RawSettings, waits: AsyncWaits
) -> None:
    files = [serve(server, name=f"{number}.jsonl", **PIN) for number in range(4)]
    server.always = {path: Fault(hang=True) for path in server.files}
    probed = ask(raw_settings, *files, waits=waits, answer=0.1, retries=1)
    assert [file.judgement.state for file in probed] == ["unreachable"] * 4
    assert [file.judgement.found for file in probed] == ["no answer within 0.1 s"] * 2 + [
        "not asked: no answer for 2 other files"
    ] * 2
    assert waits == [1, 1]


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    server: FaultyServer, raw_settings: RawSettings, waits: AsyncWaits
) -> None:
    file = serve(server, **PIN)
    server.fail(PATH, Fault(status=503, headers={"Retry-After": "7"}), Fault(status=503))
    assert ask(raw_settings, file, waits=waits)[0].judgement.state == "ok"
    assert waits == [7, 2]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(headers={"X-Huge": "x" * 200_000}), "RemoteProtocolError"),
        (Fault(headers={"Content-Length": "-5"}), "RemoteProtocolError"),
        (Fault(status=302, headers={"Location": "http://[::1"}), "RemoteProtocolError"),
    ],
    ids=["huge headers", "length", "location"],
)
def test_an_answer_that_is_not_http_is_no_answer(
    server: FaultyServer, raw_settings: RawSettings, fault: Fault, words: str
) -> None:
    file = serve(server, **PIN)
    server.always[PATH] = fault
    reached, found, _ = state(raw_settings, file)
    assert (reached, found[: len(words)]) == ("unreachable", words)


def test_a_server_without_tls_and_one_that_is_not_there_are_out_of_reach(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    port = server.url.rpartition(":")[2]
    found = state(raw_settings, https(f"https://127.0.0.1:{port}/file.jsonl", **PIN), retries=0)
    assert found[0] == "unreachable"
    assert "SSL" in found[1]
    expired = ProbedFile(
        "demo/a", "https://a.example", Judgement("unreachable", "ConnectError: CERTIFICATE_VERIFY_FAILED")
    )
    assert "the server's certificate" in " ".join(probe_page([expired], raw_settings.cache))
    server.stop()
    assert state(raw_settings, https(f"{server.url}/x", **PIN), retries=0)[0] == "unreachable"


def test_a_file_without_a_size_is_there_and_nothing_is_compared_unless_it_is_empty(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    (file,) = ask(raw_settings, serve(server, sha256=sha256(CONTENT)))
    assert (file.judgement.state, file.judgement.compared, file.bytes) == ("unknown", (), len(CONTENT))
    server.files["/empty.txt"] = b""
    found = state(raw_settings, https(f"{server.url}/empty.txt"))
    assert found == ("other size", "an empty file", "a file with content")


@pytest.mark.parametrize(
    ("fault", "found"),
    [(Fault(headers={"ETag": '"new"', "Last-Modified": "x"}), 'ETag "new"'), (Fault(body=OTHER), "15,000 bytes")],
    ids=["ETag", "size"],
)
def test_what_has_changed_since_the_first_probe_stays_reported(
    server: FaultyServer, raw_settings: RawSettings, fault: Fault, found: str
) -> None:
    file = serve(server)
    assert state(raw_settings, file)[0] == "unknown"
    server.always[PATH] = fault
    for _ in range(2):
        assert state(raw_settings, file)[:2] == ("changed", found)
    (raw_settings.cache / MEMORY).write_text("not JSON")
    assert state(raw_settings, file)[0] == "unknown"


def test_a_new_address_or_pin_is_not_compared_with_the_old_one(server: FaultyServer, raw_settings: RawSettings) -> None:
    ask(raw_settings, serve(server))
    server.files["/other.jsonl"] = OTHER
    assert state(raw_settings, https(f"{server.url}/other.jsonl", name="file.jsonl"))[0] == "unknown"
    server.files[PATH] = OTHER
    assert state(raw_settings, serve(server, OTHER, sha256=sha256(OTHER)))[0] == "unknown"


def test_files_fetched_by_hand_are_not_asked_for_and_archives_once(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    archive = serve(server, name="files.zip")
    probed = ask(raw_settings, by_hand("b.txt", "Please ask."), member(archive, "x"), member(archive, "y"))
    assert {file.name: file.judgement.state for file in probed} == {
        "demo/b.txt": "by hand",
        "demo/files.zip": "unknown",
    }
    assert len(server.log) == 1


# The Hub


def on_hub(server: FaultyServer, raw_settings: RawSettings, *, gated: bool = False, **digest: Any) -> tuple[str, ...]:
    """State, found, expected and the paths that were asked for."""
    file = hub("org/data", COMMIT, "f.txt", gated=gated, **digest)
    return (*state(raw_settings, file), *(request.path for request in server.log))


@pytest.mark.parametrize(("content", "expected"), [(CONTENT, "ok"), (OTHER, "other digest")])
def test_the_hubs_headers_tell_the_digest_of_a_large_file_which_is_not_followed(
    server: FaultyServer, raw_settings: RawSettings, content: bytes, expected: str
) -> None:
    linked = {"X-Linked-Size": str(len(CONTENT)), "X-Linked-ETag": f'"{sha256(content)}"'}
    server.always[ON_HUB] = Fault(status=302, headers={"Location": "https://cdn.example/x", **linked})
    found = on_hub(server, raw_settings, **PIN)
    assert (found[0], found[3:]) == (expected, (ON_HUB,))
    if expected != "ok":
        assert found[1:3] == (f"sha256 {sha256(OTHER)}", f"sha256 {sha256(CONTENT)}")


def test_the_etag_of_a_small_file_is_its_git_blob_id(server: FaultyServer, raw_settings: RawSettings) -> None:
    server.files[ON_HUB] = CONTENT
    server.always[ON_HUB] = Fault(headers={"ETag": f'"{git_blob(CONTENT)}"'})
    assert on_hub(server, raw_settings, git_blob=git_blob(CONTENT))[0] == "ok"
    assert on_hub(server, raw_settings, git_blob=git_blob(OTHER))[0] == "other digest"


@pytest.mark.parametrize(
    ("status", "code", "gated", "expected"),
    [
        (401, "GatedRepo", False, ("gated", "status 401")),
        (403, "", True, ("gated", "status 403")),
        (401, "RepoNotFound", False, ("gone", "status 401 RepoNotFound")),
        (401, "RevisionNotFound", False, ("gone", "status 401 RevisionNotFound")),
        (401, "", False, ("denied", "status 401")),
    ],
)
def test_the_hub_says_why_it_refuses(
    server: FaultyServer, raw_settings: RawSettings, status: int, code: str, gated: bool, expected: tuple[str, str]
) -> None:
    server.always[ON_HUB] = Fault(status=status, headers={"X-Error-Code": code} if code else {})
    assert on_hub(server, raw_settings, gated=gated, **PIN)[:2] == expected


def test_the_token_goes_to_the_hub_alone(server: FaultyServer, raw_settings: RawSettings) -> None:
    with FaultyServer({"/cdn": CONTENT}) as other:
        server.always[ON_HUB] = Fault(status=302, headers={"Location": f"{other.url}/cdn"})
        plain = serve(server, **PIN)
        ask(raw_settings, hub("org/data", COMMIT, "f.txt", **PIN), plain)
        tokens = {request.path: request.headers.get("authorization") for request in (*server.log, *other.log)}
    assert tokens == {ON_HUB: f"Bearer {TOKEN}", "/cdn": None, PATH: None}


# What is shown


def test_the_page_says_what_to_do_and_shows_no_control_characters(
    server: FaultyServer, raw_settings: RawSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = serve(server, name="changed.bin")
    ask(raw_settings, changed)
    files = [
        changed,
        serve(server, name="fine.bin", **PIN),
        serve(server, name="gone.bin", **PIN),
        by_hand("b", "Ask."),
    ]
    del server.files["/gone.bin"]
    server.always["/changed.bin"] = Fault(headers={"ETag": '"\x1b[31mred"', "Last-Modified": "y"})
    probed = ask(raw_settings, *files)
    text = "\n".join(probe_page(probed, raw_settings.cache / MEMORY, width=80))
    assert "demo/gone.bin: gone" in text
    assert "EMBEDDING_DATASETS_MIRRORS" in text
    assert text.endswith("4 files: 1 changed, 1 ok, 1 gone, 1 by hand")
    assert max(map(len, text.splitlines())) <= 80 or str(raw_settings.cache) in text
    assert "\x1b" not in text
    shown = [to_json(file) for file in probed]
    assert [(one["state"], one["wrong"]) for one in shown] == [
        ("changed", True), ("ok", False), ("gone", True), ("by hand", False),
    ]  # fmt: skip
    assert "\x1b" not in json.dumps(shown)


@pytest.mark.parametrize(("always", "code"), [({}, 0), ({PATH: Fault(status=404)}, 1), ({PATH: Fault(status=500)}, 3)])
def test_the_exit_code_tells_wrong_from_out_of_reach(
    server: FaultyServer,
    raw_settings: RawSettings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    always: dict[str, Fault],
    code: int,
) -> None:
    file = serve(server, **PIN)
    server.always |= always
    monkeypatch.setattr(probe_module, "PATIENCE", replace(PATIENCE, retries=0))
    assert fetch._probe([(source_of(file), file)], raw_settings, as_json=True)[0] == code
    assert json.loads(capsys.readouterr().out)["name"] == "demo/file.jsonl"


def test_a_host_that_is_not_found_is_asked_once(raw_settings: RawSettings, waits: AsyncWaits) -> None:
    [probed] = ask(raw_settings, https("https://nowhere.invalid/a.csv"), waits=waits)
    assert probed.judgement.state == "unreachable"
    assert waits == AsyncWaits()
    page = " ".join("\n".join(probe_page([probed], raw_settings.cache)).split())
    assert page.endswith("to do run the command again later; check the network 1 file: 1 unreachable")


def test_where_the_host_of_the_hub_is_not_found_its_setting_is_named(
    raw_settings: RawSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rest in (("ENDPOINT", ""), ("HUGGINGFACE_CO_URL_TEMPLATE", "/{repo_id}/resolve/{revision}/{filename}")):
        monkeypatch.setattr(f"huggingface_hub.constants.{name}", f"https://hub.invalid{rest}")
    settings = replace(raw_settings, hub=None)
    file = hub("o/r", COMMIT, "a.csv")
    page = " ".join("\n".join(probe_page(ask(settings, file), raw_settings.cache)).split())
    hint = "check the network, and HF_ENDPOINT, which says where the Hub is: now hub.invalid"
    assert f"run the command again later; {hint}" in page
    assert str(error_of(locate_file, file, settings).todo).startswith(hint)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "required: NAME"),
        (["--probe", "--offline"], "leave out --offline"),
        (["--probe", "--dry-run"], "--dry-run"),
        (["cedr", "--records", "5"], "--records N is for --probe"),
        (["--probe", "--report", "probe.json"], "--report FILE for --records N"),
    ],
)
def test_names_are_needed_but_for_a_probe_which_asks_servers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["fetch", *options])
    with pytest.raises(SystemExit):
        fetch.main()
    assert words in capsys.readouterr().err
