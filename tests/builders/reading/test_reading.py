"""builders.reading: what each raw format gives, quirk by quirk, and what is said of a malformed file."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import csv as csv_reader
from builders.reading import json as json_reader
from builders.reading import (
    json_lines,
    open_raw,
    read_csv,
    read_documents,
    read_json_array,
    read_json_lines,
    read_lines,
    read_xml_values,
)
from builders.spec import Raw
from tests.support.paths import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable

real = pytest.mark.skipif(not SOURCES.is_dir(), reason="the real raw files (../shared/sources) are not here")

AB: dict[str, Any] = {"a": pl.String, "b": pl.Int64}
BOM = b"\xef\xbb\xbf"
# All of Unicode but surrogates, which no UTF-8 text holds; and often what a careless reader takes for a line end or a blank.
TEXT = st.text() | st.text(alphabet=st.sampled_from('\x00\r\n\t ,"\x0b\x85\xa0\u2028\ufeffaяß😀<d>&\\'))


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Raw]:
    def written(
        data: bytes | str, name: str = "source/file", member: str | None = None, limit: int | None = None
    ) -> Raw:
        path = tmp_path / Path(name).name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return Raw(name, path, member, limit)

    return written


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Raw]:
    """The same for hypothesis: one place, overwritten by every example."""
    folder = tmp_path_factory.mktemp("raw")

    def written(data: bytes, name: str = "file", member: str | None = None) -> Raw:
        (folder / name).write_bytes(data)
        return Raw(name, folder / name, member)

    return written


def refusal(read: Callable[[], Any]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read()
    error = caught.value
    assert error.where
    assert error.found
    assert error.expected
    assert error.todo
    return error


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def tarred(members: dict[str, bytes], mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def content(file: Raw) -> bytes:
    with open_raw(file) as stream:
        return stream.read()


# What a file is packed in: its name, the member, and the bytes on disk.
PACKED: dict[str, tuple[str, str | None, Callable[[bytes], bytes]]] = {
    "plain": ("t.txt", None, lambda data: data),
    "gz": ("t.txt.gz", None, gzip.compress),
    "two gz members": ("t.gz", None, lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:])),
    "zip": ("t.zip", "in/t.txt", lambda data: zipped({"in/": b"", "other": b"x", "in/t.txt": data})),
    "gz in zip": ("t.zip", "t.txt.gz", lambda data: zipped({"t.txt.gz": gzip.compress(data)})),
    "tar": ("t.tar", "in/t.txt", lambda data: tarred({"other": b"x", "in/t.txt": data, "z": b"z"}, "w")),
    "tar.gz": ("t.tar.gz", "1.1/t.txt", lambda data: tarred({"a": b"x", "./1.1/t.txt": data, "z": b"z"}, "w:gz")),
    "gz in tar.gz": ("t.tgz", "t.gz", lambda data: tarred({"t.gz": gzip.compress(data)}, "w:gz")),
}


# Streams


@pytest.mark.parametrize("kind", PACKED)
def test_a_file_reads_the_same_however_it_is_packed(kind: str, raw: Callable[..., Raw]) -> None:
    name, member, pack = PACKED[kind]
    data = "строка\r\nline\n".encode() * 100_000
    assert content(raw(pack(data), name, member)) == data


@given(data=st.binary(max_size=2000), kind=st.sampled_from(sorted(PACKED)))
def test_any_bytes_come_out_of_any_packing(data: bytes, kind: str, there: Callable[..., Raw]) -> None:
    name, member, pack = PACKED[kind]
    assert content(there(pack(data), name, member)) == data


@pytest.mark.parametrize("kind", [kind for kind in PACKED if kind not in {"plain", "tar", "two gz members"}])
def test_a_packed_file_cut_or_damaged_anywhere_is_refused_or_unharmed(kind: str, there: Callable[..., Raw]) -> None:
    name, member, pack = PACKED[kind]
    data = "".join(f"line {number * number} строка\n" for number in range(20)).encode()
    whole = pack(data)
    for at in range(len(whole)):
        assert str(refusal(lambda at=at: content(there(whole[:at], name, member))).where).endswith(name)
    for at in range(len(whole)):
        flipped = whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
        try:
            assert content(there(flipped, name, member)) == data  # a date, say
        except SourceError as error:
            assert str(error.where).endswith(name)  # noqa: PT017 - either outcome is right


def test_a_gz_cut_short_says_how_far_it_went_and_to_fetch_it_again(raw: Callable[..., Raw]) -> None:
    lines = b"".join(b'{"a": "%d", "b": %d}\n' % (number * number, number) for number in range(400_000))
    error = refusal(lambda: read_json_lines(raw(gzip.compress(lines)[:-2000], "source/rows.jsonl.gz"), AB))
    assert str(error.where).endswith("rows.jsonl.gz")
    assert "end too early, after 1" in str(error.found)
    assert "fetch it again" in str(error.todo)


def test_a_file_broken_after_the_limit_may_stay_unnoticed(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": "x", "b": 1}\nbroken', limit=1)
    assert read_json_lines(file, AB).rows() == [("x", 1)]


@pytest.mark.parametrize(
    ("name", "member", "data", "found"),
    [
        ("a.gz", None, b"<!DOCTYPE html>", "begins with b'<!DOCTYPE html>'"),
        ("a.gz", None, b"", "an empty file"),
        ("a.zip", "t", b"<html>404</html>", "begins with b'<html>404"),
        ("a.tar.gz", "t", gzip.compress(b"no archive" * 100), "begins with b'\\x1f\\x8b"),
        ("a.zip", "t.gz", zipped({"t.gz": b"plain"}), "begins with b'plain'"),
    ],
    ids=["a page", "an empty file", "a page for a zip", "gzip without a tar", "a member that is not gzip"],
)
def test_a_file_that_is_not_packed_as_its_name_says_is_refused(
    name: str, member: str | None, data: bytes, found: str, raw: Callable[..., Raw]
) -> None:
    assert found in str(refusal(lambda: content(raw(data, name, member))).found)


@pytest.mark.parametrize(
    "pack", [zipped, lambda members: tarred(members, "w"), lambda members: tarred(members, "w:gz")]
)
def test_a_missing_member_is_refused_with_the_names_that_are_near(
    pack: Callable[[dict[str, bytes]], bytes], raw: Callable[..., Raw]
) -> None:
    members = {"vitaminc_real/test.jsonl": b"", "vitaminc_real/LICENSE": b"", "q": b""}
    error = refusal(lambda: content(raw(pack(members), "v.zip", "vitaminc_real/tests.jsonl")))
    assert str(error.found) == "3 other files: 'vitaminc_real/test.jsonl', 'vitaminc_real/LICENSE', ..."
    assert "'vitaminc_real/tests.jsonl'" in str(error.expected)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    error = refusal(lambda: read_lines(Raw("source/a", tmp_path / "a")))
    assert str(error.where).endswith("/a")
    assert error.found == "No such file or directory"
    assert "Is a directory" in str(refusal(lambda: read_lines(Raw("source/a", tmp_path))).found)


def test_a_zip_member_with_a_password_is_refused(raw: Callable[..., Raw]) -> None:
    data = bytearray(zipped({"t": b"text"}))
    data[6] |= 1  # the flag in the member's own header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    assert "password" in str(refusal(lambda: content(raw(bytes(data), "a.zip", "t"))).found)


# JSON lines

NESTED: dict[str, Any] = {
    "id": pl.String,
    "question": pl.Struct({"stem": pl.String, "choices": pl.List(pl.Struct({"text": pl.String, "label": pl.String}))}),
    "score": pl.Float64,
    "flags": pl.Struct({"hate,speech": pl.Boolean}),
    "uids": pl.List(pl.Int64),
}
ROW: dict[str, Any] = {
    "id": "x",
    "question": {"stem": "s", "choices": [{"text": "t", "label": "A"}, {"label": "B", "text": "u"}]},
    "score": 1.5,
    "flags": {"hate,speech": True},
    "uids": [],
}


def line(**changes: Any) -> str:
    return json.dumps(ROW | changes) + "\n"


def test_json_lines_give_the_named_columns_in_the_order_asked_for_and_ignore_other_keys(
    raw: Callable[..., Raw],
) -> None:
    frame = read_json_lines(raw('{"z": null, "b": 1, "a": "x"}\n{"a": "y", "b": 2}\n'), AB)
    assert frame.schema == pl.Schema(AB)
    assert frame.rows() == [("x", 1), ("y", 2)]


def test_nested_json_keeps_its_shape_and_an_integer_fits_a_float(raw: Callable[..., Raw]) -> None:
    frame = read_json_lines(
        raw(line() + line(score=2, extra=[1, "a"], flags={"hate,speech": False, "more": 3})), NESTED
    )
    assert frame.schema == pl.Schema(NESTED)
    assert frame.to_dicts() == [ROW, ROW | {"score": 2.0, "flags": {"hate,speech": False}}]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n',
        b'{"a": "x", "b": 1}\r\n{"a": "y", "b": 2}\r\n',
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}',
        BOM + b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n\n \r\n',
        b'{"b": 0, "a": "x", "b": 1}\n  {"a": "y", "b": 2}  \n',
    ],
    ids=["LF", "CRLF", "no last line end", "BOM and blank lines at the end", "a key twice, blanks around"],
)
def test_the_same_rows_come_out_of_every_accepted_form_of_json_lines(data: bytes, raw: Callable[..., Raw]) -> None:
    assert read_json_lines(raw(data), AB).rows() == [("x", 1), ("y", 2)]


def test_an_empty_file_gives_no_row_of_the_right_columns(raw: Callable[..., Raw]) -> None:
    assert read_json_lines(raw(b""), NESTED).schema == pl.Schema(NESTED)
    assert read_json_array(raw(b" [ ] "), NESTED).shape == (0, 5)
    assert list(json_lines(raw(b"\n"), NESTED)) == []


@pytest.mark.parametrize(
    ("third", "found", "expected"),
    [
        ('{"a": "x", "b"', "unexpected end of data, at character ", "JSON object"),
        ('{"a": "x", "b": 1} {}', "unexpected content", "JSON object"),
        ('{"a": "x", "b": NaN}', "at character 17", "JSON object"),
        ('{"a": "\\ud83d", "b": 1}', "no low surrogate", "JSON object"),
        ("[1]", "[1] (a list)", "an object"),
        ("null", "null", "an object"),
        ('{"a": "x", "c": 1}', "the keys: 'a', 'c'", "a key 'b'"),
        ("{}", "the keys: none", "a key 'a'"),
        ('{"a": null, "b": 1}', "null", "a string"),
        ('{"a": 7, "b": 1}', "7 (an integer)", "a string"),
        ('{"a": "x", "b": "3"}', '"3" (a string)', "an integer of 64 bits"),
        ('{"a": "x", "b": true}', "true (a boolean)", "an integer of 64 bits"),
        ('{"a": "x", "b": 3.0}', "3.0 (a number)", "an integer of 64 bits"),
        ('{"a": "x", "b": 9223372036854775808}', "9223372036854775808 (an integer)", "an integer of 64 bits"),
        ('{"a": "x", "b": 1e20}', "(a number)", "an integer of 64 bits"),
        ('{"a": "x", "b": ["%s"]}' % ("long" * 100), '["longlonglong', "an integer of 64 bits"),
        ("\ufeff{}", "at character 1", "JSON object"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(
    third: str, found: str, expected: str, raw: Callable[..., Raw]
) -> None:
    good = '{"a": "x", "b": 1}\n'
    error = refusal(lambda: read_json_lines(raw(good * 2 + third + "\n" + good, "source/rows.jsonl"), AB))
    assert error.where == "source/rows.jsonl, line 3"
    assert found in str(error.found)
    assert expected in str(error.expected)
    assert len(str(error)) < 600
    # The same object in an array: the same words, but for a record's place.
    if found.startswith(("[1]", "the keys", "7", '"3"', "true", "3.0")):
        inside = refusal(lambda: read_json_array(raw(f"[{good}, {good}, {third}, {good}]", "source/rows.json"), AB))
        assert (inside.where, inside.found, inside.expected) == (
            "source/rows.json, record 3",
            error.found,
            error.expected,
        )


@pytest.mark.parametrize(
    ("change", "path", "found"),
    [
        ({"question": {"stem": "s"}}, "question.choices is missing", "the keys: 'stem'"),
        ({"question": {"stem": "s", "choices": None}}, "question.choices is null", "null"),
        ({"question": {"stem": 1, "choices": []}}, "question.stem has the wrong type", "1 (an integer)"),
        ({"question": {"stem": "s", "choices": [{"text": "t"}]}}, "question.choices[].label is missing", "'text'"),
        ({"question": {"stem": "s", "choices": [None]}}, "question.choices[] is null", "null"),
        ({"question": []}, "question has the wrong type", "[] (a list)"),
        ({"flags": {"hate,speech": 0}}, "flags.hate,speech has the wrong type", "0 (an integer)"),
        ({"uids": [1, "2"]}, "uids[] has the wrong type", '"2" (a string)'),
        ({"uids": [1, None]}, "uids[] is null", "null"),
        ({"uids": [2**63]}, "uids[] is too large", str(2**63)),
        ({"score": False}, "score has the wrong type", "false (a boolean)"),
    ],
)
def test_what_is_wrong_deep_inside_is_named_by_its_path(
    change: dict[str, Any], path: str, found: str, raw: Callable[..., Raw]
) -> None:
    error = refusal(lambda: read_json_lines(raw(line() * 4 + line(**change)), NESTED))
    assert path in error.what
    assert "line 5" in str(error.where)
    assert found in str(error.found)


def test_what_is_optional_may_be_null_or_missing_and_nothing_else(raw: Callable[..., Raw]) -> None:
    columns = {"a": pl.String, "b": pl.List(pl.Int64), "c": pl.Struct({"d": pl.String})}
    data = '{"a": null, "b": [1, null], "c": {}}\n{"b": [], "c": {"d": null}}\n'
    frame = read_json_lines(raw(data), columns, optional=("a", "b[]", "c.d"))
    assert frame.rows() == [(None, [1, None], {"d": None}), (None, [], {"d": None})]
    assert "b[] is null" in refusal(lambda: read_json_lines(raw(data), columns, optional=("a", "b", "c.d"))).what
    assert "wrong type" in refusal(lambda: read_json_lines(raw('{"a": 1}'), {"a": pl.String}, optional=("a",))).what


def test_numbers_stand_as_text_only_where_that_was_asked_for(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": 10, "c": "x"}\n{"a": 10.0, "c": "x"}\n{"a": "10.0", "c": "x"}\n{"a": 8.5, "c": "x"}\n')
    frame = read_json_lines(file, {"a": pl.String, "c": pl.String}, numbers_as_text=("a",))
    assert frame["a"].to_list() == ["10", "10.0", "10.0", "8.5"]
    error = refusal(lambda: read_json_lines(raw('{"a": true}'), {"a": pl.String}, numbers_as_text=("a",)))
    assert error.found == "true (a boolean)"


def test_a_builder_that_asks_for_what_no_reader_does_is_told_so(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": "x", "b": 1}')
    with pytest.raises(ValueError, match=r"optional names \['c'\]"):
        read_json_lines(file, AB, optional=("c",))
    with pytest.raises(ValueError, match="numbers_as_text"):
        read_json_lines(file, AB, numbers_as_text=("b",))
    with pytest.raises(TypeError, match=r"a\[\]: no reader fills Date"):
        read_json_lines(file, {"a": pl.List(pl.Date)})
    with pytest.raises(TypeError, match="no table holds List"):
        read_csv(raw("a\n1"), {"a": pl.List(pl.String)})


def test_bytes_that_are_no_utf8_are_refused_with_line_and_place(raw: Callable[..., Raw]) -> None:
    good = b'{"a": "x", "b": 1}'
    bad = b'{"a": "\xff", "b": 1}'
    error = refusal(lambda: read_json_lines(raw(good + b"\n" + bad, "s/f"), AB))
    assert (error.where, error.expected) == ("s/f, line 2", "UTF-8")
    assert "byte 0xff at byte 8" in str(error.found)
    error = refusal(lambda: read_json_array(raw(b"[" + good + b"," + bad + b"]", "s/f"), AB))
    assert error.where == "s/f, record 2"
    assert "byte 0xff at byte 8" in str(error.found)


@pytest.mark.parametrize("batch", [1, 25, 1 << 20])
def test_a_blank_line_among_the_records_is_refused_whatever_the_batches(
    batch: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", batch)
    good = '{"a": "x", "b": 1}\n'
    error = refusal(lambda: read_json_lines(raw(good * 2 + "\n \n" + good), AB))
    assert str(error.where).endswith("line 3")
    assert "blank line" in error.what
    assert read_json_lines(raw(good * 3 + "\n \n"), AB).height == 3


def test_of_two_malformed_lines_the_first_is_named(raw: Callable[..., Raw]) -> None:
    good = '{"a": "x", "b": 1}\n'
    error = refusal(lambda: read_json_lines(raw(good + '{"a": 1, "b": 1}\n{"a": 1, "b": 1}\nno JSON\n'), AB))
    assert str(error.where).endswith("line 2")
    error = refusal(lambda: read_json_lines(raw(good + 'no JSON\n{"a": 1, "b": 1}\n'), AB))
    assert str(error.where).endswith("line 2")


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_no_more_records_come_than_the_limit(
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
    assert read_xml_values(raw(f"<d>{items}</d>", limit=limit), AB, records=("r",)).rows() == expected
    assert read_lines(raw("0\n1\n2\n", limit=limit)) == [a for a, _ in expected]
    assert read_documents(raw("<d>\n0\n<d>\n1\n<d>\n2\n", limit=limit))["segments"].to_list() == [
        [a] for a, _ in expected
    ]


JSON_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "question": st.fixed_dictionaries(
                {
                    "stem": TEXT,
                    "choices": st.lists(st.fixed_dictionaries({"text": TEXT, "label": TEXT}), max_size=3),
                }
            ),
            "score": st.floats(allow_nan=False, allow_infinity=False),
            "flags": st.fixed_dictionaries({"hate,speech": st.booleans()}),
            "uids": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
        }
    ),
    max_size=6,
)


@given(rows=JSON_ROWS, escaped=st.booleans(), batch=st.integers(1, 300), kind=st.sampled_from(sorted(PACKED)))
def test_json_rows_survive_lines_and_arrays_packing_and_batches(
    rows: list[dict[str, Any]], escaped: bool, batch: int, kind: str, there: Callable[..., Raw]
) -> None:
    name, member, pack = PACKED[kind]
    texts = [json.dumps(row, ensure_ascii=escaped) for row in rows]
    lines = there(pack("\n".join(texts).encode()), name, member)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "BATCH", batch)
        frame = read_json_lines(lines, NESTED)
        assert frame.to_dicts() == rows
        assert frame.schema == pl.Schema(NESTED)
        indented = there(pack(json.dumps(rows, ensure_ascii=escaped, indent=1).encode()), name, member)
        assert read_json_array(indented, NESTED).equals(frame)


# JSON arrays


def test_an_array_may_have_a_bom_blanks_and_any_layout(raw: Callable[..., Raw]) -> None:
    data = BOM + b' \r\n[\t{"a": "[x]},", "b": 1 } ,\n\n{"a"\n: "y\\"]", "b": 2}\n]\r\n '
    assert read_json_array(raw(data), AB).rows() == [("[x]},", 1), ('y"]', 2)]


@pytest.mark.parametrize("batch", [1, 1 << 20])
@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        ("", "", "an empty file"),
        ('{"a": "x", "b": 1}', "", "'{"),
        ('[{"a": "x", "b": 1}, {"a": "y", "b": 2}', ", record 2", "expected ',' or ']'"),
        ('[{"a": "x", "b": 1}, {"a": "y', ", record 2", "Unterminated string"),
        ('[{"a": "x", "b": 1},', ", record 2", "the file ends before the closing ]"),
        ("[", ", record 1", "the file ends before the closing ]"),
        ('[{"a": "x", "b": 1},]', ", record 2", "Expecting value"),
        ('[{"a": "x", "b": 1} {"a": "y", "b": 2}]', ", record 1", "expected ',' or ']'"),
        ('[{"a": "x", "b": 1}] []', "", "'[]'"),
        ('[{"a": "x", "b": 1}, {"a": "y", "b": NaN}]', ", record 2", "NaN"),
        ('[{"a": "x", "b": 1}, {"a": "\\udc00", "b": 2}]', ", record 2", "surrogate"),
        ('[{"a": "x", "b": 1}, {"a": "y\x01", "b": 2}]', ", record 2", "control character"),
        ("[" * 200_000, ", record 1", "nested too deeply"),
        ('[{"a": "x", "b": 1}, [2]]', ", record 2", "[2] (a list)"),
    ],
)
def test_a_malformed_array_is_refused_with_the_record(
    data: str, place: str, found: str, batch: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", batch)
    error = refusal(lambda: read_json_array(raw(data, "source/rows.json"), AB))
    assert error.where == "source/rows.json" + place
    assert found in str(error.found)


def test_an_array_in_a_gz_cut_after_its_bracket_is_refused(raw: Callable[..., Raw]) -> None:
    data = gzip.compress(b'[{"a": "x", "b": 1}]')[:-4]
    assert "end too early" in str(refusal(lambda: read_json_array(raw(data, "a.json.gz"), AB)).found)


# CSV


def test_columns_are_found_by_name_and_others_ignored(raw: Callable[..., Raw]) -> None:
    frame = read_csv(raw("b,junk,a\r\n1,,x\r\n-2,,y\r\n"), AB)
    assert frame.schema == pl.Schema(AB)
    assert frame.rows() == [("x", 1), ("y", -2)]


def test_without_a_header_columns_are_taken_by_position(raw: Callable[..., Raw]) -> None:
    frame = read_csv(raw(BOM + '"Да, ""да""",3.\n'.encode()), {"text": pl.String, "score": pl.Float64}, header=False)
    assert frame.rows() == [('Да, "да"', 3.0)]


