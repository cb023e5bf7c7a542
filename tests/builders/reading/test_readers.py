"""What all readers have in common."""

import json
import pickle
from collections.abc import Callable

import pytest

from builders.reading import json as json_reader
from builders.reading.csv import read_csv
from builders.reading.json import json_members, read_json_array, read_json_lines
from builders.reading.lines import read_documents, read_lines
from builders.reading.pickle import pickle_members
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values
from builders.spec import Raw
from tests.support.reading import AB


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_readers_return_at_most_as_many_records_as_the_limit(
    limit: int, batch: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", batch)
    rows = [{"a": str(number), "b": number} for number in range(3)]
    expected = [(str(number), number) for number in range(min(limit, 3))]
    lines = "\n".join(map(json.dumps, rows))
    table = "a,b\n" + "".join(f"{number},{number}\n" for number in range(3))
    items = "".join(f'<r><value name="a">{n}</value><value name="b">{n}</value></r>' for n in range(3))
    assert read_json_lines(raw(lines, limit=limit), AB).rows() == expected
    assert read_json_array(raw(json.dumps(rows), limit=limit), AB).rows() == expected
    assert read_csv(raw(table, limit=limit), AB).rows() == expected
    tskv = "".join(f"a={number}\tb={number}\n" for number in range(3))
    assert read_tskv(raw(tskv, limit=limit), AB).rows() == expected
    members = {str(number): row for number, row in enumerate(rows)}
    frames = json_members(raw(json.dumps(members), limit=limit), AB, key="name")
    assert [row for frame in frames for row in frame.select("a", "b").rows()] == expected
    assert len([*pickle_members(raw(pickle.dumps(members), limit=limit), AB)]) == len(expected)
    assert read_xml_values(raw(f"<d>{items}</d>", limit=limit), AB, records=("r",)).rows() == expected
    assert read_lines(raw("0\n1\n2\n", limit=limit)) == [a for a, _ in expected]
    assert read_documents(raw("<d>\n0\n<d>\n1\n<d>\n2\n", limit=limit))["segments"].to_list() == [
        [a] for a, _ in expected
    ]
