"""Renders the card of a release, its README.md, from the builder, the manifest, the statistics and the prose.

The same rows give the same card: it does not depend on the time, the machine or the versions of libraries.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml

from builders import tasks
from builders.docstrings import read_docstring
from builders.errors import ReleaseError
from builders.spec import VERSION, version_key
from cards import front_matter, markdown
from cards.citations import arxiv_papers, bibtex
from cards.manifest import SEVERITIES
from cards.mteb_tasks import built_in_tasks, namesake_tasks
from cards.placeholders import fill_placeholders, release_numbers
from cards.snippets import OR_FOLDER, unnamed_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from builders.catalogue import Definition
    from builders.spec import Dataset
    from cards.manifest import Manifest

CARDS = Path(__file__).parent
WRITE_PROSE = "write it; docs/adding-a-dataset.md shows a whole file"
VERSION_SECTION = re.compile(rf"(?:Decided in|Limits of) (?:{VERSION.pattern})")


@dataclass(frozen=True)
class Prose:
    """The hand-written text about a dataset, as Markdown.

    source: what the source is. provenance: where its texts and labels come from, and who says so. dataset: what the dataset is.
    choices: what the paper leaves open and this package chose, empty if there is nothing. decisions: how the recipe reads the
    source. limits: what to know before using it.
    """

    source: str
    provenance: str
    dataset: str
    choices: str
    decisions: str
    limits: str


def render(
    definition: Definition,
    manifest: Manifest,
    statistics: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, Any]],
) -> str:
    """The README.md of a release.

    statistics: as in statistics.json. examples: one row of each config, by column.

    Raises ReleaseError for missing prose or a missing citation, ValueError for an unknown language.
    """
    dataset, source = definition.dataset, definition.source
    head = yaml.safe_dump(front_matter.metadata(definition, manifest), sort_keys=False, allow_unicode=True, width=120)
    splits = _splits(manifest)
    citations = [bibtex(key) for key in _citations(definition)]
    return _template().render(
        front_matter=head,
        source=source,
        dataset=dataset,
        manifest=manifest,
        examples=examples,
        prose=read_filled_prose(dataset, manifest),
        recipe=read_docstring(dataset.recipe),
        languages=[front_matter.language(code)[1] for code in dataset.languages],
        labels=_labels(dataset.task),
        configs=front_matter.config_names(dataset, front_matter.tables_by_config(manifest)),
        splits=splits,
        missing=[split for split in dataset.task.splits if split not in splits],
        unverified=[raw.name for raw in manifest.raw if not raw.verified],
        repository=unnamed_repository(dataset.name),
        or_folder=OR_FOLDER,
        task_type=dataset.task.type,
        task=_mteb_task(dataset, manifest),
        built_in=built_in_tasks(dataset.name),
        namesakes=namesake_tasks(dataset.name),
        versions=sorted(dataset.versions.items(), key=lambda item: version_key(item[0]), reverse=True),
        statistics={split: list(_flat(values)) for split, values in statistics.items()},
        findings=sorted(manifest.findings, key=lambda finding: SEVERITIES.index(finding.severity)),
        citations=citations,
        papers=arxiv_papers(citations),
    )


def read_filled_prose(dataset: Dataset, manifest: Manifest) -> Prose:
    """The prose of a dataset with the numbers of one release in it."""
    prose = read_prose(manifest.source, dataset.name, manifest.version)
    rows = {(table.config, table.split): table.rows for table in manifest.tables}
    numbers = release_numbers(dataset.task, rows, manifest.recipe.options, manifest.observed)
    where = f"prose of {dataset.name}"
    return Prose(**{name: fill_placeholders(text, numbers, where) for name, text in vars(prose).items()})


def require_texts(definition: Definition, version: str) -> None:
    """Check before a build that the card will have its texts: docstring, prose, citations.

    Raises ReleaseError for missing prose or a missing citation, UsageError where Python runs without docstrings.
    """
    read_docstring(definition.dataset.recipe)
    read_prose(definition.source.name, definition.dataset.name, version)
    for key in _citations(definition):
        bibtex(key)


def read_prose(source: str, dataset: str, version: str) -> Prose:
    """The prose of a dataset from `prose/<source>.md`, with its placeholders.

    The file has a section `# <source>` with `## Provenance`, and for each dataset a section `# <dataset>` with `## Decided` and
    `## Limits`, perhaps `## Choices`. For one version, `## Decided in 2.0.0` and `## Limits of 2.0.0` replace these.

    Raises ReleaseError for a missing file or section, and for a section that no card shows.
    """
    path = CARDS / "prose" / f"{source}.md"
    if not path.is_file():
        expected = f"a file with the sections '# {source}' and '# {dataset}'"
        raise ReleaseError("no prose for the card", where=str(path), expected=expected, todo=WRITE_PROSE)
    sections = _sections(path.read_text("utf-8"), "# ")
    about = _parts(path, sections, source, ("", "Provenance"))
    parts = _parts(path, sections, dataset, ("", "Decided", "Limits"), optional="Choices")
    return Prose(
        about[""],
        about["Provenance"],
        parts[""],
        parts.get("Choices", ""),
        parts.get(f"Decided in {version}") or parts["Decided"],
        parts.get(f"Limits of {version}") or parts["Limits"],
    )


def _incomplete(path: Path, section: str) -> ReleaseError:
    return ReleaseError("the prose for the card is incomplete", where=str(path), expected=section, todo=WRITE_PROSE)


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
    escapes = (markdown.plain, markdown.hand_written, markdown.code, markdown.block, markdown.fenced, markdown.link)
    for escape in (*escapes, markdown.number, markdown.percent):
        environment.filters[escape.__name__] = escape
    return environment.get_template("dataset.md.jinja")


def _parts(
    path: Path, sections: Mapping[str, str], name: str, required: tuple[str, ...], optional: str = ""
) -> dict[str, str]:
    """The parts of a section of a prose file by heading; the text before the first heading has the key ''."""
    if not sections.get(name):
        raise _incomplete(path, f"'# {name}'")
    parts = _sections(sections[name], "## ")
    for heading in required:
        if not parts.get(heading):
            raise _incomplete(path, f"'## {heading}' in '# {name}'" if heading else f"a first paragraph in '# {name}'")
    known = {*required, optional}
    if unknown := [part for part in parts if part not in known and not _replaces(part, known)]:
        raise ReleaseError(
            f"'# {name}' has sections that no card shows",
            where=str(path),
            found=", ".join(f"'## {part}'" for part in unknown),
            expected=", ".join(f"'## {part}'" for part in (*filter(None, required), optional) if part)
            + ", or one of these for a version: '## Decided in 2.0.0'",
            todo="rename or remove them",
        )
    return parts


def _replaces(heading: str, known: set[str]) -> bool:
    """Whether a section is one of a version, for one of the known sections: `Limits of 2.0.0`."""
    return VERSION_SECTION.fullmatch(heading) is not None and heading.split(maxsplit=1)[0] in known


def _sections(text: str, mark: str) -> dict[str, str]:
    """The text below each heading of one level; the text before the first heading has the key ''."""
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in text.splitlines():
        if line.startswith(mark):
            lines = sections.setdefault(line.removeprefix(mark).strip(), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


def _citations(definition: Definition) -> tuple[str, ...]:
    """The citation keys of the source, the dataset and the benchmark, without repetitions."""
    benchmark = definition.dataset.benchmark.citations if definition.dataset.benchmark else ()
    return tuple(dict.fromkeys((*definition.source.citations, *definition.dataset.citation, *benchmark)))


def _splits(manifest: Manifest) -> list[str]:
    return list(dict.fromkeys(table.split for table in manifest.tables))


def _labels(task: tasks.Task) -> str:
    """The labels of a task, or the range of its scores, as Markdown; empty for a task with neither."""
    if isinstance(task, tasks.STS):
        return f"{task.low:g} to {task.high:g}, higher is more similar"
    return ", ".join(f"{index} {markdown.code(name)}" for index, name in enumerate(tasks.label_names(task)))


def _mteb_task(dataset: Dataset, manifest: Manifest) -> dict[str, Any] | None:
    """The values of the mteb task of a dataset, as Python code; None where a split that mteb needs is missing."""
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
    if subset := task.pair if isinstance(task, tasks.BitextMining) else dataset.subset:
        languages = {subset: languages}
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
    """A string, or a list or dict of strings, as Python code: their JSON is valid Python."""
    return json.dumps(value, ensure_ascii=False)


def _flat(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Name and value of every leaf of nested statistics, as table cells; leaves that are None are skipped.

    A key that is not an identifier comes from the data, as the name of a label does. Quantiles and language shares are one leaf.
    """
    for key, value in values.items():
        name = key.replace("_", " ") if re.fullmatch("[a-z0-9_]+", key) else markdown.code(key)
        if key == "text_length_quantiles":
            ranks = " / ".join(str(int(quantile.removeprefix("p"))) for quantile in value)
            yield " / ".join((*path, f"{name}, % {ranks}")), " / ".join(map(markdown.number, value.values()))
        elif path[-1:] == ("languages",) and key == "texts":
            yield " / ".join((*path, front_matter.LANGUAGE_FIGURES[key])), markdown.number(value)
        elif path[-1:] == ("languages",) and key == "shares":
            shares = [f"{language} {markdown.percent(share)}" for language, share in value.items()]
            yield " / ".join((*path, front_matter.LANGUAGE_FIGURES[key])), ", ".join(shares) or "–"
        elif isinstance(value, dict):
            yield from _flat(value, (*path, name))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield " / ".join((*path, name)), markdown.number(value)
        elif value is not None:
            yield " / ".join((*path, name)), markdown.code(value)
