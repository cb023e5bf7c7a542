"""Drop the rows of labelled texts that would distort scores: from classification, clustering, pair and STS tables.

The rules match the findings (docs/findings.md): an audit finds nothing left of what a cleaned version drops. If a row has two
text columns, "its text" means both together.

Use `clean_rows` for splits that the source defines: a text in two splits stays in the later one, which is the one evaluated. Use
`deduplicate_texts` (or `keep_first_texts`) before a recipe draws its own splits, so that they get their full size.
"""

from collections.abc import Callable, Mapping

import polars as pl

from builders.shaping.folding import fold_disguise_3, fold_meaning_2, fold_text_1
from builders.shaping.labels import label_key
from builders.shaping.rows import drop_each
from builders.shaping.text import fold_white_space, is_damaged
from builders.spec import Dropped

SHORT = "a text is empty or a single character"
DAMAGED = "a text is damaged by a wrong decoding"
REPEATED = "duplicate of an earlier row"
FOLDED = ", ignoring case, punctuation and white space"
MEANING = ", ignoring case, white space and punctuation without a meaning"
# The notes of a version whose splits are drawn from rows without duplicate texts.
DEDUPLICATED = (
    "Drawn from rows whose texts differ in more than case, punctuation and white space. Of texts that differ in nothing else, the"
    " first is kept, or none if their labels differ. Texts that are empty, a single character or damaged by a wrong decoding are"
    " dropped."
)


def clean_rows(
    frames: Mapping[str, pl.DataFrame],
    splits: tuple[str, ...],
    *,
    texts: tuple[str, ...] = ("text",),
    label: str = "label",
    symmetric: bool = False,
    top: float | None = None,
    thorough: bool = True,
    by_meaning: bool = False,
) -> tuple[dict[str, pl.DataFrame], tuple[Dropped, ...]]:
    """The requested splits without rows that would distort scores, and the rows dropped. These are, in this order:

    - rows with a text that is empty or a single character, ignoring surrounding white space;
    - rows with a text that a wrong decoding damaged (builders.shaping.text.is_damaged);
    - with `top`, pairs of two equal texts whose score is below it;
    - all rows of a text that has different labels in its split;
    - rows whose text occurs in an earlier row of their split;
    - rows whose text also occurs in a later split.

    Texts are equal if they are after folding (builders.shaping.folding.fold_text_1). by_meaning: those of one split after
    fold_meaning_2, so that `... :)` and `... :(` are two texts, and those of two splits after fold_disguise_3.

    frames: by split, in the order of the task; must include every split after the requested ones. splits: those to return; rows
    keep their order. label: the column of labels, lists of labels or scores. symmetric: a pair and its reverse count as one text.
    thorough: False keeps damaged texts, and compares the texts of one split exactly, as the first cleaned versions did.
    """
    cleaned: dict[str, pl.DataFrame] = {}
    dropped: dict[str, tuple[Dropped, ...]] = {}
    later: dict[str, pl.Series] = {}
    what = "text" if len(texts) == 1 else "pair"
    for split in reversed(list(frames)):
        rows = _with_keys(frames[split], texts, label, symmetric=symmetric, by_meaning=by_meaning)
        exclusions = _exclusions(texts, label, top, thorough=thorough, how=MEANING if by_meaning else FOLDED)
        exclusions |= {
            f"the {what} is also in the {name} split": pl.col("__across").is_in(folded.implode())
            for name, folded in later.items()
        }
        rows, dropped[split] = drop_each(rows, exclusions, split=split, key="__name")
        cleaned[split], later[split] = rows.select(frames[split].columns), rows["__across"]
    return {split: cleaned[split] for split in splits}, tuple(drop for split in splits for drop in dropped[split])


