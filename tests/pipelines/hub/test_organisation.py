"""`check --org`: five published datasets, and everything that can happen to them afterwards."""

import functools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from builders.errors import UsageError
from cards.manifest import encode
from pipelines import check
from pipelines.hub import client, organisation, publishing
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult
from pipelines.release.folder import require_manifest
from pipelines.scores.scoring import record_scores
from tests.support.loopback_hub import PAGE, READER, WRITER, Blob, Fault, LoopbackHub
from tests.support.publishing import patience
from tests.support.raw_files import error_of
from tests.support.releases import definition_of
from tests.support.scores import scores_of

RUBQ, CEDR, STS = "rubq-retrieval", "cedr-classification", "ru-paraphraser-sts"
VERSIONS = {
    "georeview-clustering-p2p": ["2.0.0"],
    CEDR: ["2.0.0"],
    STS: ["1.0.0", "2.0.0"],
    RUBQ: ["1.0.0", "2.0.0"],
    "terra-pairclassification": ["1.0.0"],
}


class Published(NamedTuple):
    """The five datasets on a Hub. output: their releases. ledger: where their publication is recorded. state: of the Hub."""

    hub: LoopbackHub
    output: Path
    ledger: Path
    state: Any


class Run(NamedTuple):
    """What the command returned and printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Stdout with single spaces: words that a line break divides are found."""
        return " ".join(self.out.split())

    def wrong(self) -> list[str]:
        """The lines of the table that are not sound."""
        table = self.out.split("\n\n")[1].splitlines()[2:]
        names = [line.split()[0] if line[0] != " " else "" for line in table]
        for number, name in enumerate(names):
            names[number] = name or names[number - 1]
        states = [line[len(line.rstrip()) - 5 :] for line in table]
        return [
            f"{name} {line[36:].split()[0]}"
            for name, line, state in zip(names, table, states, strict=True)
            if state != "sound"
        ]


