"""benchmarks/guard.py: the cost of small builds beside what was recorded."""

import json
from itertools import chain
from pathlib import Path

import pytest

from benchmarks import guard


def test_the_guard_names_what_grew_by_a_tenth() -> None:
    recorded = {"a": 2.0, "b": 2.0, "c": 4.0}
    assert guard.table({"a": 2.1, "b": 2.2, "c": 6.0, "d": 1.0}, recorded) == (
        """\
| build | cost | recorded | ratio |
| --- | ---: | ---: | ---: |
| a | 2.10 | 2.00 | 1.05 |
| b | 2.20 | 2.00 | 1.10 |
| c | 6.00 | 4.00 | 1.50 |
| d | 1.00 | not recorded | |
grew by a tenth or more: b, c
  to do:    if that is meant, python benchmarks/guard.py --record on an idle machine"""
    )
    assert guard.table({"a": 2.1}, recorded).endswith("grew by a tenth or more: none")


def test_a_cost_is_the_least_of_a_build_by_the_least_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = ([9, 9, 9, 9], [1, 3, 2, 8], [1, 6, 0.5, 5])  # loop, a, loop, b
    seconds, now = iter(chain(*rounds)), [0.0]

    def work() -> None:
        now[0] += next(seconds)

    monkeypatch.setattr(guard, "ROUNDS", 3)
    monkeypatch.setattr(guard, "loop", work)
    assert guard.measure_costs({"a": work, "b": work}, lambda: now[0]) == {"a": 6.0, "b": 10.0}


def test_five_builds_have_recorded_costs(tmp_path: Path) -> None:
    builds = guard.prepare(tmp_path)
    assert builds.keys() == json.loads(guard.RECORDED.read_bytes()).keys()
    builds["rubq-retrieval"]()
    assert [path.parts[-3] for path in (tmp_path / "outputs").glob("*/*/README.md")] == ["rubq-retrieval"]
