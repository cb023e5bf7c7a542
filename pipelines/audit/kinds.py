"""Every kind of finding: how severe it is, what it means, what is counted. docs/findings.md is printed from here."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pipelines.audit.languages import LETTERS, SAMPLE
from pipelines.audit.near_duplicates import SHARED, TEN
from pipelines.audit.shingles import CHARACTERS, LONG, WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cards.manifest import Severity

MANY_TIMES = 10  # the median length that makes an outlier; the rows of the rarest label that make an imbalance

FOLDED = "in Unicode's form NFKC and lower case, every run of punctuation and white space one space"
NEARLY = (
    f"of the shingles of the two, {SHARED / TEN} or more are shingles of both (Jaccard similarity; of a pair, on either side), a"
    f" folded text of {LONG} words or more having its runs of {WORDS} words for shingles, a shorter one its runs of {CHARACTERS}"
    " characters; looked for by MinHash, which misses one in a million, and more where texts by the hundreds are half alike"
)


@dataclass(frozen=True)
class Kind:
    """What a kind of finding means.

    severity: `error`, `warning` or `info`, unless the definition tells an exception. definition: one sentence.
    counted: what a finding's count counts; its share is of all there are of these in the table, unless said otherwise.
    """

    severity: Severity
    definition: str
    counted: str = "rows"


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "missing_table": Kind("error", "A table of the task is not there for a split.", "tables"),
        "unexpected_table": Kind(
            "error", "There is a table that the task or the splits asked for do not have.", "tables"
        ),
        "missing_column": Kind("error", "A table lacks a column that its readers need.", "columns"),
        "unexpected_column": Kind("error", "A table whose columns are fixed has another one.", "columns"),
        "wrong_type": Kind("error", "A column's values are of another type than its readers expect.", "columns"),
        "empty_table": Kind("error", "A table has no rows.", "tables"),
        "null_text": Kind("error", "A text or a title is null."),
        "null_value": Kind("error", "A value that is no text is null, or a list holds a null."),
        "empty_id": Kind("error", "An id is the empty string."),
        "duplicate_id": Kind("error", "An id stands in an earlier row too.", "rows beyond the first of an id"),
        "dangling_qrel": Kind("error", "A judgement names a query or a document that does not exist.", "judgements"),
        "duplicate_judgement": Kind(
            "error", "A document is judged for the same query in an earlier row too.", "judgements beyond the first"
        ),
        "query_without_positive": Kind("error", "A query has no document judged relevant.", "queries"),
        "query_without_candidates": Kind("error", "A query has no list of candidates.", "queries"),
        "query_without_negative": Kind(
            "error", "All candidates of a query are judged relevant.", "lists of candidates"
        ),
        "positive_not_listed": Kind(
            "error", "A document judged relevant for a query is not among its candidates.", "judgements above zero"
        ),
        "dangling_candidate": Kind(
            "error", "A list of candidates belongs to no query, or names a document that does not exist.", "candidates"
        ),
        "duplicate_candidate": Kind("error", "A list of candidates names a document twice.", "lists of candidates"),
        "label_out_of_range": Kind("error", "A label is none of those that the task names."),
        "label_text_differs": Kind("error", "The name beside a label is not that label's name."),
        "label_unordered": Kind("error", "A row's labels do not ascend, or one of them stands twice."),
        "score_out_of_range": Kind("error", "A score is outside the task's scale, or a judgement is negative."),
        "one_class_only": Kind("error", "All rows have one label, so that nothing is to be told apart.", "tables"),
        "few_rows_of_label": Kind(
            "warning", "A label has fewer training rows than mteb draws (in a golden sample: info).", "labels"
        ),
        "split_leak": Kind(
            "warning",
            "A text (in pair tasks a pair, in retrieval a query) stands in an earlier split too: exactly, or, told apart by"
            f" the detail, only once both are folded: {FOLDED}.",
            "distinct texts of the later split",
        ),
        "near_leak": Kind(
            "warning",
            "A text (in pair tasks a pair, in retrieval a query) that is no `split_leak` is nearly the same as one of an"
            f" earlier split: {NEARLY}.",
            "distinct texts of the later split",
        ),
        "conflicting_label": Kind(
            "warning",
            "A text (or pair of texts; in retrieval, a query with a document's text) has two or more labels or scores"
            " within a split.",
            "distinct texts",
        ),
        "unjudged_twin": Kind(
            "warning",
            "A document (in reranking, a candidate) has the text of one that is judged relevant for a query, and is not"
            " itself judged for it.",
            "query and document, as a share of these and the judgements above zero together",
        ),
        "query_in_corpus": Kind(
            "warning",
            "A query is word for word a whole document or a document's title, surrounding white space aside.",
            "queries",
        ),
        "duplicate_pair": Kind(
            "warning",
            "A pair of texts, in this order, stands in an earlier row of its split too.",
            "rows beyond the first",
        ),
        "swapped_pair": Kind(
            "warning",
            "A pair stands the other way round in an earlier row of its split, or, told apart by the detail, in an earlier split"
            " (pair classification and STS).",
        ),
        "duplicate_text": Kind(
            "warning",
            "A text stands in an earlier row of its split too (info where texts recur by design: one side of a pair, the"
            " queries and candidates of reranking).",
            "rows beyond the first",
        ),
        "empty_text": Kind("warning", "A text is empty or nothing but white space."),
        "encoding_residue": Kind(
            "warning",
            "A text holds what a wrong decoding leaves: U+FFFD, a C1 control character (U+0080 to U+009F), or an escape"
            " such as `_x000D_`.",
        ),
        "html_residue": Kind("warning", "A text holds an HTML tag, an HTML comment or a character entity."),
        "wrong_language": Kind(
            "warning",
            f"A text of {LETTERS} letters or more is in none of the languages of its dataset (in bitext, not in that of its"
            f" side): two detectors name the same other one, asked about {SAMPLE:,} rows of each table, always the same"
            " (`check --audit-language all`: about every row).",
            f"texts of these rows with {LETTERS} letters or more",
        ),
        "short_text": Kind("info", "A text is a single character, white space around it aside."),
        "near_duplicate": Kind(
            "info",
            "A text (in tasks of pairs a pair) is nearly the same as an earlier one of its split, and not equal to it:"
            f" {NEARLY}.",
            "distinct texts",
        ),
        "length_outlier": Kind(
            "info", f"A text is longer than {MANY_TIMES} times the median of the texts of its split that are not empty."
        ),
        "label_imbalance": Kind(
            "info", f"A label has fewer than a {MANY_TIMES}th of the rows of its split's most frequent label.", "labels"
        ),
    }
)
