"""Read a folder of JSON lines with the loaders of FlagEmbedding; test_training.py runs it where that package is installed.

`python flagembedding_loaders.py FOLDER ANSWER.json` writes the pairs of query and passages that both of its datasets give, with
the arguments that the README.md of an export names.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def read(folder: str) -> dict[str, Any]:
    """For each kind of dataset, its queries with their passages: a positive, then negatives."""
    from FlagEmbedding.abc.finetune.embedder.AbsArguments import AbsEmbedderDataArguments
    from FlagEmbedding.abc.finetune.embedder.AbsDataset import (
        AbsEmbedderSameDatasetTrainDataset,
        AbsEmbedderTrainDataset,
    )

    arguments = AbsEmbedderDataArguments(
        train_data=[folder],
        cache_path=tempfile.mkdtemp(),
        train_group_size=8,
        query_instruction_for_retrieval="",
        same_dataset_within_batch=True,
    )
    mixed = AbsEmbedderTrainDataset(arguments, None)
    batches = AbsEmbedderSameDatasetTrainDataset(arguments, 2, 0, None)
    same = []
    for _ in range(len(batches)):
        queries, passages, *_ = batches[0]  # each call gives the next batch
        same += [[query, passages[8 * row : 8 * row + 8]] for row, query in enumerate(queries)]
    return {"mixed": [list(mixed[row][:2]) for row in range(len(mixed))], "same dataset": same}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(read(sys.argv[1]), ensure_ascii=False), "utf-8")
