# ruff: noqa: E501 - one reader a line
"""Feed every reader damaged files, and list what ends in anything but a result or an error for the user.

    python benchmarks/fuzz_readers.py                    a minute for each reader, from seed 0
    python benchmarks/fuzz_readers.py xml csv --seconds 5
    python benchmarks/fuzz_readers.py xml --seed 1234 --count 1 --write DIR   one case again; its bytes go into DIR

Case number N of a reader follows from the seed and N alone: a valid file is damaged a few times (bytes flipped, cut, repeated,
moved; numbers and brackets inserted; texts of the format inserted). A case fails that raises another error than one for the user,
that takes longer than SLOW seconds or more than MEMORY bytes, measured by the growth of the process, or that gives what it must
not: an index with other columns, an entry for the ledger that no build made, an export that may delete a file. Each failure is
printed with the seed that gives it again; tests/builders/reading/test_fuzzed_inputs.py holds those that once failed, and
tests/test_fuzz.py runs some cases of each reader.
"""

import argparse
import base64
import gc
import gzip
import io
import json
import pickle
import random
import resource
import shutil
import socket
import sys
import tarfile
import tempfile
import threading
import time
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import DatasetError, UsageError
from builders.reading.archives import open_raw, read_members
from builders.reading.csv import read_csv
from builders.reading.json import json_members, read_json_array, read_json_lines
from builders.reading.lines import read_documents, read_lines
from builders.reading.parquet import read_parquet
from builders.reading.pickle import pickle_members
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values
from builders.spec import Raw
from cards.front_matter import parse_front_matter
from cards.manifest import decode
from pipelines.build_report.entries import new_entries
from pipelines.build_report.records import read_report
from pipelines.checking.corpora import open_corpus, read_partition
from pipelines.checking.data_files import resolve_tables
from pipelines.decontamination.index_file import read_index
from pipelines.models.loading import refuse_code
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
from pipelines.release.statements import STATEMENT, read_signer, sign_statement, verify_statement

SLOW = 20.0  # seconds, also on a busy machine
MEMORY = 1 << 30  # bytes
PAGE = 2 << 30  # bytes that a damaged page of Parquet may claim, and pyarrow reserves: the most that the format can say
# Bytes of address space: what asks for more gets a MemoryError, and the machine stays usable. pyarrow loses 4 MB with each damaged
# gzip, which are never touched.
LARGEST = 64 << 30
COLUMNS = {"a": pl.String, "b": pl.Int64}
NESTED = {"a": pl.String, "b": pl.Int64, "c": pl.List(pl.Struct({"d": pl.Float64}))}
ROWS: list[dict[str, Any]] = [
    {"a": text, "b": number, "c": [{"d": 0.5}, {"d": -1.0}]}
    for number, text in enumerate(["plain", "два слова", 'a,b\t"c"', "<d>&amp;", "", "\U0001f600 e\u0301"])
]
TESTS = Path(__file__).parents[1] / "tests"
MANIFEST = TESTS / "support" / "manifest_518e603.json"
REPORT, INDEX = (
    TESTS / "golden" / "old" / "build-report.json",
    TESTS / "golden" / "ru_wanli" / "raw" / "benchmark-index.parquet",
)


@dataclass(frozen=True)
class Reader:
    """A reader. seeds: valid files. parts: texts that mean something in its format. read: reads the bytes of a file."""

    seeds: tuple[bytes, ...]
    parts: tuple[bytes, ...]
    read: Callable[[bytes, Path], object]


