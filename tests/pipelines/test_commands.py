"""The commands as a user meets them: what they print, what they leave, how they end."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from builders.errors import SourceError
from pipelines import build, check, diff, fetch, publish, show
from pipelines.audit.languages import SAMPLE
from pipelines.make import GOLDEN, BuildSettings, make
from pipelines.report.checks import check_release
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of, tree

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ["build", "fetch", "show", "check", "diff", "publish"]


def raw_dir(folder: Path, source: str) -> Path:
    """A --raw-dir with a source's golden files, for files that no digest pins."""
    shutil.copytree(GOLDEN / source / "raw", folder / source)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example_and_names_the_exit_codes(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert f"python -m pipelines.{command} " in done.stdout.split("examples:")[1]
    assert "exit codes" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_heavy(command: str) -> None:
    code = (
        "import sys, contextlib, io\n"
        f"from pipelines import {command}\n"
        "sys.argv = ['x', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    {command}.main()\n"
        "heavy = {'polars', 'pyarrow', 'numpy', 'httpx', 'huggingface_hub', 'datasets', 'jinja2', 'yaml', 'orjson', 'tqdm'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_sample_build_says_what_it_made_and_where(tmp_path: Path) -> None:
    done = run("build", "rubq", "--sample", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "rubq-retrieval 2.0.0: built, sample" in done.stdout
    assert "4 test: no paragraph answers the question" in done.stdout
    assert str(tmp_path / "rubq-retrieval" / "2.0.0") in done.stdout
    assert done.stderr == ""
    again = run("build", "rubq", "--sample", "--output", str(tmp_path))
    assert again.stdout.count("up to date") == 2


def test_json_is_one_object_a_dataset(tmp_path: Path) -> None:
    done = run("build", "document_mt", "--sample", "--json", "--output", str(tmp_path))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["dataset"] for row in rows] == ["europarl-bitext", "iwslt17-bitext", "nc2016-bitext"]
    assert rows[0]["rows"] == {"en-de/test": 5}


def test_jobs_change_nothing_but_the_time(tmp_path: Path) -> None:
    one = run("build", "all", "--sample", "--json", "--output", str(tmp_path / "one"))
    two = run("build", "all", "--sample", "--json", "--output", str(tmp_path / "two"), "--jobs", "2")
    rows = [[json.loads(line) | {"path": ""} for line in done.stdout.splitlines()] for done in (one, two)]
    assert rows[0] == rows[1]
    assert [row["dataset"] for row in rows[0]] == NAMES


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["build", "rubk"], 2, ["no source, dataset or group is named 'rubk'", "rubq", "pipelines.show"]),
        (["build", "ru"], 2, ["beginning of several names", "rubq"]),
        (["build", "rubq-retrieval@9.9.9", "--sample"], 2, ["has no version '9.9.9'", "1.0.0"]),
        (["build", "rubq", "--sample", "--splits", "tset"], 2, ["has no split 'tset'", "test"]),
        (["build", "rubq", "--limit", "0"], 2, ["--limit", "whole number from 1"]),
        (["build", "rubq", "--sample", "--push", "org"], 2, ["--push publishes whole datasets", "--sample"]),
        (["build"], 2, ["NAME"]),
        (["build", "rubq", "--raw-dir", "nowhere"], 2, ["nowhere", "--raw-dir"]),
        (["fetch", "nothing"], 2, ["no source, dataset or group"]),
        (["show", "nothing"], 2, ["no source, dataset or group"]),
        (["check", "rubk"], 2, ["no such folder", "no source, dataset or group is named 'rubk'", "rubq"]),
        (["check", "outputs/nowhere"], 2, ["no such folder", "outputs/nowhere", "ORG/NAME"]),
        (["check", "cards"], 3, ["no tables found", "cards", "outputs/<dataset>/<version>"]),
        (["check", "rubq@9.9.9", "--output", "nowhere"], 1, ["has not been built", "pipelines.build", "nowhere"]),
        (["check", "rubq", "--against", "published", "--html", "x"], 2, ["--against", "--html"]),
        (["diff", "tests"], 2, ["required", "B"]),
        (["diff", "nowhere", "tests"], 2, ["no such folder", "ORG/NAME@TAG"]),
        (["publish", "rubq"], 2, ["--org"]),
        (["publish", "rubq", "--org", "org", "--repo-name", "x"], 2, ["--repo-name is for one dataset"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and "pipelines.show" not in value else None,
)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_do(
    arguments: list[str], code: int, words: list[str], tmp_path: Path
) -> None:
    done = run(*arguments, *(["--output", str(tmp_path)] if arguments[0] == "build" and len(arguments) > 1 else []))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_raw_file_says_where_it_was_looked_for_and_leaves_outputs_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    run("build", "rubq", "--sample", "--output", str(tmp_path / "outputs"))
    before = tree(tmp_path / "outputs")
    places = ["--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"), "--offline"]
    done = run("build", "europarl", *places, "--output", str(tmp_path / "outputs"))
    assert done.returncode == 3
    assert str(tmp_path / "raw" / "document_mt" / "Europarl7" / "concatenated_en2de_test_en.txt") in done.stderr
    assert "--offline" in done.stderr
    assert tree(tmp_path / "outputs") == before


def test_a_local_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    done = run(
        "build", "terra", "--raw-dir", str(raw_dir(tmp_path / "raw", "terra")), "--output", str(tmp_path / "outputs")
    )
    assert done.returncode == 3
    assert "9a5ee3fc11a597cdfc838dac5140c6e66fc51eaaa6b418c90367ecb9bffa3601" in done.stderr
    assert "val.jsonl" in done.stderr


def build_beavertails_test(tmp_path: Path, data: bytes) -> subprocess.CompletedProcess[str]:
    """Build the test split of BeaverTails, whose file no digest pins, from these bytes."""
    folder = raw_dir(tmp_path / "raw", "beavertails")
    (folder / "beavertails" / "round0" / "30k" / "test.jsonl.gz").write_bytes(data)
    output = ["--output", str(tmp_path / "outputs"), "--cache", str(tmp_path / "cache")]
    return run("build", "beavertails-qa", "--splits", "test", "--raw-dir", str(folder), "--offline", *output)


def beavertails_lines() -> list[bytes]:
    packed = (GOLDEN / "beavertails/raw/round0/30k/test.jsonl.gz").read_bytes()
    return gzip.decompress(packed).splitlines(keepends=True)


def test_a_file_without_a_known_digest_is_used_and_marked_unverified(tmp_path: Path) -> None:
    places = ["--raw-dir", str(raw_dir(tmp_path / "raw", "genie")), "--cache", str(tmp_path / "cache"), "--offline"]
    done = run("build", "genie", *places, "--output", str(tmp_path / "outputs"))
    assert done.returncode == 0, done.stderr
    assert "built, unverified raw files" in done.stdout
    card = (tmp_path / "outputs" / "genie-reranking" / "2.0.0" / "README.md").read_text("utf-8")
    assert "unverified" in card.lower()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: gzip.compress(b"".join(lines))[:-200], ["test.jsonl.gz", "truncated data"]),
        (
            lambda lines: gzip.compress(b"".join([*lines[:4], b'{"prompt": \n', *lines[5:]])),
            ["test.jsonl.gz, line 5", "JSON"],
        ),
        (
            lambda lines: gzip.compress(b"".join([*lines[:2], lines[2].replace(b'"response"', b'"answer"')])),
            ["test.jsonl.gz, line 3", "response"],
        ),
        (
            lambda lines: gzip.compress(lines[0] + lines[1].replace(b'"is_safe": true', b'"is_safe": "yes"')),
            ["line 2", "is_safe"],
        ),
        (lambda _: b"<html>rate limited</html>", ["test.jsonl.gz", "an HTML page of 25 bytes"]),
    ],
    ids=["truncated gz", "a bad JSON line", "a missing key", "a value of another type", "an HTML page"],
)
def test_malformed_raw_data_is_an_error_with_its_place_and_leaves_nothing(
    damage: object, words: list[str], tmp_path: Path
) -> None:
    done = build_beavertails_test(tmp_path, damage(beavertails_lines()))  # type: ignore[operator]
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert tree(tmp_path / "outputs") == {}


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        (
            lambda lines: lines[:2] + lines[3:],
            ["document 1 has different numbers of segments", "4 segments and 3 segments", "line 1"],
        ),
        (
            lambda lines: lines[:5],
            ["different numbers of documents", "5 documents", "1 in", "line 6: document 2 has no counterpart"],
        ),
    ],
    ids=["a segment is missing", "documents are missing"],
)
def test_languages_with_different_documents_are_refused_with_document_and_line(
    keep: object, words: list[str], settings: BuildSettings, tmp_path: Path
) -> None:
    shutil.copytree(GOLDEN / "document_mt" / "raw", tmp_path / "document_mt" / "raw")
    german = tmp_path / "document_mt" / "raw" / "Europarl7" / "concatenated_en2de_test_de.txt"
    german.write_bytes(b"".join(keep(german.read_bytes().splitlines(keepends=True))))  # type: ignore[operator]
    with pytest.raises(SourceError) as caught:
        make(definition_of("europarl-bitext"), "1.0.0", replace(settings, golden=tmp_path))
    assert caught.value.exit_code == 3
    for word in words:
        assert word in str(caught.value)
    assert list(settings.output.iterdir()) == []