def test_values_are_kept_byte_for_byte(raw: Callable[..., Raw]) -> None:
    data = 'a,b\n" x\r\ny\n\rz ",1\n,2\n"",3\nNULL,4\n\u2028\x85\xa0\x00 ,5\n"""",6\n'
    assert read_csv(raw(data), AB)["a"].to_list() == [" x\r\ny\n\rz ", "", "", "NULL", "\u2028\x85\xa0\x00 ", '"']


def test_a_quote_is_a_character_where_quotes_are_off(raw: Callable[..., Raw]) -> None:
    file = raw('1\tв балете "Лебедь"\n2\t"начало\n')
    columns = {"id": pl.String, "text": pl.String}
    frame = read_csv(file, columns, separator="\t", header=False, quotes=False)
    assert frame["text"].to_list() == ['в балете "Лебедь"', '"начало']
    assert "stray quote" in refusal(lambda: read_csv(file, columns, separator="\t", header=False)).what


def test_a_field_may_be_longer_than_the_csv_module_allows_by_itself(raw: Callable[..., Raw]) -> None:
    assert read_csv(raw("a\n" + "x" * 300_000), {"a": pl.String})["a"].str.len_chars().to_list() == [300_000]


def test_numbers_and_booleans_of_a_table_are_read_strictly(raw: Callable[..., Raw]) -> None:
    columns = {"i": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    data = "i,f,b\n007,1e-3,true\n-9223372036854775808,.5,False\n,,\n"
    rows = [(7, 0.001, True), (-(2**63), 0.5, False), (None, None, None)]
    assert read_csv(raw(data), columns, optional=tuple(columns)).rows() == rows
    wrong = {
        "i": ("", " 1", "1_0", "1.0", "١", str(2**63), "1" * 5000, "0x1"),
        "f": ("", "nan", "inf", "1e999", "1,5", "1_0", ".", "1e", " 1", "١"),
        "b": ("", "1", "yes", "TRUE"),
    }
    for name, values in wrong.items():
        for value in values:
            error = refusal(lambda name=name, value=value: read_csv(raw(f'{name}\n"{value}"'), {name: columns[name]}))
            assert str(error.where).endswith("line 2")
            assert value[:40] in str(error.found)


@pytest.mark.parametrize(
    ("data", "where", "found", "expected"),
    [
        ("a,c\nx,1\n", "line 1", "'a', 'c'", "'a', 'b'"),
        ("a,b,b\nx,1,1\n", "line 1", "'a', 'b', 'b'", "'a', 'b'"),
        ("", "line 1", "nothing", "'a', 'b'"),
        ('a,b\n"x\ny",1\nx\n', "line 4", "1 fields: 'x'", "2 fields: 'a', 'b'"),
        ('a,b\n"x\ny",1\nx,1,\n', "line 4", "3 fields", "2 fields"),
        ('a,b\nx,1\n"x\ny","1\n\n', "line 3", "unexpected end of data", "closed"),
        ('a,b\n"x\ny"z,1\n', "line 2", "expected after", "closed"),
        ('a,b\nx"y,1\n', "line 2", "'x\"y,1", "closed"),
        ('a,b\nx, "1"\n', "line 2", "'x, ", "closed"),
        ("a,b\nx\ry,1\n", "line 2", "'x\\ry,1", "quotes"),
        ('a,b\n"x\n\ny",1\n\n\nz,2\n', "line 5", "a blank line", "a row"),
        ('a,b\n"x\ny",1\nz,one\n', "line 4", "'one'", "an integer of 64 bits"),
        (b'a,b\n"x\ny\xe9",1\n', "line 3", "byte 0xe9", "UTF-8"),
    ],
)
def test_a_malformed_table_is_refused_with_the_line_where_the_row_begins(
    data: str | bytes, where: str, found: str, expected: str, raw: Callable[..., Raw]
) -> None:
    error = refusal(lambda: read_csv(raw(data, "source/t.csv"), AB))
    assert error.where == f"source/t.csv, {where}"
    assert found in str(error.found)
    assert expected in str(error.expected)


def test_blank_lines_at_the_end_of_a_table_are_no_rows(raw: Callable[..., Raw]) -> None:
    assert read_csv(raw("a,b\r\nx,1\r\n\r\n\r\n"), AB).height == 1


def quoted(text: str, separator: str, *, always: bool) -> str:
    """A field; not by the csv module, which leaves "\\r" unquoted in rows that end in "\\n"."""
    needed = always or any(mark in text for mark in (separator, '"', "\r", "\n"))
    return '"' + text.replace('"', '""') + '"' if needed else text


@given(
    rows=st.lists(st.tuples(TEXT, st.integers(-(2**63), 2**63 - 1), TEXT), max_size=6),
    separator=st.sampled_from(",\t;|"),
    end=st.sampled_from(["\n", "\r\n"]),
    always=st.booleans(),
    batch=st.integers(1, 4),
)
def test_any_texts_survive_a_table(
    rows: list[tuple[str, int, str]], separator: str, end: str, always: bool, batch: int, there: Callable[..., Raw]
) -> None:
    lines = [separator.join(quoted(str(v), separator, always=always) for v in row) for row in [("a", "b", "c"), *rows]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BATCH", batch)
        frame = read_csv(there(end.join([*lines, ""]).encode()), AB | {"c": pl.String}, separator=separator)
    assert frame.rows() == rows


# XML

PAIR: dict[str, Any] = {"id": pl.Int64, "text_1": pl.String, "class": pl.Float64}


def pair(*values: tuple[str, str], tag: str = "paraphrase") -> str:
    inner = "\n".join(f'<value name="{name}">{text}</value>' for name, text in values)
    return f"<{tag}>\n{inner}\n</{tag}>\n"


def corpus(*pairs: str) -> str:
    head = "<?xml version='1.0' encoding='UTF8'?>\n<data>\n<head><title>t</title></head>\n"
    return f"{head}<corpus>\n{''.join(pairs)}</corpus>\n</data>"


GOOD = pair(("id", "1"), ("jaccard", ""), ("text_1", " Цены &lt;растут&gt;\xa0&amp; <!-- x -->стоят "), ("class", "-1"))


def values(file: Raw, **options: Any) -> pl.DataFrame:
    return read_xml_values(file, PAIR, records=("paragraph", "paraphrase"), **options)


@pytest.mark.parametrize("bom", [b"", BOM])
def test_records_of_either_name_give_the_named_values(bom: bytes, raw: Callable[..., Raw]) -> None:
    other = pair(("class", "0"), ("text_1", "b"), ("id", "2"), tag="paragraph")
    frame = values(raw(bom + corpus(GOOD, other).encode()))
    assert frame.schema == pl.Schema(PAIR)
    assert frame.rows() == [(1, " Цены <растут>\xa0& стоят ", -1.0), (2, "b", 0.0)]


def test_an_optional_value_may_be_missing_or_empty(raw: Callable[..., Raw]) -> None:
    data = corpus(pair(("id", "1"), ("text_1", "a"), ("class", "")), pair(("id", "2"), ("text_1", "a")))
    assert values(raw(data), optional=("class",))["class"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("bad", "what", "found"),
    [
        (pair(("id", "1"), ("text_1", "a")), "'class' is missing", "['id', 'text_1']"),
        (pair(("id", "1"), ("text_1", ""), ("class", "0")), "'text_1' is empty", "'text_1'"),
        (pair(("id", "1"), ("id", "2"), ("text_1", "a"), ("class", "0")), "'id' stands twice", "'1' and '2'"),
        (pair(("id", "1x"), ("text_1", "a"), ("class", "0")), "id has the wrong type", "'1x'"),
        (pair(("id", "1"), ("text_1", "a<b/>"), ("class", "0")), "something else than values", "<value>"),
        ("<paraphrase><val name='id'>1</val></paraphrase>", "something else than values", "<val>"),
        ("<paraphrase><value>1</value></paraphrase>", "something else than values", "<value>"),
        ("<paraphrase>loose</paraphrase>", "text between", "'loose'"),
        (GOOD.replace("</value>", "</value>loose", 1), "text between", "'loose'"),
        ("<parafrase/>", "not a record", "<parafrase>"),
    ],
)
def test_a_malformed_xml_record_is_refused_with_its_number(
    bad: str, what: str, found: str, raw: Callable[..., Raw]
) -> None:
    error = refusal(lambda: values(raw(corpus(GOOD, bad, GOOD), "source/p.xml")))
    assert error.where == "source/p.xml, record 2"
    assert what in error.what
    assert found in str(error.found)


@pytest.mark.parametrize(
    ("data", "where", "found"),
    [
        (corpus(GOOD)[:-30], "p.xml, line 1", "no element found|unclosed|mismatched"),
        (corpus(GOOD, "<paraphrase>&nbsp;</paraphrase>"), "p.xml, line ", "undefined entity"),
        (corpus(), "p.xml", "<data>"),
        ("", "p.xml, line 1", "no element found"),
        (b"<data>\n\xff</data>", "p.xml, line 2", "byte 0xff"),
    ],
    ids=["cut", "unknown entity", "no record", "empty", "no UTF-8"],
)
def test_what_is_no_xml_of_records_is_refused(
    data: str | bytes, where: str, found: str, raw: Callable[..., Raw]
) -> None:
    error = refusal(lambda: values(raw(data, "p.xml")))
    assert str(error.where).startswith(where)
    assert any(part in str(error.found) for part in found.split("|"))


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE d SYSTEM "http://localhost/d.dtd">',
    ],
)
def test_xml_with_a_document_type_is_refused_before_anything_is_expanded(doctype: str, raw: Callable[..., Raw]) -> None:
    error = refusal(lambda: values(raw(f"{doctype}<data>{GOOD}</data>")))
    assert "defines entities or refers to other files" in error.what
    assert "<!DOCTYPE>" in str(error.expected)


