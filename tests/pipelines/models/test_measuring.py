"""Measuring texts once: interruptions, the bytes of the file, and the real libraries with tiny models."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from builders.errors import SourceError, UsageError
from builders.shaping.measurements import (
    COSINE,
    KEY,
    TOKENS,
    measure_cosines,
    measure_tokens,
    read_columns,
    read_measurements,
    read_tokens,
)
from builders.spec import Raw
from pipelines.models import measuring
from pipelines.models.loading import MeasuringModel, load_measuring_model
from pipelines.models.measuring import check_measurements, describe_measurements, write_measurements
from tests.support.measurements import count_words, encoder, tokenizer
from tests.support.tiny_models import save_encoder, save_small_tokenizer

WORDS = tokenizer(count_words)
TEXTS = [" ".join(["слово"] * number) for number in range(1, 26)]


def batches(texts: list[str] = TEXTS, size: int = 3) -> list[pl.DataFrame]:
    return [pl.DataFrame({"text": texts[start : start + size]}) for start in range(0, len(texts), size)]


@pytest.fixture(autouse=True)
def blocks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "BLOCKS", {TOKENS: 4, COSINE: 4})


def interrupt_after(calls: int, model: MeasuringModel = WORDS) -> tuple[MeasuringModel, list[int]]:
    """A model that is interrupted, and the sizes of the blocks that it measured."""
    measured: list[int] = []

    def measure(block: pl.DataFrame) -> list[int]:
        if len(measured) == calls:
            raise KeyboardInterrupt
        measured.append(block.height)
        return list(model.measure(block))

    return replace(model, measure=measure), measured


def test_the_numbers_are_found_again_however_texts_were_divided(tmp_path: Path) -> None:
    files = []
    for size in (1, 3, 100):
        target = tmp_path / f"{size}.parquet"
        assert write_measurements(batches(size=size), WORDS, target) == len(TEXTS)
        files.append(target.read_bytes())
    assert files[0] == files[1] == files[2]
    tokens = read_tokens(Raw("golden/tokens.parquet", tmp_path / "3.parquet"))
    assert tokens.of(pl.Series(TEXTS)).to_list() == list(range(1, 26))


def test_the_file_is_sorted_by_key_and_a_repeated_text_is_there_once(tmp_path: Path) -> None:
    target = tmp_path / "tokens.parquet"
    assert write_measurements(batches(TEXTS + TEXTS[::-1]), WORDS, target) == len(TEXTS)
    table = pq.read_table(target)
    assert [(field.name, str(field.type)) for field in table.schema] == [("key", "uint64"), ("value", "uint32")]
    keys = table["key"].to_pylist()
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("calls", [0, 1, 5])
def test_an_interrupted_call_resumes_and_writes_the_same_file(calls: int, tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.parquet", tmp_path / "tokens.parquet"
    write_measurements(batches(), WORDS, whole)
    interrupted, _ = interrupt_after(calls)
    with pytest.raises(KeyboardInterrupt):
        write_measurements(batches(), interrupted, target)
    assert not target.exists()
    resumed, measured = interrupt_after(100)
    write_measurements(batches(), resumed, target)
    assert len(measured) == 7 - calls
    assert target.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokens.parquet", "whole.parquet"]


@pytest.mark.parametrize(
    "change", ["another model", "other libraries", "other files", "other texts", "a damaged block"]
)
def test_what_no_longer_applies_is_measured_again(change: str, tmp_path: Path) -> None:
    target = tmp_path / "tokens.parquet"
    interrupted, _ = interrupt_after(6)
    with pytest.raises(KeyboardInterrupt):
        write_measurements(batches(), interrupted, target)
    model, texts = WORDS, TEXTS
    match change:
        case "another model":
            model = replace(WORDS, name="another@1")
        case "other libraries":
            model = replace(WORDS, libraries={"tokenizers": "1"})
        case "other files":
            model = replace(WORDS, files={"vocab.json": "0" * 64})
        case "other texts":
            texts = TEXTS[::-1]
        case _:
            part = tmp_path / "tokens.parquet.parts" / "000002.parquet"
            part.write_bytes(part.read_bytes()[:-9])
    resumed, measured = interrupt_after(100, model)
    write_measurements(batches(texts), resumed, target)
    assert len(measured) == (2 if change == "a damaged block" else 7)


def test_the_header_names_the_model_its_files_and_the_libraries(tmp_path: Path) -> None:
    target = tmp_path / "tokens.parquet"
    model = replace(WORDS, files={"vocab.json": "0" * 64}, libraries={"tokenizers": "0.23.3"})
    write_measurements(batches(), model, target)
    header, keys, _ = read_columns(Raw("golden/tokens.parquet", target))
    assert header["model"] == model.name
    assert header["files"] == {"vocab.json": "0" * 64}
    assert header["libraries"] == {"tokenizers": "0.23.3"}
    assert header["rows"] == len(keys) == len(TEXTS)
    assert KEY + b".sha256" in pq.ParquetFile(target).metadata.metadata


def test_no_texts_give_an_empty_file_that_reads(tmp_path: Path) -> None:
    target = tmp_path / "tokens.parquet"
    assert write_measurements([], WORDS, target) == 0
    assert read_tokens(Raw("golden/tokens.parquet", target)).of(pl.Series([], dtype=pl.String)).to_list() == []


def test_a_file_that_exists_is_checked_for_every_text(tmp_path: Path) -> None:
    raw = Raw("golden/tokens.parquet", tmp_path / "tokens.parquet")
    write_measurements(batches(TEXTS[:-1]), WORDS, raw.path)

    def texts(_: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
        yield from batches()

    measurement = measure_tokens((), texts)
    with pytest.raises(SourceError, match="1 text not measured"):
        check_measurements(measurement, {}, raw, measurement.model)
    with pytest.raises(SourceError, match="measured by another model"):
        check_measurements(measurement, {}, raw, "another")
    raw.path.unlink()
    write_measurements(batches(), WORDS, raw.path)
    (tmp_path / "tokens.parquet.parts").mkdir()  # as a kill at the very end leaves it
    check_measurements(measurement, {}, raw, None)
    assert [path.name for path in tmp_path.iterdir()] == ["tokens.parquet"]
    assert describe_measurements(raw) == f"{raw.path}: 25 texts, up to 25 tokens, {WORDS.name}"


def test_a_description_of_cosines_has_their_median(tmp_path: Path) -> None:
    raw = Raw("golden/cosines.parquet", tmp_path / "cosines.parquet")
    pairs = pl.DataFrame({"first": ["aa", "bbbb", "c"], "second": ["a", "bbb", "c"]})
    model = encoder(lambda first, second: len(second) / len(first))
    write_measurements([pairs], model, raw.path)
    assert describe_measurements(raw) == f"{raw.path}: 3 pairs, median cosine 0.75, {model.name}"


# ---- The real libraries, with models that are made here.


def no_texts(_: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    return iter(())


needs_tokenizer = pytest.mark.extra("transformers")
needs_encoder = pytest.mark.extra("sentence_transformers", "torch")


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_tokenizer(tmp_path_factory.mktemp("models") / "tiny")


@needs_tokenizer
@pytest.mark.filterwarnings("default")  # warnings of transformers are not ours to fix
def test_tokens_are_counted_without_special_ones_and_beyond_the_length_of_the_model(tokenizer_folder: Path) -> None:
    model = load_measuring_model(measure_tokens((), no_texts), tokenizer_folder)
    texts = ["", "я", "кот спит", "кот спит " * 400]
    counts = list(model.measure(pl.DataFrame({"text": texts})))
    assert counts[0] == 0
    assert counts[1] in (1, 2), "a letter is one token, or its two bytes are"
    assert counts[3] > 400, "the text is not cut to the length that the model takes"
    alone = [next(iter(model.measure(pl.DataFrame({"text": [text]})))) for text in texts]
    assert alone == counts, "a count does not depend on the texts beside"


@needs_tokenizer
@pytest.mark.filterwarnings("default")
def test_a_model_in_a_folder_is_named_by_the_digest_of_its_files(tokenizer_folder: Path, tmp_path: Path) -> None:
    model = load_measuring_model(measure_tokens((), no_texts), tokenizer_folder)
    assert model.name.startswith("tiny@sha256:")
    assert set(model.files) == {"config.json", "merges.txt", "vocab.json"}
    assert set(model.libraries) == {"tokenizers", "transformers"}
    changed = shutil.copytree(tokenizer_folder, tmp_path / "tiny")
    (changed / "config.json").write_bytes((changed / "config.json").read_bytes() + b"\n")
    assert load_measuring_model(measure_tokens((), no_texts), changed).name != model.name
    (changed / "merges.txt").write_text("no merges\nof three words\n")
    with pytest.raises(SourceError, match="the model cannot be loaded"):
        load_measuring_model(measure_tokens((), no_texts), changed)


@pytest.fixture(scope="module")
def encoder_folder(tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("models") / "encoder", tokenizer_folder, 64)


@needs_tokenizer
@needs_encoder
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_cosines_are_those_of_the_embeddings_whatever_the_batch(encoder_folder: Path, tmp_path: Path) -> None:
    model = load_measuring_model(measure_cosines((), no_texts), encoder_folder)
    assert model.name.startswith("encoder@sha256:")
    assert any(name.endswith("model.safetensors") for name in model.files)
    pairs = pl.DataFrame({"first": ["кот спит", "кот", "спит " * 90], "second": ["кот спит", "a cat sleeps", "кот"]})
    values = list(model.measure(pairs))
    assert values[0] == 10_000
    assert all(-10_000 <= value < 10_000 for value in values[1:])
    turned = pairs.reverse()
    assert [abs(one - other) <= 1 for one, other in zip(values, reversed(list(model.measure(turned))), strict=True)]
    raw = Raw("golden/cosines.parquet", tmp_path / "cosines.parquet")
    write_measurements([pairs], model, raw.path)
    read = read_measurements(raw, COSINE, model.name)
    assert read.of_pairs(pairs["first"], pairs["second"]).to_list() == [value / 10_000 for value in values]


@needs_tokenizer
@needs_encoder
@pytest.mark.filterwarnings("default")
def test_a_cosine_is_in_ten_thousandths_whatever_the_length_of_the_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    vectors = {
        "one": [3.0, 0.0],
        "same": [0.5, 0.0],
        "other": [-1.0, 0.0],
        "near": [0.00125, 1.0],
        "odd": [0.00135, 1.0],
    }

    class Encoder:
        def __init__(self, folder: str, *, trust_remote_code: bool) -> None:
            assert (folder, trust_remote_code) == (str(tmp_path), False)

        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            return np.array([vectors[text] for text in texts], np.float32)

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Encoder))
    model = load_measuring_model(measure_cosines((), no_texts), tmp_path)
    pairs = pl.DataFrame({"first": "one", "second": ["same", "other", "near", "odd"]})
    assert list(model.measure(pairs)) == [10_000, -10_000, 12, 13]


@needs_tokenizer
@pytest.mark.filterwarnings("default")
def test_a_model_that_is_not_on_this_machine_is_not_downloaded_with_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SourceError, match="the model cannot be loaded\n  where:    ai-forever/ruRoberta-large\n"):
        load_measuring_model(measure_tokens((), no_texts), None, offline=True)


@needs_tokenizer
@pytest.mark.filterwarnings("default")
def test_a_model_from_the_hub_is_named_by_its_commit(
    tokenizer_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = shutil.copytree(tokenizer_folder, tmp_path / "snapshots" / ("5" * 40))
    asked = {}

    def download(model: str, **options: object) -> str:
        asked.update(options, model=model)
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    model = load_measuring_model(measure_tokens((), no_texts), None)
    assert model.name == f"ai-forever/ruRoberta-large@{'5' * 40}"
    assert (asked["revision"], asked["local_files_only"]) == (None, False)


@needs_tokenizer
def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model found"):
        load_measuring_model(measure_tokens((), no_texts), tmp_path)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match=r"(?s)measuring needs transformers.*pip install '\.\[measurements\]'"):
        load_measuring_model(measure_tokens((), no_texts), None)
