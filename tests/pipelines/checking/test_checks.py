"""Checks of datasets in folders and on the Hub, as the command reports them."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from huggingface_hub import HfApi, constants

from builders.errors import ReleaseError
from cards.kinds import SAMPLE
from cards.manifest import encode
from pipelines.checking.checks import check_release
from pipelines.hub import client
from pipelines.make import BuildResult, make
from tests.support.foreign import finding_counts, report_of, write_card
from tests.support.loopback_hub import LoopbackHub
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import definition_of, sample_settings, write_dataset
from tests.support.tables import clean_tables, with_rows, with_value

RUSSIAN_PEOPLE = "учитель врач сосед дядя повар брат друг дедушка мальчик художник почтальон капитан"
RUSSIAN_DEEDS = (
    "вчера вечером долго рассказывал о том, что видел;обещал помочь построить новый дом, в котором будет жить;"
    "написал большое письмо, которое ещё не прочитал;каждое утро ходит на рынок, где его уже ждёт;"
    "купил старую лодку, которую раньше чинил;сказал, что завтра приедет и привезёт яблоки;"
    "совсем не помнит, куда положил ключи его;громко смеялся, когда на лестнице упал;"
    "сидел у окна и смотрел, как во дворе играет;нашёл в лесу белый гриб, какого не видел ещё;"
    "пел песню, которой его когда-то научил;открыл дверь и удивился: на пороге стоял;"
    "поливал цветы, которые весной посадил;читал газету, пока чай заваривал;"
    "уехал на север раньше, чем вернулся"
)
ENGLISH = "The committee will meet again next week to discuss the remaining questions of the report."


def test_the_exit_code_is_0_for_a_sound_dataset_and_4_for_a_defective_one(tmp_path: Path) -> None:
    sound = write_dataset(tmp_path / "sound", clean_tables("STS"))
    broken = write_dataset(
        tmp_path / "broken", with_value("default", "test", "sentence1", 1, None)(clean_tables("STS"))
    )
    done = run("check", str(sound), "--language", "eng-Latn")
    assert (done.returncode, done.stdout.splitlines()) == (0, [
        "sound: no problems", "  task      STS", "  rows      default/train 4, default/test 4",
        "  note      default: ignored columns id",
        "  note      scale of the scores unknown, assumed 0 to 5, the lowest and the",
        "            highest score (pass --scale LOW HIGH)",
    ])  # fmt: skip
    done = run("check", str(tmp_path / "nothing"), str(sound), str(broken), "--json")
    assert done.returncode == 2
    assert "no such folder" in done.stderr
    failure, *reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert failure == {
        "dataset": str(tmp_path / "nothing"), "version": None, "state": "failed", "path": str(tmp_path / "nothing"),
        "error": failure["error"],
    }  # fmt: skip
    assert failure["error"] == {
        "what": "no such folder or file", "where": str(tmp_path / "nothing"), "found": None,
        "expected": failure["error"]["expected"], "todo": failure["error"]["todo"], "exit_code": 2,
    }  # fmt: skip
    assert [(report["dataset"], report["path"], len(report["defects"])) for report in reports] == [
        ("sound", str(sound), 0), ("broken", str(broken), 1),
    ]  # fmt: skip
    assert run("check", str(broken)).returncode == 4


def test_a_name_of_the_catalogue_is_the_newest_release_below_the_output(tmp_path: Path) -> None:
    make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path))
    done = run("check", "terra", "--output", str(tmp_path / "outputs"), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["dataset"], report["path"], report["task"]) == (
        0,
        "terra-pairclassification",
        "terra",
        "PairClassification",
    )
    done = run("check", "rubq", "--output", str(tmp_path / "outputs"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("has not been built") == 2


@pytest.mark.parametrize("same_version", [True, False])
def test_findings_of_another_version_of_this_package_are_a_note_and_edited_ones_a_problem(
    same_version: bool, tmp_path: Path
) -> None:
    outcome = make(definition_of("cedr-classification"), "1.0.0", sample_settings(tmp_path))
    edited = replace(outcome.manifest, findings=())
    edited = edited if same_version else replace(edited, report_sha256="0" * 64)
    (outcome.release_dir / "manifest.json").write_bytes(encode(edited))
    report = check_release(outcome.release_dir, language_sample=SAMPLE).report
    assert report["problems"] == (["the findings in the manifest are not those of the rows"] if same_version else [])
    assert [note.split(" wrote")[0] for note in report["notes"]] == (
        [] if same_version else ["another version of this package"]
    )
    assert report["findings"]


def test_a_release_in_a_folder_is_checked_for_what_load_dataset_reads_there(tmp_path: Path) -> None:
    release_dir = make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path)).release_dir
    stray, unread = release_dir / "data" / "dev-extra.parquet", release_dir / "other.parquet"
    for path in (stray, unread):
        path.write_bytes((release_dir / "data" / "dev-00000-of-00001.parquet").read_bytes())
    assert check_release(release_dir, language_sample=None).report["problems"] == [
        "other.parquet is in no table of the manifest",
        "data/dev-extra.parquet would be loaded as default/dev, and the manifest does not name it",
    ]
    stray.unlink()
    unread.unlink()
    card = release_dir / "README.md"
    card.write_text(card.read_text("utf-8").replace("path: data/dev-*", "path: data/test-*"), "utf-8")
    loads, edited = check_release(release_dir, language_sample=None).report["problems"]
    assert loads.startswith("README.md: load_dataset would fail: no files match the config 'default'")
    assert edited.startswith("README.md was edited after the build")


def test_a_release_of_an_unknown_dataset_is_an_error(tmp_path: Path) -> None:
    release_dir = make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path)).release_dir
    path = release_dir / "manifest.json"
    path.write_text(
        path.read_text("utf-8").replace('"dataset": "terra-pairclassification"', '"dataset": "other"'), "utf-8"
    )
    with pytest.raises(ReleaseError, match="unknown dataset") as caught:
        check_release(release_dir, language_sample=None)
    assert caught.value.found == "other"


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    """A Hub with one repository, org/set, without files."""
    with LoopbackHub() as hub:
        hub.create("org/set", {})
        yield hub


def push(hub: LoopbackHub, dataset_dir: Path) -> str:
    """Commit a folder to main of org/set; returns the commit."""
    paths = sorted(path for path in dataset_dir.rglob("*") if path.is_file())
    return hub.commit("org/set", {path.relative_to(dataset_dir).as_posix(): path.read_bytes() for path in paths})


def check_on_hub(hub: LoopbackHub, tmp_path: Path, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """The exit code, reports and stderr of the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "HfApi", lambda endpoint, **options: HfApi(endpoint=endpoint or hub.url, **options))
        patch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
        patch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
        done = run("check", *arguments, "--json")
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_dataset_on_the_hub_is_checked_at_main_a_branch_or_a_commit_and_downloaded_once(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    dataset_dir = write_dataset(tmp_path / "set", clean_tables("Retrieval"))
    write_card(dataset_dir, "language: en")
    (dataset_dir / "notes.bin").write_bytes(b"not data")
    first = push(hub, dataset_dir)
    with_defect = with_rows("qrels", "test", ("q1", "d9", 1))(clean_tables("Retrieval"))
    second = push(hub, write_dataset(tmp_path / "set", with_defect))
    hub.repos["org/set"].branches["refs/pr/1"] = first

    code, [report], err = check_on_hub(hub, tmp_path, "org/set")
    assert (code, err, report["revision"], report["path"], report["dataset"]) == (4, "", second, "org/set", "org/set")
    assert finding_counts(report) == [("dangling_qrel", "qrels/test/corpus-id", 1)]
    assert report["languages"] == ["eng"]
    for revision in (first, "refs/pr/1"):
        code, [report], _ = check_on_hub(hub, tmp_path, f"org/set@{revision}")
        assert (code, report["revision"], report["findings"]) == (0, first, [])
    downloads = [request.path for request in hub.log if "/resolve/" in request.path]
    assert any(path.endswith("corpus/test-00000-of-00001.parquet") for path in downloads)
    assert not any("notes.bin" in path for path in downloads), "only data files are downloaded"
    hub.log.clear()
    assert check_on_hub(hub, tmp_path, f"org/set@{first}")[0] == 0
    assert not any(request.path.endswith(".parquet") for request in hub.log), "they are in the cache"


def test_one_subset_of_a_dataset_on_the_hub_is_downloaded_alone(hub: LoopbackHub, tmp_path: Path) -> None:
    texts = clean_tables("Clustering")["default"]
    dataset_dir = write_dataset(tmp_path / "set", {"de": texts, "ru": texts})
    configs = [f"- {{config_name: {name}, data_files: [{{split: test, path: '{name}/*'}}]}}" for name in ("de", "ru")]
    write_card(dataset_dir, "\n".join(["configs:", *configs]))
    push(hub, dataset_dir)
    code, [report], err = check_on_hub(hub, tmp_path, "org/set", "--subset", "ru")
    assert (code, err, report["subset"], report["tables"][0]["config"]) == (0, "", "ru", "ru")
    assert not any("/de/" in request.path for request in hub.log)
    code, reports, _ = check_on_hub(hub, tmp_path, "org/set")
    assert (code, [report["subset"] for report in reports]) == (0, ["de", "ru"])


def test_what_the_hub_does_not_have_is_an_error(hub: LoopbackHub, tmp_path: Path) -> None:
    for name, words in {
        "org/other": "no such repository",
        "org/set@v9": "no such repository",
        "org/set": "no tables found",
    }.items():
        code, [failure], err = check_on_hub(hub, tmp_path, name)
        assert (code, failure["state"], failure["error"]["exit_code"]) == (3, "failed", 3)
        assert words in err


def test_front_matter_on_the_hub_that_expands_without_end_is_an_error(hub: LoopbackHub, tmp_path: Path) -> None:
    dataset_dir = write_dataset(tmp_path / "set", clean_tables("STS"))
    lines = ["v0: &v0 [x, x]", *(f"v{number}: &v{number} [*v{number - 1}, *v{number - 1}]" for number in range(1, 30))]
    write_card(dataset_dir, "\n".join(lines))
    push(hub, dataset_dir)
    code, [failure], _ = check_on_hub(hub, tmp_path, "org/set")
    assert (code, failure["error"]["what"]) == (3, "invalid YAML in the front matter")


def test_the_documentation_lists_every_key(tmp_path: Path, golden_release: Callable[[str], BuildResult]) -> None:
    release_dir = golden_release("terra-pairclassification").release_dir
    keys = (
        report_of(write_dataset(tmp_path, clean_tables("STS"))).keys()
        | check_release(release_dir, language_sample=2000).report.keys()
    )
    documented = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|", (ROOT / "docs" / "checking.md").read_text("utf-8"), re.MULTILINE
    )
    assert {"path", "revision", "content_sha256", "audited"} <= keys
    assert keys <= set(re.findall(r"\w+", " ".join(documented)))


