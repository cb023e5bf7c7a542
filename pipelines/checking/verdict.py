"""The verdict of a check, a state and a line that sums up its findings; and `--fail-on`, the conditions of a failure.

docs/checking.md explains the states and the threshold.

error             a finding with the severity error
warning           a finding with the severity warning or error
compromised       the verdict (pipelines.checking.verdict)
KIND              a finding of this kind
KIND:SHARE        findings of this kind that concern this share of a split or more: `split_leak:0.1%`, `split_leak:0.001`

`contamination scan` has the same grammar with other kinds; see pipelines.decontamination.pages.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from builders.errors import UsageError
from cards.kinds import KINDS, kind_name
from cards.manifest import Finding

State = Literal["no problems", "warnings", "compromised", "defective", "damaged"]

# From this share of the texts of a split, other than train, a score on it says little.
COMPROMISING_SHARE = 0.05
# The kinds that this share is applied to, as a verb for one text and for several. Kinds with the same verb add up.
COMPROMISING = {
    "split_leak": ("leaks", "leak"),
    "near_leak": ("leaks", "leak"),
    "conflicting_label": ("has conflicting labels", "have conflicting labels"),
    "empty_text": ("is empty", "are empty"),
}
# Kinds that compromise a score where they are warnings, whatever their share: a guess from one number comes to about the score.
DECISIVE = ("label_by_position", "label_by_overlap", "label_leaking_column")
NOUNS = {
    "Retrieval": "queries", "Reranking": "queries", "PairClassification": "pairs", "STS": "pairs", "BitextMining": "pairs",
}  # fmt: skip
MAX_CLAUSES = 2  # in a summary
# The CSS class of a verdict.
COLORS: Mapping[State, str] = {
    "no problems": "good", "warnings": "warning", "compromised": "error", "defective": "error", "damaged": "error",
}  # fmt: skip


NOT_JUDGED = "sample, not judged"


def badge(state: State, *, sample: bool) -> tuple[str, str]:
    """What a page shows of a verdict, with its CSS class. A sample is not judged, unless it is damaged or defective."""
    return (NOT_JUDGED, "soft") if sample and state not in ("damaged", "defective") else (state, COLORS[state])


@dataclass(frozen=True)
class Verdict:
    """The weight of the findings of a check. summary: one line, which begins with the state or with the number of warnings."""

    state: State
    summary: str


@dataclass(frozen=True)
class Impact:
    """The texts of a split that findings of one kind, or of kinds that add up, concern: their count and share.

    earlier: the split that they leak from, else empty.
    """

    kinds: tuple[str, ...]
    config: str
    split: str
    earlier: str
    count: int
    share: float

    @property
    def compromising(self) -> bool:
        """Whether a score on this split says little, if the findings are warnings."""
        enough = self.kinds[0] in DECISIVE or (self.share >= COMPROMISING_SHARE and self.kinds[0] in COMPROMISING)
        return self.split != "train" and enough


def judge(task: str, findings: Sequence[Finding], problems: Sequence[str], *, sample: bool) -> Verdict:
    """The verdict on a dataset.

    task: the name of its task type. problems: differences between a release and its manifest. sample: the shares of a sample say
    nothing about the dataset, so it is never called compromised.
    """
    errors, warnings = (
        [finding for finding in findings if finding.severity == severity] for severity in ("error", "warning")
    )
    is_compromised = not sample and any(impact.compromising for impact in impacts(warnings))
    states: dict[State, object] = {
        "damaged": problems, "defective": errors, "compromised": is_compromised, "warnings": warnings, "no problems": True,
    }  # fmt: skip
    state = next(state for state, is_so in states.items() if is_so)
    counts = [_counted(len(problems), "problem"), _counted(len(errors), "error"), _counted(len(warnings), "warning")]
    heads = ["" if state == "warnings" else state, *counts]
    return Verdict(state, _summary(heads, _clauses(task, errors, warnings)))


def impacts(findings: Iterable[Finding], *, merge: bool = True) -> list[Impact]:
    """The impacts of findings, the largest share first.

    Findings of a kind in one column add up, where they differ in their detail alone (exactly, or ignoring case); so do the kinds
    of COMPROMISING with the same verb, if `merge`. Leaks from different splits do not: one text may leak from both.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        kind = COMPROMISING[finding.kind][0] if merge and finding.kind in COMPROMISING else finding.kind
        groups.setdefault((kind, finding.config, finding.split, finding.column, earlier_split(finding)), []).append(
            finding
        )
    found = [
        Impact(
            tuple(dict.fromkeys(finding.kind for finding in group)),
            group[0].config,
            group[0].split,
            earlier_split(group[0]),
            sum(finding.count for finding in group),
            min(1.0, sum(finding.share for finding in group)),
        )
        for group in groups.values()
    ]
    return sorted(found, key=lambda impact: -impact.share)


def earlier_split(finding: Finding) -> str:
    """The split that a finding compares with: its detail begins with `in <split>`."""
    first = finding.detail.split(",")[0]
    return first.removeprefix("in ") if finding.kind.endswith("_leak") and first.startswith("in ") else ""


