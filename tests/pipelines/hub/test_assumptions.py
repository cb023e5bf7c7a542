"""`doctor --hub ORG`: every assumption, on a Hub that behaves as assumed and on one that does not; and that nothing is left."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError
from builders.raw_files import Hub
from pipelines import doctor as doctor_command
from pipelines.hub import assumptions, client, publishing
from pipelines.hub.assumptions import ASSUMPTIONS, Assumption, Throwaway, ask_all, throwaway_repository
from pipelines.hub.client import HubClient
from pipelines.raw.diagnosis import gated_files
from tests.support import processes
from tests.support.loopback_hub import (
    READER,
    WRITER,
    Answer,
    Blob,
    Commit,
    Fault,
    HubError,
    LoopbackHub,
    Repo,
    Request,
)
from tests.support.paths import ROOT
from tests.support.publishing import patience

Usual = Callable[[], Answer]
Otherwise = Callable[[LoopbackHub, Request, Usual], Answer]

CARD = "---\nlicense: mit\n---\n# A card\n"
OF_TIME = {3, 4, 12, 15, 17, 21}  # what cannot be asked at once with a token of the role write


@pytest.fixture
def hub(hub: LoopbackHub) -> LoopbackHub:
    """A Hub with the gated files of our sources."""
    for file in gated_files().values():
        assert isinstance(file.location, Hub)
        hub.create(file.location.repo, {file.location.path: b"rows"})
    for repo in hub.repos.values():
        repo.gated = True
    return hub


@pytest.fixture
def connection(hub: LoopbackHub) -> HubClient:
    return publishing.login(endpoint=hub.url, token=WRITER, patience=patience(retries=1, read=5))


@pytest.fixture
def made(connection: HubClient, tmp_path: Path) -> Iterator[Throwaway]:
    """A throwaway repository, and a release with a card."""
    card = tmp_path / "a" / "1.0.0" / "README.md"
    card.parent.mkdir(parents=True)
    card.write_text(CARD)
    with throwaway_repository(connection, "org", tmp_path) as made:
        yield made


def ours(hub: LoopbackHub) -> Repo:
    """The throwaway repository."""
    [repo] = [repo for name, repo in hub.repos.items() if name.startswith("org/doctor-")]
    return repo


def at(method: str, part: str, act: Callable[[LoopbackHub, Usual], Answer]) -> Otherwise:
    """A Hub that answers otherwise where method and path of a request match."""

    def answer(hub: LoopbackHub, request: Request, usual: Usual) -> Answer:
        return act(hub, usual) if request.method == method and re.search(part, request.path) else usual()

    return answer


def refuse(status: int, code: str | None = None) -> Answer:
    raise HubError(status, "not here", code)


def changed(part: str, change: Callable[[Any], Any]) -> Otherwise:
    """A Hub with other answers: their JSON is changed."""
    return at("GET", part, lambda _, usual: with_json(usual(), change))


def with_json(answer: Answer, change: Callable[[Any], Any]) -> Answer:
    return answer._replace(body=json.dumps(change(json.loads(answer.body))).encode())


def refusing(method: str, part: str, status: int, code: str | None = None) -> Otherwise:
    """A Hub that refuses a call."""
    return at(method, part, lambda *_: refuse(status, code))


def failing_with(status: int, method: str, part: str) -> Otherwise:
    """A Hub with another status for a call that fails."""

    def act(_: LoopbackHub, usual: Usual) -> Answer:
        try:
            return usual()
        except HubError:
            return refuse(status)

    return at(method, part, act)


def after(method: str, part: str, change: Callable[[LoopbackHub], object]) -> Otherwise:
    """A Hub that does something else too, once a call is answered."""
    return at(method, part, lambda hub, usual: (usual(), change(hub))[0])


def with_headers(**headers: str) -> Otherwise:
    return lambda _hub, _request, usual: (answer := usual())._replace(
        headers=answer.headers | {name.replace("_", "-"): value for name, value in headers.items()}
    )


def with_quota(kind: str, quota: int) -> Otherwise:
    """A Hub that permits another number of requests of a kind."""
    policy = with_headers(RateLimit_Policy=f'"fixed window";"{kind}";q={quota};w=300')
    return lambda hub, request, usual: policy(hub, request, usual) if request.path.endswith("/refs") else usual()


def without_parents(_: LoopbackHub, request: Request, usual: Usual) -> Answer:
    """A Hub that commits on the head of a branch, whatever parent is given."""
    request.body = re.sub(rb'"parentCommit": ?"\w+"', b'"other": 1', request.body)
    return usual()


def making_anything(hub: LoopbackHub, request: Request, usual: Usual) -> Answer:
    """A Hub that makes an empty commit of a body that breaks off."""
    if request.path.endswith("/commit/main") and not request.body:
        repo = ours(hub)
        repo.add("main", Commit(repo.commits[repo.branches["main"]].tree, repo.branches["main"], "", ""))
    return usual()


def at_main(hub: LoopbackHub, request: Request, usual: Usual) -> Answer:
    """A Hub where every branch begins at main."""
    if "/branch/" in request.path:
        request.body = b"{}"
    return usual()


def file_without(key: str, **other: Any) -> Callable[[Any], Any]:
    """The answer about a repository with another description of each file."""
    return lambda info: (
        info
        | {
            "siblings": [
                {name: value for name, value in file.items() if name != key} | other for file in info["siblings"]
            ]
        }
    )


def adding_a_file(hub: LoopbackHub) -> None:
    """Put a file of the Hub's own on main."""
    repo = ours(hub)
    repo.commits[repo.branches["main"]].tree[".hub.yaml"] = Blob(b"", lfs=False)


