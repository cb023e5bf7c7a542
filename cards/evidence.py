"""What a card says beside manifest and statistics: rows to look at, shared texts, agreement with figures, who built it again.

They are kept as `reproductions/<source>/<dataset>-<version>-<name>.json`, as `embedding-datasets reproduce --attest` writes them,
signed or not. No signature is verified here: anyone who has the public key of a rebuilder can (docs/reproducibility.md).
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from os.path import commonprefix
from pathlib import Path
from typing import Annotated, Any

import msgspec

from builders import limits
from builders.errors import ReleaseError
from cards import markdown
from cards.manifest import INVALID_JSON, SEVERITIES, Finding, Sha256, VersionNumber

Span = tuple[int, int]  # where a part of a text begins and ends


@dataclass(frozen=True)
class Quote:
    """The text of a finding's first row, and that of the row that makes it a finding (its twin); None where it has none.

    mark: what is wrong in the text, where a part of it is. note: what a reader does not see in the marked part.
    """

    text: str
    twin: str | None = None
    mark: Span | None = None
    note: str = ""


def differing(text: str, twin: str) -> tuple[Span, Span]:
    """Where two texts differ: all between what both begin with and what both end with."""
    start = len(commonprefix([text, twin]))  # noqa: RUF071 - of characters, not of paths
    end = len(commonprefix([text[start:][::-1], twin[start:][::-1]]))  # noqa: RUF071
    return (start, len(text) - end), (start, len(twin) - end)


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind and severity, which are shown together, by column.

    first: whose kind, severity and `by_design` are those of all. detail: what all say; None where they differ. count_text, share:
    together, as those of one are shown; those at one location add up; of labels, those of the worst. location:
    `default/test/text`, with a `*` for each part in which they differ. examples: those of the first, without hashes of rows,
    which tell nothing. why: the reasons why they stay. quote: the first that one of them has.
    """

    findings: tuple[Finding, ...]
    first: Finding
    detail: str | None
    count_text: str
    share: float
    location: str
    examples: tuple[str, ...]
    why: tuple[str, ...]
    quote: Quote | None


HASHED = re.compile(r"[0-9a-f]{16}(?:-\d+)?")  # the name of a row without an id
MAX_PLACES = 6  # of a group of findings


def group_findings(findings: Sequence[Finding], quotes: Sequence[Quote | None] = ()) -> list[FindingGroup]:
    """The findings by kind, errors first and those by design last. quotes: one for each finding, or none at all.

    Each rule of a user is a group: the details begin with its name.
    """
    groups: dict[tuple[str, ...], list[tuple[Finding, Quote | None]]] = {}
    for finding, quote in sorted(
        zip_longest(findings, quotes), key=lambda pair: (pair[0].by_design, SEVERITIES.index(pair[0].severity))
    ):
        key = (finding.severity, finding.kind, str(finding.by_design), finding.detail * (finding.kind == "rule"))
        groups.setdefault(key, []).append((finding, quote))
    return [_group(sorted(group, key=lambda pair: (pair[0].config, pair[0].column))) for group in groups.values()]


def _group(pairs: Sequence[tuple[Finding, Quote | None]]) -> FindingGroup:
    findings = tuple(finding for finding, _ in pairs)
    count, checked = (sum(getattr(finding, name) or 0 for finding in findings) for name in ("count", "texts_checked"))
    examined = sorted((finding.count / (finding.share or 1), finding.location) for finding in findings)
    totals = {location: total for total, location in examined}  # the largest of a location
    worst = max(findings, key=attrgetter("share"))  # labels of several splits are the same labels: they do not add up
    parts = zip(*((finding.config, finding.split, finding.column) for finding in findings), strict=True)
    return FindingGroup(
        findings,
        findings[0],
        findings[0].detail if len({finding.detail for finding in findings}) == 1 else None,
        worst.count_text if worst.counts_labels else f"{count:,}" + (f" of {checked:,} looked at" if checked else ""),
        worst.share if worst.counts_labels else min(1.0, count / sum(totals.values())),
        "/".join(filter(None, (names[0] if len({*names}) == 1 else "*" for names in parts))),
        tuple(name for name in findings[0].examples if not HASHED.fullmatch(name)),
        tuple(dict.fromkeys(finding.why for finding in findings if finding.why)),
        next((quote for _, quote in pairs if quote), None),
    )


def list_places(
    group: FindingGroup, locate: Callable[[Finding], str] | None = None, escape: Callable[[str], str] = str
) -> list[str]:
    """Where the findings of a group are, with count, share and what tells them apart; of one alone, where it is.

    At most MAX_PLACES of them. locate: how the place of each is written, else as in messages. escape: for all but the place.
    """
    locate = locate or attrgetter("location")
    if len(group.findings) == 1:
        return [locate(group.first)]
    details = [f", {finding.detail}" if finding.detail and group.detail is None else "" for finding in group.findings]
    counts = [finding.count_text if finding.counts_labels else f"{finding.count:,}" for finding in group.findings]
    places = [
        f"{locate(finding)} {escape(f'{count} ({markdown.share_text(finding.share)}){detail}')}"
        for finding, count, detail in zip(group.findings, counts, details, strict=True)
    ]
    more = [f"and {len(places) - MAX_PLACES} more"] if places[MAX_PLACES:] else []
    return [place.replace(" %", f"{markdown.NO_BREAK}%") for place in (*places[:MAX_PLACES], *more)]


