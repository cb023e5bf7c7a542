"""Kinds of findings that need a model which is trained on the rows (pipelines.profile), with the thresholds that they quote.

cards.kinds has all kinds; those here are in no manifest.
"""

from collections.abc import Mapping
from types import MappingProxyType

from cards.manifest import Severity

MIN_DISAGREEMENT = 0.1  # of accuracies, from 0 to 1; twice that of correlations: sound splits of STSb differ by 0.09
MAX_PERIOD = 10  # rows after which labels may repeat
FAR_DEVIATIONS = 12  # median absolute ones, of the rarity of a text

# By name: title, severity, definition and what is counted, as in cards.kinds.Kind.
LEARNED_KINDS: Mapping[str, tuple[str, Severity, str, str]] = MappingProxyType(
    {
        "split_disagrees": (
            "labels that disagree with those of another split",
            "warning",
            (
                "A model that learned from the first split is right on another one far less often than on the first itself, in"
                " folds, or labels look shifted by rows, permuted, inverted or of another scale, as the detail says; of pairs,"
                " scores are compared with the character trigrams that both sides have."
            ),
            "rows that the model contradicts",
        ),
        "label_doubtful": (
            "label that a model contradicts",
            "info",
            "A model that has not seen the row finds another label likelier, where it is sure of itself.",
            "rows",
        ),
        "order_tells_label": (
            "order of the rows that tells the label",
            "info",
            f"The remainders of the number of a row by 2 to {MAX_PERIOD} tell its label or score better than permuted ones.",
            "tables",
        ),
        "outlier_text": (
            "text unlike all others",
            "info",
            (
                f"The character trigrams of a text are rarer than usual by more than {FAR_DEVIATIONS} median absolute"
                " deviations, and no other text is like it."
            ),
            "rows",
        ),
        "weak_group": (
            "rows on which a model is much worse",
            "info",
            (
                "In a group of rows (by a column with few values, by length or by script) a model that has not seen them is"
                f" right less often by {MIN_DISAGREEMENT * 100:.0f} points or more than elsewhere, for the same labels."
            ),
            "rows",
        ),
    }
)
