"""pipelines.audit.texts: residue of HTML and of wrong decodings, and texts that are far too long."""

from __future__ import annotations

import pytest

from tests.support.tables import clean_tables, combine, quality_findings, with_value

RESIDUE = {
    "html_residue": [
        *("<p>", "</DIV>", "<br/>", "<br />", '<a href="x">', "<!-- x -->", "<h2\nid=x>", "&nbsp;", "&#8211;", "&#x2F;")
    ],
    "encoding_residue": ["\ufffd", "\x80", "\x85", "\x9f", "_x000D_", "a_x005F_b"],
    "": [
        *(
            "a < b > c",
            "<unk>",
            "<name>",
            "< p>",
            "<3",
            "x<y",
            "<pretty>",
            "<<p",
            "AT&T;",
            "R & D;",
            "&nbsp",
            "&;",
            "&#;",
        ),
        *("\xa0", "é", "\x7f", "_x00_", "_xyzw_", "x000D"),
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in RESIDUE.items() for text in texts])
def test_residue_is_distinguished_from_text(kind: str, text: str) -> None:
    tables = with_value("default", "test", "sentences", 0, f"before {text} after")(clean_tables("Clustering"))
    assert [finding.kind for finding in quality_findings("Clustering", tables)] == [kind] * bool(kind)


def test_ten_times_the_median_length_is_not_an_outlier() -> None:
    change = combine(
        with_value("corpus", "test", "text", 0, "b" * 70),
        with_value("corpus", "test", "text", 2, "c" * 7),
        with_value("corpus", "test", "title", 1, ""),
        with_value("corpus", "test", "text", 1, "a" * 7),
    )
    assert quality_findings("Retrieval", change(clean_tables("Retrieval"))) == []


def test_empty_texts_do_not_count_towards_the_median_length() -> None:
    change = combine(*(with_value("default", "test", "sentences", row, "") for row in (0, 1, 2)))
    findings = quality_findings("Clustering", change(clean_tables("Clustering")))
    assert "length_outlier" not in {finding.kind for finding in findings}