@dataclass(frozen=True)
class Agreement:
    """How many of the published figures the statistics of a release have. source: where the figures are published.

    differing: those that it does not have: what it is, as published, ours, and why.
    """

    agreeing: int
    figures: int
    source: str = ""
    differing: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True)
class SharedTexts:
    """Texts of a column that a column of another dataset has. version: empty for the raw files of a source.

    table, other_table: `train.text`, `corpus/test.text`. kinds: how many different rows of `table` have each kind: exact, folded,
    near, contained.
    """

    table: str
    dataset: str
    version: str
    other_table: str
    kinds: Mapping[str, int]


@dataclass(frozen=True)
class Comparison:
    """With how many other datasets a release was compared, and the texts that they have."""

    datasets: int
    shared: tuple[SharedTexts, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What the card shows of the rows.

    examples: up to five telling rows, by column; in retrieval and reranking `query`, `relevant` and perhaps `not relevant`.
    quotes: one for each finding of the manifest, in its order; None where the finding is about no text, or the text may not be
    quoted. agreement: None where no figures are published, or this release is not meant to have them. quotable: False where the
    licence forbids derivatives, so that the card shows no text. comparison: with other datasets; None where there is none.
    status: which real files the recipe has met (pipelines.release.ledger). waiting: versions that are not offered yet.
    """

    examples: tuple[Mapping[str, Any], ...] = ()
    quotes: tuple[Quote | None, ...] = ()
    agreement: Agreement | None = None
    quotable: bool = True
    comparison: Comparison | None = None
    status: str = ""
    waiting: tuple[str, ...] = ()


def describe_comparison(comparison: Comparison | None) -> list[str]:
    """Lines of Markdown; none where the release was not compared with others."""
    if comparison is None:
        return []
    others = f"{comparison.datasets} other dataset{'s' if comparison.datasets > 1 else ''} built here"
    if not comparison.shared:
        return [f"None of its texts was found in {others}; paraphrases were not looked for."]
    lines = map(_describe, comparison.shared)
    return [f"Compared with {others}; these share texts with it (paraphrases were not looked for):", "", *lines]


def _describe(shared: SharedTexts) -> str:
    """`- 1 row of `train.sentence2` is in `cedr-classification` 1.0.0, `test.text` (1 folded)`."""
    rows = sum(shared.kinds.values())
    kinds = ", ".join(f"{markdown.number(count)} {kind}" for kind, count in shared.kinds.items())
    subject, verb = ("1 row of", "is") if rows == 1 else (f"{markdown.number(rows)} rows of", "are")
    other = f"{markdown.code(shared.dataset)} {shared.version}".rstrip()
    return f"- {subject} {markdown.code(shared.table)} {verb} in {other}, {markdown.code(shared.other_table)} ({kinds})"


FOLDER = Path(__file__).parent / "reproductions"
INVALID_STATEMENT = (*INVALID_JSON, binascii.Error)
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$(?!\n)")]


@dataclass(frozen=True)
class Rebuild:
    """What a statement says of a release that was built again.

    by: who did it. date: in UTC. raw: sha256 of the raw files by `<source>/<name>`. tools: versions of package and libraries.
    """

    dataset: str
    version: VersionNumber
    content_sha256: Sha256
    rebuilt_content_sha256: Sha256
    verdict: str
    by: Name
    date: Date
    raw: dict[str, Sha256]
    tools: dict[str, str]


@dataclass(frozen=True)
class _Predicate:
    embedding_datasets_reproduction: Rebuild


@dataclass(frozen=True)
class _Statement:
    predicate: _Predicate


def unwrap_statement(data: bytes) -> bytes:
    """The statement in the envelope of a signed one; the same bytes where there is no envelope.

    Raises one of INVALID_STATEMENT for anything but JSON, and for an envelope without a payload.
    """
    content: Any = msgspec.json.decode(data)
    if isinstance(content, dict) and "payload" in content:
        return base64.b64decode(str(content["payload"]), validate=True)
    return data


def decode_rebuild(data: bytes, where: str) -> Rebuild:
    """What a statement says, from its JSON or from that of the envelope of a signed one. where: the file, for the error.

    Raises ReleaseError for anything else.
    """
    try:
        return msgspec.json.decode(unwrap_statement(data), type=_Statement).predicate.embedding_datasets_reproduction
    except INVALID_STATEMENT as error:
        raise ReleaseError(
            "not the statement of a rebuild",
            where=where,
            found=str(error)[:500],
            todo="write it with: embedding-datasets reproduce NAME --attest FILE --by NAME",
        ) from None


def read_rebuilds(source: str, dataset: str, version: str, content_sha256: str, folder: Path = FOLDER) -> list[Rebuild]:
    """The rebuilds of a release with its rows, the first first; of each rebuilder the latest.

    Raises ReleaseError for a file that is not the statement of a rebuild.
    """
    known = [
        decode_rebuild(limits.read_at_most(path, limits.MAX_MANIFEST), str(path))
        for path in sorted((folder / source).glob(f"{dataset}-{version}-*.json"))
    ]
    found = {
        rebuild.by: rebuild
        for rebuild in sorted(known, key=lambda rebuild: rebuild.date)
        if (rebuild.dataset, rebuild.version, rebuild.content_sha256) == (dataset, version, content_sha256)
        and rebuild.content_sha256 == rebuild.rebuilt_content_sha256
    }
    return sorted(found.values(), key=lambda rebuild: rebuild.date)
