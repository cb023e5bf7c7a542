"""What the card says of each column."""

import json

import pytest

from builders import tasks
from cards.columns import MEANINGS, all_labels, describe_columns, describe_labels, label_name
from cards.texts import read_prose
from pipelines.make import GOLDEN
from tests.support.card_inputs import TASKS, definition_for, frames_for, manifest_for
from tests.support.releases import NAMES, definition_of

HAS_OWN = "id", "label_text"


@pytest.mark.parametrize("task_type", TASKS)
def test_every_column_of_a_task_has_a_meaning(task_type: str) -> None:
    manifest = manifest_for(definition_for(task_type), frames_for(task_type))
    described = describe_columns(TASKS[task_type], manifest.tables, "")
    assert len({(one.config, one.name) for one in described}) == len(described)
    assert [one.name for one in described if not one.meaning] == []


def test_the_labels_are_named_with_their_numbers() -> None:
    manifest = manifest_for(definition_for("PairClassification"), frames_for("PairClassification"))
    *_, labels = describe_columns(TASKS["PairClassification"], manifest.tables, "")
    assert labels.meaning == "0 `not_entailment`, 1 `entailment`"
    assert label_name(TASKS["PairClassification"], 1) == "entailment"
    assert label_name(TASKS["PairClassification"], "1") == "entailment"
    assert label_name(TASKS["PairClassification"], 2) == "2"


def test_no_label_at_all_is_not_a_text_that_reads_none() -> None:
    assert label_name(TASKS["MultilabelClassification"], "None") == "(none)"
    assert label_name(TASKS["MultilabelClassification"], None) == "(none)"
    assert label_name(tasks.Clustering(), "None") == "None"
    assert label_name(tasks.Clustering(), "7") == "7"


def test_of_many_labels_the_first_and_the_last_are_named_and_all_are_listed() -> None:
    task = tasks.Classification(tuple(f"label_{number}" for number in range(60)))
    assert describe_labels(task) == "0 `label_0` to 59 `label_59`"
    assert all_labels(task)[7] == "`label_7`"
    assert all_labels(TASKS["MultilabelClassification"]) == []


def test_the_prose_says_what_a_column_of_this_dataset_alone_means() -> None:
    manifest = manifest_for(definition_for("STS"), frames_for("STS"))
    prose = "- `score`: as\n  annotated\n- `other`: not here\n"
    assert [one.meaning for one in describe_columns(TASKS["STS"], manifest.tables, prose)][-1] == "as annotated"


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
