"""The command export: names, options, output, and what it refuses."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines import export
from pipelines.make import BuildResult
from tests.support.releases import tree
from tests.support.training_releases import pair, write_training_release

SETS = {"faq": [pair("who", "a b", provided="c d"), pair("when", "e")], "news": [pair("title", "body", random="z")]}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["export", *map(str, arguments)])
    return export.main()


def test_the_command_shows_what_it_wrote_and_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release_dir = write_training_release(tmp_path, SETS, sample=True)
    assert run(monkeypatch, release_dir, "--as", "flagembedding", "--to", tmp_path / "to") == 0
    assert capsys.readouterr().out.splitlines() == [
        "toy-contrastive 1.0.0, a sample",
        "",
        "set   rows  weight  negatives   files",
        "----  ----  ------  ----------  -----",
        "faq   1     0.5000  2 provided  1",
        "news  1     0.5000  1 random    1",
        "",
        "faq: 1 row dropped (no negative)",
        "2 rows for flagembedding; README.md says how to train on them",
        f"in {tmp_path / 'to'}",
    ]


def test_json_is_the_record_of_the_export_and_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release_dir = write_training_release(tmp_path, SETS, partial=True)
    options = ("--as", "sentence-transformers", "--to", tmp_path / "to", "--configs", "faq", "--negatives", 1)
    assert run(monkeypatch, release_dir, *options, "--json", "--positives", "each") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("export") == str(tmp_path / "to")
    assert printed == json.loads((tmp_path / "to" / "export.json").read_text("utf-8"))
    assert printed["options"] == {"negatives": 1, "positives": "each", "prefixes": "apart"}
    assert [(one["name"], one["rows"]) for one in printed["sets"]] == [("faq", 3)]
    assert printed["releases"][0]["partial"] is True


def test_a_part_of_a_release_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release_dir = write_training_release(tmp_path, SETS, partial=True)
    run(monkeypatch, release_dir, "--as", "medi", "--to", tmp_path / "to")
    assert capsys.readouterr().out.startswith("toy-contrastive 1.0.0, a part of it\n")
    assert "`toy-contrastive@1.0.0`, a part" in (tmp_path / "to" / "README.md").read_text("utf-8")


def test_a_source_a_dataset_with_its_version_and_a_folder_are_names_of_a_release(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = golden_release("ru-wanli-contrastive", "2.0.0")
    releases = built.release_dir.parents[1]
    names = ("ru_wanli", "ru-wanli-contrastive@2.0.0", built.release_dir, built.release_dir.parent)
    exports = []
    for number, name in enumerate(names):
        target = tmp_path / str(number)
        assert run(monkeypatch, name, "--as", "medi", "--to", target, "--releases", releases) == 0
        exports.append(tree(target))
    assert exports[1:] == exports[:1] * 3


def test_of_several_releases_an_export_shows_a_line_each_and_the_sums(
    golden_release: Callable[..., BuildResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("ru-wanli-contrastive", "yandex-q-contrastive")
    folders = [
        golden_release(name, version).release_dir for name, version in zip(names, ("2.0.0", "2.1.0"), strict=True)
    ]
    options = (*folders, "--as", "sentence-transformers", "--to", tmp_path / "to")
    run(monkeypatch, *options)
    assert capsys.readouterr().out.splitlines() == [
        "ru-wanli-contrastive 2.0.0, a sample: 1 set, 5 rows",
        "yandex-q-contrastive 2.1.0, a sample: 2 sets, 9 rows",
        "",
        "1 positives left out; -v shows each set",
        "14 rows for sentence-transformers; README.md says how to train on them",
        f"in {tmp_path / 'to'}",
    ]
    run(monkeypatch, *options, "-v")
    assert "\nyandex-q-qa: 1 row in data/yandex-q-qa.2-negatives.parquet\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("ru-wanly-contrastive", UsageError, ["no source, dataset or group", "ru-wanli-contrastive"]),
        ("ru-wanli-contrastive@9.9.9", UsageError, ["has no version '9.9.9'"]),
        (
            "ru_wanli",
            ReleaseError,
            ["ru_wanli has not been built", "embedding-datasets build ru_wanli", "--releases DIR"],
        ),
        ("training", ReleaseError, ["releases have not been built", "miracl-contrastive", "build training"]),
        ("cedr", UsageError, ["cedr-classification is not training data", "Classification", "show training"]),
        ("all", UsageError, ["is not training data"]),
        ("nowhere/at/all", UsageError, ["no such folder"]),
    ],
    ids=str,
)
def test_a_name_that_is_no_release_of_training_data_is_refused_with_what_to_do(
    name: str, kind: type[DatasetError], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(kind) as caught:
        run(monkeypatch, name, "--as", "medi", "--to", tmp_path / "to", "--releases", tmp_path)
    assert [word for word in words if word not in str(caught.value)] == []
    assert not (tmp_path / "to").exists()


def test_a_folder_that_is_not_a_release_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").touch()
    with pytest.raises(ReleaseError, match=r"(?s)no release found.*no manifest\.json.*outputs/<dataset>/<version>"):
        run(monkeypatch, tmp_path / "data", "--as", "medi", "--to", tmp_path / "to")


def test_a_built_benchmark_is_refused(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = golden_release("terra-pairclassification")
    with pytest.raises(UsageError, match=r"terra-pairclassification@.* is not training data"):
        run(monkeypatch, built.release_dir, "--as", "medi", "--to", tmp_path / "to")


def test_a_target_that_cannot_be_written_is_an_error_of_the_system_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_dir = write_training_release(tmp_path, SETS)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=re.escape(str(tmp_path / "file"))):
        run(monkeypatch, release_dir, "--as", "medi", "--to", tmp_path / "file" / "to")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--as", "medi"], "--to"),
        (["--to", "x"], "--as"),
        (["--as", "gritlm", "--to", "x"], "invalid choice: 'gritlm'"),
        (["--as", "medi", "--negatives", "2", "--to", "x"], "a row has one negative"),
        (["--as", "flagembedding", "--negatives", "0", "--to", "x"], "cannot read rows without a negative"),
        (["--as", "flagembedding", "--positives", "each", "--to", "x"], "a row has all of its positives"),
        (["--as", "flagembedding", "--prefixes", "text", "--to", "x"], "--prefixes is for --as medi"),
        (["--as", "medi", "--negatives", "8", "--to", "x"], "a whole number from 0 to 7"),
        (["--as", "medi", "--configs", "a,,b", "--to", "x"], "names of sets joined by commas"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_that_do_not_fit_the_format_are_usage_errors(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((SystemExit, UsageError)) as caught:
        run(monkeypatch, "ru_wanli", *arguments)
    assert words in capsys.readouterr().err + str(caught.value)
    assert isinstance(caught.value, UsageError) or caught.value.code == 2
