"""Pickles, as far as they are data."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NoReturn

from builders.reading.archives import malformed, open_raw, shorten

if TYPE_CHECKING:
    from builders.spec import Raw

# What the unpickler raises for bytes that are no pickle, cut off or damaged: its documentation gives no closed list.
BROKEN = (
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
EXPECTED = "a pickle of dicts, lists, texts and numbers alone"


def read_pickle(raw: Raw) -> Any:
    """What a file holds that is one pickle of plain data: dict, list, tuple, set, str, bytes, int, float, bool, None.

    Nothing is imported and nothing called: a pickle that names any class, function or outside object, be it a harmless one, is
    refused where it does so. That is no guard against size: a file can be made to exhaust the memory. `raw.limit` is the
    caller's to heed, who knows what a record is.

    Raises SourceError for such a pickle, for bytes that are no whole pickle, and for bytes after it.
    """
    with open_raw(raw) as file:
        try:
            value = _Plain(file).load()
        except _RefusedError as refused:
            what = "a pickle that is more than data: it is not read, for it could run any program"
            raise malformed(raw, "", what, found=str(refused), expected=EXPECTED) from refused
        except BROKEN as error:
            found = f"{type(error).__name__}: {shorten(str(error), 200)}"
            raise malformed(raw, "", "no whole pickle", found=found, expected=EXPECTED) from error
        rest = file.read(16)
    if rest:
        raise malformed(raw, "", "something after the pickle", found=repr(rest), expected="the end of the file")
    return value


class _RefusedError(Exception):
    """A pickle asks for more than data."""


class _Plain(pickle.Unpickler):
    """The standard unpickler without its two ways to reach anything outside the file."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise _RefusedError(f"a reference to {shorten(f'{module}.{name}')}")

    def persistent_load(self, pid: object) -> NoReturn:
        raise _RefusedError(f"a reference to an outside object {shorten(str(pid))}")
