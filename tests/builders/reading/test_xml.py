"""XML records of named values: which files are accepted, what their rows are, and what the errors say."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builders.reading.xml import read_xml_values
from builders.spec import Raw
from tests.support.reading import BOM, source_error

PAIR: dict[str, Any] = {"id": pl.Int64, "text_1": pl.String, "class": pl.Float64}


def pair(*values: tuple[str, str], tag: str = "paraphrase") -> str:
    inner = "\n".join(f'<value name="{name}">{text}</value>' for name, text in values)
    return f"<{tag}>\n{inner}\n</{tag}>\n"


def corpus(*pairs: str) -> str:
    head = "<?xml version='1.0' encoding='UTF8'?>\n<data>\n<head><title>t</title></head>\n"
    return f"{head}<corpus>\n{''.join(pairs)}</corpus>\n</data>"


GOOD = pair(("id", "1"), ("jaccard", ""), ("text_1", " Цены &lt;растут&gt;\xa0&amp; <!-- x -->стоят "), ("class", "-1"))


def read_pairs(file: Raw) -> pl.DataFrame:
    return read_xml_values(file, PAIR, records=("paragraph", "paraphrase"))


@pytest.mark.parametrize("bom", [b"", BOM])
def test_records_with_either_tag_give_the_named_values(bom: bytes, raw: Callable[..., Raw]) -> None:
    other = pair(("class", "0"), ("text_1", "b"), ("id", "2"), tag="paragraph")
    frame = read_pairs(raw(bom + corpus(GOOD, other).encode()))
    assert frame.schema == pl.Schema(PAIR)
    assert frame.rows() == [(1, " Цены <растут>\xa0& стоят ", -1.0), (2, "b", 0.0)]


@pytest.mark.parametrize(
    ("bad", "what", "found"),
    [
        (pair(("id", "1"), ("text_1", "a")), "'class' is missing", "['id', 'text_1']"),
        (pair(("id", "1"), ("text_1", ""), ("class", "0")), "'text_1' is empty", "'text_1'"),
        (pair(("id", "1"), ("id", "2"), ("text_1", "a"), ("class", "0")), "'id' appears twice", "'1' and '2'"),
        (pair(("id", "1x"), ("text_1", "a"), ("class", "0")), "id has the wrong type", "'1x'"),
        (pair(("id", "1"), ("text_1", "a<b/>"), ("class", "0")), "something other than values", "<value>"),
        ("<paraphrase><val name='id'>1</val></paraphrase>", "something other than values", "<val>"),
        ("<paraphrase><value>1</value></paraphrase>", "something other than values", "<value>"),
        ("<paraphrase>loose</paraphrase>", "text between", "'loose'"),
        (GOOD.replace("</value>", "</value>loose", 1), "text between", "'loose'"),
        ("<parafrase/>", "not a record", "<parafrase>"),
    ],
)
def test_a_malformed_record_is_refused_with_its_number(
    bad: str, what: str, found: str, raw: Callable[..., Raw]
) -> None:
    error = source_error(lambda: read_pairs(raw(corpus(GOOD, bad, GOOD), "source/p.xml")))
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
    ids=["truncated", "unknown entity", "no records", "empty", "not UTF-8"],
)
def test_a_file_that_is_not_xml_or_has_no_records_is_refused(
    data: str | bytes, where: str, found: str, raw: Callable[..., Raw]
) -> None:
    error = source_error(lambda: read_pairs(raw(data, "p.xml")))
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
def test_a_document_type_is_refused_before_anything_is_expanded(doctype: str, raw: Callable[..., Raw]) -> None:
    error = source_error(lambda: read_pairs(raw(f"{doctype}<data>{GOOD}</data>")))
    assert "defines entities or refers to other files" in error.what
    assert "<!DOCTYPE>" in str(error.expected)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_text_between_the_records_is_an_error_with_the_number_of_the_next_record(
    position: int, raw: Callable[..., Raw]
) -> None:
    parts = [GOOD, GOOD.replace(">1<", ">2<")]
    parts.insert(position, "stray &amp; text")
    error = source_error(lambda: read_pairs(raw(corpus(*parts))))
    assert "not a record" in str(error)
    assert str(error.where).endswith(f"record {position + 1}")
    assert "stray & text" in str(error.found)
