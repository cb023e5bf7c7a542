"""The command that measures the texts of a source: which raw files it writes, and with which model."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from builders.raw_files import by_hand
from builders.shaping.measurements import (
    measure_cosines,
    measure_tokens,
    measured_files,
    read_cosines,
    read_tokens,
)
from builders.spec import Measurement, Raw, Source
from pipelines import decide
from pipelines.models.loading import MeasuringModel
from tests.support.measurements import compare_lengths, count_words, encoder, tokenizer
from tests.support.releases import definition_of


def texts(raws: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    yield pl.DataFrame({"text": raws["train"].path.read_text("utf-8").splitlines()})


def short_pairs(raws: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Each line with itself, if it is short: so this measurement needs the other one."""
    (batch,) = texts(raws)
    yield batch.filter(read_tokens(raws["tokens"]).of(batch["text"]) < 3).select(first="text", second="text")


SOURCE = Source(
    name="pairs",
    title="Pairs",
    license="mit",
    homepage="https://example.org",
    citation="nobody2020",
    files={
        "train": by_hand("train.txt", "write it"),
        **measured_files("pairs", cosines=True),
    },
    measurements=(measure_tokens(("train",), texts), measure_cosines(("train", "tokens"), short_pairs)),
)


@pytest.fixture
def raw_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of raw files; the command knows one source and models that count words and compare lengths."""
    models = {"tokens": tokenizer(count_words), "cosine": encoder(compare_lengths)}

    def load(measurement: Measurement, folder: Path | None, *, offline: bool, trust_code: bool) -> MeasuringModel:
        assert not trust_code
        return models[measurement.kind]

    monkeypatch.setattr("pipelines.models.loading.load_measuring_model", load)
    definition = replace(definition_of("cedr-classification"), source=SOURCE)
    monkeypatch.setattr("pipelines.command.resolve_datasets", lambda _: [(definition, "1.0.0")])
    (tmp_path / "raw" / "pairs").mkdir(parents=True)
    (tmp_path / "raw" / "pairs" / "train.txt").write_text("кот\nкот и пёс\n", "utf-8")
    return tmp_path / "raw"


def run(monkeypatch: pytest.MonkeyPatch, raw_dir: Path, *extra: str) -> int:
    cache = str(raw_dir.parent / "cache")
    monkeypatch.setattr(sys, "argv", ["decide", "pairs", "--raw-dir", str(raw_dir), "--cache", cache, *extra])
    return decide.main()


def test_every_measurement_of_the_source_is_written_in_turn(
    raw_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, raw_dir) == 0
    tokens = read_tokens(Raw("pairs/tokens.parquet", raw_dir / "pairs" / "tokens.parquet"))
    assert tokens.of(pl.Series(["кот", "кот и пёс"])).to_list() == [1, 3]
    cosines = read_cosines(Raw("pairs/cosines.parquet", raw_dir / "pairs" / "cosines.parquet"))
    assert cosines.of_pairs(pl.Series(["кот"]), pl.Series(["кот"])).to_list() == [1.0]
    lines = capsys.readouterr().out.splitlines()
    assert "2 texts, up to 3 tokens" in lines[0]
    assert "1 pairs, median cosine 1.00" in lines[1]


def test_a_second_run_checks_the_files_and_says_when_texts_were_added(
    raw_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, raw_dir)
    written = (raw_dir / "pairs" / "tokens.parquet").read_bytes()
    assert run(monkeypatch, raw_dir) == 0
    assert (raw_dir / "pairs" / "tokens.parquet").read_bytes() == written
    (raw_dir / "pairs" / "train.txt").write_text("кот\nновый пёс\n", "utf-8")
    with pytest.raises(SourceError, match="1 text not measured"):
        run(monkeypatch, raw_dir)


def test_one_raw_file_alone_can_be_written_and_only_then_another_model_named(
    raw_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run(monkeypatch, raw_dir, "--only", "tokens", "--model", str(tmp_path)) == 0
    assert sorted(path.name for path in (raw_dir / "pairs").iterdir()) == ["tokens.parquet", "train.txt"]
    with pytest.raises(UsageError, match="--model is for one raw file"):
        run(monkeypatch, raw_dir, "--model", str(tmp_path))
    with pytest.raises(UsageError, match=r"(?s)no such raw file.*tokens or cosines"):
        run(monkeypatch, raw_dir, "--only", "votes")


def test_without_the_texts_the_error_says_how_to_get_them(raw_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (raw_dir / "pairs" / "train.txt").unlink()
    with pytest.raises(SourceError, match=r"pairs/train\.txt"):
        run(monkeypatch, raw_dir)
    assert [path.name for path in (raw_dir / "pairs").iterdir()] == []
