"""mteb's built-in tasks load our releases unchanged."""

import json
from typing import get_args

import pytest

from pipelines.make import GOLDEN
from tests.support.releases import NAMES, definition_of


def test_datasets_of_multilingual_tasks_have_the_language_column() -> None:
    for name in ("massive-intent-classification", "massive-scenario-classification", "sts22-ru"):
        for path in (GOLDEN / definition_of(name).source.name / name).glob("*/default.test.jsonl"):
            assert all(json.loads(line)["lang"] == "ru" for line in path.read_text("utf-8").splitlines())


@pytest.mark.extra("mteb")
@pytest.mark.filterwarnings("default")
def test_mteb_knows_the_licence_of_every_benchmark_set() -> None:
    from mteb.types import Licenses

    ours = {definition_of(name).license for name in NAMES if definition_of(name).dataset.task.type.mteb_class}
    assert ours - {"other", "unknown"} <= {*get_args(Licenses)}
    assert "not specified" in get_args(Licenses)
