"""Findings about shortcuts: a length, shared words, a position or another column that tells the label, although nobody meant it.

A model can use a shortcut in place of what the task asks for, so that a score says less. It never sees another column, but such a
column shows that texts with different labels differ in more than their label. An example is the origin of a text: a model that
recognises the style of a newspaper then also knows that a text expresses no emotion.

The strength of a guess: of two rows, one with the label and one without, how often does the row with the label have the higher
number, where equal numbers count half? 0.5 is chance, 1 is always, 0 is never. It is the area under the ROC curve (AUC), and
U / mn of Mann and Whitney. It is computed from exact sums, so it does not depend on the order of the rows. Each strength comes
with its standard error if number and label are unrelated, corrected for equal numbers. Candidates are compared within each query,
and every query counts the same; scores (STS) by Spearman's rank correlation, the main score of that task.

Not looked for: shortcuts in retrieval, where a document that nobody judged is not irrelevant, and relevant articles may well be
longer; and in bitext, where every text has its translation.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from builders import tasks
from builders.shaping.folding import fold_text_1
from cards.kinds import (
    BOILERPLATE_WORDS,
    MAX_COMPARED,
    MIN_ASSOCIATION,
    MIN_LABEL_ROWS,
    MIN_OVERLAP_STRENGTH,
    MIN_POSITION_STRENGTH,
    MIN_STRENGTH,
    NUMBER_GROUPS,
    SHARES,
    STANDARD_ERRORS,
    STRONG,
)
from pipelines.audit.findings import EXAMPLES, FindingRows, summary_finding
from pipelines.audit.tables import Frames, Location, list_candidates, model_input, read_column

NO_LABEL = "no label"
SHOWN_VALUES, SHOWN_CHARACTERS = 3, 40  # of a column, in an example

# Names of columns that hold the label again, in words or as a number: no reader takes them for anything else.
OF_LABEL = re.compile(r"label|class|target|categor|rating|stars|score|sentiment|emotion|intent|topic", re.IGNORECASE)
ID_COLUMNS = ("id", "_id")  # the second in data that has no unique ids
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
        usual = MIN_POSITION_STRENGTH if self.kind == "label_by_position" else MIN_STRENGTH
        least, distance = MIN_OVERLAP_STRENGTH if natural else usual, abs(strength - CHANCE)
        return distance >= least - CHANCE and distance >= STANDARD_ERRORS * error

    def finding(self, location: Location, count: int, medians: list[str], detail: str, strength: float) -> FindingRows:
        """The finding of a telling guess. A place that always tells, and texts that share less if they are more alike, are a
        warning: no task means either.
        """
        is_inverted = self.kind == "label_by_overlap" and strength < CHANCE
        strong = is_inverted or (self.kind == "label_by_position" and max(strength, 1 - strength) >= STRONG)
        detail += "; perhaps the scale or the labels are inverted" * is_inverted
        return summary_finding(self.kind, location, count, 1.0, medians, detail=detail, strong=strong)

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


def find_leaking_columns(task: tasks.Task, frames: Frames, split: str) -> list[FindingRows]:
    """A finding for each column of a split that tells at least one label. task: one with labels."""
    [layout], frame = task.type.layouts, frames["default"][split]
    columns = [column for column in frame.collect_schema() if column not in layout.columns]
    if not columns:
        return []
    rows = frame.select(task.type.label, *columns).collect(engine="streaming")
    labels = row_labels(task, rows[task.type.label])
    findings = []
    for column in columns:
        values = _values(rows[column], is_id=column in ID_COLUMNS)
        if 1 < values.n_unique() < len(values):
            findings += _find_leaked_labels(values, labels, ("default", split, column))
    return findings


def _values(column: pl.Series, *, is_id: bool) -> pl.Series:
    """The values of a column as strings: lists joined, numbers in groups; ids without their numbers, or these if no more is left.

    Ids in ascending order say no more than the order of the rows, which is `label_sorted`.
    """
    if isinstance(column.dtype, pl.List):
        return column.cast(pl.List(pl.String)).list.join(", ")
    if is_id:
        words = column.cast(pl.String).str.replace_all("[0-9]+", "")
        numbers = column.cast(pl.String).str.extract("([0-9]+)").cast(pl.Int64, strict=False)
        column = numbers if words.n_unique() == 1 and not numbers.is_sorted() else words
    return number_groups(column) if column.dtype.is_numeric() else column.cast(pl.String)


def _find_leaked_labels(values: pl.Series, labels: pl.Series, location: tuple[str, str, str]) -> list[FindingRows]:
    """A finding for the labels that the values tell from all others, the label that leaks most first.

    Each label is compared with all others. The chi-squared statistic of the table of values and of having the label is
    (sum of n(value, label)^2 / n(value) - n p^2) / (p (1 - p)), where p is the share of rows with the label. Cramér's V with the
    correction of Bergsma (2013) is 0 on average for a column without any relation to the labels, also if it has many values.
    """
    n = len(values)
    rows = pl.DataFrame({"value": values, "label": labels})
    counts = rows.explode("label").drop_nulls().group_by("value", "label").agg(both=pl.len().cast(pl.Float64))
    counts = counts.join(rows.group_by("value").agg(rows=pl.len().cast(pl.Float64)), on="value")
    by_label = counts.group_by("label").agg(
        with_label=pl.col("both").sum(),
        squares=(pl.col("both") ** 2 / pl.col("rows")).sum(),
        gained=(2 * pl.col("both") - pl.col("rows")).clip(0).sum(),
    )
    degrees = values.n_unique() - 1
    part = pl.col("with_label") / n
    phi = (pl.col("squares") / n - part**2) / (part * (1 - part))
    corrected = (phi - degrees / (n - 1)).clip(0)
    smaller = min(degrees - degrees**2 / (n - 1), 1 - 1 / (n - 1))
    leaked = by_label.filter(pl.col("with_label").is_between(MIN_LABEL_ROWS, n - MIN_LABEL_ROWS)).with_columns(
        association=(corrected / smaller).sqrt(),
        without=pl.max_horizontal(part, 1 - part),
        guessed=1 - part + pl.col("gained") / n,
        chance=phi * n <= degrees + 3 * math.sqrt(2 * degrees),
    )
    leaked = leaked.filter(pl.col("association") >= MIN_ASSOCIATION, ~pl.col("chance"))
    # Rounded, because the two labels of a pair are tied.
    leaked = leaked.sort(pl.col("association").round(9), "label", descending=[True, False])
    if leaked.is_empty():
        return []
    best = leaked.row(0, named=True)
    detail = (
        f"{best['label']}: guessed right for {best['guessed']:.0%} of the rows from this column, for {best['without']:.0%}"
        f" without it; Cramér's V {best['association']:.2f}"
    )
    examples = [_describe_label(label, counts) for label in leaked["label"].head(EXAMPLES)]
    share = len(leaked) / by_label.height
    strong = best["association"] >= STRONG and location[2] not in ID_COLUMNS and not OF_LABEL.search(location[2])
    return [
        summary_finding("label_leaking_column", location, len(leaked), share, examples, detail=detail, strong=strong)
    ]


def _describe_label(label: str, counts: pl.DataFrame) -> str:
    """The share of a label in the values with the most rows too many or too few: `anger: 40% of forum, 2% of news`."""
    having = counts.filter(pl.col("label") == label).select("value", "both")
    values = counts.select("value", "rows").unique().join(having, on="value", how="left").fill_null(0)
    expected = pl.col("rows") * values["both"].sum() / values["rows"].sum()
    telling = values.with_columns(excess=(pl.col("both") - expected).abs().round(9))
    telling = telling.sort("excess", "value", descending=[True, False]).head(SHOWN_VALUES)
    telling = telling.with_columns(share=pl.col("both") / pl.col("rows")).sort(
        ["share", "value"], descending=[True, False]
    )
    shares = [
        f"{share:.0%} of {value[:SHOWN_CHARACTERS] or 'the empty value'}"
        for value, share in telling.select("value", "share").iter_rows()
    ]
    return f"{label}: {', '.join(shares)}"


def find_label_shortcuts(task: tasks.Task, frames: Frames, survey: pl.DataFrame, split: str) -> list[FindingRows]:
    """The findings about shortcuts to the labels, clusters or scores of a split.

    task: one with labels. survey: what pipelines.audit.survey read of the split.
    """
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
    told.sort(key=lambda guess: (-round(abs(guess[1] - CHANCE), 9), guess[0]))
    best, strength = told[0]
    detail = f"{best}: of two texts with and without it, {TEXT_LENGTH.describe_guess(strength, 'has it')}"
    examples = [
        TEXT_LENGTH.describe_medians(label, lengths, labels.list.contains(label)) for label, _ in told[:EXAMPLES]
    ]
    share = len(told) / measured.height
    return [summary_finding(TEXT_LENGTH.kind, location, len(told), share, examples, detail=detail, severity="info")]


def _find_label_of_pairs(rule: Rule, rows: pl.DataFrame, name: str, location: Location) -> list[FindingRows]:
    """A finding if a number tells the label of pairs. rows: group, number, label (Boolean). name: that of the label."""
    strength, error, _ = strength_within_groups(rows)
    enough = MIN_LABEL_ROWS <= rows["label"].sum() <= rows.height - MIN_LABEL_ROWS
    if not enough or not rule.is_telling(strength, error):
        return []
    detail = f"of two pairs with different labels, {rule.describe_guess(strength, f'has the label {name}')}"
    medians = rule.describe_medians(name, rows["number"], rows["label"])
    return [rule.finding(location, rows.height, [medians], detail, strength)]


def _find_order_of_scores(rule: Rule, rows: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if the scores of pairs rise or fall with a number. rows: number, label (the score)."""
    numbers, scores = rows["number"], rows["label"]
    correlation = rank_correlation(numbers, scores)
    strength = (1 + correlation) / 2
    error = CHANCE / math.sqrt(max(rows.height - 1, 1))
    if rows.height < MIN_LABEL_ROWS or not rule.is_telling(strength, error):
        return []
    rise, end = ("rise", "1 the same") if correlation > 0 else ("fall", "-1 the reverse")
    detail = f"scores {rise} with {rule.name}: Spearman {correlation:.2f}, where 0 is chance and {end} order"
    groups = number_groups(scores)
    lowest = groups[int(scores.arg_sort()[0])]
    medians = rule.describe_medians(f"scores of {lowest}", numbers, groups == lowest)
    return [rule.finding(location, rows.height, [medians], detail, strength)]


