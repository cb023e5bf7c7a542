"""`show training`: the paper's 54 sets beside ours."""

from __future__ import annotations

from typing import Any

from builders.training.medi import SETS as MEDI
from pipelines.report.training_table import NO_BUILDER, SETS, training_page
from tests.support.releases import NAMES, definition_of

OURS = [name for name in NAMES if definition_of(name).dataset.group == "training"]


def described(name: str, **known: Any) -> dict[str, Any]:
    return {"dataset": name, "rows": None, "counted_in": None} | known


def line(page: str, name: str) -> str:
    return next(text for text in page.splitlines() if text.startswith(f"{name} "))


def test_the_table_has_the_sets_and_rows_of_the_paper() -> None:
    assert (len(SETS), sum(one["thousands"] for one in SETS)) == (54, 3_797)
    parts = {one["part"]: 0 for one in SETS}
    for one in SETS:
        parts[one["part"]] += one["thousands"]
    assert parts == {"basic English": 1255, "basic Russian": 1775, "synthetic": 747, "retrieval": 20}


def test_every_set_with_a_builder_has_the_prefix_of_its_config_and_every_config_is_in_the_table() -> None:
    named = {(one["dataset"], one["config"]): one["prefix"] for one in SETS if "dataset" in one}
    declared = {
        (name, config.config): config.rosberta[0].removesuffix("_query")
        for name in OURS
        for config in definition_of(name).dataset.prompts.configs  # type: ignore[union-attr]
    }
    assert named == declared
    assert len(named) == 41
    assert {one["config"]: one["thousands"] for one in SETS if one.get("dataset") == "medi-contrastive"} == {
        config: thousands for config, (thousands, _, _) in MEDI.items()
    }


def test_a_set_shows_our_rows_that_it_is_not_built_or_that_there_is_no_builder() -> None:
    page = training_page(
        [
            described("ru-hnp-contrastive", rows={"ru-hnp/train": 12}, counted_in="outputs/x, sample"),
            described("medi-contrastive", rows={"agnews/train": 45_000}, counted_in="ledger"),
            described("ru-wanli-contrastive"),
        ],
        200,
    )
    assert line(page, "RuHNP").split("  ")[-1].strip() == "12 (sample)"
    assert line(page, "AGNews").endswith(" 45,000")
    assert line(page, "RuWANLI").endswith(" not built")
    assert page.count(NO_BUILDER) == 22
    assert "32 of them, with 1,389K rows, have a builder" in " ".join(page.split())
