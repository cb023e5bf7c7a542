"""Writes what a scan found: all matches, the rows of benchmarks to leave out, and the rows of the corpus to drop."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.corpus_scan.clean import DROP_SCHEMA
from pipelines.corpus_scan.matching import MATCH_SCHEMA
from pipelines.corpus_scan.scans import Scan
from pipelines.corpus_scan.summaries import flagged_rows
from pipelines.files import replacing

GROUP_ROWS = 65_536
SCHEMA = pa.schema(
    [
        pa.field(name, {pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64()}.get(kind, pa.bool_()))
        for name, kind in MATCH_SCHEMA.items()
    ]
)


def write_matches(scan: Scan, path: Path) -> None:
    """Write all matches as Parquet, with the columns of MATCH_SCHEMA, sorted by the first eleven.

    The bytes do not depend on how the corpus was divided.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part, pq.ParquetWriter(part, SCHEMA, compression="zstd", store_schema=False) as writer:
        waiting = SCHEMA.empty_table()
        for result in scan.results():
            arrow = result.matches.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(SCHEMA)
            waiting = pa.concat_tables([waiting, arrow])
            while waiting.num_rows >= GROUP_ROWS:
                writer.write_table(waiting.slice(0, GROUP_ROWS).combine_chunks(), row_group_size=GROUP_ROWS)
                waiting = waiting.slice(GROUP_ROWS)
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks(), row_group_size=GROUP_ROWS)


def write_flags(scan: Scan, path: Path) -> None:
    """Write the rows of the index that were found as Parquet; see flagged_rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        flagged_rows(scan).write_parquet(part, compression="zstd", row_group_size=GROUP_ROWS)


def rows_to_drop(scan: Scan) -> pl.DataFrame:
    """The rows of the corpus with a match, by kind, as `write_clean` takes them: the columns of DROP_SCHEMA."""
    parts = [
        result.matches.select(file="corpus_file", row="corpus_row", reason="kind").unique() for result in scan.results()
    ]
    return pl.concat([pl.DataFrame(schema=DROP_SCHEMA), *parts])
