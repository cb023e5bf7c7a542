"""Load and evaluate published releases as users do; test_hub_consumers.py runs it with HF_ENDPOINT set to a loopback Hub.

`python consumers.py COMMAND JOB.json` runs one of the functions below and writes one JSON object to JOB.answer.json.
"""

import json
import os
import sys
import zlib
from functools import partial
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


def readers(job: dict[str, Any]) -> dict[str, Any]:
    """Read files of repositories at a tag: with pandas from the Hub, with polars and duckdb from a downloaded copy.

    files: for each repository its tag, and the paths of each table by a name. Returns the rows of each table by reader.
    """
    import duckdb
    import pandas as pd
    import polars as pl
    from huggingface_hub import snapshot_download

    connection = duckdb.connect()
    read: dict[str, Any] = {}
    for repo, (revision, tables) in job["files"].items():
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision))
        for name, paths in tables.items():
            files = [str(folder / path) for path in paths]
            frame = pd.concat([pd.read_parquet(f"hf://datasets/{repo}@{revision}/{path}") for path in paths])
            found = connection.execute("SELECT * FROM read_parquet(?)", [files])
            columns = [column[0] for column in found.description]
            read[f"{repo} {name}"] = {
                "pandas": [{key: _plain(value) for key, value in row.items()} for row in frame.to_dict("records")],
                "polars": pl.read_parquet(files).to_dicts(),
                "duckdb": [dict(zip(columns, row, strict=True)) for row in found.fetchall()],
            }
    return read


def _plain(value: Any) -> Any:
    """A list instead of an array."""
    return value.tolist() if hasattr(value, "tolist") else value


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
                split: {subset["hf_subset"]: subset["main_score"] for subset in subsets}
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
        results[name] = {"statistics": mteb.get_task(name).calculate_descriptive_statistics(overwrite_results=True)}
        results[name]["score"] = _main_score(mteb.evaluate(encoder(), mteb.get_task(name), cache=None))
    return results


def evaluators(job: dict[str, Any]) -> dict[str, Any]:
    """Run the evaluator of sentence-transformers for each kind of task, with a bag of words over the texts of the dataset.

    repos: the repository, tag and split of each evaluator. Returns the scores of each.
    """
    from datasets import load_dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import BoW

    scores = {}
    for name, (repo, revision, split) in job["repos"].items():
        load = partial(load_dataset, repo, split=split, revision=revision)
        texts, evaluate = EVALUATORS[name](load)
        words = sorted({word for text in texts for word in text.lower().split()})
        answer = evaluate(SentenceTransformer(modules=[BoW(words)]))
        scores[name] = {key: float(value) for key, value in answer.items()}
    return scores


def _information_retrieval(load: Any) -> Any:
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

    corpus, queries = ({row["id"]: row["text"] for row in load(name=name)} for name in ("corpus", "queries"))
    relevant: dict[str, set[str]] = {}
    for one in load(name="qrels"):
        relevant.setdefault(one["query-id"], set()).add(one["corpus-id"])
    return corpus.values(), InformationRetrievalEvaluator(queries, corpus, relevant)


def _reranking(load: Any) -> Any:
    from sentence_transformers.evaluation import RerankingEvaluator

    corpus, queries = ({row["id"]: row["text"] for row in load(name=name)} for name in ("corpus", "queries"))
    relevant = {(one["query-id"], one["corpus-id"]) for one in load(name="qrels") if one["score"] > 0}
    samples = [
        {
            "query": queries[row["query-id"]],
            "positive": [corpus[one] for one in row["corpus-ids"] if (row["query-id"], one) in relevant],
            "negative": [corpus[one] for one in row["corpus-ids"] if (row["query-id"], one) not in relevant],
        }
        for row in load(name="top_ranked")
    ]
    return corpus.values(), RerankingEvaluator(samples)


def _similarity(load: Any) -> Any:
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

    rows = load(name="default")
    sides = list(rows["sentence1"]), list(rows["sentence2"])
    return [*sides[0], *sides[1]], EmbeddingSimilarityEvaluator(*sides, list(rows["score"]))


