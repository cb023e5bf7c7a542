"""Read pickles of plain data."""

import pickle
import pickletools
from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any, NoReturn

import polars as pl

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.values import Columns, MismatchError, check_record, malformed, mismatch_error, shorten
from builders.spec import Raw

# What the unpickler raises for bytes that are not a pickle, truncated or corrupt: its documentation gives no complete list.
LOAD_ERRORS = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)
MEMO_OPCODES = {"PUT", "BINPUT", "LONG_BINPUT"}
UNSAFE = "unsafe pickle, not loaded: it refers to code or objects outside the file"
EXPECTED = "a pickle that holds only dicts, lists, texts and numbers"


def read_pickle(raw: Raw) -> Any:
    """The value in a file that is one pickle of plain data: dict, list, tuple, set, str, bytes, int, float, bool, None.

    Nothing is imported or called: a pickle that refers to any class, function or outside object, however harmless, is refused
    at the reference. A value is about as large as its file, but for references within it, which are checked against
    `limits.MAX_MEMO` before anything is loaded. `raw.limit` is left to the caller, who knows what a record is.

    Raises SourceError for such a pickle, for bytes that are not a complete pickle, and for bytes after it.
    """
    _check_memo(raw)
    with open_raw(raw) as file:
        try:
            value = _PlainUnpickler(file).load()
        except MismatchError as reference:
            raise mismatch_error(raw, "", reference) from reference
        except LOAD_ERRORS as error:
            raise _corrupt(raw, error) from error
        trailing = file.read(16)
    if trailing:
        raise malformed(raw, "", "data after the pickle", found=repr(trailing), expected="the end of the file")
    return value


def _check_memo(raw: Raw) -> None:
    """Refuse a pickle that stores a value under a high number: loading 264 bytes could take 32 GB."""
    with open_raw(raw) as file:
        try:
            stream: Any = SimpleNamespace(read=file.read, readline=file.readline)  # the file cannot tell its position
            for opcode, argument, _ in pickletools.genops(stream):
                if opcode.name in MEMO_OPCODES and argument is not None and argument > limits.MAX_MEMO:
                    raise malformed(
                        raw,
                        "",
                        "the pickle would take too much memory",
                        found=f"a reference {argument:,}",
                        expected=f"at most {limits.MAX_MEMO:,}",
                    )
        except LOAD_ERRORS as error:
            raise _corrupt(raw, error) from error


def _corrupt(raw: Raw, error: Exception) -> SourceError:
    return malformed(
        raw,
        "",
        "truncated or corrupt pickle",
        found=f"{type(error).__name__}: {shorten(str(error), 200)}",
        expected=EXPECTED,
    )


def pickle_members(raw: Raw, columns: Columns, *, unit: str = "record") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and record of each member of a pickle that is one dict of dicts, {"name": {...}, ...}, in its order.

    columns: what every record must hold, under the rules of `builders.reading.json_lines`; `pl.Struct({})` accepts every
    object. Keys that no column names stay in the record, unchecked. unit: what a member is called in errors. `raw.limit` counts
    members.

    Raises SourceError as `read_pickle` does, for a pickle that is not a dict, for a name that is not a text, and for a record
    that does not match its columns, worded as the JSON readers word it and located by name: "record 'Candide'".
    """
    members = read_pickle(raw)
    check_record(raw, "", members, {})
    for number, (name, record) in enumerate(islice(members.items(), raw.limit), 1):
        check_record(raw, f"{unit} {number}", {"name": name}, {"name": pl.String()})
        check_record(raw, f"{unit} {shorten(name)}", record, columns)
        yield name, record


class _PlainUnpickler(pickle.Unpickler):
    """The standard unpickler without its two ways to reach anything outside the file."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise MismatchError(UNSAFE, found=f"a reference to {shorten(f'{module}.{name}')}", expected=EXPECTED)

    def persistent_load(self, pid: object) -> NoReturn:
        raise MismatchError(UNSAFE, found=f"a reference to an outside object {shorten(str(pid))}", expected=EXPECTED)
