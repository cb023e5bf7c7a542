"""Numbers that a tokenizer or a model gave for texts, from a raw file; texts that are too long by them, thresholds by one rule.

`embedding-datasets decide` writes the file (pipelines/models/measuring.py), and docs/training.md describes it: Parquet, sorted by
`key`, with a header in its metadata that names the model and has the digest of the columns.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.errors import SourceError
from builders.raw_files import RawFile, by_hand
from builders.reading.values import shorten
from builders.shaping.benchmark_index import open_checked, read_header
from builders.shaping.folding import hash_messages
from builders.shaping.rows import drop, drop_from_lists
from builders.spec import Dropped, Measurement, Raw

Array = npt.NDArray[Any]

KEY = b"embedding-datasets.measurements"
FORMAT = 1
TOKENS, COSINE = "tokens", "cosine"
TYPES = {TOKENS: np.dtype("uint32"), COSINE: np.dtype("int32")}
COSINE_STEPS = 10_000  # a cosine is stored as a whole number of 1/10,000


@dataclass(frozen=True)
class Measurements:
    """The numbers of a file. model: as in the file. keys: hashes (uint64), ascending; values: one for each key."""

    raw: Raw
    kind: str
    model: str
    keys: Array = field(repr=False)
    values: Array = field(repr=False)

    def of(self, texts: pl.Series) -> pl.Series:
        """The tokens of each text, without special tokens (UInt32).

        Raises SourceError for texts that were not measured, ValueError for a file of another kind.
        """
        return pl.Series(texts.name, self._look_up(TOKENS, hash_texts(texts), texts), pl.UInt32)

    def of_pairs(self, first: pl.Series, second: pl.Series) -> pl.Series:
        """The cosine of the two embeddings of each pair, to four decimals (Float64).

        Raises SourceError for pairs that were not measured, ValueError for a file of another kind.
        """
        cosines = self._look_up(COSINE, hash_pairs(first, second), first) / COSINE_STEPS
        return pl.Series(first.name, cosines, pl.Float64)

    def _look_up(self, kind: str, keys: Array, shown: pl.Series) -> Array:
        if self.kind != kind:
            raise ValueError(f"{self.raw.name} has the kind {self.kind}, not {kind}")
        where = np.searchsorted(self.keys, keys)
        known = where < len(self.keys)
        known[known] = self.keys[where[known]] == keys[known]
        if not known.all():
            unknown = np.flatnonzero(~known)
            what = "text" if self.kind == TOKENS else "pair"
            raise SourceError(
                f"{self.raw.name}: {len(unknown):,} {what}{'s' * (len(unknown) > 1)} not measured",
                where=str(self.raw.path),
                found=shorten(str(shown[int(unknown[0])])),
                expected=f"the measurement of every {what} of the source",
                todo=_remeasure(self.raw),
            )
        return self.values[where]


def read_measurements(raw: Raw, kind: str, model: str) -> Measurements:
    """The measurements of a file. model: its `name@revision`, or its name alone for any revision.

    Raises SourceError for a file that is damaged, of another format, kind or model.
    """
    header, keys, values = read_columns(raw)
    if header.get("kind") != kind:
        raise _refused(raw, f"kind {header.get('kind')}", f"kind {kind}")
    if values.dtype != TYPES[kind] or not (keys[1:] > keys[:-1]).all():
        raise _refused(raw, f"keys that do not ascend, or values of type {values.dtype}")
    measured = str(header.get("model"))
    if measured != model and ("@" in model or measured.rpartition("@")[0] != model):
        raise SourceError(
            f"{raw.name}: measured by another model",
            where=str(raw.path),
            found=shorten(measured, 200),
            expected=model,
            todo=_remeasure(raw),
        )
    return Measurements(raw, kind, measured, keys, values)


def read_columns(raw: Raw) -> tuple[dict[str, Any], Array, Array]:
    """The header of a file of measurements, its keys and its values.

    Raises SourceError for a file that is damaged, of another format, or not one.
    """
    with open_checked(raw, partial(_refused, raw)) as file:
        described: dict[str, Any] = json.loads(read_header(file.metadata.metadata, KEY))
        keys, values = (file.read(columns=[name]).column(0).to_numpy() for name in ("key", "value"))
        if described["format"] != FORMAT:
            raise _refused(raw, f"format {described['format']}")
        if described["content"] != content_digest(keys, values):
            raise _refused(raw, "columns that do not have their digest")
    return described, keys, values


def content_digest(keys: Array, values: Array) -> str:
    """The sha256 of all keys, then all values, as little-endian bytes."""
    digest = hashlib.sha256(keys.astype("<u8").tobytes())
    digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def hash_texts(texts: pl.Series) -> Array:
    """BLAKE2b of each text in UTF-8: 8 bytes, read as a little-endian number (uint64)."""
    return hash_messages(text.encode() for text in texts)


def hash_pairs(first: pl.Series, second: pl.Series) -> Array:
    """BLAKE2b of each pair, as hash_texts: the bytes of the first text in decimal digits, a colon, the first text, the second."""
    pairs = zip((text.encode() for text in first), (text.encode() for text in second), strict=True)
    return hash_messages(b"%d:%b%b" % (len(one), one, other) for one, other in pairs)


def _remeasure(raw: Raw) -> str:
    source = raw.name.partition("/")[0]
    return f"remove the file, then: embedding-datasets decide {source} --raw-dir DIR"


def _refused(raw: Raw, found: str, expected: str = f"a file of format {FORMAT}") -> SourceError:
    return SourceError(
        f"{raw.name}: not the measurements of texts, or damaged",
        where=str(raw.path),
        found=found,
        expected=expected,
        todo=_remeasure(raw),
    )


TOKENIZER = "ai-forever/ruRoberta-large"  # the paper names no revision: the file of measurements says which one it was
LIMIT = 500  # tokens, without special ones
SPLIT = "train"  # of training data, which has no other


def measure_tokens(
    inputs: tuple[str, ...], texts: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]
) -> Measurement:
    """The measurement that writes the raw file `tokens` of a source; see builders.spec.Measurement for its arguments."""
    return Measurement("tokens", TOKENS, TOKENIZER, "", inputs, texts)


def read_tokens(raw: Raw) -> Measurements:
    """The token counts of a source.

    Raises SourceError for a file that is damaged or of another tokenizer.
    """
    return read_measurements(raw, TOKENS, TOKENIZER)


def texts_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The different texts of rows with id, query, positives and negatives, as a batch to measure: text (String)."""
    lists = [rows[column].explode(empty_as_null=False).alias("text") for column in ("positives", "negatives")]
    return pl.concat([rows["query"].alias("text"), *lists]).unique(maintain_order=True).to_frame()


