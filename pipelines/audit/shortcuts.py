"""Findings about shortcuts: a length, shared words or a position that tells the label, although nobody reads the text.

A model can use a shortcut in place of what the task asks for, so that a score says less. Candidates are compared within each
query, and every query counts the same; scores (STS) by Spearman's rank correlation, the main score of that task.

Not looked for: shortcuts in retrieval, where a document that nobody judged is not irrelevant, and relevant articles may well be
longer; and in bitext, where every text has its translation.
"""

import math
from dataclasses import dataclass

import polars as pl

from builders import tasks
from builders.shaping.folding import fold_text
from cards.manifest import Finding, Severity
from pipelines.audit.candidates import list_candidates
from pipelines.audit.findings import EXAMPLES, FindingRows, without_rows
from pipelines.audit.guessing import rank_correlation, strength_of_labels, strength_within_groups
from pipelines.audit.kinds import (
    KINDS,
    MAX_COMPARED,
    MIN_LABEL_ROWS,
    MIN_OVERLAP_STRENGTH,
    MIN_STRENGTH,
    STANDARD_ERRORS,
)
from pipelines.audit.leaking_columns import number_groups, row_labels
from pipelines.audit.tables import Frames, Location, model_input, read_column

OVERLAP = "overlap"  # the column of a survey with the shared words of a pair
CHANCE = 0.5


@dataclass(frozen=True)
class Rule:
    """A guess from one number of a row.

    column: the one that the finding names, empty for both texts of a pair. name: of the number. more, less: the one of two rows
    with the higher or the lower number, in a sentence. shown: how a number is written.
    """

    kind: str
    column: str
    name: str
    more: str
    less: str
    shown: str = "{:.0f} characters"

    def is_telling(self, strength: float, error: float) -> bool:
        """Whether a guess is worth a finding. That the same and the relevant texts share more words is natural, to a degree."""
        natural = self.kind == "label_by_overlap" and strength > CHANCE
        least = MIN_OVERLAP_STRENGTH if natural else MIN_STRENGTH
        distance = abs(strength - CHANCE)
        return distance >= least - CHANCE and distance >= STANDARD_ERRORS * error

    def describe_guess(self, strength: float, what: str) -> str:
        """How often the rule is right: `the longer one is relevant in 63 of 100 cases (AUC 0.630)`."""
        right = max(strength, 1 - strength)
        winner = self.more if strength > CHANCE else self.less
        cases = 100 if right == 1 else min(99, round(100 * right))
        return f"{winner} {what} in {cases} of 100 cases (AUC {right:.3f})"

    def describe_medians(self, name: str, numbers: pl.Series, has_label: pl.Series) -> str:
        """The median number of the rows with a label, and that of the others."""
        medians = [self.shown.format(numbers.filter(rows).median() or 0) for rows in (has_label, ~has_label)]
        return f"{name}: median {medians[0]}, others {medians[1]}"


TEXT_LENGTH = Rule("label_by_length", "", "the length", "the longer one", "the shorter one")
PAIR_RULES = (
    *(
        Rule(
            "label_by_length",
            side,
            f"the length of {side}",
            f"the one with the longer {side}",
            f"the one with the shorter {side}",
        )
        for side in ("sentence1", "sentence2")
    ),
    Rule(
        "label_by_length",
        "",
        "the difference in length",
        "the one with the larger difference in length",
        "the one with the smaller difference in length",
    ),
    Rule(
        "label_by_overlap",
        "",
        "the share of words in both texts",
        "the one with more shared words",
        "the one with fewer shared words",
        "{:.0%} of the words in both texts",
    ),
)
CANDIDATES = "corpus-ids"
LIST_RULES = (
    Rule("label_by_length", CANDIDATES, "the length", "the longer one", "the shorter one"),
    Rule(
        "label_by_overlap",
        CANDIDATES,
        "the share of the query's words",
        "the one with more words of the query",
        "the one with fewer words of the query",
        "{:.0%} of the query's words",
    ),
    Rule(
        "label_by_position",
        CANDIDATES,
        "the place in the list",
        "the one listed later",
        "the one listed first",
        "place {:.0f}",
    ),
)


