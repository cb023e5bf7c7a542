"""Whether two datasets are the same, whoever made them, and what differs."""

ALLOWED = {
    "order": "the order of rows",
    "types": "types of columns that hold the same values",
    "columns": "columns that only one has, or that cannot be compared",
    "ids": "the ids of rows",
    "labels": "the names or numbers of labels",
    "folded": "case, punctuation and white space of texts",
}
USUAL = ("order", "types")  # what is allowed if nothing else is said
