"""Each format holds what the release has, row for row."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from datasets import get_dataset_config_names, load_dataset

from builders.errors import ReleaseError
from cards.manifest import Table
from pipelines.export import EXPORTING
from pipelines.exporting.sets import BATCH
from pipelines.exporting.trainers import TRAINERS, TRAINING, Trainer, make_choices
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.exports import CHOICES, export, read_columns, read_lines
from tests.support.paths import ROOT
from tests.support.training_releases import SEARCH, pair, write_training_release

TRAINING_PAGE = ROOT / "docs" / "training.md"
COLUMNS, LINES, MEDI = (CHOICES[name] for name in ("sentence-transformers", "flagembedding", "medi"))
FAQ = [
    pair("who", "a b", provided="c d", mined="e f g h i"),
    pair("when", "j", mined=""),
    pair("where", "k", provided="l", mined="m", random="m n"),
    pair("why", "o p q", provided="r s t u v w x y", mined=""),
]
NEWS = [pair("title", "body", random="z y")]


@pytest.fixture(scope="module")
def release_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets: one with mined negatives, several positives and rows with 0, 3 and more negatives, and one without."""
    releases = tmp_path_factory.mktemp("releases")
    return write_training_release(releases, {"faq": FAQ, "news": NEWS}, {"faq": SEARCH})


def columns(anchor: str, positive: str, negatives: str) -> dict[str, str]:
    texts = {f"negative_{number}": text for number, text in enumerate(negatives.split(), 1)}
    return {"anchor": anchor, "positive": positive, **texts}


def test_sentence_transformers_gets_a_file_for_each_number_of_negatives(release_dir: Path, tmp_path: Path) -> None:
    export([release_dir], tmp_path / "to", COLUMNS)
    files = {path.name: read_columns(path) for path in (tmp_path / "to" / "data").iterdir()}
    assert files == {
        "faq.parquet": [columns("who", "a", "c d e f g h i"), columns("why", "o", "r s t u v w x")],
        "faq.3-negatives.parquet": [columns("where", "k", "l m n")],
        "faq.0-negatives.parquet": [columns("when", "j", "")],
        "news.2-negatives.parquet": [columns("title", "body", "z y")],
    }
    order = ["anchor", "positive", *(f"negative_{number}" for number in range(1, 8))]
    assert pq.read_schema(tmp_path / "to" / "data" / "faq.parquet").names == order


def test_fewer_negatives_are_asked_for_and_every_row_has_them_or_says_so(release_dir: Path, tmp_path: Path) -> None:
    export([release_dir], tmp_path / "to", replace(COLUMNS, negatives=2))
    files = {path.name: pl.read_parquet(path).shape for path in (tmp_path / "to" / "data").iterdir()}
    assert files == {"faq.parquet": (3, 4), "faq.0-negatives.parquet": (1, 2), "news.parquet": (1, 4)}
    export([release_dir], tmp_path / "none", replace(COLUMNS, negatives=0))
    files = {path.name: pl.read_parquet(path).shape for path in (tmp_path / "none" / "data").iterdir()}
    assert files == {"faq.parquet": (4, 2), "news.parquet": (1, 2)}


def test_each_positive_may_be_a_row(release_dir: Path, tmp_path: Path) -> None:
    record = export([release_dir], tmp_path / "to", replace(COLUMNS, positives="each"))
    rows = read_columns(tmp_path / "to" / "data" / "faq.parquet")
    assert [(row["anchor"], row["positive"]) for row in rows] == [
        ("who", "a"), ("who", "b"), ("why", "o"), ("why", "p"), ("why", "q"),
    ]  # fmt: skip
    assert {row["negative_1"] for row in rows if row["anchor"] == "why"} == {"r"}
    assert record["sets"][0]["left_out"] == {"negatives": 1}


def test_prompts_weights_and_files_are_in_training_json(release_dir: Path, tmp_path: Path) -> None:
    export([release_dir], tmp_path / "to", COLUMNS)
    training = json.loads((tmp_path / "to" / TRAINING).read_text("utf-8"))
    assert training["datasets"]["faq"] == {"file": "data/faq.parquet", "rows": 2, "weight": 0.4}
    assert sum(dataset["weight"] for dataset in training["datasets"].values()) == pytest.approx(1)
    assert training["prompts"]["faq.3-negatives"] == {
        "anchor": "search_query: ",
        **dict.fromkeys(("positive", "negative_1", "negative_2", "negative_3"), "search_document: "),
    }
    assert training["prompts"]["faq.0-negatives"] == {"anchor": "search_query: ", "positive": "search_document: "}
    assert set(training["prompts"]["news.2-negatives"].values()) == {"clustering: "}