def from_raw(read: Callable[[Raw], object], name: str, member: str | None = None) -> Callable[[bytes, Path], object]:
    """A reader of raw files as a function of their bytes, which go into a folder."""

    def read_bytes(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return read(Raw(f"fuzz/{name}", path, member))

    return read_bytes


def read_whole(raw: Raw) -> int:
    with open_raw(raw) as file:
        return sum(len(chunk) for chunk in iter(partial(file.read, 1 << 16), b""))


def zipped(members: dict[str, bytes], method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return file.getvalue()


def tarred(members: dict[str, bytes], tar_format: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tar_format) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(rows, NESTED).write_parquet(file)
    return file.getvalue()


def readers() -> dict[str, Reader]:
    """Every reader by its name."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
    members = {"in/a": b"some data " * 50, "b": b"x", "д" * 60 + "/" + "e" * 90: b"y"}
    archives = {
        "zip": tuple(
            zipped(members, method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)
        ),
        "tar": tuple(tarred(members, version) for version in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)),
    }
    xml = "".join(f'<r><value name="a">{n}x</value><value name="b">{n}</value></r>\n' for n in range(4))
    yaml = (
        "configs:\n- config_name: default\n  data_files:\n  - {split: test, path: 'data/test-*'}\n  default: true\n"
        "language: [ru]\nbase: &a {x: 1, y: [2, 3.5, 2024-01-01]}\nother: {<<: *a, z: ~}\ntext: |\n  lines\n  here\n"
    )
    brackets = (
        b"[",
        b"{",
        b"]",
        b"}",
        b'"',
        b",",
        b":",
        b"null",
        b"-1e999",
        b"9" * 30,
        b"\\ud800",
        b"\xff",
        b"\xef\xbb\xbf",
    )
    yaml_parts = (
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!int ",
        b"!!timestamp ",
        b"!!set ",
        b"- ",
        b"? ",
        b"| ",
        b"\t",
        b"%TAG ! x\n",
        b"2024-99-99",
    )
    return {
        "archive-gz": Reader((gzip.compress(lines, mtime=0),), (b"\x1f\x8b\x08",), from_raw(read_whole, "f.gz")),
        "archive-zip": Reader(archives["zip"], (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"), from_raw(read_whole, "f.zip", "in/a")),
        "archive-zip-members": Reader(archives["zip"], (b"PK\x01\x02",), from_raw(lambda raw: list(read_members(raw, ["a"])), "f.zip")),
        "archive-tar": Reader(archives["tar"], (b"\xff" * 12, b"\x80" + bytes(11), b"00000000017\0", b"x", b"L", b"30 size=-1\n", b"99 GNU.sparse.map=a\n"), from_raw(read_whole, "f.tar", "in/a")),
        "corpus-csv": Reader((b"id,text\n" + b"".join(f'{row["b"]},"{row["b"]} ""x"""\r\n'.encode() for row in ROWS),), (b'"', b",", b"\r", b"\n", b"\0"), from_corpus("f.csv")),
        "corpus-json-lines": Reader((lines, lines.replace(b'"a"', b'"text"')), brackets, from_corpus("f.jsonl")),
        "corpus-json-lines-gz": Reader((gzip.compress(lines, mtime=0),), (b"\x1f\x8b\x08",), from_corpus("f.jsonl.gz")),
        "corpus-parquet": Reader((parquet(ROWS),), (b"PAR1", b"\xff\xff\xff\xff"), from_corpus("f.parquet")),
        "csv": Reader((b"a,b\n" + b"".join(f'"{row["b"]} ""x""",{row["b"]}\r\n'.encode() for row in ROWS),), (b'"', b",", b"\r", b"\n", b"\0"), from_raw(lambda raw: read_csv(raw, COLUMNS), "f.csv")),
        "download": Reader(answers(), (b"\r\n", b"Content-Length: 9", b"Transfer-Encoding: chunked\r\n", b"Location: javascript:x\r\n", b"5\r\n", b"0\r\n\r\n", b"HTTP/1.1 302 Found\r\n"), RawServer().read),
        "export": Reader((b'{"generator": "embedding-datasets export", "files": [{"path": "README.md"}, {"path": "data/a.jsonl"}]}',), brackets, claim_export),
        "documents": Reader(("<d>\nодин\nдва\n<d>\nтри\n".encode(),), (b"<d>\n", b"\r\n", b"\xff"), from_raw(read_documents, "f.txt")),
        "front-matter": Reader((f"---\n{yaml}---\n# Title\n".encode(),), (*yaml_parts, *brackets), read_front_matter),
        "index": Reader((INDEX.read_bytes(),), (b"PAR1", b"\xff\xff\xff\xff"), read_same_index),
        "json-array": Reader((json.dumps(ROWS).encode(),), brackets, from_raw(lambda raw: read_json_array(raw, NESTED), "f.json")),
        "json-lines": Reader((lines,), brackets, from_raw(lambda raw: read_json_lines(raw, NESTED), "f.jsonl")),
        "json-members": Reader((json.dumps({str(n): row for n, row in enumerate(ROWS)}).encode(),), brackets, from_raw(lambda raw: list(json_members(raw, NESTED, key="k")), "f.json")),
        "json-plain-lines": Reader((b'{"a": "x"}\n{"a": "\\u0436"}\n',), brackets, from_raw(lambda raw: read_json_lines(raw, {"a": pl.String}), "f.jsonl")),
        "lines": Reader(("раз\r\nдва\nтри".encode(),), (b"\r", b"\xff"), from_raw(read_lines, "f.txt")),
        "manifest": Reader((MANIFEST.read_bytes(),), brackets, lambda data, _: decode(data, "manifest.json")),
        "model": Reader((b'[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]', b'{"auto_map": {"AutoModel": "a.B"}}'), (*brackets, b"auto_map", b"evil.Layer"), read_model),
        "parquet": Reader((parquet(ROWS),), (b"PAR1", b"\xff\xff\xff\xff"), from_raw(lambda raw: read_parquet(raw, NESTED), "f.parquet")),
        "pickle": Reader(tuple(pickle.dumps({"k": ROWS[0], "l": ROWS[1]}, version) for version in (0, 2, 4, 5)), (b".", b"(", b"c", b"R", b"0", b"]", b"\x8a", b"q\xff", b"r\xff\xff\xff\x7f"), from_raw(lambda raw: list(pickle_members(raw, NESTED)), "f.pkl")),
        "report": Reader((REPORT.read_bytes(),), brackets, read_entries),
        "statement": Reader((statement(),), brackets, read_statement),
        "tskv": Reader(("a=раз=\tb=1\na=два\tb=2\n".encode(),), (b"\t", b"=", b"a=", b"\n"), from_raw(lambda raw: read_tskv(raw, COLUMNS), "f.tskv")),
        "xml": Reader((f"<d>\n{xml}</d>".encode(),), (b"<r>", b"</r>", b"<a>", b"&x;", b"&#0;", b"<!DOCTYPE a>", b"<![CDATA[", b"]]>", b"<?x?>", b"<!--"), from_raw(lambda raw: read_xml_values(raw, COLUMNS, records=("r",)), "f.xml")),
    }  # fmt: skip


def read_front_matter(data: bytes, _: Path) -> object:
    """Parse a card, and resolve the files that it names."""
    return resolve_tables(["data/test-0.parquet", "data/train.csv"], parse_front_matter(data, "card"), "card")


def from_corpus(name: str) -> Callable[[bytes, Path], object]:
    """A reader of corpora as a function of the bytes of a file."""

    def read(data: bytes, folder: Path) -> int:
        path = folder / name
        path.write_bytes(data)
        return sum(len(list(read_partition(partition))) for partition in open_corpus([str(path)]).partitions)

    return read


def read_same_index(data: bytes, folder: Path) -> None:
    """Read an index: what is damaged is an error or the same index."""
    path = folder / "index"
    path.write_bytes(data)
    found, whole = read_index(path).columns, read_index(INDEX).columns
    same = [(found[name] == whole[name]).all() for name in ("exact", "folded", "words", "rough")]
    if not (found["row"].equals(whole["row"]) and all(same)):
        raise AssertionError("an index with other columns was read")


def read_entries(data: bytes, folder: Path) -> None:
    """Read a build report: whatever was changed, what enters the ledger is what the true report brings."""
    path, ledger = folder / "report.json", folder / "ledger.json"
    found = []
    for content in (REPORT.read_bytes(), data):
        path.write_bytes(content)
        report = read_report(path)
        found.append({} if report is None else new_entries(report, None, folder / "raw.lock.json", ledger).ledger)
    if any(found[0].get(name) != entry for name, entry in found[1].items()):
        raise AssertionError(f"other entries for the ledger: {list(found[1])}")


def claim_export(data: bytes, folder: Path) -> None:
    """Take a folder for an export: a file that the export does not list stays."""
    export = folder / "export"
    shutil.rmtree(export, ignore_errors=True)
    export.mkdir()
    (export / "export.json").write_bytes(data)
    (export / "mine.txt").touch()
    try:
        claim([Output("--to", export, KINDS["export"])])
    except UsageError:
        return
    raise AssertionError("the file of somebody else would be deleted")


def read_model(data: bytes, folder: Path) -> None:
    """Look at the settings of a model."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "modules.json").write_bytes(data)
    refuse_code(model, "model")


# An Ed25519 key whose secret is 32 zeros, in DER: everybody knows it.
KEY = b"MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
PUBLIC = b"MCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="


def pem(kind: str, der: bytes, path: Path) -> Path:
    """Write a key as a PEM file that others may not read."""
    path.write_bytes(b"-----BEGIN %b KEY-----\n%b\n-----END %b KEY-----\n" % (kind.encode(), der, kind.encode()))
    path.chmod(0o600)
    return path


def statement() -> bytes:
    """A signed statement."""
    content = {"_type": STATEMENT, "subject": [{"name": "a", "digest": {"sha256": "0"}}], "predicate": {}}
    with tempfile.TemporaryDirectory() as folder:
        return sign_statement(json.dumps(content).encode(), read_signer(pem("PRIVATE", KEY, Path(folder, "key.pem"))))


def read_statement(data: bytes, folder: Path) -> None:
    """Verify a statement: what was changed is an error, or was outside of what is signed."""
    path = folder / "statement.json"
    path.write_bytes(data)
    verified = verify_statement(path, [pem("PUBLIC", PUBLIC, folder / "key.pub")])
    if verified.statement != json.loads(base64.b64decode(json.loads(statement())["payload"])):
        raise AssertionError("another statement was verified")


def answers() -> tuple[bytes, ...]:
    """Answers of a server: with a length, in chunks, a redirect, a part."""
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "a"\r\n'
    return (
        head + b"Content-Length: 5\r\n\r\nhello", head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n",
    )  # fmt: skip


class RawServer:
    """Answers every connection with the bytes of a case, and closes it."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._answer = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            try:
                with connection:
                    connection.recv(65_536)
                    connection.sendall(self._answer)
            except OSError:
                continue

    def read(self, data: bytes, folder: Path) -> None:
        """Download a file: it has the digest that is pinned, or there is an error."""
        self._answer, target = data, folder / "file"
        pin = Pin(sha256="2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")  # of hello
        url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/file"
        download_file(
            DownloadRequest("f/file", url, pin, "v", "hint", "do it"),
            target,
            Patience(retries=1, connect=2, read=2, sleep=lambda _: None),
        )
        if target.read_bytes() != b"hello":
            raise AssertionError("another file was kept")


def damage(reader: Reader, seed: int, number: int) -> bytes:
    """The file of one case."""
    rng = random.Random(f"{seed}/{number}")
    data = bytearray(rng.choice(reader.seeds))
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 200)))
        match rng.randrange(8):
            case 0:
                data[at:end] = rng.randbytes(end - at)
            case 1:
                del data[at:end]
            case 2:
                del data[at:]
            case 3:
                data[at:at] = data[at:end] * rng.choice((1, 2, 50, 5000))
            case 4:
                data[at:end] = bytes([rng.choice((0, 1, 127, 128, 255))]) * (end - at)
            case 5:
                to = rng.randrange(len(data) + 1)
                data[to:to] = data[at:end]
            case 6:
                data[at:at] = rng.choice(reader.parts)
            case 7:
                data[at:at] = rng.choice(reader.parts) * rng.choice((2, 100, 20_000))
    return bytes(data)


