"""Paraphrases: the choice of the query, and the switch for distractors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders.errors import SourceError
from tests.support.training import build_golden, table_of

NAME = "paraphrases-contrastive"


def change_items(edit: Callable[[list[Any]], object]) -> Callable[[Path], None]:
    def change(raw: Path) -> None:
        path = raw / "paraphrases.json"
        items = json.loads(path.read_text("utf-8"))
        edit(items)
        path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")

    return change


def test_distractors_are_negatives_only_where_they_are_asked_for(tmp_path: Path) -> None:
    without = table_of(build_golden(NAME, tmp_path / "without"))
    assert without["negatives"].list.len().sum() == 0
    tables = build_golden(
        NAME,
        tmp_path / "with",
        change_items(lambda items: items[12]["distractors"].remove("как твоё имя?")),
        distractors=True,
    )
    negatives = dict(table_of(tables).select("id", "negatives").rows())
    assert {name.rpartition(":")[2]: texts for name, texts in negatives.items() if texts} == {
        "0": ["дом уже построен"],
        "3": ["сколько стоит?"],
        "12": ["как твой кот?"],
        "13": ["закрой окно"],
    }


def test_other_items_do_not_change_the_query_of_an_item(tmp_path: Path) -> None:
    whole = table_of(build_golden(NAME, tmp_path / "whole"))
    fewer = table_of(build_golden(NAME, tmp_path / "fewer", change_items(lambda items: items.pop())))
    assert whole.head(fewer.height).select("id", "query").equals(fewer.select("id", "query"))


@pytest.mark.parametrize("value", ["кот", None, [1], {"text": "кот"}])
def test_an_item_of_another_form_is_refused_with_its_record(value: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        build_golden(NAME, tmp_path, change_items(lambda items: items[2].update(paraphrases=value)))
    assert "record 3" in str(caught.value.where)
