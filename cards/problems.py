"""The findings of a release in words, with the text of one row each: the section "Known issues" of a card."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builders import tasks
from cards import markdown
from cards.evidence import Quote
from cards.kind_names import kind_name
from cards.manifest import SEVERITIES, Finding, Severity

MARKS: Mapping[Severity, str] = {"error": "⛔", "warning": "⚠", "info": "ℹ"}
SHOWN = 80  # characters of a text
NO_BREAK = "\u00a0"  # a space at which a cell does not wrap
WORDS_AROUND = 4  # of a difference
WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Problem:
    """A finding as a line of a table, in Markdown.

    where: table and column. rows: count and share. example: a text, perhaps its twin, or the names of rows. why: why it stays.
    """

    mark: str
    name: str
    where: str
    rows: str
    example: str
    why: str


def describe_problems(
    task: tasks.Task, findings: Sequence[Finding], quotes: Sequence[Quote | None], configs: Mapping[str, str]
) -> list[Problem]:
    """The findings, severe ones first. configs: how the card calls each config. quotes: by finding, or none at all."""
    several_texts = {layout.config for layout in tasks.layouts(task) if len(layout.text) > 1}
    texts = list(quotes) or [None] * len(findings)
    pairs = sorted(zip(findings, texts, strict=True), key=lambda pair: SEVERITIES.index(pair[0].severity))
    return [
        Problem(
            MARKS[finding.severity],
            f"{kind_name(finding.kind)}{f' ({markdown.plain(finding.detail)})' if finding.detail else ''}",
            _where(finding, configs, several_texts),
            f"{finding.count_text} ({markdown.percent(finding.share).replace(' ', NO_BREAK)})",
            _example(finding, quote),
            markdown.hand_written(finding.why) if finding.why else "",
        )
        for finding, quote in pairs
    ]


def summarize(findings: Sequence[Finding]) -> str:
    """How many problems there are, in words: `2 warnings, 11 for information`."""
    errors, warnings, others = (sum(one.severity == severity for one in findings) for severity in SEVERITIES)
    parts = [
        f"{count} {word}{'s' if count > 1 else ''}"
        for count, word in ((errors, "error"), (warnings, "warning"))
        if count
    ]
    return ", ".join([*parts, *([f"{others} for information"] if others else [])])


def _where(finding: Finding, configs: Mapping[str, str], several_texts: set[str]) -> str:
    parts = [configs.get(finding.config, finding.config) if len(configs) > 1 else "", finding.split]
    column = finding.column if finding.config in several_texts or not finding.split else ""
    return " ".join(markdown.code(part) for part in (*parts, column) if part) or "–"


def _example(finding: Finding, quote: Quote | None) -> str:
    if quote is None:
        return ", ".join(markdown.code(name) for name in finding.examples[:1]) or "–"
    if quote.twin is None or quote.twin == quote.text:
        return _quoted(quote.text)
    own, twin = _differing(quote.text, quote.twin)
    return f"{own}; {markdown.plain(finding.twins[0].partition(':')[0]) if finding.twins else 'the other'}: {twin}"


def _quoted(text: str) -> str:
    return f"“{markdown.plain(text[:SHOWN])}{'…' if len(text) > SHOWN else ''}”"


def _differing(text: str, twin: str) -> tuple[str, str]:
    """Two texts around the words in which they differ, which are bold."""
    own, other = WORD.findall(text), WORD.findall(twin)
    shorter = min(len(own), len(other))
    start = next((at for at in range(shorter) if own[at] != other[at]), shorter)
    end = next((at for at in range(shorter - start) if own[-1 - at] != other[-1 - at]), shorter - start)
    return _around(own, start, end), _around(other, start, end)


def _around(words: Sequence[str], start: int, end: int) -> str:
    """Some words from `start` to `end` words before the last, in bold, with a few words before and after."""
    stop = len(words) - end
    before, after = words[max(0, start - WORDS_AROUND) : start], words[stop : stop + WORDS_AROUND]
    changed = " ".join(words[start:stop])
    shown = [
        "…" if start > WORDS_AROUND else "",
        markdown.plain(" ".join(before)),
        f"**{markdown.plain(changed[:SHOWN])}**" if changed else "",
        "…" if len(changed) > SHOWN else "",
        markdown.plain(" ".join(after)) if len(changed) <= SHOWN else "",
        "…" if stop + WORDS_AROUND < len(words) and len(changed) <= SHOWN else "",
    ]
    return f"“{' '.join(filter(None, shown))}”"