# Lines and documents


def test_only_the_line_ends_are_taken_from_lines(raw: Callable[..., Raw]) -> None:
    data = BOM + "0\r\n1 \n\n\u2028a\x85b\x0b\xa0\r\r\nlast\r".encode()
    assert read_lines(raw(data)) == ["0", "1 ", "", "\u2028a\x85b\x0b\xa0\r", "last\r"]
    assert read_lines(raw(b"")) == []
    assert str(refusal(lambda: read_lines(raw(b"0\n\xff\n", "s/l.lst"))).where) == "s/l.lst, line 2"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_is_exactly_the_separator_opens_a_document(end: str, raw: Callable[..., Raw]) -> None:
    lines = ["<d>", "a \u2028", "", " <d>", "<d>", "b\x85\xa0"]
    frame = read_documents(raw(BOM + end.join([*lines, ""]).encode()))
    assert frame.schema == pl.Schema({"line": pl.Int64, "segments": pl.List(pl.String)})
    assert frame.rows() == [(1, ["a \u2028", "", " <d>"]), (5, ["b\x85\xa0"])]
    assert read_documents(raw("#\nx"), separator="#").rows() == [(1, ["x"])]


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        ("a\n<d>\nb\n", "t.txt, line 1", "text before the first document"),
        ("\n<d>\nb\n", "t.txt, line 1", "text before the first document"),
        ("<d>\na\n<d>\n<d>\nb\n", "t.txt, line 3", "a document without a segment"),
        ("<d>\na\n<d>", "t.txt, line 3", "a document without a segment"),
        ("", "t.txt", "no document"),
    ],
)
def test_malformed_documents_are_refused(data: str, where: str, what: str, raw: Callable[..., Raw]) -> None:
    error = refusal(lambda: read_documents(raw(data, "t.txt")))
    assert error.where == where
    assert what in error.what


