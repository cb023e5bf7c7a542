"""What a card says of the texts that other datasets have too."""

from cards import markdown
from cards.evidence import Comparison, SharedTexts


def describe_comparison(comparison: Comparison | None) -> list[str]:
    """Lines of Markdown; none where the release was not compared with others."""
    if comparison is None:
        return []
    others = f"{comparison.datasets} other dataset{'s' if comparison.datasets > 1 else ''}"
    if not comparison.shared:
        return [f"None of its texts was found in the {others} that it was compared with; paraphrases are not found."]
    return [f"Compared with {others}, which share texts with it:", "", *map(_describe, comparison.shared)]


def _describe(one: SharedTexts) -> str:
    """`- 1 row of `train.sentence2` is in `cedr-classification` 1.0.0, `test.text` (1 folded)`."""
    rows = sum(one.kinds.values())
    kinds = ", ".join(f"{markdown.number(count)} {kind}" for kind, count in one.kinds.items())
    subject = "1 row of" if rows == 1 else f"{markdown.number(rows)} rows of"
    other = f"{markdown.code(one.dataset)} {one.version}".rstrip()
    verb = "is" if rows == 1 else "are"
    return f"- {subject} {markdown.code(one.table)} {verb} in {other}, {markdown.code(one.other_table)} ({kinds})"
