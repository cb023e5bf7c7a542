"""builders.benchmarks, and what a card says of mteb's built-in tasks; tests/test_mteb_built_in.py runs the code."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders.benchmarks import BUILT_IN, NOT_SERVED, built_in_tasks, namesake_tasks
from pipelines.make import BuildResult, make
from tests.support.releases import NAMES, definition_of, sample_settings


def code_of(card: str) -> list[str]:
    """The code blocks of a card that make a subclass of a built-in task."""
    return [block.split("```")[0] for block in card.split("```python\n")[1:] if "mteb.get_task(" in block]


def test_every_built_in_task_is_listed_once_with_a_dataset_of_ours() -> None:
    names = [task.name for task in BUILT_IN]
    assert len(names) == len(set(names)) == 34
    assert not set(names) & NOT_SERVED.keys()
    assert {task.dataset for task in BUILT_IN} | {task.namesake for task in BUILT_IN} - {""} <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if definition_of(name).dataset.group in ("rumteb", "rarb")])
def test_every_dataset_of_rumteb_and_rarb_is_that_of_a_built_in_task(name: str) -> None:
    assert bool(built_in_tasks(name)) != bool(namesake_tasks(name))


def test_the_tasks_of_a_dataset_agree_in_what_its_code_needs() -> None:
    for name in NAMES:
        assert len({(task.subset, task.renames_columns) for task in built_in_tasks(name)}) <= 1


def test_a_card_has_the_code_for_its_built_in_tasks(golden_release: Callable[[str], BuildResult]) -> None:
    release = golden_release("ru-scibench-grnti-classification")
    card = (release.release_dir / "README.md").read_text("utf-8")
    [code] = code_of(card)
    ast.parse(code)
    assert 'for name in ["RuSciBenchGRNTIClassification", "RuSciBenchGRNTIClusteringP2P"]:' in code
    assert f'dataset = {{"path": repo, "revision": "v{release.version}"}}' in code
    assert "`RuSciBenchGRNTIClusteringP2P` clusters the texts of the split `test`." in card


def test_the_card_of_a_clustering_dataset_that_mteb_does_not_read_names_the_one_that_it_reads(
    golden_release: Callable[[str], BuildResult],
) -> None:
    card = (golden_release("ru-scibench-oecd-clustering-p2p").release_dir / "README.md").read_text("utf-8")
    assert not code_of(card)
    assert "`RuSciBenchOECDClusteringP2P` does not read this dataset" in card
    assert "the split `test` of `ru-scibench-oecd-classification`" in card


def test_the_code_of_a_task_that_renames_columns_leaves_that_out_in_a_subclass_of_two_lines(
    golden_release: Callable[[str], BuildResult],
) -> None:
    [code] = code_of((golden_release("ru-paraphraser-sts").release_dir / "README.md").read_text("utf-8"))
    [subclass] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)]
    assert [ast.unparse(line) for line in subclass.body] == [
        "metadata = built_in.metadata.model_copy(update={'dataset': dataset})",
        "dataset_transform = AbsTaskSTS.dataset_transform",
    ]


def test_a_dataset_that_mteb_does_not_have_and_a_partial_release_have_no_such_code(
    golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    assert not code_of((golden_release("esnli-classification").release_dir / "README.md").read_text("utf-8"))
    definition = definition_of("massive-intent-classification")  # mteb evaluates its validation split too
    partial = make(definition, "1.0.0", replace(sample_settings(tmp_path), splits=("train", "test")))
    card = (partial.release_dir / "README.md").read_text("utf-8")
    assert "mteb.TaskMetadata(" in card
    assert not code_of(card)