WORD, PHRASE = "the word", "the words"
_SIGN = (
    r"[\p{P}\p{Sm}\p{Cf}\x{FE0F}--[?!()#@%&]]"  # smileys, exclamations, questions, hashtags and shares say something
)
LETTERS = {"digits": r"\p{N}", "capital letters": r"\p{Lu}", "small letters": r"\p{Ll}", "Latin letters": r"\p{Latin}"}
# What a text is written with, by name: a list of strings.
MARKS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    WORD: lambda text: (
        text.str.to_lowercase()
        .str.replace_all(r"""[\s.,!?;:()\[\]"«»“”„…—]+""", " ")
        .str.strip_chars(" ")
        .str.split(" ")
    ),
    PHRASE: lambda text: text.str.split(" ").list.eval(
        pl.concat_str([pl.element().shift(-step) for step in range(BOILERPLATE_WORDS)], separator=" ")
    ),
    "the first word": lambda text: text.str.extract_all(r"\A\S*[^\s\p{L}\p{M}]\S*"),
    "the first character": lambda text: text.str.extract_all(r"\A[^\p{L}\p{M}\p{N}]"),
    "the last character": lambda text: text.str.extract_all(rf"(?:{_SIGN}|\s)\z"),
    "the character": lambda text: text.str.extract_all(rf"{_SIGN}|\n|\s\s|\s[.,;:]"),
    "some": lambda text: pl.concat_list(
        pl.when(text.str.contains(pattern)).then(pl.lit(name)) for name, pattern in LETTERS.items()
    ),
}
SLACK, MIN_MARKED = 0.1, 5  # by which shares may be smaller in the rows that propose; texts with a mark, of these


