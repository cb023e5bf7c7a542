"""Findings about what rows say of texts: labels, relevance judgements, and the positives and negatives of training data.

What a reader or a trainer cannot use is an integrity finding: unknown labels, dangling, repeated or negative judgements, training
rows without a query or positive, negatives of an unknown kind (`check_...`). Everything else is found by `audit_...`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import polars as pl

from builders import tasks
from builders.shaping.folding import fold_text_1, fold_texts
from cards.kinds import (
    FOLDED_DETAIL,
    FREQUENT_POSITIVE,
    LABEL_IMBALANCE_FACTOR,
    MEANING_DETAIL,
    MIN_FREQUENT,
    MIN_NEGATIVES,
    MIN_ORDER,
    MIN_ORDERED_ROWS,
    NEAR_SCORES,
)
from cards.manifest import Severity
from pipelines.audit.copies.containment import EQUAL, find_contained
from pipelines.audit.copies.duplicates import describe_parts
from pipelines.audit.findings import EXAMPLES, FindingRows, findings_for_each, findings_where, summary_finding
from pipelines.audit.shortcuts import number_groups
from pipelines.audit.statistics import count_labels
from pipelines.audit.survey import Surveys, texts_key
from pipelines.audit.tables import (
    Frames,
    Location,
    count_rows,
    duplicated,
    first_distinct,
    model_input,
    read_column,
    row_id,
)
from pipelines.audit.text_patterns import VISIBLE
from pipelines.audit.texts import TEXT_KINDS, TextForms, condition_column, examine_texts, mark_suspects

ANY_ORDER_DETAIL = "with the two texts in either order"


def audit_labels(task: tasks.Task, layout: tasks.Layout, frames: Frames, surveys: Surveys) -> list[FindingRows]:
    """The findings about the labels, scores or clusters of a table; none for a task that has none."""
    if not task.type.label:
        return []
    findings = []
    symmetric = isinstance(task, tasks.PairClassification | tasks.STS)
    keys = {"": texts_key(layout)}
    if symmetric:
        keys[ANY_ORDER_DETAIL] = texts_key(layout, ordered=False)
    keys[MEANING_DETAIL] = texts_key(layout, "meaning", ordered=not symmetric)
    near = (task.high - task.low) * NEAR_SCORES if isinstance(task, tasks.STS) else 0.0
    for split, survey in surveys.items():
        location = ("default", split, task.type.label)
        findings += find_conflicting_labels(survey, location, keys, near)
        if not isinstance(task, tasks.STS):
            findings += _find_label_imbalance(task, frames["default"][split], location)
    for earlier, later in combinations(surveys, 2):
        location = ("default", later, task.type.label)
        findings += _find_conflicts_between(surveys, (earlier, later), keys[MEANING_DETAIL], location, near)
    return findings


def find_conflicting_labels(
    rows: pl.DataFrame, location: Location, keys: dict[str, pl.Expr], near: float = 0.0
) -> list[FindingRows]:
    """The findings for the texts with two or more labels.

    rows: `position` and `label`. keys: what texts are compared by, from narrow to wide, each with the detail of its finding. A
    text that has two labels by a narrow key is not counted again by a wider one. near: the largest difference of scores that is
    called small, 0 for labels.
    """
    findings, conflicts = [], pl.lit(value=False)
    for detail, key in keys.items():
        rows = rows.with_columns(__key=key)
        several = pl.col("label").n_unique().over("__key") > 1
        is_new = several & ~conflicts.any().over("__key")
        groups = rows.with_columns(is_new=is_new, __other=pl.col("label") != pl.col("label").first().over("__key"))
        groups = groups.with_columns(twin=pl.when("__other").then("position").drop_nulls().first().over("__key"))
        spread = (pl.col("label").max() - pl.col("label").min()).over("__key") if near else pl.lit(0.0)
        texts = groups.with_columns(difference=spread).filter(pl.col("__key").is_first_distinct())
        differences = _describe_differences(texts.filter("is_new")["difference"], near)
        where = ", ".join(filter(None, (detail, differences)))
        findings += findings_where("conflicting_label", location, texts, pl.col("is_new"), detail=where)
        rows = rows.with_columns(__conflict=several | conflicts)
        conflicts = pl.col("__conflict")
    return findings


def _describe_differences(differences: pl.Series, near: float) -> str:
    """How many scores differ by `near` or less, and how many by more; empty for labels."""
    small = (differences <= near + 1e-9).sum()
    return f"scores differ by {near:g} or less in {small:,}, by more in {len(differences) - small:,}" if near else ""


def _find_conflicts_between(
    surveys: Surveys, splits: tuple[str, str], key: pl.Expr, location: Location, near: float
) -> list[FindingRows]:
    """A finding for the texts of the later split that have another label in the earlier one. near: as in the other search."""
    earlier, later = (surveys[split].with_columns(__key=key) for split in splits)
    labels = earlier.select("__key", twin="position", other="label").join(
        later.select("__key").unique(), on="__key", how="semi", maintain_order="left"
    )
    rows = later.join(labels, on="__key", how="left", maintain_order="left_right")
    rows = rows.with_columns(differs=pl.col("label") != pl.col("other"))
    rows = rows.sort("__key", pl.col("differs").fill_null(value=False), descending=[False, True], maintain_order=True)
    difference = (pl.col("label") - pl.col("other")).abs().max().over("__key") if near else pl.lit(0.0)
    rows = rows.with_columns(difference=difference)
    texts = rows.unique("__key", keep="first", maintain_order=True).sort("position")
    differences = _describe_differences(texts.filter("differs")["difference"], near)
    detail = ", ".join(filter(None, (f"in {splits[0]}", differences)))
    return findings_where("conflicting_label", location, texts, pl.col("differs"), detail=detail, twin_split=splits[0])


def _find_label_imbalance(task: tasks.Task, frame: pl.LazyFrame, location: Location) -> list[FindingRows]:
    """A finding for the rare labels, including those that the task names and no row has.

    The labels that a classifier is trained on are the exception: those without a row are left to audit.training_labels.
    """
    counts = {label: count for label, count in count_labels(frame, location[-1]).items() if label is not None}
    if names := tasks.label_names(task):
        counts = {name: counts.get(label, 0) for label, name in enumerate(names)}
    if location[1] == "train" and isinstance(task, tasks.Classification | tasks.MultilabelClassification):
        counts = {name: count for name, count in counts.items() if count}
    highest = max(counts.values(), default=0)
    rare = [f"{name}: {count}" for name, count in counts.items() if LABEL_IMBALANCE_FACTOR * count < highest]
    if not rare:
        return []
    detail = f"the most frequent label has {highest} rows"
    return [summary_finding("label_imbalance", location, len(rare), len(rare) / len(counts), rare, detail=detail)]


def find_sorted_labels(task: tasks.Task, survey: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding for a split whose rows are sorted by label, or in blocks of one label. task: one with labels.

    Training and scores do not depend on the order of rows, but the first rows of such a split do not represent it. In a random
    order, the sum of the squared shares of the labels is the share of rows with the label of the row before.
    """
    n = survey.height
    if n < MIN_ORDERED_ROWS:
        return []
    labels = number_groups(survey["label"]) if isinstance(task, tasks.STS) else survey["label"]
    expected = sum((count / n) ** 2 for count in labels.value_counts()["count"])
    count = int((labels == labels.shift(1)).sum())
    if expected == 1 or (count / n - expected) / (1 - expected) < MIN_ORDER:
        return []
    detail = f"{count / n:.0%} of the rows have the label of the row before, {expected:.0%} in a random order"
    return [summary_finding("label_sorted", location, count, count / n, detail=detail)]


