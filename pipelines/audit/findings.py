"""Findings from conditions: how many rows of a table meet a condition, their share, and which rows these are, by their names.

Every family of findings (integrity, texts, duplicates, judgements, shortcuts) makes its findings here.

A row is named by its own id where its table has one: `id`, `query-id`, or `query-id` and `corpus-id`. Any other row is named by
its values: the first 16 hex digits of the SHA-256 of its values as a JSON list without spaces, in UTF-8, in the order of the
columns. The second of two equal rows has `-2` behind that, the third `-3`. Names are computed where they are needed and never
stored with the rows.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType
from typing import Any

import orjson
import polars as pl

from cards.kinds import KINDS
from cards.manifest import Finding, Severity
from pipelines.audit.tables import Frames, Location, copied, row_id

EXAMPLES = 5
POSITION = "__position"  # of a row in its table
ROW_COLUMNS = ("position", "row", "twin")
# What is said of a row beside its values, where a model judged it (pipelines.profile).
NOTE_COLUMNS = ("given label", "likelier label", "times likelier", "rank deviations", "median deviations")


@dataclass(frozen=True)
class FindingRows:
    """A finding and its rows.

    rows: one for each row of the finding, with `position` (in its table, uint32), or with `row`, a name, where it is not a row of
    the table. Where another row makes it a finding, its twin, `twin` is the position of that, in the split `twin_split`. tables:
    those of the finding's config, by split, that the positions refer to. pattern: what is wrong in each text, where that is not a
    matter of the kind alone.
    """

    finding: Finding
    rows: pl.LazyFrame
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    pattern: str = ""
    twin_split: str = ""


def findings_where(
    kind: str,
    location: Location,
    rows: pl.LazyFrame | pl.DataFrame,
    condition: pl.Expr,
    *,
    detail: str = "",
    severity: Severity | None = None,
    twin_split: str = "",
) -> list[FindingRows]:
    """One finding for the rows that meet a condition, none if no row does. A null condition is not met.

    rows: what the finding counts; its share is of all of them. Its column `position` says which row of the table each is (and the
    column `twin` its twin, in `twin_split`: by default that of the finding); without that column, its ids name it; without ids,
    it is the table itself. severity: that of the kind, unless given. Examples are added later, by `with_examples`.
    """
    is_match = condition.fill_null(value=False)
    counted = rows.select(total=pl.len(), count=is_match.sum())
    total, count = (counted if isinstance(counted, pl.DataFrame) else counted.collect(engine="streaming")).row(0)
    if not count:
        return []
    rows = rows.lazy()
    columns = rows.collect_schema().names()
    if "position" not in columns and "row" not in columns:
        name = row_id(columns)
        rows = rows.with_row_index("position") if name is None else rows.with_columns(row=name)
    finding = Finding(kind, severity or KINDS[kind].severity, *location, count, count / total, detail=detail)
    kept = [column for column in ROW_COLUMNS if column in rows.collect_schema().names()]
    matching = rows.with_columns(is_match.alias("__match")).filter("__match").select(kept)
    return [FindingRows(finding, matching, twin_split=twin_split or finding.split)]


def findings_for_each(
    rows: pl.LazyFrame | pl.DataFrame, conditions: Sequence[tuple[str, Location, pl.Expr]]
) -> list[FindingRows]:
    """The findings of several conditions, each with its kind and location; the rows are read once if none is met."""
    is_met = {str(number): where.fill_null(value=False).any() for number, (_, _, where) in enumerate(conditions)}
    met = compress(conditions, rows.lazy().select(**is_met).collect(engine="streaming").row(0))
    return [finding for kind, location, where in met for finding in findings_where(kind, location, rows, where)]


def table_finding(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> Finding:
    """A finding about a whole table or column, which counts once."""
    return Finding(kind, KINDS[kind].severity, config, split, column, 1, 1.0, detail=detail)


def summary_finding(
    kind: str,
    location: Location,
    count: int,
    share: float,
    examples: Sequence[str] = (),
    *,
    detail: str = "",
    severity: Severity | None = None,
    strong: bool = False,
) -> FindingRows:
    """A finding about labels, columns or a whole table, without rows. examples: in words; the first EXAMPLES are shown.

    strong: whether it is a warning where its kind is an info.
    """
    severity = severity or ("warning" if strong else KINDS[kind].severity)
    return without_rows(Finding(kind, severity, *location, count, share, tuple(examples[:EXAMPLES]), detail))


def without_rows(finding: Finding) -> FindingRows:
    """A finding about something else than rows: a table, a column, labels."""
    return FindingRows(finding, pl.LazyFrame(schema={"position": pl.UInt32}))


def with_examples(findings: Sequence[FindingRows], frames: Frames) -> list[FindingRows]:
    """The findings with their tables and the names of their first rows. frames: the audited tables, by config and split."""
    heads = [
        pl.DataFrame() if finding.finding.examples else finding.rows.head(EXAMPLES).collect() for finding in findings
    ]
    wanted: dict[tuple[str, str], dict[int, None]] = {}  # positions by table: naming rows may read all of it, so once
    for found, rows in zip(findings, heads, strict=True):
        for table, position in [*_positions(found, rows, "position"), *_positions(found, rows, "twin")]:
            wanted.setdefault(table, {})[position] = None
    names = {
        (config, split): dict(zip(some, name_rows(frames[config][split], pl.Series(list(some))), strict=True))
        for (config, split), some in wanted.items()
    }
    located = []
    for found, rows in zip(findings, heads, strict=True):
        finding, tables = found.finding, frames.get(found.finding.config, {})
        if not rows.is_empty():
            own = [names[table][position] for table, position in _positions(found, rows, "position")]
            twins = [names[table][position] for table, position in _positions(found, rows, "twin")]
            examples = tuple(map(str, rows["row"] if "row" in rows.columns else own))
            finding = replace(finding, examples=examples, twins=tuple(f"{found.twin_split}: {name}" for name in twins))
        located.append(replace(found, finding=finding, tables=tables))
    return located


def _positions(found: FindingRows, rows: pl.DataFrame, column: str) -> list[tuple[tuple[str, str], int]]:
    """The config, split and position of rows of a finding (`position`) or of their twins (`twin`); none without the column."""
    table = (found.finding.config, found.finding.split if column == "position" else found.twin_split)
    return [(table, position) for position in rows[column]] if column in rows.columns else []


OWN_COLUMNS = ("row", "column", "detail", "twin_split", "twin", *NOTE_COLUMNS)


def list_rows(
    found: FindingRows, limit: int | None = None, hashes: Mapping[str, pl.Series | None] = MappingProxyType({})
) -> pl.DataFrame:
    """The rows of a finding with their values and those of their twins. limit: only the first so many.

    hashes: by split, what `hash_rows` returns for its table, if the caller has it. Columns:

    - `row`: the name of the row; `column` and `detail`: those of the finding.
    - the columns of the table, with the row's values; null where the row is not in the table (an unjudged pair). A column with a
      name that is used here gets a `_` at its end.
    - NOTE_COLUMNS: what a model says of the row. Only for kinds that are learned.
    - `twin_split` and `twin`: the split and the name of the row that makes it a finding; `twin <column>`: the values of that row.
      Only for kinds that compare rows.
    """
    rows = (found.rows if limit is None else found.rows.head(limit)).collect(engine="streaming")
    head = {"column": pl.lit(found.finding.column), "detail": pl.lit(found.finding.detail)}
    if "row" in rows.columns:
        return rows.select(pl.col("row").cast(pl.String), **head).hstack(_values_by_name(found, rows["row"]))
    if rows.is_empty():
        return pl.DataFrame()
    table = found.tables[found.finding.split]
    values = _with_free_names(rows_at(table, rows["position"]))
    notes = rows.drop(ROW_COLUMNS, strict=False)
    names = name_rows(table, rows["position"], hashes.get(found.finding.split))
    listed = rows.select(names, **head).hstack(notes).hstack(values)
    if "twin" not in rows.columns:
        return listed
    table = found.tables[found.twin_split]
    names = name_rows(table, rows["twin"], hashes.get(found.twin_split))
    listed = listed.with_columns(twin_split=pl.lit(found.twin_split), twin=names)
    return listed.hstack(rows_at(table, rows["twin"]).rename(lambda column: f"twin {column}"))


def _values_by_name(found: FindingRows, names: pl.Series) -> pl.DataFrame:
    """The first row with each name, from the ids of the table; nulls for a name that it does not have."""
    table = found.tables.get(found.finding.split, pl.LazyFrame())
    name = row_id(table.collect_schema().names())
    if name is None:
        return pl.DataFrame()
    named = table.with_columns(__name=name.cast(pl.String))
    wanted = names.cast(pl.String).alias("__name").to_frame()
    rows = named.join(wanted.lazy().unique(), on="__name", how="semi", nulls_equal=True).collect(engine="streaming")
    rows = rows.unique("__name", keep="first", maintain_order=True)
    joined = wanted.join(rows, on="__name", how="left", maintain_order="left", nulls_equal=True)
    return _with_free_names(joined.drop("__name"))


def _with_free_names(values: pl.DataFrame) -> pl.DataFrame:
    return values.rename({name: f"{name}_" for name in OWN_COLUMNS if name in values.columns})


def rows_at(table: pl.LazyFrame, positions: pl.Series) -> pl.DataFrame:
    """The rows at some positions, in the order of the positions, which may repeat or be null."""
    asked = pl.DataFrame({POSITION: positions.cast(pl.UInt32)})
    rows = asked.join(read_rows(table, positions), on=POSITION, how="left", maintain_order="left")
    return rows.drop(POSITION)


def read_rows(table: pl.LazyFrame, positions: pl.Series) -> pl.DataFrame:
    """The rows at some positions, each once, with their `__position` before their values.

    Of a table on disk, only what is between the first and the last of them is read.
    """
    positions = positions.drop_nulls()
    numbers = positions.to_numpy()
    start, stop = (int(numbers.min()), int(numbers.max()) + 1) if len(numbers) else (0, 0)
    numbered = table.slice(start, stop - start).with_row_index(POSITION, offset=start)
    rows = numbered.filter(pl.col(POSITION).is_in(positions.implode()))
    return rows.with_columns(copied(pl.col(pl.String))).collect(engine="streaming")


DIGITS = 16


def name_rows(frame: pl.LazyFrame, positions: pl.Series, hashes: pl.Series | None = None) -> pl.Series:
    """The names of the rows at some positions of a table, in the order of the positions, which may repeat; null for a null.

    hashes: what `hash_rows` returns for the table, if the caller has it.
    """
    name = row_id(frame.collect_schema().names())
    if name is not None:
        ids = frame.select(__name=name.cast(pl.String))
        names = read_rows(ids, positions)
    else:
        names = _names_from_values(frame, positions.drop_nulls(), hash_rows(frame) if hashes is None else hashes)
    asked = pl.DataFrame({POSITION: positions}, schema={POSITION: names.schema[POSITION]})
    return asked.join(names, on=POSITION, how="left", maintain_order="left")["__name"].alias("row")


def hash_rows(frame: pl.LazyFrame) -> pl.Series:
    """A hash of each row of a table. Those of polars differ from version to version; they only say which rows may be equal."""
    return frame.select(pl.struct(pl.all()).hash(0).alias("hash")).collect(engine="streaming")["hash"]


def hash_values(values: Sequence[Any]) -> str:
    """The name of a row with these values that has no id, if no earlier row is equal."""
    return hashlib.sha256(orjson.dumps(values)).hexdigest()[:DIGITS]


def _names_from_values(frame: pl.LazyFrame, positions: pl.Series, hashes: pl.Series) -> pl.DataFrame:
    """Position and name of the rows at some positions, and of all rows that are equal to one of them."""
    wanted = hashes.gather(positions.cast(pl.UInt32)).unique()
    rows = read_rows(frame, hashes.is_in(wanted.implode()).arg_true()).sort(POSITION)
    digests = [hash_values(values) for values in rows.drop(POSITION).iter_rows()]
    named = rows.select(POSITION, digest=pl.Series(digests, dtype=pl.String))
    copy = pl.int_range(1, pl.len() + 1).over("digest")
    name = pl.when(copy == 1).then("digest").otherwise(pl.format("{}-{}", "digest", copy))
    return named.select(POSITION, __name=name)
