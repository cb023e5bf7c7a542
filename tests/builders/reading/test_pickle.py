"""A pickle is read as far as it is data; whatever asks for more is refused before anything of it runs."""

from __future__ import annotations

import copyreg
import gzip
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import read_pickle
from builders.spec import Raw

if TYPE_CHECKING:
    from collections.abc import Callable

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)
# Protocols below 3 have no code for bytes, and below 4 none for sets: they write calls instead.
DATA = PLAIN.filter(
    lambda value: b"_codecs" not in pickle.dumps(value, 0) and b"__builtin__" not in pickle.dumps(value, 2)
)


def write(folder: Path, data: bytes) -> Raw:
    path = folder / "some.pkl"
    path.write_bytes(data)
    return Raw("source/some.pkl", path)


def refused(folder: Path, data: bytes) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read_pickle(write(folder, data))
    return caught.value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(deadline=None, max_examples=50)
@given(value=DATA)
def test_plain_data_come_out_as_they_went_in(
    protocol: int, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert read_pickle(write(tmp_path_factory.getbasetemp(), pickle.dumps(value, protocol))) == value


class Runs:
    """What an attacker pickles: to load it is to call a function."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self.call = call
        self.arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_malicious_pickle_is_refused_and_never_runs(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "it ran"
    attack = pickle.dumps(
        {"book": {"source_paras": ["Il pleut."], "translator_data": Runs(Path.touch, mark)}}, protocol
    )
    error = refused(tmp_path, attack)
    assert "a pickle that is more than data" in error.what
    assert "a reference to " in (error.found or "")
    assert not mark.exists()
    pickle.loads(attack)
    assert mark.exists(), "the attack works on who loads it with pickle"


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"(S'true'\nios\nsystem\n.", "os.system"),
        (b"(cos\nsystem\nS'true'\no.", "os.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.", "os.system"),
        (b"\x80\x02cbuiltins\nobject\n)\x81.", "builtins.object"),
        (b"\x80\x04\x8c\x08builtins\x8c\x06object\x93)}\x92.", "builtins.object"),
        (b"cbuiltins\nlen\n.", "builtins.len"),
        (b"\x80\x04\x8c\x08builtins\x8c\x0fobject.__init__\x93.", "builtins.object.__init__"),
        (b"Psomething\n.", "outside object 'something'"),
        (b"\x80\x02U\x09somethingQ.", "outside object 'something'"),
    ],
)
def test_every_code_that_reaches_outside_the_file_is_refused(attack: bytes, named: str, tmp_path: Path) -> None:
    error = refused(tmp_path, attack)
    assert "a pickle that is more than data" in error.what
    assert named in (error.found or "")


def test_a_class_that_this_process_registered_is_refused_like_any_other(tmp_path: Path) -> None:
    copyreg.add_extension("collections", "OrderedDict", 0x7E)
    try:
        attack = pickle.dumps(OrderedDict, 2)
        assert b"collections" not in attack
        assert "collections.OrderedDict" in (refused(tmp_path, attack).found or "")
    finally:
        copyreg.remove_extension("collections", "OrderedDict", 0x7E)


def test_harmless_classes_are_refused_as_well(tmp_path: Path) -> None:
    assert "OrderedDict" in (refused(tmp_path, pickle.dumps(OrderedDict(a=1))).found or "")
    assert "pathlib" in (refused(tmp_path, pickle.dumps(tmp_path)).found or "")


@pytest.mark.parametrize(
    "attack",
    [
        b"S'true'\n(S'x'\ntR.",  # calls a text
        b"\x80\x02]}(S'append'\nS'x'\nub.",  # sets an attribute of a list
        b"\x80\x02X\x01\x00\x00\x00a)\x81.",  # makes an instance of a text
        b"(S'true'\nS'x'\no.",
        b"\x80\x02\x82\x05.",  # a registered class, where none is
        b"\x80\x05\x97.",  # a buffer from outside
    ],
)
def test_codes_that_call_find_nothing_to_call(attack: bytes, tmp_path: Path) -> None:
    assert refused(tmp_path, attack).what == "source/some.pkl: no whole pickle"


WHOLE = pickle.dumps({"a": ["text", 1, 2.5, None, True], "b": {"c": ("é" * 300,)}}, 4)


def test_a_pickle_that_is_cut_off_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    for end in range(len(WHOLE)):
        assert refused(tmp_path, WHOLE[:end]).what == "source/some.pkl: no whole pickle", end


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "EOFError"),
        (b'{"book": {}}', "UnpicklingError"),
        (b"<!DOCTYPE html><title>Sign in</title>", "UnpicklingError"),
        (b"\x80\x63}.", "ValueError"),
        (b"0.", "UnpicklingError"),
        (b"h\x07.", "UnpicklingError"),
        (b"I1x\n.", "ValueError"),
        (b"X\x02\x00\x00\x00\xff\xfe.", "UnicodeDecodeError"),
        (b"U\x02\xc3\xa9.", "UnicodeDecodeError"),
        (b"]}s.", "UnpicklingError"),
        (b"}]Ns.", "TypeError"),
        (b"\x8e" + struct.pack("<Q", 2**62) + b"x.", "Error"),
    ],
)
def test_what_is_no_pickle_is_refused_with_what_was_found(data: bytes, found: str, tmp_path: Path) -> None:
    error = refused(tmp_path, data)
    assert error.what == "source/some.pkl: no whole pickle"
    assert found in (error.found or "")
    assert error.todo is not None


def test_bytes_after_the_pickle_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, pickle.dumps({}) + pickle.dumps("and more"))
    assert error.what == "source/some.pkl: something after the pickle"


def test_a_packed_pickle_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "some.pkl.gz"
    path.write_bytes(gzip.compress(pickle.dumps({"a": 1})))
    assert read_pickle(Raw("source/some.pkl.gz", path)) == {"a": 1}
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(SourceError, match="cannot be read"):
        read_pickle(Raw("source/some.pkl.gz", path))
