"""Renders the card of a release, its README.md, from the builder, the manifest, the statistics and the prose.

The same rows give the same card: it does not depend on the time, the machine or the versions of libraries.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml

from builders import tasks
from builders.docstrings import read_docstring
from builders.spec import version_key
from cards import front_matter, markdown
from cards.citations import arxiv_papers, bibtex
from cards.manifest import SEVERITIES
from cards.mteb_tasks import built_in_tasks, namesake_tasks
from cards.placeholders import fill_placeholders, release_numbers
from cards.snippets import OR_FOLDER, unnamed_repository
from cards.texts import Prose, citation_keys, read_prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from builders.catalogue import Definition
    from builders.spec import Dataset
    from cards.manifest import Manifest

CARDS = Path(__file__).parent


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
    citations = [bibtex(key) for key in citation_keys(definition)]
    return _template().render(
        front_matter=head,
        source=source,
        dataset=dataset,
        manifest=manifest,
        examples=examples,
        prose=_read_filled_prose(dataset, manifest),
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


def _read_filled_prose(dataset: Dataset, manifest: Manifest) -> Prose:
    """The prose of a dataset with the numbers of one release in it."""
    prose = read_prose(manifest.source, dataset.name, manifest.version)
    rows = {(table.config, table.split): table.rows for table in manifest.tables}
    numbers = release_numbers(dataset.task, rows, manifest.recipe.options, manifest.observed)
    where = f"prose of {dataset.name}"
    return Prose(**{name: fill_placeholders(text, numbers, where) for name, text in vars(prose).items()})


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
