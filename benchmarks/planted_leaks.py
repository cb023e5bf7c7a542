"""Generated benchmarks, a generated corpus in which some of their texts are planted, and the variants of a leaked text.

Words follow Zipf's law, half of the texts are like Russian and half like English. The same numbers give the same texts.
"""

import html
import json
import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from builders import tasks
from pipelines.decontamination.indexing import IndexedDataset

# Share of all leaks.
LEAKS = {
    "exact": 0.2,
    "folded": 0.2,
    "near": 0.25,
    "contained": 0.15,
    "split over two fields": 0.05,
    "swapped pair": 0.15,
}
# Not leaks as docs/contamination.md defines them, but rows that n-grams may list; share of the number of leaks.
OTHERS = {"edited more": 0.15, "a passage": 0.1, "a common notice": 0.1}
SYLLABLES = {
    "ru": (
        "ба",
        "ве",
        "го",
        "ду",
        "жи",
        "ко",
        "лю",
        "ма",
        "не",
        "по",
        "ра",
        "су",
        "та",
        "фи",
        "ча",
        "шё",
        "стр",
        "при",
    ),
    "en": (
        "ba",
        "ve",
        "go",
        "du",
        "ji",
        "ko",
        "lyu",
        "ma",
        "ne",
        "po",
        "ra",
        "su",
        "ta",
        "fi",
        "cha",
        "sho",
        "str",
        "pre",
    ),
}
VOCABULARY = 60_000
NOTICE = (
    "all rights reserved this page may not be copied or sent to others without the written consent of its publisher"
)
CHARACTERS = 1_000  # of a document of the corpus
GROUP_ROWS = 10_000
LATIN, CYRILLIC = "aceopxyACEOPXTHKMB", "асеорхуАСЕОРХТНКМВ"  # letters that look alike
INTRODUCTIONS = (
    "query: {}",
    "passage: {}",
    "search_document: {}",
    "Instruct: Given a question, retrieve passages that answer it\nQuery: {}",
    "Represent this sentence for searching relevant passages: {}",
    "task: search result | query: {}",
    "Вопрос: {}",
    "Question: {}",
)
CHATS = (
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
    "<s>[INST] {} [/INST]",
    "<start_of_turn>user\n{}<end_of_turn>",
    "### Instruction:\n{}\n\n### Response:\n",
)


@cache
def vocabulary(language: str) -> Any:
    """The words of a language (numpy array), the most frequent first."""
    rng, syllables = np.random.default_rng(len(language) + ord(language[0])), np.array(SYLLABLES[language], object)
    lengths = rng.integers(1, 5, VOCABULARY)
    return np.array(["".join(syllables[rng.integers(0, len(syllables), length)]) for length in lengths], object)


@cache
def _shares() -> Any:
    weights = 1 / np.arange(10, VOCABULARY + 10) ** 0.9
    return np.cumsum(weights / weights.sum())


def make_texts(rng: np.random.Generator, count: int, low: int, high: int, characters: int | None = None) -> list[str]:
    """Texts of low to high words, at most so many characters and a full stop; every second one is like Russian."""
    texts: list[str] = []
    lengths = rng.integers(low, high + 1, count)
    ends = np.cumsum(lengths)
    numbers = np.searchsorted(_shares(), rng.random(int(lengths.sum()))).clip(max=VOCABULARY - 1)
    for number, (start, end) in enumerate(zip((ends - lengths).tolist(), ends.tolist(), strict=True)):
        text = " ".join(vocabulary("en" if number % 2 else "ru")[numbers[start:end]])[:characters]
        texts.append(f"{text[:1].upper()}{text[1:]}.")
    return texts


def write_benchmarks(folder: Path, texts: int, seed: int) -> None:
    """Three benchmarks with so many texts together: documents with queries, labelled texts, pairs."""
    rng = np.random.default_rng([seed, 1])
    documents, queries, labelled, pairs = 3 * texts // 10, texts // 10, 3 * texts // 10, 3 * texts // 20
    corpus = make_texts(rng, documents, 40, 110)
    for number in range(0, documents, 100):
        corpus[number] = f"{corpus[number]} {NOTICE}."
    pl.DataFrame({"id": ids("d", documents), "title": "", "text": corpus}).write_parquet(folder / "corpus_of.parquet")
    asked = pl.DataFrame({"id": ids("q", queries), "text": make_texts(rng, queries, 5, 12)})
    asked.write_parquet(folder / "queries_of.parquet")
    judged = {"query-id": ids("q", queries), "corpus-id": ids("d", queries), "score": [1] * queries}
    pl.DataFrame(judged).write_parquet(folder / "qrels_of.parquet")
    numbers = np.arange(labelled) % 3
    table = {"id": ids("c", labelled), "text": make_texts(rng, labelled, 3, 60), "label": numbers}
    pl.DataFrame(table).write_parquet(folder / "labelled.parquet")
    first, second = make_texts(rng, pairs, 6, 25), make_texts(rng, pairs, 6, 25)
    scores = (np.arange(pairs) % 6).astype(float)
    frame = pl.DataFrame({"id": ids("p", pairs), "sentence1": first, "sentence2": second, "score": scores})
    frame.write_parquet(folder / "pairs.parquet")


