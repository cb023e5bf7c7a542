"""A classifier's decisions on the sentences of a source: made once, written as a raw file, so that no build needs the classifier.

The source says what is decided, and how its file looks (builders.spec.Decisions).
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tqdm import tqdm

from builders.spec import Decisions
from pipelines.models.loading import Classify
from pipelines.process.resumable import resumable_file

BATCH = 32


def write_decisions(
    decisions: Decisions, sentences: list[str], classify: Classify, classifier: str, target: Path
) -> None:
    """Write the decisions on sentences into a file, completely or not at all.

    Each batch is written to a file beside the target, from which the next call with the same sentences resumes. classifier: the
    name that goes into the file.
    """

    def finished(file: BinaryIO) -> Iterator[int]:
        for line, sentence in zip(file, sentences, strict=False):
            if line not in {f"{decisions.line(sentence, accepted)}\n".encode() for accepted in (True, False)}:
                return
            yield len(line)

    part = target.with_name(f"{target.name}.part")
    with resumable_file(part, f"{decisions.head(classifier)}\n".encode(), finished) as (file, done):
        bar = tqdm(
            desc="deciding", total=len(sentences), initial=done, unit=" sentences", file=sys.stderr, disable=None
        )
        with bar:
            for start in range(done, len(sentences), BATCH):
                batch = sentences[start : start + BATCH]
                for sentence, accepted in zip(batch, classify(batch), strict=True):
                    file.write(f"{decisions.line(sentence, accepted)}\n".encode())
                file.flush()
                bar.update(len(batch))
    part.replace(target)
