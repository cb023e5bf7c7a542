"""The card of a release: what its README.md says, from the builder, the manifest, the statistics and the hand-written prose.

Equal rows give an equal card: nothing in it comes from a clock, a machine or the versions of the tools.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml

from builders import tasks
from builders.spec import VERSION, version_key
from cards import front_matter, markdown
from cards.manifest import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from builders.catalogue import Definition
    from builders.spec import Dataset
    from cards.manifest import Manifest

CARDS = Path(__file__).parent
OF_A_VERSION = re.compile(rf"(?:Decided in|Limits of) (?:{VERSION.pattern})")


@dataclass(frozen=True)
class Prose:
    """What is written by hand about a dataset, as Markdown: its source, itself, what was decided, its limits."""

    source: str
    dataset: str
    decided: str
    limits: str


def render(
    definition: Definition,
    manifest: Manifest,
    statistics: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, Any]],
) -> str:
    """The README.md of a release.

    statistics: as in statistics.json. examples: one real row of each config, by column.

    Raises ValueError for missing prose, a missing citation or an unknown language.
    """
    dataset, source = definition.dataset, definition.source
    head = yaml.safe_dump(front_matter.metadata(definition, manifest), sort_keys=False, allow_unicode=True, width=120)
    splits = _splits(manifest)
    return _template().render(
        front_matter=head,
        source=source,
        dataset=dataset,
        manifest=manifest,
        examples=examples,
        prose=prose(source.name, dataset.name, manifest.version),
        recipe=inspect.getdoc(dataset.recipe) or "",
        languages=[front_matter.language(code)[1] for code in dataset.languages],
        labels=_labels(dataset.task),
        configs=front_matter.by_config(manifest),
        splits=splits,
        missing=[split for split in dataset.task.splits if split not in splits],
        unverified=[raw.name for raw in manifest.raw if not raw.verified],
        task_type=dataset.task.type,
        task=_mteb_task(dataset, manifest),
        versions=sorted(dataset.versions.items(), key=lambda item: version_key(item[0]), reverse=True),
        statistics={split: list(_flat(values)) for split, values in statistics.items()},
        findings=sorted(manifest.findings, key=lambda finding: SEVERITIES.index(finding.severity)),
        citations=[bibtex(key) for key in _citations(definition)],
    )


def prose(source: str, dataset: str, version: str) -> Prose:
    """What `prose/<source>.md` says: `# <source>`, then for each dataset `# <dataset>` with `## Decided` and `## Limits`.

    Where a version needs other words, `## Decided in 2.0.0` and `## Limits of 2.0.0` stand for these.

    Raises ValueError for a file or a section that is missing, and for a section that no card shows.
    """
    path = CARDS / "prose" / f"{source}.md"
    if not path.is_file():
        raise ValueError(f"{path}: no such file: every source has its prose")
    sections = _sections(path.read_text("utf-8"), "# ")
    for name in (source, dataset):
        if not sections.get(name):
            raise ValueError(f"{path}: no section '# {name}'")
    parts = _sections(sections[dataset], "## ")
    shown = ("", "Decided", "Limits")
    for name in shown:
        if not parts.get(name):
            raise ValueError(f"{path}: '# {dataset}' has no {f'section ## {name}' if name else 'text of its own'}")
    if unseen := [name for name in parts if name not in shown and not OF_A_VERSION.fullmatch(name)]:
        raise ValueError(f"{path}: '# {dataset}' has sections that no card shows: {', '.join(unseen)}")
    decided = parts.get(f"Decided in {version}") or parts["Decided"]
    return Prose(sections[source], parts[""], decided, parts.get(f"Limits of {version}") or parts["Limits"])


def bibtex(key: str) -> str:
    """The text of an entry of citations.bib.

    Raises ValueError for a key that is not there and for an entry whose braces do not close.
    """
    path = CARDS / "citations.bib"
    text = path.read_text("utf-8")
    start = re.search(rf"(?m)^@\w+\{{{re.escape(key)},", text)
    if start is None:
        raise ValueError(f"{path}: no entry {key!r}")
    depth = 0
    for brace in re.finditer(r"[{}]", text[start.start() :]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start.start() :][: brace.end()]
    raise ValueError(f"{path}: the braces of {key!r} do not close")


@cache
def _template() -> jinja2.Template:

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(CARDS),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML: cards.markdown escapes
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    escapes = (markdown.plain, markdown.written, markdown.code, markdown.block, markdown.fenced, markdown.link)
    for escape in (*escapes, markdown.number, markdown.percent):
        environment.filters[escape.__name__] = escape
    return environment.get_template("dataset.md.jinja")


def _sections(text: str, mark: str) -> dict[str, str]:
    """The text below each heading of one level; what comes before the first is under ''."""
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in text.splitlines():
        if line.startswith(mark):
            lines = sections.setdefault(line.removeprefix(mark).strip(), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def _citations(definition: Definition) -> tuple[str, ...]:
    """The keys of what to cite: the source, what the dataset adds, the benchmark; each once."""
    benchmark = definition.dataset.benchmark.citations if definition.dataset.benchmark else ()
    return tuple(dict.fromkeys((*definition.source.citations, *definition.dataset.citation, *benchmark)))


def _splits(manifest: Manifest) -> list[str]:
    return list(dict.fromkeys(table.split for table in manifest.tables))


def _labels(task: tasks.Task) -> str:
    """What the labels of a task are, as Markdown; empty for a task without named ones."""
    if isinstance(task, tasks.STS):
        return f"{task.low:g} to {task.high:g}, more is more alike"
    return ", ".join(f"{index} {markdown.code(name)}" for index, name in enumerate(tasks.label_names(task)))


def _mteb_task(dataset: Dataset, manifest: Manifest) -> dict[str, Any] | None:
    """What the mteb task of a dataset is written with, as Python; None where a split that mteb needs is not there."""
    task, split = dataset.task, tasks.evaluated_split(dataset.task)
    needed = {split}
    settings: dict[str, str] = {}
    if isinstance(task, (tasks.Classification, tasks.MultilabelClassification)):
        trained_on = "train" if "train" in task.splits else next(other for other in task.splits if other != split)
        needed.add(trained_on)
        if trained_on != "train":
            settings = {"train_split": _python(trained_on)}
    if not needed <= set(_splits(manifest)):
        return None
    languages: Any = list(dataset.languages)
    if isinstance(task, tasks.BitextMining):
        languages = {task.pair: languages}
    if isinstance(task, tasks.STS):
        settings = {"min_score": f"{task.low:g}", "max_score": f"{task.high:g}"}
    if isinstance(task, tasks.Clustering):
        settings = {"max_fraction_of_documents_to_embed": "None  # all of them: mteb's default is 4 %"}
    prompt: Any = manifest.prompts.instruction if manifest.prompts else None
    if prompt and isinstance(task, (tasks.Retrieval, tasks.Reranking)):
        prompt = {"query": prompt}
    return {
        "name": "".join(word.capitalize() for word in re.split("[-_]", dataset.name)),
        "type": task.type.name,
        "split": split,
        "description": _python(dataset.summary),
        "languages": _python(languages),
        "prompt": _python(prompt) if prompt else None,
        "settings": settings,
    }


def _python(value: Any) -> str:
    """Strings, and lists and dicts of strings, as Python: JSON of these is Python too."""
    return json.dumps(value, ensure_ascii=False)


def _flat(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Name and value of every leaf of nested statistics, as table cells; leaves without a value are left out.

    A key that is no identifier comes from the data (the name of a label). Quantiles, and shares, are one leaf.
    """
    for key, value in values.items():
        name = key.replace("_", " ") if re.fullmatch("[a-z0-9_]+", key) else markdown.code(key)
        if key == "text_length_quantiles":
            ranks = " / ".join(str(int(quantile.removeprefix("p"))) for quantile in value)
            yield " / ".join((*path, f"{name}, % {ranks}")), " / ".join(map(markdown.number, value.values()))
        elif key == "shares" and path[-1:] == ("languages",):
            spoken = [f"{language} {markdown.percent(share)}" for language, share in value.items()]
            yield " / ".join((*path, name)), ", ".join(spoken) or "–"
        elif isinstance(value, dict):
            yield from _flat(value, (*path, name))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield " / ".join((*path, name)), markdown.number(value)
        elif value is not None:
            yield " / ".join((*path, name)), markdown.code(value)
