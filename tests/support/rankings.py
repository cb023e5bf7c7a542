"""Rankings without a model: the invented ones of the golden samples of datasets with hard negatives.

    python -m tests.support.rankings      # writes tests/golden/<source>/raw/ranked/<model>.parquet

A ranking names, for each query of the sample that it ranks, the documents in the order of their scores.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from builders.ranking.hard_negatives import MODELS
from pipelines.make import GOLDEN, make
from pipelines.models.loading import Embedder
from pipelines.models.mining import MinedTable, describe, find_tables, read_texts, write_ranking
from pipelines.release.folder import scan_table
from tests.support.releases import definition_of, sample_settings

LARGE, MISTRAL = MODELS
INVENTED: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "ria-news-retrieval-hard-negatives": {
        LARGE: {"q6": "6 19 1 15", "q4": "4 20 22 14", "q18": "18 6 19 13", "q8": "8 16 21 2", "q5": "5 20 15 3"},
        MISTRAL: {"q6": "1 6 18 19", "q4": "4 22 20 3", "q18": "19 18 5 6", "q8": "8 16 14 21", "q5": "5 15 21 2"},
    },
    "miracl-retrieval-hard-negatives-ru": {
        LARGE: {
            "3": "101#0 101#1 805#0", "7": "205#0 620#0 801#0", "12": "310#0 310#2 310#1", "20": "733#0 402#0 402#1",
            "58": "803#0 402#1 205#2",
        },
        MISTRAL: {
            "3": "101#0 101#2 805#0", "7": "620#0 205#0 806#0", "12": "310#0 310#1 805#0", "20": "402#0 733#0 802#0",
            "58": "205#2 804#0 803#0",
        },
    },
}  # fmt: skip


def write_invented(table: MinedTable, model: str, rankings: Mapping[str, Sequence[str]], target: Path) -> None:
    """Write the ranking of a table: of each query its documents, by their ids."""
    embedder = Embedder(model, model, "invented", "invented", 512, {}, lambda *_: np.zeros((0, 0), "f4"), target)
    texts = read_texts(table)
    [corpus] = [entry for entry in table.manifest.tables if entry.config == table.config]
    ids = scan_table(table.release_dir, corpus).collect()["id"]
    places = {name: place for place, name in enumerate(ids)}
    lists = [np.array([places[name] for name in rankings[query]]) for query in texts.queries["id"]]
    target.parent.mkdir(parents=True, exist_ok=True)
    write_ranking(target, describe(table, texts, embedder), lambda _: [lists], len(lists), lambda _: None)


def write_golden(folder: Path, golden: Path = GOLDEN) -> None:
    """Write the rankings of all golden samples, from releases that are built in a folder."""
    for name, models in INVENTED.items():
        definition = definition_of(name)
        mining = definition.dataset.mining
        assert mining is not None
        make(definition_of(mining.of), mining.version, sample_settings(folder))
        for model, rankings in models.items():
            [table] = find_tables(definition, folder / "outputs", [model])
            lists = {query: names.split() for query, names in rankings.items()}
            write_invented(table, model, lists, golden / definition.source.name / "raw" / table.name)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        write_golden(Path(temporary))