MIN_TRAIN_ROWS = 8  # texts of each label that mteb trains its classifiers on


def check_training_labels(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], *, sample: bool = False
) -> list[FindingRows]:
    """The findings about the labels of a classification's train split; none without one, and none for other tasks.

    A label without any train row is never predicted: it is reported where it occurs, in the other splits, and as a rare label of
    train only if no split has it. sample: whether the rows are a sample, where both kinds are only info.
    """
    if not isinstance(task, tasks.Classification | tasks.MultilabelClassification) or "train" not in splits:
        return []
    tables = {split: frames["default"][split] for split in splits}
    counts = {split: count_labels(table, "label") for split, table in tables.items()}
    train = counts.pop("train")
    missing = [label for label in range(len(task.labels)) if label not in train]
    severity: Severity | None = "info" if sample else None
    labels = pl.concat_list("label")  # of a row: one, or the list that it has
    findings, elsewhere = [], set[int]()
    for split, by_label in counts.items():
        here = [label for label in missing if label in by_label]
        if not here:
            continue
        elsewhere |= set(here)
        detail = "; ".join(f"{task.labels[label]}: {by_label[label]:,}" for label in here)
        findings += findings_where(
            "label_without_training_rows",
            ("default", split, "label"),
            tables[split],
            labels.list.eval(pl.element().is_in(here)).list.any(),
            detail=detail,
            severity=severity,
        )
    rare = [
        f"{name}: {train.get(label, 0)}"
        for label, name in enumerate(task.labels)
        if train.get(label, 0) < MIN_TRAIN_ROWS and label not in elsewhere
    ]
    if rare:
        location, share = ("default", "train", "label"), len(rare) / len(task.labels)
        findings.append(summary_finding("few_rows_of_label", location, len(rare), share, rare, severity=severity))
    return findings


