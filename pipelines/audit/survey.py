"""The survey: one reading of every table, which keeps of each row only what the findings need, instead of its texts.

Later steps compare the short columns of a survey and never read the texts again (near-duplicates and languages excepted).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from polars._typing import EngineType

from builders import tasks
from builders.shaping.folding import coarse_key, fold_disguise_3, fold_meaning_2, fold_text_1
from builders.shaping.labels import label_key
from pipelines.audit.shortcuts import OVERLAP, measure_overlap
from pipelines.audit.tables import (
    Frames,
    Location,
    copied,
    count_rows,
    first_distinct,
    model_inputs,
    text_layouts,
    without_collisions,
)
from pipelines.audit.texts import (
    WRONG_SCRIPT,
    TextForms,
    examine_texts,
    expected_scripts,
    in_wrong_script,
    mark_suspects,
)
from pipelines.process.stages import stage

# So few texts are searched in one piece: a pattern is compiled for each piece, which takes as long as to search thousands of
# texts for it.
FEW = 10_000
Surveys = Mapping[str, pl.DataFrame]  # split -> survey, of the tables of one config
COMPARED = {"folded": fold_text_1, "meaning": fold_meaning_2, "disguise": fold_disguise_3}


def survey_tables(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], languages: tuple[str, ...] = ()
) -> dict[tuple[str, str], pl.DataFrame]:
    """The survey of each table with texts, by config and split: a row for each of its rows, in their order.

    languages: the dataset's, as mteb writes them. Columns:

    - `position`: that of the row, uint32.
    - `hash <column>`, `length <column>` and the condition_column of each of TEXT_CONDITIONS for each text column: the number that
      represents the text, its characters, and whether the condition applies to it.
    - `folded <column>`, `meaning <column>` and `disguise <column>` for each text column: a number, equal for two texts of any
      split and column that fold_text_1, fold_meaning_2 or fold_disguise_3 makes equal; only where texts are compared in more
      than one split, or where they have labels.
    - `overlap`: the share of words that are in both texts; only where pairs have labels or scores.
    - `wrong_script <column>`: whether the text is in a wrong script; only where the languages are known.
    - `texts`: equal for two rows if all their texts are equal.
    - `is_first`: whether no earlier row has the same texts; `is_first <column>` for each text column: whether none has its text.
    - `label`: equal if their labels are equal; only where the task has labels.
    """
    layouts = text_layouts(task)
    several = len(splits) > 1 or task.type.label
    compared = [layout.config for layout in layouts if layout.config != "corpus" and several]
    groups: dict[_Treatment, dict[Location, pl.LazyFrame]] = {}
    for layout in layouts:
        scripts = expected_scripts(task, layout, languages)
        for column, received in model_inputs(layout).items():
            treatment = _Treatment(
                isinstance(task, tasks.Retrieval) and layout.config == "corpus",
                layout.config in compared,
                scripts.get(column, frozenset()),
            )
            own = received if column == "positives" else pl.col(column)
            groups.setdefault(treatment, {}).update(
                {
                    (layout.config, split, column): frames[layout.config][split].select(received=received, own=own)
                    for split in splits
                }
            )

    pieces = [(treatment, piece) for treatment, own in groups.items() for piece in _divide_texts(own)]

    def survey_texts(seed: int) -> dict[Location, pl.DataFrame]:
        return {
            location: survey
            for treatment, piece in pieces
            for location, survey in _survey_texts(treatment, piece, seed).items()
        }

    texts = {location: frame.select(text="received") for own in groups.values() for location, frame in own.items()}
    read = without_collisions(texts, survey_texts)
    surveys = {}
    for layout in layouts:
        for split in splits:
            columns = [read[layout.config, split, column] for column in layout.text]
            survey = pl.concat(columns, how="horizontal").with_row_index("position")
            labels = _survey_labels(task, layout, frames[layout.config][split], is_compared=layout.config in compared)
            survey = survey.with_columns(texts_key(layout).alias("texts"), *labels)
            firsts = {f"is_first {column}": first_distinct(survey[f"hash {column}"]) for column in layout.text}
            of_rows = firsts[f"is_first {layout.text[0]}"] if len(firsts) == 1 else first_distinct(survey["texts"])
            surveys[layout.config, split] = survey.with_columns(of_rows.alias("is_first"), **firsts)
    for layout in layouts:
        if layout.config in compared:
            by_split = {split: surveys[layout.config, split] for split in splits}
            numbered = _number_foldings(layout, frames[layout.config], by_split)
            surveys |= {(layout.config, split): survey for split, survey in numbered.items()}
    return surveys


@dataclass(frozen=True)
class _Treatment:
    """What a survey reads of a text besides what it reads of all: columns with the same treatment are read together."""

    of_retrieval: bool
    is_compared: bool
    scripts: frozenset[str]


def _divide_texts(texts: dict[Location, pl.LazyFrame]) -> list[dict[Location, pl.LazyFrame]]:
    """Columns of few texts as one piece, of many a piece each.

    Of several large tables that are read together, polars keeps the rows of the later ones in memory.
    """
    if sum(map(count_rows, texts.values())) <= FEW:
        return [texts]
    return [{location: frame} for location, frame in texts.items()]


def _survey_texts(
    treatment: _Treatment, texts: Mapping[Location, pl.LazyFrame], seed: int
) -> dict[Location, pl.DataFrame]:
    """The columns of a survey for each column of texts, read together. texts: `received` and `own`."""
    rows = pl.concat([frame.with_columns(table=number) for number, frame in enumerate(texts.values())])
    rows = rows.with_row_index("position")
    text = TextForms(pl.col("received"), pl.col("own"), treatment.of_retrieval)
    columns = {"hash ": text.received.hash(seed), "length ": text.received.str.len_chars()} | examine_texts(text)
    if treatment.is_compared:
        columns["coarse "] = coarse_key(fold_text_1(text.received))
    if treatment.scripts:
        columns[f"{WRONG_SCRIPT} "] = in_wrong_script(text.received, treatment.scripts)
    with stage(f"audit of texts in {', '.join(dict.fromkeys(f'{config}/{split}' for config, split, _ in texts))}"):
        engine: EngineType = "in-memory" if count_rows(rows) <= FEW else "streaming"
        survey = rows.select("table", "position", **columns).collect(engine=engine)
        survey = mark_suspects(survey, rows.select("position", text="received"))
    parts = survey.drop("position").partition_by("table", as_dict=True, include_key=False)
    empty = survey.drop("position", "table").clear()
    return {
        (config, split, column): parts.get((number,), empty).select(pl.all().name.suffix(column))
        for number, (config, split, column) in enumerate(texts)
    }


def _survey_labels(
    task: tasks.Task, layout: tasks.Layout, table: pl.LazyFrame, *, is_compared: bool
) -> list[pl.Series]:
    """The columns of a survey that tell the labels of rows, and the words that the texts of labelled pairs share."""
    if not (label := task.type.label):
        return []
    columns = {"label": label_key(label, table.collect_schema()[label])}
    folded = {f"__folded {column}": fold_text_1(text) for column, text in model_inputs(layout).items()}
    if is_compared and len(folded) > 1:
        columns[OVERLAP] = measure_overlap(*map(pl.col, folded))
    return table.with_columns(**folded).select(**columns).collect(engine="streaming").get_columns()


def _number_foldings(
    layout: tasks.Layout, frames: Mapping[str, pl.LazyFrame], surveys: Surveys
) -> dict[str, pl.DataFrame]:
    """The surveys of a table with the columns of COMPARED. Only texts whose coarse key occurs twice are read again and folded."""
    coarse = [f"coarse {column}" for column in layout.text]
    keys = pl.concat([survey[name] for survey in surveys.values() for name in coarse])
    repeated = keys.filter(keys.is_duplicated()).unique().implode()
    parts = []
    for split, survey in surveys.items():
        rows = frames[split].with_row_index("position")
        for column, text in model_inputs(layout).items():
            positions = survey.filter(pl.col(f"coarse {column}").is_in(repeated))["position"].implode()
            texts = rows.filter(pl.col("position").is_in(positions)).select("position", text=copied(text))
            parts.append(texts.select(pl.lit(f"{split} {column}").alias("column"), "position", "text"))
    texts = pl.concat(parts)
    numbers = texts.collect(engine="streaming").select(
        "column",
        "position",
        **{name: fold(pl.col("text")).rank("dense").cast(pl.Int64) for name, fold in COMPARED.items()},
    )
    numbered, unique = {}, 0  # other texts get numbers below 1, each its own
    for split, survey in surveys.items():
        columns = [survey.drop(coarse)]
        for column in layout.text:
            own = numbers.filter(column=f"{split} {column}").drop("column")
            of_rows = survey.select("position").join(own, on="position", how="left", maintain_order="left")
            others = -pl.col("position").cast(pl.Int64) - unique
            columns.append(
                of_rows.select(pl.col(name).fill_null(others).alias(f"{name} {column}") for name in COMPARED)
            )
            unique += survey.height
        numbered[split] = pl.concat(columns, how="horizontal")
    return numbered


def texts_key(layout: tasks.Layout, by: str = "hash", *, ordered: bool = True) -> pl.Expr:
    """One value for the texts of a row, equal for two rows if their texts are. From the columns of a survey.

    by: `hash` (exactly) or one of COMPARED. ordered: whether the order of two texts counts.
    """
    hashes = [pl.col(f"{by} {column}") for column in layout.text]
    return _combine(hashes if ordered else [pl.min_horizontal(hashes), pl.max_horizontal(hashes)])


def swapped_texts(layout: tasks.Layout) -> pl.Expr:
    """The `texts` of the same pair in reverse order, from the columns of a survey; null if both texts are equal."""
    first, second = (pl.col(f"hash {column}") for column in layout.text)
    return pl.when(first != second).then(_combine([second, first]))


def _combine(hashes: list[pl.Expr]) -> pl.Expr:
    """One value for the hashes of several texts, equal if all of them are equal."""
    return hashes[0] if len(hashes) == 1 else pl.concat_str(hashes, separator=" ")
