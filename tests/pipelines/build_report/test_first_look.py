"""A probe that reads the beginnings of files: what builds, what does not and why, and what is wrong with repositories."""

import gzip
import io
import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import ReleaseError
from pipelines import fetch
from pipelines.build_report import first_look
from pipelines.build_report.entries import NewEntries, _unpinned, probe_entries
from pipelines.build_report.first_look import DatasetLook, FileLook, Looks, not_looked_at, page, to_json, write_report
from pipelines.build_report.records import DatasetReport, ReportedFile
from pipelines.raw.download import Patience
from pipelines.raw.pins import LockEntry
from pipelines.raw.requests import file_url
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.first_contact import GOLDEN, listings, look, path_of, published_files, server_path
from tests.support.raw_files import GIT_LFS_POINTER, git_blob, make_zip, sha256
from tests.support.releases import definition_of

PIKABU = "/huggingface.co/api/datasets/IlyaGusev/pikabu/revision/96466c289dfe2fd1ce8570f4d23c3c59737e2a76?blobs=true"


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer(published_files() | listings()) as running:
        yield running


def seen(
    server: FaultyServer, folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, str]]]:
    """What is wrong with each file, and state and reason of each dataset."""
    looks = look(monkeypatch, server, folder, *names)
    assert "this probe: read " in "\n".join(page(looks))
    return (
        {each.name: each.found for each in looks.files if each.found},
        {each.name.partition("@")[0]: (each.state, each.why) for each in looks.datasets},
    )


def test_the_first_records_of_good_files_are_built_and_texts_that_a_model_measures_are_read(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        "cedr",
        "rubq-retrieval",
        "sberquad",
        "query2doc",
        "massive-intent",
        "habr-qna",
        "opus-100",
        "georeview-classification",
    )
    found, datasets = seen(server, tmp_path, monkeypatch, *names)
    assert found == {}
    measured = ("builds", "read; a model measures its texts first")
    assert datasets == {
        "cedr-classification": ("builds", ""), "rubq-retrieval": ("builds", ""), "query2doc-contrastive": ("builds", ""),
        "massive-intent-classification": ("builds", ""), "georeview-classification": ("builds", ""),
        "sberquad-contrastive": measured, "habr-qna-contrastive": measured, "opus-100-contrastive": measured,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "name", "change", "dataset", "words"),
    [
        (
            "query2doc",
            "train.jsonl",
            lambda c: c.replace(b"pseudo_doc", b"passage"),
            "query2doc",
            "pseudo_doc is missing",
        ),
        ("beavertails", "round0/30k/test.jsonl.gz", lambda _: b"not gzip", "beavertails-qa", ""),
        ("ru_wanli", "data/train.parquet", lambda c: c[:-20], "ru-wanli", ""),
        (
            "alpacafarm",
            "alpaca_human_preference.json",
            lambda c: c.replace(b'"preference"', b'"pref"'),
            "alpacafarm",
            "pref",
        ),
        ("dialfact", "test_split.jsonl", lambda c: c.replace(b"REFUTES", b"DISPUTES"), "dialfact", "label"),
    ],
)
def test_a_file_of_another_form_is_named_with_its_dataset(
    server: FaultyServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    name: str,
    change: Callable[[bytes], bytes],
    dataset: str,
    words: str,
) -> None:
    path = path_of(source, name)
    server.files[path] = change(server.files[path])
    found, datasets = seen(server, tmp_path, monkeypatch, dataset)
    [(state, why)] = datasets.values()
    text = f"{why} {found}"
    assert "fails" in state or found
    assert source in text or name in text
    assert words in text


def change_list(server: FaultyServer, path: str, **changes: Any) -> list[Any]:
    """Change an answer of the Hub; returns its files."""
    answer = json.loads(server.files[path]) | changes
    server.files[path] = json.dumps(answer).encode()
    return list(answer["siblings"])


