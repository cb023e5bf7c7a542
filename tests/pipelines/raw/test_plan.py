"""A first contact as a script: everything once and in order, and nothing twice when it runs again."""

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from builders import catalogue
from builders.raw_files import github, https, hub
from pipelines.raw.missing_files import list_needs
from pipelines.raw.plan import mirror_first, plan_script
from pipelines.raw.settings import RawSettings
from tests.support.raw_files import COMMIT, source_of
from tests.support.releases import NAMES, definition_of

STUB = """#!/bin/sh
echo "$@" >> "$LOG"
case "$1 $2" in "$FAIL"*) exit ${CODE:-3};; esac
if test "$1" = contamination; then shift 4; mkdir -p "$(dirname "$2")"; echo index > "$2"; fi
"""


def script(*names: str) -> list[str]:
    datasets = [(definition_of(name), definition_of(name).dataset.newest) for name in names]
    return plan_script(list_needs(datasets), RawSettings(mirrors=()))


def run_script(lines: list[str], folder: Path, fail: str = "nothing", code: int = 0) -> tuple[list[str], list[str]]:
    """The commands that a script runs, and what it says. fail: the beginning of commands that fail. code: how the script ends."""
    stub = folder / "bin" / "embedding-datasets"
    stub.parent.mkdir(exist_ok=True)
    stub.write_text(STUB)
    stub.chmod(0o755)
    log = folder / "log"
    log.write_text("")
    environment = {
        "PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}",
        "LOG": str(log),
        "RAW": str(folder / "raw"),
        "FAIL": fail,
        "CODE": str(code),
    }
    done = subprocess.run(
        ["sh"], input="\n".join(lines), env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    return log.read_text().replace(str(folder / "raw"), "RAW").splitlines(), done.stderr.splitlines()


def test_a_script_fetches_makes_and_builds_in_order_and_makes_nothing_twice(tmp_path: Path) -> None:
    lines = script("habr-contrastive", "ru-hnp-contrastive", "sts22-ru")
    commands, said = run_script(lines, tmp_path)
    assert commands == [
        "fetch habr-contrastive@2.1.0 ru-hnp-contrastive@2.0.0 sts22-ru@2.0.0 --yes --raw-dir RAW",
        "build rumteb ateb --yes --raw-dir RAW",
        "contamination index rumteb ateb --output RAW/benchmark-index.parquet",
        "decide habr --raw-dir RAW",
        "build habr-contrastive@1.0.0 --raw-dir RAW",
        "decide habr-contrastive --model intfloat/multilingual-e5-small --raw-dir RAW",
        "build habr-contrastive@2.1.0 ru-hnp-contrastive@2.0.0 sts22-ru@2.0.0 --raw-dir RAW",
    ]
    assert [line.split(":")[0] for line in said] == ["get sts22/articles.zip"]
    assert (tmp_path / "raw" / "benchmark-index.parquet").read_text() == "index\n"
    (tmp_path / "raw" / "sts22").mkdir()
    (tmp_path / "raw" / "sts22" / "articles.zip").touch()
    again, said = run_script(lines, tmp_path)
    assert said == []
    assert [command for command in commands if command not in again] == [commands[2]]


def test_the_script_of_the_catalogue_names_terms_and_each_file_once(tmp_path: Path) -> None:
    ours = [name for name in NAMES if catalogue.entries()[name].group != "other"]  # without those that a checkout adds
    lines = script(*ours)
    commands, said = run_script(lines, tmp_path)
    assert sum(command.startswith("contamination index") for command in commands) == 1
    decided = [command for command in commands if command.startswith("decide")]
    assert len(decided) == len(set(decided))
    assert len(said) == len(set(said)) == 8
    terms = [line for line in lines if "accept the terms" in line]
    assert [line.rpartition("/")[2] for line in terms] == ["InstruSum", "chatbot_arena_conversations"]
    assert len(lines) < 150


def test_a_dataset_with_hard_negatives_is_ranked_by_both_models_after_the_corpus_that_they_rank_is_built(
    tmp_path: Path,
) -> None:
    commands, said = run_script(script("ria-news-retrieval-hard-negatives"), tmp_path)
    mine = "decide ria-news-retrieval-hard-negatives --model intfloat"
    assert commands == [
        "fetch ria-news-retrieval-hard-negatives@2.0.0 --yes --raw-dir RAW",
        "build ria-news-retrieval@2.0.0 --raw-dir RAW",
        f"{mine}/multilingual-e5-large --device cuda --raw-dir RAW",
        f"{mine}/e5-mistral-7b-instruct --device cuda --raw-dir RAW",
        "build ria-news-retrieval-hard-negatives@2.0.0 --raw-dir RAW",
    ]
    assert said == []


def test_what_may_vanish_first_is_mirrored_first_where_its_licence_permits_copies() -> None:
    gone = replace(https("https://a.example/a"), withdrawn="deleted")
    files = {
        "repository": github("o/r", COMMIT, "a"), "moving": hub("o/r", "main", "a", moving=True),
        "address": https("https://a.example/a"), "withdrawn": gone, "secret": gone,
    }  # fmt: skip
    sources = [replace(source_of(file), name=name, license="mit") for name, file in files.items()]
    sources[-1] = replace(sources[-1], license="unknown")
    assert mirror_first(sources) == [
        ("withdrawn", "withdrawn: deleted"),
        ("address", "one address, without a commit"),
        ("moving", "its publisher may replace it"),
        ("repository", "one repository of its publisher"),
    ]


@pytest.mark.parametrize("name", ["georeview-classification", "cedr-classification"])
def test_a_plan_ends_with_the_command_that_mirrors(name: str) -> None:
    source = definition_of(name).source.name
    assert script(name)[-2].startswith(f'# embedding-datasets publish --raw {source} --org "$ORG" --raw-dir "$RAW"')


def test_a_script_goes_on_after_a_failure_and_ends_with_all_of_them_and_the_code_of_the_first(tmp_path: Path) -> None:
    lines = script("cedr-classification", "ru-stsbenchmark-sts")
    commands, said = run_script(lines, tmp_path, fail="fetch", code=5)
    assert [command.split()[0] for command in commands] == ["fetch", "decide", "build"]
    assert said[-2] == "failed:"
    assert said[-1].startswith("  exit code 5: embedding-datasets fetch cedr-classification@4.0.0 ")
    assert said[-1].endswith(" --yes --raw-dir " + str(tmp_path / "raw"))
    _, said = run_script(lines, tmp_path, fail="", code=4)
    assert [line.split()[4] for line in said[-3:]] == ["fetch", "decide", "build"]


def test_steps_have_a_time_by_their_sizes_and_say_whether_a_gpu_is_used() -> None:
    lines = script("multi-para-crawl-contrastive", "opus-100-contrastive")
    steps = {
        " ".join(shlex.split(line)[2:4]): line.partition("  # ")[2] for line in lines if line.startswith("run emb")
    }
    # by hand: 657,054,876 bytes; 500 KB/s and 2 KB/s; 300,000 pairs of two texts, 20 a second; no size of OPUS-100 is known
    assert steps["decide multi_para_crawl"] == "about 91 h 37 min; much less with a GPU"
    assert steps["decide multi-para-crawl-contrastive"] == "about 8 h 20 min; no GPU is used"
    assert steps["decide opus_100"] == "a time nobody knows, as the size; no GPU is used"
    assert script("cedr-classification")[3:5] == [
        "# disk: 1 file, 693 KB to download, and as much again for releases",
        "# time: estimates, for two cores and 10 MB a second from the network",
    ]
    assert script("cedr-classification")[5].endswith("# about 0.1 s")
