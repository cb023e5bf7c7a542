"""Raw files in Hub repositories: which may be mirrored, under which path, and what a second call does."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.errors import PublishError, UsageError
from builders.licenses import permits_redistribution
from builders.raw_files import RawFile, by_hand, https, member
from builders.raw_files import hub as on_the_hub
from builders.spec import Source
from pipelines import publish
from pipelines.hub import client, publishing
from pipelines.hub.commits import DONE, NEW, CommitOptions, Publication
from pipelines.hub.inspection import inspect_mirror
from pipelines.hub.raw_publishing import NOTHING, RawPlan, make_raw_plan, publish_raw
from pipelines.raw.locations import locate
from pipelines.raw.mirrors import parse_mirrors
from pipelines.raw.settings import RawSettings
from tests.support import loopback_hub
from tests.support.loopback_hub import WRITER, Fault, LoopbackHub
from tests.support.publishing import patience, refused, try_with_faults
from tests.support.raw_files import CONTENT, OTHER, error_of, git_blob, make_zip, sha256, source_of, write

REPO = "org/raw-demo"
URL = "https://a.example/file.jsonl"
FILE = https(URL, sha256=sha256(CONTENT))
PATH = f"sha256/{sha256(CONTENT)[:2]}/{sha256(CONTENT)}"
OPTIONS = CommitOptions("org")


@pytest.fixture
def settings(tmp_path: Path) -> RawSettings:
    """The file of the source `demo` below --raw-dir, an empty cache, an empty lock file."""
    write(tmp_path / "raw" / "demo" / "file.jsonl", CONTENT)
    write(tmp_path / "raw.lock.json", b"{}")
    return RawSettings(tmp_path / "raw", tmp_path / "cache", lock=tmp_path / "raw.lock.json", mirrors=())


def source_with(*files: RawFile, **others: Any) -> Source:
    return replace(source_of(FILE), files={file.name: file for file in files}, **others)


def plan(hub: LoopbackHub, settings: RawSettings, source: Source, options: CommitOptions = OPTIONS) -> RawPlan:
    connection = client.connect(PublishError, endpoint=hub.url, token=WRITER, patience=patience())
    return make_raw_plan(source, settings, options, connection)


def mirror(
    hub: LoopbackHub, settings: RawSettings, source: Source | None = None, options: CommitOptions = OPTIONS
) -> Publication[RawPlan]:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience())
    return publish_raw(source or source_of(FILE), settings, options, connection)


@pytest.mark.parametrize("lfs", [True, False])
def test_a_file_lies_under_its_digest_beside_a_card_and_comes_back_from_there(
    hub: LoopbackHub, settings: RawSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lfs: bool
) -> None:
    monkeypatch.setattr(loopback_hub, "_is_lfs", lambda path, _: lfs and path.startswith("sha256/"))
    assert plan(hub, settings, source_of(FILE)).state == NEW
    assert hub.repos == {}
    assert mirror(hub, settings).state == "published"
    tree = hub.tree(REPO)
    assert tree[PATH] == CONTENT
    card = tree["README.md"].decode()
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert (metadata["license"], metadata["viewer"]) == ("mit", False)
    assert f"| `file.jsonl` | `{PATH}` |" in card
    assert URL in card
    elsewhere = replace(
        settings, raw_dir=None, cache=tmp_path / "new", hub=hub.url, mirrors=parse_mirrors("hf://datasets/org")
    )
    gone = by_hand("file.jsonl", "It is gone.", sha256=sha256(CONTENT))
    assert locate(source_of(gone), "file", elsewhere).origin == "mirror"


@pytest.mark.both_hubs
@pytest.mark.parametrize("content", [CONTENT, bytes(1000)], ids=["a git blob", "in LFS"])
def test_a_private_file_comes_back_wherever_the_hub_sends_for_it(
    hub: LoopbackHub, settings: RawSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """The second Hub stores LFS files on another server, which refuses the token."""
    monkeypatch.setenv("HF_TOKEN", WRITER)
    write(tmp_path / "raw" / "demo" / "file.jsonl", content)
    mirror(hub, settings, source_of(https(URL, sha256=sha256(content))), replace(OPTIONS, private=True))
    mirrors, gone = parse_mirrors("hf://datasets/org"), by_hand("file.jsonl", "It is gone.", sha256=sha256(content))
    elsewhere = replace(settings, raw_dir=None, cache=tmp_path / "new", hub=hub.url, mirrors=mirrors)
    assert locate(source_of(gone), "file", elsewhere).raw.path.read_bytes() == content


@pytest.mark.both_hubs
@pytest.mark.parametrize("content", [CONTENT, bytes(1000)], ids=["text", "NUL bytes"])
@pytest.mark.parametrize("kind", [sha256, git_blob], ids=["sha256", "git-blob"])
def test_a_mirror_is_sound_whichever_digest_the_hub_lists(
    hub: LoopbackHub, settings: RawSettings, tmp_path: Path, content: bytes, kind: Callable[[bytes], str]
) -> None:
    """The second Hub keeps NUL bytes in LFS, and lists them by sha256."""
    write(tmp_path / "raw" / "demo" / "file.jsonl", content)
    source = source_of(https(URL, **{kind.__name__: kind(content)}))
    [path] = mirror(hub, settings, source).plan.names
    assert mirror(hub, settings, source).state == DONE
    connection = client.connect(endpoint=hub.url, token=WRITER, patience=patience())
    assert inspect_mirror(connection, REPO).state == "sound"
    hub.commit(REPO, {path: bytes(2000)})
    [problem] = inspect_mirror(connection, REPO).revisions[0].problems
    assert problem.what.startswith(f"{path} has other content: ")


@pytest.mark.both_hubs
def test_a_second_call_sends_nothing(hub: LoopbackHub, settings: RawSettings) -> None:
    commit = mirror(hub, settings).commit
    again = mirror(hub, settings)
    assert (again.state, again.commit) == (DONE, commit)
    assert len(hub.repos[REPO].commits) == 2


def test_a_file_that_is_on_the_hub_need_not_be_here(hub: LoopbackHub, settings: RawSettings, tmp_path: Path) -> None:
    mirror(hub, settings)
    other = https("https://a.example/other", sha256=sha256(OTHER))
    elsewhere = replace(settings, raw_dir=tmp_path / "raw2")
    write(tmp_path / "raw2" / "demo" / "other", OTHER)
    publication = mirror(hub, elsewhere, source_with(FILE, other))
    assert publication.plan.present == (PATH,)
    assert {"README.md", *publication.plan.names} == publication.plan.writes.keys() | {PATH}
    assert hub.tree(REPO)["README.md"].decode().count("| `sha256/") == 2


@pytest.mark.parametrize("fault", [Fault(status=500, executed=True), Fault(status=503), Fault(cut_answer=10)])
def test_an_interrupted_call_is_finished_by_the_next(hub: LoopbackHub, settings: RawSettings, fault: Fault) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(retries=0))
    try_with_faults(hub, fault, 6, lambda: publish_raw(source_of(FILE), settings, OPTIONS, connection))
    mirror(hub, settings)
    assert hub.tree(REPO)[PATH] == CONTENT


def test_somebody_elses_commit_in_between_is_kept(hub: LoopbackHub, settings: RawSettings) -> None:
    mirror(hub, settings, source_with(https("https://a.example/x", sha256=sha256(CONTENT), name="file.jsonl")))
    digest = sha256(b"mine")
    hub.before_answer["/commit/main"] = lambda: hub.commit(REPO, {f"sha256/{digest[:2]}/{digest}": b"mine"})
    write(settings.raw_dir / "demo" / "other", OTHER)  # type: ignore[operator]
    mirror(hub, settings, source_with(FILE, https("https://a.example/other", sha256=sha256(OTHER))))
    assert sum(path.startswith("sha256/") for path in hub.tree(REPO)) == 3


def test_other_bytes_under_a_digest_are_replaced(hub: LoopbackHub, settings: RawSettings) -> None:
    mirror(hub, settings)
    hub.commit(REPO, {PATH: OTHER})
    assert "other bytes" in plan(hub, settings, source_of(FILE)).notes[0]
    mirror(hub, settings)
    assert hub.tree(REPO)[PATH] == CONTENT


# Which files


def test_a_digest_must_be_known_to_the_source_or_to_the_committed_lock_file(
    hub: LoopbackHub, settings: RawSettings
) -> None:
    write(settings.cache / "raw.lock.json", json.dumps({"demo/file.jsonl": _entry()}).encode())
    unknown = source_of(https(URL))
    error = refused("no raw file can be mirrored", plan, hub, settings, unknown)
    assert error.found == "file.jsonl: no digest of it is known"
    write(settings.lock, json.dumps({"demo/file.jsonl": _entry()}).encode())
    assert PATH in plan(hub, settings, unknown).writes


def _entry() -> dict[str, Any]:
    return {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}


def test_a_member_that_is_here_without_its_archive_is_mirrored(
    hub: LoopbackHub, settings: RawSettings, tmp_path: Path
) -> None:
    """A build that lacks the archive asks mirrors for the member, by its digest."""
    archive = make_zip({"a/test.jsonl": CONTENT, "a/train.jsonl": OTHER})
    outer = https("https://a.example/files.zip", sha256=sha256(archive))
    test = member(outer, "a/test.jsonl", sha256=sha256(CONTENT), name="test.jsonl")
    train = member(outer, "a/train.jsonl", sha256=sha256(OTHER), name="train.jsonl")
    write(tmp_path / "raw" / "demo" / "test.jsonl", CONTENT)
    done = mirror(hub, settings, source_with(test, train)).plan
    assert (list(done.names.values()), done.missing) == (["test.jsonl", "files.zip"], ("files.zip",))
    assert hub.tree(REPO)[PATH] == CONTENT
    elsewhere = replace(
        settings, raw_dir=None, cache=tmp_path / "elsewhere", mirrors=parse_mirrors("hf://datasets/org"), hub=hub.url
    )
    assert locate(source_with(test, train), "test.jsonl", elsewhere).origin == "mirror"

    again = plan(hub, replace(settings, raw_dir=None, cache=tmp_path / "nothing"), source_with(test, train))
    assert (again.present, again.missing) == ((PATH,), ("files.zip",)), "what is mirrored need not be here"
    write(tmp_path / "raw" / "demo" / "files.zip", archive)
    whole = mirror(hub, settings, source_with(test, train)).plan
    digest = sha256(archive)
    assert (list(whole.names.values()), whole.missing) == (["files.zip", "test.jsonl"], ())
    assert hub.tree(REPO).keys() >= {PATH, f"sha256/{digest[:2]}/{digest}"}
    assert hub.tree(REPO)["README.md"].decode().count("| `test.jsonl` | `") == 1


def test_a_file_pinned_by_a_git_blob_id_lies_under_that(hub: LoopbackHub, settings: RawSettings) -> None:
    blob = git_blob(CONTENT)
    assert f"git-blob/{blob[:2]}/{blob}" in plan(hub, settings, source_of(https(URL, git_blob=blob))).writes


@pytest.mark.parametrize("known", [True, False], ids=["archive", "member"])
def test_of_an_archive_without_a_digest_the_member_is_kept(
    hub: LoopbackHub, settings: RawSettings, tmp_path: Path, known: bool
) -> None:
    archive = make_zip({"a/test.jsonl": CONTENT})
    write(tmp_path / "raw" / "demo" / "files.zip", archive)
    outer = https("https://a.example/files.zip", **({"sha256": sha256(archive)} if known else {}))
    source = source_of(member(outer, "a/test.jsonl", sha256=sha256(CONTENT)))
    writes = [path for path in mirror(hub, settings, source).plan.writes if path != "README.md"]
    digest = sha256(archive) if known else sha256(CONTENT)
    assert writes == [f"sha256/{digest[:2]}/{digest}"]
    assert hub.tree(REPO)[writes[0]] == (archive if known else CONTENT)


@pytest.mark.both_hubs
def test_a_file_that_is_nowhere_is_named(hub: LoopbackHub, settings: RawSettings) -> None:
    other = https("https://a.example/other", sha256=sha256(OTHER))
    assert plan(hub, settings, source_with(FILE, other)).missing == ("other",)
    assert plan(hub, settings, source_of(other)).state == NOTHING


def test_a_wrong_file_here_is_never_sent(hub: LoopbackHub, settings: RawSettings) -> None:
    assert "not the pinned file" in str(error_of(mirror, hub, settings, source_of(https(URL, sha256=sha256(OTHER)))))
    assert hub.repos == {}


@pytest.mark.parametrize("kind", ["sha256", "git_blob"])
def test_a_file_that_changes_after_it_was_verified_is_never_sent(
    hub: LoopbackHub, settings: RawSettings, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def plan_and_change(*arguments: Any) -> RawPlan:
        planned = make_raw_plan(*arguments)
        write(settings.raw_dir / "demo" / "file.jsonl", OTHER)  # type: ignore[operator]
        return planned

    digests = {"sha256": sha256(CONTENT), "git_blob": git_blob(CONTENT)}
    hub.create(REPO, {})
    monkeypatch.setattr("pipelines.hub.raw_publishing.make_raw_plan", plan_and_change)
    refused("has changed meanwhile", mirror, hub, settings, source_of(https(URL, **{kind: digests[kind]})))
    assert hub.tree(REPO).keys() <= {".gitattributes"}


# Which licences


@pytest.mark.parametrize("name", ["mit", "cc-by-nc-nd-4.0", "cc0-1.0"])
def test_a_licence_that_forbids_derivatives_permits_copies(name: str) -> None:
    assert permits_redistribution(name)


@pytest.mark.parametrize("name", ["unknown", "other", "my-own-terms"])
def test_terms_that_are_not_known_to_permit_sharing_are_refused_unless_private_or_with_the_rights(
    hub: LoopbackHub, settings: RawSettings, name: str
) -> None:
    source = replace(source_of(FILE), license=name, license_note="Ask the authors.")
    error = refused(f"licence {name} is not known to permit sharing", mirror, hub, settings, source)
    assert error.found == "Ask the authors."
    assert hub.repos == {}
    assert plan(hub, settings, source, replace(OPTIONS, rights=True)).private is False
    mirror(hub, settings, source, replace(OPTIONS, private=True))
    assert hub.repos[REPO].private


def test_private_files_never_get_into_a_public_repository(hub: LoopbackHub, settings: RawSettings) -> None:
    hub.create(REPO, {})
    refused(
        "the repository is public",
        mirror,
        hub,
        settings,
        replace(source_of(FILE), license="unknown"),
        replace(OPTIONS, private=True),
    )
    assert hub.tree(REPO).keys() <= {".gitattributes"}


def test_a_gated_file_is_left_out_unless_private_or_with_the_rights(hub: LoopbackHub, settings: RawSettings) -> None:
    gated = on_the_hub("org/data", 40 * "a", "gated.json", gated=True, sha256=sha256(OTHER))
    write(settings.raw_dir / "demo" / "gated.json", OTHER)  # type: ignore[operator]
    source = source_with(FILE, gated)
    assert plan(hub, settings, source).left_out.keys() == {"gated.json"}
    for options in (replace(OPTIONS, private=True), replace(OPTIONS, rights=True)):
        assert len(plan(hub, settings, source, options).writes) == 3


# Other people's repositories


@pytest.mark.both_hubs
@pytest.mark.parametrize(
    ("tree", "words"), [({"data.csv": b"1"}, "holds other files"), ({"README.md": b"# Mine"}, "somebody else's")]
)
def test_a_repository_of_somebody_else_is_left_alone(
    hub: LoopbackHub, settings: RawSettings, tree: dict[str, bytes], words: str
) -> None:
    hub.create(REPO, dict(tree))
    refused(words, mirror, hub, settings)
    assert hub.tree(REPO).items() >= tree.items()
    assert PATH not in hub.tree(REPO)
    if "README.md" in tree:
        mirror(hub, settings, options=replace(OPTIONS, overwrite_card=True))
        assert PATH in hub.tree(REPO)


def test_an_invalid_organisation_is_a_usage_error(hub: LoopbackHub, settings: RawSettings) -> None:
    with pytest.raises(UsageError, match="invalid repository name"):
        plan(hub, settings, source_of(FILE), CommitOptions("../x"))


# The command


def test_the_command_plans_publishes_and_says_what_is_not_here(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", WRITER)
    arguments = ["publish", "--raw", "piqa", "--org", "org", "--cache", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--json", "--dry-run"])
    assert publish.main() == 3
    shown = json.loads(capsys.readouterr().out)
    assert (shown["repo"], shown["state"], shown["license"]) == ("org/raw-piqa", NOTHING, "afl-3.0")
    assert shown["missing"] == ["valid.jsonl", "valid-labels.lst", "train.jsonl"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--json"])
    assert publish.main() == 3
    assert json.loads(capsys.readouterr().out) == shown | {"commit": "", "url": ""}
    monkeypatch.setattr(sys, "argv", arguments)
    assert publish.main() == 3
    assert capsys.readouterr().out.startswith(f"raw files of piqa: {NOTHING}\n  as        org/raw-piqa (to be created)")
    assert hub.repos == {}
    monkeypatch.setattr(sys, "argv", [*arguments[:2], "alphanli", *arguments[3:]])
    assert publish.main() == 5
    assert "licence unknown is not known to permit sharing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--raw", "--create-pr"], "--create-pr is not for --raw"),
        (["--raw-dir", "x"], "--raw-dir is only for --raw"),
        (["--raw", "--index"], "--raw or --index, not both"),
        (["--index", "--create-pr"], "--create-pr is not for --index"),
        (["--index", "--version", "one"], "three numbers such as 1.0.0"),
        (["--collection", "--create-pr"], "--collection is not for --create-pr"),
        (["--collection", "--raw"], "--collection is not for --raw"),
        (["--collection", "--repair"], "--collection is not for --repair"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["publish", "cedr", "--org", "org", *options])
    with pytest.raises(SystemExit):
        publish.main()
    assert words in capsys.readouterr().err
