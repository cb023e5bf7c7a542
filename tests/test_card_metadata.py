"""The front matter of every dataset, as the Hub and the classes of huggingface_hub and datasets read it."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from builders.licenses import LICENSES
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.hub_vocabulary import CATEGORIES, TASK_IDS
from tests.support.releases import NAMES, definition_of

LISTS = (
    "language",
    "multilinguality",
    "annotations_creators",
    "source_datasets",
    "size_categories",
    "task_categories",
    "tags",
)
FIRST_SCREEN = 20  # lines of a card before its first section, without warnings
HEAD = 2  # lines of a table without rows
TAG = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")  # a version may have a dot: mteb-rus-v1.1


def resource(name: str) -> Any:
    """A list of words that `datasets` brings."""
    return json.loads((files("datasets.utils.resources") / f"{name}.json").read_text("utf-8"))


@pytest.fixture(params=NAMES)
def card(request: pytest.FixtureRequest, golden_release: Callable[[str], BuildResult]) -> Any:
    """The card of a dataset, read by huggingface_hub, which raises for metadata that it cannot read."""
    from huggingface_hub import DatasetCard

    return DatasetCard.load(golden_release(request.param).release_dir / folder.CARD)


def test_every_word_of_the_front_matter_is_one_that_the_hub_knows(card: Any) -> None:
    data = card.data
    assert {key: type(getattr(data, key)) for key in LISTS} == dict.fromkeys(LISTS, list)
    assert data.license in LICENSES
    assert (data.license == "other") == hasattr(data, "license_name") == hasattr(data, "license_link")
    assert set(data.language) <= set(resource("languages"))
    assert set(data.multilinguality) <= set(resource("multilingualities"))
    assert set(data.annotations_creators) <= set(resource("creators")["annotations"])
    assert set(data.size_categories) <= set(resource("size_categories"))
    assert set(data.task_categories) <= CATEGORIES
    assert set(data.task_ids) <= TASK_IDS
    assert all(re.fullmatch(r"extended\|other-[a-z0-9_]+|[\w.-]+/[\w.-]+", source) for source in data.source_datasets)
    assert all(TAG.fullmatch(tag) for tag in data.tags)
    assert len(data.tags) == len(set(data.tags))


def test_a_source_with_other_terms_is_linked_and_says_what_is_known_of_them() -> None:
    definitions = map(definition_of, NAMES)
    sources = {each.source.name: each.source for each in definitions if each.license == "other"}
    assert len(sources) >= 12
    assert [name for name, source in sources.items() if not source.license_note or "://" not in source.homepage] == []


def test_a_source_that_is_on_the_hub_is_named_by_its_repository(golden_release: Callable[[str], BuildResult]) -> None:
    from huggingface_hub import DatasetCard

    expected = {
        "kinopoisk-sentiment-classification": "blinoff/kinopoisk",
        "terra-pairclassification": "extended|other-terra",
    }
    for name, source in expected.items():
        card = DatasetCard.load(golden_release(name).release_dir / folder.CARD)
        assert card.data.source_datasets == [source]


@pytest.mark.parametrize(
    ("name", "task_ids"),
    [
        ("cedr-classification", ["sentiment-classification", "multi-label-classification"]),
        ("esnli-classification", ["natural-language-inference", "multi-class-classification"]),
        ("headline-classification", ["topic-classification", "multi-class-classification"]),
        ("massive-intent-classification", ["intent-classification", "multi-class-classification"]),
        ("rubq-retrieval", ["document-retrieval"]),
        ("rubq-reranking", []),
        ("winogrande-retrieval", []),
        ("terra-pairclassification", ["natural-language-inference", "multi-input-text-classification"]),
        ("vitaminc-classification", ["fact-checking", "natural-language-inference", "multi-class-classification"]),
        ("xnli-contrastive", []),
    ],
)
def test_a_dataset_has_the_ids_that_the_hub_filters_by(name: str, task_ids: list[str]) -> None:
    dataset = definition_of(name).dataset
    assert [*dataset.task_ids, *dataset.task.type.hub_ids] == task_ids


def test_the_card_has_the_ids_of_the_dataset_and_of_its_task_type(
    golden_release: Callable[[str], BuildResult],
) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(golden_release("terra-pairclassification").release_dir / folder.CARD)
    assert card.data.task_ids == ["natural-language-inference", "multi-input-text-classification"]


def test_the_front_matter_survives_huggingface_hub_without_a_change(card: Any) -> None:
    from huggingface_hub import DatasetCard, DatasetCardData

    assert isinstance(card.data, DatasetCardData)
    assert DatasetCard(str(card)).data.to_dict() == card.data.to_dict()
    assert [key for key, value in card.data.to_dict().items() if value in (None, "")] == []


def test_configs_and_dataset_info_name_the_same_configs_and_datasets_reads_both(card: Any) -> None:
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs

    configs = MetadataConfigs.from_dataset_card_data(card.data)
    infos = DatasetInfosDict.from_dataset_card_data(card.data)
    assert list(configs) == list(infos)
    assert sum("default" in config for config in card.data.configs) == 1
    assert configs.get_default_config_name() in configs


def test_the_card_links_every_cited_paper_that_is_on_arxiv(card: Any) -> None:
    bibtex = card.text.split("```bibtex\n")[1].split("\n```")[0]
    cited = re.findall(r"arxiv\.org/abs/([\d.]+)\}|eprint = \{(.*)\}", bibtex)
    linked = re.findall(r"<https://arxiv\.org/abs/(\d{4}\.\d{4,5})>", card.text.split("```bibtex\n")[1])
    assert set(linked) == {one or other for one, other in cited}
    assert len(linked) == len(set(linked))


def test_links_to_arxiv_come_from_the_citation(golden_release: Callable[[str], BuildResult]) -> None:
    card = (golden_release("rubq-retrieval").release_dir / folder.CARD).read_text("utf-8")
    assert "<https://arxiv.org/abs/2408.12503>" in card, "the paper of the benchmark"


def test_nothing_in_the_text_of_a_card_is_empty_broken_or_too_long(card: Any) -> None:
    text = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "CODE", card.text)
    first_screen = re.sub(r"(?m)^> .*\n", "", text).split("\n## ")[0]
    assert len(first_screen.strip().splitlines()) <= FIRST_SCREEN
    assert not re.search(r"\b(None|nan|NaN)\b|\{\{|\{%|\(\)|  \|", re.sub("`[^`\n]*`", "CODE", text))
    headings = re.findall(r"(?m)^(#{2,} .+)\n+(.*)$", text)
    assert [(heading, line) for heading, line in headings if _level(line) in range(1, _level(heading) + 1)] == []
    tables = [block.splitlines() for block in re.split(r"\n\n+", text) if block.startswith("|")]
    assert [len(table) > HEAD for table in tables] == [True] * len(tables)
    for head, rule, *rows in tables:
        assert re.fullmatch(r"\|( -+:? \|)+", rule)
        assert {len(_cells(line)) for line in (head, rule, *rows)} == {len(_cells(head))}
        assert [row for row in rows if "" in _cells(row)] == []


def _level(line: str) -> int:
    """The level of a heading, 0 for any other line."""
    return len(line) - len(line.lstrip("#"))


def _cells(line: str) -> list[str]:
    """The cells of a line of a table. Texts have their pipes escaped, so each pipe ends a cell."""
    return [cell.strip() for cell in line.strip("|").split("|")]
