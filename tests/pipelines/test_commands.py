"""The commands end to end: output, files and exit codes."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders import catalogue
from builders.errors import SourceError
from cards.kinds import SAMPLE
from pipelines import command_line
from pipelines.checking.checks import check_release
from pipelines.make import GOLDEN, BuildSettings, make
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of, tree


def raw_dir(folder: Path, source: str) -> Path:
    """Create a --raw-dir with the golden files of a source, for files without a pinned digest."""
    shutil.copytree(GOLDEN / source / "raw", folder / source)
    return folder


@pytest.mark.parametrize("command", [command.name for command in command_line.COMMANDS])
def test_help_imports_no_heavy_library(command: str) -> None:
    code = (
        "import sys, contextlib, io\n"
        f"from pipelines import {command}\n"
        "sys.argv = ['x', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    {command}.main()\n"
        "heavy = {'polars', 'pyarrow', 'numpy', 'httpx', 'huggingface_hub', 'datasets', 'jinja2', 'yaml', 'orjson', 'tqdm'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"POLARS_MAX_THREADS": "2"}, 2)])
def test_a_golden_sample_is_built_with_one_thread_of_polars_unless_more_are_asked_for(
    given: dict[str, str], threads: int, tmp_path: Path
) -> None:
    code = "import sys; from pipelines import build; build.main(); import polars; print('threads', polars.thread_pool_size())"
    command = [sys.executable, "-c", code, "terra", "--sample", "--output", str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"} | given
    process = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert f"threads {threads}\n" in process.stdout


def test_a_build_imports_what_it_needs_and_no_audit_where_nothing_changed(tmp_path: Path) -> None:
    code = (
        "import sys, contextlib, io\n"
        "from pipelines import build\n"
        f"sys.argv = ['x', 'terra', '--sample', '--output', {str(tmp_path)!r}]\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    build.main()\n"
        "unneeded = {'pandas', 'datasets', 'huggingface_hub.hf_api', 'cryptography', 'multiprocessing'}\n"
        "audit = {'pipelines.release.writing', 'pipelines.audit.texts', 'pyarrow.compute', 'cards.render'}\n"
        "print(sorted(unneeded & set(sys.modules)), sorted(audit & set(sys.modules)))\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    needed = "['cards.render', 'pipelines.audit.texts', 'pipelines.release.writing', 'pyarrow.compute']"
    assert printed == [f"[] {needed}", "[] []"]


def test_a_sample_build_prints_its_result_and_location(tmp_path: Path) -> None:
    process = run("build", "rubq", "--sample", "--output", str(tmp_path))
    assert process.returncode == 0, process.stderr
    assert process.stdout == (
        "rubq-reranking 2.0.0: built, sample, 66 rows\nrubq-retrieval 2.0.0: built, sample, 51 rows\n"
    )
    end = f"2 datasets: 2 built\n  releases     {tmp_path} (-v shows what they drop, and their findings)\n"
    assert process.stderr == end
    verbose = run("build", "rubq", "--sample", "--force", "-v", "--output", str(tmp_path))
    full = verbose.stdout
    assert "rubq-retrieval@2.0.0: what `datasets` loads was not looked at: check and publish do" in verbose.stderr
    assert "4 test: no paragraph answers the question" in full
    assert str(tmp_path / "rubq-retrieval" / "2.0.0") in full
    assert run("build", "rubq", "--sample", "--output", str(tmp_path)).stdout.count("up to date") == 2


def test_json_output_is_one_object_per_dataset(tmp_path: Path) -> None:
    process = run("build", "document_mt", "--sample", "--json", "--output", str(tmp_path))
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert [row["dataset"] for row in rows] == ["europarl-bitext", "iwslt17-bitext", "nc2016-bitext"]
    assert rows[0]["rows"] == {"en-de/test": 5}


@pytest.mark.parametrize(
    "names", [("cedr", "rubq", "terra"), pytest.param(("all",), marks=pytest.mark.slow)], ids=" ".join
)
def test_parallel_jobs_give_the_same_result(tmp_path: Path, names: tuple[str, ...]) -> None:
    one = run("build", *names, "--sample", "--json", "--output", str(tmp_path / "one"))
    two = run("build", *names, "--sample", "--json", "--output", str(tmp_path / "two"), "--jobs", "2")
    varying = {"path": "", "seconds": 0}
    rows = [[json.loads(line) | varying for line in process.stdout.splitlines()] for process in (one, two)]
    assert rows[0] == rows[1]
    asked = {entry.dataset for entry, _ in catalogue.resolve(names)}
    assert [row["dataset"] for row in rows[0]] == [name for name in NAMES if name in asked]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["build", "rubk"], 2, ["no source, dataset or group is named 'rubk'", "rubq", "embedding-datasets show"]),
        (["build", "ru"], 2, ["beginning of several names", "rubq"]),
        (["build", "rubq-retrieval@9.9.9", "--sample"], 2, ["has no version '9.9.9'", "1.0.0"]),
        (["build", "rubq", "--sample", "--splits", "tset"], 2, ["has no split 'tset'", "test"]),
        (["build", "rubq", "--limit", "0"], 2, ["--limit", "whole number from 1"]),
        (["build", "rubq", "--limit", "-1"], 2, ["--limit", "whole number from 1"]),
        (["build", "rubq", "--limit", "1e3"], 2, ["--limit", "whole number from 1", "'1e3'"]),
        pytest.param(
            ["build", "rubq", "--sample", "--limit", "9" * 5000],
            2,
            ["argument --limit: a whole number from 1 to 2147483647, not '99999999999999999999...'\n"],
            id="thousands of digits, which Python refuses to read",
        ),
        (["build", "rubq", "--jobs", "0"], 2, ["--jobs", "whole number from 1"]),
        (["build", "rubq", "--jobs", "9" * 23], 2, ["--jobs", "to 2147483647"]),
        (["build", "rubq", "--sample", "--push", "org"], 2, ["--push publishes whole datasets", "--sample"]),
        (["build"], 2, ["NAME"]),
        (["publish", "cedr-classification@1.0.0", "--org", "org", "--all-versions"], 2, ["leave @VERSION out"]),
        (["build", "rubq", "--raw-dir", "nowhere"], 2, ["nowhere", "--raw-dir"]),
        (["fetch", "nothing"], 2, ["no source, dataset or group"]),
        (["show", "nothing"], 2, ["no source, dataset or group"]),
        (["check", "rubk"], 2, ["no such folder", "no source, dataset or group is named 'rubk'", "rubq"]),
        (["check", "outputs/nowhere"], 2, ["no such folder", "outputs/nowhere", "ORG/NAME"]),
        (["check", "cards"], 3, ["no tables found", "cards", "outputs/<dataset>/<version>"]),
        (["check", "rubq@9.9.9", "--output", "nowhere"], 2, ["has no version '9.9.9'", "1.0.0"]),
        (
            ["check", "rubq@1.0.0", "--output", "nowhere"],
            1,
            ["has not been built", "embedding-datasets build", "nowhere"],
        ),
        (["check", "rubq", "--against", "published", "--html", "x"], 2, ["--against", "--html"]),
        (["accept"], 2, ["required", "REPORT"]),
        (["accept", "nowhere.json"], 1, ["no build report found", "nowhere.json"]),
        (["accept", "README.md"], 1, ["not a build report", "README.md"]),
        (["diff", "tests"], 2, ["name two datasets", "diff cedr@1.0.0 cedr@2.0.0"]),
        (["diff", "nowhere", "tests"], 2, ["no such folder", "ORG/NAME@REVISION"]),
        (["publish", "rubq"], 2, ["--org"]),
        (["score"], 2, ["NAME"]),
        (["score", "rubk"], 2, ["no source, dataset or group", "rubq"]),
        (
            ["score", "terra", "--output", "nowhere"],
            1,
            ["no release to score", "embedding-datasets build terra-pairclassification@1.0.0", "--releases"],
        ),
        (["site"], 2, ["--output"]),
        (["site", "rubq", "--output", "tests"], 2, ["a release is in the folder", "tests", "--output"]),
        (["publish", "rubq", "--org", "org", "--repo-name", "x"], 2, ["--repo-name is for one dataset"]),
        (["publish", "rubq", "--org", "org", "--attestation", "x"], 2, ["--attestation is for one release"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and "embedding-datasets show" not in value else None,
)
def test_a_usage_error_names_the_problem_and_the_solution(
    arguments: list[str], code: int, words: list[str], tmp_path: Path
) -> None:
    process = run(*arguments, *(["--output", str(tmp_path)] if arguments[0] == "build" and len(arguments) > 1 else []))
    assert process.returncode == code, process.stderr
    assert process.stdout == ""
    assert [word for word in words if word not in process.stderr] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["build", "terra", "--sample", "--output", "OUT", "cedr"],
            ["terra-pairclassification", "cedr-classification"],
        ),
        (["show", "terra", "--json", "cedr"], ["terra-pairclassification", "cedr-classification"]),
        (["fetch", "terra", "--json", "--raw-dir", "OUT", "--offline", "cedr"], ["terra/val.jsonl", "cedr/main"]),
        (["check", "terra", "--output", "OUT", "cedr"], ["terra has not been built", "cedr has not been built"]),
        (["diff", "nowhere", "--json", "tests"], ["no such folder"]),
        (["publish", "terra", "--org", "org", "--dry-run", "rubk"], ["no source, dataset or group is named 'rubk'"]),
        (["decide", "nothing", "--raw-dir", "OUT"], ["no source, dataset or group is named 'nothing'"]),
    ],
    ids=lambda value: value[0],
)
def test_names_may_come_before_and_after_options(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    process = run(*(str(tmp_path) if argument == "OUT" else argument for argument in arguments))
    assert [word for word in words if word not in process.stdout + process.stderr] == []
    assert "unrecognized arguments" not in process.stderr


def test_the_error_for_a_missing_raw_file_names_its_path_and_outputs_stay_unchanged(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    run("build", "rubq", "--sample", "--output", str(tmp_path / "outputs"))
    before = tree(tmp_path / "outputs")
    options = ["--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"), "--offline"]
    process = run("build", "europarl", *options, "--output", str(tmp_path / "outputs"))
    assert process.returncode == 3
    assert str(tmp_path / "raw" / "document_mt" / "Europarl7" / "concatenated_en2de_test_en.txt") in process.stderr
    assert "--offline" in process.stderr
    assert tree(tmp_path / "outputs") == before


def test_a_local_file_with_the_wrong_digest_is_an_error(tmp_path: Path) -> None:
    process = run(
        "build", "terra", "--raw-dir", str(raw_dir(tmp_path / "raw", "terra")), "--output", str(tmp_path / "outputs")
    )
    assert process.returncode == 3
    assert "9a5ee3fc11a597cdfc838dac5140c6e66fc51eaaa6b418c90367ecb9bffa3601" in process.stderr
    assert "val.jsonl" in process.stderr


def build_genie(tmp_path: Path, data: bytes) -> subprocess.CompletedProcess[str]:
    """Build GENIE, whose file has no pinned digest, from `data`."""
    folder = raw_dir(tmp_path / "raw", "genie")
    (folder / "genie" / "ratings.jsonl").write_bytes(data)
    output = ["--output", str(tmp_path / "outputs"), "--cache", str(tmp_path / "cache")]
    return run("build", "genie", "--raw-dir", str(folder), "--offline", *output)


def genie_lines() -> list[bytes]:
    return (GOLDEN / "genie/raw/ratings.jsonl").read_bytes().splitlines(keepends=True)


def test_a_file_without_a_pinned_digest_is_used_and_marked_unverified(tmp_path: Path) -> None:
    options = ["--raw-dir", str(raw_dir(tmp_path / "raw", "genie")), "--cache", str(tmp_path / "cache"), "--offline"]
    process = run("build", "genie", *options, "--output", str(tmp_path / "outputs"))
    assert process.returncode == 0, process.stderr
    assert "built, unverified raw files" in process.stdout
    card = (tmp_path / "outputs" / "genie-reranking" / "2.0.0" / "README.md").read_text("utf-8")
    assert "unverified" in card.lower()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: b"".join([*lines[:2], lines[2][:-20]]), ["ratings.jsonl, line 3", "JSON"]),
        (lambda lines: b"".join([*lines[:4], b'{"prompt": \n', *lines[5:]]), ["ratings.jsonl, line 5", "JSON"]),
        (
            lambda lines: b"".join([*lines[:2], lines[2].replace(b'"response"', b'"answer"')]),
            ["ratings.jsonl, line 3", "response"],
        ),
        (lambda lines: lines[0] + lines[1].replace(b'"rating": 2', b'"rating": "two"'), ["line 2", "rating"]),
        (lambda _: b"<html>rate limited</html>", ["ratings.jsonl", "an HTML page of 25 bytes"]),
    ],
    ids=["a truncated file", "an invalid JSON line", "a missing key", "a value of the wrong type", "an HTML page"],
)
def test_malformed_raw_data_is_an_error_with_its_location_and_leaves_no_output(
    damage: object, words: list[str], tmp_path: Path
) -> None:
    process = build_genie(tmp_path, damage(genie_lines()))  # type: ignore[operator]
    assert process.returncode == 3, process.stderr
    assert [word for word in words if word not in process.stderr] == []
    assert tree(tmp_path / "outputs") == {}


@pytest.mark.parametrize(
    ("drop_lines", "words"),
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
def test_unaligned_documents_are_an_error_with_document_and_line(
    drop_lines: object, words: list[str], settings: BuildSettings, tmp_path: Path
) -> None:
    shutil.copytree(GOLDEN / "document_mt" / "raw", tmp_path / "document_mt" / "raw")
    german = tmp_path / "document_mt" / "raw" / "Europarl7" / "concatenated_en2de_test_de.txt"
    german.write_bytes(b"".join(drop_lines(german.read_bytes().splitlines(keepends=True))))  # type: ignore[operator]
    with pytest.raises(SourceError) as caught:
        make(definition_of("europarl-bitext"), "1.0.0", replace(settings, golden=tmp_path))
    assert caught.value.exit_code == 3
    assert [word for word in words if word not in str(caught.value)] == []
    assert list(settings.output.iterdir()) == []


def test_a_failed_dataset_does_not_stop_the_others_and_sets_the_exit_code(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "genie")
    options = [
        "--raw-dir",
        str(raw),
        "--cache",
        str(tmp_path / "cache"),
        "--offline",
        "--output",
        str(tmp_path / "outputs"),
    ]
    process = run("build", "terra", "genie@1.0.0", "--splits", "test", *options)
    assert process.returncode == 2, "terra has no test split"
    assert "terra-pairclassification has no split 'test'" in process.stderr
    assert "genie-reranking 1.0.0: built" in process.stdout


def test_a_dry_run_prints_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "hh_rlhf")
    options = ["--raw-dir", str(raw), "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "outputs")]
    process = run("build", "rubq", "hhrlhf-harmlessness", "ru-paraphraser", "--dry-run", *options)
    assert "rubq-retrieval 2.0.0: would download and build" in process.stdout
    assert "RuBQ_2.0_paragraphs.json  https://raw.githubusercontent.com/vladislavneon/RuBQ/" in process.stdout
    assert "ru-paraphraser-sts 3.0.0: impossible" in process.stdout
    assert process.returncode == 3
    assert "error: hh_rlhf/harmless-base/test.jsonl.gz" in process.stderr, (
        "the digest of the golden test file should not match"
    )
    assert not (tmp_path / "outputs").exists()
    assert not (tmp_path / "cache" / "raw").exists()


def test_fetch_lists_valid_files_and_reports_errors_for_the_others(tmp_path: Path) -> None:
    raw = raw_dir(tmp_path / "raw", "hh_rlhf")
    options = ["--raw-dir", str(raw), "--cache", str(tmp_path / "cache"), "--offline"]
    process = run("fetch", "hhrlhf-harmlessness", *options)
    assert process.returncode == 3
    assert "harmless-base/test.jsonl.gz" in process.stderr, "the digest of the golden test file should not match"
    assert "hh_rlhf/harmless-base/train.jsonl.gz" in process.stdout
    assert "unverified" in process.stdout


def test_the_error_for_a_manual_download_explains_where_to_get_and_put_the_file(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    process = run("fetch", "ru-paraphraser", "--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"))
    assert process.returncode == 3
    assert "paraphraser.ru/download" in process.stderr
    assert "\n  paraphraser/paraphrases.xml " in process.stderr
    assert f"put them below {tmp_path / 'raw'}, under these names" in " ".join(process.stderr.split())


def test_show_lists_the_catalogue_and_the_built_versions(tmp_path: Path) -> None:
    run("build", "terra", "--sample", "--output", str(tmp_path))
    output = run("show", "--output", str(tmp_path))
    assert output.returncode == 0
    [terra] = [line for line in output.stdout.splitlines() if line.startswith("terra")]
    assert terra.endswith("1.0.0 (sample)")
    rows = [json.loads(line) for line in run("show", "--json").stdout.splitlines()]
    assert [row["dataset"] for row in rows] == NAMES


def test_show_of_one_dataset_prints_its_recipe_options_and_raw_files() -> None:
    page = run("show", "rubq-reranking").stdout
    assert [
        word
        for word in (
            "min_negatives=9",
            "RuBQ_2.0_paragraphs.json",
            "git 1b27f82170edf9fb",
            "cc-by-sa-4.0",
            "top_ranked",
        )
        if word not in page
    ] == []


@pytest.mark.parametrize("name", ["headline-classification", "miracl-reranking-ru", "ria-news-retrieval"])
def test_an_output_folder_name_may_contain_glob_characters(name: str, settings: BuildSettings, tmp_path: Path) -> None:
    outcome = make(definition_of(name), "1.0.0", replace(settings, output=tmp_path / "[a]*?"))
    assert check_release(outcome.release_dir, language_sample=SAMPLE).report["problems"] == []


def test_check_exits_with_0_for_a_sound_release_and_1_for_a_damaged_one(tmp_path: Path) -> None:
    run("build", "cedr", "--sample", "--output", str(tmp_path))
    sound = run("check", str(tmp_path / "cedr-classification"))
    assert sound.returncode == 0
    assert "cedr-classification 4.0.0 (sample): 1 warning: invisible characters (1)" in " ".join(sound.stdout.split())
    assert "invisible_character" in sound.stdout
    data = tmp_path / "cedr-classification" / "4.0.0" / "data" / "test-00000-of-00001.parquet"
    data.write_bytes(data.read_bytes()[:-3])
    damaged = run("check", str(tmp_path / "cedr-classification" / "4.0.0"))
    assert damaged.returncode == 1
    assert "has changed" in damaged.stdout
