"""What a report repeats of an error: the place and the kind of problem, but no row, no path and no secret."""

import pickle
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.errors import FindingsError, SourceError
from builders.raw_files import github
from builders.reading.csv import read_csv
from builders.reading.json import read_json_array, read_json_lines
from builders.reading.parquet import read_parquet
from builders.reading.pickle import read_pickle
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values
from builders.shaping.rows import refuse
from builders.spec import Raw
from pipelines.build_report.records import ReportedError
from pipelines.build_report.redaction import Failure, failure_of, report_error, unexpected_failure
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.paths import ROOT
from tests.support.raw_files import COMMIT, source_of, write
from tests.support.tokens import TOKENS

CANARY = "Zanzibar"
TEXT = {"text": pl.String}


def reported(call: Callable[[], object], **roots: Path) -> ReportedError:
    """The report of the SourceError that a call raises."""
    with pytest.raises(SourceError) as caught:
        call()
    return report_error(failure_of(caught.value), {f"<{name}>": path for name, path in roots.items()})


def raw(folder: Path, content: bytes) -> Raw:
    path = folder / "file.bin"
    path.write_bytes(content)
    return Raw("demo/file.bin", path)


def read_values(one: Raw) -> object:
    return read_xml_values(one, TEXT, records=("p",))


READERS: dict[str, tuple[Callable[[Raw], object], bytes, str]] = {
    "a cell of another type": (lambda one: read_csv(one, {"n": pl.Int64}), b"n\n1\nZanzibar is far\n", "line 3"),
    "a row with too many cells": (lambda one: read_csv(one, TEXT), b"text\na,Zanzibar\n", "line 2"),
    "a stray quote": (lambda one: read_csv(one, TEXT), b'text\nZanz "Zanzibar"\n', "line 2"),
    "a header that is a row": (lambda one: read_csv(one, TEXT), b"Off to Zanzibar,1\n", "line 1"),
    "invalid JSON": (lambda one: read_json_lines(one, TEXT), b'{"text": "a"}\n{"text": Zanzibar}\n', "line 2"),
    "JSON of another type": (
        lambda one: read_json_lines(one, TEXT),
        b'{"text": {"a": "Zanzibar", "b": 71}}\n',
        "line 1",
    ),
    "a list of texts": (lambda one: read_json_lines(one, TEXT), b'{"text": ["Zanzibar", "is far"]}\n', "line 1"),
    "keys that are texts": (lambda one: read_json_lines(one, TEXT), b'{"Off to Zanzibar": 1}\n', "line 1"),
    "a field without a key": (lambda one: read_tskv(one, TEXT), b"text=a\tOff to Zanzibar\n", "line 1"),
    "text between XML values": (read_values, b"<r><p><value name='text'>a</value>Zanzibar</p></r>", "record 1"),
    "an XML value twice": (
        read_values,
        b"<r><p><value name='text'>a</value><value name='text'>it's Zanzibar</value></p></r>",
        "record 1",
    ),
    "a number in a JSON array": (lambda one: read_json_array(one, TEXT), b'[{"text": "a"}, {"text": 71}]', "record 2"),
    "text after a JSON array": (lambda one: read_json_array(one, TEXT), b'[{"text": "a"}] Zanzibar', ""),
    "bytes that are not a pickle": (read_pickle, b"Zanzibar", ""),
    "bytes after a pickle": (read_pickle, pickle.dumps([]) + b"Zanzibar", ""),
    "bytes that are not Parquet": (lambda one: read_parquet(one, TEXT), b"Zanzibar is far from here", ""),
}


@pytest.mark.parametrize("case", READERS)
def test_an_error_of_a_reader_keeps_its_place_and_loses_its_quotation(case: str, tmp_path: Path) -> None:
    reader, content, location = READERS[case]
    with pytest.raises(SourceError) as caught:
        reader(raw(tmp_path, content))
    error = report_error(failure_of(caught.value), {})
    assert error.where == ("demo/file.bin, " + location if location else "demo/file.bin")
    assert error.what.startswith("demo/file.bin: ")
    assert CANARY not in str(error)
    assert "71" not in str(error)


def test_an_error_of_a_recipe_keeps_its_count_and_loses_its_quotation(tmp_path: Path) -> None:
    rows = pl.DataFrame({"name": ["fine", "it's Zanzibar's", "Zanzibar"]})
    one = raw(tmp_path, b"")
    error = reported(
        lambda: refuse(rows, pl.col("name") != "fine", one, "unknown name", found="name", expected="a known name")
    )
    assert (error.where, error.found) == ("demo/file.bin, line 2", "'...' (the first of 2)")


