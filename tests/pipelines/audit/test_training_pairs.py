"""Training pairs: what a trainer cannot use is an error, what teaches something wrong is a finding."""

import pytest

from pipelines.audit.kinds import KINDS
from tests.support.tables import (
    PlantedFinding,
    clean_tables,
    combine,
    integrity_findings,
    quality_findings,
    with_value,
)

FOLDED = "ignoring case, punctuation, white space and Unicode form"
TASK = "Contrastive"
FEW = ["0 text against question 0", "0 text against question 1"]


def planted(
    kind: str,
    column: str,
    value: object,
    row: int = 1,
    detail: str = "",
    location: str = "",
    others: tuple[str, ...] = (),
) -> PlantedFinding:
    change = with_value("faq", "train", column, row, value)
    return PlantedFinding(
        kind, TASK, change, f"faq/train.{location or column}", 1, 1 / 4, (f"question:{row}",), others, detail
    )


SEVEN = [f"1 text against question {other}" for other in range(7)]
ERRORS = [
    planted("empty_query", "query", " "),
    planted("query_without_positive", "positives", []),
    planted("empty_positive", "positives", ["a text", "\t"]),
    planted("negatives_without_kinds", "negative_kinds", ["random"] * 6),
    planted("unknown_negative_kind", "negative_kinds", ["mined"] * 7),
]
FINDINGS = [
    planted("negative_is_positive", "negatives", [*SEVEN[:6], "1 other text for question 1"]),
    planted("negative_is_positive", "negatives", [*SEVEN[:6], "1 TEXT for question 1."], detail=FOLDED),
    planted("positive_is_query", "positives", ["1 text for question 1", "1 question number 1"]),
    planted("positive_is_query", "positives", ["1 text for question 1", "1 Question - number 1"], detail=FOLDED),
    planted("duplicate_negative", "negatives", [*SEVEN[:6], SEVEN[0]]),
    planted("duplicate_negative", "negatives", [*SEVEN[:6], SEVEN[0].upper()], detail=FOLDED),
    planted("number_text", "negatives", [*SEVEN[:6], "451"]),
    planted("number_text", "positives", ["1 text for question 1", "3,5 %"]),
    planted("html_residue", "negatives", [*SEVEN[:6], "a <br/> b"]),
    planted("html_residue", "positives", ["1 text for question 1", "a <br/> b"], detail="in a later positive"),
    planted("html_residue", "positives", ["a <br/> b", "1 text for question 1"]),
    planted("empty_text", "negatives", [*SEVEN[:6], ""]),
]

TOO_FEW = PlantedFinding(
    "too_few_negatives",
    TASK,
    combine(
        with_value("faq", "train", "negatives", 0, FEW),
        with_value("faq", "train", "negative_kinds", 0, ["provided", "random"]),
    ),
    "faq/train.negatives",
    1,
    1 / 4,
    ("question:0",),
    detail="2 to 7 in a row",
)


@pytest.mark.parametrize("one", ERRORS, ids=str)
def test_what_a_trainer_cannot_use_is_an_error(one: PlantedFinding) -> None:
    [finding] = integrity_findings(TASK, one.change(clean_tables(TASK)))
    assert (finding.kind, finding.severity, finding.location) == (one.kind, "error", one.location)
    assert (finding.count, finding.share, finding.examples) == (one.count, one.share, one.examples)


@pytest.mark.parametrize("one", FINDINGS, ids=lambda one: f"{one.kind}-{one.location}-{one.detail}")
def test_what_teaches_something_wrong_is_found_in_any_text_of_a_row(one: PlantedFinding) -> None:
    tables = one.change(clean_tables(TASK))
    assert integrity_findings(TASK, tables) == []
    finding, *others = quality_findings(TASK, tables)
    assert (finding.kind, finding.severity) == (one.kind, KINDS[one.kind].severity)
    assert (finding.location, finding.detail, finding.examples) == (one.location, one.detail, one.examples)
    assert tuple(other.kind for other in others) == one.other_kinds


def test_rows_with_fewer_than_seven_negatives_are_listed_for_information() -> None:
    [finding] = quality_findings(TASK, TOO_FEW.change(clean_tables(TASK)))
    assert (finding.kind, finding.severity, finding.count) == (TOO_FEW.kind, "info", 1)
    assert (finding.location, finding.detail) == (TOO_FEW.location, TOO_FEW.detail)


def test_a_pair_that_comes_again_is_a_repeated_pair() -> None:
    tables = clean_tables(TASK)
    first = tables["faq"]["train"].row(0, named=True)
    again = combine(
        with_value("faq", "train", "query", 3, first["query"]),
        with_value("faq", "train", "positives", 3, [first["positives"][0], "another text"]),
    )
    kinds = [(one.kind, one.location) for one in quality_findings(TASK, again(tables))]
    assert kinds == [
        ("duplicate_pair", "faq/train"),
        ("duplicate_text", "faq/train.positives"),
        ("duplicate_text", "faq/train.query"),
    ]
