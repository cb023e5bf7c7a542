"""What the card says of each column."""

import json

import pytest

from builders import tasks
from cards.columns import MEANINGS, DescribedColumn, all_labels, describe_columns, describe_labels, label_name
from cards.texts import read_prose
from pipelines.make import GOLDEN
from tests.support.card_inputs import TASKS, definition_for, frames_for, manifest_for
from tests.support.releases import NAMES, definition_of

HAS_OWN = "id", "label_text"


def describe(task_type: str, prose: str = "") -> list[DescribedColumn]:
    tables = manifest_for(definition_for(task_type), frames_for(task_type)).tables
    return describe_columns(TASKS[task_type], tables, prose)


@pytest.mark.parametrize("task_type", TASKS)
def test_every_column_of_a_task_has_a_meaning(task_type: str) -> None:
    described = describe(task_type)
    assert len({(one.config, one.name) for one in described}) == len(described)
    assert [one.name for one in described if not one.meaning] == []


def test_labels_are_named_with_their_numbers_and_columns_by_the_prose_of_their_dataset() -> None:
    assert describe("PairClassification")[-1].meaning == "0 `not_entailment`, 1 `entailment`"
    assert describe("STS", "- `score`: as\n  annotated\n- `other`: not here\n")[-1].meaning == "as annotated"


@pytest.mark.parametrize(
    ("task", "key", "name"),
    [
        (TASKS["PairClassification"], 1, "entailment"),
        (TASKS["PairClassification"], "1", "entailment"),
        (TASKS["PairClassification"], 2, "2"),
        (TASKS["MultilabelClassification"], "None", "(none)"),
        (TASKS["MultilabelClassification"], None, "(none)"),
        (tasks.Clustering(), "None", "None"),
        (tasks.Clustering(), "7", "7"),
    ],
)
def test_a_label_is_shown_by_its_name_and_no_label_is_not_a_text_that_reads_none(
    task: tasks.Task, key: object, name: str
) -> None:
    assert label_name(task, key) == name


def test_of_many_labels_the_first_and_the_last_are_named_and_all_are_listed() -> None:
    task = tasks.Classification(tuple(f"label_{number}" for number in range(60)))
    assert describe_labels(task) == "0 `label_0` to 59 `label_59`"
    assert all_labels(task)[7] == "`label_7`"
    assert all_labels(TASKS["MultilabelClassification"]) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_column_that_a_dataset_adds_is_explained(name: str) -> None:
    definition = definition_of(name)
    known = {column for layout in tasks.layouts(definition.dataset.task) for column in (*layout.columns, *HAS_OWN)}
    known |= {column for task_type, _, column in MEANINGS if task_type == definition.dataset.task.type.name}
    golden = GOLDEN / definition.source.name / name / definition.dataset.newest
    rows = [json.loads(path.read_text("utf-8").partition("\n")[0]) for path in golden.glob("*.jsonl")]
    added = {column for row in rows for column in row} - known
    prose = read_prose(definition.source.name, name, definition.dataset.newest).columns
    assert {column for column in added if f"- `{column}`: " not in prose} == set()