def ignoring(part: str) -> Otherwise:
    """A Hub that answers a call, and does nothing."""
    return lambda _hub, request, usual: Answer(200, b"{}", {}) if re.search(part, request.path) else usual()


LFS = {"lfs": {"sha256": "0" * 64, "size": 64, "pointerSize": 134}}


OTHERWISE: list[tuple[int, str, Otherwise, str]] = [
    (1, "other files", changed("/api/datasets$", lambda page: [{"id": one["id"], "siblings": []} for one in page]),
     "whether its manifest is listed: False, and not True"),
    (1, "no private ones", changed("/api/datasets$", lambda page: [one for one in page if not one["private"]]),
     "whether its manifest is listed: not even the repository, and not True"),
    (2, "another server", with_headers(Link='<http://127.0.0.1:9/api/datasets?cursor=1>; rel="next"'),
     "the link is http://127.0.0.1:9/api/datasets?cursor=1"),
    (2, "no link", with_headers(Link=""), "the link is None"),
    (3, "the tag goes", after("POST", "/super-squash/", lambda hub: ours(hub).tags.clear()), "v3.0.0 is not found"),
    (3, "the files go", refusing("HEAD", "/aside/3", 404, "EntryNotFound"), "reading aside/3.parquet: the Hub answered 404"),
    (4, "the tag goes", after("DELETE", "/branch/", lambda hub: ours(hub).tags.clear()), "v4.0.0 is not found"),
    (5, "the tag goes with the branch", after("DELETE", "/branch/", lambda hub: ours(hub).tags.clear()),
     "and without the branch [None, None], and not ["),
    (5, "one is listed", changed("/refs$", lambda refs: refs | {"tags": []}), "listed are [None, "),
    (6, "tags are objects", after("POST", "/tag/", lambda hub: ours(hub).annotated.update({"v6.0.0": "0" * 40})),
     f"a new tag is on {'0' * 40}, and not "),
    (6, "tags are read as objects", changed("/revision/v6.1.0", lambda info: info | {"sha": "1" * 40}),
     f"one with a message is read as {'1' * 40}, and not "),
    (7, "the commit goes", refusing("POST", "/tag/", 404, "RevisionNotFound"),
     "tagging a commit without a ref: the Hub answered 404 Not Found: not here"),
    (8, "a strict check", lambda hub, request, usual: Answer(400, b'{"errors": [{"message": "no such license"}]}', {})
     if "validate-yaml" in request.path else usual(), "a/1.0.0: the Hub answered 400 Bad Request: no such license"),
    (9, "no parents", without_parents, "a commit on an old parent: done, and not answered with 412"),
    (9, "no branch", failing_with(400, "POST", "/preupload/"),
     "a commit to a deleted branch: the Hub answered 400 Bad Request: "),
    (9, "branches go", failing_with(410, "DELETE", "/branch/"), "deleting a deleted branch: the Hub answered 410 Gone: not here"),
    (9, "tags go", failing_with(410, "DELETE", "/tag/"), "deleting a missing tag: the Hub answered 410 Gone: not here"),
    (9, "tags move", lambda hub, request, usual: ours(hub).tags.clear() or usual() if "/tag/" in request.path else usual(),
     "a tag that exists: done, and not answered with 409"),
    (9, "names are taken", refusing("POST", "/repos/create", 400),
     "a repository that exists: the Hub answered 400 Bad Request: not here"),
    (10, "heads alone", refusing("POST", "/branch/", 400),
     "a branch that begins at an old commit: the Hub answered 400 Bad Request: not here"),
    (10, "main alone", at_main, "the branch begins at "),
    (11, "forgotten", after("POST", "/repos/move", lambda hub: hub.renamed.clear()),
     "the old name leads to None, and not org/doctor-"),
    (11, "refs forgotten", refusing("GET", "(?<!renamed)/refs$", 404, "RepoNotFound"),
     "refs by the old name: the Hub answered 404"),
    (11, "files forgotten", refusing("GET", "/resolve/", 404, "RepoNotFound"), "a file by the old name: the Hub answered 404"),
    (12, "a slow main", changed("/revision/main$", lambda info: info | {"sha": "2" * 40}), f"main is on {'2' * 40}, and not "),
    (12, "a slow file", refusing("HEAD", "aside/12", 404, "EntryNotFound"), "reading aside/12.parquet: the Hub answered 404"),
    (13, "no LFS", changed("/revision/main$", file_without("lfs")), "data/test-00000-of-00001.parquet is listed as "),
    (13, "no digest", changed("/revision/main$", file_without("blobId")), "manifest.json is listed as , and not "),
    (14, "all in LFS", changed("/revision/", file_without("", **LFS)), f": the Hub has other bytes ({'0' * 16}...)"),
    (16, "not listed", changed("/discussions$", lambda _: {"discussions": [], "count": 0, "start": 0}),
     "whether it is listed: False, and not True"),
    (17, "no role", changed("/whoami-v2", lambda who: who | {"auth": {"type": "oidc"}}), "the role of the token is None"),
    (18, "given to all", lambda hub, request, usual: Answer(200, b"", {}) if request.method == "HEAD" else usual(),
     "your token may read it"),
    (18, "not said", refusing("HEAD", "/resolve/", 403), "not readable: status 403"),
    (18, "hidden", refusing("GET", "/revision/main$", 404, "RepoNotFound"), "finding revision main failed: no such repository"),
    (19, "others", with_headers(RateLimit="limit=1000, remaining=7"), "it is limit=1000, remaining=7"),
    (20, "fewer", with_quota("api", 500), '"fixed window";"api";q=500;w=300; "fixed window";"resolvers";q=5000;w=300'),
    (22, "anything is made", making_anything, "main is on "),
    (23, "oldest first", changed("/commits/", lambda listed: listed[::-1]), "the newest is "),
    (23, "a part", changed("/commits/", lambda listed: listed[:1]), "the last ["),
    (24, "kept", ignoring("/lfs-files/batch$"), "aside/24.parquet: 1 deleted of "),
    (24, "not listed", changed("/lfs-files$", lambda _: []),
     "aside/24.parquet: 0 deleted of 0 files in LFS, and its first byte is sent"),
    (25, "not merged", ignoring("/merge$"), "aside/25.json is missing"),
    (26, "a file more", after("POST", "/commit/main", adding_a_file), "changed has ['.hub.yaml'], and not []"),
    (27, "nothing there", lambda _, request, usual: Answer(307, b"", {"Location": "/nowhere"}) if "/resolve/" in request.path
     else usual(), "reading manifest.json: "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "otherwise", "finding"),
    [
        pytest.param(number, otherwise, finding, id=f"{number}: {name}")
        for number, name, otherwise, finding in OTHERWISE
    ],
)
def test_a_hub_that_behaves_otherwise_is_noticed(
    hub: LoopbackHub, made: Throwaway, number: int, otherwise: Otherwise, finding: str
) -> None:
    hub.otherwise = lambda request, usual: otherwise(hub, request, usual)
    [answer] = ask_all(made, [number])
    hub.otherwise = lambda _, usual: usual()
    assert (answer.number, answer.state) == (number, "did not hold"), answer.finding
    assert finding in answer.finding


