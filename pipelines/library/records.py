"""The records that Python users get: a release, the catalogue, the result of a check, a difference.

Each shows itself in a few lines. A release reads its tables when they are asked for; `datasets` and pandas are imported only to
hand rows to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from builders.errors import UsageError
from builders.spec import version_key
from cards.front_matter import config_names
from cards.manifest import Manifest, Table, tables_by_config
from cards.scores import Scores, list_remarks, list_scores, metric_name, score_text
from pipelines.audit.findings import FindingRows, list_rows
from pipelines.library.findings import Findings, TableKey, count_findings, finding_table, list_findings
from pipelines.library.html import as_html
from pipelines.release import folder

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from pipelines.checking.verdict import Verdict
    from pipelines.decontamination.scans import TableSummary
    from pipelines.identity.rows import TableDifference


@dataclass(frozen=True, repr=False, eq=False)
class Splits(Mapping[str, pl.DataFrame]):
    """The tables of one config by split. A table is read from its files each time it is asked for, and not kept."""

    release_dir: Path
    tables: Mapping[str, Table]

    def __getitem__(self, split: str) -> pl.DataFrame:
        if split not in self.tables:
            raise KeyError(f"{split!r}: the splits are {', '.join(self.tables)}")
        return folder.scan_table(self.release_dir, self.tables[split]).collect()

    def __contains__(self, split: object) -> bool:
        return split in self.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{split!r}: {table.rows:,} rows" for split, table in self.tables.items()) + "}"


@dataclass(frozen=True, repr=False)
class Release:
    """A release in its folder: one version of a dataset, with its tables, its card and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the dataset: `cedr-classification`."""
        return self.manifest.dataset

    @property
    def version(self) -> str:
        """The version of the dataset: `3.0.0`."""
        return self.manifest.version

    @property
    def findings(self) -> Findings:
        """The problems that its build found in the rows: each has `kind`, `severity`, `location`, `count`, `examples`."""
        return Findings(self.manifest.findings, self._locate)

    def _locate(self) -> dict[TableKey, pl.LazyFrame]:
        return {(config, split): frame for config, splits in self.scan().items() for split, frame in splits.items()}

    @property
    def card(self) -> str:
        """The dataset card: the text of README.md."""
        return (self.path / folder.CARD).read_text("utf-8")

    @property
    def scores(self) -> Scores | None:
        """What baselines and models score on it: see cards.scores; None where `embedding-datasets score` did not run."""
        return folder.read_scores(self.path)

    @property
    def tables(self) -> dict[str, Splits]:
        """The tables by config and split: `release.tables["default"]["train"]` is read now, as a polars DataFrame."""
        return {config: Splits(self.path, splits) for config, splits in tables_by_config(self.manifest.tables).items()}

    def scan(self) -> dict[str, dict[str, pl.LazyFrame]]:
        """The same tables as polars LazyFrames, for what does not fit in memory."""
        return folder.scan_tables(self.path, self.manifest.tables)

    def __getitem__(self, key: str | tuple[str, str]) -> pl.DataFrame:
        """A table, read now: `release["train"]` of the only config, or `release["corpus", "test"]`.

        Raises UsageError, which lists the tables, for one that is not there.
        """
        tables = self._by_key()
        if not isinstance(key, str | tuple) or key not in tables:
            keys = [list(name) if isinstance(name, tuple) else [name] for name in self._ipython_key_completions_()]
            raise UsageError(f"{self.name} has no table {key!r}", expected=", ".join(f"release{key}" for key in keys))
        return folder.scan_table(self.path, tables[key]).collect()

    def _by_key(self) -> dict[str | tuple[str, str], Table]:
        """The tables by (config, split); of a single config first by split."""
        tables = self.manifest.tables
        splits = {table.split: table for table in tables} if len(self.tables) == 1 else {}
        return splits | {(table.config, table.split): table for table in tables}

    def _ipython_key_completions_(self) -> list[str | tuple[str, str]]:
        return list(self._by_key())[: len(self.manifest.tables)]

    def to_pandas(self, config: str | None = None) -> dict[str, pd.DataFrame]:
        """The tables of one config by split, as pandas DataFrames: `release.to_pandas()["train"]`.

        config: needed where there are several, as in retrieval: `release.to_pandas("corpus")`.

        Raises UsageError, which lists the configs, where none of several is named, and for an unknown one.
        """
        splits = self.tables[self._one_config(config, "to_pandas")]
        return {split: splits[split].to_pandas() for split in splits}

    def to_datasets(self, config: str | None = None) -> datasets.DatasetDict:
        """One config as `datasets` loads it: rows in its own cache, the names of labels as on the card.

        config: needed where there are several, as in retrieval: `release.to_datasets("corpus")`.

        Raises UsageError, which lists the configs, where none of several is named, and for an unknown one.
        """
        chosen = self._one_config(config, "to_datasets")

        import datasets

        from builders import catalogue

        # The card's name of a config: that of a subset has a prefix.
        definition = catalogue.load(catalogue.entries()[self.name])
        name = config_names(definition.dataset, [chosen])[chosen]
        quiet = datasets.are_progress_bars_disabled()
        datasets.disable_progress_bars()
        try:
            return datasets.load_dataset(str(self.path), name)
        finally:
            if not quiet:
                datasets.enable_progress_bars()

    def _one_config(self, config: str | None, method: str) -> str:
        configs = list(self.tables)
        if config is None and len(configs) == 1:
            return configs[0]
        if config in configs:
            return config
        raise UsageError(
            f"{self.name} has {'several configs' if config is None else f'no config {config!r}'}",
            expected=", ".join(configs),
            todo=f'name one: release.{method}("{configs[0]}")',
        )

    @property
    def _title(self) -> str:
        marks = [mark for mark in ("sample", "partial") if getattr(self.manifest, mark)]
        return ", ".join([f"{self.name} {self.version}", self.manifest.task, *marks])

    def _table_rows(self) -> list[tuple[str, int, str]]:
        """Location, rows and columns of each table."""
        return [
            (table.location, table.rows, ", ".join(column.name for column in table.columns))
            for table in self.manifest.tables
        ]

    def _repr_html_(self) -> str:
        tables = [("table", "rows", "columns"), *self._table_rows()], finding_table(self.findings)
        return as_html(self._title, *tables, notes=(count_findings(self.findings), str(self.path)))

    def __repr__(self) -> str:
        tables = [f"  {where}: {rows:,} rows, columns {columns}" for where, rows, columns in self._table_rows()]
        return "\n".join([f"<Release {self._title}", *tables, f"  {count_findings(self.findings)}", f"  {self.path}>"])


@dataclass(frozen=True)
class CatalogueEntry:
    """A dataset of the catalogue.

    versions: those that are offered, the oldest first. task: its type, as mteb names it. languages: in mteb's notation. splits:
    as they are built. benchmark: None for a dataset without one. license: of the source.
    """

    dataset: str
    versions: tuple[str, ...]
    task: str
    languages: tuple[str, ...]
    splits: tuple[str, ...]
    benchmark: str | None
    source: str
    license: str
    homepage: str
    summary: str

    @property
    def newest(self) -> str:
        """The version that `load` takes if none is named."""
        return max(self.versions, key=version_key)


class Catalogue(tuple[CatalogueEntry, ...]):
    """Datasets of the catalogue: a tuple of CatalogueEntry that shows itself as a table."""

    __slots__ = ()

    def _rows(self) -> list[tuple[str, ...]]:
        """The heading and a row for each dataset."""
        heading = ("dataset", "versions", "task", "benchmark", "languages", "license")
        rows = [
            (
                entry.dataset,
                ", ".join(entry.versions),
                entry.task,
                entry.benchmark or "-",
                ", ".join(entry.languages),
                entry.license,
            )
            for entry in self
        ]
        return [heading, *rows]

    def _repr_html_(self) -> str:
        return as_html(f"datasets: {len(self)}", self._rows())

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


@dataclass(frozen=True, repr=False)
class Check:
    """The result of a check.

    dataset: its name. task: its type. verdict: what the findings weigh, `state` and `summary`. findings: the problems of the
    rows. problems: of a release, how it differs from its manifest. notes: what was ignored, or interpreted
    differently from the data. report: all of it as plain values, as `embedding-datasets check --json` prints it. found: the
    findings with their rows; `rows` lists these.
    """

    dataset: str
    task: str
    verdict: Verdict
    findings: Findings
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    report: Mapping[str, Any] = field(compare=False)
    found: tuple[FindingRows, ...] = field(default=(), compare=False)

    def rows(self, kind: str | None = None) -> pl.DataFrame:
        """The rows of the findings, or of those of a kind, with their texts; a row with two findings is listed twice.

        Columns: `kind`, `config` and `split` of the finding, then those of `pipelines.audit.findings.list_rows`.
        """
        listed = []
        for found in self.found:
            if kind in (None, found.finding.kind) and not (rows := list_rows(found)).is_empty():
                head = {name: pl.lit(getattr(found.finding, name)) for name in ("kind", "config", "split")}
                listed.append(rows.select(**head, **{name: pl.col(name) for name in rows.columns if name not in head}))
        return pl.concat(listed, how="diagonal_relaxed") if listed else pl.DataFrame()

    def __repr__(self) -> str:
        lines = [f"  {remark}" for remark in self._remarks()] + list_findings(self.findings)
        return "\n".join([f"<Check {self._title}", *lines]) + ">"

    def _repr_html_(self) -> str:
        return as_html(self._title, finding_table(self.findings), notes=self._remarks())

    @property
    def _title(self) -> str:
        return f"{self.dataset}, {self.task}: {self.verdict.summary}"

    def _remarks(self) -> list[str]:
        return [f"problem: {problem}" for problem in self.problems] + [f"note: {note}" for note in self.notes]


@dataclass(frozen=True, repr=False)
class ScoreReport:
    """What baselines and models score on a dataset.

    dataset: its name. scores: all of them, with shortcuts and the metric. path: the release that they are written into; None for
    another dataset. notes: what was left out or interpreted.
    """

    dataset: str
    scores: Scores
    path: Path | None
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """The scores as a frame, the best first.

        Columns: `name`, `what` (of a model its weights), `labels` (which it learns from), `metric`, `score` (times 100), `low`,
        `high` (the 95 % interval; null where there is none).
        """
        names, numbers = ("name", "what", "labels", "metric"), ("score", "low", "high")
        schema = pl.Schema(dict.fromkeys(names, pl.String()) | dict.fromkeys(numbers, pl.Float64()))
        rows = [
            (*row, getattr(score, "metric", self.scores.metric), score.score, score.low, score.high)
            for *row, score in list_scores(self.scores)
        ]
        return pl.DataFrame(rows, schema, orient="row")

    @property
    def _title(self) -> str:
        return f"{self.dataset}: {metric_name(self.scores.metric)} on {self.scores.split}, times 100"

    def _remarks(self) -> list[str]:
        written = [f"written into {self.path}"] if self.path else []
        return [*list_remarks(self.scores), *(f"note: {note}" for note in self.notes), *written]

    def _repr_html_(self) -> str:
        rows = [(*row, score_text(score)) for *row, score in list_scores(self.scores)]
        return as_html(self._title, [("name", "what it is", "labels seen", "score"), *rows], notes=self._remarks())

    def __repr__(self) -> str:
        rows = [f"{score_text(score)} {name}, {what}" for name, what, _, score in list_scores(self.scores)]
        return "\n  ".join([f"<ScoreReport {self._title}", *rows, *self._remarks()]) + ">"


@dataclass(frozen=True, repr=False)
class ScanReport:
    """Which texts of benchmarks a corpus has.

    corpus: what was read of it, in words. rows, rows_found: of the corpus, and those with a text of the benchmarks. tables: what
    was found of each table. matches: a row for each match, with the columns of docs/contamination.md. remarks: what was not read,
    not found or estimated.
    """

    corpus: str
    rows: int
    rows_found: int
    tables: tuple[TableSummary, ...]
    matches: pl.DataFrame
    remarks: tuple[str, ...]

    def to_polars(self) -> pl.DataFrame:
        """What was found of each table of the benchmarks, as a frame.

        Columns: `dataset`, `version`, `config`, `split`, `column`, `rows` (of the table), `exact`, `folded`, `near`, `contained`,
        `passage` (how many of its rows were found, each by its strictest kind), `share` (of its rows that were found, 0 to 1).
        """
        names = ("dataset", "version", "config", "split", "column", "rows")
        return pl.DataFrame(
            [
                {name: getattr(found.table, name) for name in names} | dict(found.kinds) | {"share": found.share}
                for found in self.tables
            ]
        )

    @property
    def _title(self) -> str:
        return f"{self.rows_found:,} of {self.rows:,} rows with texts of the benchmarks; read: {self.corpus}"

    def _repr_html_(self) -> str:
        frame = self.to_polars().filter(pl.col("share") > 0).with_columns(pl.col("share").round(4))
        return as_html(self._title, [frame.columns, *frame.iter_rows()], notes=self.remarks)

    def __repr__(self) -> str:
        found = [
            f"{each.table.dataset} {each.table.config}/{each.table.split}.{each.table.column}: {each.found:,} of"
            f" {each.table.rows:,} rows ({', '.join(f'{count:,} {kind}' for kind, count in each.kinds.items() if count)})"
            for each in self.tables
            if each.found
        ]
        return "\n  ".join([f"<ScanReport {self._title}", *found, *self.remarks]) + ">"


@dataclass(frozen=True, repr=False)
class Difference:
    """What differs between two datasets.

    same: whether nothing differs that counts. differences: what differs, in words: `order`, `types`, `columns`, `ids`, `labels`,
    `folded`, `rows`, `tables`. a, b: name, where it is, and of a release dataset, version and content_sha256. task: as which both
    were read; empty for their own columns. tables: how each table differs. figures: of two releases, statistics, options, drops
    and findings that differ, as (a, b). equal_figures: how many do not.
    """

    same: bool
    differences: Sequence[str]
    a: Mapping[str, str | None]
    b: Mapping[str, str | None]
    task: str
    notes: Sequence[str]
    tables: Sequence[TableDifference]
    figures: Mapping[str, tuple[Any, Any]]
    equal_figures: int

    def _repr_html_(self) -> str:
        title, *lines = repr(self).strip("<>").splitlines()
        return as_html(title, notes=lines)

    def __repr__(self) -> str:
        rows = [f"  {table.config}/{table.split}: {table.state}{_counts(table)}" for table in self.tables]
        sides = [
            f"{side['dataset']}@{side['version']}" if side["dataset"] else side["name"] for side in (self.a, self.b)
        ]
        differing = f" ({', '.join(self.differences)})" if self.differences else ""
        head = f"<Difference {' -> '.join(map(str, sides))}: {'the same' if self.same else 'different'} rows{differing}"
        figures = (
            [f"  {len(self.figures)} figures differ, {self.equal_figures} are equal"] if self.equal_figures else []
        )
        return "\n".join([head, *rows, *figures]) + ">"


def _counts(table: TableDifference) -> str:
    """How many rows a changed table had and has, and how many differ."""
    if table.state != "changed":
        return ""
    rows = f", {table.before:,} -> {table.after:,} rows, {table.equal:,} equal"
    return f"{rows}, {table.changed:,} changed, {table.removed:,} removed, {table.added:,} added"
