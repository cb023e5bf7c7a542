"""What the two MIRACL datasets cost, per million passages, and how BM25 in bounded memory compares with bm25s.

    python benchmarks/miracl.py                 500,000 passages, 1,252 questions
    python benchmarks/miracl.py 100000          another number of passages
    python benchmarks/miracl.py --skip bm25s    without the library

The raw files are made, in the true format: 20 shards of gzipped JSON lines, topics, judgements. Words are made up and
inflected; how often they come, how long passages are and how many have a twin is near to the real files (the table of the raw
files says how near).
Then, each in a process of its own:

- retrieval, reranking: what `python -m pipelines.build` does from raw files to finished release, all checks included, for the
  newest version;
- rank: the BM25 step alone, from passages that are read already as fast as can be;
- bm25s: the same with the library: tokenise, index, retrieve. The same words, stems, formula and parameters.

At the end the two rankings are compared.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from builders.spec import Tables

ROOT = Path(__file__).parents[1]
RAW = Path("raw", "miracl")
TOPICS, QRELS = "topics.miracl-v1.0-ru-dev.tsv", "qrels.miracl-v1.0-ru-dev.tsv"
SHARD = "miracl-corpus-v1.0-ru/docs-{}.jsonl.gz"
SHARDS = 20
DATASETS = ("miracl-retrieval-ru", "miracl-reranking-ru")
DEPTH = 100
REAL = 9_543_918

# The most frequent words of Russian, in their order.
SMALL = (
    "и", "в", "не", "на", "что", "он", "быть", "с", "это", "как", "а", "по", "к", "у", "из", "за", "его", "для", "от", "о",
    "был", "до", "года", "году", "при", "также", "во", "была", "были", "или", "год", "который", "после", "том", "под",
    "первый", "когда", "где", "кто", "каком", "сколько", "какой", "кем",
)  # fmt: skip
ASKED = ("Когда", "Кто", "Где", "Сколько", "Как", "В каком году", "Какой", "Что", "Кем был", "На каком")
ENDINGS = ("", "а", "у", "ом", "е", "ы", "ов", "ам", "ами", "ах", "ский", "ного")
CONSONANTS, VOWELS = "бвгджзклмнпрстфхцчш", "аеиоу"
STEMS = 250_000
# Of the logarithm of a passage's length in words, mean and deviation.
LENGTH_MEAN, LENGTH_SPREAD = 3.5, 0.72
TWINS = 500  # so many passages to one that repeats an earlier one's title and text
JUDGED, RELEVANT = (9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 12, 13), (1, 1, 1, 2, 2, 3, 3, 4, 5, 8)


def main() -> None:
    """Make the raw files, run the four, print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("passages", nargs="?", type=int, default=500_000, help="how many (500000)")
    arguments.add_argument("questions", nargs="?", type=int, default=1_252, help="how many (1252)")
    arguments.add_argument("--folder", type=Path, help="work here, and keep what is made (default: a temporary folder)")
    arguments.add_argument("--skip", nargs="+", default=[], choices=RUNS, help="leave some out")
    arguments.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        RUNS[options.run](options.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        make_raw(folder / RAW, options.passages, options.questions)
        print(described(folder))
        measured = {name: measure(name, folder) for name in RUNS if name not in options.skip}
        print(table(measured, options.passages))
        if {"rank", "bm25s"} <= set(measured):
            print(agreement(folder))


# --- the raw files


def make_raw(folder: Path, passages: int, questions: int, stems: int = STEMS) -> None:
    """Write all raw files, the same bytes every time; where there are topics already, nothing is done."""
    if (folder / TOPICS).exists():
        return
    choose = random.Random(2023)
    cut = [shard * passages // SHARDS for shard in range(SHARDS + 1)]
    every = max(1, passages // questions)
    ids: list[str] = []
    remembered: list[list[str]] = []
    written, twin = articles(choose, stems), dict[str, str]()
    (folder / SHARD).parent.mkdir(parents=True, exist_ok=True)
    for shard, (first, last) in enumerate(itertools.pairwise(cut)):
        with gzip.GzipFile(folder / SHARD.format(shard), "wb", compresslevel=4, mtime=0) as file:
            for place, (docid, title, words) in zip(range(first, last), written, strict=False):
                passage = {"docid": docid, "title": title, "text": sentences(words)}
                if place % TWINS == 0:
                    twin = passage
                elif place % TWINS == TWINS - 1:
                    passage = twin | {"docid": docid}
                file.write(json.dumps(passage, ensure_ascii=False).encode() + b"\n")
                ids.append(docid)
                if place % every == 0 and len(remembered) < questions:
                    remembered.append(words)
    topics, judgements = [], []
    for number, words in enumerate(remembered):
        topics.append(f"{number}\t{question(choose, words)}\n")
        places = dict.fromkeys([number * every, *choose.sample(range(passages), min(20, passages))])
        judged = list(places)[: choose.choice(JUDGED)]
        relevant = choose.choice(RELEVANT)
        judgements += [f"{number}\tQ0\t{ids[place]}\t{int(count < relevant)}\n" for count, place in enumerate(judged)]
    (folder / QRELS).write_text("".join(judgements), "utf-8", newline="\n")
    (folder / TOPICS).write_text("".join(topics), "utf-8", newline="\n")


def articles(choose: random.Random, stems: int) -> Iterator[tuple[str, str, list[str]]]:
    """Passages without end: docid, title, words; several of one article follow each other."""
    vocabulary = [made_up(number) for number in range(stems)]
    chances = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(SMALL) + stems)))
    for article in itertools.count(7):
        title = " ".join(
            inflected(choose, vocabulary[choose.randrange(stems)]) for _ in range(choose.choice((1, 2, 2, 3)))
        )
        for passage in range(choose.choice((1, 2, 4, 6, 20))):
            length = max(2, int(choose.lognormvariate(LENGTH_MEAN, LENGTH_SPREAD)))
            ranks = choose.choices(range(len(chances)), cum_weights=chances, k=length)
            words = [
                SMALL[rank] if rank < len(SMALL) else inflected(choose, vocabulary[rank - len(SMALL)]) for rank in ranks
            ]
            yield f"{article}#{passage}", title.capitalize(), words