def audit_judgements(task: tasks.Task, frames: Frames, split: str, corpus_survey: pl.DataFrame) -> list[FindingRows]:
    """The findings about the relevance judgements of a split. corpus_survey: with `folded`, see with_folded_texts."""
    is_empty = pl.col(condition_column("empty_text", "", "text"))
    documents = corpus_survey.select("texts", "folded", is_empty=is_empty).with_columns(
        read_column(frames["corpus"][split], "id").alias("corpus-id")
    )
    judgements = frames["qrels"][split].select("query-id", "corpus-id", "score")
    qrels = judgements.with_row_index("position").collect(engine="streaming")
    qrels = qrels.join(documents, on="corpus-id", maintain_order="left")
    labelled = qrels.with_columns(label="score")
    location = ("qrels", split, "score")
    keys = {detail: pl.struct("query-id", text) for text, detail in (("texts", ""), ("folded", FOLDED_DETAIL))}
    findings = find_conflicting_labels(labelled, location, keys)
    if isinstance(task, tasks.Retrieval):
        findings += _find_unjudged_twins(qrels, documents, [], split)
    else:
        ranked = frames["top_ranked"][split].explode("corpus-ids").rename({"corpus-ids": "corpus-id"})
        candidates = ranked.collect(engine="streaming").join(documents, on="corpus-id", maintain_order="left")
        findings += _find_unjudged_twins(qrels, candidates, ["query-id"], split)
    findings += _find_queries_in_corpus(frames, split, documents, qrels)
    findings += _find_frequent_positives(
        qrels.filter(pl.col("score") > 0), int(first_distinct(documents["folded"]).sum()), split
    )
    return findings + _find_shared_ids(frames, split, documents["corpus-id"], qrels)


def with_folded_texts(corpus_survey: pl.DataFrame, near_duplicates: pl.DataFrame) -> pl.DataFrame:
    """The survey of a corpus with `folded`: for documents with the same folded text, the `texts` of the first of them.

    near_duplicates: those of the corpus, see pipelines.audit.copies.duplicates.
    """
    same, texts = near_duplicates.filter("is_same"), corpus_survey["texts"]
    firsts = pl.DataFrame({"texts": texts.gather(same["position"]), "folded": texts.gather(same["twin"])})
    survey = corpus_survey.join(firsts, on="texts", how="left", maintain_order="left")
    return survey.with_columns(pl.coalesce("folded", "texts").alias("folded"))


def _find_unjudged_twins(qrels: pl.DataFrame, pool: pl.DataFrame, by: list[str], split: str) -> list[FindingRows]:
    """A finding for the documents of a pool with the text of a positive of a query, after folding, not judged for that query.

    by: the query if every query has its own pool.
    """
    positives = qrels.filter(pl.col("score") > 0).height
    count, rows, examples = _list_twins(qrels, pool, [*by, "folded"])
    if not count:
        return []
    other = count - _list_twins(qrels, pool, [*by, "texts"])[0]
    detail = f"{other:,} of them only {FOLDED_DETAIL}" if other else ""
    share = count / (count + positives)
    found = summary_finding("unjudged_twin", ("qrels", split, ""), count, share, examples, detail=detail)
    return [replace(found, rows=rows)]