def measure_overlap(first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """The share of the different words of two folded texts that are in both (Jaccard similarity); 0 if one text is empty."""
    words, others = first.str.split(" "), second.str.split(" ")
    both = words.list.set_intersection(others).list.len().cast(pl.Float64)
    all_words = words.list.n_unique() + others.list.n_unique() - both
    return pl.when((first == "") | (second == "")).then(0.0).otherwise(both / all_words)


def measure_coverage(query: pl.Expr, text: pl.Expr) -> pl.Expr:
    """The share of the different words of a folded query that are in a folded text; 0 if one of them is empty."""
    words = query.str.split(" ")
    both = words.list.set_intersection(text.str.split(" ")).list.len().cast(pl.Float64)
    return pl.when((query == "") | (text == "")).then(0.0).otherwise(both / words.list.n_unique())


def find_label_shortcuts(task: tasks.Task, frames: Frames, survey: pl.DataFrame, split: str) -> list[FindingRows]:
    """The findings about shortcuts to the labels, clusters or scores of a split; none for tasks without labels.

    survey: what pipelines.audit.survey read of the split.
    """
    if not task.type.label:
        return []
    [layout] = task.type.layouts
    labels = read_column(frames["default"][split], task.type.label)
    lengths = [survey[f"length {column}"].cast(pl.Int64) for column in layout.text]
    if len(lengths) == 1:
        return _find_labels(lengths[0], row_labels(task, labels), ("default", split, layout.text[0]))
    findings = []
    for rule, numbers in zip(PAIR_RULES, (*lengths, (lengths[0] - lengths[1]).abs(), survey[OVERLAP]), strict=True):
        rows = pl.DataFrame({"group": 0, "number": numbers, "label": labels}).drop_nulls()
        location = ("default", split, rule.column)
        match task:
            case tasks.PairClassification(names=(_, name)):
                findings += _find_label_of_pairs(rule, rows.with_columns(pl.col("label") == 1), name, location)
            case _:
                findings += _find_order_of_scores(rule, rows, location)
    return findings


def find_candidate_shortcuts(frames: Frames, split: str, corpus_survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about shortcuts to the relevant candidates of the queries of a split.

    corpus_survey: what pipelines.audit.survey read of the corpus of the split.
    """
    candidates = list_candidates(frames, split)
    documents = corpus_survey.select(pl.col("length text").cast(pl.Int64).alias("length"))
    documents = documents.with_columns(read_column(frames["corpus"][split], "id").alias("corpus-id"))
    measured = (
        candidates.join(documents, on="corpus-id").rename({"length": "number"}),
        _cover_queries(candidates, frames, split),
        candidates.with_columns(pl.col("place").cast(pl.Int64).alias("number")),
    )
    findings = []
    for rule, rows in zip(LIST_RULES, measured, strict=True):
        numbers = rows.select(group="list", number="number", label="relevant")
        findings += _find_relevance(rule, numbers, ("top_ranked", split, rule.column))
    return findings


def _cover_queries(candidates: pl.DataFrame, frames: Frames, split: str) -> pl.DataFrame:
    """The candidates with the share of the words of their query that they have, `number`; of many, those of every nth query."""
    step = math.ceil(candidates.height / MAX_COMPARED)
    some = candidates.filter(pl.col("list") % max(step, 1) == 0)
    asked, listed = some.select("query-id").unique().lazy(), some.select("corpus-id").unique().lazy()
    queries = frames["queries"][split].select(pl.col("id").alias("query-id"), query=pl.col("text"))
    queries = queries.join(asked, on="query-id", how="semi").with_columns(fold_text(pl.col("query")))
    documents = frames["corpus"][split].select(pl.col("id").alias("corpus-id"), text=model_input("corpus", "text"))
    documents = documents.join(listed, on="corpus-id", how="semi").with_columns(fold_text(pl.col("text")))
    pairs = some.lazy().join(queries, on="query-id").collect(engine="streaming")
    covered = documents.join(pairs.lazy(), on="corpus-id").select(
        "list", "relevant", number=measure_coverage(pl.col("query"), pl.col("text"))
    )
    return covered.collect(engine="streaming")


def _find_labels(lengths: pl.Series, labels: pl.Series, location: Location) -> list[FindingRows]:
    """A finding for the labels that the lengths of their texts tell from all others, the best told label first."""
    measured = strength_of_labels(lengths, labels)
    enough = measured.filter(pl.col("rows") >= MIN_LABEL_ROWS, pl.col("others") >= MIN_LABEL_ROWS)
    told = [
        (label, strength)
        for label, strength, error in enough.select("label", "strength", "error").iter_rows()
        if TEXT_LENGTH.is_telling(strength, error)
    ]
    if not told:
        return []
    told.sort(key=lambda one: (-round(abs(one[1] - CHANCE), 9), one[0]))
    best, strength = told[0]
    detail = f"{best}: of two texts with and without it, {TEXT_LENGTH.describe_guess(strength, 'has it')}"
    examples = tuple(
        TEXT_LENGTH.describe_medians(label, lengths, labels.list.contains(label)) for label, _ in told[:EXAMPLES]
    )
    finding = Finding(TEXT_LENGTH.kind, "info", *location, len(told), len(told) / measured.height, examples, detail)
    return [without_rows(finding)]


def _find_label_of_pairs(rule: Rule, rows: pl.DataFrame, name: str, location: Location) -> list[FindingRows]:
    """A finding if a number tells the label of pairs. rows: group, number, label (Boolean). name: that of the label."""
    strength, error, _ = strength_within_groups(rows)
    enough = MIN_LABEL_ROWS <= rows["label"].sum() <= rows.height - MIN_LABEL_ROWS
    if not enough or not rule.is_telling(strength, error):
        return []
    detail = f"of two pairs with different labels, {rule.describe_guess(strength, f'has the label {name}')}"
    return _of_table(rule, location, rows.height, rule.describe_medians(name, rows["number"], rows["label"]), detail)


def _find_order_of_scores(rule: Rule, rows: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if the scores of pairs rise or fall with a number. rows: number, label (the score)."""
    numbers, scores = rows["number"], rows["label"]
    correlation = rank_correlation(numbers, scores)
    error = CHANCE / math.sqrt(max(rows.height - 1, 1))
    if rows.height < MIN_LABEL_ROWS or not rule.is_telling((1 + correlation) / 2, error):
        return []
    rise, end = ("rise", "1 the same") if correlation > 0 else ("fall", "-1 the reverse")
    detail = f"scores {rise} with {rule.name}: Spearman {correlation:.2f}, where 0 is chance and {end} order"
    groups = number_groups(scores)
    lowest = groups[int(scores.arg_sort()[0])]
    example = rule.describe_medians(f"scores of {lowest}", numbers, groups == lowest)
    return _of_table(rule, location, rows.height, example, detail)


def _find_relevance(rule: Rule, rows: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if a number tells the relevant candidates of queries. rows: group (the list), number, label (Boolean)."""
    strength, error, queries = strength_within_groups(rows)
    if queries < MIN_LABEL_ROWS or not rule.is_telling(strength, error):
        return []
    guess = rule.describe_guess(strength, "is the relevant one")
    detail = f"of two candidates of a query, {guess}; {queries:,} queries"
    example = rule.describe_medians("relevant", rows["number"], rows["label"])
    return _of_table(rule, location, queries, example, detail)


def _of_table(rule: Rule, location: Location, count: int, example: str, detail: str) -> list[FindingRows]:
    """A finding about all rows of a table, or all its queries."""
    severity: Severity = KINDS[rule.kind].severity
    return [without_rows(Finding(rule.kind, severity, *location, count, 1.0, (example,), detail))]
