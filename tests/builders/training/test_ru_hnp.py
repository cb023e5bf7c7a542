"""RuHNP: a text of a benchmark in the raw file is reported by 1.0.0 and absent from 2.0.0, and every row gets seven negatives."""

from collections.abc import Callable

import polars as pl

from pipelines.make import BuildResult
from pipelines.release import folder

NAME = "ru-hnp-contrastive"
PLANTED = "Курс рубля вырос на 0,5%."  # a test sentence of the golden sample stsb_ru


def rows(built: BuildResult) -> pl.DataFrame:
    return folder.scan_tables(built.release_dir, built.manifest.tables)["ru-hnp"]["train"].collect()


def test_a_text_of_a_benchmark_is_reported_by_the_first_version_and_absent_from_the_second(
    golden_release: Callable[..., BuildResult],
) -> None:
    first, second = (golden_release(NAME, version) for version in ("1.0.0", "2.0.0"))
    found = {
        finding.column: finding for finding in first.manifest.findings if finding.kind == "query_in_benchmark_test"
    }
    assert set(found) == {"query", "positives", "negatives"}
    assert (found["query"].examples, found["query"].detail) == (("ru_hnp:ru-hnp:8",), "exact 1")
    assert (found["positives"].examples, found["positives"].detail) == (("ru_hnp:ru-hnp:14",), "folded 1")
    assert PLANTED in rows(first)["query"].to_list()
    assert not [finding for finding in second.manifest.findings if finding.kind == "query_in_benchmark_test"]
    texts = rows(second)
    everything = [*texts["query"], *texts["positives"].explode(), *texts["negatives"].explode()]
    assert PLANTED not in everything