def _exclusions(
    texts: tuple[str, ...], label: str, top: float | None, *, thorough: bool, how: str
) -> dict[str, pl.Expr]:
    """The rows of one split to drop, by reason."""
    what, value = "text" if len(texts) == 1 else "pair", "score" if label == "score" else "label"
    exclusions = {SHORT: pl.any_horizontal(is_short(pl.col(text)) for text in texts)}
    if thorough:
        exclusions[DAMAGED] = pl.any_horizontal(is_damaged(pl.col(text)) for text in texts)
    if top is not None:
        same = pl.all_horizontal(fold_text_1(pl.col(text)) == fold_text_1(pl.col(texts[0])) for text in texts[1:])
        exclusions["the two texts are equal, but the score is not the highest"] = same & (pl.col(label) < top)
    keys = {"__exact": "", "__folded": how} if thorough else {"__exact": ""}
    exclusions |= {
        f"the same {what} has a different {value} in another row{ignoring}": pl.col(f"{key}_conflict")
        for key, ignoring in keys.items()
    }
    return exclusions | {f"{REPEATED}{ignoring}": ~pl.col(key).is_first_distinct() for key, ignoring in keys.items()}


def deduplicate_texts(
    rows: pl.DataFrame, *, text: str = "text", label: str = "label", fold: bool = False, split: str = "all"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The first row of each text that always has the same label, and the rows dropped. These are, in this order:

    - with `fold`, rows whose text is empty or a single character, ignoring surrounding white space, and rows whose text a wrong
      decoding damaged;
    - all rows of a text that has different labels;
    - rows whose text occurs in an earlier row.

    rows: with a column `id`; they keep their order. text: a column of texts or, without `fold`, of keys that are equal if the
    texts are. fold: compare texts after folding (builders.shaping.folding.fold_text_1), not exactly. label: the column of labels
    or lists of labels. split: the split that the rows come from, for the report.
    """
    compared = fold_text_1(pl.col(text)) if fold else pl.col(text)
    keyed = rows.with_columns(__text=compared, __label=label_key(label, rows.schema[label]))
    exclusions = {SHORT: is_short(pl.col(text)), DAMAGED: is_damaged(pl.col(text))} if fold else {}
    exclusions |= {
        "the same text has a different label in another row": pl.col("__label").n_unique().over("__text") > 1,
        REPEATED: ~pl.col("__text").is_first_distinct(),
    }
    keyed, dropped = drop_each(keyed, exclusions, split=split)
    return keyed.select(rows.columns), dropped


def keep_first_texts(
    rows: pl.DataFrame, *, text: str = "text", label: str = "label", of: str = "an earlier row", named: str = "label"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The first row of each text, whatever labels its other rows have, and the rows dropped.

    rows, text, label: as for `deduplicate_texts`. of, named: what the reasons call the first row of a text and the label.
    """
    value = label_key(label, rows.schema[label])
    exclusions = {
        f"duplicate of {of}, with a different {named}": value != value.first().over(text),
        f"duplicate of {of}, with the same {named}": ~pl.col(text).is_first_distinct(),
    }
    return drop_each(rows, exclusions, split="all")


def is_short(text: pl.Expr) -> pl.Expr:
    """Whether a text is empty or a single character, ignoring surrounding white space."""
    return fold_white_space(text).str.len_chars() < 2


def _with_keys(
    frame: pl.DataFrame, texts: tuple[str, ...], label: str, *, symmetric: bool, by_meaning: bool
) -> pl.DataFrame:
    """The rows with the keys they are compared by and the name they are reported under (__name).

    __exact, __folded: within a split. __across: with another split.

    __exact_conflict, __folded_conflict: whether another row of the split has the same key but another label.
    """

    def join_texts(transform: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        parts = [transform(pl.col(text)) for text in texts]
        if len(parts) == 1:
            return parts[0]
        first, second = (pl.min_horizontal(parts), pl.max_horizontal(parts)) if symmetric else parts
        # The length marks where the first text ends: ("a b", "c") and ("a", "b c") differ.
        return pl.concat_str(first.str.len_bytes(), pl.lit(" "), first, second)

    rows = frame.with_columns(
        __exact=join_texts(lambda text: text),
        __folded=join_texts(fold_meaning_2 if by_meaning else fold_text_1),
        __across=join_texts(fold_disguise_3 if by_meaning else fold_text_1),
        __label=label_key(label, frame.schema[label]),
        __name=pl.col("id") if "id" in frame.columns else pl.format("row {}", 1 + pl.int_range(pl.len())),
    )
    # Before any row is dropped: of "Да" with two labels and "да" with one of them, none is kept.
    labels = pl.col("__label").n_unique()
    return rows.with_columns((labels.over(key) > 1).alias(f"{key}_conflict") for key in ("__exact", "__folded"))
