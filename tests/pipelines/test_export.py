"""The command export: names, options, output, and what it refuses."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines.make import BuildResult
from tests.support.processes import run
from tests.support.releases import tree
from tests.support.training_releases import pair, write_training_release

SETS = {"faq": [pair("who", "a b", provided="c d"), pair("when", "e")], "news": [pair("title", "body", random="z")]}


def export(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run("export", *map(str, arguments))


def test_the_command_shows_what_it_wrote_and_what_it_left_out(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, SETS, sample=True)
    assert export(release_dir, "--as", "flagembedding", "--to", tmp_path / "to").stdout.splitlines() == [
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


def test_json_is_the_record_of_the_export_and_its_folder(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, SETS, partial=True)
    options = ("--as", "sentence-transformers", "--to", tmp_path / "to", "--configs", "faq", "--negatives", 1)
    printed = json.loads(export(release_dir, *options, "--json", "--positives", "each").stdout)
    assert printed.pop("export") == str(tmp_path / "to")
    assert printed == json.loads((tmp_path / "to" / "export.json").read_text("utf-8"))
    assert printed["options"] == {"negatives": 1, "positives": "each", "prefixes": "apart"}
    assert [(one["name"], one["rows"]) for one in printed["sets"]] == [("faq", 3)]
    assert printed["releases"][0]["partial"] is True


def test_a_part_of_a_release_is_called_so(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, SETS, partial=True)
    done = export(release_dir, "--as", "medi", "--to", tmp_path / "to")
    assert done.stdout.startswith("toy-contrastive 1.0.0, a part of it\n")
    assert "`toy-contrastive@1.0.0`, a part" in (tmp_path / "to" / "README.md").read_text("utf-8")


def test_a_source_a_dataset_with_its_version_and_a_folder_are_names_of_a_release(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    built = golden_release("ru-wanli-contrastive", "2.0.0")
    releases = built.release_dir.parents[1]
    names = ("ru_wanli", "ru-wanli-contrastive@2.0.0", built.release_dir, built.release_dir.parent)
    exports = []
    for number, name in enumerate(names):
        target = tmp_path / str(number)
        assert export(name, "--as", "medi", "--to", target, "--releases", releases).returncode == 0
        exports.append(tree(target))
    assert exports[1:] == exports[:1] * 3


def test_of_several_releases_an_export_shows_a_line_each_and_the_sums(
    golden_release: Callable[..., BuildResult],
    tmp_path: Path,
) -> None:
    names = ("ru-wanli-contrastive", "yandex-q-contrastive")
    folders = [
        golden_release(name, version).release_dir for name, version in zip(names, ("2.0.0", "2.1.0"), strict=True)
    ]
    options = (*folders, "--as", "sentence-transformers", "--to", tmp_path / "to")
    assert export(*options).stdout.splitlines() == [
        "ru-wanli-contrastive 2.0.0, a sample: 1 set, 5 rows",
        "yandex-q-contrastive 2.1.0, a sample: 2 sets, 9 rows",
        "",
        "1 positives left out; -v shows each set",
        "14 rows for sentence-transformers; README.md says how to train on them",
        f"in {tmp_path / 'to'}",
    ]
    assert "\nyandex-q-qa: 1 row in data/yandex-q-qa.2-negatives.parquet\n" in export(*options, "-v").stdout


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
    name: str, kind: type[DatasetError], words: list[str], tmp_path: Path
) -> None:
    done = export(name, "--as", "medi", "--to", tmp_path / "to", "--releases", tmp_path)
    assert (done.returncode, [word for word in words if word not in done.stderr]) == (kind.exit_code, [])
    assert not (tmp_path / "to").exists()


def test_a_folder_that_is_not_a_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.jsonl").touch()
    done = export(tmp_path / "data", "--as", "medi", "--to", tmp_path / "to")
    assert re.search(r"(?s)no release found.*no manifest\.json.*outputs/<dataset>/<version>", done.stderr)


def test_a_built_benchmark_is_refused(golden_release: Callable[..., BuildResult], tmp_path: Path) -> None:
    built = golden_release("terra-pairclassification")
    done = export(built.release_dir, "--as", "medi", "--to", tmp_path / "to")
    assert re.search(r"terra-pairclassification@.* is not training data", done.stderr)


def test_a_target_that_cannot_be_written_is_an_error_of_the_system_with_its_path(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, SETS)
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in export(release_dir, "--as", "medi", "--to", tmp_path / "file" / "to").stderr


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
def test_options_that_do_not_fit_the_format_are_usage_errors(arguments: list[str], words: str) -> None:
    done = export("ru_wanli", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