def test_names_of_keys_and_columns_are_kept(tmp_path: Path) -> None:
    keys = reported(lambda: read_json_lines(raw(tmp_path, b'{"prompt": "Zanzibar", "answer": 1}\n'), TEXT))
    assert keys.found == "the keys: 'prompt', 'answer'"
    columns = {"text": pl.String, "label": pl.String}
    header = reported(lambda: read_csv(raw(tmp_path, b"review,label\n"), columns))
    assert header.what == "demo/file.bin: the header has no column 'text'"
    assert header.found == "'review', 'label'"
    row = reported(lambda: read_csv(raw(tmp_path, b"Zanzibar,far\n"), columns))
    assert row.found == "'...', '...'", "none of the names is expected: it may be a row"


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ('"a \\"quoted\\" Zanzibar" and more', "'...' and more"),
        ("'it\\'s Zanzibar', 'b'", "'...', '...'"),
        ("a text cut off: 'to Zanzi", "a text cut off: '...'"),
        ("the file's name, then 'Zanzibar'", "the file's name, then '...'"),
        ("b'Zanzibar\\x00'", "'...'"),
        ("12 rows of 40, Занзибар", "12 rows of 40, ..."),
        ('"Zanzibar" (a string)', "a string"),
        ("17 (an integer)", "an integer"),
        ("null", "null"),
    ],
)
def test_quotations_are_masked_in_the_error_of_a_builder(found: str, kept: str) -> None:
    error = SourceError("wrong", found=found)
    assert report_error(Failure(error, "builders.rumteb.cedr"), {}).found == kept
    assert report_error(Failure(error, ""), {}).found == kept, "also where nobody knows who raised it"


def test_an_error_of_raw_files_is_kept_whole_without_folders_of_the_machine(tmp_path: Path) -> None:
    file = github("owner/repo", COMMIT, "file.jsonl", sha256="0" * 64, bytes=7)
    settings = RawSettings(tmp_path / "raw files", tmp_path / "cache", offline=True)
    write(tmp_path / "raw files" / "demo" / "file.jsonl", b"changed")
    error = reported(lambda: locate(source_of(file), "file", settings), **{"raw-dir": tmp_path / "raw files"})
    assert error.where == "<raw-dir>/demo/file.jsonl"
    assert error.found.startswith("text of 7 bytes (sha256 ")
    assert error.expected == f"sha256 {'0' * 64}, 7 bytes (pinned by the source)"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("nothing at /srv/data/raw/x.json, nor at /home/me/x.json", "nothing at .../x.json, nor at .../x.json"),
        ("https://me:secret@host.org/a/b.json?X-Signature=abc", "https://host.org/a/b.json"),
        ("https://host.org/a.zip#train/x.jsonl", "https://host.org/a.zip#train/x.jsonl"),
        ("the server answered 403 Bearer abcdef", "the server answered 403 Bearer [token]"),
        ("the server answered 403 hf_ABCdef123456", "the server answered 403 [token]"),
        ("default/train differs from corpus/test", "default/train differs from corpus/test"),
    ],
    ids=["paths", "password and signature", "member", "authorization", "token", "locations"],
)
def test_paths_and_secrets_are_masked_in_every_error(text: str, kept: str) -> None:
    assert report_error(Failure(SourceError("x", found=text), "pipelines.raw.download"), {}).found == kept


@pytest.mark.parametrize("form", TOKENS)
def test_a_report_has_no_token_in_any_form(form: str) -> None:
    secret, text = TOKENS[form]
    error = SourceError(text.format(secret), where=text.format(secret), found=text.format(secret))
    assert secret not in str(report_error(Failure(error, "pipelines.raw.download"), {}))


def test_a_report_has_no_token_of_the_user_and_none_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> None:
        raise AssertionError("it may ask a server for one")

    monkeypatch.setattr("huggingface_hub.get_token", ask)
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    error = report_error(Failure(SourceError("x", found="no access with my-own-secret"), "pipelines.hub.client"), {})
    assert error.found == "no access with [token]"


def test_blocking_defects_are_reported_with_their_counts_but_without_examples() -> None:
    found = "dangling_qrel in qrels/test.corpus-id: 3 (Zanzibar, 12) [detail]; null_text in default/train.text: 1,200"
    error = report_error(Failure(FindingsError("2 blocking defects", found=found), "pipelines.release.writing"), {})
    assert error.found == "dangling_qrel in qrels/test.corpus-id: 3; null_text in default/train.text: 1,200"


def test_an_unexpected_exception_is_reported_by_its_type_and_the_line_of_our_code(tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        read_csv(raw(tmp_path, b"a\n1\n"), {"a": pl.List(pl.String)})
    error = report_error(unexpected_failure("demo@1.0.0", caught.value), {"<package>": ROOT})
    assert error.what == "demo@1.0.0: unexpected TypeError"
    assert error.where.startswith("builders/reading/values.py, line ")
    assert error.found == ""