def _list_twins(qrels: pl.DataFrame, pool: pl.DataFrame, by: list[str]) -> tuple[int, pl.LazyFrame, list[str]]:
    """The number of unjudged twins, their rows, and the first EXAMPLES of these.

    by: the columns in which twins of the pool agree. Twins are counted by subtraction and never all listed: a text with a
    thousand copies may have a million. For a query whose positive has 4 copies in the pool, 1 of them judged, 3 are counted.
    """
    keys = pool[by[0]] if len(by) == 1 else pool.select(by).to_struct()
    pool = pool.filter(duplicated(keys) & ~pool["is_empty"])
    judged = qrels.join(pool, on=["corpus-id", *by], how="semi", maintain_order="left")
    texts = judged.group_by("query-id", by[-1], maintain_order=True).agg(
        positive=(pl.col("score") > 0).any(), judged=pl.len().cast(pl.Int64)
    )
    copies = pool.group_by(by).agg(copies=pl.len().cast(pl.Int64))
    texts = texts.filter("positive").join(copies, on=by, maintain_order="left")
    texts = texts.filter(pl.col("copies") > pl.col("judged"))
    name = row_id(["query-id", "corpus-id"])

    def list_twins(texts: pl.DataFrame) -> pl.DataFrame:
        twins = texts.join(pool, on=by, maintain_order="left_right")
        return twins.join(judged, on=["query-id", "corpus-id"], how="anti", maintain_order="left").select(row=name)

    examples = list_twins(texts.head(EXAMPLES)).head(EXAMPLES)["row"].to_list()
    rows = pl.defer(lambda: list_twins(texts), schema={"row": pl.String})
    return texts.select(pl.col("copies") - pl.col("judged")).sum().item(), rows, examples


def _find_queries_in_corpus(
    frames: Frames, split: str, documents: pl.DataFrame, qrels: pl.DataFrame
) -> list[FindingRows]:
    """A finding for the queries that equal a document, its text or its title, after folding; one for those inside a document."""
    corpus, queries, text = frames["corpus"][split], frames["queries"][split], pl.col("text")
    titled = corpus.filter(pl.col("title") != "")
    parts = [corpus.select(text=model_input("corpus", "text")), titled.select("text"), titled.select(text="title")]
    ids = read_column(queries, "id")
    others = pl.repeat(value=False, n=documents.height + 2 * count_rows(titled), eager=True)
    compared = [others, pl.repeat(value=True, n=len(ids), eager=True)]
    found = find_contained([parts, [queries.select("text")]], {"text": text}, compared)
    found = found.with_columns(ids.gather(found["row"].cast(pl.Int64) - len(others)).alias("query-id"))
    is_equal = pl.col("part") == EQUAL
    equal = found.filter(is_equal, pl.col("earlier") < documents.height)
    equal = equal.with_columns(documents["folded"].gather(equal["earlier"]))
    own = equal.join(qrels.filter(pl.col("score") > 0), on=["query-id", "folded"], how="semi").height
    inside, location = found.filter(~is_equal), ("queries", split, "text")
    is_in, is_inside = (pl.col("id").is_in(some["query-id"].implode()) for some in (found.filter(is_equal), inside))
    detail = f"{own:,} of them judged relevant to a document with their text" if own else ""
    findings = findings_where("query_in_corpus", location, queries, is_in, detail=detail)
    detail = f"in a document, {describe_parts(inside['part'])}"
    return findings + findings_where("contained_text", location, queries, is_inside, detail=detail, severity="info")


