"""The texts that a card shows: telling rows, and of each finding its first row with the row that makes it a finding.

The first rows of a table may be rows that a finding is about, have one label, or be unusually short. A card shows up to ROWS
rows of a split, in turn from each of its groups: a label (for several labels, the most frequent ones), a fifth of the scale of
scores, or all rows. No row is shown that an error or a warning is about, unless all rows are such, nor one that any finding is
about or whose text occurs again in the table, unless all rows of its group are such: where each first text of a pair comes with
every label, all rows of one label repeat a text. No texts are shown twice. Within a group the first are rows with texts of about
the median length (for each, a difference of at most a quarter of it), and of these the first by the hash of their texts
(builders.shaping.sampling). In retrieval and reranking queries are chosen so; beside each the card shows its first relevant
document and, in reranking, the first candidate that is not relevant.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from builders import tasks
from builders.shaping.sampling import hash_order
from cards.evidence import Quote, Span
from cards.kinds import find_kind
from pipelines.audit.findings import FindingRows, read_rows
from pipelines.audit.tables import Frames, model_input, model_inputs
from pipelines.audit.texts import PATTERNS

SEED = "example"
ROWS = 5
MOST = 0.9  # the share of a finding whose rows may not be examples


def choose_examples(
    task: tasks.Task, frames: Frames, split: str, findings: Iterable[FindingRows]
) -> tuple[dict[str, Any], ...]:
    """Up to ROWS rows of a split, by column; in retrieval and reranking `query`, `relevant` and `not relevant`."""
    layouts = {layout.config: layout for layout in tasks.layouts(task)}
    first = "queries" if "queries" in layouts else next(iter(layouts))
    positions = [
        found.rows.select("position", severe=pl.lit(found.finding.severity != "info"))
        for found in findings
        if (found.finding.config, found.finding.split) == (first, split)
        and found.finding.share <= MOST  # what nearly all rows have is what an ordinary row looks like
        and "position" in found.rows.collect_schema()
    ]
    nothing = pl.LazyFrame(schema={"position": pl.UInt32, "severe": pl.Boolean})
    found = pl.concat([nothing, *positions]).unique().collect(engine="streaming")
    chosen = _telling_rows(task, layouts[first], frames[first][split], found)
    rows = frames[first][split].with_row_index("__row").filter(pl.col("__row").is_in(chosen)).drop("__row")
    examples = rows.collect(engine="streaming").to_dicts()
    return tuple(_around_queries(frames, split, examples) if first == "queries" else examples)


def _telling_rows(task: tasks.Task, layout: tasks.Layout, table: pl.LazyFrame, found: pl.DataFrame) -> list[int]:
    """The positions of the rows to show. found: position and severe, of the rows that findings are about."""
    severe = found.filter("severe")["position"].implode()
    texts = list(model_inputs(layout).values())
    joined = pl.concat_str(texts, separator="\n")
    rows = (
        table.with_row_index("__row")
        .select(
            "__row",
            found=pl.col("__row").is_in(found["position"].implode()),
            severe=pl.col("__row").is_in(severe),
            group=_group(task),
            # In batches, so that the texts are not kept.
            order=joined.map_batches(
                lambda batch: hash_order(batch, SEED), return_dtype=pl.UInt64, is_elementwise=True
            ),
            **{f"length {side}": text.str.len_chars().cast(pl.Float64) for side, text in enumerate(texts)},
        )
        .collect(engine="streaming")
    )
    lengths = [pl.col(f"length {side}") for side in range(len(texts))]
    rows = rows.with_columns(
        clean=~pl.col("found") & pl.col("order").is_unique(),
        near=pl.all_horizontal((length - length.median()).abs() <= length.median() / 4 for length in lengths),
    )
    rows = rows if rows["severe"].all() else rows.filter(~pl.col("severe"))
    # Of rows with the same texts one is shown. A row with several labels may be chosen for any of them.
    rows = rows.unique("order", keep="first", maintain_order=True).explode("group", empty_as_null=True)
    rows = rows.filter(pl.col("clean") | ~pl.col("clean").any().over("group"))
    sizes = rows.group_by("group").len("size").sort("size", "group", descending=[True, False], nulls_last=True)
    groups = sizes.head(ROWS).sort("group", nulls_last=True).with_row_index("turn").select("group", "turn")
    best = (
        rows.join(groups, on="group", nulls_equal=True)
        .sort("near", "order", "__row", "turn", descending=[True, False, False, False])
        .unique("__row", keep="first", maintain_order=True)
        .with_columns(place=pl.int_range(pl.len()).over("group"))
        .sort("place", "turn")
    )
    return sorted(best["__row"].head(ROWS).to_list())


def _group(task: tasks.Task) -> pl.Expr:
    """The groups of a row, as a list of texts: one in most tasks; none for a row without labels, which is a group too."""
    if isinstance(task, tasks.STS):
        fifth = ((pl.col("score") - task.low) / (task.high - task.low) * ROWS).floor().clip(0, ROWS - 1)
        return pl.concat_list(fifth.cast(pl.Int64).cast(pl.String))
    if isinstance(task, tasks.MultilabelClassification):
        return pl.col(task.type.label).cast(pl.List(pl.String))
    return pl.concat_list(pl.col(task.type.label).cast(pl.String) if task.type.label else pl.lit(""))


def _around_queries(frames: Frames, split: str, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The queries, each with its first relevant document and its first candidate that is not relevant.

    What a query does not have, as in a release of the first raw records, is left out.
    """
    ids = pl.col("query-id").is_in([query["id"] for query in queries])
    judged = frames["qrels"][split].filter(ids).collect(engine="streaming")
    judged = judged.filter(pl.col("score") > 0).sort("score", descending=True, maintain_order=True)
    relevant = {query: rows["corpus-id"].to_list() for (query,), rows in judged.group_by("query-id")}
    candidates: dict[str, list[str]] = {}
    if "top_ranked" in frames:
        listed = frames["top_ranked"][split].filter(ids).collect(engine="streaming")
        candidates = dict(zip(listed["query-id"], listed["corpus-ids"].to_list(), strict=True))
    wanted = {
        query["id"]: {
            "relevant": next(iter(relevant.get(query["id"], [])), None),
            "not relevant": next(
                (
                    document
                    for document in candidates.get(query["id"], [])
                    if document not in relevant.get(query["id"], [])
                ),
                None,
            ),
        }
        for query in queries
    }
    named = {document for documents in wanted.values() for document in documents.values() if document is not None}
    corpus = frames["corpus"][split].filter(pl.col("id").is_in(sorted(named)))
    found = corpus.select("id", text=model_input("corpus", "text")).collect(engine="streaming")
    texts = dict(found.iter_rows())
    return [
        {"query": query["text"]}
        | {kind: texts[document] for kind, document in wanted[query["id"]].items() if document in texts}
        for query in queries
    ]


