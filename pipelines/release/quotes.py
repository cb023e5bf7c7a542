"""The texts of findings that a card quotes: of each, its first row and the row that makes it a finding."""

from collections.abc import Sequence

import polars as pl

from builders import tasks
from builders.shaping import mojibake
from cards.evidence import Quote
from pipelines.audit import text_patterns
from pipelines.audit.findings import FindingRows
from pipelines.audit.tables import Frames, model_inputs

BETWEEN = " ↔ "  # the two texts of a pair
Place = tuple[str, str, int, str]  # config, split, position in the table, column; '' for all texts of the row
# Where in a text the problem is, for kinds that a pattern finds; a long text is quoted from a little before it.
PATTERNS = {
    "html_residue": text_patterns.HTML,
    "encoding_residue": text_patterns.ENCODING,
    "invisible_character": f"{text_patterns.INVISIBLE}|{text_patterns.BIDI}|{text_patterns.STRAY_JOINER}",
    "mojibake": "|".join(mojibake.PATTERNS),
    "preprocessing_residue": f"{text_patterns.TREEBANK_BRACKET}|{text_patterns.LINK_STUMP}",
    "lookalike_word": text_patterns.LATIN_BESIDE_CYRILLIC,
    "prompt_residue": text_patterns.ROLE,
    "double_full_stop": text_patterns.DOUBLE_FULL_STOP,
}
BEFORE = 30  # characters of a text before what a pattern finds
NOT_QUOTED = ("personal_data",)
SPACE = "␣"  # white space around a text, which nobody would see
END = 60  # characters of a long text that ends with white space


def quote_findings(task: tasks.Task, frames: Frames, findings: Sequence[FindingRows]) -> tuple[Quote | None, ...]:
    """A quote for each finding, None where it is about no row with a text."""
    inputs = {layout.config: model_inputs(layout) for layout in tasks.layouts(task)}
    rows = [_first_row(one, inputs) for one in findings]
    wanted: dict[tuple[str, str], set[int]] = {}
    for places in rows:
        for config, split, position, _ in places:
            wanted.setdefault((config, split), set()).add(position)
    texts = {
        (config, split): {
            row[0]: dict(zip(inputs[config], row[1:], strict=True))
            for row in frames[config][split]
            .select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("__row"), **inputs[config])
            .filter(pl.col("__row").is_in(sorted(positions)))
            .collect(engine="streaming")
            .iter_rows()
        }
        for (config, split), positions in wanted.items()
    }
    return tuple(_quote(one.finding.kind, places, texts) for one, places in zip(findings, rows, strict=True))


def _first_row(one: FindingRows, inputs: dict[str, dict[str, pl.Expr]]) -> list[Place]:
    """Where the first row of a finding is, and its twin, if it has texts."""
    finding = one.finding
    if finding.kind in NOT_QUOTED or not inputs.get(finding.config) or "position" not in one.rows.collect_schema():
        return []
    head = one.rows.head(1).collect()
    if head.is_empty() or head["position"][0] is None:
        return []
    column = finding.column if finding.column in inputs[finding.config] else ""
    places: list[Place] = [(finding.config, finding.split, head["position"][0], column)]
    if "twin" in head.columns and head["twin"][0] is not None:
        places.append((finding.config, head["twin_split"][0], head["twin"][0], column))
    return places


def _quote(kind: str, places: list[Place], texts: dict[tuple[str, str], dict[int, dict[str, str]]]) -> Quote | None:
    rows = [texts[config, split][position] for config, split, position, _ in places]
    shown = [_text(row, place[3]) for row, place in zip(rows, places, strict=True)]
    if kind == "side_leak" and (side := next((text for text in rows[0].values() if text in rows[1].values()), None)):
        return Quote(side)
    if kind == "surrounding_whitespace" and shown:
        shown[0] = _with_visible_ends(shown[0])
    if kind in PATTERNS and shown:
        shown[0] = _from_match(shown[0], PATTERNS[kind])
    return Quote(*shown) if shown else None


def _text(row: dict[str, str], column: str) -> str:
    return row[column] if column else BETWEEN.join(filter(None, row.values()))


def _with_visible_ends(text: str) -> str:
    """A text with marks for the white space around it; only the end of a text that is long and begins without."""
    inner = text.strip()
    before, after = (SPACE if text[end].isspace() else "" for end in (0, -1))
    if not before and len(inner) > END:
        inner = f"…{inner[-END:]}"
    return f"{before}{inner}{after}"


def _from_match(text: str, pattern: str) -> str:
    """A text from a little before the first match of a pattern, which polars reads."""
    offset = pl.Series([text]).str.find(pattern)[0]  # in bytes
    start = 0 if offset is None else len(text.encode()[:offset].decode()) - BEFORE
    return f"…{text[start:]}" if start > 0 else text
