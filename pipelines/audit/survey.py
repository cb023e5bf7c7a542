"""The survey: one reading of every table, which keeps of each row only what the findings need, instead of its texts.

Later steps compare the short columns of a survey and never read the texts again (near-duplicates and languages excepted).
"""

from collections.abc import Mapping

import polars as pl

from builders import tasks
from builders.shaping.folding import coarse_key, fold_disguise_3, fold_meaning_2, fold_text_1
from builders.shaping.labels import label_key
from pipelines.audit.shortcuts import OVERLAP, measure_overlap
from pipelines.audit.tables import Frames, model_inputs, text_layouts
from pipelines.audit.texts import (
    WRONG_SCRIPT,
    TextForms,
    examine_texts,
    mark_suspects,
    script_conditions,
)
from pipelines.process.stages import stage

Surveys = Mapping[str, pl.DataFrame]  # split -> survey, of the tables of one config
COMPARED = {"folded": fold_text_1, "meaning": fold_meaning_2, "disguise": fold_disguise_3}


def survey_tables(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], seed: int, languages: tuple[str, ...] = ()
) -> dict[tuple[str, str], pl.DataFrame]:
    """The survey of each table with texts, by config and split: a row for each of its rows, in their order.

    seed: a `collision_free_seed` of all texts. languages: the dataset's, as mteb writes them. Columns:

    - `position`: that of the row, uint32.
    - `hash <column>`, `length <column>` and the condition_column of each of TEXT_CONDITIONS for each text column: the number that
      represents the text, its characters, and whether the condition applies to it.
    - `folded <column>`, `meaning <column>` and `disguise <column>` for each text column: a number, equal for two texts of any
      split and column that fold_text_1, fold_meaning_2 or fold_disguise_3 makes equal; only where texts are compared in more
      than one split, or where they have labels.
    - `overlap`: the share of words that are in both texts; only where pairs have labels or scores.
    - `wrong_script <column>`: whether the text is in a wrong script; only where the languages are known.
    - `texts`: equal for two rows if all their texts are equal.
    - `label`: equal if their labels are equal; only where the task has labels.
    """
    tables = [(layout, split, frames[layout.config][split]) for layout in text_layouts(task) for split in splits]
    several = len(splits) > 1 or task.type.label
    compared = [layout.config for layout in text_layouts(task) if layout.config != "corpus" and several]
    surveys = {}
    for layout, split, table in tables:
        schema = table.collect_schema()
        received = {f"__received {column}": text for column, text in model_inputs(layout).items()}
        texts = {column: pl.col(f"__received {column}") for column in layout.text}
        columns = {"position": pl.col("position")}
        for column, text in texts.items():
            forms = TextForms(
                received=text,
                own=text if column == "positives" else pl.col(column),
                of_retrieval=isinstance(task, tasks.Retrieval) and layout.config == "corpus",
            )
            columns |= _text_columns(column, forms, seed)
            if layout.config in compared:
                columns[f"coarse {column}"] = coarse_key(pl.col(f"__folded {column}"))
        if layout.config in compared and task.type.label and len(texts) > 1:
            columns[OVERLAP] = measure_overlap(*(pl.col(f"__folded {column}") for column in texts))
        for column, condition in script_conditions(task, layout, languages).items():
            columns[f"{WRONG_SCRIPT} {column}"] = condition
        columns["texts"] = _combine([text.hash(seed) for text in texts.values()])
        if label := task.type.label:
            columns["label"] = label_key(label, schema[label])
        derived = {}
        if layout.config in compared:
            derived = {f"__folded {column}": fold_text_1(text) for column, text in texts.items()}
        # In steps, so that each is computed once and not for each of the conditions.
        rows = table.with_row_index("position").with_columns(**received)
        with stage(f"audit of texts in {layout.config}/{split}"):
            survey = rows.with_columns(**derived).select(**columns).collect(engine="streaming")
            for column, text in texts.items():
                survey = mark_suspects(survey, column, rows.select("position", text=text))
            surveys[layout.config, split] = survey
    for layout in text_layouts(task):
        if layout.config in compared:
            own = {split: surveys[layout.config, split] for split in splits}
            numbered = _number_foldings(layout, frames[layout.config], own)
            surveys |= {(layout.config, split): survey for split, survey in numbered.items()}
    return surveys


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
            texts = rows.filter(pl.col("position").is_in(positions)).select("position", text=text)
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


def first_rows(survey: pl.DataFrame) -> pl.DataFrame:
    """The first row of each different text (or pair of texts), in row order."""
    return survey.unique("texts", keep="first", maintain_order=True)


def _text_columns(column: str, text: TextForms, seed: int) -> dict[str, pl.Expr]:
    measures = {f"hash {column}": text.received.hash(seed), f"length {column}": text.received.str.len_chars()}
    return measures | examine_texts(column, text)


def _combine(hashes: list[pl.Expr]) -> pl.Expr:
    """One value for the hashes of several texts, equal if all of them are equal."""
    return hashes[0] if len(hashes) == 1 else pl.concat_str(hashes, separator=" ")
