"""The table of docs/training.md is what the builders say."""

from builders import catalogue
from pipelines.catalogue_pages.paper_tables import SETS, training_markdown
from tests.support.paths import ROOT


def test_the_page_is_up_to_date() -> None:
    assert training_markdown() in (ROOT / "docs" / "training.md").read_text("utf-8"), (
        "generate it: python -m pipelines.catalogue_pages.paper_tables"
    )


def test_every_set_of_the_paper_is_a_config_of_a_dataset_and_every_config_is_a_set() -> None:
    built = [(one["dataset"], one["config"]) for one in SETS]
    training = [catalogue.load(entry).dataset for entry in catalogue.entries().values() if entry.group == "training"]
    assert len(built) == len(set(built)) == 54
    assert set(built) == {(dataset.name, config) for dataset in training for config in dataset.task.configs}
