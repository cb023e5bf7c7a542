"""embedding-datasets new: it begins a dataset, overwrites nothing, and refuses names that cannot be."""

import shutil
import sys
from pathlib import Path

import pytest

from builders.errors import UsageError
from pipelines import command, new
from pipelines.scaffold import checkout
from tests.support.paths import ROOT
from tests.support.releases import tree

BEGIN = ("toy", "--task", "STS")
FILES = {
    "tests/golden/toy/raw/records.jsonl",
    "tests/golden/toy/README.md",
    "cards/prose/toy.md",
    "builders/other/toy.py",
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the builders of this one, its citations, and no golden sample."""
    shutil.copytree(ROOT / "builders", tmp_path / "builders", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "golden").mkdir(parents=True)
    (tmp_path / "cards").mkdir()
    for name in ("pyproject.toml", "cards/citations.bib"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["new", *arguments])
    return new.main()


def test_it_writes_five_files_and_says_what_comes_next(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(repository)
    assert run(monkeypatch, *BEGIN) == 0
    after = tree(repository)
    assert {name for name in after.keys() - before.keys() if after[name] != b"<folder>"} == FILES
    assert {name for name in before if before[name] != after[name]} == {"cards/citations.bib"}
    assert after["cards/citations.bib"].startswith(before["cards/citations.bib"] + b"\n@misc{author0000toy,\n")
    printed = capsys.readouterr().out
    assert "embedding-datasets build toy-sts --sample" in printed
    assert all(f"  {name}\n" in printed for name in FILES)


def test_a_dry_run_lists_the_same_files_and_writes_none(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(repository)
    assert run(monkeypatch, *BEGIN, "--dry-run") == 0
    assert tree(repository) == before
    printed = capsys.readouterr().out
    assert all(f"  {name}\n" in printed for name in FILES)


def test_killed_half_way_and_run_again_it_completes_what_is_missing_and_overwrites_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = checkout.write_atomically

    def killed(path: Path, content: str | bytes) -> None:
        if path.suffix == ".bib":
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(checkout, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, *BEGIN)
    assert not (repository / "builders" / "other" / "toy.py").exists()
    prose = repository / "cards" / "prose" / "toy.md"
    prose.write_text("# toy\n\nMine.\n", "utf-8")
    monkeypatch.setattr(checkout, "write_atomically", write)
    assert run(monkeypatch, *BEGIN) == 0
    assert prose.read_text("utf-8") == "# toy\n\nMine.\n"
    assert all((repository / name).is_file() for name in FILES)
    assert (repository / "cards" / "citations.bib").read_text("utf-8").count("author0000toy") == 1


@pytest.mark.parametrize(
    "name", ["../toy", "a/b", "Toy", "toy-a", "1toy", "toy_", "class", "all", "rumteb", "other", "", "a" * 31]
)
def test_a_name_that_no_source_can_have_is_refused(
    name: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(repository)
    with pytest.raises(UsageError, match="not a name for a source") as caught:
        run(monkeypatch, name, "--task", "STS")
    assert caught.value.found == repr(name)
    assert tree(repository) == before


def test_the_name_of_a_dataset_of_another_source_is_refused(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="a dataset is named 'europarl-bitext' already"):
        run(monkeypatch, "europarl", "--task", "BitextMining")


def test_beginnings_that_will_mean_something_else_are_named(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "cedr_two", "--task", "STS", "--dry-run") == 0
    assert "c ... cedr_ will no longer mean cedr-classification: write more of that name" in capsys.readouterr().err


def test_without_a_task_an_unknown_name_is_an_error_that_lists_the_task_types(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"(?s)no builder is named 'toy'.*MultilabelClassification"):
        run(monkeypatch, "toy")


@pytest.mark.parametrize(
    "arguments", [("--task", "sorting"), ("--file", "a/b.csv"), ("--file", ".."), ("--benchmark", "x")]
)
def test_options_that_make_no_sense_are_refused(arguments: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        run(monkeypatch, "toy", *arguments)


def test_an_installed_package_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    with pytest.raises(UsageError, match=r"(?s)only in a checkout.*clone the repository"):
        run(monkeypatch, *BEGIN)


def test_run_on_a_finished_source_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "terra") == 0
    assert capsys.readouterr().out.startswith("terra: complete\n")


def test_run_on_an_unfinished_source_it_lists_each_gap_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prose = tmp_path / "prose" / "terra.md"
    prose.parent.mkdir()
    text = (ROOT / "cards" / "prose" / "terra.md").read_text("utf-8")
    prose.write_text(
        text.replace("- Many texts", "- TODO(new): limits. Many texts").replace("## Decided", "## Done"), "utf-8"
    )
    monkeypatch.setattr("cards.texts.CARDS", tmp_path)
    assert run(monkeypatch, "terra") == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("terra: 3 gaps nothing can be built before this is done:")
    assert "expected '## Decided' in '# terra-pairclassification' -> write it" in printed
    assert "write it in place of TODO(new)" in printed


def test_a_builder_that_cannot_be_imported_is_an_error_with_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("from builders.spec import dataset\n\nTASK = unknown\n", "utf-8")

    def load(_: object) -> None:
        exec(compile(broken.read_text("utf-8"), str(broken), "exec"), {})

    monkeypatch.setattr("builders.catalogue.ROOT", tmp_path)
    monkeypatch.setattr("builders.catalogue.load", load)
    with pytest.raises(UsageError, match="a builder cannot be imported") as caught:
        command.resolve_datasets(["terra"])
    assert caught.value.where == f"{broken}:3"
    assert caught.value.found == "NameError: name 'unknown' is not defined"
