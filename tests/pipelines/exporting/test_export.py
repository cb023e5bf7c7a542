"""An export is complete or absent, the same every time, and never in the place of something else."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from pipelines.exporting import trainers
from pipelines.exporting.export import write_export
from pipelines.exporting.sets import Choices, find_releases, select_sets
from tests.support.altered_releases import with_manifest
from tests.support.exports import CHOICES, export
from tests.support.paths import ROOT
from tests.support.releases import tree
from tests.support.training_releases import pair, write_training_release

FAQ = [pair("who", "a b", provided="c d"), pair("when", "e")]
SETS = {"faq": FAQ, "news": [pair("title", "body", random="z")]}
EVERY = pytest.mark.parametrize("choices", CHOICES.values(), ids=CHOICES)


@EVERY
def test_the_same_release_gives_the_same_bytes_at_any_place_and_again(choices: Choices, tmp_path: Path) -> None:
    first = write_training_release(tmp_path / "first", SETS)
    export([first], tmp_path / "to", choices)
    written = tree(tmp_path / "to")
    export([first], tmp_path / "to", choices)
    second = write_training_release(tmp_path / "second", SETS)
    export([second], tmp_path / "elsewhere" / "to", choices)
    assert written == tree(tmp_path / "to") == tree(tmp_path / "elsewhere" / "to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "first", "second", "to"]


@EVERY
def test_an_export_replaces_one_of_another_format(choices: Choices, tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    export([release_dir], tmp_path / "alone", choices)
    for other in CHOICES.values():
        export([release_dir], tmp_path / "to", other)
        export([release_dir], tmp_path / "to", choices)
        assert tree(tmp_path / "to") == tree(tmp_path / "alone")


@EVERY
def test_an_interrupted_export_leaves_the_one_before_or_nothing(
    choices: Choices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    export([release_dir], tmp_path / "older", choices)
    before = tree(tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipelines.exporting.export.render_readme", interrupt)
    for target in ("older", "new"):
        with pytest.raises(KeyboardInterrupt):
            export([release_dir], tmp_path / target, choices)
    assert tree(tmp_path) == before


def test_what_a_killed_export_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    export([release_dir], tmp_path / "whole", CHOICES["medi"])
    (tmp_path / ".to.new" / "data").mkdir(parents=True)
    (tmp_path / ".to.new" / "data" / "medi-data.json").write_text("[\n{")
    export([release_dir], tmp_path / "to", CHOICES["medi"])
    assert tree(tmp_path / "to") == tree(tmp_path / "whole")
    assert not (tmp_path / ".to.new").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trainer", "older"),
    [("sentence-transformers", True), ("medi", False)],
    ids=["over an older export", "without one"],
)
def test_an_export_killed_at_any_step_leaves_the_one_before_or_a_whole_one(
    trainer: str, older: bool, tmp_path: Path
) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    export([release_dir], tmp_path / "old" / "to", replace(CHOICES["flagembedding"], negatives=2))
    killed = tmp_path / "killed"
    job = {
        "release": str(release_dir),
        "trainer": trainer,
        "folder": str(killed),
        "most": 400,
        "exchange": True,
        "every": 2,
    }
    (tmp_path / "job.json").write_text(json.dumps(job | ({"old": str(tmp_path / "old")} if older else {})))
    process = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_builds", str(tmp_path / "job.json")],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout.splitlines()[-1])
    assert (result["exit"], result["steps"] > 15) == (0, True)
    choices = replace(CHOICES[trainer], negatives=1, positives="first", prefixes="text")
    before = tree(tmp_path / "old" / "to") if older else {}
    export([release_dir], tmp_path / "whole", choices)
    whole = tree(tmp_path / "whole")
    results = []
    for step in range(0, result["steps"], 2):
        output = killed / f"{step:03d}" / "outputs"
        results.append(tree(output / "to"))
        export([release_dir], output / "to", choices)
        assert tree(output / "to") == whole
        assert {path.name for path in output.iterdir()} == {"to"}, f"leftovers of step {step}"
    assert all(result in (before, whole) for result in results)
    assert before in results


OTHERS = {
    "a file": {"thesis.txt": ""},
    "a file beside an export": {"data/mine.jsonl": ""},
    "the record of another program": {
        "export.json": json.dumps({"generator": "another program", "files": [{"path": "x"}]}),
        "x": "",
    },
    "a broken record": {"export.json": "[1, 2"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_folder_that_holds_anything_else_is_refused_and_stays(name: str, tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    if name == "a file beside an export":
        export([release_dir], tmp_path / "to", CHOICES["flagembedding"])
    for path, content in OTHERS[name].items():
        (tmp_path / "to" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "to" / path).write_text(content)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="holds other files"):
        export([release_dir], tmp_path / "to", CHOICES["flagembedding"])
    assert tree(tmp_path) == before


def test_a_file_a_release_and_the_folder_of_releases_are_refused(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    (tmp_path / "file").touch()
    before = tree(tmp_path)
    for target, problem in (
        (tmp_path / "file", "expected: a folder"),
        (release_dir, "a release is in the folder"),
        (release_dir / "export", "inside a release"),
        (tmp_path / "releases", "a release is in the folder"),
    ):
        with pytest.raises(UsageError, match=problem):
            export([release_dir], target, CHOICES["medi"])
    assert tree(tmp_path) == before


def test_a_damaged_second_set_leaves_nothing(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    path = release_dir / "news" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ReleaseError, match=r"train-00000-of-00001\.parquet has changed"):
        export([release_dir], tmp_path / "to", CHOICES["sentence-transformers"])
    assert [path.name for path in tmp_path.iterdir()] == ["releases"]


def test_a_full_disk_ends_in_an_error_with_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trainers.pq, "ParquetWriter", fail)
    with pytest.raises(ReleaseError, match=r"(?s)the export cannot be written.*No space left.*free some space"):
        export([release_dir], tmp_path / "to", CHOICES["sentence-transformers"])
    assert [path.name for path in tmp_path.iterdir()] == ["releases"]


def test_several_releases_become_one_mixture_with_weights_over_all(tmp_path: Path) -> None:
    first = write_training_release(tmp_path, {"faq": FAQ})
    rows = [pair(f"q{number}", provided="a") for number in range(6)]
    second = write_training_release(tmp_path, {"news": rows}, dataset="other-contrastive", sample=True)
    record = export([first, second], tmp_path / "to", CHOICES["sentence-transformers"])
    assert [one["weight"] for one in record["sets"]] == [0.25, 0.75]
    assert [(release["dataset"], release["sample"]) for release in record["releases"]] == [
        ("toy-contrastive", False),
        ("other-contrastive", True),
    ]


def test_sets_of_one_name_and_two_releases_of_one_dataset_are_refused(tmp_path: Path) -> None:
    first = write_training_release(tmp_path, SETS)
    second = write_training_release(tmp_path, SETS, version="2.0.0")
    other = write_training_release(tmp_path, {"faq": FAQ}, dataset="other-contrastive")
    with pytest.raises(UsageError, match=r"(?s)two releases of toy-contrastive.*1.0.0 and 2.0.0"):
        find_releases([str(first), str(second)], tmp_path)
    with pytest.raises(
        UsageError, match=r"(?s)two sets are named faq.*toy-contrastive@1.0.0 and other-contrastive@1.0.0"
    ):
        select_sets(find_releases([str(first), str(other)], tmp_path), None)
    assert len(select_sets(find_releases([str(first), str(first), str(other)], tmp_path), ["news"])) == 1


def test_an_unknown_set_is_refused_with_the_names_that_there_are(tmp_path: Path) -> None:
    releases = find_releases([str(write_training_release(tmp_path, SETS))], tmp_path)
    with pytest.raises(UsageError, match=r"(?s)no set is named 'fqa'.*faq, news.*--configs"):
        select_sets(releases, ["faq", "fqa"])


@pytest.mark.parametrize("name", ["../up", "a.7-negatives", ".hidden", "a b", "ф" * 3])
def test_a_name_of_a_config_that_is_not_plain_becomes_no_file(name: str, tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"faq": FAQ})
    [table] = find_releases([str(release_dir)], tmp_path)[0].manifest.tables
    with_manifest(release_dir, tables=(replace(table, config=name),))
    with pytest.raises(ReleaseError, match="invalid name of a config"):
        select_sets(find_releases([str(release_dir)], tmp_path), None)


def test_a_set_without_prefixes_is_refused(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"faq": FAQ}, prompts=None)
    with pytest.raises(ReleaseError, match="no prefixes of a config"):
        select_sets(find_releases([str(release_dir)], tmp_path), None)


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path / "releases", SETS)
    (tmp_path / "disk").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "disk")
    sets = select_sets(find_releases([str(release_dir)], tmp_path), None)
    write_export(sets, tmp_path / "to", CHOICES["medi"])
    assert (tmp_path / "to").is_symlink()
    assert (tmp_path / "disk" / "export.json").is_file()
    shutil.rmtree(tmp_path / "disk")