def find_telling_marks(
    texts: pl.LazyFrame, part: pl.DataFrame, labels: pl.Series, location: Location
) -> list[FindingRows]:
    """A finding for the labels that a word, a character or the like tells, the best told first.

    texts: `position` and `text`. part: the same of the rows that propose, with `labels`. labels: the names of the labels of all
    rows, as lists.
    """
    if len(labels) < 2 * MIN_LABEL_ROWS:
        return []
    told = _measure_marks(part.lazy(), part, SLACK)
    if not told.is_empty():
        values = dict(told.group_by("mark").agg(pl.col("value").unique()).iter_rows())
        told = _measure_marks(texts, labels.alias("labels").to_frame().with_row_index("position"), values=values)
    told = told.filter(pl.col("size").is_between(MIN_LABEL_ROWS, len(labels) - MIN_LABEL_ROWS))
    told = told.sort(pl.col("difference").round(9), "label", "mark", "value", descending=[True, False, False, False])
    told = told.unique("label", keep="first", maintain_order=True).select("label", "mark", "value", "inside", "outside")
    examples = ["{}: {} {!r} in {:.0%} of its texts, in {:.0%} of all others".format(*row) for row in told.iter_rows()]
    if not examples:
        return []
    strength, share = (1 + abs(told["inside"][0] - told["outside"][0])) / 2, len(told) / labels.explode().n_unique()
    detail, strong = f"{examples[0]} (AUC {strength:.3f})", strength >= STRONG
    return [summary_finding("label_by_token", location, len(told), share, examples, detail=detail, strong=strong)]


