"""What docs/contamination.md says of the index is so."""

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from pipelines.decontamination.index_file import FORMAT, KEY, SCHEMA, read_index
from pipelines.decontamination.indexing import index_tables
from pipelines.decontamination.matching import candidate_recall
from tests.support.benchmark_tables import classification, sentence
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "contamination.md").read_text("utf-8")


def test_the_page_lists_the_columns_of_the_file() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (string|uint\d+|list of uint32) \|", PAGE, re.MULTILINE)
    names = {"list<element: uint32 not null>": "list of uint32"}
    assert listed == [(field.name, names.get(str(field.type), str(field.type))) for field in SCHEMA]


def test_the_page_lists_the_keys_of_the_metadata(tmp_path: Path) -> None:
    index_tables([classification("reviews", ["a b c"], [0])], tmp_path / "index")
    header: dict[str, Any] = msgspec.json.decode(pq.read_metadata(tmp_path / "index").metadata[KEY])
    section = PAGE[PAGE.index("**Metadata**") :]
    assert KEY.decode() in section
    assert header["format"] == FORMAT
    for key in (*header, *header["tables"][0]):
        assert f"`{key}`" in section, key


def test_the_page_states_the_recall_of_thresholds() -> None:
    rows = re.findall(r"^\| (?:similarity|share of such pairs[^|]*)(.*)\|$", PAGE, re.MULTILINE)
    thresholds, shares = ([cell.strip() for cell in row.strip("| ").split("|")] for row in rows)
    assert shares == [f"{candidate_recall(float(threshold)):.4f}" for threshold in thresholds]


def test_the_program_on_the_page_finds_the_rows_of_a_text(tmp_path: Path) -> None:
    texts = [sentence(random.Random(number), 7) for number in range(3)]
    index_tables([classification("reviews", texts, [0, 1, 2])], tmp_path / "index")
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    rows = names["rows_of_text"](str(tmp_path / "index"), texts[1]).rows()
    assert rows == [(0, read_index(tmp_path / "index").columns["row"][1].as_py())]
