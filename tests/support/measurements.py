"""Files of measurements without a model: for tests, and for golden samples.

    python -m tests.support.measurements xnli        # writes tests/golden/xnli/raw/tokens.parquet, and cosines.parquet

In golden samples the numbers are invented: a text has as many tokens as words, unless it says "501 words" or "501 слово"; the
cosine of two texts is the characters of the shorter by those of the longer.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from builders import catalogue
from builders.shaping.measurements import COSINE, COSINE_STEPS, LABSE, LABSE_REVISION, TOKENIZER, TOKENS
from builders.spec import Raw
from pipelines.models.loading import MeasuringModel
from pipelines.models.measuring import write_measurements
from tests.support.paths import ROOT

REVISION = "0" * 40


def tokenizer(count: Callable[[str], int]) -> MeasuringModel:
    """A tokenizer with the name of the real one, that counts as a function says."""
    return MeasuringModel(TOKENS, f"{TOKENIZER}@{REVISION}", lambda block: [count(text) for text in block["text"]])


def encoder(cosine: Callable[[str, str], float]) -> MeasuringModel:
    """An encoder with the name of the real one, whose cosines a function says."""

    def compare(block: pl.DataFrame) -> list[int]:
        pairs = zip(block["first"], block["second"], strict=True)
        return np.rint([COSINE_STEPS * cosine(first, second) for first, second in pairs]).astype(int).tolist()

    return MeasuringModel(COSINE, f"{LABSE}@{LABSE_REVISION}", compare)


def write_tokens(path: Path, counts: Mapping[str, int]) -> Raw:
    """A raw file with the tokens of these texts."""
    write_measurements([pl.DataFrame({"text": list(counts)}, {"text": pl.String})], tokenizer(counts.__getitem__), path)
    return Raw(f"{path.parent.name}/{path.name}", path)


def write_cosines(path: Path, cosines: Mapping[tuple[str, str], float]) -> Raw:
    """A raw file with the cosines of these pairs."""
    pairs = pl.DataFrame(list(cosines), {"first": pl.String, "second": pl.String}, orient="row")
    write_measurements([pairs], encoder(lambda first, second: cosines[first, second]), path)
    return Raw(f"{path.parent.name}/{path.name}", path)


def count_words(text: str) -> int:
    """The tokens of a text of a golden sample."""
    said = re.search(r"(\d+) (?:words|слов)", text)
    return int(said[1]) if said else len(text.split())


def compare_lengths(first: str, second: str) -> float:
    """The cosine of two texts of a golden sample."""
    shorter, longer = sorted((len(first), len(second)))
    return shorter / longer


def write_golden(name: str) -> None:
    """Write the files of measurements of a golden sample, from its other raw files."""
    source = next(one.source for one in map(catalogue.load, catalogue.entries().values()) if one.source.name == name)
    folder = ROOT / "tests" / "golden" / name / "raw"
    for measurement in source.measurements:
        inputs = {key: golden_raw(source.name, source.files[key].name, folder) for key in measurement.inputs}
        model = tokenizer(count_words) if measurement.kind == TOKENS else encoder(compare_lengths)
        target = folder / source.files[measurement.key].name
        print(f"{target}: {write_measurements(measurement.texts(inputs), model, target)}")


def golden_raw(source: str, name: str, folder: Path) -> Raw:
    """A raw file of a golden sample."""
    return Raw(f"{source}/{name}", folder / name)


if __name__ == "__main__":
    write_golden(sys.argv[1])