def made_up(number: int) -> str:
    """A stem of its own for each number: syllables for its digits."""
    syllables = ""
    while number or len(syllables) < 4:
        number, digit = divmod(number, len(CONSONANTS) * len(VOWELS))
        syllables += CONSONANTS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return syllables + "р"


def inflected(choose: random.Random, stem: str) -> str:
    """A form of a word."""
    return stem + ENDINGS[int(choose.random() * len(ENDINGS))]


def sentences(words: list[str]) -> str:
    """Words with capitals, commas and full stops."""
    runs = [words[start : start + 12] for start in range(0, len(words), 12)]
    return " ".join(" ".join(run).capitalize().replace(" и ", ", и ") + "." for run in runs)


def question(choose: random.Random, words: list[str]) -> str:
    """A question with a few words of a passage."""
    known = [word for word in words if len(word) > 2]
    chosen = choose.sample(known, min(len(known), choose.choice((3, 3, 4, 5)))) or words[:1]
    return f"{choose.choice(ASKED)} {' '.join(chosen)}?"


# --- the four


def retrieval(folder: Path) -> None:
    """The whole build of miracl-retrieval-ru."""
    build(folder, DATASETS[0])


def reranking(folder: Path) -> None:
    """The whole build of miracl-reranking-ru."""
    build(folder, DATASETS[1])


def build(folder: Path, name: str) -> None:
    """A whole build; the raw files are not the pinned ones, so their digests are left out."""
    sys.path.insert(0, str(ROOT))
    from dataclasses import replace

    from builders import catalogue
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    known = catalogue.load(catalogue.entries()[name])
    files = {key: replace(file, sha256=None) for key, file in known.source.files.items()}
    places = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", places, force=True, ledger=folder / "ledger.json")
    known = replace(known, source=replace(known.source, files=files))
    made = make(known, known.dataset.newest, settings)
    print(f"{name}:", "; ".join(f"{count:,} {what}" for what, count in made.manifest.observed.items()))


def recipe(folder: Path, name: str, scratch: Path, limit: int | None = None, **options: Any) -> Tables:
    """The tables of one dataset from a folder with all raw files, without writing or checking anything."""
    sys.path.insert(0, str(ROOT))
    from builders import catalogue
    from builders.spec import Raw, RawFiles

    known = catalogue.load(catalogue.entries()[name])
    files = {
        key: Raw(f"miracl/{file.name}", folder / file.name, limit=limit) for key, file in known.source.files.items()
    }
    return known.dataset.recipe(RawFiles(("dev",), files, scratch), **options)


def rank(folder: Path) -> None:
    """The BM25 step alone."""
    sys.path.insert(0, str(ROOT))
    import polars as pl

    from builders.rumteb.miracl import bm25

    with tempfile.TemporaryDirectory(dir=folder) as counts:
        bm25.count(questions(folder), (pl.Series(texts) for texts in batches(folder)), Path(counts))
        best = bm25.rank(questions(folder), [Path(counts)], depth=DEPTH)
    best.write_parquet(folder / "rank.parquet")


