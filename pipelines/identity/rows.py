"""Which rows of two tables are the same, changed, removed or added: a comparison that needs no ids and no order.

Rows are paired one to one, in stages, each among what the stage before has left:

1. equal values in all common columns
2. the same texts, first with the same id, then with another one: other columns differ
3. the same texts after `fold_text_1`: case, punctuation or white space differ
4. the same id: the texts differ

What is left was removed or added. Equal rows are paired in the order in which they come, so that copies count. Values are
compared by hashes of 64 bits: of two tables of a million rows, one comparison in ten million makes a false pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from builders.shaping.folding import fold_text_1
from pipelines.audit.findings import EXAMPLES, POSITION, rows_at
from pipelines.audit.tables import count_rows
from pipelines.checking.columns import is_list
from pipelines.checking.layouts import FIRST, JUDGED, POSITIVE, QUERY, SECOND
from pipelines.checking.layouts import TEXT as TEXT_NAMES
from pipelines.release.comparison import KEYS

WHOLE, TEXT, ID, FOLDED, COPY = "__whole", "__text", "__id", "__folded", "__copy"
# Names of columns that hold the texts of a task; others may hold texts too, but say something about these.
TEXTS = {*TEXT_NAMES, *FIRST, *SECOND, *QUERY, *POSITIVE, "sentences", "negatives"}
JUDGEMENTS = {*JUDGED, "label_text", "id", "_id", "query-id", "corpus-id", "corpus-ids"}  # what holds no text
NO_IDS = pl.DataFrame(schema={"old": pl.String, "new": pl.String})
EXCHANGED = 0.9  # of the pairs of the same texts have to agree on an exchange of labels
LARGE = 2.0**63  # beyond all values of an Int64
# The type as which values of two types are compared: numbers of 64 bits as those of 32 that somebody made of them, ids as texts.
COMMON: Mapping[Any, set[Any]] = {
    pl.Float32: {pl.Float64, pl.Int64, pl.Int128, pl.Boolean},
    pl.Float64: {pl.Int64, pl.Int128, pl.Boolean},
    pl.Int128: {pl.Int64, pl.Boolean},
    pl.Int64: {pl.Boolean},
    pl.String: {pl.Int64, pl.Int128},
}
STAGES = ((WHOLE,), (TEXT, ID), (TEXT,), (FOLDED,), (ID,))


@dataclass(frozen=True)
class TableDifference:
    """How a table differs between two datasets, A and B.

    config, split: its names in B, or in A where B lacks it. old: `config/split` in A where it has another name there. state:
    `same`, `reordered` (the same rows in another order), `changed`, `new` or `gone`. before, after: rows. equal: rows with the
    same values. reordered: whether these come in another order. new_ids: rows that differ in their id alone.

    changed: the other pairs. same_text: of these, the same texts, at least folded, while another column differs. folded: only the
    texts differ, in what `fold_text_1` ignores. same_id: the texts differ. differing: by column, in how many pairs it differs.

    columns: those that only one table has, or that cannot be compared, `-name (type)` and `+name (type)`. types: of columns that
    were compared as another type, (A, B). labels: labels of A that have another name or number in B, one to one. examples: up to
    five rows for `added` and `removed`; for `changed` texts and ids, and [A, B] of each column that differs.
    """

    config: str
    split: str
    state: str
    before: int
    after: int
    old: str = ""
    equal: int = 0
    reordered: bool = False
    new_ids: int = 0
    changed: int = 0
    same_text: int = 0
    folded: int = 0
    same_id: int = 0
    added: int = 0
    removed: int = 0
    differing: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    types: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pairing:
    """The pairs of rows of two tables, by position: `old`, `new` and the number of their `stage`; and what is left of each."""

    pairs: pl.DataFrame
    removed: pl.Series
    added: pl.Series


@dataclass(frozen=True)
class Common:
    """The columns of two tables: those to compare with the type to compare them as, and what differs, as in TableDifference."""

    types: Mapping[str, Any]
    columns: tuple[str, ...]
    retyped: Mapping[str, tuple[str, str]]

    @property
    def texts(self) -> list[str]:
        """The columns that hold texts, strings or lists of them: those with a usual name, else all but ids and judgements."""
        strings = [
            name
            for name, kind in self.types.items()
            if kind == pl.String or (is_list(kind) and kind.inner == pl.String)
        ]
        usual = [name for name in strings if name.lower() in TEXTS]
        return usual or [name for name in strings if name.lower() not in JUDGEMENTS]

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return next((names for names in KEYS if set(names) <= self.types.keys()), ())


def common_columns(old: pl.LazyFrame, new: pl.LazyFrame) -> Common:
    """What two tables have in common. Whole numbers of any size are one type, and so are texts and categories."""
    old_types, new_types = (dict(frame.collect_schema()) for frame in (old, new))
    types = {
        name: kind
        for name, other in new_types.items()
        if name in old_types and (kind := _unify(old_types[name], other)) is not None
    }
    columns = [f"-{name} ({_type_name(kind)})" for name, kind in old_types.items() if name not in types]
    columns += [f"+{name} ({_type_name(kind)})" for name, kind in new_types.items() if name not in types]
    names = {name: (_type_name(old_types[name]), _type_name(new_types[name])) for name in types}
    return Common(types, tuple(columns), {name: pair for name, pair in names.items() if pair[0] != pair[1]})


def _with_whole_numbers(common: Common, old: pl.LazyFrame, new: pl.LazyFrame) -> Common:
    """Whole numbers beside floats that are whole are compared as whole numbers: floats of 64 bits round those above 2**53."""
    types = dict(common.types)
    old_types, new_types = old.collect_schema(), new.collect_schema()
    for frame, own, other in ((old, old_types, new_types), (new, new_types, old_types)):
        mixed = [name for name in types if own[name].is_float() and other[name].is_integer()]
        whole = [((pl.col(name) == pl.col(name).floor()) & (pl.col(name).abs() < LARGE)).all() for name in mixed]
        are_whole = frame.select(whole).collect(engine="streaming").row(0) if mixed else ()
        types |= {name: _widest(other[name]) for name, is_whole in zip(mixed, are_whole, strict=True) if is_whole}
    return replace(common, types=types)


def _unify(one: Any, other: Any) -> Any:
    """The type as which the values of two types can be compared; None where there is none."""
    if is_list(one) and is_list(other):
        inner = _unify(one.inner, other.inner)
        return None if inner is None else pl.List(inner)
    kinds = {_widest(one), _widest(other)} - {pl.Null}
    if len(kinds) < 2:
        return next(iter(kinds), pl.Null)
    return next((kind for kind, others in COMMON.items() if kind in kinds and kinds - {kind} <= others), None)


def _widest(kind: Any) -> Any:
    if kind.is_integer():
        return pl.Int128 if kind in (pl.UInt64, pl.UInt128, pl.Int128) else pl.Int64
    if kind.is_float():
        return pl.Float64 if kind == pl.Float64 else pl.Float32
    return pl.String if isinstance(kind, pl.Categorical | pl.Enum) else kind


def _type_name(kind: Any) -> str:
    return f"list<{_type_name(kind.inner)}>" if is_list(kind) else str(kind).split("(")[0].lower()


def pair_rows(old: pl.LazyFrame, new: pl.LazyFrame, common: Common) -> Pairing:
    """Pair the rows of two tables. old, new: with the common columns alone, in their types.

    Raises polars' errors where rows cannot be read.
    """
    has = {WHOLE: True, TEXT: bool(common.texts), FOLDED: bool(common.texts), ID: bool(common.ids)}
    stages = [stage for stage in STAGES if all(has[key] for key in stage)]
    hashes = [_hash_rows(frame, common) for frame in (old, new)]
    if hashes[0].height == hashes[1].height and (hashes[0][WHOLE] == hashes[1][WHOLE]).all():
        position = hashes[0][POSITION]
        pairs = pl.DataFrame(
            {"old": position, "new": position, "stage": pl.repeat(0, len(position), dtype=pl.UInt8, eager=True)}
        )
        return Pairing(pairs, position.clear(), position.clear())
    found = []
    for stage in stages:
        if FOLDED in stage:
            hashes = [_with_folded(frame, left, common) for frame, left in zip((old, new), hashes, strict=True)]
        hashes = [rows.with_columns(pl.col(POSITION).rank("ordinal").over(stage).alias(COPY)) for rows in hashes]
        both = hashes[0].join(hashes[1], on=[*stage, COPY], suffix="_new")
        found.append(both.select(old=POSITION, new=f"{POSITION}_new", stage=pl.lit(STAGES.index(stage), pl.UInt8)))
        hashes = [
            rows.join(both.select(pl.col(name).alias(POSITION)), on=POSITION, how="anti")
            for rows, name in zip(hashes, (POSITION, f"{POSITION}_new"), strict=True)
        ]
    removed, added = (rows[POSITION].sort() for rows in hashes)
    return Pairing(pl.concat(found).sort("old"), removed, added)


def _hash_rows(frame: pl.LazyFrame, common: Common) -> pl.DataFrame:
    """For every row its position, and hashes of all its values, of its texts and of its ids."""
    parts = {WHOLE: list(common.types), TEXT: common.texts, ID: list(common.ids)}
    keys = {name: pl.struct(names).hash(0) for name, names in parts.items() if names}
    if common.ids:  # a null names no row, and pairs with none
        keys[ID] = pl.when(pl.all_horizontal(pl.col(common.ids).is_not_null())).then(keys[ID])
    return frame.with_row_index(POSITION).select(POSITION, **keys).collect(engine="streaming").sort(POSITION)


def _with_folded(frame: pl.LazyFrame, left: pl.DataFrame, common: Common) -> pl.DataFrame:
    """Rows that are left, with a hash of their folded texts."""
    folded = [
        pl.col(name).list.eval(fold_text_1(pl.element())) if is_list(common.types[name]) else fold_text_1(pl.col(name))
        for name in common.texts
    ]
    rows = _select_rows(frame, left[POSITION]).select(POSITION, pl.struct(folded).hash(0).alias(FOLDED))
    return left.join(rows.collect(engine="streaming"), on=POSITION)


def _select_rows(frame: pl.LazyFrame, positions: pl.Series) -> pl.LazyFrame:
    return frame.with_row_index(POSITION).join(positions.alias(POSITION).to_frame().lazy(), on=POSITION, how="semi")


def compare_rows(config: str, split: str, old: pl.LazyFrame, new: pl.LazyFrame) -> tuple[TableDifference, pl.DataFrame]:
    """How a table differs, and the ids of rows with the same texts where they differ: columns `old` and `new`, strings.

    Labels that have another name or number in B, one to one over the pairs of the same texts, count as equal and are named.
    """
    common = _with_whole_numbers(common_columns(old, new), old, new)
    before, after = count_rows(old), count_rows(new)
    old, new = (frame.select(pl.col(name).cast(kind) for name, kind in common.types.items()) for frame in (old, new))
    if not common.types:
        nothing = TableDifference(
            config, split, "changed", before, after, removed=before, added=after, columns=common.columns
        )
        return nothing, NO_IDS
    pairing = pair_rows(old, new, common)
    labels: dict[str, dict[str, str]] = {}
    for name in sorted({"label", "label_text", "labels"} & common.types.keys()):
        if labels_of := _exchanged_labels(old, new, pairing, name):
            labels[name] = labels_of
            old, new = (_rename_labels(frame, name, names) for frame, names in ((old, labels_of), (new, {})))
    if labels:
        types = {name: kind for name, kind in old.collect_schema().items() if name in labels}
        common = Common({**common.types, **types}, common.columns, common.retyped)
        pairing = pair_rows(old, new, common)
    differing, own = _differing_columns(old, new, pairing, common)
    folded = own.filter((pl.col("stage") == STAGES.index((FOLDED,))) & pl.col("only_texts"))
    same_id = own.filter(
        (pl.col("stage") == STAGES.index((ID,))) & pl.lit(bool(common.texts))
    )  # judgements have no texts
    equal = pairing.pairs.filter(pl.col("stage") == 0)
    reordered = not equal["new"].is_sorted()
    new_ids = len(pairing.pairs) - len(equal) - len(own)
    only_equal = len(equal) == len(pairing.pairs) and not (len(pairing.added) or len(pairing.removed))
    difference = TableDifference(
        config,
        split,
        ("reordered" if reordered else "same") if only_equal else "changed",
        before,
        after,
        equal=len(equal),
        reordered=reordered,
        new_ids=new_ids,
        changed=len(own),
        same_text=len(own) - len(folded) - len(same_id),
        folded=len(folded),
        same_id=len(same_id),
        added=len(pairing.added),
        removed=len(pairing.removed),
        differing=differing,
        columns=common.columns,
        types=common.retyped,
        labels={before: after for of_column in labels.values() for before, after in of_column.items()},
        examples=_examples(old, new, pairing, own, common),
    )
    return difference, _exchanged_ids(old, new, pairing) if differing.get("id") else NO_IDS


def _exchanged_labels(old: pl.LazyFrame, new: pl.LazyFrame, pairing: Pairing, column: str) -> dict[str, str]:
    """The name that each label of A has in B, as text, where labels have other names or numbers; empty where they do not."""
    same = pairing.pairs.filter(pl.col("stage") <= 2)
    values = []
    for frame in (old, new):
        label = pl.col(column)
        if is_list(frame.collect_schema()[column]):  # lists of one label tell which is which
            label = pl.when(label.list.len() == 1).then(label.list.first())
        values.append(frame.select(label.cast(pl.String).alias(column)).collect(engine="streaming")[column])
    texts = {name: series.gather(same[name]) for name, series in zip(("old", "new"), values, strict=True)}
    return find_exchange(pl.DataFrame(texts), *(set(series.unique()) for series in values))


def find_exchange(pairs: pl.DataFrame, olds: set[str | None], news: set[str | None]) -> dict[str, str]:
    """Which labels have another name, one to one; empty where they do not.

    pairs: labels of the same text, columns `old` and `new` (String). olds, news: all labels.
    """
    counts = pairs.drop_nulls().group_by("old", "new").len()
    counts = counts.sort("len", "new", "old", descending=[True, False, False])
    main = counts.filter(pl.col("old").is_first_distinct() & pl.col("new").is_first_distinct())
    names = dict(main.filter(main["old"] != main["new"]).sort("old").select("old", "new").iter_rows())
    back = {new: old for old, new in names.items()}
    # Of a label that has no other name the own one must be free, in both directions.
    one_to_one = all(
        len({known.get(label or "", label) for label in labels}) == len(labels)
        for known, labels in ((names, olds), (back, news))
    )
    clear = int(main["len"].sum()) >= EXCHANGED * int(counts["len"].sum())
    return names if clear and one_to_one else {}


def _rename_labels(frame: pl.LazyFrame, column: str, names: Mapping[str, str]) -> pl.LazyFrame:
    """A table with labels as text, under other names; lists of them are sorted."""
    if is_list(frame.collect_schema()[column]):
        return frame.with_columns(pl.col(column).list.eval(pl.element().cast(pl.String).replace(names)).list.sort())
    return frame.with_columns(pl.col(column).cast(pl.String).replace(names))


def _differing_columns(
    old: pl.LazyFrame, new: pl.LazyFrame, pairing: Pairing, common: Common
) -> tuple[dict[str, int], pl.DataFrame]:
    """By column, how many pairs of unequal rows differ in it; and the pairs that differ in more than their id.

    The latter are in the order of A, with columns `old`, `new`, `stage` and `only_texts`: whether no other column differs.
    """
    pairs = pairing.pairs.filter(pl.col("stage") > 0)
    for frame, side in ((old, "old"), (new, "new")):
        hashes = [pl.struct(name).hash(0).alias(f"{side}_{name}") for name in common.types]
        rows = _select_rows(frame, pairs[side]).select(pl.col(POSITION).alias(side), *hashes)
        pairs = pairs.join(rows.collect(engine="streaming"), on=side)
    differs = {name: pl.col(f"old_{name}") != pl.col(f"new_{name}") for name in common.types}
    counts = pairs.select(**{name: condition.sum() for name, condition in differs.items()}).row(0, named=True)
    others = [condition for name, condition in differs.items() if name not in {"id", *common.texts}]
    only_texts = ~pl.any_horizontal(others) if others else pl.lit(True)
    own = pairs.filter(~only_texts | pl.any_horizontal(pl.lit(False), *(differs[name] for name in common.texts)))
    own = own.select("old", "new", "stage", only_texts=only_texts).sort("old")
    return {name: count for name, count in counts.items() if count}, own


def _exchanged_ids(old: pl.LazyFrame, new: pl.LazyFrame, pairing: Pairing) -> pl.DataFrame:
    """The ids of rows with the same texts, at least folded, where they differ: `old` and `new`."""
    same = pairing.pairs.filter(pl.col("stage").is_between(1, 3))
    ids = {
        name: frame.select("id").collect(engine="streaming")["id"].cast(pl.String).gather(same[name])
        for name, frame in (("old", old), ("new", new))
    }
    return pl.DataFrame(ids).filter(pl.col("old") != pl.col("new"))


def _examples(
    old: pl.LazyFrame, new: pl.LazyFrame, pairing: Pairing, own: pl.DataFrame, common: Common
) -> dict[str, list[dict[str, Any]]]:
    """The first rows that were removed, added and changed, as in TableDifference."""
    first = own.head(EXAMPLES)
    olds, news = rows_at(old, first["old"]), rows_at(new, first["new"])
    shown = {*common.texts, *common.ids}
    changed = [
        {
            name: after[name] if before[name] == after[name] else [before[name], after[name]]
            for name in after
            if name in shown or before[name] != after[name]
        }
        for before, after in zip(olds.to_dicts(), news.to_dicts(), strict=True)
    ]
    removed = rows_at(old, pairing.removed.head(EXAMPLES)).to_dicts()
    added = rows_at(new, pairing.added.head(EXAMPLES)).to_dicts()
    return {"changed": changed, "removed": removed, "added": added}
