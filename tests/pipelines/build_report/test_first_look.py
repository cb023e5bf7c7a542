"""A probe that reads the beginnings of files: what builds, what does not and why, and what is wrong with repositories."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.errors import ReleaseError
from pipelines import fetch
from pipelines.build_report import first_look
from pipelines.build_report.entries import _unpinned, probe_entries
from pipelines.build_report.first_look import DatasetLook, FileLook, Looks, page, write_report
from pipelines.build_report.records import DatasetReport, ReportedFile
from pipelines.raw.pins import LockEntry
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.first_contact import listings, look, path_of, published_files
from tests.support.raw_files import sha256
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


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(status=404), "its repository is not listed: status 404"),
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
    assert datasets["piqa-retrieval"] == ("unknown", "the beginning of valid-labels.lst is not known")


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
    monkeypatch.setattr(fetch, "_probe", lambda *_, **__: 0)
    path = tmp_path / "probe.json"
    for looks, code in ((wrong, 1), (right, 0)):
        monkeypatch.setattr(first_look, "look", lambda *_, looks=looks: looks)
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
