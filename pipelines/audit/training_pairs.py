"""Findings about training data: queries, their positives and their negatives, row by row.

Integrity is what a trainer cannot work with: no query, no positive, negatives of an unknown kind. The others are findings.
"""

import polars as pl

from builders.shaping.folding import fold_text
from builders.tasks import NEGATIVE_KINDS
from pipelines.audit.duplicates import FOLDED_DETAIL
from pipelines.audit.findings import FindingRows, findings_for_each, findings_where
from pipelines.audit.text_patterns import CHARACTER, suspects
from pipelines.audit.texts import TEXT_CONDITIONS, TextForms
from pipelines.audit.training_kinds import MIN_NEGATIVES

NUMBER = r"^\s*[+-]?\d+(?:[.,\s]\d+)*\s*%?\s*$"
DOCUMENTS = ("positives", "negatives")


def check_training_pairs(frame: pl.LazyFrame, config: str, split: str) -> list[FindingRows]:
    """Empty queries, rows without positives or with an empty one, negatives that do not fit their kinds."""
    query, positives, negatives, kinds = map(pl.col, ("query", "positives", "negatives", "negative_kinds"))
    has_empty = positives.list.eval(~pl.element().str.contains(CHARACTER)).list.any()
    is_unknown = kinds.list.eval(~pl.element().is_in(NEGATIVE_KINDS)).list.any()
    conditions = [
        ("empty_query", (config, split, "query"), ~query.str.contains(CHARACTER)),
        ("query_without_positive", (config, split, "positives"), positives.list.len() == 0),
        ("empty_positive", (config, split, "positives"), has_empty),
        ("negatives_without_kinds", (config, split, "negative_kinds"), negatives.list.len() != kinds.list.len()),
        ("unknown_negative_kind", (config, split, "negative_kinds"), is_unknown),
    ]
    return findings_for_each(frame, conditions)


def audit_training_pairs(frame: pl.LazyFrame, config: str, split: str) -> list[FindingRows]:
    """The findings about the rows of a table of training data that compare their texts, and about their negatives.

    The findings about single texts (pipelines.audit.texts) are made of queries and first positives with the other tasks; here of
    the other positives and of the negatives, so that no text is left out.
    """
    has_mined = "mined" in frame.collect_schema().names()
    mined = (pl.col("mined") if has_mined else pl.lit([], pl.List(pl.String))).list.len().alias("mined")
    texts = frame.select("query", *DOCUMENTS, mined).with_row_index("position").collect(engine="streaming")
    queries = texts.select("position", text="query")
    positives, negatives = (_explode(texts, column) for column in DOCUMENTS)
    compared = {
        ("negative_is_positive", "negatives"): (negatives, positives),
        ("positive_is_query", "positives"): (positives, queries),
    }
    findings = []
    for (kind, column), (some, others) in compared.items():
        findings += _find_rows(kind, (config, split, column), texts, _equal_rows(some, others))
    findings += _find_rows("duplicate_negative", (config, split, "negatives"), texts, _repeating_rows(negatives))
    for column, some in (("query", queries), ("positives", positives), ("negatives", negatives)):
        numbers = some.filter(pl.col("text").str.contains(NUMBER))["position"]
        findings += findings_where("number_text", (config, split, column), texts, _is_in(numbers))
    count = pl.col("negatives").list.len() + pl.col("mined")
    lengths = texts.select(least=count.min(), most=count.max()).row(0)
    detail = f"{lengths[0]} to {lengths[1]} in a row" if lengths[0] < lengths[1] else f"{lengths[0]} in every row"
    location = (config, split, "negatives")
    findings += findings_where("too_few_negatives", location, texts, count < MIN_NEGATIVES, detail=detail)
    findings += _find_text_conditions((config, split, "positives"), texts, positives.filter(pl.col("place") > 0))
    return findings + _find_text_conditions(location, texts, negatives)


def _explode(texts: pl.DataFrame, column: str) -> pl.DataFrame:
    """The texts of a column of lists: position of the row, place in its list, text."""
    lists = texts.select("position", text=column).filter(pl.col("text").list.len() > 0)
    return lists.explode("text").with_columns(place=pl.int_range(pl.len()).over("position"))


def _fold(table: pl.DataFrame) -> pl.DataFrame:
    """The same rows with folded texts; each different text is folded once, as a random negative is one in many rows."""
    folded = table.select(pl.col("text").unique()).with_columns(folded=fold_text(pl.col("text")))
    joined = table.select("position", "text").join(folded, on="text", maintain_order="left")
    return joined.select("position", text="folded")


def _equal_rows(some: pl.DataFrame, others: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """The positions of the rows that have a text of both tables, exactly and after folding."""
    folded, folded_others = map(_fold, (some, others))
    return tuple(  # type: ignore[return-value]
        one.join(other, on=["position", "text"], how="semi")["position"].unique()
        for one, other in ((some, others), (folded, folded_others))
    )


def _repeating_rows(some: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """The positions of the rows that have a text twice, exactly and after folding."""
    is_repeated = ~pl.struct("position", "text").is_first_distinct()
    folded = _fold(some)
    return some.filter(is_repeated)["position"].unique(), folded.filter(is_repeated)["position"].unique()


def _find_rows(
    kind: str, location: tuple[str, str, str], texts: pl.DataFrame, rows: tuple[pl.Series, pl.Series]
) -> list[FindingRows]:
    """The findings for rows that meet a condition exactly, and for those that meet it only after folding."""
    if rows[1].is_empty():  # equal texts are equal after folding
        return []
    exact, folded = map(_is_in, rows)
    return [
        *findings_where(kind, location, texts, exact),
        *findings_where(kind, location, texts, folded & ~exact, detail=FOLDED_DETAIL),
    ]


def _find_text_conditions(
    location: tuple[str, str, str], texts: pl.DataFrame, documents: pl.DataFrame
) -> list[FindingRows]:
    """The findings about single documents of a column of lists: the rows that have such a document."""
    if documents.is_empty():
        return []
    text, suspect = pl.col("text"), pl.col("suspect")
    forms = TextForms(received=text, own=text, suspect=suspect, of_retrieval=True)
    different = documents.select(text.unique()).with_columns(suspect=suspects(text))
    conditions = {f"{kind} {part}": applies(forms) for (kind, part), applies in TEXT_CONDITIONS.items()}
    marked = different.select("text", **conditions).filter(pl.any_horizontal(list(conditions)))
    if marked.is_empty():
        return []
    marked = documents.select("position", "text").join(marked, on="text").drop("text")
    findings = []
    for kind in dict.fromkeys(kind for kind, _ in TEXT_CONDITIONS):
        columns = [f"{one} {part}" for one, part in TEXT_CONDITIONS if one == kind]
        positions = marked.filter(pl.any_horizontal(columns))["position"].unique()
        detail = "in a later positive" if location[2] == "positives" else ""
        findings += findings_where(kind, location, texts, _is_in(positions), detail=detail)
    return findings


def _is_in(positions: pl.Series) -> pl.Expr:
    return pl.col("position").is_in(positions.implode())
