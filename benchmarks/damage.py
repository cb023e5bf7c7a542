"""What the auditor says of damage that others planted into real texts, each kind alone.

`damage_described.py` was written from a list of defects, `damage_reported.py` from public reports (a link for each), by two
writers who had seen neither the auditor nor its tests; `damage.sha256` has the digests that both had before the auditor was
changed. `damage_third.py`, of a third such writer, was kept from those who changed it, and ran when they had done. This
prints, as JSON, the findings that are new or different after each damage; whether they name it is for a reader to say, whose
verdicts are in `damage_verdicts.tsv`. The texts belong to others and are not here: they are built from raw files.

    python benchmarks/damage.py DATA --write-data SOURCES  # SOURCES/<source>/<file>, as for `build --raw-dir`
    python benchmarks/damage.py described DATA            # DATA/<dataset>/<config>/<split>.parquet
    python benchmarks/damage.py reported DATA --profile   # also what is learned
    python benchmarks/damage.py third DATA --profile
"""

import argparse
import importlib
import json
import sys
import tempfile
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
BUILT = (
    "cedr-classification", "ru-paraphraser-sts", "terra-pairclassification", "alphanli-retrieval", "arc-challenge-retrieval",
    "piqa-retrieval", "winogrande-retrieval", "europarl-bitext", "iwslt17-bitext",
)  # fmt: skip
PARTLY_BUILT = (
    "esnli-classification",
    "hhrlhf-harmlessness-classification",
    "vitaminc-classification",
)  # their test split
WRITERS = ("described", "reported", "third")
LEARNED = ("Classification", "MultilabelClassification", "STS", "PairClassification")
Tables = dict[tuple[str, str], pl.DataFrame]


def write_data(sources: Path, data: Path) -> None:
    """Build the datasets of the damages from raw files: releases where the raw files are complete, else tables like them."""
    with tempfile.TemporaryDirectory() as output:
        for names, splits in ((BUILT, None), (PARTLY_BUILT, ("test",))):
            versions = [f"{name}@1.0.0" for name in names]
            for release in embedding_datasets.build(
                *versions, splits=splits, raw_dir=sources, offline=True, output=output
            ):
                name = release.manifest.name.partition("@")[0]
                write(data, name, {(c, s): frame for c, by in release.tables.items() for s, frame in by.items()})
    reviews = pl.read_ndjson(sources / "kinopoisk" / "kinopoisk.standin.jsonl", infer_schema_length=None)
    reviews = reviews.select(
        id=pl.col("review_id").cast(pl.String),
        text="content",
        label=pl.col("grade3").replace_strict({"Bad": 0, "Neutral": 1, "Good": 2}),
        label_text=pl.col("grade3").str.to_lowercase(),
    )
    is_test = pl.int_range(pl.len()) * 673 % pl.len() < 673
    pairs = pl.read_parquet(data / "ru-paraphraser-sts" / "default" / "train.parquet")
    stsb: dict[str, Any] = {"has_header": False, "new_columns": ["sentence1", "sentence2", "score"]}
    xnli = pl.read_csv(sources / "xnli" / "dev-ru.tsv", separator="\t", has_header=False, quote_char=None,
                       new_columns=["sentence1", "sentence2", "name"])  # fmt: skip
    for name, tables in {
        "kinopoisk-classification": {"train": reviews.filter(~is_test), "test": reviews.filter(is_test)},
        "stsb-sts": {
            split: pl.read_csv(sources / "stsb_ru" / f"stsb-ru-{split}.csv", **stsb) for split in ("train", "test")
        },
        "xnli-pairclassification": {
            "dev": xnli.filter(pl.col("name") != "neutral").select(
                "sentence1", "sentence2", labels=(pl.col("name") == "entailment").cast(pl.Int64)
            )
        },
        "pairs-contrastive": {
            "train": pairs.filter(pl.col("score") == 1).select(query="sentence1", positive="sentence2")
        },
    }.items():
        write(data, name, {("default", split): frame for split, frame in tables.items()})


def write(data: Path, dataset: str, tables: Tables) -> None:
    """Write the tables of a dataset."""
    for (config, split), frame in tables.items():
        (data / dataset / config).mkdir(parents=True, exist_ok=True)
        frame.write_parquet(data / dataset / config / f"{split}.parquet")


def read(data: Path, dataset: str) -> Tables:
    """The tables of a dataset, by config and split."""
    return {
        (path.parent.name, path.stem): pl.read_parquet(path) for path in sorted((data / dataset).glob("*/*.parquet"))
    }


def read_for_third(data: Path, dataset: str) -> Tables:
    """The tables as the third writer knew them: `label` for `labels`, lists of positives and negatives, a validation split."""
    tables = {key: frame.rename({"labels": "label"}, strict=False) for key, frame in read(data, dataset).items()}
    if dataset == "pairs-contrastive":
        pairs = tables["default", "train"].select("query", positives=pl.concat_list("positive"))
        others = pl.concat([pairs["positives"][-997:], pairs["positives"][:-997]])
        tables["default", "train"] = pairs.with_columns(negatives=others)
    if dataset == "kinopoisk-classification":
        test = tables["default", "test"]
        tables |= {("default", "validation"): test[::2], ("default", "test"): test[1::2]}
    return tables


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
        tables = (read_for_third if writer == "third" else read)(data, damage.dataset)
        if damage.dataset not in sound:
            sound[damage.dataset] = audit(damage.dataset, tables, profile=profile)
        if writer == "third":
            where = damage.expected
            try:
                damaged, count = damage.apply(tables)
            except AssertionError as error:
                print(f"not planted: {damage.name}: {error}", file=sys.stderr)
                continue
        else:
            damaged, expected = damage.plant(tables)
            where, count = expected.where, expected.count
        found = [
            finding
            for finding in audit(damage.dataset, damaged, profile=profile)
            if finding not in sound[damage.dataset]
        ]
        yield {
            "damage": damage.name,
            "dataset": damage.dataset,
            "where": where,
            "count": count,
            "found": found,
        }


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("writer", nargs="?", choices=WRITERS)
    arguments.add_argument("data", type=Path, metavar="DATA")
    arguments.add_argument("--profile", action="store_true")
    arguments.add_argument(
        "--write-data", type=Path, metavar="SOURCES", help="write the datasets to DATA, of raw files"
    )
    chosen = arguments.parse_args()
    if chosen.write_data:
        write_data(chosen.write_data, chosen.data)
        sys.exit()
    for result in measure(chosen.writer, chosen.data, profile=chosen.profile):
        print(json.dumps(result, ensure_ascii=False), flush=True)
