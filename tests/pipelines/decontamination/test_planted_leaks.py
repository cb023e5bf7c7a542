"""Ten thousand leaks planted in a generated corpus: all are found, and every match is one by its definition."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from benchmarks.planted_leaks import fold, is_match, jaccard
from pipelines.checking.batches import LABEL_SCHEMA, TEXT_SCHEMA, TextBatch
from pipelines.decontamination.index_file import arrange_index, read_index
from pipelines.decontamination.indexing import index_tables
from pipelines.decontamination.matching import find_matches
from tests.support.benchmark_tables import LATIN, SYLLABLES, classification, sentence, similarity, store_texts

LEAKS = {
    "exact": 2_000,
    "folded": 2_000,
    "near": 2_500,
    "contained": 1_500,
    "split": 500,
    "swapped": 750,
    "fields": 750,
}
DOCUMENTS = 30_000
BATCH_ROWS = 3_000


class Planter:
    """Makes rows of a corpus that hold a text of the benchmarks, with the numbers of the texts that they hold."""

    def __init__(self, texts: list[str], pairs: list[tuple[str, str]]) -> None:
        self.source, self.texts, self.pairs = random.Random(21), texts, pairs
        self.rows: list[tuple[str, dict[str, str], set[str]]] = []

    def sentence(self, low: int, high: int) -> str:
        return sentence(self.source, self.source.randint(low, high), self.source.choice([LATIN, SYLLABLES]))

    def retyped(self, text: str) -> str:
        change = self.source.choice([str.upper, str.title, str.swapcase])
        space = self.source.choice([" ", "  ", ", ", "\u00a0", "\n"])
        return self.source.choice(["«{}»", "{}!!", "— {} …"]).format(change(text).replace(" ", space))

    def edited(self, text: str) -> str:
        words = text.split(" ")
        share = self.source.choice([0.01, 0.02, 0.04, 0.07, 0.1])
        for position in self.source.sample(range(len(words)), max(round(share * len(words)), 1)):
            word = self.sentence(1, 1).lower().rstrip(".")
            words[position] = self.source.choice([word, f"{words[position]} {word}", ""])
        return " ".join(word for word in words if word)

    def plant(self) -> None:
        for kind, count in LEAKS.items():
            planted = 0
            while planted < count:
                text, (one, other) = self.source.choice(self.texts), self.source.choice(self.pairs)
                if kind in ("contained", "split") and len(text.split()) < 8:
                    continue
                words = text.split(" ")
                middle = len(words) // 2
                match kind:
                    case "exact":
                        row = {"text": text}
                    case "folded":
                        row = {"text": self.retyped(text)}
                    case "near":
                        row = {"text": self.edited(text)}
                        if jaccard(row["text"], text) < 0.9 or fold(row["text"]) == fold(text):
                            continue
                    case "contained":
                        row = {"text": f"{self.sentence(60, 200)} {self.retyped(text)} {self.sentence(60, 200)}"}
                    case "split":
                        row = {"title": " ".join(words[:middle]), "text": " ".join(words[middle:])}
                    case "swapped":
                        row = {"sentence1": other, "sentence2": one}
                    case _:
                        row = {
                            "anchor": self.retyped(one),
                            "pos[0]": self.sentence(20, 30),
                            "pos[1]": self.retyped(other),
                        }
                self.rows.append((kind, row, {one, other} if kind in ("swapped", "fields") else {text}))
                planted += 1


def corpus_batches(planter: Planter) -> Iterator[tuple[dict[int, tuple[str, dict[str, str], set[str]]], TextBatch]]:
    places = sorted(planter.source.sample(range(DOCUMENTS), len(planter.rows)))
    planter.source.shuffle(planter.rows)
    planted = dict(zip(places, planter.rows, strict=True))
    for start in range(0, DOCUMENTS, BATCH_ROWS):
        own = {row: planted[row] for row in range(start, start + BATCH_ROWS) if row in planted}
        rows = [
            (row, column, text)
            for row in range(start, start + BATCH_ROWS)
            for column, text in (own[row][1] if row in own else {"text": planter.sentence(60, 160)}).items()
        ]
        batch = TextBatch("corpus", pl.DataFrame(rows, TEXT_SCHEMA, orient="row"), pl.DataFrame(schema=LABEL_SCHEMA))
        yield own, batch


@pytest.mark.slow
def test_ten_thousand_planted_leaks_are_found_and_nothing_else(tmp_path: Path) -> None:
    source = random.Random(20)
    texts = [sentence(source, 5 + number % 130, LATIN if number % 2 else SYLLABLES) for number in range(12_000)]
    pairs = [(sentence(source, 5 + number % 30), sentence(source, 5 + number % 30)) for number in range(3_000)]
    datasets = [classification("texts", texts, [0] * len(texts)), similarity("pairs", pairs, [1.0] * len(pairs))]
    tables = index_tables(datasets, tmp_path / "index")
    lookup = arrange_index(read_index(tmp_path / "index"))
    names = lookup.index.columns["row"].to_pylist()
    every = dict(zip([("texts", name, "text") for name in names], texts, strict=False))
    for number, (one, other) in enumerate(pairs):
        name = names[tables[0].rows + 2 * number]
        every |= {("pairs", name, "sentence1"): one, ("pairs", name, "sentence2"): other}
    planter = Planter(texts, pairs)
    planter.plant()
    found: Counter[str] = Counter()
    stored = store_texts(lookup.index, datasets, tmp_path)
    for planted, batch in corpus_batches(planter):
        fields = {(row, column): text for row, column, text in batch.texts.rows()}
        matched: dict[int, set[tuple[str, str]]] = {}
        for match in find_matches(lookup, batch, stored).matches.to_dicts():
            row, text = match["corpus_row"], every[match["dataset"], match["row"], match["column"]]
            corpus = " ".join(fields[row, column] for column in match["corpus_column"].split("+"))
            assert is_match(match["kind"], corpus, text, match["similarity"]), match
            assert row in planted
            matched.setdefault(row, set()).add((text, match["unit"]))
        for row, (kind, _, expected) in planted.items():
            unit = "pair" if kind in ("swapped", "fields") else "text"
            found[kind] += {(text, unit) for text in expected} <= matched.get(row, set())
    assert found == LEAKS