RULE = "rule"  # the kind of finding that a user's rule makes
BETWEEN = " ↔ "  # the two texts of a pair
Place = tuple[str, str, int, str]  # config, split, position in the table, column; '' for all texts of the row
BEFORE = 30  # characters of a text before what a pattern finds
SPACE = "␣"  # white space around a text, which nobody would see
END = 60  # characters of a long text that ends with white space


def quote_findings(task: tasks.Task, frames: Frames, findings: Sequence[FindingRows]) -> tuple[Quote | None, ...]:
    """A quote for each finding, None where it is about no row with a text."""
    inputs = {layout.config: model_inputs(layout) for layout in tasks.layouts(task)}
    rows = [_first_row(found, inputs) for found in findings]
    wanted: dict[tuple[str, str], set[int]] = {}
    for places in rows:
        for config, split, position, _ in places:
            wanted.setdefault((config, split), set()).add(position)
    texts = {
        (config, split): {
            row[0]: dict(zip(inputs[config], row[1:], strict=True))
            for row in read_rows(
                frames[config][split].select(**inputs[config]), pl.Series(sorted(positions))
            ).iter_rows()
        }
        for (config, split), positions in wanted.items()
    }
    return tuple(_quote(found, places, texts) for found, places in zip(findings, rows, strict=True))


