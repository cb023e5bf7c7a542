"""The recipes of training pairs from large files that are read once: python benchmarks/all.py wikiomnia query2doc bge-m3

The raw files are generated in the real format with about as many bytes a record as the real ones; words and texts are invented.
WikiOmnia is one JSON array. In the archive of BGE-M3, most bytes are files of other languages, which are passed over, and the
wanted files have their true number of rows at any size. The recipe of the newest version reads the raw file and makes the tables,
without writing and checking a release; of Query2doc, whose rows have seven random negatives, the whole build is measured too.
"""

import json
import random
import shutil
import tarfile
from functools import partial
from pathlib import Path

from benchmarks.programs import Task, build, run_recipe, without_digests

ROOT = Path(__file__).parents[1]
OMNIA = "dummy/wikiomnia_ruT5_filtered/wikiomnia_ruT5_filtered_train.json"
DATASETS = {
    "wikiomnia": "wikiomnia-contrastive",
    "query2doc": "query2doc-contrastive",
    "bge_m3_data": "bge-m3-contrastive",
}
TRAIN = {"miracl_ru": 4_683, "miracl_en": 2_863, "mr-tydi_russian": 5_366, "mr-tydi_english": 3_547}
NEGATIVES = 15


def make_raw(folder: Path, megabytes: int, source: str) -> None:
    """Write the raw file of a source with about this size, and an index."""
    raw = folder / "raw" / source
    raw.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "golden" / "ru_hnp" / "raw" / "benchmark-index.parquet", raw)
    rng = random.Random(2023)
    letters = "abdegiklmnoprstu" if source == "query2doc" else "абвгдежзиклмнопрст"
    words = ["".join(rng.choices(letters, k=rng.choice((3, 5, 8)))) for _ in range(50_000)]
    if source == "wikiomnia":
        path = raw / OMNIA
        path.parent.mkdir(parents=True)
        write_array(path, rng, words, megabytes * 10**6)
    elif source == "query2doc":
        write_lines(raw / "train.jsonl", rng, words, megabytes * 10**6)
    else:
        path = raw / "bge-m3-data.tar.gz"
        write_archive(path, folder, rng, words, megabytes * 10**6)


def sentence(rng: random.Random, words: list[str], count: int) -> str:
    """Return an invented text of so many words."""
    return " ".join(rng.choices(words, k=count))


def write_array(path: Path, rng: random.Random, words: list[str], size: int) -> None:
    """Write questions, each summary with three, as one array: about 2,000 bytes each."""
    written = 2
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while written < size:
            summary, title = sentence(rng, words, 140), sentence(rng, words, 2)
            for _ in range(3):
                question = sentence(rng, words, 8)
                record = {
                    "title": title,
                    "categories": title,
                    "summary": summary,
                    "question": question,
                    "answer": title,
                }
                text = json.dumps(record | {"batch_id": "1"}, ensure_ascii=False)
                written += file.write(f"{',' if written > 2 else ''}\n{text}") and len(text.encode()) + 2
        file.write("\n]\n")


def write_lines(path: Path, rng: random.Random, words: list[str], size: int) -> None:
    """Write queries, each with a passage: about 480 bytes each."""
    number = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            record = {"query": sentence(rng, words, 6), "pseudo_doc": sentence(rng, words, 60), "query_id": str(number)}
            written += file.write(json.dumps(record) + "\n")
            number += 1


def write_archive(path: Path, folder: Path, rng: random.Random, words: list[str], size: int) -> None:
    """Write the wanted files between others, which are as large as the archive must still become."""
    part = folder / "part.jsonl"

    def add(archive: tarfile.TarFile, name: str, rows: int) -> None:
        with part.open("w", encoding="utf-8") as file:
            for _ in range(rows):
                texts = [sentence(rng, words, 100) for _ in range(1 + NEGATIVES)]
                record = {"query": sentence(rng, words, 7), "pos": texts[:1], "neg": texts[1:]}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        archive.add(part, f"bge-m3-data/{name}_len-0-500.jsonl")

    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for number, (stem, rows) in enumerate(TRAIN.items()):
            add(archive, f"{'MIRACL' if number < 2 else 'Mr.TyDi'}/{stem}", rows)
            filler = 0
            while path.stat().st_size < size * (number + 1) / len(TRAIN):
                if not filler:
                    add(archive, f"other/miracl_{number}a_0", 3_000)
                else:
                    archive.add(part, f"bge-m3-data/other/miracl_{number}a_{filler}_len-0-500.jsonl")
                filler += 1
    part.unlink()


def recipe(folder: Path, source: str) -> None:
    """Run a recipe."""
    dataset = without_digests(DATASETS[source]).dataset
    shutil.rmtree(folder / "scratch", ignore_errors=True)
    (folder / "scratch").mkdir()
    run_recipe(folder / "raw" / source, folder / "scratch", dataset.name, **dataset.options(dataset.newest))


def task(source: str, true: int) -> Task:
    """A task for a source, and a tenth of it."""
    run = {"recipe": partial(recipe, source=source)}
    if source == "query2doc":
        run["build"] = lambda folder: build(folder, without_digests(DATASETS[source]))
    return Task("MB", (true // 10,), (true,), partial(make_raw, source=source), run)


TASKS = {
    "wikiomnia": task("wikiomnia", 430),
    "query2doc": task("query2doc", 241),
    "bge-m3": task("bge_m3_data", 250),
}  # a tenth of the real file, all of it, a hundredth
