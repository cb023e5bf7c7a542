"""Cards of small made-up releases, one of each task type."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from builders import tasks
from builders.catalogue import Definition, Entry
from builders.reading.values import COLUMN_TYPES
from builders.spec import Dropped, Prompts, Source, Tables, Version, dataset
from cards.evidence import Evidence
from cards.manifest import Column, File, Finding, Manifest, RawEntry, Recipe, Table
from cards.render import render

Frames = dict[str, dict[str, pl.DataFrame]]

TASKS: dict[str, tasks.Task] = {
    "Retrieval": tasks.Retrieval(),
    "Reranking": tasks.Reranking(),
    "Classification": tasks.Classification(labels=("bad", "good"), splits=("train", "test")),
    "MultilabelClassification": tasks.MultilabelClassification(labels=("joy", "fear")),
    "PairClassification": tasks.PairClassification(names=("not_entailment", "entailment"), splits=("dev",)),
    "STS": tasks.STS(low=-1.0, high=1.0),
    "Clustering": tasks.Clustering(),
    "BitextMining": tasks.BitextMining(pair="en-de"),
    "Contrastive": tasks.Contrastive(configs=("faq", "news")),
}
# A source and a dataset with prose in the package, and the languages of the texts.
NAMES = {
    "Retrieval": ("rubq", "rubq-retrieval", ("rus-Cyrl",)),
    "Reranking": ("rubq", "rubq-reranking", ("rus-Cyrl",)),
    "Classification": ("hh_rlhf", "hhrlhf-harmlessness-classification", ("eng-Latn",)),
    "MultilabelClassification": ("cedr", "cedr-classification", ("rus-Cyrl",)),
    "PairClassification": ("terra", "terra-pairclassification", ("rus-Cyrl",)),
    "STS": ("paraphraser", "ru-paraphraser-sts", ("rus-Cyrl",)),
    "Clustering": ("rubq", "rubq-retrieval", ("rus-Cyrl",)),
    "BitextMining": ("document_mt", "europarl-bitext", ("eng-Latn", "deu-Latn")),
    "Contrastive": ("rubq", "rubq-retrieval", ("rus-Cyrl",)),
}


def definition_for(task_type: str, **source: Any) -> Definition:
    """A dataset of a task type with three versions, as a builder would declare it. source: fields of its source."""
    name, dataset_name, languages = NAMES[task_type]

    def recipe(raw: object, *, minimum: int = 9, words: tuple[str, ...] = ("a|b",)) -> Tables:
        """Every line that is `<d>` or <d> opens a document.

        Columns: id (string), text (string).
        """
        raise NotImplementedError

    declared = dataset(
        dataset_name,
        task=TASKS[task_type],
        languages=languages,
        needs=("all",),
        versions={"1.0.0": "the paper's recipe", "1.10.0": "one more column", "1.9.0": Version("nine")},
        benchmark="rumteb" if "rus-Cyrl" in languages else "ateb",
        prompts=Prompts("Find the answer", ("search_query", "search_document"), ("query",)),
    )(recipe)
    fields: dict[str, Any] = {
        "title": "A source",
        "license": "cc-by-sa-4.0",
        "homepage": "https://example.org/s",
        "citation": "clark2018arc",
        "annotations": ("crowdsourced",),
    }
    source_record = Source(name=name, **({"files": {}} | fields | source))
    entry = Entry(dataset_name, name, "builders.toy", Path("toy.py"), declared.group)
    return Definition(entry, source_record, declared)


def frames_for(task_type: str, text: str = "ответ") -> Frames:
    """Tables of three rows for a task type, with the columns and types of builders.tasks. text: of the first row."""
    task = TASKS[task_type]
    cells: dict[str, Any] = {
        "string": [text, "second", "third"],
        "int64": [0, 1, 1],
        "float64": [-1.0, 0.0, 1.0],
        "list<string>": [["first", "second"], ["second"], []],
        "list<int64>": [[0, 1], [], [1]],
    }
    types = {
        "string": pl.String(),
        "int64": pl.Int64(),
        "float64": pl.Float64(),
        "list<string>": pl.List(pl.String),
        "list<int64>": pl.List(pl.Int64),
    }
    return {
        layout.config: {
            split: pl.DataFrame([pl.Series(name, cells[kind], types[kind]) for name, kind in layout.columns.items()])
            for split in task.splits
        }
        for layout in tasks.layouts(task)
    }


def manifest_for(definition: Definition, frames: Frames, **changes: Any) -> Manifest:
    """The manifest of a release of these tables; sizes of files are made up."""
    tables = tuple(
        Table(
            config,
            split,
            frame.height,
            tuple(Column(name, COLUMN_TYPES.get(dtype) or "string") for name, dtype in frame.schema.items()),
            "c" * 64,
            300,
            (File(f"{tasks.config_folder(config)}/{split}-00000-of-00001.parquet", 100, "f" * 64),),
        )
        for config, splits in frames.items()
        for split, frame in splits.items()
    )
    manifest = Manifest(
        dataset=definition.dataset.name,
        version="1.9.0",
        source=definition.source.name,
        task=definition.dataset.task.type.name,
        content_sha256="d" * 64,
        tables=tables,
        splits=definition.dataset.task.splits,
        sample=False,
        partial=False,
        raw=(RawEntry("a.jsonl", "https://example.org/a", "a" * 64, 12345, verified=True),),
        recipe=Recipe("builders.toy", {"minimum": 9, "words": ["a|b"]}, "e" * 64),
        prompts=definition.dataset.prompts,
        dropped=(Dropped("empty answer", 4, "test", ("x-1",)),),
        observed={"paragraphs after merging": 56826},
        findings=(
            finding("short_text", "info", 1, 0.5),
            finding("duplicate_text", "warning", 1234, 0.00001),
        ),
        tools={"python": "3.11"},
        built_at="2025-01-01T00:00:00Z",
    )
    return replace(manifest, **changes)


def finding(kind: str, severity: Any, count: int, share: float, **fields: Any) -> Finding:
    """A finding in default/test.text."""
    return replace(Finding(kind, severity, "default", "test", "text", count, share, ("id-1",)), **fields)


def statistics_for(definition: Definition) -> dict[str, Any]:
    return {
        split: {
            "num_samples": 3600,
            "image_statistics": None,
            "sentence1_statistics": {"min_text_length": 1, "average_text_length": 12.3456},
            "labels_statistics": {"labels": {"0": {"count": 3}}},
        }
        for split in definition.dataset.task.splits
    }


def evidence_for(task_type: str, frames: Frames) -> Evidence:
    """The first row of the first table as an example; in retrieval and reranking, the first query with the first document."""
    first = {config: next(iter(splits.values())).row(0, named=True) for config, splits in frames.items()}
    if task_type in {"Retrieval", "Reranking"}:
        return Evidence(({"query": first["queries"]["text"], "relevant": first["corpus"]["text"]},))
    return Evidence((next(iter(first.values())),))


def card_for(
    task_type: str,
    *,
    source: dict[str, Any] | None = None,
    frames: Frames | None = None,
    statistics: dict[str, Any] | None = None,
    evidence: Evidence | None = None,
    **changes: Any,
) -> str:
    """The card of a release of a task type. source: fields of its source. changes: fields of its manifest."""
    definition, frames = definition_for(task_type, **(source or {})), frames or frames_for(task_type)
    manifest = manifest_for(definition, frames, **changes)
    statistics = statistics_for(definition) if statistics is None else statistics
    return render(definition, manifest, statistics, evidence or evidence_for(task_type, frames))


def front_matter_of(card: str) -> dict[str, Any]:
    """The front matter of a card, parsed independently of the package."""
    match = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    assert match is not None
    front_matter = yaml.safe_load(match[1])
    assert isinstance(front_matter, dict)
    return front_matter


def write_release(release_dir: Path, task_type: str, **changes: Any) -> None:
    """A release as a folder: Parquet files and the card. changes: fields of every table in the manifest."""
    definition, frames = definition_for(task_type), frames_for(task_type)
    manifest = manifest_for(definition, frames)
    tables = []
    for table in manifest.tables:
        [file] = table.files
        path = release_dir / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        frames[table.config][table.split].write_parquet(path)
        tables.append(replace(table, files=(replace(file, bytes=path.stat().st_size),), **changes))
    manifest = replace(manifest, tables=tuple(tables))
    card = render(definition, manifest, statistics_for(definition), evidence_for(task_type, frames))
    (release_dir / "README.md").write_text(card, encoding="utf-8")