def drop_long(rows: pl.DataFrame, tokens: Measurements, limit: int = LIMIT) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Rows without texts of more than `limit` tokens, and what was dropped, by reason.

    rows: id, query (String), positives, negatives (List(String)), and any other columns. A long query takes its row with it. A
    long positive or negative leaves its list, counted as a text; a row that loses its last positive so is dropped.

    Raises SourceError for texts that were not measured.
    """
    reason = f"of more than {limit} tokens"

    def is_long(texts: pl.DataFrame) -> pl.Series:
        return tokens.of(texts["text"]) > limit

    kept, dropped = drop(rows, pl.lit(tokens.of(rows["query"]) > limit), f"a query {reason}", split=SPLIT)
    kept, of_positives = drop_from_lists(kept, "positives", is_long, f"a positive {reason}", split=SPLIT)
    none_left = pl.col("positives").list.len() == 0
    kept, of_rows = drop(kept, none_left, f"no positive of at most {limit} tokens", split=SPLIT)
    kept, of_negatives = drop_from_lists(kept, "negatives", is_long, f"a negative {reason}", split=SPLIT)
    return kept, (*dropped, *of_positives, *of_rows, *of_negatives)


LABSE = "sentence-transformers/LaBSE"
LABSE_REVISION = "e34fab64a3011d2176c99545a93d5cbddc9a91b7"
STEPS = 100  # a threshold is a whole number of hundredths


def measured_files(source: str, *, cosines: bool) -> dict[str, RawFile]:
    """The raw files with the measurements of a source, by key: `tokens`, and `cosines` of LaBSE if the source has them."""
    contents = {"tokens": f"the lengths of all texts in tokens of {TOKENIZER}"}
    contents |= {"cosines": f"the cosine of the embeddings of each pair by {LABSE}"} if cosines else {}
    how = (
        f"pip install '.[measurements]', then embedding-datasets decide {source} --raw-dir DIR; or copy the file from somebody"
        " who has it"
    )
    return {key: by_hand(f"{key}.parquet", f"{what}: {how}", made_by="decide") for key, what in contents.items()}


def measure_cosines(
    inputs: tuple[str, ...], pairs: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]
) -> Measurement:
    """The measurement that writes the raw file `cosines` of a source; see builders.spec.Measurement for its arguments."""
    return Measurement("cosines", COSINE, LABSE, LABSE_REVISION, inputs, pairs)


def read_cosines(raw: Raw) -> Measurements:
    """The LaBSE cosines of a source.

    Raises SourceError for a file that is damaged or of another model.
    """
    return read_measurements(raw, COSINE, f"{LABSE}@{LABSE_REVISION}")


def largest_threshold(values: pl.Series, rows: int) -> float:
    """The largest multiple of 0.01 that at least `rows` of the values reach.

    values: numbers, without null. Of fewer values than `rows` it is the largest that all of them reach; of none it is 0.
    """
    if not len(values):
        return 0.0
    reached: float = values.sort(descending=True)[min(rows, len(values)) - 1]
    step = math.floor(reached * STEPS) + 1  # one too many, or rounding of the product could make it one too few
    while step / STEPS > reached:
        step -= 1
    return step / STEPS


def drop_below(
    frame: pl.DataFrame, column: str, rows: int, *, at_most: float = 1.0
) -> tuple[pl.DataFrame, tuple[Dropped, ...], dict[str, int]]:
    """The rows whose value in a column (Float64) reaches largest_threshold, or `at_most` if that is lower.

    Returns also what was dropped, and the threshold in hundredths, as a number to observe.
    """
    threshold = min(at_most, largest_threshold(frame[column], rows))
    kept, dropped = drop(frame, pl.col(column) < threshold, f"a lower {column} than the threshold", split=SPLIT)
    return kept, dropped, {f"threshold of {column}, in hundredths": round(threshold * STEPS)}
