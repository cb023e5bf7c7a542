"""Every kind of finding: its severity, what it means, what is counted: python -m pipelines.audit.kinds > docs/findings.md"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cards.front_matter import MIN_LETTERS
from cards.manifest import SEVERITIES, Severity
from pipelines.audit.languages import LARGE_TABLE, SAMPLE
from pipelines.audit.near_duplicates import MIN_SHARED_PERCENT
from pipelines.audit.shingles import LONG_TEXT_WORDS, SHINGLE_CHARACTERS, SHINGLE_WORDS
from pipelines.audit.text_patterns import MIN_CHARACTERS


@dataclass(frozen=True)
class Kind:
    """What a kind of finding means.

    severity: `error`, `warning` or `info`, with any exception in the definition. definition: one sentence. counted: what the
    count of a finding counts; its share is of all of these in the table, unless said otherwise.
    """

    severity: Severity
    definition: str
    counted: str = "rows"


MIN_NEGATIVES = 7  # of a query: as many as ru-en-RoSBERTa was trained with

TRAINING_KINDS = {
    "empty_query": Kind("error", "A query of training data is empty or only white space."),
    "empty_positive": Kind("error", "A positive of training data is empty or only white space."),
    "negatives_without_kinds": Kind("error", "A row of training data does not have one kind for each negative."),
    "unknown_negative_kind": Kind("error", "The kind of a negative is neither `provided` nor `random`."),
    "negative_is_positive": Kind(
        "warning",
        "A negative of training data equals a positive of its row, exactly or, if the detail says so, only after folding: a"
        " model is asked to move a text away from itself.",
    ),
    "positive_is_query": Kind(
        "warning",
        "A positive of training data equals its query, exactly or, if the detail says so, only after folding: there is"
        " nothing to learn from the pair.",
    ),
    "duplicate_negative": Kind(
        "warning",
        "A row of training data has the same negative twice, exactly or, if the detail says so, only after folding.",
    ),
    "query_in_benchmark_test": Kind(
        "warning",
        "A query, or another text of training data, is also a text of a benchmark's test data, as the contamination index of"
        " the source says; the detail says which kinds of matches were looked up.",
    ),
    "too_few_negatives": Kind(
        "info",
        f"A row of training data has fewer than {MIN_NEGATIVES} negatives, those of the column `mined` included.",
    ),
    "number_text": Kind("info", "A text of training data is only a number: `1984`, `3,5`, `50 %`."),
}


LENGTH_OUTLIER_FACTOR = 10  # between the median length and that of an outlier
# Cramér's V of a label and a column that tells it: a large effect (Cohen, 1988). Annotations and sources in real datasets have
# 0.52 to 0.98, numbers of articles and conversations up to 0.48, all other columns below 0.4.
MIN_ASSOCIATION = 0.5
MIN_LABEL_ROWS = 30  # of a label, and of all others, to be compared with the values of a column
NUMBER_GROUPS = 10  # into which numbers are divided, to be compared like names
MIN_ORDER = 0.4  # from 0 in a random order to 1 with one block for each label; real splits are below 0.2 or above 0.45
MIN_ORDERED_ROWS = 100  # of a split whose order is examined
# Of two rows with different labels, the share in which one number of each (a length, a place in a list) guesses right which is
# which. Lengths in real datasets: up to 0.58 in pairs, 0.72 for a label of texts (CEDR: texts without an emotion are longer) and
# 0.70 in preferences, where people like the longer answer; 0.91 in DIPPER 1.0.0, whose negatives were chosen by length.
MIN_STRENGTH = 0.75
# The same for shared words, if texts with more of them are the same or relevant: that is part of the task. Paraphrases and
# similarities have up to 0.82 (a rank correlation of 0.63), DIPPER 0.91.
MIN_OVERLAP_STRENGTH = 0.85
STANDARD_ERRORS = 3  # from chance, for a guess to be more than that
MAX_COMPARED = 20_000  # candidates whose words are compared with those of their query
LABEL_IMBALANCE_FACTOR = 10  # between the rows of the most frequent label and those of a rare one

FOLDING = "Unicode NFKC, lower case, every run of punctuation and white space one space"
NEAR = (
    f"the folded texts share at least {MIN_SHARED_PERCENT} % of their shingles (Jaccard similarity; of a pair, on both sides),"
    f" which are all runs of {SHINGLE_WORDS} words if both have {LONG_TEXT_WORDS} words or more, else all runs of"
    f" {SHINGLE_CHARACTERS} characters; MinHash proposes the texts to compare and misses fewer than one pair in 10,000"
)


_KINDS = {
    "missing_table": Kind("error", "A table of the task is missing for a split.", "tables"),
    "unexpected_table": Kind("error", "A table is not one of the task's, or its split was not requested.", "tables"),
    "missing_column": Kind("error", "A table lacks a column that its readers need.", "columns"),
    "unexpected_column": Kind("error", "A table with fixed columns has another one.", "columns"),
    "wrong_type": Kind("error", "The type of a column is not the one that its readers expect.", "columns"),
    "empty_table": Kind("error", "A table has no rows.", "tables"),
    "null_text": Kind("error", "A text or a title is null."),
    "null_value": Kind("error", "A value other than a text is null, or a list contains a null."),
    "empty_id": Kind("error", "An id is the empty string."),
    "duplicate_id": Kind("error", "An id also occurs in an earlier row.", "rows after the first with an id"),
    "dangling_qrel": Kind(
        "error", "A relevance judgement names a query or a document that does not exist.", "judgements"
    ),
    "duplicate_judgement": Kind(
        "error", "An earlier row also judges the same document for the same query.", "judgements after the first"
    ),
    "query_without_positive": Kind(
        "error", "A query has no document judged relevant; a row of training data has no positives.", "queries"
    ),
    "query_without_candidates": Kind("error", "A query has no list of candidates.", "queries"),
    "query_without_negative": Kind("error", "All candidates of a query are judged relevant.", "candidate lists"),
    "positive_not_listed": Kind(
        "error", "A document judged relevant for a query is not among its candidates.", "judgements above zero"
    ),
    "dangling_candidate": Kind(
        "error",
        "A candidate list belongs to no query, or contains a document that does not exist.",
        "candidate lists or candidates",
    ),
    "duplicate_candidate": Kind("error", "A candidate list contains a document twice.", "candidate lists"),
    "label_out_of_range": Kind("error", "A label is not one of the task's labels."),
    "label_text_differs": Kind("error", "The label name of a row is not the name of its label."),
    "label_unordered": Kind("error", "The labels of a row do not ascend, or one of them is repeated."),
    "score_out_of_range": Kind("error", "A score is outside the task's scale, or a judgement is negative."),
    "one_class_only": Kind(
        "error",
        "All rows of a split have the same label (or list of labels), so there is nothing to distinguish (in a sample:"
        " info).",
        "tables",
    ),
    "label_without_training_rows": Kind(
        "warning",
        "A row of another split has a label that no row of train has, so that a classifier never predicts it (in a sample:"
        " info).",
    ),
    "few_rows_of_label": Kind(
        "warning",
        "A label has fewer training rows than mteb samples, and is not a `label_without_training_rows` (in a sample: info).",
        "labels",
    ),
    "split_leak": Kind(
        "warning",
        "A text (in pair tasks a pair, in retrieval a query) also occurs in an earlier split, either exactly or, if the"
        f" detail says so, only after folding ({FOLDING}).",
        "distinct texts of the later split",
    ),
    "near_leak": Kind(
        "warning",
        "A text (in pair tasks a pair, in retrieval a query) that is not a `split_leak` is a near-duplicate of one in an"
        f" earlier split: {NEAR}.",
        "distinct texts of the later split",
    ),
    "conflicting_label": Kind(
        "warning",
        "A text (or pair of texts; in retrieval, a query with the text of a document) has two or more labels or scores"
        " within a split or, if the detail says so, only with the two texts in either order, only after folding, or only"
        " together with an earlier split; within a split it counts once, with the strictest of these.",
        "distinct texts",
    ),
    "identical_pair": Kind(
        "warning",
        "The two sides of a pair are the same text, either exactly or, if the detail says so, only after folding, but its"
        " score is below the highest of the scale, or its label is 0 (STS and pair classification).",
    ),
    "unjudged_twin": Kind(
        "warning",
        "A document (in reranking, a candidate) has the same text as one judged relevant for a query, but is not itself"
        " judged for it.",
        "pairs of query and document, as a share of these and the judgements above zero together",
    ),
    "query_in_corpus": Kind(
        "warning",
        "A query equals a document, its text or its title, ignoring surrounding white space.",
        "queries",
    ),
    "shared_ids": Kind(
        "warning",
        "A query has the id of a document, which mteb's tasks with `ignore_identical_ids` then never count as found for it.",
        "queries",
    ),
    "duplicate_pair": Kind(
        "warning",
        "A pair of texts, in the same order, also occurs in an earlier row of its split, either exactly or, if the detail"
        " says so, only after folding.",
        "rows after the first; after folding, distinct pairs",
    ),
    "swapped_pair": Kind(
        "warning",
        "A pair occurs in reverse order in an earlier row of its split or, if the detail says so, in an earlier split"
        " (pair classification and STS).",
    ),
    "duplicate_text": Kind(
        "warning",
        "A text also occurs in an earlier row of its split, either exactly or, if the detail says so, only after folding"
        " (info if texts recur by design: one side of a pair, the queries and candidates of reranking).",
        "rows after the first; after folding, distinct texts",
    ),
    "empty_text": Kind("warning", "A text is empty or only white space, also that of a document with a title."),
    "mojibake": Kind(
        "warning",
        "A text contains UTF-8 that was read as Windows-1252, Latin-1 or Windows-1251: `Ã©` for `é`, `РїСЂРё` for `при`.",
    ),
    "encoding_residue": Kind(
        "warning",
        "A text contains the traces of a wrong decoding: U+FFFD, a C1 control character (U+0080 to U+009F), or an escape"
        " such as `_x000D_`.",
    ),
    "html_residue": Kind(
        "warning",
        "A text contains an HTML tag with a name in lower or in upper case (`<link>` only with an attribute), an HTML comment"
        " or a character reference.",
    ),
    "preprocessing_residue": Kind(
        "warning",
        "A text contains a bracket as a treebank writes it (`-LRB-`) or a link that lost letters of its scheme (`tts://`): it"
        " is not what was written.",
    ),
    "invisible_character": Kind(
        "warning",
        "A text contains a character that a reader does not see and a tokenizer does: a soft hyphen, a zero-width space or"
        " joiner, a byte order mark, a mark of writing direction; those of emoji and those that Arabic, Hebrew and Indic"
        " scripts need are not counted.",
    ),
    "lookalike_word": Kind(
        "warning",
        "A word mixes Latin and Cyrillic letters that look alike (`сaхар` with a Latin `a`): a model does not know it.",
    ),
    "wrong_language": Kind(
        "warning",
        f"A text of {MIN_LETTERS} letters or more is in none of the languages of its dataset (in bitext, not in that of its"
        f" side), as two of three detectors say; of tables with more than {LARGE_TABLE:,} rows, a fixed sample of"
        f" {SAMPLE:,} rows is checked (`check --audit-language all`: all rows).",
        f"texts of the checked rows with {MIN_LETTERS} letters or more; the count says of how many",
    ),
    "wrong_script": Kind(
        "warning",
        "A text has letters, but none of them is of the script of a language of its dataset (`rus-Cyrl`: Cyrillic).",
    ),
    "label_by_length": Kind(
        "warning",
        "The length of a text, or the difference in length of a pair, tells the label: of two rows, one with a label and one"
        " without (in reranking, of two candidates of a query), the length guesses which one has it in at least"
        f" {MIN_STRENGTH:.0%} of the cases and {STANDARD_ERRORS} standard errors above chance, for a label that at least"
        f" {MIN_LABEL_ROWS} rows have and {MIN_LABEL_ROWS} lack, or for {MIN_LABEL_ROWS} queries; in STS, the rank"
        f" correlation with the score is at least {2 * MIN_STRENGTH - 1:.1f} (info for labels and clusters of single texts,"
        " because kinds of texts differ in length).",
        "labels of single texts; else pairs, or queries with candidates of both kinds",
    ),
    "short_text": Kind("info", "A text is a single character, ignoring surrounding white space."),
    "surrounding_whitespace": Kind("info", "A text begins or ends with white space, as a model receives it."),
    "double_full_stop": Kind("info", "A text ends with two full stops, ignoring white space: `..`, not `...`."),
    "repeated_sentence": Kind(
        "info",
        f"A sentence with {MIN_CHARACTERS} characters or more between its `.`, `!` and `?` occurs twice in a text (not looked"
        " for in the documents of retrieval).",
    ),
    "personal_data": Kind(
        "info",
        "A text contains what has the form of an e-mail address, or of a phone number with separators: North American,"
        " Russian, or with a country code.",
    ),
    "prompt_residue": Kind(
        "info",
        "A later line or sentence of a text begins with a part of a prompt (`Human:`, `Assistant:`, `Instruction:` ...), and"
        " the text is not a transcript, which begins with one.",
    ),
    "near_duplicate": Kind(
        "info",
        "A text (in pair tasks a pair) is a near-duplicate of an earlier one of its split, without being equal to it after"
        f" folding: {NEAR}; the detail counts those with another label or score than the text that they resemble.",
        "distinct texts",
    ),
    "side_leak": Kind(
        "info",
        "One text of a pair, or both in different pairs, also occurs on either side of a pair of an earlier split, while the"
        " pair itself does not (pair classification and STS).",
    ),
    "length_outlier": Kind(
        "info",
        f"A text is longer than {LENGTH_OUTLIER_FACTOR} times the median length of the non-empty texts of its split.",
    ),
    "label_leaking_column": Kind(
        "info",
        "A column that is neither text, label nor id tells a label from all others: Cramér's V with bias correction is at"
        f" least {MIN_ASSOCIATION} and its chi-squared statistic three standard deviations above chance, for a label that at"
        f" least {MIN_LABEL_ROWS} rows have and {MIN_LABEL_ROWS} lack (more than {NUMBER_GROUPS} different numbers or scores"
        f" are divided into {NUMBER_GROUPS} groups of equal size).",
        "labels",
    ),
    "label_by_overlap": Kind(
        "info",
        "Shared words tell the label of a pair, or the relevant candidate of a query, as lengths do in `label_by_length`, but"
        f" in at least {MIN_OVERLAP_STRENGTH:.0%} of the cases (STS: {2 * MIN_OVERLAP_STRENGTH - 1:.1f}) if more shared words"
        " are the same or relevant, which is part of the task; measured is the share of all words of a pair that both texts"
        " have, or of the words of a query that a candidate has, after folding, and of more than"
        f" {MAX_COMPARED:,} candidates those of a fixed part of the queries.",
        "pairs, or queries with candidates of both kinds",
    ),
    "label_by_position": Kind(
        "info",
        "The place of a candidate in the list of its query tells whether it is relevant, as lengths do in `label_by_length`.",
        "queries with candidates of both kinds",
    ),
    "label_sorted": Kind(
        "info",
        f"Rows with the same label follow each other: in a split of {MIN_ORDERED_ROWS} rows or more, the share of rows with"
        f" the label of the row before is at least {MIN_ORDER:.0%} of the way from its value in a random order to 1 (scores"
        f" are divided into {NUMBER_GROUPS} groups of equal size).",
    ),
    "label_imbalance": Kind(
        "info",
        f"A label is more than {LABEL_IMBALANCE_FACTOR} times rarer than the most frequent label of its split.",
        "labels",
    ),
} | TRAINING_KINDS
KINDS: Mapping[str, Kind] = MappingProxyType(
    dict(sorted(_KINDS.items(), key=lambda item: SEVERITIES.index(item[1].severity)))  # stable: the order above
)


MEANING = {
    "error": "Breaks a reader or silently distorts an evaluation. The release is not written; the build ends with exit code 4.",
    "warning": "Distorts scores or damages texts. A maintainer fixes it in a later version, or declares why it stays.",
    "info": "Common in good datasets; listed for information.",
}
HEADER = """\
# Findings