SEGMENT = TEXT.map(lambda text: text.replace("\n", " ").rstrip("\r")).filter(lambda text: text != "<d>")


@given(documents=st.lists(st.lists(SEGMENT, min_size=1, max_size=4), min_size=1, max_size=5), crlf=st.booleans())
def test_any_segments_survive(documents: list[list[str]], crlf: bool, there: Callable[..., Raw]) -> None:
    end = "\r\n" if crlf else "\n"
    text = "".join(end.join(["<d>", *segments, ""]) for segments in documents)
    frame = read_documents(there(text.encode()))
    assert frame["segments"].to_list() == documents
    lines = text.split("\n")
    assert all(lines[number - 1].removesuffix("\r") == "<d>" for number in frame["line"])


# Real files


def source(path: str, member: str | None = None) -> Raw:
    return Raw(path, SOURCES / path, member)


@real
@pytest.mark.parametrize(
    ("path", "member", "columns", "rows"),
    [
        ("cedr/main/train.jsonl", None, {"text": pl.String, "labels": pl.List(pl.String)}, 7528),
        ("cedr/main/test.jsonl", None, {"text": pl.String, "labels": pl.List(pl.String)}, 1882),
        ("arc/ARC-Challenge-Test.jsonl", None, {"id": pl.String, "question": NESTED["question"]}, 1172),
        ("hh_rlhf/harmless-base/test.jsonl.gz", None, {"chosen": pl.String, "rejected": pl.String}, 2312),
        ("vitaminc/vitaminc_real.zip", "vitaminc_real/test.jsonl", {"claim": pl.String, "evidence": pl.String}, 34_481),
        ("vitaminc/vitaminc_synthetic.zip", "vitaminc_synthetic/test.jsonl", {"claim": pl.String}, 20_716),
    ],
)
def test_real_json_lines_have_the_published_number_of_rows(
    path: str, member: str | None, columns: dict[str, Any], rows: int
) -> None:
    frame = read_json_lines(source(path, member), columns)
    assert frame.height == rows
    # The standard library, line by line, gives the same values.
    file = source(path, member)
    with open_raw(file) as stream:
        plain = [json.loads(text) for text in stream]
    for name, dtype in columns.items():
        if dtype != NESTED["question"]:
            assert frame[name].to_list() == [row[name] for row in plain]