def _find_frequent_positives(positives: pl.DataFrame, texts: int, split: str) -> list[FindingRows]:
    """A finding for the judgements of documents that are relevant for many queries. texts: the number of different documents."""
    queries = positives["query-id"].n_unique()
    least = max(MIN_FREQUENT, FREQUENT_POSITIVE * queries, 10 * positives.height / texts if texts else 0)
    count = pl.col("query-id").n_unique().over("folded")
    frequent = positives.filter(count >= least)
    detail = f"one of them for {frequent.select(count).max().item() or 0:,} of {queries:,} queries"
    return findings_where("frequent_positive", ("qrels", split, "corpus-id"), positives, count >= least, detail=detail)


def _find_shared_ids(frames: Frames, split: str, documents: pl.Series, qrels: pl.DataFrame) -> list[FindingRows]:
    """A finding for the queries that have the id of a document; the detail counts those judged relevant to that document."""
    is_own = (pl.col("query-id") == pl.col("corpus-id")) & (pl.col("score") > 0)
    lost = qrels.filter(is_own).height
    detail = f"{lost:,} of them judged relevant to the document with their id" if lost else ""
    queries = frames["queries"][split]
    # The shorter list is the one that is hashed.
    shared = documents.filter(documents.is_in(read_column(queries, "id").implode()))
    is_shared = pl.col("id").is_in(shared.implode())
    return findings_where("shared_ids", ("queries", split, "id"), queries, is_shared, detail=detail)


def check_training_pairs(frame: pl.LazyFrame, config: str, split: str) -> list[FindingRows]:
    """Empty queries, rows without positives or with an empty one, negatives that do not fit their kinds."""
    query, positives, negatives, kinds = map(pl.col, ("query", "positives", "negatives", "negative_kinds"))
    has_empty = positives.list.eval(~pl.element().str.contains(VISIBLE)).list.any()
    is_unknown = kinds.list.eval(~pl.element().is_in(tasks.NEGATIVE_KINDS)).list.any()
    conditions = [
        ("empty_query", (config, split, "query"), ~query.str.contains(VISIBLE)),
        ("query_without_positive", (config, split, "positives"), positives.list.len() == 0),
        ("empty_positive", (config, split, "positives"), has_empty),
        ("negatives_without_kinds", (config, split, "negative_kinds"), negatives.list.len() != kinds.list.len()),
        ("unknown_negative_kind", (config, split, "negative_kinds"), is_unknown),
    ]
    return findings_for_each(frame, conditions)


BATCH_ROWS = 10_000  # rows whose texts are in memory at once
LISTS = ("positives", "negatives")


