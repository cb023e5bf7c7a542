"""Every kind of finding is found where it is planted, and nowhere else (benchmarks/audit_quality.py, on small tables)."""

import pytest

from benchmarks.audit_quality import measure_kind
from benchmarks.planted_defects import PLANTERS
from cards.kinds import KINDS
from pipelines.audit.texts import TEXT_CONDITIONS
from tests.support.paths import ROOT


def test_every_kind_is_planted() -> None:
    assert set(PLANTERS) == {
        name for name, kind in KINDS.items() if not (kind.reported or kind.learned)
    }  # the rows alone do not tell these


def test_every_kind_is_in_the_table() -> None:
    lines = (ROOT / "benchmarks" / "audit_quality.md").read_text("utf-8").splitlines()
    assert set(PLANTERS) <= {line.split("|")[1].strip() for line in lines if line.startswith("| ")}


# What a row shows by itself, as test_quality, test_texts and test_integrity have it in CI.
OF_ONE_ROW = {condition.kind for condition in TEXT_CONDITIONS} | {
    kind for kind in KINDS if KINDS[kind].severity == "error"
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in OF_ONE_ROW else ()) for kind in sorted(PLANTERS)]
)
def test_all_planted_rows_are_found_and_no_others(kind: str) -> None:
    measured = measure_kind(kind, rows=150, rate=0.04, seed=2)
    assert measured.planted > 0
    assert (measured.precision, measured.recall) == (1.0, 1.0)