def ids(letter: str, count: int) -> list[str]:
    """The names of rows."""
    return [f"{letter}{number}" for number in range(count)]


def open_benchmarks(folder: Path) -> list[IndexedDataset]:
    """The benchmarks in a folder, as the index takes them."""
    asked = {name: {"test": pl.scan_parquet(folder / f"{name}_of.parquet")} for name in ("corpus", "queries", "qrels")}
    one = {name: {"default": {"test": pl.scan_parquet(folder / f"{name}.parquet")}} for name in ("labelled", "pairs")}
    return [
        IndexedDataset("documents", "1.0.0", tasks.Retrieval(), asked),
        IndexedDataset("labelled", "1.0.0", tasks.Classification(("bad", "fair", "good"), ("test",)), one["labelled"]),
        IndexedDataset("pairs", "1.0.0", tasks.STS(0, 5, ("test",)), one["pairs"]),
    ]


def benchmark_texts(folder: Path) -> dict[str, str]:
    """Every text by the id of its row; of a pair by id and column, `p0 sentence1`."""
    texts: dict[str, str] = {}
    for name in ("corpus_of", "queries_of", "labelled"):
        texts.update(pl.read_parquet(folder / f"{name}.parquet", columns=["id", "text"]).iter_rows())
    for row, one, other in pl.read_parquet(folder / "pairs.parquet", columns=["id", "sentence1", "sentence2"]).rows():
        texts |= {f"{row} sentence1": one, f"{row} sentence2": other}
    return texts


@dataclass(frozen=True)
class Plant:
    """A row of the corpus. targets: the texts that it leaks, as benchmark_texts names them."""

    kind: str
    title: str | None
    text: str
    targets: tuple[str, ...]


def make_plants(texts: dict[str, str], leaks: int, seed: int) -> list[Plant]:
    """So many leaks of the kinds of LEAKS, and rows of the kinds of OTHERS, in a random order. No text leaks twice."""
    planter = _Planter(texts, seed)
    plants = [
        planter.plant(kind)
        for kind, share in (LEAKS | OTHERS).items()
        for _ in range(max(1, round(share * leaks)))
    ]  # fmt: skip
    planter.random.shuffle(plants)
    return plants


