"""Load and evaluate published releases as users do; test_hub_consumers.py runs it with HF_ENDPOINT set to a loopback Hub.

`python consumers.py rows|cards|bm25|drop_in|builtin|evaluator JOB.json` writes one JSON object to JOB.answer.json.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

DIMENSION = 1024


def embed(text: str) -> Any:
    """Return normalised hashed character-trigram counts: enough to rank texts of any language by shared words."""
    import numpy as np

    counts = np.zeros(DIMENSION, dtype="f4")
    folded = f"  {text.lower()} "
    for start in range(len(folded) - 2):
        counts[zlib.crc32(folded[start : start + 3].encode()) % DIMENSION] += 1
    return counts / np.linalg.norm(counts)


def encoder() -> Any:
    """Return an mteb encoder that embeds texts with `embed`."""
    import numpy as np
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta

    class Trigrams(AbsEncoder):
        def __init__(self) -> None:
            self.mteb_model_meta = ModelMeta.create_empty({"name": "tests/trigrams", "revision": "1"})

        def encode(self, inputs: Any, **_: Any) -> Any:
            return np.stack([embed(text) for batch in inputs for text in batch["text"]])

    return Trigrams()


def rows(job: dict[str, Any]) -> dict[str, Any]:
    """Load every table of every repository by tag, as a whole and streaming."""
    from datasets import load_dataset

    loaded: dict[str, Any] = {}
    for repo, tables in job["tables"].items():
        for config, split in tables:
            whole = load_dataset(repo, config, split=split, revision=job["revision"])
            streamed = load_dataset(repo, config, split=split, revision=job["revision"], streaming=True)
            loaded[f"{repo} {config} {split}"] = [whole.to_list(), list(streamed)]
    return loaded


def cards(job: dict[str, Any]) -> dict[str, Any]:
    """Run the mteb snippet of each card, with only repository and model replaced, and return the main scores."""
    scores = {}
    for repo, card in job["cards"].items():
        [code] = [block.split("```")[0] for block in card.split("```python\n")[1:] if "mteb.TaskMetadata(" in block]
        lines = [f'repo = "{repo}"' if line.startswith("repo = ") else line for line in code.splitlines()]
        lines = ["model = MODEL" if line.startswith("model = ") else line for line in lines]
        namespace: dict[str, Any] = {"MODEL": encoder()}
        exec("\n".join(lines), namespace)
        scores[repo] = _main_score(namespace["results"])
    return scores


def drop_in(job: dict[str, Any]) -> dict[str, Any]:
    """Run the code of each card that evaluates mteb's built-in tasks, with only the model replaced.

    cards: the cards as published, by repository. Returns for each task the dataset that it read, and the main score of each split
    by subset.
    """
    ran = {}
    for card in job["cards"].values():
        [code] = [block.split("```")[0] for block in card.split("```python\n")[1:] if "model_copy(" in block]
        namespace: dict[str, Any] = {"MODEL": encoder()}
        exec(code.replace('mteb.get_model("intfloat/multilingual-e5-small")', "MODEL"), namespace)
        for task, result in zip(namespace["tasks"], namespace["results"].task_results, strict=True):
            scores = {
                split: {one["hf_subset"]: one["main_score"] for one in subsets}
                for split, subsets in result.scores.items()
            }
            assert result.dataset_revision == task.metadata.dataset["revision"]
            ran[result.task_name] = {"dataset": dict(task.metadata.dataset), "scores": scores}
    return ran


def bm25(job: dict[str, Any]) -> dict[str, Any]:
    """Run the mteb snippets with mteb's BM25 as the model."""
    import mteb

    globals()["encoder"] = lambda: mteb.get_model("mteb/baseline-bm25s")
    return cards(job)


def builtin(job: dict[str, Any]) -> dict[str, Any]:
    """Run mteb's own tasks unchanged, and return the descriptive statistics and main score of each."""
    import mteb

    results = {}
    for name in job["tasks"]:
        task = mteb.get_task(name)
        results[name] = {"statistics": task.calculate_descriptive_statistics(overwrite_results=True)}
        results[name]["score"] = _main_score(mteb.evaluate(encoder(), mteb.get_task(name), cache=None))
    return results


def evaluator(job: dict[str, Any]) -> dict[str, Any]:
    """Run InformationRetrievalEvaluator of sentence-transformers with a bag-of-words model over the corpus vocabulary."""
    from datasets import load_dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.models import BoW

    split = job["split"]
    corpus, queries, qrels = (
        load_dataset(job["repo"], config, split=split, revision=job["revision"])
        for config in ("corpus", "queries", "qrels")
    )
    relevant: dict[str, set[str]] = {}
    for judgement in qrels:
        relevant.setdefault(judgement["query-id"], set()).add(judgement["corpus-id"])
    words = sorted({word for row in corpus for word in row["text"].lower().split()})
    model = SentenceTransformer(modules=[BoW(words)])
    evaluate = InformationRetrievalEvaluator(
        dict(zip(queries["id"], queries["text"], strict=True)),
        dict(zip(corpus["id"], corpus["text"], strict=True)),
        relevant,
    )
    return {key: float(value) for key, value in evaluate(model).items()}


def _main_score(results: Any) -> float:
    [result] = results.task_results
    return float(result.get_score())


if __name__ == "__main__":
    commands = {function.__name__: function for function in (rows, cards, drop_in, bm25, builtin, evaluator)}
    answer = commands[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
    file = Path(sys.argv[2]).with_suffix(".answer.json")
    file.write_text(json.dumps(answer, ensure_ascii=False, default=str), "utf-8")
    os._exit(0)  # after streaming, a pyarrow thread may abort the normal interpreter exit