DISAGREEMENTS = {  # what the two Hubs answer; the package works with either
    14: ("text by git blob id; NUL bytes by git blob id", "text by git blob id; NUL bytes by sha256"),
    16: ("it is listed as open, an empty one as open", "it is listed as open, an empty one as draft"),
    18: ("its digests are gated too", "its digests are listed"),
    24: ("the Hub lists it, and has lost its content", "the Hub lists it, and its storage answers 403"),
    25: ("main is on its commit", "main is on another commit"),
    26: ("is not kept in LFS, so nothing was to be added", "for a file in LFS it changes"),
    27: ("status 200, of the same server", "status 307, then 200, of the same server"),
}


@pytest.mark.both_hubs
def test_a_hub_that_behaves_as_assumed(hub: LoopbackHub, made: Throwaway) -> None:
    answers = ask_all(made)
    assert [answer.number for answer in answers] == list(range(1, 28))
    states = {answer.number: (answer.state, answer.finding) for answer in answers}
    first = isinstance(hub, LoopbackHub)
    assert {number for number, (state, _) in states.items() if state != "held"} == OF_TIME | ({26} if first else set())
    assert {state for state, _ in states.values()} == {"held", "could not be asked"}
    for number, words in {
        3: "at once it does. A day after a squash: embedding-datasets check ORG/NAME@v1.0.0",
        5: "a reader gets the tag",
        6: "one with a message is listed on it",
        8: f"cards in {made.output}: 1",
        17: "this token has the role write: run doctor with a fine-grained one, and the workflow publish",
    }.items():
        assert states[number][1] == words
    for number, both in DISAGREEMENTS.items():
        assert states[number][1].endswith(both[0 if first else 1])
    assert re.fullmatch(r'"api";r=\d+;t=\d+; a 429 was not provoked', states[19][1])
    assert made.names == [f"{made.repo}-renamed"]
    if first:
        shown = [replace(answer, finding=answer.finding.replace(str(made.output), "outputs")) for answer in answers]
        text = assumptions.page("ORG at http://127.0.0.1:8080", shown)
        assert text in (ROOT / "docs" / "publishing.md").read_text("utf-8")