def test_audit_language_all_detects_the_language_of_every_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden_release: Callable[[str], BuildResult]
) -> None:
    people, deeds = RUSSIAN_PEOPLE.split(), RUSSIAN_DEEDS.split(";")
    monkeypatch.setattr("cards.kinds.SAMPLE", 500)
    monkeypatch.setattr("pipelines.audit.languages.LARGE_TABLE", 500)
    texts = [" ".join(words) for words in product(people, deeds, people)]
    texts = [ENGLISH[number % 25 :] if number % 100 == 0 else text for number, text in enumerate(texts)]
    table = pl.DataFrame({"sentences": texts, "labels": [str(number % 2) for number in range(len(texts))]})
    dataset_dir = write_dataset(tmp_path, {"default": {"test": table}})

    def wrong_language_count(*options: str) -> int:
        done = run("check", str(dataset_dir), "--language", "rus-Cyrl", "--json", *options)
        findings = json.loads(done.stdout)["findings"]
        return sum(finding["count"] for finding in findings if finding["kind"] == "wrong_language")

    assert len(texts) == 2160
    assert 0 < wrong_language_count() < 22
    assert wrong_language_count("--audit-language", "all") == 22
    release_dir = str(golden_release("cedr-classification").release_dir)
    assert run("check", release_dir, "--audit-language", "all").returncode == 0, (
        "the manifest has the counts of a sample of texts"
    )