def run_case(reader: Reader, data: bytes, folder: Path) -> str:
    """What is wrong with how a reader takes a file; empty where nothing is."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    try:
        reader.read(data, folder)
    except DatasetError as error:
        if len(str(error)) > 10_000:
            return f"a message of {len(str(error)):,} characters"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "".join(traceback.format_exception_only(error)).strip()[:300] + f" in {_place(error)}"
    seconds, growth = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if seconds > SLOW:
        return f"{seconds:.1f} seconds for {len(data):,} bytes"
    if growth * 1024 > MEMORY + (PAGE if reader.seeds[0].startswith(b"PAR1") else 0):
        return f"{growth / 1024:.0f} MB for {len(data):,} bytes"
    return ""


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def main() -> int:
    """Run the cases; returns 1 where one failed."""
    known = readers()
    arguments = argparse.ArgumentParser(description="Feed every reader damaged files.")
    arguments.add_argument("readers", nargs="*", metavar="READER", help=f"all by default: {', '.join(known)}")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--first", type=int, default=0, help="the number of the first case")
    arguments.add_argument("--count", type=int, help="so many cases of each reader, instead of --seconds")
    arguments.add_argument("--seconds", type=float, default=60, help="for each reader (60)")
    arguments.add_argument("--write", type=Path, metavar="DIR", help="write the files of failed cases there")
    options = arguments.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
    failed = False
    for name in options.readers or known:
        reader, seen = known[name], set[str]()
        start, number = time.monotonic(), options.first
        with tempfile.TemporaryDirectory() as folder:
            while (
                (number < options.first + options.count)
                if options.count
                else (time.monotonic() - start < options.seconds)
            ):
                data = damage(reader, options.seed, number)
                problem = run_case(reader, data, Path(folder))
                kind = problem.rpartition(" in ")[2] if ": " in problem else problem[-20:]
                if problem and kind not in seen:
                    seen.add(kind)
                    print(f"{name} --seed {options.seed} --first {number} --count 1: {problem}", flush=True)
                    if options.write:
                        options.write.mkdir(parents=True, exist_ok=True)
                        (options.write / f"{name}-{options.seed}-{number}").write_bytes(data)
                number += 1
                if number % 50 == 0:
                    gc.collect()  # of the frames of errors, which hold buffers
        failed = failed or bool(seen)
        print(f"{name}: {number - options.first:,} cases, {len(seen)} kinds of failure", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
