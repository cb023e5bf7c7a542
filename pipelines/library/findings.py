"""The findings of a release or a check: a tuple that shows itself as a table, and the texts of their example rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import polars as pl

from builders.tasks import TYPES
from cards.manifest import SEVERITIES, Finding
from pipelines.audit.findings import DIGITS, hash_values
from pipelines.audit.tables import row_id
from pipelines.checking.text import by_severity
from pipelines.library.html import as_html
from pipelines.release.examples import BETWEEN

TableKey = tuple[str, str]  # config, split
SHOWN = 8  # findings in a repr
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "kind": pl.String, "severity": pl.String, "config": pl.String, "split": pl.String, "column": pl.String,
    "count": pl.Int64, "share": pl.Float64, "detail": pl.String, "why": pl.String, "by_design": pl.Boolean,
    "examples": pl.List(pl.String),
}  # fmt: skip
TEXTS = {name for task_type in TYPES.values() for layout in task_type.layouts for name in layout.text}


class Findings(tuple[Finding, ...]):
    """The problems of rows: a tuple of Finding, each with `kind`, `severity`, `location`, `count` and `examples`.

    tables: gives the tables that they are about, by config and split.
    """

    tables: Callable[[], Mapping[TableKey, pl.LazyFrame]]

    def __new__(
        cls, findings: Iterable[Finding] = (), tables: Callable[[], Mapping[TableKey, pl.LazyFrame]] = dict
    ) -> Self:
        created = super().__new__(cls, findings)
        created.tables = tables
        return created

    def to_polars(self) -> pl.DataFrame:
        """The findings as a frame, a row each. Reads the tables that they are about.

        Columns: `kind`, `severity`, `config`, `split`, `column`, `count`, `share` (0 to 1), `detail`, `why`, `by_design`,
        `examples` (the names of up to five rows), `texts` (the text of each of these; null where it is not a row of the table).

        Example:
            >>> findings = ed.load("cedr", sample=True).findings.to_polars()
            >>> findings.filter(kind="personal_data")["texts"].to_list()
            [['@pochta_ozero три недели ждала посылку, а внутри <пусто>, вот так сюрприз']]
        """
        rows = [[getattr(finding, name) for name in SCHEMA] for finding in self]
        frame = pl.DataFrame([[*row[:-1], list(row[-1])] for row in rows], list(SCHEMA.items()), orient="row")
        return frame.with_columns(pl.Series("texts", self._texts(), pl.List(pl.String)))

    def _texts(self) -> list[list[str | None]]:
        """The texts of the examples of each finding; a table is read once."""
        names: dict[TableKey, set[str]] = {}
        for finding in self:
            names.setdefault((finding.config, finding.split), set()).update(finding.examples)
        tables = self.tables()
        found = {place: _find_rows(tables[place], names[place]) for place in names if place in tables and names[place]}
        return [
            [
                _text(found.get((finding.config, finding.split), {}).get(name), finding.column)
                for name in finding.examples
            ]
            for finding in self
        ]

    def __repr__(self) -> str:
        return "\n".join([count_findings(self), *list_findings(self)])

    def _repr_html_(self) -> str:
        return as_html(count_findings(self), finding_table(self))


def _find_rows(table: pl.LazyFrame, names: set[str]) -> dict[str, dict[str, Any]]:
    """The rows with these names, by name; equal rows have names that differ in their numbers, and the same values."""
    name = row_id(table.collect_schema().names())
    if name is not None:
        named = table.with_columns(__name=name.cast(pl.String)).filter(pl.col("__name").is_in(names))
        return {row.pop("__name"): row for row in named.collect(engine="streaming").iter_rows(named=True)}
    digests = {name[:DIGITS]: name for name in names}
    rows = table.collect(engine="streaming")
    positions = {digest: at for at, row in enumerate(rows.iter_rows()) if (digest := hash_values(row)) in digests}
    return {name: rows.row(positions[name[:DIGITS]], named=True) for name in names if name[:DIGITS] in positions}


def _text(row: Mapping[str, Any] | None, column: str) -> str | None:
    """The text of a row in a column, or all its texts where the column has none; None without a row."""
    columns = [column] if column in TEXTS else [name for name in row or () if name in TEXTS]
    values = [row.get(name) for name in columns] if row else []
    texts = [text for value in values for text in ([value] if isinstance(value, str) else value or ())]
    return BETWEEN.join(texts) if texts else None


def count_findings(findings: Sequence[Finding]) -> str:
    """How many findings of each severity there are: `5 findings: 2 warning, 3 info`."""
    if not findings:
        return "no findings"
    severities = [finding.severity for finding in findings]
    counts = ", ".join(f"{severities.count(severity)} {severity}" for severity in SEVERITIES if severity in severities)
    return f"{len(findings)} finding{'s' if len(findings) > 1 else ''}: {counts}"


def list_findings(findings: Sequence[Finding]) -> list[str]:
    """The first SHOWN findings as lines, errors first."""
    lines = [
        f"  {row.severity}: {row.kind} in {row.location}, {row.count_text} ({row.share:.1%})"
        for row in by_severity(findings)
    ]
    return lines[:SHOWN] + ([f"  and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])


def finding_table(findings: Sequence[Finding]) -> list[Sequence[object]]:
    """The findings as rows of a table with a heading, errors first."""
    return [
        ("severity", "finding", "where", "count", "share", "detail"),
        *(
            (row.severity, row.kind, row.location, row.count_text, f"{row.share:.1%}", row.detail)
            for row in by_severity(findings)
        ),
    ]