def test_what_decides_nothing_is_said_too(hub: LoopbackHub, made: Throwaway) -> None:
    (made.output / "a" / "1.0.0" / "README.md").unlink()

    others = [
        changed("/whoami-v2", lambda who: who | {"auth": {"accessToken": {"role": "fineGrained"}}}),
        changed("/revision/v5.0.0", lambda info: info | {"sha": made.second}),  # a branch before a tag
        after("POST", "/tag/", lambda hub: ours(hub).annotated.update({"v6.1.0": "0" * 40})),
        with_headers(RateLimit_Policy="none"),
    ]

    def otherwise(request: Request, usual: Usual) -> Answer:
        for other in others:
            usual = partial(other, hub, request, usual)
        return usual()

    hub.otherwise = otherwise
    states = {answer.number: (answer.state, answer.finding) for answer in ask_all(made, [5, 6, 8, 17, 20])}
    assert states == {
        5: ("held", "a reader gets the branch"),
        6: ("held", "one with a message is listed on an object of its own"),
        8: ("could not be asked", f"no release in {made.output}: build some, with --sample perhaps, or pass --output DIR"),
        17: ("held", ""),
        20: ("could not be asked",
             "RateLimit-Policy is ['none', 'none']: embedding-datasets check --org ORG --no-download -v counts requests"),
    }  # fmt: skip