def _measure_marks(
    texts: pl.LazyFrame, labels: pl.DataFrame, slack: float = 0.0, values: Mapping[str, list[str]] | None = None
) -> pl.DataFrame:
    """The marks that tell a label: mark, value, label, size (rows with the label), inside and outside (the shares of the texts
    with the label, and of all others, that have the mark) and difference (of the two).

    labels: `position` and `labels`, lists. values: those of the marks to measure; by default all of all marks.
    """
    n, of_labels = labels.height, labels.select("position", label="labels").explode("label")
    marks = {name: MARKS[name](pl.col("text")).list for name in values or MARKS}
    wanted = {name: mark.set_intersection(values[name]) if values else mark.unique() for name, mark in marks.items()}
    marked = pl.concat(texts.select("position", mark=pl.lit(name), value=value) for name, value in wanted.items())
    found = marked.explode("value").drop_nulls().collect(engine="streaming")
    totals = found.group_by("mark", "value").agg(total=pl.len()).filter(pl.col("total") >= MIN_MARKED)
    both = found.join(of_labels, on="position").group_by("mark", "value", "label").agg(both=pl.len())
    told = totals.join(of_labels.group_by("label").agg(size=pl.len()), how="cross")
    told = told.join(both, on=["mark", "value", "label"], how="left").with_columns(pl.col("both").fill_null(0))
    others = (pl.col("total") - pl.col("both")) / (n - pl.col("size"))
    told = told.with_columns(inside=pl.col("both") / pl.col("size"), outside=others)
    told = told.with_columns(difference=(pl.col("inside") - pl.col("outside")).abs())
    is_form, is_large = pl.col("mark") != "the word", pl.col("size") >= SHARES["told label"] * n
    is_rare = pl.min_horizontal("inside", "outside") <= SHARES["word elsewhere"] + slack / 5
    is_strict = is_rare & (pl.max_horizontal("inside", "outside") >= SHARES["word"] - slack)
    is_telling = (is_large & is_form) | (is_strict & (is_large | is_form))
    is_telling &= pl.col("difference") >= 2 * MIN_STRENGTH - 1 - slack
    is_phrase = (pl.col("mark") == PHRASE) & (pl.col("inside") >= SHARES["phrase"] * (1 - 2 * slack))
    is_phrase &= (50 * pl.col("outside") <= pl.col("inside")) & (pl.col("both") >= MIN_LABEL_ROWS * (1 - 8 * slack))
    return told.filter(is_telling | is_phrase)


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
    queries = queries.join(asked, on="query-id", how="semi").with_columns(fold_text_1(pl.col("query")))
    documents = frames["corpus"][split].select(pl.col("id").alias("corpus-id"), text=model_input("corpus", "text"))
    documents = documents.join(listed, on="corpus-id", how="semi").with_columns(fold_text_1(pl.col("text")))
    pairs = some.lazy().join(queries, on="query-id").collect(engine="streaming")
    covered = documents.join(pairs.lazy(), on="corpus-id").select(
        "list", "relevant", number=measure_coverage(pl.col("query"), pl.col("text"))
    )
    return covered.collect(engine="streaming")