RULES = """\
rules:
- {name: no-links, column: sentence1, must_not: 'https?://'}
- {name: scores, column: score, between: [0, 5], severity: error}
"""


def test_rules_beside_the_data_or_named_are_applied_in_every_form(tmp_path: Path) -> None:
    tables = with_value("default", "test", "sentence1", 1, f"{'ab ' * 40}http://example.org is here")(
        clean_tables("STS")
    )
    dataset_dir = write_dataset(tmp_path / "set", tables)
    assert "rule" not in run("check", str(dataset_dir)).stdout
    (dataset_dir / "checks.yaml").write_text(RULES, "utf-8")
    page = run("check", str(dataset_dir), "--html", str(tmp_path / "r.html"), "--findings", str(tmp_path / "rows"))
    words = " ".join(page.stdout.split())
    assert 'default/test/sentence1 violated rule; no-links: must_not "https?://" “…' in words
    assert page.returncode == 0
    assert run("check", str(dataset_dir), "--fail-on", "rule:25%").returncode == 1
    [example] = re.findall(r"<mark>.*?</mark>", (tmp_path / "r.html").read_text("utf-8"))
    assert example == "<mark>http://</mark>"
    [found] = (tmp_path / "rows" / "set" / "rule").iterdir()
    assert pl.read_parquet(found)["detail"].to_list() == ['no-links: must_not "https?://"']
    (tmp_path / "own.yaml").write_text(RULES.replace("[0, 5]", "[6, 9]"), "utf-8")
    for form, part in [
        ("json", '"kind": "rule"'),
        ("sarif", '"ruleId": "rule"'),
        ("github", "::error title=set%3A rule::"),
    ]:
        done = run("check", str(dataset_dir), "--rules", str(tmp_path / "own.yaml"), "--format", form)
        assert done.returncode == 4, "a rule may be an error"
        assert part in done.stdout
    (dataset_dir / "checks.yaml").write_text(RULES.replace("must_not", "must"), "utf-8")
    assert "rule" in run("check", str(dataset_dir)).stdout