def test_a_file_that_is_not_read_terms_and_another_licence_show_in_the_list_of_a_repository(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = change_list(server, PIKABU, gated="auto", cardData={"license": "mit"})
    more = [{**files[0], "rfilename": name} for name in ("20.jsonl.zst", "README.md")]
    change_list(server, PIKABU, siblings=[*files[:5], *files[6:], *more])
    found, _ = seen(server, tmp_path, monkeypatch, "pikabu")
    assert found["pikabu/00.jsonl.zst"] == (
        "05.jsonl.zst is not in its repository at this commit",
        "not read, though like those that are: 20.jsonl.zst, 1 in all",
        "it is gated now: its terms must be accepted first",
        "its card states the licence mit, the builder other",
    )


ALPACA = "/huggingface.co/api/datasets/tatsu-lab/alpaca_farm/revision/"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "someone/else"}, "its repository is called someone/else now"),
        ({"disabled": True}, "its repository is disabled"),
        ({"sha": "d" * 40}, f"its list is of commit {'d' * 40}"),
    ],
)
def test_what_the_hub_says_of_a_repository_is_named(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], words: str
) -> None:
    [path] = [path for path in server.files if path.startswith(ALPACA)]
    change_list(server, path, **changes)
    found, _ = seen(server, tmp_path, monkeypatch, "alpacafarm")
    assert found == {"alpacafarm/alpaca_human_preference.json": (words,)}