def test_a_busy_hub_is_no_answer_and_an_unreadable_one_is(hub: LoopbackHub, made: Throwaway) -> None:
    hub.fail_at["/branch/doctor-10"] = Fault(status=503)
    [answer] = ask_all(made, [10])
    assert (answer.state, answer.finding) == (
        "could not be asked", "a branch that begins at an old commit failed: the Hub answered 503 Service Unavailable: a fault",
    )  # fmt: skip
    hub.otherwise = lambda request, usual: changed("/refs$", lambda _: {"branches": []})(hub, request, usual)
    [answer] = ask_all(made, [5])
    assert (answer.state, answer.finding) == (
        "did not hold", "reading its tags and branches failed: its answer has another form (KeyError: 'converts')",
    )  # fmt: skip


def test_a_hub_without_another_repository_lists_no_second_page(hub: LoopbackHub, made: Throwaway) -> None:
    for name in [name for name in hub.repos if name != made.repo]:
        del hub.repos[name]
    [answer] = ask_all(made, [2])
    assert (answer.state, answer.finding) == (
        "could not be asked",
        "this Hub has no other repository, so nothing continues",
    )


def test_nothing_else_is_written(hub: LoopbackHub, connection: HubClient, tmp_path: Path) -> None:
    hub.repos["org/other"] = Repo(private=False)
    hub.repos["org/other"].add("main", Commit({}, None, "first", ""))
    before = hub.state()[0]
    with throwaway_repository(connection, "org", tmp_path) as made:
        assert ours(hub).private
        ask_all(made)
    assert hub.state()[0] == before
    written = {
        request.path for request in hub.log if request.method not in {"GET", "HEAD"} and "/uploads/" not in request.path
    }
    whole = {"/api/repos/create", "/api/repos/move", "/api/repos/delete"}
    assert written > whole
    assert {path for path in written - whole if made.repo not in path} == set()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt], ids=["a defect", "Ctrl-C"])
def test_the_repository_is_deleted_whatever_happens(
    hub: LoopbackHub, connection: HubClient, tmp_path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Throwaway) -> list[str]:
        raise error

    monkeypatch.setattr(assumptions, "ASSUMPTIONS", (*ASSUMPTIONS[-1:], Assumption(99, "a", "b", fail)))
    before = set(hub.repos)
    with pytest.raises(error), throwaway_repository(connection, "org", tmp_path) as made:
        ask_all(made)
    assert set(hub.repos) == before
    assert made.repo in hub.renamed


@pytest.mark.parametrize(
    ("fault", "deleted"),
    [(Fault(status=500, executed=True), True), (Fault(status=403), False)],
    ids=["lost", "refused"],
)
def test_a_repository_that_may_exist_is_deleted(
    hub: LoopbackHub, connection: HubClient, tmp_path: Path, fault: Fault, deleted: bool
) -> None:  # fmt: skip
    before = set(hub.repos)
    hub.fail_at["/repos/create"] = fault
    with (
        pytest.raises(PublishError, match="creating the repository failed"),
        throwaway_repository(connection, "org", tmp_path),
    ):
        pass
    assert set(hub.repos) == before
    assert ("DELETE" in {request.method for request in hub.log}) == deleted


def test_a_name_that_cannot_be_deleted_does_not_keep_the_other(
    hub: LoopbackHub, connection: HubClient, tmp_path: Path
) -> None:
    before = set(hub.repos)

    def otherwise(request: Request, usual: Usual) -> Answer:
        if request.path.endswith("/repos/move") or (request.method == "DELETE" and b"-renamed" in request.body):
            raise HubError(403, "not here")
        return usual()

    hub.otherwise = otherwise
    with pytest.raises(PublishError, match="is not deleted"), throwaway_repository(connection, "org", tmp_path) as made:
        [answer] = ask_all(made, [11])
    assert (answer.state, answer.finding) == (
        "could not be asked", "renaming it failed: the Hub answered 403 Forbidden: not here",
    )  # fmt: skip
    assert set(hub.repos) == before