def _binary_classification(load: Any) -> Any:
    from sentence_transformers.evaluation import BinaryClassificationEvaluator

    rows = load(name="default")
    sides = list(rows["sentence1"]), list(rows["sentence2"])
    return [*sides[0], *sides[1]], BinaryClassificationEvaluator(*sides, list(rows["labels"]))


def _translation(load: Any) -> Any:
    from sentence_transformers.evaluation import TranslationEvaluator

    rows = load(name="en-de")
    sides = list(rows["sentence1"]), list(rows["sentence2"])
    return [*sides[0], *sides[1]], TranslationEvaluator(*sides)


def _triplets(load: Any) -> Any:
    from sentence_transformers.evaluation import TripletEvaluator

    rows = list(load(name="default"))
    triplets = [
        (anchor["sentences"], positive["sentences"], negative["sentences"])
        for anchor in rows
        for positive in rows
        for negative in rows
        if anchor["labels"] == positive["labels"] != negative["labels"] and anchor != positive
    ]
    return [row["sentences"] for row in rows], TripletEvaluator(*map(list, zip(*triplets[:100], strict=True)))


EVALUATORS = {
    "InformationRetrievalEvaluator": _information_retrieval,
    "RerankingEvaluator": _reranking,
    "EmbeddingSimilarityEvaluator": _similarity,
    "BinaryClassificationEvaluator": _binary_classification,
    "TranslationEvaluator": _translation,
    "TripletEvaluator": _triplets,
}


def train(job: dict[str, Any]) -> dict[str, Any]:
    """Train a small model with the code of an export, and load the rows that it came from by tag.

    export: its folder. code: that of its README.md. repos: the tag and the config of each repository. Returns the rows of each
    repository, the loss of every step, and a query as the model gets it.
    """
    import torch
    from datasets import load_dataset

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = {
        repo: load_dataset(repo, config, split="train", revision=tag) for repo, (tag, config) in job["repos"].items()
    }
    texts = [
        text for data in rows.values() for row in data for text in (row["query"], *row["positives"], *row["negatives"])
    ]
    changes = {
        'Path(".")': repr(Path(job["export"])).replace("PosixPath", "Path"),
        '"intfloat/multilingual-e5-small"': repr(str(_small_model(Path("small"), texts))),
        "per_device_train_batch_size=128": "per_device_train_batch_size=4, learning_rate=0.01, logging_steps=1, "
        'save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True',
        "num_train_epochs=1": "num_train_epochs=8",
        "SentenceTransformerTrainer(model, arguments": "trainer = SentenceTransformerTrainer(model, arguments",
        ".train()": "\ntrainer.train()",
    }
    code = job["code"]
    for old, new in changes.items():
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    trainer, model = namespace["trainer"], namespace["model"]
    batch = trainer.data_collator([namespace["train"]["ru-hnp"][0] | {"dataset_name": "ru-hnp"}])
    return {
        "rows": {repo: data.to_list() for repo, data in rows.items()},
        "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        "anchor": model.tokenizer.decode(batch["anchor_input_ids"][0], skip_special_tokens=True),
    }


def _small_model(folder: Path, texts: list[str]) -> Path:
    """A BERT with one small layer, random weights and the words of some texts, in the files of a model on the Hub."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.trainers import WordLevelTrainer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = Tokenizer(WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.train_from_iterator(
        [*texts, "classification: "], WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]", model_max_length=64
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=words.get_vocab_size(), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


def _main_score(results: Any) -> float:
    [result] = results.task_results
    return float(result.get_score())


if __name__ == "__main__":
    commands = {
        function.__name__: function for function in (rows, readers, cards, drop_in, bm25, builtin, evaluators, train)
    }
    answer = commands[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text("utf-8")))
    file = Path(sys.argv[2]).with_suffix(".answer.json")
    file.write_text(json.dumps(answer, ensure_ascii=False, default=str), "utf-8")
    os._exit(0)  # after streaming, a pyarrow thread may abort the normal interpreter exit