@pytest.fixture(scope="module")
def organisation_state(
    request: pytest.FixtureRequest, golden_release: Callable[..., BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("organisation")
    options = PublishOptions("org", folder / "cache", ledger=folder / "ledger.json")
    with getattr(request, "param", LoopbackHub)() as hub:
        connection = publishing.login(endpoint=hub.url, token=WRITER)
        for name, versions in VERSIONS.items():
            for version in versions:
                built = golden_release(name, version)
                release_dir = folder / "outputs" / name / version
                shutil.copytree(built.release_dir, release_dir)
                (release_dir / "manifest.json").write_bytes(encode(replace(built.manifest, sample=False)))
                publishing.publish(definition_of(name), release_dir, options, connection)
        yield Published(hub, folder / "outputs", folder / "ledger.json", hub.state())


@pytest.fixture
def published(organisation_state: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    """The organisation as it was published, with a ledger and releases that a test may change."""
    hub = organisation_state.hub
    hub.restore(organisation_state.state)
    shutil.copytree(organisation_state.output, tmp_path / "outputs")
    shutil.copyfile(organisation_state.ledger, tmp_path / "ledger.json")
    shutil.copytree(organisation_state.ledger.parent / "refs", tmp_path / "refs")
    timeouts = patience(read=5)
    monkeypatch.setattr(client, "connect", functools.partial(client.connect, endpoint=hub.url, patience=timeouts))
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_TOKEN", READER)
    return Published(hub, tmp_path / "outputs", tmp_path / "ledger.json", None)


@pytest.fixture
def run(
    published: Published, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Run]:
    """A function that runs `check --org org` with more arguments."""

    def run(*arguments: str, ledger: bool = True) -> Run:
        record = ["--ledger", str(published.ledger)] if ledger else []
        line = ["check", "--org", "org", "--output", str(published.output), *record, *arguments]
        monkeypatch.setattr(sys, "argv", line)
        capsys.readouterr()
        return Run(check.main(), *capsys.readouterr())

    return run


def assert_wrong(checked: Run, revisions: list[str], *words: str) -> None:
    """Assert that exactly these revisions, perhaps none, are not sound, and that the page says why."""
    assert (checked.code, checked.wrong()) == (int(bool(revisions)), revisions)
    for sentence in words:
        assert sentence in checked.text


def tag(published: Published, name: str, version: str = "v2.0.0") -> str:
    return published.hub.repos[f"org/{name}"].tags[version]


def data_file(published: Published, name: str) -> str:
    return min(path for path in published.hub.tree(f"org/{name}") if path.endswith(".parquet"))


def without_first_row(published: Published, name: str, tmp_path: Path) -> bytes:
    """The first data file of a dataset, without its first row."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(published.hub.tree(f"org/{name}")[data_file(published, name)])
    pl.read_parquet(path).slice(1).write_parquet(path)
    return path.read_bytes()


def parquet(tmp_path: Path) -> bytes:
    pl.DataFrame({"text": ["a"], "label": [1]}).write_parquet(tmp_path / "stray.parquet")
    return (tmp_path / "stray.parquet").read_bytes()


def test_better_documents_on_main_are_no_problem(published: Published, run: Callable[..., Run], tmp_path: Path) -> None:
    release_dir = published.output / CEDR / "2.0.0"
    record_scores(release_dir, scores_of(require_manifest(release_dir), metric="accuracy", split="test"))
    options = PublishOptions("org", tmp_path / "cache", ledger=published.ledger)
    connection = publishing.login(endpoint=published.hub.url, token=WRITER)
    updated = publishing.publish(definition_of(CEDR), release_dir, options, connection)
    assert updated.state == "documents updated"
    assert updated.commit != tag(published, CEDR)
    assert_wrong(run(), [])


@pytest.mark.both_hubs
@pytest.mark.parametrize("arguments", [[], ["--no-download"]], ids=["downloaded", "listed"])
def test_a_sound_organisation_is_listed_and_exits_with_0(run: Callable[..., Run], arguments: list[str]) -> None:
    checked = run(*arguments)
    assert checked.code == 0
    how = "digests compared, rows not verified" if arguments else "rows verified"
    assert (
        checked.out
        == f"""\
org: 5 datasets: 5 sound ({how})

repository                          at       version  ledger  local  state
----------------------------------  -------  -------  ------  -----  -----------
cedr-classification                 v2.0.0   2.0.0    same    same   sound
                                    main     2.0.0    same    same   sound
georeview-clustering-p2p            v2.0.0   2.0.0    same    same   sound
                                    main     2.0.0    same    same   sound
ru-paraphraser-sts                  v1.0.0   1.0.0    same    same   sound
                                    v2.0.0   2.0.0    same    same   sound
                                    main     2.0.0    same    same   sound
rubq-retrieval                      v1.0.0   1.0.0    same    same   sound
                                    v2.0.0   2.0.0    same    same   sound
                                    main     2.0.0    same    same   sound
terra-pairclassification            v1.0.0   1.0.0    same    same   sound
                                    main     1.0.0    same    same   sound
"""
    )
    assert "org/cedr-classification (1 of 5)" in checked.err
    assert ("org/rubq-retrieval: verifying v1.0.0, " in checked.err) is not bool(arguments)


@pytest.mark.both_hubs
def test_each_of_many_problems_is_named(run: Callable[..., Run], published: Published, tmp_path: Path) -> None:
    hub = published.hub
    hub.repos[f"org/{CEDR}"].tags["v2.0.0"] = hub.commit(f"org/{CEDR}", {"notes.txt": b"mine"})
    del hub.repos[f"org/{RUBQ}"].tags["v1.0.0"]
    hub.commit("org/terra-pairclassification", {"data/dev-00000-of-00009.parquet": parquet(tmp_path)})
    hub.commit(f"org/{STS}", {data_file(published, STS): without_first_row(published, STS, tmp_path)})
    hub.commit("org/georeview-clustering-p2p", {"manifest.json": b"{}"})
    hub.create("org/ria-news-retrieval", {"train.csv": b"a,b\n"})
    checked = run()
    assert checked.wrong() == [
        f"{CEDR} v2.0.0", "georeview-clustering-p2p main", "ria-news-retrieval main", f"{STS} main",
        f"{RUBQ} v1.0.0", "terra-pairclassification main",
    ]  # fmt: skip
    assert max(len(line) for line in checked.out.splitlines() if "embedding-datasets publish" not in line) <= 80
    assert run("--no-download").wrong() == checked.wrong()


def test_a_moved_tag_is_named_with_the_commands_that_put_it_back(run: Callable[..., Run], published: Published) -> None:
    repo = published.hub.repos[f"org/{CEDR}"]
    recorded = tag(published, CEDR)
    repo.tags["v2.0.0"] = moved = published.hub.commit(f"org/{CEDR}", {"notes.txt": b"mine"})
    moves = f"moved: it is on commit {moved}, and the version was published on {recorded}"
    command = f"embedding-datasets publish --repair {CEDR} --org org --ledger {published.ledger}"
    assert_wrong(run("--no-download"), [f"{CEDR} v2.0.0"], moves, command)


@pytest.mark.both_hubs
def test_a_moved_tag_with_the_same_rows_is_noticed_only_by_the_recorded_commit(
    run: Callable[..., Run], published: Published
) -> None:
    repo = published.hub.repos[f"org/{CEDR}"]
    repo.tags["v2.0.0"] = published.hub.commit(f"org/{CEDR}", {"notes.txt": b"mine"})
    (published.ledger.parent / "refs" / f"{CEDR}.jsonl").unlink()
    words = "v2.0.0 is not recorded, a moved tag is not noticed"
    assert_wrong(run("--no-download"), [], words, f"check --org org {CEDR} --record")


@pytest.mark.parametrize("arguments", [[], ["--no-download"]], ids=["downloaded", "listed"])
@pytest.mark.parametrize("stray", [True, False], ids=["a stray file that loads with the data", "other rows in a file"])
def test_other_data_on_main_are_named(
    run: Callable[..., Run], published: Published, tmp_path: Path, arguments: list[str], stray: bool
) -> None:
    path = "data/test-00000-of-00009.parquet" if stray else data_file(published, CEDR)
    published.hub.commit(f"org/{CEDR}", {path: without_first_row(published, CEDR, tmp_path)})
    assert_wrong(run(*arguments), [f"{CEDR} main"], path, "revert what was committed to main after v2.0.0")


def test_rows_of_the_right_digest_are_hashed_again(
    run: Callable[..., Run], published: Published, tmp_path: Path
) -> None:
    """Whoever edits the manifest's digests too is noticed by the content hash of the rows."""
    path = data_file(published, CEDR)
    content = without_first_row(published, CEDR, tmp_path)
    manifest = json.loads(published.hub.tree(f"org/{CEDR}")["manifest.json"])
    for file in (file for table in manifest["tables"] for file in table["files"]):
        if file["path"] == path:
            file |= {"sha256": Blob(content, lfs=True).sha256, "bytes": len(content)}
    published.hub.commit(f"org/{CEDR}", {path: content, "manifest.json": json.dumps(manifest).encode()})
    assert_wrong(run("--no-download"), [f"{CEDR} main"], "its manifest names other files than that of v2.0.0")
    assert_wrong(run(), [f"{CEDR} main"], "default/test: other rows than the manifest's")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"content_sha256": "0" * 64}, "its manifest names other rows than that of v2.0.0"),
        ({"version": "9.0.0"}, "holds 9.0.0, which has no tag"),
        ({"version": "1.0.0"}, "holds 1.0.0, and v2.0.0 is newer"),
        ({"dataset": "other"}, "holds another dataset: other"),
        ({"tables": "none"}, "main"),
    ],
    ids=["content hash", "newer version", "older version", "another dataset", "invalid"],
)
def test_an_edited_manifest_is_named(
    run: Callable[..., Run], published: Published, change: dict[str, Any], words: str
) -> None:
    manifest = json.loads(published.hub.tree(f"org/{STS}")["manifest.json"]) | change
    published.hub.commit(f"org/{STS}", {"manifest.json": json.dumps(manifest).encode()})
    assert_wrong(run("--no-download"), [f"{STS} main"], words)


