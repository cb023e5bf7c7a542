"""Read XML files that consist of records of named values."""

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import polars as pl
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.values import (
    Columns,
    MismatchError,
    cell_parser,
    collect_rows,
    make_schema,
    malformed,
    mismatch_error,
    not_utf8,
    shorten,
    too_large,
)
from builders.spec import Raw


def read_xml_values(raw: Raw, columns: Columns, *, records: tuple[str, ...]) -> pl.DataFrame:
    """The records of an XML file: elements that contain only `<value name="...">text</value>`, one for each column.

    columns: String, Int64, Float64 or Boolean, by the name of the value; values with other names are ignored. records: the
    tags of the record elements; the parent of a record contains only records.

    The text is UTF-8, whatever the XML declaration says. As XML requires, line ends are read as newlines.

    Raises SourceError with the record's number, from 1, for: a value that is missing, repeated, empty or not of its column's
    type, and another element or text among the records; also for invalid XML, for XML that exceeds a limit of builders.limits,
    and for any document type, entity or reference to another file: none is ever expanded or followed.
    """
    schema = make_schema(columns, ())
    parsers = {name: cell_parser(dtype, name, optional=False) for name, dtype in schema.items()}

    def parse_record(record: Element) -> list[Any]:
        values = _values(record)
        return [_cell(values, name, parse) for name, parse in parsers.items()]

    return collect_rows(raw, enumerate(_records(raw, _root(raw), records), 1), parse_record, schema, "record")


def _root(raw: Raw) -> Element:
    with open_raw(raw) as file:
        data = file.read(limits.MAX_XML + 1)
    if len(data) > limits.MAX_XML:
        raise too_large(raw, "", "the XML", limits.MAX_XML)
    parser = XMLParser(target=_BoundedBuilder(), forbid_dtd=True)
    try:
        # As str: expat then ignores the declared encoding, and it does not know all of them ("UTF8").
        parser.feed(data.decode())
        root: Element = parser.close()
    except MismatchError as mismatch:
        raise mismatch_error(raw, "", mismatch) from mismatch
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_utf8(raw, f"line {line}", error) from error
    except ParseError as error:
        raise malformed(
            raw, f"line {error.position[0]}", "invalid XML", found=str(error), expected="well-formed XML"
        ) from error
    except DefusedXmlException as error:
        raise malformed(
            raw,
            "",
            "the XML defines entities or refers to other files",
            found=str(error),
            expected="elements and text only, no <!DOCTYPE>",
        ) from error
    return root


class _BoundedBuilder:
    """Builds the tree of a document, and stops at too many or too deeply nested elements."""

    def __init__(self) -> None:
        self._builder = TreeBuilder()
        self._depth = self._count = 0
        self.data, self.close = self._builder.data, self._builder.close

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._count += 1
        if self._depth > limits.MAX_DEPTH:
            raise MismatchError(
                "elements nested too deeply", found=f"more than {limits.MAX_DEPTH} levels", expected="records of values"
            )
        if self._count > limits.MAX_XML_ELEMENTS:
            raise MismatchError(
                "too many elements",
                found=f"more than {limits.MAX_XML_ELEMENTS:,} elements",
                expected=f"at most {limits.MAX_XML_ELEMENTS:,}",
            )
        self._builder.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._builder.end(tag)


def _records(raw: Raw, root: Element, tags: tuple[str, ...]) -> Iterator[Element]:
    count = 0
    for parent in root.iter():
        if not any(child.tag in tags for child in parent):
            continue
        _refuse_text(raw, count, parent.text, tags)
        for child in parent:
            count += 1
            if child.tag not in tags:
                raise _not_a_record(raw, count, f"<{child.tag}>", tags)
            yield child
            _refuse_text(raw, count, child.tail, tags)
    if not count:
        raise malformed(raw, "", "no records", found=f"a document <{root.tag}>", expected=_list_tags(tags))


def _refuse_text(raw: Raw, number: int, text: str | None, tags: tuple[str, ...]) -> None:
    """Refuse text between records; `number` is that of the record before it."""
    if text and text.strip():
        raise _not_a_record(raw, number + 1, shorten(text.strip()), tags)


def _not_a_record(raw: Raw, number: int, found: str, tags: tuple[str, ...]) -> SourceError:
    return malformed(raw, f"record {number}", "not a record", found=found, expected=_list_tags(tags))


def _list_tags(tags: tuple[str, ...]) -> str:
    return " or ".join(f"<{tag}>" for tag in tags)


def _values(record: Element) -> dict[str, str]:
    """The texts of a record's values by name; raises MismatchError for anything else in it."""
    values: dict[str, str] = {}
    expected = '<value name="...">text</value>'
    for child in record:
        name = child.get("name")
        if child.tag != "value" or name is None or len(child):
            raise MismatchError(
                "a record contains something other than values", found=f"<{child.tag}>", expected=expected
            )
        if name in values:
            raise MismatchError(
                f"the value {name!r} appears twice", found=f"{values[name]!r} and {child.text!r}", expected="one"
            )
        values[name] = child.text or ""
    for text in (record.text, *(child.tail for child in record)):
        if text and text.strip():
            raise MismatchError("text between the values", found=repr(text.strip()), expected=expected)
    return values


def _cell(values: dict[str, str], name: str, parse: Callable[[str], Any]) -> Any:
    text = values.get(name, "")
    if not text:
        problem = "empty" if name in values else "missing"
        raise MismatchError(
            f"the value {name!r} is {problem}", found=f"values named {sorted(values)}", expected="a text"
        )
    return parse(text)