def test_a_release_is_checked_with_named_rules_and_stays_sound(
    tmp_path: Path, golden_release: Callable[[str], BuildResult]
) -> None:
    (tmp_path / "own.yaml").write_text("rules: [{name: short, column: text, characters: [0, 5]}]\n", "utf-8")
    release_dir = golden_release("cedr-classification").release_dir
    done = run("check", str(release_dir), "--rules", str(tmp_path / "own.yaml"), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["problems"]) == (0, [])
    assert {finding["detail"] for finding in report["findings"] if finding["kind"] == "rule"} == {
        "short: characters [0, 5]"
    }


def test_rules_are_written_beside_the_data_once_and_kept_by_them(tmp_path: Path) -> None:
    dataset_dir = write_dataset(tmp_path / "set", clean_tables("Retrieval"))
    assert run("check", str(dataset_dir), "--write-rules", "--language", "eng-Latn").returncode == 0
    written = (dataset_dir / "checks.yaml").read_text("utf-8")
    assert "- name: corpus-text" in written
    done = run("check", str(dataset_dir), "--json")
    assert (done.returncode, json.loads(done.stdout)["languages"]) == (0, ["eng-Latn"])
    assert not [finding for finding in json.loads(done.stdout)["findings"] if finding["kind"] == "rule"]
    done = run("check", str(dataset_dir), "--write-rules")
    assert (done.returncode, "there are rules already" in done.stderr) == (2, True)
    assert (dataset_dir / "checks.yaml").read_text("utf-8") == written


def test_a_mistake_in_rules_ends_the_check_with_file_and_line(tmp_path: Path) -> None:
    dataset_dir = write_dataset(tmp_path / "set", clean_tables("STS"))
    (dataset_dir / "checks.yaml").write_text("rules:\n- name: a\n  colum: b\n", "utf-8")
    done = run("check", str(dataset_dir))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{dataset_dir / 'checks.yaml'}, line 3" in done.stderr
