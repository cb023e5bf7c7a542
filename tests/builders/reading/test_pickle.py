"""Pickles of plain data are read; a pickle that refers to code is refused before any of it runs."""

import copyreg
import gzip
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading.pickle import pickle_members, read_pickle
from builders.spec import Raw
from tests.support.reading import source_error, write_raw

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)
# Protocols below 3 cannot encode bytes, and those below 4 cannot encode sets: they write calls instead.
DATA = PLAIN.filter(
    lambda value: b"_codecs" not in pickle.dumps(value, 0) and b"__builtin__" not in pickle.dumps(value, 2)
)


def write_pickle(folder: Path, data: bytes, limit: int | None = None) -> Raw:
    return write_raw(folder, data, "source/some.pkl", limit=limit)


def read_error(folder: Path, data: bytes) -> SourceError:
    return source_error(lambda: read_pickle(write_pickle(folder, data)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(value=DATA)
def test_plain_data_survive_every_protocol(protocol: int, value: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert read_pickle(write_pickle(tmp_path_factory.getbasetemp(), pickle.dumps(value, protocol))) == value


class Attack:
    """Pickles as a function call: loading it calls the function."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self.call = call
        self.arguments = arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_malicious_pickle_is_refused_and_never_runs(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "attack.ran"
    attack = pickle.dumps(
        {"book": {"source_paras": ["Il pleut."], "translator_data": Attack(Path.touch, mark)}}, protocol
    )
    error = read_error(tmp_path, attack)
    assert "unsafe pickle, not loaded" in error.what
    assert "a reference to " in (error.found or "")
    assert not mark.exists()
    pickle.loads(attack)
    assert mark.exists(), "the attack works on the standard unpickler"


@pytest.mark.parametrize(
    ("attack", "reference"),
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
def test_every_opcode_that_reaches_outside_the_file_is_refused(attack: bytes, reference: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, attack)
    assert "unsafe pickle, not loaded" in error.what
    assert reference in (error.found or "")


def test_a_class_in_the_extension_registry_is_refused_too(tmp_path: Path) -> None:
    copyreg.add_extension("collections", "OrderedDict", 0x7E)
    try:
        attack = pickle.dumps(OrderedDict, 2)
        assert b"collections" not in attack
        assert "collections.OrderedDict" in (read_error(tmp_path, attack).found or "")
    finally:
        copyreg.remove_extension("collections", "OrderedDict", 0x7E)


def test_harmless_classes_are_refused_too(tmp_path: Path) -> None:
    assert "OrderedDict" in (read_error(tmp_path, pickle.dumps(OrderedDict(a=1))).found or "")
    assert "pathlib" in (read_error(tmp_path, pickle.dumps(tmp_path)).found or "")


@pytest.mark.parametrize(
    "attack",
    [
        b"S'true'\n(S'x'\ntR.",  # calls a text
        b"\x80\x02]}(S'append'\nS'x'\nub.",  # sets an attribute of a list
        b"\x80\x02X\x01\x00\x00\x00a)\x81.",  # creates an instance of a text
        b"(S'true'\nS'x'\no.",
        b"\x80\x02\x82\x05.",  # a class of the extension registry, which is empty
        b"\x80\x05\x97.",  # an out-of-band buffer
    ],
)
def test_opcodes_that_call_have_nothing_to_call(attack: bytes, tmp_path: Path) -> None:
    assert read_error(tmp_path, attack).what == "source/some.pkl: truncated or corrupt pickle"


WHOLE = pickle.dumps({"a": ["text", 1, 2.5, None, True], "b": {"c": ("é" * 300,)}}, 4)


def test_a_pickle_truncated_anywhere_is_refused(tmp_path: Path) -> None:
    for end in range(len(WHOLE)):
        assert read_error(tmp_path, WHOLE[:end]).what == "source/some.pkl: truncated or corrupt pickle", end


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "exhausted before seeing STOP"),
        (b'{"book": {}}', "opcode b'{' unknown"),
        (b"<!DOCTYPE html><title>Sign in</title>", "opcode b'<' unknown"),
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
def test_a_file_that_is_not_a_pickle_is_refused_with_the_reason(data: bytes, found: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, data)
    assert error.what == "source/some.pkl: truncated or corrupt pickle"
    assert found in (error.found or "")
    assert error.todo is not None


def test_bytes_after_the_pickle_are_refused(tmp_path: Path) -> None:
    error = read_error(tmp_path, pickle.dumps({}) + pickle.dumps("and more"))
    assert error.what == "source/some.pkl: data after the pickle"


def test_a_compressed_pickle_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "some.pkl.gz"
    path.write_bytes(gzip.compress(pickle.dumps({"a": 1})))
    assert read_pickle(Raw("source/some.pkl.gz", path)) == {"a": 1}
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(SourceError, match="cannot be read"):
        read_pickle(Raw("source/some.pkl.gz", path))


# pickle_members

BOOKS: dict[str, Any] = {
    "Candide": {"gt_paras": ["Hello."], "translator_data": {"first": {"translator_paras": ["Hi."], "align": (1, 2)}}},
    "Faust": {"gt_paras": [], "translator_data": {}, "notes": b"x"},
}
COLUMNS = {"gt_paras": pl.List(pl.String), "translator_data": pl.Struct({})}


def member_error(folder: Path, value: Any) -> SourceError:
    return source_error(lambda: list(pickle_members(write_pickle(folder, pickle.dumps(value)), COLUMNS)))


def test_members_come_in_the_order_of_the_file_with_all_their_keys(tmp_path: Path) -> None:
    file = write_pickle(tmp_path, pickle.dumps(BOOKS))
    assert list(pickle_members(file, COLUMNS)) == list(BOOKS.items())
    assert list(pickle_members(write_pickle(tmp_path, pickle.dumps({})), COLUMNS)) == []


@pytest.mark.parametrize(
    ("record", "what", "found"),
    [
        ([], "the record has the wrong type", "[] (a list)"),
        ({"gt_paras": []}, "translator_data is missing", "the keys: 'gt_paras'"),
        ({"gt_paras": [], "translator_data": None}, "translator_data is null", "null"),
        ({"gt_paras": [], "translator_data": []}, "translator_data has the wrong type", "[] (a list)"),
        ({"gt_paras": ["a", 7], "translator_data": {}}, "gt_paras[] has the wrong type", "7 (an integer)"),
        ({"gt_paras": ("a",), "translator_data": {}}, "gt_paras has the wrong type", "('a',) (tuple)"),
        ({"gt_paras": ["\udc00"], "translator_data": {}}, "gt_paras[] is not valid Unicode", "U+DC00"),
    ],
)
def test_a_record_that_does_not_match_is_refused_with_its_name(
    record: Any, what: str, found: str, tmp_path: Path
) -> None:
    error = member_error(tmp_path, BOOKS | {"Эмма": record})
    assert what in error.what
    assert error.where == "source/some.pkl, record 'Эмма'"
    assert found in str(error.found)


def test_a_pickle_that_is_not_a_dict_is_refused(tmp_path: Path) -> None:
    error = member_error(tmp_path, list(BOOKS))
    assert error.where == "source/some.pkl"
    assert "the record has the wrong type" in error.what
    assert error.expected == "an object"


def test_errors_use_the_word_for_a_member_that_the_caller_gives(tmp_path: Path) -> None:
    file = write_pickle(tmp_path, pickle.dumps({"Эмма": []}))
    error = source_error(lambda: list(pickle_members(file, COLUMNS, unit="book")))
    assert error.where == "source/some.pkl, book 'Эмма'"


@pytest.mark.parametrize(("name", "what"), [(7, "name has the wrong type"), ("\ud800", "name is not valid Unicode")])
def test_a_name_that_is_not_a_text_is_refused_with_its_number(name: Any, what: str, tmp_path: Path) -> None:
    error = member_error(tmp_path, BOOKS | {name: BOOKS["Faust"]})
    assert what in error.what
    assert error.where == "source/some.pkl, record 3"