def test_a_file_that_the_server_sends_from_another_commit_is_named(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("alpacafarm", "alpaca_human_preference.json")
    revision = path.split("/resolve/")[1].split("/")[0]
    for commit, words in ((revision, ()), ("d" * 40, (f"the server sends it from commit {'d' * 40}",))):
        server.always[path] = Fault(headers={"X-Repo-Commit": commit})
        [file] = look(monkeypatch, server, tmp_path, "alpacafarm").files
        assert file.found == words


def test_a_size_far_from_what_a_file_is_known_to_have_is_named(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("query2doc", "train.jsonl")
    server.files[path] = b"".join(server.files[path].splitlines(keepends=True)[:4])
    server.files |= listings(server.files)
    found, _ = seen(server, tmp_path, monkeypatch, "query2doc")
    assert found == {"query2doc/train.jsonl": (f"found {len(server.files[path])} bytes, expected about 1.7 KB",)}


@pytest.mark.parametrize(
    ("value", "words"), [(14, ()), (45_328, ("14 rows by its header, of 45,328 that are published",))]
)
def test_the_rows_of_a_header_are_compared_with_those_that_are_published(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int, words: tuple[str, ...]
) -> None:
    figures = [
        {"path": ["observed", "rows of sberquad in the source"], "value": value, "every": True},
        {"path": ["observed", "rows of others in the source"], "value": 7, "within": 100, "every": True},
    ]
    looks = look(monkeypatch, server, tmp_path, "sberquad", published={"source": "a card", "facts": figures})
    assert looks.files[0].found == words


def test_nulls_behind_the_first_row_group_are_said(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("sberquad", "sberquad/train-00000-of-00001.parquet")
    rows = pl.read_parquet(io.BytesIO(server.files[path]))
    packed = io.BytesIO()
    pl.concat([rows, rows.with_columns(question=pl.lit(None, pl.String))]).write_parquet(
        packed, row_group_size=len(rows)
    )
    server.files[path] = packed.getvalue()
    server.files |= listings(server.files)
    looks = look(monkeypatch, server, tmp_path, "sberquad")
    assert "there are nulls behind the first row group, in question" in "\n".join(not_looked_at(looks))
    assert looks.exit_code == 0


@pytest.mark.parametrize("change", [bytes, lambda content: content[:-2] + b" \n", lambda content: content * 9_000])
def test_a_member_of_an_archive_is_compared_with_its_own_pin(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[bytes], bytes]
) -> None:
    path = path_of("cedr", "main/train.jsonl")
    with zipfile.ZipFile(io.BytesIO(server.files[path])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = change(members["main/train.jsonl"])
    server.files[path] = make_zip({"a": random.Random(1).randbytes(1 << 21), **members, "main/train.jsonl": changed})
    found, _ = seen(server, tmp_path, monkeypatch, "cedr")
    own = [words for words in found["cedr/main.zip"] if words.startswith("main/train.jsonl: ")]
    assert len(own) == (changed != members["main/train.jsonl"])
    assert all(f"{len(changed):,} bytes, expected sha256 " in words for words in own)


def test_a_git_lfs_pointer_in_place_of_a_file_does_not_build(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files[path_of("alpacafarm", "alpaca_human_preference.json")] = GIT_LFS_POINTER
    server.files |= listings(server.files)
    assert look(monkeypatch, server, tmp_path, "alpacafarm").datasets[0].state == "fails"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(status=404), "its repository is not listed: status 404"),
        (
            Fault(status=404, headers={"X-Error-Code": "RepoNotFound"}),
            "its repository is not listed: status 404 RepoNotFound",
        ),
        (
            Fault(status=301, headers={"Location": "http://a.example/x"}),
            "its repository is not listed: SourceError: IlyaGusev/pikabu: the URL is not https",
        ),
        (Fault(body=b"<html>"), "its repository is not listed: JSONDecodeError"),
        (Fault(body=b'{"siblings": [{}]}'), "its repository is not listed: KeyError"),
    ],
)
def test_a_repository_that_is_not_listed_is_said_and_its_files_are_read_nonetheless(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, words: str
) -> None:
    server.always[PIKABU] = fault
    found, datasets = seen(server, tmp_path, monkeypatch, "pikabu")
    assert found["pikabu/00.jsonl.zst"][0].startswith(words)
    assert datasets["pikabu-contrastive"][0] == "builds"


def test_a_list_that_cannot_be_had_now_is_not_looked_at_and_ends_in_3(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.always[PIKABU] = Fault(status=503)
    looks = look(monkeypatch, server, tmp_path, "pikabu")
    assert (looks.exit_code, [each.found for each in looks.files if each.found]) == (3, [])
    assert to_json(looks)["not_looked_at"][2] == "all of the list of its repository: status 503: pikabu"
    server.always[path_of("lmsys_arena", "data/train-00000-of-00001-cced8514c7ed782a.parquet")] = Fault(status=401)
    gated = look(monkeypatch, server, tmp_path, "lmsys-arena")
    assert (gated.exit_code, gated.files[0].found, gated.files[0].unseen[-1]) == (0, (), "the file: status 401")
    server.always[path_of("pikabu", "00.jsonl.zst")] = Fault(status=503)
    assert "the file: status 503" in look(monkeypatch, server, tmp_path, "pikabu").files[0].unseen


def test_a_list_follows_redirects_and_one_that_is_cut_off_claims_nothing(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["/moved"] = server.files.pop(PIKABU)
    server.always[PIKABU] = Fault(status=307, headers={"Location": "/moved"})
    assert seen(server, tmp_path, monkeypatch, "pikabu")[0] == {}
    server.files["/moved"] = server.files["/moved"].replace(b'"size"', b'"lost"')
    assert not_looked_at(look(monkeypatch, server, tmp_path, "pikabu"))[2].endswith("without sizes and digests: pikabu")
    tree = next(path for path in server.files if path.startswith("/api.github.com/repos/rowanz/hellaswag/"))
    licence = {"path": "LICENSE", "type": "blob", "sha": "0" * 40, "size": 1}
    server.files[tree] = json.dumps({"tree": [licence], "truncated": True}).encode()
    looks = look(monkeypatch, server, tmp_path, "hellaswag")
    assert looks.exit_code == 0
    assert not_looked_at(looks)[2:] == [
        "all of the list of its repository: it is cut off: hellaswag", "the licence: LICENSE is not read: hellaswag",
    ]  # fmt: skip


def test_a_file_of_the_same_name_in_a_folder_of_other_data_is_no_finding(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = next(path for path in server.files if path.startswith("/api.github.com/repos/anthropics/hh-rlhf/"))
    files = json.loads(server.files[tree])["tree"]
    more = [{**files[0], "path": f"helpful-online/{name}.jsonl.gz"} for name in ("train", "test")]
    server.files[tree] = json.dumps({"tree": [*files, *more]}).encode()
    assert seen(server, tmp_path, monkeypatch, "hhrlhf-harmlessness")[0] == {}


def test_another_git_blob_of_the_same_size_is_named_in_the_list_and_in_the_file(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("dialfact", "test_split.jsonl")
    pinned, other = git_blob(server.files[path]), git_blob(server.files[path][:-1] + b" ")
    server.files[path] = server.files[path][:-1] + b" "
    tree = next(
        name for name, content in server.files.items() if "/api.github.com/" in name and pinned.encode() in content
    )
    server.files[tree] = server.files[tree].replace(pinned.encode(), b"1" * 40)
    assert set(seen(server, tmp_path, monkeypatch, "dialfact")[0]["dialfact/test_split.jsonl"]) == {
        f"git blob {other}, expected {pinned}", f"git blob {'1' * 40}, expected {pinned}",
    }  # fmt: skip


def test_sizes_that_contradict_each_other_and_a_file_that_is_gone_are_named(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (path_of("piqa", name) for name in ("valid.jsonl", "valid-labels.lst"))
    server.files[first] += b"{}\n"
    del server.files[second]
    found, datasets = seen(server, tmp_path, monkeypatch, "piqa-retrieval")
    size = len(published_files()[first])
    assert found["piqa/valid.jsonl"][0] == f"server, list and pin name different sizes: {size:,}, {size + 3:,} bytes"
    assert found["piqa/valid-labels.lst"] == ("status 404",)
    assert datasets["piqa-retrieval"] == ("fails", "valid-labels.lst: its publisher no longer has it, nor any copy")


@pytest.mark.parametrize("status", [404, 410, 451])
def test_a_dataset_whose_file_is_gone_from_all_its_addresses_will_not_build(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    server.always[path_of("query2doc", "train.jsonl")] = Fault(status=status)
    looks = look(monkeypatch, server, tmp_path, "query2doc")
    why = "train.jsonl: its publisher no longer has it, nor any copy"
    assert [(each.state, each.why) for each in looks.datasets] == [("fails", why)]
    lines = page(looks)
    assert lines[1:4] == ["will not build: 1", "  query2doc-contrastive@2.0.0", f"    {why}"]
    assert f"  query2doc/train.jsonl: status {status}" in lines


def test_a_repository_that_the_hub_hides_is_gone_and_one_that_asks_for_a_token_is_not(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("lmsys_arena", "data/train-00000-of-00001-cced8514c7ed782a.parquet")
    for code, state in (("RepoNotFound", "fails"), ("GatedRepo", "unknown")):
        server.always[path] = Fault(status=401, headers={"X-Error-Code": code})
        assert look(monkeypatch, server, tmp_path, "lmsys-arena").datasets[0].state == state


@pytest.mark.parametrize(
    ("copy", "fault", "state", "why"),
    [
        (True, Fault(), "builds", ""),
        (False, Fault(), "fails", "1.1/data/ru-RU.jsonl: its publisher no longer has it, nor any copy"),
        (True, Fault(status=503), "unknown", "the beginning of 1.1/data/ru-RU.jsonl is not known"),
    ],
    ids=["a copy", "gone too", "in trouble"],
)
def test_the_copies_of_a_file_that_its_publisher_no_longer_has_are_read(
    server: FaultyServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    copy: bool,
    fault: Fault,
    state: str,
    why: str,
) -> None:
    [place] = definition_of("massive-intent-classification").source.files["russian"].copies
    path = server_path(file_url(place) or "")
    del server.files[path_of("massive", "1.1/data/ru-RU.jsonl")]
    if copy:
        server.files[path] = (GOLDEN / "massive" / "raw" / "1.1" / "data" / "ru-RU.jsonl").read_bytes()
    server.always[path] = fault
    looks = look(monkeypatch, server, tmp_path, "massive-intent")
    assert (looks.datasets[0].state, looks.datasets[0].why) == (state, why)
    assert looks.files[0].found == ("status 404",)
    assert looks.exit_code == 1


def test_of_a_copy_in_another_format_it_is_known_that_it_is_there(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [place] = definition_of("georeview-classification").source.files["reviews"].copies
    del server.files[path_of("geo_reviews", "geo-reviews-dataset-2023.tskv")]
    server.files[server_path(file_url(place) or "")] = published_files()[path_of("ru_wanli", "data/train.parquet")]
    looks = look(monkeypatch, server, tmp_path, "georeview-classification")
    assert looks.datasets[0].state == "unknown"
    assert "its copy in another format is there: " in looks.files[0].unseen[-1]


def test_a_size_that_a_server_says_of_a_file_and_does_not_send_is_named(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = look(monkeypatch, server, tmp_path, "query2doc", sizes={"query2doc/train.jsonl": 39_000_000})
    size = len(published_files()[path_of("query2doc", "train.jsonl")])
    message = f"server, list and pin name different sizes: {size:,}, 39,000,000 bytes"
    assert looks.files[0].found == (message,)


def test_an_archive_without_the_member_certainly_does_not_build(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files[path_of("cedr", "main/train.jsonl")] = make_zip({"main/dev.jsonl": b"{}\n"})
    _, datasets = seen(server, tmp_path, monkeypatch, "cedr")
    words = "main/train.jsonl: 1 other files: 'main/dev.jsonl', expected a file 'main/train.jsonl' in the archive"
    assert datasets["cedr-classification"] == ("fails", words)


@pytest.mark.parametrize(("is_cut", "state"), [(True, "unknown"), (False, "fails")])
def test_a_judgement_of_a_passage_is_wrong_where_the_corpus_was_read_whole_alone(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_cut: bool, state: str
) -> None:
    path = path_of("miracl", "miracl-corpus-v1.0-ru/docs-0.jsonl.gz")
    first = gzip.decompress(server.files[path]).splitlines(keepends=True)[0]
    filler = [first.replace(b"#0", b"#%d" % (9_000_000 + number)) for number in range(9_000)] if is_cut else []
    server.files[path] = gzip.compress(b"".join([*filler, first]), 0)
    _, datasets = seen(server, tmp_path, monkeypatch, "miracl-retrieval-ru")
    assert datasets["miracl-retrieval-ru"][0] == state
    assert "judged passage not in the corpus" in datasets["miracl-retrieval-ru"][1]


def test_a_file_that_came_in_part_teaches_no_digest(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of("alpacafarm", "alpaca_human_preference.json")
    server.files[path] = json.dumps(json.loads(server.files[path]) * 120, indent=1).encode()
    lists = [name for name in server.files if "/api/datasets/tatsu-lab/alpaca_farm/" in name]
    server.always = dict.fromkeys(lists, Fault(status=503))
    looks = look(monkeypatch, server, tmp_path, "alpacafarm", patience=Patience(sleep=lambda _: None, window=-1))
    [file] = looks.files
    assert (file.lock, file.found) == (None, ("found 242.2 KB, expected about 2.5 KB",))
    assert "invalid JSON" not in looks.datasets[0].why
    assert "what a slow server did not send" in not_looked_at(looks)[-2]
    assert not_looked_at(looks)[-1].startswith("as many records as asked for, 2,000: alpacafarm/")
    report = json.dumps(to_json(looks)).encode()
    assert probe_entries(report, None, tmp_path / "raw.lock.json") == NewEntries()


def test_what_a_probe_learned_is_accepted_for_files_without_a_pin(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = look(monkeypatch, server, tmp_path, "query2doc", "paraphrases", "cedr", "ru-wanli")
    write_report(tmp_path / "probe.json", looks)
    report, lock = (tmp_path / "probe.json").read_bytes(), tmp_path / "raw.lock.json"
    entries = probe_entries(report, None, lock)
    assert entries is not None
    assert sorted(entries.lock) == [
        "paraphrases/paraphrases.json",
        "query2doc/train.jsonl",
        "ru_wanli/data/train.parquet",
    ]
    learned = entries.lock["paraphrases/paraphrases.json"]
    content = published_files()[path_of("paraphrases", "paraphrases.json")]
    assert (learned.sha256, learned.bytes, learned.commit) == (sha256(content), len(content), "c" * 40)
    some = probe_entries(report, {"query2doc"}, lock)
    assert some is not None
    assert list(some.lock) == ["query2doc/train.jsonl"]
    lock.write_text(json.dumps({"query2doc/train.jsonl": {"sha256": "0" * 64, "bytes": 1}}))
    with pytest.raises(ReleaseError, match="had other bytes for the probe"):
        probe_entries(report, None, lock)
    assert probe_entries(b'{"format": 1, "datasets": []}', None, lock) is None


def test_the_command_writes_what_it_saw_and_fails_where_something_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Looks(
        [FileLook("cedr/main.zip", 5, ("status 404",))], [DatasetLook("cedr-classification@3.0.0", "unknown", "gone")]
    )
    right = Looks([FileLook("cedr/main.zip", 5)], [DatasetLook("cedr-classification@3.0.0", "builds")])
    monkeypatch.setattr(fetch, "_probe", lambda *_, **__: (0, {}))
    path = tmp_path / "probe.json"
    for looks, code in ((wrong, 1), (right, 0)):
        monkeypatch.setattr(first_look, "look", lambda *_, looks=looks, **__: looks)
        monkeypatch.setattr(sys, "argv", ["fetch", "cedr", "--probe", "--records", "5", "--report", str(path)])
        assert fetch.main() == code
        assert json.loads(path.read_text())["probe"][0]["found"] == list(looks.files[0].found)
    assert "wrong with files:\n  cedr/main.zip: status 404\n" in capsys.readouterr().out


@pytest.mark.parametrize("commit", [None, "c" * 40])
def test_a_version_of_a_moving_file_enters_the_ledger_with_its_commit_alone(commit: str | None) -> None:
    definition = definition_of("beavertails-helpful-reranking")
    names = [f"pku_safe_rlhf/{split}.parquet" for split in ("train", "test")]
    files = tuple(ReportedFile(name, None, "download", "nobody", "a" * 64, 1) for name in names)
    report = DatasetReport(
        dataset="beavertails-helpful-reranking", version="2.0.0", source="pku_safe_rlhf", state="built",
        recipe_sha256="b" * 64, files=files,
    )  # fmt: skip
    reason = _unpinned(report, definition, dict.fromkeys(names, LockEntry("a" * 64, 1, commit)))
    assert reason.startswith("pku_safe_rlhf/train.parquet is moving") == (commit is None)
    assert bool(reason) == (commit is None)
