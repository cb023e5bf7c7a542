"""Golden Parquet files come with their rows as JSON lines, for people to read."""

import pyarrow.json
import pyarrow.parquet
import pytest

from builders.ateb.lmsys_arena import PATH
from pipelines.make import GOLDEN


@pytest.mark.parametrize(
    ("rows", "raw"),
    [
        ("lmsys_arena/battles.jsonl", f"lmsys_arena/raw/{PATH}"),
        ("pku_safe_rlhf/train.jsonl", "pku_safe_rlhf/raw/train.parquet"),
        ("pku_safe_rlhf/test.jsonl", "pku_safe_rlhf/raw/test.parquet"),
    ],
)
def test_a_golden_parquet_file_holds_the_rows_of_the_json_lines_beside_it(rows: str, raw: str) -> None:
    assert pyarrow.parquet.read_table(GOLDEN / raw).equals(pyarrow.json.read_json(GOLDEN / rows))