@pytest.fixture
def doctor(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function that runs `doctor --hub`, with few of the assumptions."""
    monkeypatch.setattr(client, "Patience", lambda **_: patience(retries=1, read=5))
    chosen = tuple(assumption for assumption in ASSUMPTIONS if assumption.number in {1, 15, 23, 11})
    monkeypatch.setattr(assumptions, "ASSUMPTIONS", chosen)
    return lambda *arguments, **options: run("doctor", "--hub", *arguments, **options)


def test_the_table_and_the_objects(hub: LoopbackHub, doctor: Callable[..., Any]) -> None:
    done = doctor("org")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[2] == " 1  held                a private repository is listed, with all files or none"
    assert lines[-1] == f"org at {hub.url}: 3 held, 1 could not be asked"
    assert max(map(len, lines)) <= 80
    assert "1, a private repository is listed, with all files or none: held\n" in done.stderr
    hub.otherwise = lambda request, usual: changed("/commits/", lambda listed: listed[::-1])(hub, request, usual)
    done = doctor("org", "--json")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [(one["number"], one["state"]) for one in objects] == [
        (1, "held"), (11, "held"), (15, "could not be asked"), (23, "did not hold"),
    ]  # fmt: skip
    assert objects[0].keys() == {"number", "assumption", "matters", "state", "finding"}
    assert "matters for publish: older versions\n" in doctor("org").stdout


def test_a_repository_that_cannot_be_deleted_is_named_with_the_command(
    hub: LoopbackHub, doctor: Callable[..., Any]
) -> None:
    hub.otherwise = lambda request, usual: refusing("DELETE", "/repos/delete", 403)(hub, request, usual)
    done = doctor("org")
    [left] = [name for name in hub.repos if name.startswith("org/doctor-")]
    assert done.returncode == 5
    assert "3 held" in done.stdout, "what was found is not lost"
    assert "doctor's repository is not deleted\n" in done.stderr
    assert f"to do:    hf repos delete {left} --repo-type dataset\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "token", "words"),
    [
        (["foreign"], WRITER, "use a token that may create datasets of foreign"),
        (["org"], READER, "the token can only read"),
        (["org"], "", "no token to publish with"),
        (["a/b"], WRITER, "invalid repository name"),
    ],
    ids=["no right", "read-only", "none", "no name"],
)
def test_who_may_not_create_is_told_so(
    hub: LoopbackHub, doctor: Callable[..., Any], arguments: list[str], token: str, words: str
) -> None:
    before = set(hub.repos)
    done = doctor(*arguments, token=token)
    assert done.returncode in {2, 5}
    assert words in done.stderr
    assert set(hub.repos) == before


class Keyboard(io.StringIO):
    """Standard input of a person at a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_person_at_a_terminal_is_asked_first(
    hub: LoopbackHub, doctor: Callable[..., Any], work_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("HF_TOKEN", WRITER)
    for typed, options, created in (("n\n", [], False), ("n\n", ["--yes"], True), ("y\n", [], True)):
        hub.log.clear()
        monkeypatch.setattr("sys.stdin", Keyboard(typed))
        monkeypatch.setattr("sys.argv", ["doctor", "--hub", "org", "--output", str(work_dir), *options])
        with nullcontext() if created else pytest.raises(PublishError, match="nothing was created"):
            doctor_command.main()
        assert bool(hub.log) == created


def test_the_hub_is_not_asked_offline(doctor: Callable[..., Any]) -> None:
    assert doctor("org", "--offline").returncode == 2


def test_an_interrupted_command_deletes_its_repository(hub: LoopbackHub, tmp_path: Path) -> None:
    before = set(hub.repos)
    hub.fail_at["/super-squash/"] = Fault(stall=True)
    command = [sys.executable, "-m", "pipelines", "doctor", "--hub", "org"]
    settings = processes.environment(hub, tmp_path)
    with subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + processes.LONGEST
        while not any("/tag/" in request.path for request in hub.log):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=processes.LONGEST)
    assert process.returncode == 130, err
    assert set(hub.repos) == before