def test_datasets_loads_an_export_by_the_names_of_its_sets(
    release_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    target = tmp_path / "to"
    export([release_dir], target, COLUMNS)
    names = ["faq", "faq.3-negatives", "faq.0-negatives", "news.2-negatives"]
    assert get_dataset_config_names(str(target)) == names
    for name in names:
        loaded = load_dataset(str(target), name, split="train").to_list()
        assert loaded == read_columns(target / "data" / f"{name}.parquet")


def test_flagembedding_gets_lines_with_prefixes_in_the_texts(release_dir: Path, tmp_path: Path) -> None:
    record = export([release_dir], tmp_path / "to", LINES)
    data = tmp_path / "to" / "data"
    assert sorted(path.name for path in data.iterdir()) == ["faq.jsonl", "news.jsonl"]
    faq = read_lines(data / "faq.jsonl")
    assert [list(row) for row in faq] == [["query", "pos", "neg", "prompt"]] * 3
    assert faq[0] == {
        "query": "search_query: who",
        "pos": ["search_document: a", "search_document: b"],
        "neg": [f"search_document: {text}" for text in "cdefghi"],
        "prompt": "",
    }
    assert [row["query"] for row in faq] == ["search_query: who", "search_query: where", "search_query: why"]
    assert faq[1]["neg"] == [f"search_document: {text}" for text in "lmn"]
    assert read_lines(data / "news.jsonl") == [
        {
            "query": "clustering: title",
            "pos": ["clustering: body"],
            "neg": ["clustering: z", "clustering: y"],
            "prompt": "",
        }
    ]
    assert record["sets"][0]["dropped"] == {"no negative": 1}


def test_a_set_without_negatives_has_no_file_of_lines(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"faq": [pair("q")], "news": NEWS})
    record = export([release_dir], tmp_path / "to", LINES)
    assert [path.name for path in (tmp_path / "to" / "data").iterdir()] == ["news.jsonl"]
    assert [(one["rows"], one["files"] != []) for one in record["sets"]] == [(0, False), (1, True)]
    only = write_training_release(tmp_path / "only", {"faq": [pair("q")]})
    with pytest.raises(ReleaseError, match=r"(?s)no row to export for flagembedding.*no negative"):
        export([only], tmp_path / "nothing", LINES)
    assert not (tmp_path / "nothing").exists()


def medi(task: str, number: int, *texts: str) -> dict[str, Any]:
    query, positive, negative = (["", text] for text in texts)
    return {"query": query, "pos": positive, "neg": negative, "task_name": task, "task_id": number}


def test_medi_is_one_array_with_the_rows_of_a_task_behind_each_other(release_dir: Path, tmp_path: Path) -> None:
    record = export([release_dir], tmp_path / "to", MEDI)
    written = json.loads((tmp_path / "to" / "data" / "medi-data.json").read_text("utf-8"))
    query, document = "search_query: ", "search_document: "
    assert written == [
        medi("faq", 0, f"{query}who", f"{document}a", f"{document}c"),
        medi("faq", 0, f"{query}where", f"{document}k", f"{document}l"),
        medi("faq", 0, f"{query}why", f"{document}o", f"{document}r"),
        medi("news", 1, "clustering: title", "clustering: body", "clustering: z"),
    ]
    assert record["sets"][0]["dropped"] == {"no negative": 1}


def test_the_prefixes_of_medi_may_be_its_instructions(release_dir: Path, tmp_path: Path) -> None:
    export([release_dir], tmp_path / "to", replace(MEDI, prefixes="instruction", positives="each"))
    written = json.loads((tmp_path / "to" / "data" / "medi-data.json").read_text("utf-8"))
    assert len(written) == 2 + 1 + 3 + 1
    assert written[1]["query"] == ["search_query: ", "who"]
    assert written[1]["pos"] == ["search_document: ", "b"]
    assert written[1]["neg"] == ["search_document: ", "c"]


