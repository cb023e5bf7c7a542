"""Tables with lists of many texts: more than pyarrow converts at once."""

from pathlib import Path

import polars as pl
import pytest

from pipelines.release import parquet


@pytest.mark.slow  # 2.4 GB of text
@pytest.mark.parametrize("lazy", [False, True], ids=["a frame", "a lazy frame"])
def test_a_table_with_more_than_2_gb_in_lists_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, lazy: bool
) -> None:
    monkeypatch.setattr(parquet, "LIST_BATCH_ROWS", 10)
    text = "слово " * 4_000_000
    frame = pl.DataFrame({"negatives": [[f"{number} {text}"] for number in range(60)]})
    assert frame.estimated_size() > 2**31
    table = parquet.write_table(frame.lazy() if lazy else frame, tmp_path, "faq", "train")
    assert table.rows == 60
    assert parquet.hash_table(tmp_path, table).hexdigest() == table.content_sha256