class _Planter:
    def __init__(self, texts: dict[str, str], seed: int) -> None:
        self.random, self.rng, self.texts = random.Random(seed), np.random.default_rng([seed, 2]), texts
        singles = [key for key, text in texts.items() if key[0] in "dc" and len(text.split()) >= 5]
        pairs = list(dict.fromkeys(key.split()[0] for key in texts if key[0] == "p"))
        self.random.shuffle(singles)
        self.random.shuffle(pairs)
        self.singles, self.pairs = iter(singles), iter(pairs)
        self.fillers: list[str] = []

    def plant(self, kind: str) -> Plant:
        make: dict[str, Callable[[], Plant]] = {
            "exact": lambda: self.changed(kind, str),
            "folded": lambda: self.changed(kind, partial(retype, self.random)),
            "near": lambda: self.edited_between(kind, 0.9, 1),
            "contained": lambda: self.changed(kind, self.embedded, 8),
            "split over two fields": lambda: self.split(kind),
            "swapped pair": lambda: self.swapped(kind),
            "edited more": lambda: self.edited_between(kind, 0.5, 0.85),
            "a passage": lambda: self.passage(kind),
            "a common notice": lambda: Plant(kind, None, f"{self.filler()} {NOTICE}.", ()),
        }
        return make[kind]()

    def changed(self, kind: str, change: Callable[[str], str], words: int = 5) -> Plant:
        key = self.next_text(words)
        return Plant(kind, None, change(self.texts[key]), (key,))

    def edited_between(self, kind: str, low: float, high: float) -> Plant:
        while True:
            key = self.next_text(8)
            text = self.edited(self.texts[key], self.random.choice([0.01, 0.02, 0.03, 0.05, 0.08, 0.1]))
            if low <= jaccard(text, self.texts[key]) < high:
                return Plant(kind, None, text, (key,) if high == 1 else ())

    def split(self, kind: str) -> Plant:
        key = self.next_text(8)
        words = self.texts[key].split(" ")
        middle = self.random.randint(len(words) // 3, 2 * len(words) // 3)
        return Plant(kind, " ".join(words[:middle]), " ".join(words[middle:]), (key,))

    def swapped(self, kind: str) -> Plant:
        keys = [f"{key} {column}" for key in [next(self.pairs)] for column in ("sentence1", "sentence2")]
        one, other = (self.texts[key] for key in keys)
        return Plant(kind, other, one, tuple(keys))

    def passage(self, kind: str) -> Plant:
        words = self.texts[self.next_text(40)].split(" ")
        start = self.random.randint(1, len(words) - 26)
        return Plant(kind, None, self.around(" ".join(words[start : start + self.random.randint(15, 25)])), ())

    def next_text(self, words: int) -> str:
        """The key of a text of at least so many words that has not been taken. Short ones are lost to the others."""
        return next(key for key in self.singles if len(self.texts[key].split()) >= words)

    def filler(self) -> str:
        if not self.fillers:
            self.fillers = make_texts(self.rng, 500, 80, 400)
        return self.fillers.pop()

    def around(self, text: str) -> str:
        return f"{self.filler()} {text} {self.filler()}"

    def embedded(self, text: str) -> str:
        return self.around(self.random.choice([str, partial(retype, self.random)])(text))

    def edited(self, text: str, share: float) -> str:
        words = text.split(" ")
        language = "ru" if any("а" <= letter <= "я" for letter in text) else "en"
        for position in self.random.sample(range(len(words)), max(1, round(share * len(words)))):
            word, choice = vocabulary(language)[self.random.randrange(VOCABULARY)], self.random.random()
            words[position] = word if choice < 0.6 else "" if choice < 0.8 else f"{words[position]} {word}"
        return " ".join(word for word in words if word)


def retype(source: random.Random, text: str) -> str:
    """The text in another case, with other spaces and punctuation."""
    change = source.choice([str.upper, str.title, str.swapcase])
    space = source.choice([" ", "  ", ", ", "\u00a0"])
    return source.choice(["{}", "«{}»", "{}!!"]).format(change(text).replace(" ", space))


def swap_letters(text: str) -> str:
    """The text with letters of the other alphabet that look alike."""
    pair = (LATIN, CYRILLIC) if len(re.findall("[a-z]", text)) > len(re.findall("[а-я]", text)) else (CYRILLIC, LATIN)
    return text.translate(str.maketrans(*pair))


def change_words(source: random.Random, text: str, share: float, change: Callable[[str], str]) -> str:
    """The text with this share of its words changed, at least one."""
    words = text.split()
    for position in source.sample(range(len(words)), max(1, round(share * len(words)))):
        words[position] = change(words[position])
    return " ".join(words)


def replace_words(source: random.Random, text: str, share: float, others: Sequence[str]) -> str:
    """The text with this share of its words, at least one, replaced by words of others."""
    return change_words(source, text, share, lambda _: source.choice(source.choice(others).split()))


def surround(source: random.Random, text: str, others: Sequence[str]) -> str:
    """The text between two others."""
    return f"{source.choice(others)} {text} {source.choice(others)}"


# How a text of a benchmark may be written in a corpus: of a random source, the text, and texts of other origin.
VARIANTS: dict[str, Callable[[random.Random, str, Sequence[str]], str]] = {
    "exact": lambda _source, text, _others: text,
    "other case, punctuation and spaces": lambda source, text, _others: retype(source, text),
    "decomposed letters (NFD), no-break spaces": lambda _source, text, _others: unicodedata.normalize(
        "NFD", text
    ).replace(" ", "\u00a0"),
    "look-alike letters of another alphabet": lambda _source, text, _others: swap_letters(text),
    "behind a prefix or instruction": lambda source, text, _others: source.choice(INTRODUCTIONS).format(text),
    "in a chat template": lambda source, text, _others: source.choice(CHATS).format(text),
    "HTML: references, every fifth word in a tag": lambda source, text, _others: (
        f"<p>{change_words(source, html.escape(text), 0.2, '<b>{}</b>'.format)}</p>"
    ),
    "JSON escapes": lambda _source, text, _others: json.dumps(text)[1:-1],
    "Markdown: one word is a link": lambda source, text, _others: change_words(source, text, 0, "[{}](/a)".format),
    "soft hyphens": lambda _source, text, _others: re.sub(r"(\w{3})(?=\w{3})", "\\1\u00ad", text),
    "hyphens at line ends": lambda _source, text, _others: re.sub(r"(?s)(.{38}\w\w)(?=\w\w)", "\\1-\n", text),
    "glued words": lambda _source, text, _others: "".join(text.split()),
    "typing errors in 5 % of the words": lambda source, text, _others: change_words(
        source, text, 0.05, lambda word: word[:-2] + word[:-3:-1]
    ),
    "5 % of the words replaced": lambda source, text, others: replace_words(source, text, 0.05, others),
    "10 % of the words replaced": lambda source, text, others: replace_words(source, text, 0.1, others),
    "in a longer text": surround,
    "in a longer text, other case and punctuation": lambda source, text, others: surround(
        source, retype(source, text), others
    ),
    "in a longer text, 5 % replaced": lambda source, text, others: surround(
        source, replace_words(source, text, 0.05, others), others
    ),
    "in a longer text, 10 % replaced": lambda source, text, others: surround(
        source, replace_words(source, text, 0.1, others), others
    ),
    "in a longer text, glued words": lambda source, text, others: surround(source, "".join(text.split()), others),
    "the first half": lambda _source, text, _others: " ".join(text.split()[: len(text.split()) // 2]),
    "the second half": lambda _source, text, _others: " ".join(text.split()[len(text.split()) // 2 :]),
    "the words in another order": lambda source, text, _others: " ".join(
        source.sample(text.split(), len(text.split()))
    ),
}


def write_corpus(folder: Path, documents: int, leaks: int, seed: int) -> None:
    """Write corpus.parquet, with the columns title and text, and which row is planted to plants.parquet.

    And head.parquet, with one document: what a program needs for it is the cost of its start.
    """
    rng = np.random.default_rng([seed, 3])
    plants = make_plants(benchmark_texts(folder), leaks, seed)
    rows = sorted(random.Random(seed).sample(range(documents), len(plants)))
    planted = dict(zip(rows, plants, strict=True))
    schema = {"title": pl.String, "text": pl.String}
    with pq.ParquetWriter(folder / "corpus.parquet", pl.DataFrame(schema=schema).to_arrow().schema) as writer:
        for start in range(0, documents, GROUP_ROWS):
            texts = make_texts(rng, min(GROUP_ROWS, documents - start), 190, 260, CHARACTERS)
            titles: list[str | None] = [None] * len(texts)
            for row in range(start, start + len(texts)):
                if row in planted:
                    titles[row - start], texts[row - start] = planted[row].title, planted[row].text
            writer.write_table(pl.DataFrame({"title": titles, "text": texts}, schema).to_arrow())
    pl.DataFrame({"title": None, "text": make_texts(rng, 1, 190, 260)}, schema).write_parquet(folder / "head.parquet")
    columns = {
        "row": rows,
        "kind": [plant.kind for plant in plants],
        "targets": [list(plant.targets) for plant in plants],
    }
    types = {"row": pl.Int64, "kind": pl.String, "targets": pl.List(pl.String)}
    pl.DataFrame(columns, types).write_parquet(folder / "plants.parquet")


def fold(text: str) -> str:
    """The folded text, as docs/contamination.md defines it, character by character."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return " ".join("".join(" " if unicodedata.category(char)[0] == "P" else char for char in plain).split())


def jaccard(one: str, other: str) -> float:
    """The share of common shingles: of three words, or of five letters where a text has fewer than 60 words."""
    folded = fold(one), fold(other)
    words = [text.split() for text in folded]
    sets: list[set[Any]]
    if all(len(text) >= 60 for text in words):
        sets = [{tuple(text[start : start + 3]) for start in range(len(text) - 2)} for text in words]
    elif all(len(text) < 80 for text in words):
        sets = [{text[start : start + 5] for start in range(max(len(text) - 4, 1))} for text in folded]
    else:
        return 0.0
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def is_match(kind: str, corpus: str, text: str, similarity: float) -> bool:
    """Whether a match is one by the definition of its kind."""
    if kind == "exact":
        return corpus == text
    if kind == "folded":
        return fold(corpus) == fold(text)
    if kind == "contained":
        return f" {fold(text)} " in f" {fold(corpus)} "
    if kind == "passage":  # most of its runs of three words; of a text that was cut, the other way round
        runs = [
            {tuple(words[at : at + 3]) for at in range(len(words) - 2)}
            for words in (fold(text).split(), fold(corpus).split())
        ]
        return len(runs[0] & runs[1]) >= 0.6 * min(map(len, runs))
    return jaccard(corpus, text) >= 0.9 and abs(jaccard(corpus, text) - similarity) < 1e-9
