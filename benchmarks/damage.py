"""What the auditor says of damage that others planted into real texts, each kind alone.

`damage_described.py` was written from a list of defects, `damage_reported.py` from public reports (a link for each), by two
writers who had seen neither the auditor nor its tests; `damage.sha256` has the digests that both had before the auditor was
changed. This prints, as JSON, the findings that are new or different after each damage; whether they name it is for a reader
to say, whose verdicts are in `damage_verdicts.tsv`. The texts belong to others and are not here.

    python benchmarks/damage.py described DATA            # DATA/<dataset>/<config>/<split>.parquet
    python benchmarks/damage.py reported DATA --profile   # also what is learned
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import embedding_datasets

TASKS = {
    "classification": "Classification", "sts": "STS", "pairclassification": "PairClassification", "retrieval": "Retrieval",
    "bitext": "BitextMining", "contrastive": "Contrastive",
}  # fmt: skip
RUSSIAN = ("cedr", "kinopoisk", "terra", "ru", "xnli", "stsb", "pairs")
LEARNED = ("Classification", "MultilabelClassification", "STS", "PairClassification")
Tables = dict[tuple[str, str], pl.DataFrame]


def read(data: Path, dataset: str) -> Tables:
    """The tables of a dataset, by config and split."""
    return {
        (path.parent.name, path.stem): pl.read_parquet(path) for path in sorted((data / dataset).glob("*/*.parquet"))
    }


def audit(dataset: str, tables: Tables, *, profile: bool) -> list[tuple[Any, ...]]:
    """What `check` finds in the tables: kind, severity, location, count and detail of each finding."""
    task = "MultilabelClassification" if dataset.startswith("cedr") else TASKS[dataset.rpartition("-")[2]]
    by_config: dict[str, dict[str, pl.DataFrame]] = {}
    for (config, split), frame in tables.items():
        by_config.setdefault("pairs" if task == "Contrastive" else config, {})[split] = frame
    options: dict[str, Any] = {}
    if task != "BitextMining":
        options["language"] = "rus-Cyrl" if dataset.partition("-")[0] in RUSSIAN else "eng-Latn"
    if task == "STS":
        options["scale"] = (0, 5) if dataset.startswith("stsb") else (-1, 1)
    frames: Any = by_config if list(by_config) != ["default"] else by_config["default"]
    result = embedding_datasets.check(frames, task=task, profile=profile and task in LEARNED, **options)
    return [(found.kind, found.severity, found.location, found.count, found.detail) for found in result.findings]


def measure(writer: str, data: Path, *, profile: bool) -> Iterator[dict[str, Any]]:
    """For each damage: what and where it is, how many rows it has, and what is found because of it."""
    sound: dict[str, list[tuple[Any, ...]]] = {}
    for damage in importlib.import_module(f"benchmarks.damage_{writer}").DAMAGES:
        tables = read(data, damage.dataset)
        if damage.dataset not in sound:
            sound[damage.dataset] = audit(damage.dataset, tables, profile=profile)
        damaged, expected = damage.plant(tables)
        found = [
            finding
            for finding in audit(damage.dataset, damaged, profile=profile)
            if finding not in sound[damage.dataset]
        ]
        yield {
            "damage": damage.name,
            "dataset": damage.dataset,
            "where": expected.where,
            "count": expected.count,
            "found": found,
        }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("writer", choices=("described", "reported"))
    arguments.add_argument("data", type=Path, metavar="DATA")
    arguments.add_argument("--profile", action="store_true")
    chosen = arguments.parse_args()
    for result in measure(chosen.writer, chosen.data, profile=chosen.profile):
        print(json.dumps(result, ensure_ascii=False), flush=True)
