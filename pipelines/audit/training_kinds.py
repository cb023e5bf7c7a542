"""The kinds of findings that only training data have."""

from pipelines.audit.kind_definition import Kind

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