def test_an_edited_card_is_named(run: Callable[..., Run], published: Published) -> None:
    published.hub.commit(f"org/{CEDR}", {"README.md": b"---\nlicense: mit\n---\nmine\n"})
    assert_wrong(run("--no-download"), [f"{CEDR} main"], "README.md")


def test_a_tag_that_the_record_does_not_have_is_named(run: Callable[..., Run], published: Published) -> None:
    published.hub.repos[f"org/{CEDR}"].tags.update({"v7.0.0": tag(published, CEDR), "mine": tag(published, CEDR)})
    wrong = [f"{CEDR} v7.0.0", f"{CEDR} main"]
    assert_wrong(run("--no-download"), wrong, "the record has no such version", "tags mine: not of a version")


def test_other_rows_than_in_the_ledger_are_named(run: Callable[..., Run], published: Published) -> None:
    entries = json.loads(published.ledger.read_text())
    entries[CEDR]["2.0.0"]["content_sha256"] = entries[CEDR]["2.0.0"]["tables"][0]["content_sha256"] = "0" * 64
    published.ledger.write_text(json.dumps(entries))
    words = "other rows than in the ledger: default/train: other rows, 000000000000 -> "
    assert_wrong(run("--no-download"), [f"{CEDR} v2.0.0"], words)