def _clauses(task: str, errors: Sequence[Finding], warnings: Sequence[Finding]) -> list[str]:
    """What was found, the worst first: an error, what compromises a score, other errors, leaks and the like, other kinds.

    Within each of these, the largest share comes first.
    """
    found = [*impacts(errors), *impacts(warnings)]
    weighty = [impact for impact in found if impact.split != "train" and impact.kinds[0] in (*COMPROMISING, *DECISIVE)]
    ranked = [(1 if impact.compromising else 3, _clause(task, impact)) for impact in weighty]
    named = {kind for impact in weighty for kind in impact.kinds}
    counts: dict[str, int] = {}
    for impact in found:
        counts[impact.kinds[0]] = counts.get(impact.kinds[0], 0) + impact.count
    kinds = {finding.kind for finding in errors}
    ranked += [
        (0 if kind in kinds and not place else 2 if kind in kinds else 4, f"{kind_name(kind)} ({count:,})")
        for place, (kind, count) in enumerate(counts.items())
        if kind not in named
    ]
    return [clause for _, clause in sorted(ranked, key=lambda pair: pair[0])]


def _clause(task: str, impact: Impact) -> str:
    if impact.kinds[0] in DECISIVE:
        return f"{kind_name(impact.kinds[0])} in {impact.split}"
    verb = COMPROMISING[impact.kinds[0]][impact.count != 1]
    total = round(impact.count / impact.share) if 0 < impact.share < 1 else impact.count
    source = f" from {impact.earlier}" if impact.earlier else ""
    split = f"{impact.split} " if impact.split else ""
    noun = "documents" if impact.config == "corpus" else NOUNS.get(task, "texts")
    return f"{impact.count:,} of {total:,} {split}{noun} {verb}{source}"


def _summary(heads: Sequence[str], clauses: Sequence[str]) -> str:
    more = f"; and {len(clauses) - MAX_CLAUSES} more" if len(clauses) > MAX_CLAUSES else ""
    text = "; ".join(clauses[:MAX_CLAUSES]) + more
    return ", ".join(filter(None, heads)) + (f": {text}" if text else "")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count > 1 else ''}" if count else ""


SHARE = re.compile(r"(\d+\.?\d*|\.\d+) ?(%?)", re.ASCII)


@dataclass(frozen=True)
class Grammar:
    """The words of a command's `--fail-on`. noun: what has a kind. levels: words that take no share. kinds: words that may.

    text: the grammar as errors name it. page: the page of the documentation that lists the kinds. default: without the option.
    """

    noun: str
    levels: tuple[str, ...]
    kinds: tuple[str, ...]
    text: str
    page: str
    default: tuple[str, ...] = ()


CHECK_GRAMMAR = Grammar(
    "finding",
    ("error", "warning", "compromised"),
    tuple(KINDS),
    "error, warning, compromised, KIND or KIND:SHARE, where a share is 0.1% or 0.001",
    "docs/findings.md",
    ("error", "compromised"),
)


@dataclass(frozen=True)
class Condition:
    """A condition. text: as the user wrote it. what: a level, or a kind. share: from 0 to 1."""

    text: str
    what: str
    share: float = 0.0

    def is_met(self, state: State, findings: Sequence[Finding]) -> bool:
        """Whether the result of a check meets it. state: that of the verdict."""
        severities = {finding.severity for finding in findings}
        levels = {
            "error": "error" in severities,
            "warning": bool(severities & {"error", "warning"}),
            "compromised": state == "compromised",
        }
        same_kind = impacts((finding for finding in findings if finding.kind == self.what), merge=False)
        return levels.get(self.what, any(impact.share >= self.share for impact in same_kind))


def parse_conditions(texts: Iterable[str], grammar: Grammar = CHECK_GRAMMAR) -> tuple[Condition, ...]:
    """The conditions of all options `--fail-on`, each with one or several joined by commas; without any, the default.

    Raises UsageError for an unknown kind and for a share that is not between 0 and 1.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(_parse(word, grammar) for word in words or grammar.default)


def met_conditions(conditions: Iterable[Condition], state: State, findings: Sequence[Finding]) -> list[str]:
    """The conditions that the result of a check meets, as the user wrote them. Findings by design meet none."""
    counted = [finding for finding in findings if not finding.by_design]
    return [condition.text for condition in conditions if condition.is_met(state, counted)]


def _parse(text: str, grammar: Grammar) -> Condition:
    what, colon, share = text.partition(":")
    known = [*grammar.levels, *grammar.kinds]
    if what not in known:
        nearest = [repr(name) for name in difflib.get_close_matches(what, known, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(nearest)}? " if nearest else ""
        raise UsageError(
            f"--fail-on: no kind of {grammar.noun} is named {what!r}",
            expected=grammar.text,
            todo=f"{hint}{grammar.page} lists all kinds",
        )
    if not colon:
        return Condition(text, what)
    if what in grammar.levels:
        raise UsageError(
            f"--fail-on: {what} takes no share",
            found=text,
            expected=grammar.text,
            todo=f"name a kind of {grammar.noun}",
        )
    match = SHARE.fullmatch(share.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        raise UsageError(
            "--fail-on: not a share",
            found=text,
            expected=grammar.text,
            todo="write a share from 0% to 100%, or from 0 to 1",
        )
    return Condition(text, what, value)
