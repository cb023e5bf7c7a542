"""The beginnings of files by range requests: every format is cut to whole records, and servers may do what they like."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest

from builders.raw_files import RawFile, https, member
from builders.reading.archives import open_raw
from builders.reading.parquet import read_parquet
from builders.spec import Raw
from pipelines.raw.heads import BUDGET, MEGABYTE, Head, write_heads
from pipelines.raw.locations import publisher_request
from pipelines.raw.settings import RawSettings, make_request, stored_file
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import error_of, make_tar, make_zip, sha256, source_of

ROWS = [{"id": n, "text": f"{n} {3 * sha256(b'%d' % n)}{sha256(b'-%d' % n)}\n\"'"} for n in range(20_000)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
TABLE = pl.DataFrame(ROWS)
CSV = "id,text\n" + "".join(f'{row["id"]},"{str(row["text"])[:-2]}\n\'"\n' for row in ROWS)


def parquet(group: int) -> bytes:
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(TABLE.to_arrow(), sink, row_group_size=group, compression="none")
    return bytes(sink.getvalue())


def look(
    server: FaultyServer, settings: RawSettings, file: RawFile, records: int = 100
) -> tuple[Head, int | None, int]:
    """What is seen of a file, its size as the server says it, and the bytes that were read."""
    request = make_request(source_of(file), stored_file(file), settings)
    heads, size, read, _ = write_heads(
        publisher_request(request), [file], settings.cache / "heads", records, settings.patience
    )
    return heads[file.name], size, read


def look_at(
    server: FaultyServer, settings: RawSettings, name: str, content: bytes, records: int = 100
) -> tuple[Head, int | None, int]:
    """What is seen of a file with this content."""
    server.files["/file"] = content
    return look(server, settings, https(f"{server.url}/file", name=name), records)


def read_text(settings: RawSettings, name: str) -> bytes:
    with open_raw(Raw(name, settings.cache / "heads" / name)) as stream:
        return stream.read()


@pytest.mark.parametrize(
    ("name", "pack", "expected"),
    [
        ("a.jsonl", bytes, lambda text: LINES.startswith(text) and text.endswith(b"\n") and text.count(b"\n") > 2_000),
        ("a.jsonl.gz", gzip.compress, lambda text: LINES.startswith(text) and text.count(b"\n") > 2_000),
        ("a.jsonl.zst", lambda data: pa.compress(data, "zstd", asbytes=True), lambda text: text.endswith(b"\n")),
        ("a.json", lambda _: json.dumps(ROWS, indent=1).encode(), lambda text: json.loads(text) == ROWS[:100]),
        ("a.csv", lambda _: CSV.encode(), lambda text: CSV.encode().startswith(text) and text.endswith(b"'\"\n")),
    ],
)
def test_the_first_megabyte_is_cut_to_whole_records(
    server: FaultyServer,
    raw_settings: RawSettings,
    name: str,
    pack: Callable[[bytes], bytes],
    expected: Callable[[bytes], bool],
) -> None:
    server.files["/file"] = content = pack(LINES)
    assert len(content) > MEGABYTE
    head, size, read = look(server, raw_settings, https(f"{server.url}/file", name=name))
    assert (head.is_cut, head.failure, size, read) == (True, "", len(content), MEGABYTE)
    assert expected(read_text(raw_settings, name))
    assert head.seen >= 100
    assert head.keys == ({} if name == "a.csv" else {"id": "Int64, 0 null", "text": "String, 0 null"})


def test_a_small_file_is_read_whole(server: FaultyServer, raw_settings: RawSettings) -> None:
    head, _, _ = look_at(server, raw_settings, "a.json", b'[{"a": null}, {"a": "x"}]')
    assert (head.is_cut, head.keys) == (False, {"a": "String, 1 null"})
    assert read_text(raw_settings, "a.json") == server.files["/file"]


def test_an_element_that_is_malformed_before_the_cut_is_not_taken_for_the_cut(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    head, _, _ = look_at(
        server, raw_settings, "a.json", json.dumps(ROWS).encode().replace(b'{"id": 50,', b'{"id": 50;', 1)
    )
    assert "a.json, record 51" in head.failure


@pytest.mark.parametrize("group", [1_000, 20_000])
def test_the_footer_of_a_parquet_file_tells_its_rows_and_the_first_row_group_is_read(
    server: FaultyServer, raw_settings: RawSettings, group: int
) -> None:
    head, size, read = look_at(server, raw_settings, "a.parquet", parquet(group))
    assert (head.records, head.is_cut, head.failure, size) == (20_000, True, "", len(server.files["/file"]))
    assert read < BUDGET
    path = raw_settings.cache / "heads" / "a.parquet"
    assert read_parquet(Raw("a", path), {"id": pl.Int64(), "text": pl.String()}).to_dicts() == ROWS[:100]


def test_a_row_group_beyond_the_budget_is_not_read(
    server: FaultyServer, raw_settings: RawSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.raw.heads.BUDGET", 2_000_000)
    head, _, read = look_at(server, raw_settings, "a.parquet", parquet(20_000))
    assert (head.records, read) == (20_000, 2 * MEGABYTE)
    assert head.unread.startswith("its first row group has ")


def test_a_member_is_read_by_the_directory_at_the_end_of_its_archive(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    server.files["/x.zip"] = make_zip({"before.bin": LINES, "in/a.jsonl": LINES, "after.bin": LINES})
    archive = https(f"{server.url}/x.zip")
    head, _, read = look(server, raw_settings, member(archive, "in/a.jsonl", name="a.jsonl"))
    assert (head.is_cut, head.failure) == (True, "")
    assert LINES.startswith(read_text(raw_settings, "a.jsonl"))
    assert read < 4 * MEGABYTE
    head, _, _ = look(server, raw_settings, member(archive, "in/b.jsonl", name="b.jsonl"))
    assert head.failure == "3 other files: 'in/a.jsonl', ..., expected a file 'in/b.jsonl' in the archive"


def test_of_another_archive_the_first_members_are_seen(server: FaultyServer, raw_settings: RawSettings) -> None:
    server.files["/x.tar.gz"] = make_tar({"in/a.jsonl": b'{"a": 1}\n', "big.bin": LINES, "last": LINES}, "w:gz")
    archive = https(f"{server.url}/x.tar.gz")
    head, _, _ = look(server, raw_settings, member(archive, "in/a.jsonl", name="a.jsonl"))
    assert (head.is_cut, read_text(raw_settings, "a.jsonl")) == (False, b'{"a": 1}\n')
    head, _, _ = look(server, raw_settings, member(archive, "last", name="last"))
    assert head.unread == "last is not among the first members: in/a.jsonl, big.bin"
    head, _, _ = look(server, raw_settings, member(archive, "big.bin", name="big.bin"))
    assert head.is_cut
    assert LINES.startswith(read_text(raw_settings, "big.bin"))


@pytest.mark.parametrize("filler", [b"", LINES], ids=["whole", "cut"])
def test_a_member_whose_name_begins_with_a_dot_and_a_slash_is_found_as_a_build_finds_it(
    server: FaultyServer, raw_settings: RawSettings, filler: bytes
) -> None:
    server.files["/x.tgz"] = make_tar({"./in/a.jsonl": b'{"a": 1}\n', "./z": filler}, "w:gz")
    head, _, _ = look(server, raw_settings, member(https(f"{server.url}/x.tgz"), "in/a.jsonl", name="a.jsonl"))
    assert (head.failure, read_text(raw_settings, "a.jsonl")) == ("", b'{"a": 1}\n')


def test_a_member_that_an_archive_has_twice_is_refused_as_a_build_refuses_it(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    server.files["/x.zip"] = make_zip({"a.jsonl": b'{"a": 1}\n', "b.jsonl": b'{"a": 2}\n'}).replace(
        b"b.jsonl", b"a.jsonl"
    )
    head, _, _ = look(server, raw_settings, member(https(f"{server.url}/x.zip"), "a.jsonl", name="a.jsonl"))
    assert head.failure == "several files 'a.jsonl' in the archive, expected one"


@pytest.mark.parametrize(
    ("fault", "name", "words"),
    [
        (Fault(ignore_range=True), "a.jsonl", ""),
        (Fault(ignore_range=True), "a.parquet", "the server cannot send a part of the file"),
        (Fault(headers={"Content-Length": None}, framing="close", ignore_range=True), "a.jsonl", ""),
        (Fault(body=b"PAR1 is not all of it"), "a.parquet", "Arrow"),
    ],
)
def test_a_server_that_sends_another_part_is_understood(
    server: FaultyServer, raw_settings: RawSettings, fault: Fault, name: str, words: str
) -> None:
    server.always["/file"] = fault
    head = look_at(server, raw_settings, name, parquet(1_000) if name == "a.parquet" else LINES)[0]
    assert words in head.failure + head.unread


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Fault(status=404), "status 404"),
        (Fault(status=403), "status 403"),
        (Fault(status=503), "status 503"),
        (Fault(status=429, headers={"Retry-After": "7200"}), "status 429"),
        (Fault(status=302, headers={"Location": "http://a.example/x"}), "http://a.example"),
        (Fault(headers={"Content-Range": "bytes 5-9/10"}), "the server cannot send a part of the file"),
        (Fault(reset_after=0), "ReadError"),
    ],
)
def test_a_server_that_sends_nothing_is_an_error_in_words(
    server: FaultyServer, raw_settings: RawSettings, fault: Fault, found: str
) -> None:
    server.always["/file"] = fault
    settings = replace(raw_settings, patience=replace(raw_settings.patience, retries=1))
    assert found in str(error_of(look_at, server, settings, "a.jsonl", LINES))


def test_a_busy_server_is_asked_again(server: FaultyServer, raw_settings: RawSettings) -> None:
    server.fail("/file", Fault(status=503, headers={"Retry-After": "3"}))
    assert look_at(server, raw_settings, "a.jsonl", LINES)[2] == MEGABYTE


def test_what_a_slow_server_did_not_send_is_a_cut_and_no_digest_and_no_malformed_record(
    server: FaultyServer, raw_settings: RawSettings
) -> None:
    settings = replace(raw_settings, patience=replace(raw_settings.patience, window=-1))
    for fault in (Fault(), Fault(framing="chunked", ignore_range=True)):
        server.always["/file"] = fault
        head, _, _ = look_at(server, settings, "a.json", json.dumps(ROWS[:3_000], indent=1).encode(), records=9_999)
        assert (head.is_cut, head.failure, head.seen) == (True, "", read_text(settings, "a.json").count(b'"id":'))
        assert 0 < head.seen < 3_000


def test_an_attempt_that_breaks_leaves_nothing_to_the_next(server: FaultyServer, raw_settings: RawSettings) -> None:
    server.fail("/file", Fault(cut_after=30))
    head, size, read = look_at(server, raw_settings, "a.jsonl", b'{"a": 1}\n' * 20)
    assert (head.seen, size, read) == (20, 180, 180)


@pytest.mark.parametrize(
    ("value", "unread"),
    [
        ([{"a": "x"}, {"a": "y" * 2 * MEGABYTE}], ""),
        ([{"a": "y" * 2 * MEGABYTE}], "its first record is longer than what was read"),
        ({"data": ROWS}, "one JSON object: only its beginning was read"),
    ],
    ids=["second record", "first record", "object"],
)
def test_a_missing_end_is_not_a_malformed_record(
    server: FaultyServer, raw_settings: RawSettings, value: object, unread: str
) -> None:
    head, _, _ = look_at(server, raw_settings, "a.json", json.dumps(value, indent=1).encode())
    assert (head.failure, head.unread, head.seen) == ("", unread, 0 if unread else 1)


ZSTD = pa.compress(b'{"a": 1}\n' * 99, "zstd", asbytes=True)
LONG = pa.compress(LINES, "zstd", asbytes=True)
EMPTY = pa.BufferOutputStream()
pa.parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), EMPTY)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl.zst", b'{"a": 1}\n' * 99, "a file, expected zstd data"),
        ("a.jsonl.zst", ZSTD[:4] + b"\x00\xa8" + bytes(20), "memory"),  # a window of 2 GB
        ("a.jsonl.zst", ZSTD[:-1], "truncated data, after 0 bytes"),
        ("a.jsonl.zst", LONG[:40] + bytes(100) + LONG[140:], "corrupt data, after 0 bytes"),
        ("a.jsonl.gz", gzip.compress(LINES[:9_999], mtime=0)[:-9], "truncated data, after "),
        ("a.jsonl.gz", gzip.compress(b"", mtime=0), "no record in it"),
        ("a.jsonl.gz", b"text", "a file, expected gzip data"),
        ("a.jsonl", b"", "an empty file"),
        ("a.csv", b"a,b\n", "no record in it"),
        ("a.jsonl", b'[\n{"a": 1}\n]\n', "one JSON array"),
        ("a.parquet", EMPTY.getvalue().to_pybytes(), "no row in it"),
    ],
)
def test_a_file_that_nobody_can_read_is_no_beginning(
    server: FaultyServer, raw_settings: RawSettings, name: str, content: bytes, words: str
) -> None:
    head, _, _ = look_at(server, raw_settings, name, content)
    assert words in head.failure
    assert not (raw_settings.cache / "heads" / name).exists()


def test_a_member_with_a_password_is_named_without_python(server: FaultyServer, raw_settings: RawSettings) -> None:
    content = bytearray(make_zip({"a.jsonl": b"{}\n"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1  # the flag of the directory
    server.files["/x.zip"] = bytes(content)
    head, _, _ = look(server, raw_settings, member(https(f"{server.url}/x.zip"), "a.jsonl", name="a.jsonl"))
    assert head.failure.startswith("a password or an unknown compression, after 0 bytes")