def test_other_rows_than_in_the_local_release_are_named(run: Callable[..., Run], published: Published) -> None:
    path = published.output / CEDR / "2.0.0" / "manifest.json"
    manifest = json.loads(path.read_text()) | {"content_sha256": "0" * 64}
    path.write_text(json.dumps(manifest))
    checked = run("--no-download")
    assert checked.code == 1
    assert f"embedding-datasets diff org/{CEDR}@v2.0.0 {path.parent}\n" in checked.out
    path.write_text(json.dumps(manifest | {"sample": True}))
    assert run("--no-download").code == 0, "a sample says nothing of the whole dataset"


def test_a_repository_with_a_name_of_ours_and_other_content_is_named(
    run: Callable[..., Run], published: Published
) -> None:
    published.hub.create("org/ria-news-retrieval", {"train.csv": b"a,b\n1,2\n"})
    assert_wrong(
        run("--no-download"), ["ria-news-retrieval main"], "no manifest.json", "publish under another --repo-name"
    )


@pytest.mark.both_hubs
def test_repositories_of_other_names_are_checked_if_they_hold_a_manifest_of_ours_and_else_listed(
    run: Callable[..., Run], published: Published
) -> None:
    ours = published.hub.create("org/emotions", dict(published.hub.tree(f"org/{CEDR}", "v2.0.0")))
    published.hub.repos["org/emotions"].tags["v2.0.0"] = ours
    published.hub.create("org/extension", {"manifest.json": b'{"name": "an extension"}'})
    published.hub.create("org/plain", {"README.md": b""})
    assert_wrong(
        run("--no-download"),
        [],
        "emotions v2.0.0 2.0.0 same same sound",
        "v2.0.0 is not recorded, a moved tag is not noticed",
        "without a release of this package, not checked: extension, plain",
    )


@pytest.mark.both_hubs
def test_a_gated_repository_is_told_and_not_checked(run: Callable[..., Run], published: Published) -> None:
    published.hub.repos[f"org/{CEDR}"].gated = True
    assert_wrong(
        run("--no-download"),
        [f"{CEDR} v2.0.0", f"{CEDR} main"],
        "5 datasets: 4 sound, 1 not checked",
        "not checked: gated: only a token (HF_TOKEN) of somebody who was given access can read it",
    )


def test_a_moved_tag_of_a_gated_repository_is_noticed(run: Callable[..., Run], published: Published) -> None:
    repo = published.hub.repos[f"org/{CEDR}"]
    repo.gated, repo.tags["v2.0.0"] = True, published.hub.commit(f"org/{CEDR}", {"notes.txt": b"mine"})
    assert "moved: it is on commit" in run("--no-download").text


