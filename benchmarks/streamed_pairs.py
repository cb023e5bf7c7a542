"""Measure the recipes of training pairs from two large files that are read once: WikiOmnia and the data of BGE-M3.

    python benchmarks/streamed_pairs.py                  a tenth of WikiOmnia, a hundredth of the archive
    python benchmarks/streamed_pairs.py --factor 0.1     a tenth of these shares

The raw files are generated in the real format with about as many bytes a record as the real ones; words and texts are invented.
WikiOmnia is one JSON array. In the archive, most bytes are files of other languages, which are passed over, and the wanted
files have their true number of rows at any share. Each recipe of the newest version runs in a separate process, from the raw
file to the tables, without writing and checking a release.
"""

import argparse
import json
import random
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.programs import measure  # noqa: E402

OMNIA = "dummy/wikiomnia_ruT5_filtered/wikiomnia_ruT5_filtered_train.json"
DATASETS = {"wikiomnia": "wikiomnia-contrastive", "bge_m3_data": "bge-m3-contrastive"}
REAL = {"wikiomnia": 4_278_635_364, "bge_m3_data": 24_000_000_000}  # bytes of the files
SHARES = {"wikiomnia": 0.1, "bge_m3_data": 0.01}
TRAIN = {"miracl_ru": 4_683, "miracl_en": 2_863, "mr-tydi_russian": 5_366, "mr-tydi_english": 3_547}
NEGATIVES = 15


def main() -> None:
    """Generate the raw files, run the recipes, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--factor", type=float, default=1.0, help="of the shares (default: 1)")
    arguments.add_argument("--build", help=argparse.SUPPRESS)
    arguments.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.build:
        build(options.build, options.folder)
        return
    print("| source | share | raw file | seconds | processor seconds | peak memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for source, share in SHARES.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            size = make_raw(source, folder, int(REAL[source] * share * options.factor))
            took = measure(__file__, "--build", source, "--folder", str(folder), show=False)
            cells = f"{took.seconds:,.0f} | {took.processor:,.0f} | {took.memory / 2**20:,.0f} MB |"
            print(f"| {source} | {size / REAL[source]:.3f} | {size / 1e9:.2f} GB | {cells}", flush=True)


def make_raw(source: str, folder: Path, size: int) -> int:
    """Write the raw file of a source with about this many bytes, and an index. Returns its bytes."""
    raw = folder / "raw" / source
    raw.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "golden" / "ru_hnp" / "raw" / "benchmark-index.parquet", raw)
    rng = random.Random(2023)
    words = ["".join(rng.choices("абвгдежзиклмнопрст", k=rng.choice((3, 5, 8)))) for _ in range(50_000)]
    if source == "wikiomnia":
        path = raw / OMNIA
        path.parent.mkdir(parents=True)
        write_array(path, rng, words, size)
    else:
        path = raw / "bge-m3-data.tar.gz"
        write_archive(path, folder, rng, words, size)
    return path.stat().st_size


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


def build(source: str, folder: Path) -> None:
    """Run a recipe."""
    from builders import catalogue
    from builders.spec import Raw, RawFiles

    definition = catalogue.load(catalogue.entries()[DATASETS[source]])
    raw = folder / "raw" / source
    files = {key: Raw(f"{source}/{file.name}", raw / file.name) for key, file in definition.source.files.items()}
    (folder / "scratch").mkdir()
    dataset = definition.dataset
    dataset.recipe(RawFiles(("train",), files, folder / "scratch"), **dataset.options(dataset.newest))


if __name__ == "__main__":
    main()