def bm25s(folder: Path) -> None:
    """The same with bm25s."""
    sys.path.insert(0, str(ROOT))
    texts = list(itertools.chain.from_iterable(batches(folder)))
    library(questions(folder), texts, DEPTH).write_parquet(folder / "bm25s.parquet")


def library(queries: pl.Series, passages: list[str], depth: int) -> pl.DataFrame:
    """What bm25s ranks, given the same words and stems: query, passage, score."""
    import bm25s as given
    import polars as pl
    import Stemmer

    from builders.rumteb.miracl.bm25 import K1, STRESS, WORD, B

    cut = given.tokenization.Tokenizer(lower=True, splitter=WORD, stopwords=[], stemmer=Stemmer.Stemmer("russian"))
    index = given.BM25(method="lucene", k1=K1, b=B)
    words = cut.tokenize([text.replace(STRESS, "") for text in passages], update_vocab=True, show_progress=False)
    index.index((words, cut.get_vocab_dict()), show_progress=False)
    asked = cut.tokenize([text.replace(STRESS, "") for text in queries], update_vocab=False, show_progress=False)
    best, scores = index.retrieve(asked, k=min(depth, len(passages)), show_progress=False, sorted=True)
    rows = pl.DataFrame({"query": range(len(queries)), "passage": best.tolist(), "score": scores.tolist()})
    return rows.explode("passage", "score").filter(pl.col("score") > 0)


def questions(folder: Path) -> pl.Series:
    """The texts of the topics."""
    import polars as pl

    return pl.Series([line.split("\t")[1] for line in (folder / RAW / TOPICS).read_text("utf-8").splitlines()])


def batches(folder: Path) -> Iterator[list[str]]:
    """Title and text of all passages, some megabytes at a time."""
    import orjson

    for shard in range(SHARDS):
        with gzip.open(folder / RAW / SHARD.format(shard)) as file:
            while lines := file.readlines(8 << 20):
                rows = [orjson.loads(line) for line in lines]
                yield [f"{row['title']} {row['text']}" for row in rows]


RUNS: dict[str, Callable[[Path], None]] = {
    "retrieval": retrieval,
    "reranking": reranking,
    "rank": rank,
    "bm25s": bm25s,
}


# --- what comes of it


@dataclass(frozen=True)
class Measured:
    """seconds by the clock, processor: by all cores together; memory: the most that was resident, in bytes."""

    seconds: float
    processor: float
    memory: int


def measure(name: str, folder: Path) -> Measured:
    """Run one of the four in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--run", name, "--folder", str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{name} failed")
    print(f"{name}: {seconds:.1f} s")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def described(folder: Path) -> str:
    """The raw files beside the real ones, in Markdown."""
    import polars as pl

    packed = sum((folder / RAW / SHARD.format(shard)).stat().st_size for shard in range(SHARDS))
    lengths = pl.concat([pl.Series(texts).str.len_chars() for texts in batches(folder)])
    asked = questions(folder)
    rows = [
        ("passages", f"{lengths.len():,}", f"{REAL:,}"),
        ("characters a passage, title included", f"{lengths.mean():.0f}", "333"),
        ("bytes a passage, packed", f"{packed / lengths.len():.0f}", "170"),
        ("questions", f"{asked.len():,}", "1,252"),
        ("characters a question", f"{asked.str.len_chars().mean():.0f}", "44"),
    ]
    return "\n".join(
        ["| raw files | made | real |", "| --- | ---: | ---: |", *(f"| {' | '.join(row)} |" for row in rows), ""]
    )


def table(measured: dict[str, Measured], passages: int) -> str:
    """What was measured, as a Markdown table."""
    lines = [
        "",
        "| | seconds | processor seconds | peak memory | seconds a million passages | MB a million passages |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, one in measured.items():
        figures = (
            f"{one.seconds:.1f}",
            f"{one.processor:.1f}",
            f"{one.memory / 1e6:,.0f} MB",
            f"{one.seconds / passages * 1e6:.0f}",
            f"{one.memory / passages:,.0f}",
        )
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join(lines)


def agreement(folder: Path) -> str:
    """How far the two rankings are the same."""
    import polars as pl

    ours, theirs = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rank", "bm25s"))
    both = ours.join(theirs, on=["query", "passage"], suffix="_bm25s")
    off = both.select((pl.col("score") / 1e6 - pl.col("score_bm25s")).abs().max()).item()
    place = pl.int_range(pl.len()).over("query").alias("place")
    same = ours.with_columns(place).join(theirs.with_columns(place), on=["query", "passage", "place"]).height
    return (
        f"\nof {ours.height:,} ranked passages bm25s has {both.height / ours.height:.4%} too, {same / ours.height:.4%} in the"
        f" same place; their scores differ by {off:.6f} at most"
    )


if __name__ == "__main__":
    main()
