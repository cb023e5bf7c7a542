"""The plain name of every kind of finding, as cards, reports and the terminal show it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "missing_table": "missing table",
        "unexpected_table": "unexpected table",
        "missing_column": "missing column",
        "unexpected_column": "unexpected column",
        "wrong_type": "column of the wrong type",
        "empty_table": "empty table",
        "null_text": "null instead of a text",
        "null_value": "null value",
        "empty_id": "empty id",
        "duplicate_id": "repeated id",
        "dangling_qrel": "judgement of a missing query or document",
        "duplicate_judgement": "repeated judgement",
        "query_without_positive": "query without a relevant document",
        "query_without_candidates": "query without candidates",
        "query_without_negative": "query with relevant candidates only",
        "positive_not_listed": "relevant document that is not a candidate",
        "dangling_candidate": "candidate that does not exist",
        "duplicate_candidate": "repeated candidate",
        "label_out_of_range": "unknown label",
        "label_text_differs": "label name that differs from the label",
        "label_unordered": "labels out of order",
        "score_out_of_range": "score outside the scale",
        "one_class_only": "only one label",
        "label_without_training_rows": "label that train does not have",
        "few_rows_of_label": "label with few training rows",
        "split_leak": "text that is also in an earlier split",
        "near_leak": "nearly the same text in an earlier split",
        "conflicting_label": "same text with different labels",
        "identical_pair": "pair of equal texts without the highest score",
        "unjudged_twin": "unjudged copy of a relevant document",
        "query_in_corpus": "query that is also a document",
        "shared_ids": "query with the id of a document",
        "duplicate_pair": "repeated pair",
        "swapped_pair": "pair repeated in reverse order",
        "duplicate_text": "repeated text",
        "empty_text": "empty text",
        "mojibake": "text read in the wrong encoding",
        "encoding_residue": "broken characters",
        "html_residue": "HTML left in the text",
        "preprocessing_residue": "traces of processing",
        "invisible_character": "invisible characters",
        "lookalike_word": "Latin letters in a Cyrillic word, or the reverse",
        "wrong_language": "text in another language",
        "wrong_script": "text in another script",
        "short_text": "text of one character",
        "surrounding_whitespace": "white space around the text",
        "double_full_stop": "two full stops at the end",
        "repeated_sentence": "sentence repeated in a text",
        "personal_data": "e-mail address or phone number",
        "prompt_residue": "part of a prompt in the text",
        "near_duplicate": "near-duplicate in the same split",
        "side_leak": "one side of a pair is in an earlier split",
        "length_outlier": "unusually long text",
        "label_leaking_column": "column that tells the label",
        "label_sorted": "rows sorted by label",
        "label_imbalance": "rare label",
    }
)