The problems that a build and `embedding-datasets check` look for in a dataset. `manifest.json` and the dataset card list every
finding: its kind, severity, location (config, split, column), count, share, and up to five rows as examples, with the rows
that make them findings; `--findings DIR` writes all of them ([checking.md](checking.md)). Errors,
`few_rows_of_label` and `label_without_training_rows` come from `pipelines/audit/integrity.py`, `query_in_benchmark_test` from
recipes (`pipelines/release/finding_files.py`), all others from `pipelines/audit/quality.py`. They check all rows of all splits,
unless a definition says otherwise.

This page is generated from the definitions in the code, `pipelines.audit.kinds.KINDS`:

```console
python -m pipelines.audit.kinds > docs/findings.md
```
"""


MEASURED = Path(__file__).parents[2] / "benchmarks" / "audit_quality.md"
MEASURED_HEADER = """\
## How well they are found

`benchmarks/audit_quality.py` plants defects of every kind into tables without any, audits them as `check` does, and compares
the rows that are reported with those that were planted. The cost is that of the whole audit, on one machine with two cores; only
its ratios mean something elsewhere. For near-duplicates and near-leaks, what was planted is what comparing all pairs finds.
"""


def render_page() -> str:
    """The page in Markdown: a table of kinds for each severity, in the order of reports, then the measurements."""
    sections = [HEADER]
    for severity in SEVERITIES:
        rows = [
            f"| `{name}` | {_escape(kind.definition)} | {_escape(kind.counted)} |"
            for name, kind in KINDS.items()
            if kind.severity == severity
        ]
        header = ["| kind | what it means | what is counted |", "| --- | --- | --- |"]
        sections.append("\n".join([f"## {severity}", "", MEANING[severity], "", *header, *rows]) + "\n")
    return "\n".join([*sections, MEASURED_HEADER, MEASURED.read_text("utf-8")])


def _escape(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    print(render_page(), end="")
