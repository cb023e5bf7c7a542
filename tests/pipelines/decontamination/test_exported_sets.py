"""Training data as a trainer reads them: exported with leaks, scanned, cleaned, and counted again by n-grams without our code."""

import html
import json
import re
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from pipelines.exporting.sets import Choices
from pipelines.make import BuildResult
from tests.support.exports import CHOICES, export, read_lines
from tests.support.first_contact import GOLDEN
from tests.support.processes import run
from tests.support.training_releases import SEARCH, write_training_release

BENCHMARKS = {
    "rubq-retrieval": ("rubq/rubq-retrieval/2.0.0/corpus.test", "rubq/rubq-retrieval/2.0.0/queries.test"),
    "ru-stsbenchmark-sts": ("stsb_ru/ru-stsbenchmark-sts/2.0.0/default.test",),
    "dialfact-classification": ("dialfact/dialfact-classification/2.0.0/default.test",),
}
FORMS: tuple[Callable[[str], str], ...] = (
    str,
    str.upper,
    "Question: {}".format,
    "This was said before. {} And this was said after it.".format,
    "<|im_start|>user\n{}<|im_end|>".format,
    lambda text: f"<p>{html.escape(text)}</p>",
    lambda text: text.replace(" ", "\n"),
)
FIELDS = ("query", "positives", "negatives")
PREFIXES = ("", "search_query: ", "search_document: ")


def benchmark_texts() -> list[str]:
    """The texts of five words or more, from the golden rows of the benchmarks."""
    rows = [row for paths in BENCHMARKS.values() for path in paths for row in read_lines(GOLDEN / f"{path}.jsonl")]
    texts = [row[column] for row in rows for column in ("text", "sentence1", "sentence2") if column in row]
    return [text for text in dict.fromkeys(texts) if len(words(text)) >= 5]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def grams(text: str) -> set[tuple[str, ...]]:
    parts = words(text)
    return {tuple(parts[start : start + 8]) for start in range(len(parts) - 7)}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from strings(part)


def leaking(rows: list[Any], texts: list[str]) -> list[Any]:
    """The rows that have eight words of a text in order; of a text with fewer words, a field with it alone."""
    known = {gram for text in texts for gram in grams(text)}
    short = {prefix + text for text in texts if not grams(text) for prefix in PREFIXES}
    return [row for row in rows if any(field in short or grams(field) & known for field in strings(row))]


def exported_rows(folder: Path) -> list[Any]:
    paths = sorted((folder / "data").iterdir())
    return [
        row for path in paths for row in (json.loads(path.read_bytes()) if path.suffix == ".json" else read_lines(path))
    ]


def plant(texts: list[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with each text in each form, in the query, in the first positive or in the first negative."""
    leaks = [form(text) for form in FORMS for text in texts if form is str or grams(text)]
    planted = []
    for number, (leak, row, field) in enumerate(zip(leaks, cycle(rows), cycle(FIELDS), strict=False)):
        planted.append(row | {"id": f"leak-{number}", field: leak if field == "query" else [leak, *row[field][1:]]})
    return planted


@pytest.mark.parametrize(
    "choices",
    [CHOICES["flagembedding"], CHOICES["medi"], Choices("medi", 1, "each", "instruction")],
    ids=["flagembedding", "medi", "medi-instruction"],
)
def test_a_clean_copy_of_an_export_has_no_eight_words_of_a_benchmark_in_order(
    choices: Choices, golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    built = [golden_release(name).release_dir for name in BENCHMARKS]
    releases = str(built[0].parents[1])
    texts = benchmark_texts()
    paths = sorted((GOLDEN / "medi" / "medi-contrastive" / "1.0.0").glob("*.train.jsonl"))
    rows = [row for path in paths for row in read_lines(path)]
    rows = [row for row in rows if row["negatives"]]
    planted = plant(texts, rows)
    sets = {"clean": rows, "mixed": [*planted, *rows]}
    release_dir = write_training_release(tmp_path, sets, {"clean": SEARCH, "mixed": SEARCH})
    export([release_dir], tmp_path / "export", choices)
    before = exported_rows(tmp_path / "export")
    assert len(leaking(before, texts)) == len(planted) > 200

    index, clean = str(tmp_path / "index"), str(tmp_path / "clean" / "data")
    assert run("contamination", "index", *BENCHMARKS, "--releases", releases, "--output", index).returncode == 0
    options = ("--index", index, "--releases", releases, "--clean", clean, "--cache", str(tmp_path / "cache"))
    assert run("contamination", "scan", str(tmp_path / "export" / "data"), *options).returncode == 0
    (tmp_path / "clean" / "data" / "removed.json").unlink()
    after = exported_rows(tmp_path / "clean")
    assert leaking(after, texts) == []
    assert after == [row for row in before if row not in leaking(before, texts)]
