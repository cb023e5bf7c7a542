"""The plain name of every kind of finding, as cards, reports and the terminal show it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "missing_table": "a table is missing",
        "unexpected_table": "a table that the task does not have",
        "missing_column": "a column is missing",
        "unexpected_column": "a column that the table may not have",
        "wrong_type": "a column of another type",
        "empty_table": "a table without rows",
        "null_text": "null instead of a text",
        "null_value": "null instead of a value",
        "empty_id": "empty id",
        "duplicate_id": "id of an earlier row",
        "dangling_qrel": "judgement of a query or document that does not exist",
        "duplicate_judgement": "the same document judged again",
        "query_without_positive": "query without a relevant document",
        "query_without_candidates": "query without candidates",
        "query_without_negative": "query whose candidates are all relevant",
        "positive_not_listed": "relevant document that is not a candidate",
        "dangling_candidate": "candidate that does not exist",
        "duplicate_candidate": "document twice in a list of candidates",
        "label_out_of_range": "unknown label",
        "label_text_differs": "name of another label",
        "label_unordered": "labels out of order or repeated",
        "score_out_of_range": "score outside the scale",
        "one_class_only": "only one label",
        "empty_query": "empty query",
        "empty_positive": "empty positive",
        "negatives_without_kinds": "negatives that do not fit their kinds",
        "unknown_negative_kind": "unknown kind of negative",
        "label_without_training_rows": "label without training rows",
        "few_rows_of_label": "label with few training rows",
        "split_leak": "text also in an earlier split",
        "near_leak": "nearly the same text in an earlier split",
        "conflicting_label": "the same text with different labels",
        "identical_pair": "identical texts that count as different",
        "unjudged_twin": "copy of a relevant document that is not judged",
        "query_in_corpus": "query that is also a document",
        "shared_ids": "query with the id of a document",
        "duplicate_pair": "repeated pair",
        "swapped_pair": "pair repeated in reverse order",
        "duplicate_text": "repeated text",
        "empty_text": "empty text",
        "mojibake": "text decoded as another encoding",
        "encoding_residue": "traces of a wrong decoding",
        "html_residue": "HTML tags or character references",
        "preprocessing_residue": "traces of preprocessing",
        "invisible_character": "invisible characters",
        "lookalike_word": "word of Latin and Cyrillic letters",
        "wrong_language": "text in another language",
        "wrong_script": "text in another script",
        "label_by_length": "length that tells the label",
        "negative_is_positive": "negative that is also a positive",
        "positive_is_query": "positive that is the query",
        "duplicate_negative": "negative repeated in its row",
        "query_in_benchmark_test": "text of a benchmark's test data",
        "short_text": "text of a single character",
        "surrounding_whitespace": "white space around a text",
        "double_full_stop": "two full stops at the end",
        "repeated_sentence": "sentence repeated within a text",
        "personal_data": "e-mail address or phone number",
        "prompt_residue": "part of a prompt",
        "near_duplicate": "nearly the same text in an earlier row",
        "side_leak": "one side of a pair also in an earlier split",
        "length_outlier": "unusually long text",
        "label_leaking_column": "column that tells the label",
        "label_by_overlap": "shared words that tell the label",
        "label_by_position": "position that tells the relevant candidate",
        "label_sorted": "rows sorted by label",
        "label_imbalance": "label much rarer than others",
        "too_few_negatives": "fewer than 7 negatives",
        "number_text": "text that is only a number",
    }
)


def kind_name(kind: str) -> str:
    """The plain name of a kind; of one that this package does not know, which a manifest may have, its own in words."""
    return KIND_NAMES.get(kind, kind.replace("_", " "))