def _find_relevance(rule: Rule, rows: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding if a number tells the relevant candidates of queries. rows: group (the list), number, label (Boolean)."""
    strength, error, queries = strength_within_groups(rows)
    if queries < MIN_LABEL_ROWS or not rule.is_telling(strength, error):
        return []
    guess = rule.describe_guess(strength, "is the relevant one")
    detail = f"of two candidates of a query, {guess}; {queries:,} queries"
    medians = rule.describe_medians("relevant", rows["number"], rows["label"])
    return [rule.finding(location, queries, [medians], detail, strength)]


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


def row_labels(task: tasks.Task, labels: pl.Series) -> pl.Series:
    """The names of the labels of each row, as a list: of the only label, of several labels, or of a group of scores."""
    names = pl.Series(tasks.label_names(task), dtype=pl.String)
    if isinstance(task, tasks.MultilabelClassification):
        name = pl.element().replace_strict(range(len(names)), names, default=None, return_dtype=pl.String)
        named = labels.list.eval(name)
        none = pl.Series([[NO_LABEL]], dtype=pl.List(pl.String))
        return pl.select(pl.when(named.list.len() == 0).then(none).otherwise(named))[:, 0]
    if len(names):
        labels = labels.replace_strict(range(len(names)), names, default=None, return_dtype=pl.String)
    return (number_groups(labels) if isinstance(task, tasks.STS) else labels).reshape((-1, 1)).arr.to_list()


def number_groups(numbers: pl.Series) -> pl.Series:
    """Numbers as the names of at most NUMBER_GROUPS groups of about equal size; one group for each number if there are few.

    Equal numbers are in one group, which is named after its lowest and its highest number.
    """
    if numbers.n_unique() <= NUMBER_GROUPS:
        return numbers.cast(pl.String)
    rank = (numbers.rank("min") - 1).cast(pl.Int64)
    groups = pl.DataFrame({"number": numbers, "group": rank * NUMBER_GROUPS // len(numbers)})
    ends = [pl.col("number").min().over("group"), pl.col("number").max().over("group")]
    return groups.select(name=pl.format("{} to {}", *ends))["name"]


def strength_of_labels(numbers: pl.Series, labels: pl.Series) -> pl.DataFrame:
    """The strength of a number for each label against all other rows.

    labels: of each row, a list. Columns: label (String), rows (with the label), others, strength, error. Rows without a number or
    labels do not count.
    """
    rows = pl.DataFrame({"number": numbers, "label": labels}).drop_nulls()
    n = rows.height
    ranked = rows.with_columns(rank=pl.col("number").rank("average")).explode("label").drop_nulls()
    by_label = ranked.group_by("label").agg(rows=pl.len().cast(pl.Float64), ranks=pl.col("rank").sum())
    by_label = by_label.with_columns(others=n - pl.col("rows")).filter(pl.col("others") > 0).sort("label")
    count, product = pl.col("rows"), pl.col("rows") * pl.col("others")
    equal = rows["number"].value_counts()["count"].cast(pl.Float64)
    spread = n + 1 - float((equal**3 - equal).sum()) / (n * max(n - 1, 1))
    return by_label.select(
        "label",
        pl.col("rows", "others").cast(pl.Int64),
        strength=(pl.col("ranks") - count * (count + 1) / 2) / product,
        error=(spread / (12 * product)).sqrt(),
    )


def strength_within_groups(rows: pl.DataFrame) -> tuple[float, float, int]:
    """The strength of a number within groups, on average over the groups with both kinds of rows; its error; and their number.

    rows: group, number (without nulls) and label (Boolean). With no such group, the strength is that of chance.
    """
    label, below = pl.col("label"), pl.col("without").cum_sum() - pl.col("without")
    levels = rows.group_by("group", "number").agg(
        have=label.sum().cast(pl.Int64), without=(~label).sum().cast(pl.Int64)
    )
    levels = levels.sort("group", "number").with_columns(below=below)
    equal = (pl.col("have") + pl.col("without")).cast(pl.Float64)
    groups = levels.group_by("group").agg(
        have=pl.col("have").sum(),
        without=pl.col("without").sum(),
        twice=(pl.col("have") * (2 * (pl.col("below") - pl.col("below").min()) + pl.col("without"))).sum(),
        ties=(equal**3 - equal).sum(),
    )
    groups = groups.filter(pl.col("have") > 0, pl.col("without") > 0)
    if groups.is_empty():
        return 0.5, math.inf, 0
    size, product = pl.col("have") + pl.col("without"), pl.col("have") * pl.col("without")
    by_group = groups.select(
        strength=pl.col("twice") / (2 * product),
        variance=(size + 1 - pl.col("ties") / (size * (size - 1))) / (12 * product),
    )
    n = by_group.height
    return math.fsum(by_group["strength"]) / n, math.sqrt(math.fsum(by_group["variance"])) / n, n


def rank_correlation(one: pl.Series, other: pl.Series) -> float:
    """Spearman's rank correlation of two columns without nulls; 0 if all values of one are equal."""
    first, second = (2 * column.rank("average") - len(column) - 1 for column in (one, other))  # whole numbers around 0
    ranks = pl.DataFrame({"first": first.cast(pl.Int128), "second": second.cast(pl.Int128)})
    both, squares, others = ranks.select(
        both=(pl.col("first") * pl.col("second")).sum(),
        squares=(pl.col("first") ** 2).sum(),
        others=(pl.col("second") ** 2).sum(),
    ).row(0)
    return both / math.sqrt(squares * others) if squares and others else 0.0