@real
def test_the_real_questions_of_rubq_are_580() -> None:
    columns = {"uid": pl.Int64, "paragraphs_uids": pl.Struct({"with_answer": pl.List(pl.Int64)})}
    frame = read_json_array(source("rubq/RuBQ_2.0_dev.json"), columns)
    assert frame.height == 580
    plain = json.loads((SOURCES / "rubq/RuBQ_2.0_dev.json").read_text(encoding="utf-8"))
    assert frame["uid"].to_list() == [row["uid"] for row in plain]


@real
@pytest.mark.parametrize(("name", "rows"), [("paraphrases.xml", 7227), ("paraphrases_gold.xml", 1924)])
def test_the_real_paraphrases_have_the_published_number_of_pairs(name: str, rows: int) -> None:
    columns = PAIR | {"text_2": pl.String}
    frame = read_xml_values(source(f"paraphraser/{name}"), columns, records=("paragraph", "paraphrase"))
    assert frame.height == rows
    assert set(frame["class"]) == {-1.0, 0.0, 1.0}


@real
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize(
    ("folder", "documents", "segments"), [("Europarl7", 360, 5134), ("IWSLT2017", 23, 2271), ("NC-2016", 155, 2999)]
)
def test_the_real_documents_have_the_published_sizes(folder: str, documents: int, segments: int, language: str) -> None:
    frame = read_documents(source(f"document_mt/{folder}/concatenated_en2de_test_{language}.txt"))
    assert (frame.height, frame["segments"].list.len().sum()) == (documents, segments)


@real
def test_the_real_tables_have_the_published_number_of_rows() -> None:
    esnli = read_csv(source("esnli/esnli_test.csv"), {"gold_label": pl.String, "Sentence1": pl.String})
    assert dict(esnli["gold_label"].value_counts().iter_rows()) == {
        "entailment": 3368,
        "contradiction": 3237,
        "neutral": 3219,
    }
    columns = {"sentence1": pl.String, "sentence2": pl.String, "score": pl.Float64}
    stsb = read_csv(source("stsb_ru/stsb-ru-train.csv"), columns, header=False)
    assert (stsb.height, stsb["score"].min(), stsb["score"].max()) == (5749, 0.0, 5.0)
    columns = {"id": pl.Int64, "text": pl.String}
    path = "miracl/topics.miracl-v1.0-ru-dev.tsv"
    assert read_csv(source(path), columns, separator="\t", header=False, quotes=False).height == 1252


@real
def test_real_label_files_have_a_label_for_each_row() -> None:
    labels = read_lines(source("piqa/valid-labels.lst"))
    assert len(labels) == 1838
    assert set(labels) == {"0", "1"}
