"""The MIRACL builds, and our BM25 in bounded memory beside bm25s: python benchmarks/all.py miracl

The raw files are generated in the real format: 20 shards of gzipped JSON lines, topics, judgements. Words are invented and
inflected. Word frequencies, passage lengths and the share of duplicates are close to the real files: 333 characters a passage
with its title, 170 compressed bytes a passage, 44 characters a question.

- floor: the lower bound: gunzip, parse the JSON, write ids, titles and texts to Parquet with zstd, on one thread;
- retrieval, reranking: what `embedding-datasets build` does for the newest version, from raw files to release, including all
  checks;
- rank: only the BM25 step, on passages read by a minimal reader;
- bm25s: the same step with the bm25s library: tokenise, index, retrieve, with the same words, stems, formula and parameters.
"""

import gzip
import itertools
import json
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.programs import Task, without_digests, write_floor
from benchmarks.programs import build as build_release

RAW = Path("raw", "miracl")
TOPICS, QRELS = "topics.miracl-v1.0-ru-dev.tsv", "qrels.miracl-v1.0-ru-dev.tsv"
SHARD = "miracl-corpus-v1.0-ru/docs-{}.jsonl.gz"
SHARDS = 20
DATASETS = ("miracl-retrieval-ru", "miracl-reranking-ru")
DEPTH = 100

# The most frequent Russian words, in order of frequency.
FREQUENT = (
    "и", "в", "не", "на", "что", "он", "быть", "с", "это", "как", "а", "по", "к", "у", "из", "за", "его", "для", "от", "о",
    "был", "до", "года", "году", "при", "также", "во", "была", "были", "или", "год", "который", "после", "том", "под",
    "первый", "когда", "где", "кто", "каком", "сколько", "какой", "кем",
)  # fmt: skip
INTERROGATIVES = ("Когда", "Кто", "Где", "Сколько", "Как", "В каком году", "Какой", "Что", "Кем был", "На каком")
ENDINGS = ("", "а", "у", "ом", "е", "ы", "ов", "ам", "ами", "ах", "ский", "ного")
CONSONANTS, VOWELS = "бвгджзклмнпрстфхцчш", "аеиоу"
STEMS = 250_000
# Mean and standard deviation of the logarithm of a passage's length in words.
LENGTH_MEAN, LENGTH_SPREAD = 3.5, 0.72
DUPLICATE_EVERY = 500  # one passage in 500 repeats the title and text of an earlier one
JUDGED, RELEVANT = (9, 10, 10, 10, 10, 10, 11, 11, 11, 11, 12, 13), (1, 1, 1, 2, 2, 3, 3, 4, 5, 8)


# --- raw files


