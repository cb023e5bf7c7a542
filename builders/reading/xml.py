"""XML that holds records of named values."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import polars as pl
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from builders.reading.archives import malformed, not_utf8, open_raw
from builders.reading.values import MisfitError, cell_parser, misfit_error, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from xml.etree.ElementTree import Element

    from builders.errors import SourceError
    from builders.reading.values import Columns
    from builders.spec import Raw


def read_xml_values(
    raw: Raw, columns: Columns, *, records: tuple[str, ...], optional: Collection[str] = ()
) -> pl.DataFrame:
    """The records of an XML file: elements that hold nothing but `<value name="...">text</value>`, one for each column.

    columns: String, Int64, Float64 or Boolean, by the value's name; values of other names are ignored. records: the names of
    the record elements; an element that holds records holds nothing else. optional: columns whose value may be missing
    or empty, which is null.

    The text is UTF-8, whatever the declaration calls it. As XML wants it, line ends come out as newlines.

    Raises SourceError with the record's number, from 1, for: a value that is missing, stands twice, is empty or not of
    its column's type, another element in a record's place; for what is no XML; and for any document type, entity or
    reference to another file: none is ever expanded or followed.
    """

    schema = schema_of(columns, optional)
    parsers = {name: cell_parser(dtype, name, optional=False) for name, dtype in schema.items()}
    rows: list[list[Any]] = []
    for number, record in enumerate(islice(_records(raw, _root(raw), records), raw.limit), 1):
        try:
            values = _values(record)
            rows.append([_cell(values, name, parse, optional=name in optional) for name, parse in parsers.items()])
        except MisfitError as misfit:
            raise misfit_error(raw, f"record {number}", misfit) from misfit
    return pl.DataFrame(rows, schema, orient="row")


def _root(raw: Raw) -> Element:

    with open_raw(raw) as file:
        data = file.read()
    try:
        # As text: expat then takes no notice of a declared encoding, not all of which it knows ("UTF8").
        root: Element = fromstring(data.decode(), forbid_dtd=True)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_utf8(raw, f"line {line}", error) from error
    except ParseError as error:
        raise malformed(
            raw, f"line {error.position[0]}", "no XML", found=str(error), expected="well-formed XML"
        ) from error
    except DefusedXmlException as error:
        what, found = "XML that defines entities or refers to other files", str(error)
        raise malformed(raw, "", what, found=found, expected="elements and text alone, no <!DOCTYPE>") from error
    return root


def _records(raw: Raw, root: Element, names: tuple[str, ...]) -> Iterator[Element]:
    count = 0
    for parent in root.iter():
        if not any(child.tag in names for child in parent):
            continue
        for child in parent:
            count += 1
            if child.tag not in names:
                raise _unexpected(raw, count, child.tag, names)
            yield child
    if not count:
        raise malformed(raw, "", "no record", found=f"a document <{root.tag}>", expected=_elements(names))


def _unexpected(raw: Raw, number: int, tag: str, names: tuple[str, ...]) -> SourceError:
    return malformed(raw, f"record {number}", "not a record", found=f"<{tag}>", expected=_elements(names))


def _elements(names: tuple[str, ...]) -> str:
    return " or ".join(f"<{name}>" for name in names)


def _values(record: Element) -> dict[str, str]:
    values: dict[str, str] = {}
    expected = '<value name="...">text</value>'
    for child in record:
        name = child.get("name")
        if child.tag != "value" or name is None or len(child):
            raise MisfitError("a record holds something else than values", found=f"<{child.tag}>", expected=expected)
        if name in values:
            raise MisfitError(
                f"the value {name!r} stands twice", found=f"{values[name]!r} and {child.text!r}", expected="one"
            )
        values[name] = child.text or ""
    for text in (record.text, *(child.tail for child in record)):
        if text and text.strip():
            raise MisfitError("text between the values", found=repr(text.strip()), expected=expected)
    return values


def _cell(values: dict[str, str], name: str, parse: Callable[[str], Any], *, optional: bool) -> Any:
    text = values.get(name, "")
    if text:
        return parse(text)
    if optional:
        return None
    state = "empty" if name in values else "missing"
    raise MisfitError(f"the value {name!r} is {state}", found=f"values named {sorted(values)}", expected="a text")