def test_the_record_says_what_was_written_of_each_set(release_dir: Path, tmp_path: Path) -> None:
    record = export([release_dir], tmp_path / "to", COLUMNS)
    manifest = folder.require_manifest(release_dir)
    assert record == json.loads((tmp_path / "to" / "export.json").read_text("utf-8"))
    assert record["releases"] == [
        {
            "dataset": "toy-contrastive",
            "version": "1.0.0",
            "content_sha256": manifest.content_sha256,
            "sample": False,
            "partial": False,
        }
    ]
    assert record["options"] == {"negatives": 7, "positives": "first", "prefixes": "apart"}
    faq = record["sets"][0]
    assert (faq["rows_of_release"], faq["rows"], faq["weight"]) == (4, 4, 0.8)
    assert faq["negatives"] == {"mined": 6, "provided": 10, "random": 1}
    assert faq["left_out"] == {"negatives": 1, "positives": 3}
    assert {file["path"] for file in record["files"]} == {
        path.relative_to(tmp_path / "to").as_posix()
        for path in (tmp_path / "to").rglob("*")
        if path.is_file() and path.name != "export.json"
    }


def test_large_sets_have_full_row_groups_whatever_the_row_groups_of_the_release(tmp_path: Path) -> None:
    rows = [pair(f"q{number}", provided="a b" if number % 3 else "a") for number in range(2 * BATCH)]
    release_dir = write_training_release(tmp_path, {"faq": rows})
    export([release_dir], tmp_path / "to", replace(COLUMNS, negatives=2))
    data = tmp_path / "to" / "data"
    both = pl.concat([pl.read_parquet(path, columns=["anchor"]) for path in sorted(data.iterdir(), reverse=True)])
    assert both["anchor"].to_list() == [row["query"] for row in sorted(rows, key=lambda row: -len(row["negatives"]))]
    metadata = pq.read_metadata(data / "faq.parquet")
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [BATCH, metadata.num_rows - BATCH]


@pytest.mark.parametrize(
    ("dataset", "version"),
    [
        ("ru-hnp-contrastive", "1.0.0"),
        ("ru-wanli-contrastive", "2.0.0"),
        pytest.param("medi-contrastive", "2.0.0", marks=pytest.mark.slow),
    ],
)
def test_every_row_of_a_built_release_is_in_every_format(
    golden_release: Callable[..., BuildResult], dataset: str, version: str, tmp_path: Path
) -> None:
    built = golden_release(dataset, version)
    records = {name: export([built.release_dir], tmp_path / name, choices) for name, choices in CHOICES.items()}
    lines = json.loads((tmp_path / "medi" / "data" / "medi-data.json").read_text("utf-8"))
    for table in built.manifest.tables:
        rows = release_rows(built.release_dir, table)
        assert rows, table.config
        with_negatives = [row for row in rows if row["negatives"]]
        files = (tmp_path / "sentence-transformers" / "data").glob(f"{table.config}.*")
        found = [list(row.values()) for path in files for row in read_columns(path)]
        expected = [[row["query"], row["positives"][0], *row["negatives"][:7]] for row in rows]
        assert sorted(found) == sorted(expected)
        [own] = [each for each in records["flagembedding"]["sets"] if each["name"] == table.config]
        query, document = own["prefixes"].values()
        assert read_lines(tmp_path / "flagembedding" / own["files"][0]["path"]) == [
            {
                "query": query + row["query"],
                "pos": [document + text for text in row["positives"]],
                "neg": [document + text for text in row["negatives"][:7]],
                "prompt": "",
            }
            for row in with_negatives
        ]
        assert [row["query"][1] for row in lines if row["task_name"] == table.config] == [
            query + row["query"] for row in with_negatives
        ]


def release_rows(release_dir: Path, table: Table) -> list[dict[str, Any]]:
    return pl.concat([pl.read_parquet(release_dir / file.path) for file in table.files]).to_dicts()


def test_a_trainer_is_a_record_with_a_template_and_a_row_in_the_documentation() -> None:
    templates = {path.name.removesuffix(".md.jinja") for path in (EXPORTING / "readme").iterdir()}
    assert set(TRAINERS) == templates
    rows = re.findall(r"^\| `([\w-]+)` \|", TRAINING_PAGE.read_text("utf-8"), re.MULTILINE)
    assert set(TRAINERS) <= set(rows)


@pytest.mark.parametrize("trainer", TRAINERS.values(), ids=lambda trainer: trainer.name)
def test_every_trainer_writes_what_its_defaults_say_and_is_called_so_in_its_readme(
    trainer: Trainer, tmp_path: Path
) -> None:
    choices = make_choices(trainer, None, None, None)
    assert (choices.trainer, choices.negatives) == (trainer.name, trainer.negatives[1])
    rows = [pair("who", "a b", provided="c d"), pair("when", "e", provided="f")]
    written = export([write_training_release(tmp_path, {"faq": rows})], tmp_path / "to", choices)
    assert (written["format"], written["rows"]) == (trainer.name, 2)
    assert "data/" in (tmp_path / "to" / "README.md").read_text("utf-8")