def audit_training_pairs(frame: pl.LazyFrame, config: str, split: str) -> list[FindingRows]:
    """The findings about the rows of a table of training data that compare their texts, and about their negatives.

    The findings about single texts (pipelines.audit.texts) are made of queries and first positives with the other tasks; here of
    the other positives and of the negatives, so that no text is left out. Rows are read in batches. A random negative recurs in
    many of them, so each distinct text is folded and examined once and then known by its hash.
    """
    lists = [column for column in (*LISTS, "mined") if column in frame.collect_schema().names()]
    count = pl.sum_horizontal(pl.col(column).list.len() for column in lists[1:]).alias("count")
    folded = pl.DataFrame(schema={"hash": pl.UInt64, "text": pl.UInt64})
    examined = pl.DataFrame(schema={"hash": pl.UInt64, **dict.fromkeys(TEXT_KINDS, pl.Boolean)})
    counts = [pl.DataFrame(schema={"position": pl.UInt32, "count": pl.UInt32})]
    matches: dict[str, dict[tuple[str, str], list[pl.Series]]] = {"": {}, FOLDED_DETAIL: {}}
    marks = {column: [pl.DataFrame(schema={"position": pl.UInt32, **examined.schema})] for column in LISTS}
    # Numbered and counted here: where polars computes anything for batches, it reads all of a table ahead of them.
    read = frame.select("query", *lists).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming")
    for part in read:
        batch = part.with_row_index("position", sum(rows.height for rows in counts))
        counts.append(batch.select("position", count))
        sides = {"query": batch.select("position", text="query")} | {
            column: _explode(batch, column) for column in LISTS
        }
        sides = {column: side.with_columns(hash=pl.col("text").hash()) for column, side in sides.items()}
        for side in sides.values():
            folded = _extend(folded, side, lambda texts: fold_texts(texts).hash().to_frame("text"))
        numbers = {column: side.select("position", "hash").join(folded, on="hash") for column, side in sides.items()}
        is_candidate = _is_in(pl.concat(_matching_rows(numbers).values()))  # the texts of these are compared
        exact = {column: side.filter(is_candidate) for column, side in sides.items()}
        alike = {column: side.with_columns(fold_text_1(pl.col("text"))) for column, side in exact.items()}
        for detail, texts in (("", exact), (FOLDED_DETAIL, alike)):
            for match, positions in _matching_rows(texts).items():
                matches[detail].setdefault(match, []).append(positions)
        sides["positives"] = sides["positives"].filter(pl.col("place") > 0)
        for column in LISTS:
            examined = _extend(examined, sides[column], _find_conditions)
            found = examined.filter(pl.any_horizontal(TEXT_KINDS))
            marks[column].append(sides[column].select("position", "hash").join(found, on="hash"))
    rows, findings = pl.concat(counts), []
    for (kind, column), parts in matches[""].items():
        location, is_exact = (config, split, column), _is_in(pl.concat(parts))
        findings += findings_where(kind, location, rows, is_exact)
        is_folded = _is_in(pl.concat(matches[FOLDED_DETAIL][kind, column])) & ~is_exact
        findings += findings_where(kind, location, rows, is_folded, detail=FOLDED_DETAIL)
    least, most = rows.select(least=pl.min("count"), most=pl.max("count")).row(0)
    detail = f"{least} in every row" if least == most else f"{least} to {most} in a row"
    location, is_short = (config, split, "negatives"), pl.col("count") < MIN_NEGATIVES
    findings += findings_where("too_few_negatives", location, rows, is_short, detail=detail)
    for column, detail in zip(LISTS, ("in a later positive", ""), strict=True):
        found = pl.concat(marks[column])
        for kind in TEXT_KINDS:
            is_marked = _is_in(found.filter(kind)["position"])
            findings += findings_where(kind, (config, split, column), rows, is_marked, detail=detail)
    return findings


def _explode(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The texts of a column of lists: position of the row, text, place in its list."""
    lists = rows.select("position", text=column).filter(pl.col("text").list.len() > 0)
    return lists.with_columns(place=pl.int_ranges(pl.col("text").list.len())).explode("text", "place")


def _extend(known: pl.DataFrame, texts: pl.DataFrame, measure: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """What is known of texts by their hash, with those that it lacks. measure: returns a row for each text."""
    new = texts.select("text", "hash").join(known, on="hash", how="anti").unique("hash")
    return known if new.is_empty() else pl.concat([known, new.select("hash").hstack(measure(new["text"]))])


def _matching_rows(sides: Mapping[str, pl.DataFrame]) -> dict[tuple[str, str], pl.Series]:
    """The positions of the rows with equal texts, by kind and column. sides: `position` and `text` of each column's texts."""

    def equal(some: str, others: str) -> pl.Series:
        return sides[some].join(sides[others], on=["position", "text"], how="semi")["position"].unique()

    is_repeated = ~pl.struct("position", "text").is_first_distinct()
    return {
        ("negative_is_positive", "negatives"): equal("negatives", "positives"),
        ("positive_is_query", "positives"): equal("positives", "query"),
        ("duplicate_negative", "negatives"): sides["negatives"].filter(is_repeated)["position"].unique(),
    }


def _find_conditions(texts: pl.Series) -> pl.DataFrame:
    """Whether each document of a column of lists has the findings about single texts: a column for each of TEXT_KINDS."""
    text, rows = pl.col("text"), texts.to_frame("text").with_row_index("position")
    survey = rows.with_columns(**examine_texts(TextForms(received=text, own=text, of_retrieval=True)))
    marked = mark_suspects(survey, rows.lazy())
    parts = {kind: [column for column in marked.columns if column.startswith(f"{kind} ")] for kind in TEXT_KINDS}
    return marked.select(pl.any_horizontal(columns).alias(kind) for kind, columns in parts.items())


def _is_in(positions: pl.Series) -> pl.Expr:
    return pl.col("position").is_in(positions.implode())