def _first_row(found: FindingRows, inputs: dict[str, dict[str, pl.Expr]]) -> list[Place]:
    """Where the first row of a finding is, and its twin, if it has texts."""
    finding = found.finding
    if (
        not find_kind(finding.kind).quoted
        or finding.kind == RULE
        or not inputs.get(finding.config)
        or "position" not in found.rows.collect_schema()
    ):
        return []
    head = found.rows.head(1).collect()
    if head.is_empty() or head["position"][0] is None:
        return []
    column = finding.column if finding.column in inputs[finding.config] else ""
    places: list[Place] = [(finding.config, finding.split, head["position"][0], column)]
    if "twin" in head.columns and head["twin"][0] is not None:
        places.append((finding.config, found.twin_split, head["twin"][0], column))
    return places


def _quote(
    found: FindingRows, places: list[Place], texts: dict[tuple[str, str], dict[int, dict[str, str]]]
) -> Quote | None:
    kind, column = found.finding.kind, found.finding.column
    rows = [texts[config, split][position] for config, split, position, _ in places]
    shown = [
        row[name] if name else BETWEEN.join(filter(None, row.values()))
        for row, (*_, name) in zip(rows, places, strict=True)
    ]
    if kind == RULE:  # about a column of the files, which may be none of the task
        position = found.rows.head(1).collect()["position"][0]
        value = found.tables[found.finding.split].select(column).slice(position, 1).collect()[column][0]
        shown = [BETWEEN.join(value) if isinstance(value, pl.Series) else str(value)]
    if not shown:
        return None
    if kind == "side_leak" and (side := next((text for text in rows[0].values() if text in rows[1].values()), None)):
        return Quote(side)
    if kind == "surrounding_whitespace":
        shown[0] = _with_visible_ends(shown[0])
    if mark := find_mark(found.pattern or PATTERNS.get(kind, ""), shown[0]):
        shown[0], mark = cut_before(shown[0], mark)
    note = describe_lookalikes(shown[0][slice(*mark)]) if mark and kind == "lookalike_word" else ""
    return Quote(shown[0], shown[1] if len(shown) > 1 else None, mark, note)


def describe_lookalikes(word: str) -> str:
    """The letters of the script that has fewer letters in a word of Latin and Cyrillic letters: `Latin C`."""
    letters = {script: re.findall(pattern, word) for script, pattern in SCRIPTS.items()}
    script = min(SCRIPTS, key=lambda script: len(letters[script]))
    return f"{script} {', '.join(dict.fromkeys(letters[script]))}"


SCRIPTS = {"Latin": "[A-Za-z\u00c0-\u024f]", "Cyrillic": "[\u0400-\u052f]"}


def find_mark(pattern: str, text: str) -> Span | None:
    """Where the first match of a pattern, which polars reads, is in a text; of letters alone, the whole word."""
    texts = pl.Series([text])
    found = texts.str.extract(pattern, 0)[0] if pattern else None
    if not found:
        return None
    start = len(text.encode()[: texts.str.find(pattern)[0]].decode())  # polars counts in bytes
    before, after = text[:start], text[start + len(found) :]
    if found.isalpha():
        before, after = WORD_END.sub("", before), WORD_START.sub("", after)
    return len(before), len(text) - len(after)


WORD_START, WORD_END = re.compile(r"^[^\W\d_]+"), re.compile(r"[^\W\d_]+$")


def _with_visible_ends(text: str) -> str:
    """A text with marks for the white space around it; only the end of a text that is long and begins without."""
    inner = text.strip()
    before, after = (SPACE if text[end].isspace() else "" for end in (0, -1))
    if not before and len(inner) > END:
        inner = f"…{inner[-END:]}"
    return f"{before}{inner}{after}"


def cut_before(text: str, mark: Span) -> tuple[str, Span]:
    """A text from a little before a mark, and the mark in it."""
    skipped = mark[0] - BEFORE
    return (text, mark) if skipped <= 0 else (f"…{text[skipped:]}", (mark[0] - skipped + 1, mark[1] - skipped + 1))
