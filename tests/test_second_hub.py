"""The second loopback Hub behaves as the Hub's documentation and the tests of its client say, and otherwise as git does."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import (
    CommitInfo,
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    HfFileSystem,
    close_session,
    get_session,
)
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.support.paths import ROOT
from tests.support.second_hub import second_hub
from tests.support.second_hub_api import Account, Hub

ACCOUNTS = {
    "alice": Account("alice", orgs=("org",)),
    "reader": Account("alice", role="read", orgs=("org",)),
    "stranger": Account("stranger"),
}
D = {"repo_id": "org/d", "repo_type": "dataset"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    close_session()  # an earlier test may have left short timeouts in it
    with second_hub(ACCOUNTS) as hub:
        HfApi(hub.url, token="alice").create_repo(**D)
        yield hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    return HfApi(hub.url, token="alice")


def commit(api: HfApi, files: dict[str, bytes | None], **options: str | bool) -> CommitInfo:
    """Commit contents by path, None to delete."""
    operations = [
        CommitOperationDelete(path) if content is None else CommitOperationAdd(path, content)
        for path, content in files.items()
    ]
    return api.create_commit(**D, operations=operations, commit_message="Change", **options)


def paths(api: HfApi, revision: str) -> set[str]:
    return {entry.path for entry in api.list_repo_tree(**D, revision=revision, recursive=True)}


def test_files_come_back_as_they_were_committed(api: HfApi, tmp_path: Path) -> None:
    files = {"a.txt": b"text", "data/b c.parquet": bytes(2500), "data/ж.bin": b"x", "large.json": b"7" * 10_500_000}
    sha = commit(api, files).oid
    folder = Path(api.snapshot_download(**D, cache_dir=tmp_path))
    assert folder.name == sha
    assert {path: (folder / path).read_bytes() for path in files} == files
    assert "large.json filter=lfs" in (folder / ".gitattributes").read_text()
    info = {one.rfilename: one for one in api.dataset_info("ORG/D", files_metadata=True).siblings or []}
    assert {path for path in info if info[path].lfs} == {"data/b c.parquet", "data/ж.bin", "large.json"}
    assert info["data/b c.parquet"].lfs["sha256"] == hashlib.sha256(bytes(2500)).hexdigest()
    assert info["a.txt"].blob_id == hashlib.sha1(b"blob 4\0text").hexdigest()


def test_trees_come_in_pages_and_ranges_are_served(hub: Hub, api: HfApi) -> None:
    commit(api, {"a.txt": b"0123456789", "1/b.parquet": bytes(range(100)), "1/2/c.txt": b"c"})
    assert paths(api, "main") == {".gitattributes", "a.txt", "1", "1/b.parquet", "1/2", "1/2/c.txt"}
    assert [one.path for one in api.list_repo_tree(**D, path_in_repo="1", expand=True) if one.last_commit] == [
        "1/2",
        "1/b.parquet",
    ]
    with pytest.raises(EntryNotFoundError):
        list(api.list_repo_tree(**D, path_in_repo="unknown"))
    known = api.get_paths_info(**D, paths=["1", "a.txt", "none"], expand=True)
    assert [(one.path, one.last_commit.title) for one in known] == [("1", "Change"), ("a.txt", "Change")]
    system = HfFileSystem(endpoint=hub.url, token="alice", skip_instance_cache=True)
    assert system.read_block("datasets/org/d/1/b.parquet", 10, 5) == bytes(range(10, 15))
    assert system.cat_file("datasets/org/d/a.txt", start=-3) == b"789"
    assert system.ls("datasets/org/d/1", detail=False) == ["datasets/org/d/1/2", "datasets/org/d/1/b.parquet"]
    out = get_session().get(f"{hub.url}/datasets/org/d/resolve/main/a.txt", headers={"Range": "bytes=10-"})
    assert (out.status_code, out.headers["Content-Range"]) == (416, "bytes */10")


def test_tags_and_branches_are_those_of_git(hub: Hub, api: HfApi) -> None:
    first = commit(api, {"a.txt": b"1"}).oid
    second = commit(api, {"a.txt": b"2"}).oid
    api.create_branch(**D, branch="v1", revision=first)  # a commit that no branch leads to any longer
    api.create_tag(**D, tag="v1", revision=second[:7], tag_message="annotated")
    refs = api.list_repo_refs(**D)
    assert [(one.name, one.target_commit) for one in refs.branches] == [("main", second), ("v1", first)]
    assert [(one.ref, one.target_commit) for one in refs.tags] == [("refs/tags/v1", second)]
    assert hub.repos["org/d"].git.git("cat-file", "-t", "v1").strip() == b"tag"
    assert api.dataset_info("org/d", revision="v1").sha == second  # git's rule: the tag
    assert api.dataset_info("org/d", revision="refs/heads/v1").sha == first
    for call in (api.create_tag, api.create_branch):
        with pytest.raises(HfHubHTTPError, match="already exists") as error:
            call("org/d", repo_type="dataset", **{call.__name__.removeprefix("create_"): "v1"})
        assert error.value.response.status_code == 409
    with pytest.raises(BadRequestError):
        api.create_tag(**D, tag="not a name")
    api.delete_tag(**D, tag="v1")
    api.delete_branch(**D, branch="v1")
    for delete in (lambda: api.delete_tag(**D, tag="v1"), lambda: api.delete_branch(**D, branch="v1")):
        with pytest.raises(RevisionNotFoundError, match="Invalid rev id: v1"):
            delete()
    with pytest.raises(HfHubHTTPError, match="Cannot delete refs/heads/main"):
        api.delete_branch(**D, branch="main")


def test_a_commit_names_its_parent_or_is_refused(api: HfApi) -> None:
    first = commit(api, {"a.txt": b"1", "1/b.txt": b"b"}).oid
    commit(api, {"1": None, "a.txt": b"2"}, parent_commit=first)
    with pytest.raises(HfHubHTTPError, match="The branch was updated") as error:
        commit(api, {"a.txt": b"3"}, parent_commit=first)
    assert error.value.response.status_code == 412
    assert [one.title for one in api.list_repo_commits(**D)] == ["Change", "Change", "initial commit"]
    assert paths(api, "main") == {".gitattributes", "a.txt"}
    with pytest.raises(EntryNotFoundError, match="A file with this name doesn't exist"):
        commit(api, {"1": None})
    with pytest.raises(HfHubHTTPError, match="Invalid path") as error:
        commit(api, {"..\\x": b""})
    assert error.value.response.status_code == 422
    with pytest.raises(RevisionNotFoundError):
        commit(api, {"a.txt": b"4"}, revision="no-branch")


def test_a_commit_that_was_cut_or_lacks_its_files_is_refused(hub: Hub, api: HfApi) -> None:
    header = b'{"key": "header", "value": {"summary": "x"}}\n'
    lost = b'{"key": "lfsFile", "value": {"path": "a.bin", "algo": "sha256", "oid": "' + b"0" * 64 + b'", "size": 1}}\n'
    for body, words in {
        b"": "header",
        header: "Add a line",
        header + lost[:20]: "JSON",
        header + lost: "LFS pointer",
    }.items():
        answer = get_session().post(
            f"{hub.url}/api/datasets/org/d/commit/main", content=body, headers={"Authorization": "Bearer alice"}
        )
        assert (answer.status_code, words in answer.json()["error"]) == (400, True)
    with pytest.raises(ValueError, match="Invalid metadata"):
        commit(api, {"README.md": b"---\nlanguage: [no]\n---\n"})  # false, in YAML
    assert len(api.list_repo_commits(**D)) == 1


def test_squashed_commits_live_while_a_ref_leads_to_them(hub: Hub, api: HfApi, tmp_path: Path) -> None:
    kept, lost = commit(api, {"a.bin": b"1"}).oid, commit(api, {"a.bin": b"2"}).oid
    commit(api, {"a.bin": b"3"})
    api.create_tag(**D, tag="v1", revision=kept)
    api.super_squash_history(**D)
    assert len(api.list_repo_commits(**D)) == 1
    assert api.dataset_info("org/d", revision=lost).sha == lost
    hub.forget("org/d", lost)
    with pytest.raises(RevisionNotFoundError):
        api.dataset_info("org/d", revision=lost)
    files = [
        api.hf_hub_download(**D, filename="a.bin", revision=revision, cache_dir=tmp_path) for revision in ("v1", "main")
    ]
    assert [Path(file).read_bytes() for file in files] == [b"1", b"3"]
    for file in hub.repos["org/d"].lfs.iterdir():
        file.unlink()
    assert api.list_repo_files(**D, revision="v1") == [".gitattributes", "a.bin"]  # as issue 4430 has it
    with pytest.raises(HfHubHTTPError, match="403 Forbidden"):
        api.hf_hub_download(**D, filename="a.bin", revision="v1", cache_dir=tmp_path / "new")


def test_private_and_gated_datasets_are_for_members(hub: Hub, api: HfApi, tmp_path: Path) -> None:
    commit(api, {"a.txt": b"1"})
    stranger, nobody = HfApi(hub.url, token="stranger"), HfApi(hub.url, token=False)
    hub.repos["org/d"].gated = "manual"
    assert stranger.dataset_info("org/d").gated == "manual"
    for other in (stranger, nobody):
        with pytest.raises(GatedRepoError):
            other.hf_hub_download(**D, filename="a.txt", cache_dir=tmp_path)
    hub.repos["org/d"].private, hub.repos["org/d"].gated = True, False
    for other in (stranger, nobody):
        assert list(other.list_datasets(author="org")) == []
        with pytest.raises(RepositoryNotFoundError):
            other.dataset_info("org/d")
    reader = HfApi(hub.url, token="reader")
    assert reader.whoami()["auth"]["accessToken"]["role"] == "read"
    assert Path(reader.hf_hub_download(**D, filename="a.txt", cache_dir=tmp_path)).read_bytes() == b"1"
    with pytest.raises(HfHubHTTPError, match="403 Forbidden: Forbidden: you must use a write token"):
        commit(reader, {"a.txt": b"2"})
    with pytest.raises(HfHubHTTPError, match="Invalid user token"):
        HfApi(hub.url, token="unknown").whoami()


def test_datasets_are_listed_in_pages_and_move(hub: Hub, api: HfApi) -> None:
    for name in ("e", "f", "g"):
        api.create_repo(f"org/{name}", repo_type="dataset")
    api.create_repo("alice/d", repo_type="dataset")
    listed = list(api.list_datasets(author="org", full=True))
    assert ([one.id for one in listed], listed[0].siblings) == (["org/d", "org/e", "org/f", "org/g"], None)
    api.move_repo("org/d", "org/new", repo_type="dataset")
    commit(api, {"a.bin": b"1"})  # preupload, LFS and commit follow the redirect
    assert api.dataset_info("org/d").id == "org/new"
    assert paths(api, "main") == {".gitattributes", "a.bin"}
    with pytest.raises(HfHubHTTPError, match="already exists"):
        api.move_repo("org/e", "org/new", repo_type="dataset")
    api.delete_repo("org/new", repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        api.dataset_info("org/d")


def test_pull_requests_are_refs_that_are_merged_as_one_commit(hub: Hub, api: HfApi) -> None:
    stranger = HfApi(hub.url, token="stranger")
    opened = commit(stranger, {"a.bin": b"1"}, create_pr=True)
    draft = api.create_pull_request(**D, title="Draft")
    assert (opened.pr_revision, draft.git_reference, draft.status) == ("refs/pr/1", "refs/pr/2", "draft")
    assert [(one.num, one.status) for one in api.get_repo_discussions(**D, discussion_status="open")] == [
        (2, "draft"),
        (1, "open"),
    ]
    commit(stranger, {"b.txt": b"2"}, revision="refs/pr/1")
    with pytest.raises(HfHubHTTPError):
        commit(stranger, {"b.txt": b"2"})
    main = commit(api, {"c.txt": b"3"}).oid
    with pytest.raises(HfHubHTTPError, match="draft"):
        api.merge_pull_request(**D, discussion_num=2)
    api.change_discussion_status(**D, discussion_num=2, new_status="closed")
    api.merge_pull_request(**D, discussion_num=1)
    details = api.get_discussion_details(**D, discussion_num=1)
    assert details.status == "merged"
    assert details.merge_commit_oid == api.dataset_info("org/d").sha
    assert api.list_repo_commits(**D)[1].commit_id == main
    assert paths(api, "main") == {".gitattributes", "a.bin", "b.txt", "c.txt"}
    assert [one.ref for one in api.list_repo_refs(**D, include_pull_requests=True).pull_requests or []] == [
        "refs/pr/1",
        "refs/pr/2",
    ]
    assert {one.status for one in api.get_repo_discussions(**D, discussion_status="closed")} == {"merged", "closed"}


def test_datasets_loads_a_tag(hub: Hub, api: HfApi, tmp_path: Path) -> None:
    commit(api, {"README.md": b"---\nlicense: mit\n---\n", "train.jsonl": b'{"a": 1}\n{"a": 2}\n'})
    api.create_tag(**D, tag="v1")
    commit(api, {"train.jsonl": b'{"a": 3}\n'})
    code = "import datasets; print([list(datasets.load_dataset('org/d', revision=r)['train']['a']) for r in ('v1', 'main')])"
    settings = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "alice", "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[[1, 2], [3]]\n", done.stderr


def test_without_any_input_the_first_hub_serves_until_it_is_interrupted() -> None:
    serving = [sys.executable, "-m", "tests.support.loopback_hub"]
    with subprocess.Popen(serving, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=ROOT) as hub:
        assert hub.stdout is not None
        url = hub.stdout.readline().strip()
        with pytest.raises(RepositoryNotFoundError):  # an answer, not a refused connection
            HfApi(url, token="hf_writer_token").dataset_info("org/d")
        hub.send_signal(signal.SIGINT)
        assert hub.wait(60) == 0
