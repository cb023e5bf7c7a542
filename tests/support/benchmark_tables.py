"""Small generated benchmarks, for tests of contamination: sentences of many words, pairs, queries with documents."""

import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builders import tasks
from pipelines.decontamination.index_file import TextIndex, read_index
from pipelines.decontamination.indexing import IndexedDataset, StoredTexts, index_tables, open_texts, write_texts

SYLLABLES = ("ба", "ве", "го", "ду", "жи", "ко", "лю", "ма", "не", "по", "ра", "су", "та", "фи", "ча", "шё")
LATIN = ("ba", "ve", "go", "du", "ji", "ko", "lyu", "ma", "ne", "po", "ra", "su", "ta", "fi", "cha", "sho")


def sentence(random_source: random.Random, words: int, syllables: Sequence[str] = SYLLABLES) -> str:
    """A sentence of this many words of two to four syllables, with a capital and a full stop."""
    text = " ".join("".join(random_source.choices(syllables, k=random_source.randint(2, 4))) for _ in range(words))
    return f"{text.capitalize()}."


def classification(name: str, texts: Sequence[str], labels: Sequence[int], split: str = "test") -> IndexedDataset:
    """A classification of the labels `bad`, `good` and `fair`."""
    names = ("bad", "good", "fair")
    frame = pl.DataFrame(
        {"text": texts, "label": labels, "label_text": [names[label] for label in labels]},
        schema={"text": pl.String, "label": pl.Int64, "label_text": pl.String},
    )
    return IndexedDataset(name, "1.0.0", tasks.Classification(names, (split,)), {"default": {split: frame.lazy()}})


def similarity(name: str, pairs: Sequence[tuple[str, str]], scores: Sequence[float]) -> IndexedDataset:
    """Pairs of sentences with a score from 0 to 5."""
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    frame = pl.DataFrame(
        {"sentence1": first, "sentence2": second, "score": scores}, schema_overrides={"score": pl.Float64}
    )
    return IndexedDataset(name, "1.0.0", tasks.STS(0, 5, ("test",)), {"default": {"test": frame.lazy()}})


def retrieval(name: str, documents: Sequence[str], queries: Sequence[tuple[str, Sequence[int]]]) -> IndexedDataset:
    """Queries, each with the positions of its relevant documents. Ids are d0, d1 and q0, q1; titles are empty."""
    corpus = pl.DataFrame({"id": [f"d{i}" for i in range(len(documents))], "title": "", "text": documents})
    asked = pl.DataFrame({"id": [f"q{i}" for i in range(len(queries))], "text": [text for text, _ in queries]})
    judged = [(f"q{query}", f"d{document}", 1) for query, (_, relevant) in enumerate(queries) for document in relevant]
    qrels = pl.DataFrame(judged, {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}, orient="row")
    frames = {"corpus": corpus, "queries": asked, "qrels": qrels}
    return IndexedDataset(
        name, "2.0.0", tasks.Retrieval(), {config: {"test": frame.lazy()} for config, frame in frames.items()}
    )


def index_of(datasets: Sequence[IndexedDataset], folder: Path) -> TextIndex:
    """The index of datasets, written to the file `index` in the folder and read again."""
    index_tables(datasets, folder / "index")
    return read_index(folder / "index")


def store_texts(index: TextIndex, datasets: Sequence[IndexedDataset], folder: Path) -> StoredTexts:
    """The texts of an index that are available, in a file in the folder."""
    write_texts(index.tables, datasets, folder / "texts.arrow")
    return open_texts(index, folder / "texts.arrow")