def make_raw(folder: Path, passages: int, questions: int, stems: int = STEMS) -> None:
    """Write all raw files, the same bytes every time, unless the topics file exists."""
    if (folder / TOPICS).exists():
        return
    rng = random.Random(2023)
    borders = [shard * passages // SHARDS for shard in range(SHARDS + 1)]
    interval = max(1, passages // questions)
    ids: list[str] = []
    question_words: list[list[str]] = []
    passage_stream, duplicated = generate_passages(rng, stems), dict[str, str]()
    (folder / SHARD).parent.mkdir(parents=True, exist_ok=True)
    for shard, (first, last) in enumerate(itertools.pairwise(borders)):
        with gzip.GzipFile(folder / SHARD.format(shard), "wb", compresslevel=4, mtime=0) as file:
            for index, (docid, title, words) in zip(range(first, last), passage_stream, strict=False):
                passage = {"docid": docid, "title": title, "text": sentences(words)}
                if index % DUPLICATE_EVERY == 0:
                    duplicated = passage
                elif index % DUPLICATE_EVERY == DUPLICATE_EVERY - 1:
                    passage = duplicated | {"docid": docid}
                file.write(json.dumps(passage, ensure_ascii=False).encode() + b"\n")
                ids.append(docid)
                if index % interval == 0 and len(question_words) < questions:
                    question_words.append(words)
    topics, judgements = [], []
    for number, words in enumerate(question_words):
        topics.append(f"{number}\t{question(rng, words)}\n")
        candidates = dict.fromkeys([number * interval, *rng.sample(range(passages), min(20, passages))])
        judged = list(candidates)[: rng.choice(JUDGED)]
        relevant = rng.choice(RELEVANT)
        judgements += [f"{number}\tQ0\t{ids[index]}\t{int(count < relevant)}\n" for count, index in enumerate(judged)]
    (folder / QRELS).write_text("".join(judgements), "utf-8", newline="\n")
    (folder / TOPICS).write_text("".join(topics), "utf-8", newline="\n")


def generate_passages(rng: random.Random, stems: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield endless passages (docid, title, words), with the passages of an article in sequence."""
    vocabulary = [made_up(number) for number in range(stems)]
    chances = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(FREQUENT) + stems)))
    for article in itertools.count(7):
        title = " ".join(inflected(rng, vocabulary[rng.randrange(stems)]) for _ in range(rng.choice((1, 2, 2, 3))))
        for passage in range(rng.choice((1, 2, 4, 6, 20))):
            length = max(2, int(rng.lognormvariate(LENGTH_MEAN, LENGTH_SPREAD)))
            ranks = rng.choices(range(len(chances)), cum_weights=chances, k=length)
            words = [
                FREQUENT[rank] if rank < len(FREQUENT) else inflected(rng, vocabulary[rank - len(FREQUENT)])
                for rank in ranks
            ]
            yield f"{article}#{passage}", title.capitalize(), words


def made_up(number: int) -> str:
    """Return a unique invented stem for a number, with a syllable for each digit."""
    syllables = ""
    while number or len(syllables) < 4:
        number, digit = divmod(number, len(CONSONANTS) * len(VOWELS))
        syllables += CONSONANTS[digit // len(VOWELS)] + VOWELS[digit % len(VOWELS)]
    return syllables + "р"


def inflected(rng: random.Random, stem: str) -> str:
    """Return an inflected form of a stem."""
    return stem + ENDINGS[int(rng.random() * len(ENDINGS))]


def sentences(words: list[str]) -> str:
    """Join words into sentences with capitals, commas and full stops."""
    runs = [words[start : start + 12] for start in range(0, len(words), 12)]
    return " ".join(" ".join(run).capitalize().replace(" и ", ", и ") + "." for run in runs)


def question(rng: random.Random, words: list[str]) -> str:
    """Generate a question with a few words of a passage."""
    long_words = [word for word in words if len(word) > 2]
    topic = rng.sample(long_words, min(len(long_words), rng.choice((3, 3, 4, 5)))) or words[:1]
    return f"{rng.choice(INTERROGATIVES)} {' '.join(topic)}?"


# --- programs


def floor(folder: Path) -> None:
    """Convert the passages to Parquet without any other work."""
    files = map(gzip.open, (folder / RAW / SHARD.format(shard) for shard in range(SHARDS)))
    write_floor(folder, files, "docid", "title", "text")


def build(folder: Path, name: str) -> None:
    """Run a complete build of one dataset."""
    build_release(folder, without_digests(name))


def rank(folder: Path) -> None:
    """Run only our BM25 step."""
    from builders.ranking import bm25

    with tempfile.TemporaryDirectory(dir=folder) as counts:
        bm25.count(questions(folder), (pl.Series(texts) for texts in batches(folder)), Path(counts))
        best = bm25.rank(questions(folder), [Path(counts)], depth=DEPTH)
    best.write_parquet(folder / "rank.parquet")


def bm25s(folder: Path) -> None:
    """Run the BM25 step with bm25s."""
    texts = list(itertools.chain.from_iterable(batches(folder)))
    library(questions(folder), texts, DEPTH).write_parquet(folder / "bm25s.parquet")


def library(queries: pl.Series, passages: list[str], depth: int) -> pl.DataFrame:
    """Rank with bm25s on the same words and stems; columns: query, passage, score."""
    import bm25s as bm25s_library
    import Stemmer

    from builders.ranking.bm25 import K1, STRESS, WORD, B

    tokenizer = bm25s_library.tokenization.Tokenizer(
        lower=True, splitter=WORD, stopwords=[], stemmer=Stemmer.Stemmer("russian")
    )
    index = bm25s_library.BM25(method="lucene", k1=K1, b=B)
    words = tokenizer.tokenize([text.replace(STRESS, "") for text in passages], update_vocab=True, show_progress=False)
    index.index((words, tokenizer.get_vocab_dict()), show_progress=False)
    query_words = tokenizer.tokenize(
        [text.replace(STRESS, "") for text in queries], update_vocab=False, show_progress=False
    )
    best, scores = index.retrieve(query_words, k=min(depth, len(passages)), show_progress=False, sorted=True)
    rows = pl.DataFrame({"query": range(len(queries)), "passage": best.tolist(), "score": scores.tolist()})
    return rows.explode("passage", "score").filter(pl.col("score") > 0)


def questions(folder: Path) -> pl.Series:
    """Read the texts of the topics."""
    return pl.Series([line.split("\t")[1] for line in (folder / RAW / TOPICS).read_text("utf-8").splitlines()])


def batches(folder: Path) -> Iterator[list[str]]:
    """Yield title and text of all passages, in batches of about 8 MB."""
    import orjson

    for shard in range(SHARDS):
        with gzip.open(folder / RAW / SHARD.format(shard)) as file:
            while lines := file.readlines(8 << 20):
                rows = [orjson.loads(line) for line in lines]
                yield [f"{row['title']} {row['text']}" for row in rows]


# --- results


def agreement(folder: Path) -> str:
    """Describe how well the two rankings agree."""
    if not (folder / "bm25s.parquet").exists():
        return ""
    ours, theirs = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rank", "bm25s"))
    both = ours.join(theirs, on=["query", "passage"], suffix="_bm25s")
    max_difference = both.select((pl.col("score") / 1e6 - pl.col("score_bm25s")).abs().max()).item()
    rank = pl.int_range(pl.len()).over("query").alias("rank")
    same = ours.with_columns(rank).join(theirs.with_columns(rank), on=["query", "passage", "rank"]).height
    return (
        f"bm25s also ranks {both.height / ours.height:.4%} of our {ours.height:,} ranked passages, {same / ours.height:.4%} "
        f"at the same rank; the scores differ by {max_difference:.6f} at most"
    )


TASKS = {
    "miracl": Task(
        "passages",
        (50_000,),
        (500_000,),
        lambda folder, passages: make_raw(folder / RAW, passages, 1_252),
        {
            "floor": floor,
            "retrieval": partial(build, name=DATASETS[0]),
            "reranking": partial(build, name=DATASETS[1]),
            "rank": rank,
            "bm25s": bm25s,
        },
        peers={"bm25s": "bm25s"},
        check=agreement,
    )
}
