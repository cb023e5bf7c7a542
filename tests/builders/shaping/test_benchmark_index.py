"""builders.shaping.benchmark_index reads what `contamination index` writes."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.benchmark_index import BenchmarkIndex, kinds_of, number_texts, read_benchmark_index
from builders.shaping.folding import hash_texts
from builders.spec import Raw
from pipelines.decontamination.fingerprints import fingerprint_texts
from pipelines.decontamination.index_file import read_index
from pipelines.make import GOLDEN

PATH = GOLDEN / "ru_hnp" / "raw" / "benchmark-index.parquet"


def read(path: Path) -> BenchmarkIndex:
    return read_benchmark_index(Raw("ru_hnp/benchmark-index.parquet", path))


def test_hashes_are_those_of_the_index() -> None:
    texts = pl.Series(["Курс рубля вырос на 0,5%.", "", ":)", "  a  b "])
    assert hash_texts(texts).tolist()[0:3:2] == fingerprint_texts(texts)["exact"].to_list()[0:3:2]
    assert hash_texts(texts)[1] == 0


def test_texts_are_found_exactly_and_folded_but_not_those_of_train_or_with_few_words() -> None:
    texts = pl.Series([
        "Курс рубля вырос на 0,5%.", "курс РУБЛЯ вырос на 0 5", "Ребёнок ест мороженое.", "Рыбак чинит сеть на берегу.", "other",
    ])  # fmt: skip
    assert kinds_of(read(PATH), texts).to_list() == ["exact", "folded", None, None, None]


def test_texts_that_recur_are_numbered_once_even_where_hashes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, hash_series = pl.Series(["b", "a", "", "b", "a"]), pl.Series.hash
    for least in (0, 1):  # below this seed, all hashes are equal
        monkeypatch.setattr(
            pl.Series, "hash", lambda some, seed, least=least: hash_series(some, seed) * (seed >= least)
        )
        different, numbers = number_texts(texts)
        assert (different.to_list(), numbers.to_list()) == (["b", "a", ""], [0, 1, 2, 0, 1])


def test_the_index_of_the_golden_sample_holds_the_tables_that_its_readme_names() -> None:
    tables = read_index(PATH).tables
    assert {(table.dataset, table.split) for table in tables} == {
        ("ru-stsbenchmark-sts", "test"), ("ru-stsbenchmark-sts", "train"), ("terra-pairclassification", "dev"),
    }  # fmt: skip


def test_a_file_that_is_no_index_or_damaged_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pl.DataFrame({"exact": [1]}).write_parquet(other)
    with pytest.raises(SourceError, match="not an index of the texts of benchmarks") as caught:
        read(other)
    assert (caught.value.found, caught.value.where) == ("no header", str(other))
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(PATH.read_bytes()[:-100])
    with pytest.raises(SourceError, match="or damaged"):
        read(damaged)
    damaged.write_bytes(PATH.read_bytes().replace(b'"split":"dev"', b'"split":"dex"'))
    with pytest.raises(SourceError, match="or damaged"):
        read(damaged)
