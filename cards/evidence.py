"""What a build hands to the card beside manifest and statistics: rows to look at, texts of findings, agreement with figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quote:
    """The text of a finding's first row, and that of the row that makes it a finding (its twin); None where it has none."""

    text: str
    twin: str | None = None


@dataclass(frozen=True)
class Agreement:
    """How many of the published figures the statistics of a release have. source: where the figures are published."""

    agreeing: int
    figures: int
    source: str = ""


@dataclass(frozen=True)
class SharedTexts:
    """Texts of a column that a column of another dataset has. version: empty for the raw files of a source.

    table, other_table: `train.text`, `corpus/test.text`. kinds: how many different rows of `table` have each kind: exact, folded,
    near, contained.
    """

    table: str
    dataset: str
    version: str
    other_table: str
    kinds: Mapping[str, int]


@dataclass(frozen=True)
class Comparison:
    """With how many other datasets a release was compared, and the texts that they have."""

    datasets: int
    shared: tuple[SharedTexts, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What the card shows of the rows.

    examples: up to five telling rows, by column; in retrieval and reranking `query`, `relevant` and perhaps `not relevant`.
    quotes: one for each finding of the manifest, in its order; None where the finding is about no text, or the text may not be
    quoted. agreement: None where no figures are published, or this release is not meant to have them. quotable: False where the
    licence forbids derivatives, so that the card shows no text. comparison: with other datasets; None where there is none.
    """

    examples: tuple[Mapping[str, Any], ...] = ()
    quotes: tuple[Quote | None, ...] = ()
    agreement: Agreement | None = None
    quotable: bool = True
    comparison: Comparison | None = None
