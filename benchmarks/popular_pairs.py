"""The builds of training pairs from sources that do not fit in memory: python benchmarks/all.py pikabu ru-news

The raw files are generated in the real format, with about as many bytes a record as the real ones; words and texts are invented.

- floor: the lower bound: unpack, parse the JSON, write titles and texts to Parquet with zstd, on one thread;
- measure: what `embedding-datasets decide` does for the lengths of all texts, with words instead of tokens: reading, hashing,
  sorting, writing;
- recipe: the recipe alone, whose pool and set are in memory at its end;
- build: what `embedding-datasets build` does for version 2.0.0, from raw files to release, with all checks. The sets have
  their true sizes, so the pools of Pikabu and RuNews have 200,000 rows at any share.
"""

import io
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.programs import Task, count_words, run_recipe, without_digests, write_floor, write_measurements
from benchmarks.programs import build as build_release

ROOT = Path(__file__).parents[1]
DATASETS = {"pikabu": "pikabu-contrastive", "ru_news": "ru-news-contrastive"}
VERSION = "2.0.0"  # cleaned, without mined negatives
FILES = {"pikabu": [f"{number:02}.jsonl.zst" for number in range(20)], "ru_news": ["ru_news.jsonl.zst"]}
LETTERS = ("бвгджзклмнпрстфхцчш", "аеиоу")
COMMENTS = 2_000  # different lists of comments
# Mean and standard deviation of the logarithm of a text's length in sentences of 12 words.
LENGTHS = {"pikabu": (2.2, 0.9), "ru_news": (2.7, 0.6)}


# --- raw files


def make_raw(folder: Path, records: int, source: str) -> None:
    """Write all raw files, the same bytes every time, and the number of records."""
    import pyarrow as pa

    raw = folder / "raw" / source
    raw.mkdir(parents=True)
    rng = random.Random(2023)
    lines = generate_records(rng, source, records)
    for number, name in enumerate(FILES[source]):
        count = records * (number + 1) // len(FILES[source]) - records * number // len(FILES[source])
        with pa.CompressedOutputStream(str(raw / name), "zstd") as file:
            for _ in range(count):
                file.write(next(lines))
    shutil.copy(ROOT / "tests" / "golden" / "ru_hnp" / "raw" / "benchmark-index.parquet", raw)
    (folder / "records").write_text(str(records))


def generate_records(rng: random.Random, source: str, records: int) -> Iterator[bytes]:
    """Yield the lines of a source."""
    words = [made_up(rng) for _ in range(50_000)]
    sentences = [" ".join(rng.choices(words, k=12)).capitalize() + "." for _ in range(50_000)]
    comments = [json.dumps(make_comments(rng, sentences), ensure_ascii=False) for _ in range(COMMENTS)]
    mean, spread = LENGTHS[source]
    for number in range(records):
        text = "\\n".join(rng.choices(sentences, k=max(1, int(rng.lognormvariate(mean, spread)))))
        title = " ".join(rng.choices(words, k=rng.choice((2, 3, 5, 8))))
        address = f'"url": "https://example.org/{number}"'
        if source == "ru_news":
            yield f'{{{address}, "text": "{text}", "title": "{title}", "source": "lenta", "timestamp": 1550000000}}\n'.encode()
            continue
        votes = int(rng.lognormvariate(4, 2))
        yield (
            f'{{"id": {number}, "title": "{title}", "text_markdown": "{text}", "timestamp": 1500000000, "author_id": 7, '
            f'"username": "u", "rating": {votes - 20}, "pluses": {votes}, "minuses": 20, {address}, "tags": ["а"], '
            f'"blocks": [{{"data": "{text}", "type": "text"}}], "comments": {comments[rng.randrange(COMMENTS)]}}}\n'
        ).encode()


def make_comments(rng: random.Random, sentences: list[str]) -> dict[str, list[Any]]:
    """Comments as an object of lists: as many as make a record of Pikabu as long as the real ones are on average."""
    texts = [" ".join(rng.choices(sentences, k=rng.choice((1, 1, 2)))) for _ in range(int(rng.expovariate(1 / 25)))]
    numbers = {name: [1] * len(texts) for name in ("id", "timestamp", "parent_id", "rating", "pluses", "minuses")}
    return numbers | {"text_markdown": texts, "text_html": [f"<p>{text}</p>" for text in texts]}


def made_up(rng: random.Random) -> str:
    """Return an invented word."""
    return "".join(rng.choice(letters) for _ in range(rng.choice((1, 2, 3, 4))) for letters in LETTERS)


# --- programs


def floor(folder: Path, source: str) -> None:
    """Convert the titles and texts to Parquet without any other work."""
    import pyarrow as pa

    files = (
        io.BufferedReader(pa.CompressedInputStream(str(folder / "raw" / source / name), "zstd"))
        for name in FILES[source]
    )
    write_floor(folder, files, "title", "text_markdown" if source == "pikabu" else "text")


def measure_texts(folder: Path, source: str) -> None:
    """Write the lengths of all texts, in words."""
    write_measurements(folder / "raw" / source, load(source), "tokens", count_words)


def recipe(folder: Path, source: str) -> None:
    """Run the recipe of version 2.0.0, without checks and release."""
    options = load(source).dataset.options(VERSION) | options_of(folder, source)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        run_recipe(folder / "raw" / source, Path(scratch), DATASETS[source], **options)


def build(folder: Path, source: str) -> None:
    """Run a complete build."""
    build_release(folder, load(source), VERSION, **options_of(folder, source))


def options_of(folder: Path, source: str) -> dict[str, int]:
    """The options that fit the number of generated records."""
    return {"records": int((folder / "records").read_text())} if source == "pikabu" else {}


def load(source: str) -> Any:
    """The definition of a dataset of the catalogue."""
    return without_digests(DATASETS[source])


def task(source: str, unit: str, small: int, true: int) -> Task:
    """A task for a source. The sizes are a hundredth and a tenth of the real one."""
    programs = {"floor": floor, "measure": measure_texts, "recipe": recipe, "build": build}
    return Task(
        unit,
        (small,),
        (true,),
        partial(make_raw, source=source),
        {name: partial(program, source=source) for name, program in programs.items()},
    )


TASKS = {
    "pikabu": task("pikabu", "stories", 69_076, 690_762),
    "ru-news": task("ru_news", "articles", 43_043, 430_433),
}