@pytest.mark.both_hubs
def test_a_private_or_deleted_repository_is_told_and_not_checked(
    run: Callable[..., Run], published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    published.hub.repos[f"org/{CEDR}"].private = True
    del published.hub.repos[f"org/{RUBQ}"]
    assert_wrong(
        run("--no-download"),
        [f"{CEDR} v2.0.0", f"{RUBQ} v1.0.0", f"{RUBQ} v2.0.0"],
        "not checked: not found: deleted, renamed, or private and not open to this token",
    )


def test_names_limit_the_check(run: Callable[..., Run], published: Published) -> None:
    published.hub.repos[f"org/{RUBQ}"].tags.clear()
    assert run("cedr", "terra", "--no-download").out.startswith("org: 2 datasets: 2 sound")


def test_a_dataset_that_was_named_and_never_published_is_not_sound(run: Callable[..., Run]) -> None:
    assert_wrong(run("ria-news-retrieval", "--no-download"), ["ria-news-retrieval main"], "not found")


def test_json_has_an_object_for_each_dataset(run: Callable[..., Run], published: Published) -> None:
    published.hub.repos[f"org/{RUBQ}"].tags.pop("v1.0.0")
    checked = run("--json")
    objects = [json.loads(line) for line in checked.out.splitlines()]
    assert checked.code == 1
    assert {one["repository"]: one["state"] for one in objects} == {
        f"org/{name}": "wrong" if name == RUBQ else "sound" for name in VERSIONS
    }
    [cedr] = [one for one in objects if one["dataset"] == CEDR]
    entry = json.loads(published.ledger.read_text())[CEDR]["2.0.0"]
    assert cedr["revisions"][0] == {
        "name": "v2.0.0", "commit": tag(published, CEDR), "version": "2.0.0", "content_sha256": entry["content_sha256"],
        "ledger": "same", "local": "same", "verified": True, "problems": [], "notes": [], "not_checked": None, "state": "sound",
    }  # fmt: skip
    [rubq] = [one for one in objects if one["dataset"] == RUBQ]
    assert rubq["revisions"][0]["commit"] is None
    assert rubq["revisions"][0]["problems"][0]["commands"]


def test_an_organisation_without_datasets_of_ours_is_not_sound(run: Callable[..., Run], published: Published) -> None:
    published.hub.repos.clear()
    shutil.rmtree(published.ledger.parent / "refs")
    checked = run()
    assert (checked.code, checked.out) == (1, "org: no dataset of this package\n")


def test_another_server_without_a_ledger_is_not_compared_with_the_publications_of_the_hub(
    run: Callable[..., Run], published: Published
) -> None:
    published.hub.repos[f"org/{CEDR}"].tags["v2.0.0"] = published.hub.commit(f"org/{CEDR}", {"notes.txt": b"mine"})
    checked = run("cedr", "--no-download", ledger=False)
    assert "HF_ENDPOINT is not the Hub: tags are not compared with recorded commits" in checked.text
    assert "moved" not in checked.text


def test_a_hub_that_fails_exits_with_5_and_shows_what_was_checked(
    run: Callable[..., Run], published: Published
) -> None:
    published.hub.fail_at[f"/{RUBQ}/refs"] = Fault(status=503)
    checked = run("--no-download")
    assert checked.code == 5
    assert "503" in checked.err
    assert "org: 3 datasets: 3 sound" in checked.out


def test_a_hub_that_is_out_of_reach_exits_with_5(run: Callable[..., Run], published: Published) -> None:
    published.hub.fail(0, Fault(status=500), always=True)
    checked = run()
    assert (checked.code, checked.out) == (5, "")
    assert "listing its datasets failed" in checked.err


def test_a_token_that_is_not_valid_exits_with_5(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_notAValidToken")
    checked = run()
    assert (checked.code, checked.out) == (5, "")
    assert "hf_notAValidToken" not in checked.err


def test_a_listing_that_continues_on_another_server_is_not_followed(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = client.connect(endpoint=published.hub.url, token=READER, patience=patience())
    monkeypatch.setattr(organisation, "read_page", lambda *_: ([], "http://127.0.0.1:9/api/datasets?cursor=1"))
    assert "continues on another server" in str(error_of(organisation.list_repositories, connection, "org"))


def test_names_that_are_not_of_a_repository_of_the_organisation_are_left_out_of_the_listing(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = client.connect(token=READER)
    names = ["org/..", "org/a/b", "other/name", "orgname", "org/\x1b[31m", "org/fine"]
    page = [organisation.Listed(name) for name in names]
    monkeypatch.setattr(organisation, "read_page", lambda *_: (page, None))
    assert list(organisation.list_repositories(connection, "org")) == ["org/fine"]


def test_a_version_behind_a_name_is_a_usage_error(run: Callable[..., Run]) -> None:
    with pytest.raises(UsageError, match="--org checks all versions"):
        run("cedr@1.0.0")


@pytest.mark.both_hubs
def test_the_listing_is_read_to_its_last_page(published: Published) -> None:
    connection = client.connect(token=READER)
    assert len(VERSIONS) > PAGE
    assert list(organisation.list_repositories(connection, "org")) == sorted(f"org/{name}" for name in VERSIONS)


@pytest.mark.parametrize("org", ["", "a/b", "..", "org name", "-"])
def test_an_invalid_name_of_an_organisation_is_a_usage_error(
    published: Published, monkeypatch: pytest.MonkeyPatch, org: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["check", f"--org={org}"])
    with pytest.raises((UsageError, SystemExit)) as caught:
        sys.exit(check.main())
    assert getattr(caught.value, "exit_code", None) == 2 or getattr(caught.value, "code", None) == 2