def test_one_failure_does_not_stop_the_others_and_decides_the_exit_code(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "genie")
    places = [
        "--raw-dir",
        str(raw),
        "--cache",
        str(tmp_path / "cache"),
        "--offline",
        "--output",
        str(tmp_path / "outputs"),
    ]
    done = run("build", "terra", "genie@1.0.0", "--splits", "test", *places)
    assert done.returncode == 2, "terra has no split test"
    assert "terra-pairclassification has no split 'test'" in done.stderr
    assert "genie-reranking 1.0.0: built" in done.stdout


def test_a_dry_run_tells_and_does_nothing(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "hh_rlhf")
    places = ["--raw-dir", str(raw), "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "outputs")]
    done = run("build", "rubq", "hhrlhf-harmlessness", "ru-paraphraser", "--dry-run", *places)
    assert "rubq-retrieval 2.0.0: would download and build" in done.stdout
    assert "RuBQ_2.0_paragraphs.json  https://raw.githubusercontent.com/vladislavneon/RuBQ/" in done.stdout
    assert "ru-paraphraser-sts 2.0.0: impossible" in done.stdout
    assert done.returncode == 3
    assert "error: hh_rlhf/harmless-base/test.jsonl.gz" in done.stderr, "the golden test file is not the pinned one"
    assert not (tmp_path / "outputs").exists()
    assert not (tmp_path / "cache" / "raw").exists()


def test_fetch_lists_what_is_here_and_complains_of_what_is_not(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "hh_rlhf")
    places = ["--raw-dir", str(raw), "--cache", str(tmp_path / "cache"), "--offline"]
    done = run("fetch", "hhrlhf-harmlessness", *places)
    assert done.returncode == 3
    assert "harmless-base/test.jsonl.gz" in done.stderr, "the golden test file is not the pinned one"
    assert "hh_rlhf/harmless-base/train.jsonl.gz" in done.stdout
    assert "unverified" in done.stdout


def test_a_by_hand_file_says_how_to_get_it_and_where_to_put_it(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    done = run("fetch", "ru-paraphraser", "--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"))
    assert done.returncode == 3
    assert "paraphraser.ru/download" in done.stderr
    assert str(tmp_path / "raw" / "paraphraser" / "paraphrases.xml") in done.stderr


def test_show_lists_the_catalogue_and_what_is_built(tmp_path: Path) -> None:
    run("build", "terra", "--sample", "--output", str(tmp_path))
    listed = run("show", "--output", str(tmp_path))
    assert listed.returncode == 0
    for name in NAMES:
        assert name in listed.stdout
    [terra] = [line for line in listed.stdout.splitlines() if line.startswith("terra")]
    assert terra.endswith("1.0.0 (sample)")
    rows = [json.loads(line) for line in run("show", "--json").stdout.splitlines()]
    assert [row["dataset"] for row in rows] == NAMES


def test_show_of_one_dataset_tells_its_recipe_options_and_raw_files() -> None:
    page = run("show", "rubq-reranking").stdout
    for word in ("min_negatives=9", "RuBQ_2.0_paragraphs.json", "git 1b27f82170edf9fb", "cc-by-sa-4.0", "top_ranked"):
        assert word in page


@pytest.mark.parametrize(
    "name", ["headline-classification", "miracl-reranking-ru", "ria-news-retrieval", "shp-reranking"]
)
def test_a_folder_may_have_a_name_that_looks_like_a_pattern(name: str, settings: BuildSettings, tmp_path: Path) -> None:
    made = make(definition_of(name), "1.0.0", replace(settings, output=tmp_path / "[a]*?"))
    assert check_release(made.release_dir, language_sample=SAMPLE).report["problems"] == []


def test_check_of_a_sound_release_ends_with_0_and_of_a_damaged_one_with_1(tmp_path: Path) -> None:
    run("build", "cedr", "--sample", "--output", str(tmp_path))
    sound = run("check", str(tmp_path / "cedr-classification"))
    assert sound.returncode == 0
    assert "cedr-classification 2.0.0: sound, sample" in sound.stdout
    assert "encoding_residue" in sound.stdout
    data = tmp_path / "cedr-classification" / "2.0.0" / "data" / "test-00000-of-00001.parquet"
    data.write_bytes(data.read_bytes()[:-3])
    damaged = run("check", str(tmp_path / "cedr-classification" / "2.0.0"))
    assert damaged.returncode == 1
    assert "has changed" in damaged.stdout


def test_results_go_to_stdout_and_no_progress_bar_to_a_pipe(tmp_path: Path) -> None:
    done = run("build", "all", "--sample", "--output", str(tmp_path))
    assert done.stderr == ""


def test_the_modules_are_the_commands() -> None:
    assert all(callable(module.main) for module in (build, check, diff, fetch, publish, show))
