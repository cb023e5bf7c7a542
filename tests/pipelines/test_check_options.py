"""The options of `check` for other people's files, as the command line takes them."""

import json
from pathlib import Path

import polars as pl
import pytest

import embedding_datasets
from pipelines.scores import results
from tests.support.made_texts import COLOURS, digit, sentence
from tests.support.processes import run


def test_a_file_and_the_names_of_its_columns_are_given_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sentence,target\nIt rains.,0\nThe sun is out.,1\nIt rains.,1\n", "utf-8")
    columns = ["--map", "text=sentence", "--map", "label=target"]
    done = run("check", str(path), "--json", "--language", "eng-Latn", *columns)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert (report["path"], report["dataset"], report["task"]) == (str(path), "data.csv", "Classification")
    assert "conflicting_label" in {finding["kind"] for finding in report["findings"]}
    done = run("check", str(path), "--map", "text=sentense")
    assert (done.returncode, "found:    sentence, target" in done.stderr) == (2, True)


def made_file(path: Path) -> Path:
    """Texts whose labels moved down by a row behind the first third, which alone is train."""
    topics = [digit(row) % 2 for row in range(900)]
    rows = [f"{sentence(row, words=8)} {COLOURS[topic]},{topic}" for row, topic in enumerate(topics)]
    moved = [f"{row[:-1]}{label}" for row, label in zip(rows[600:], [0, *topics[600:]], strict=False)]
    for split, lines in (("train", rows[:600]), ("test", moved)):
        (path / f"{split}.csv").write_text("\n".join(["text,label", *lines]) + "\n", "utf-8")
    return path


def test_a_profile_is_in_text_json_html_and_the_rows_of_findings(tmp_path: Path) -> None:
    data, out = made_file(tmp_path), tmp_path.parent / f"{tmp_path.name}-out"
    options = ["--html", str(out / "report.html"), "--findings", str(out / "rows")]
    out.mkdir()
    text = run("check", str(data), "--profile", *options)
    assert text.returncode == 0, text.stderr
    assert "labels look shifted down by 1 row" in " ".join(text.stdout.split())
    report = json.loads(run("check", str(data), "--profile", "--json").stdout)
    [finding] = [finding for finding in report["findings"] if finding["kind"] == "split_disagrees"]
    assert len(finding["examples"]) == 100
    assert "300 of 300 test rows looked at: balanced accuracy" in " ".join(report["notes"])
    assert (finding["kind"], finding["detail"]) in {
        (one.kind, one.detail) for one in embedding_datasets.check(data, profile=True).findings
    }
    page = (out / "report.html").read_text("utf-8")
    assert "likelier label" in page
    rows = pl.read_parquet(*(out / "rows").rglob("split_disagrees/*.parquet"))
    assert rows.columns[:6] == ["row", "column", "detail", "given label", "likelier label", "times likelier"]
    assert set(rows.filter(pl.col("text").str.ends_with("green"))["likelier label"]) == {"0"}
    assert run("check", str(data), "--profile", "--fail-on", "split_disagrees").returncode == 1


def test_a_profile_without_its_packages_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "find_spec", lambda module: None if module == "sklearn" else module)
    done = run("check", str(made_file(tmp_path)), "--profile")
    assert done.returncode == 2
    assert "pip install 'embedding-datasets[scores]'" in done.stderr
    assert "not installed: scikit-learn" in done.stderr


@pytest.mark.parametrize("option", [["--profile"], ["--badge", "badge.json"]])
def test_profiles_and_badges_are_not_for_comparisons_and_organisations(option: list[str]) -> None:
    for other in (["--against", "published"], ["--org", "ORG"]):
        assert run("check", "cedr", *option, *other).returncode == 2
