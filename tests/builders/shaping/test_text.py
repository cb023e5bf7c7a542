"""builders.shaping.text: HTML becomes the text that BeautifulSoup returns, with white space folded as in Python. HTML as
text with its lines. builders.shaping.text: UTF-8 read in another encoding is found, and text that looks a little like
it is not.
"""

import gzip
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup
from bs4.exceptions import ParserRejectedMarkup
from hypothesis import assume, example, given
from hypothesis import strategies as st

from builders.shaping.text import (
    ELEMENTS,
    EMPTY,
    REFERENCES,
    WHITE_SPACE,
    fold_white_space,
    html_to_lines,
    html_to_text,
    is_mojibake,
)
from tests.support.tables import clean_tables, quality_findings, with_value

# What two HTML parsers may read differently: tags in every shape, raw text elements, comments and the like, valid and invalid
# references, white space of all kinds, and the markers that html_to_text uses itself.
TAGS = [
    "<p>", "</p>", "<P>", "</P>", "<p/>", "<p", "</p", "< p>", "</ p>", "<p >", "</p >", "<p\n>", "</>", "<>", "<3", "<", ">",
    "<br>", "<br/>", "<br />", "</br>", "<hr>", "</hr>", "<img>", "</img>", "<wbr>", "<col>", "</col>", "<a:b>", "<a-b>",
    '<a href="x">', "<a href='x'>", "<a href=x>", "<a href=x/>", "<a href=x/y>", '<a href="a>b">', '<a href="<b>">', "</a b=>",
    '<a  href = "x">', '<a href="x"b="y">', '<a href="x', "<a href=x'y>", "<a =x>", "<a b=>", '<a b="1" b="2">', "<td nowrap>",
    """<img src="/i.gif" width="20" tag="[-json: {'type':'article','id':'1'}-]" />""", '<i title="&quot;&lt;">',
    "<body>", "<html>", "<head>", "<table>", "</table>", "<tr>", "<td>", "</td>", "<ul>", "<li>", "<select>", "<form>",
    "<b>", "</b>", "<i>", "</i>", "<strong>", "</strong>", "<strong></strong>", "<svg>", "<math>", "</math>", "<image>", "<nobr>",
]  # fmt: skip
RAW_TEXT = [
    f"<{slash}{name}>"
    for name in ("script", "style", "textarea", "title", "template", "noscript", "pre", "iframe", "xmp", "plaintext", "rt", "rp")
    for slash in ("", "/")
]  # fmt: skip
DECLARATIONS = [
    "<!-- x -->", "<!--", "-->", "<!-->", "<!--->", "<!-- > -->", "<!---- --!>", "<![CDATA[x]]>", "<![CDATA[", "]]>", "<![if x]>",
    "<![x[", "<!doctype html>", "<!DOCTYPE", "<!x>", "<!>", '<?xml version="1.0"?>', "<?php", "?>",
]  # fmt: skip
REFERENCES_AND_NOT = [
    "&", "&&", "&amp;", "&amp", "&AMP;", "&nbsp;", "&nbsp", "&mdash;", "&Mdash;", "&lt;", "&lt;b&gt;", "&amp;lt;", "&lang;",
    "&hellip", "&foo;", "&foo", "&p ", "&t", "& ", "&;", "&#39;", "&#39", "&#039;", "&#x27;", "&#X27;", "&#150;", "&#160;",
    "&#0;", "&#32;", "&#10;", "&#xd800;", "&#xFFFE;", "&#1114112;", "&#99999999999;", "&#", "&#;", "&#x;", "&#xg;",
    "&#8212;", "&zwnj;",
]  # fmt: skip
TEXTS = [
    " ", "  ", "\n", "\n\n", " \n ", "\t", "\r", "\r\n", "\f", "\x0b", "\xa0", "\x85", "\u2028", "\ufeff", "\x00", "\x01", "\x1c",
    "a", "b ", " c", "ё", "москва", "😀", "é", '"', "'", "=", "/", ";", "#", "x", "1", "-", "!", "]", "(at&t)", "a://b?c&d",
]  # fmt: skip
PLAIN = [f"<{name}>" for name in (*ELEMENTS, *EMPTY)] + [f"</{name}>" for name in ELEMENTS] + list(REFERENCES)

PIECES = st.sampled_from(TAGS + RAW_TEXT + DECLARATIONS + REFERENCES_AND_NOT + TEXTS) | st.text(max_size=3)
ANYTHING = st.lists(PIECES).map("".join)
# Mostly valid: most of these are plain, and exercise the edge cases of plain markup.
PLAIN_PIECES = st.sampled_from(PLAIN) | st.sampled_from(TAGS[:48] + TEXTS) | st.sampled_from(REFERENCES_AND_NOT[:12])
MOSTLY_PLAIN = st.lists(PLAIN_PIECES, max_size=8).map("".join)


def soup(html: str) -> str | None:
    """The text according to BeautifulSoup, folded; None if it cannot parse the HTML."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return " ".join(BeautifulSoup(html, "html.parser").get_text().split())
        except (ParserRejectedMarkup, ValueError):
            return None


def check(htmls: Sequence[str]) -> pl.Series:
    """Compare with BeautifulSoup. Returns which texts html_to_text left to it."""
    texts, parsed = html_to_text(pl.Series(htmls, dtype=pl.String))
    assert texts.to_list() == [soup(html) for html in htmls]
    return parsed


@given(st.lists(ANYTHING, max_size=20))
@example(["<br> </br> a", "<p>\x00</p>", "<a href=x/>", "&#" + "9" * 5000 + ";"])
@example(["a/b.html"])  # BeautifulSoup warns that this looks like a file name
def test_any_html_becomes_the_text_that_beautifulsoup_returns(htmls: list[str]) -> None:
    check(htmls)


@given(st.lists(MOSTLY_PLAIN, max_size=20))
@example(["<p> \n\t</p>\t<br>\r\n<b>  </b>\xa0 ", "&amp;nbsp;&<b>&quot;"])
def test_mostly_plain_html_becomes_that_text_mostly_without_beautifulsoup(htmls: list[str]) -> None:
    assume(not check(htmls).all())


@pytest.mark.parametrize(
    "html",
    [
        "",
        "текст без разметки & ссылок",
        "<p><strong></strong></p>\n<p><strong>москва, 1 дек&nbsp;&mdash; риа новости.</strong> текст</p>",
        """<p><img src="/i.gif" border="0" tag="[-json: {'type':'article'}-]" /></p>""",
        '<a href="http://example.org/?a=1&b=2" target="_blank">ссылка</a>',
        "<td nowrap align=center width=20%>&#39;&#171;&#8470;</td></p></li><br/><hr>",
        "<p>незакрытый <b>жирный<p>и снова",
        "a > b; \r\n\t",
        *("&amp;lt;", "&amp;#39;", "&<b>amp;</b>"),  # what looks like a reference only afterwards
    ],
)
def test_plain_html_does_not_need_beautifulsoup(html: str) -> None:
    assert not check([html]).any()


@pytest.mark.parametrize(
    "html",
    [
        "<!-- x -->", "<script>x</script>", "<style>x</style>", "<textarea>", "<title>x", "<template>x</template>",
        "<pre>\n</pre>", "<iframe></iframe>", "<rt>x</rt>", "<unknown>", "a < b", "a <b", "<P>", "<p", "</br>", "</img>", "</p >",
        "<a href = x>", "<a href=x/y>", '<a b="1"c="2">', "<![CDATA[x]]>", "<!doctype html>", "<?xml?>", "&foo;", "&nbsp", "at&t",
        "&#x27;", "&#150;", "&#32;", "&lang;", "\x00", "\x01", "&am<b>p;</b>",
    ],
)  # fmt: skip
def test_html_that_is_not_plain_is_left_to_beautifulsoup(html: str) -> None:
    assert check([html]).all()


def test_beautifulsoup_resolves_every_reference_that_counts_as_plain() -> None:
    assert not check(list(REFERENCES)).any()


def test_beautifulsoup_gives_no_special_treatment_to_elements_that_count_as_plain() -> None:
    htmls = [f"1<{name}>\n2&amp;<b> \n</b>3" + f"</{name}>4" * (name in ELEMENTS) for name in (*ELEMENTS, *EMPTY)]
    assert not check(htmls).any()


def test_white_space_between_two_tags_becomes_one_space_and_none_at_the_ends() -> None:
    htmls = ["\t<p>\r\n \n</p>  <p>\f</p>\xa0", " \t", "1<br> \n\t<br>\t\t<br>&nbsp;2", "1<br>2"]
    assert not check(htmls).any()
    assert html_to_text(pl.Series(htmls))[0].to_list() == ["", "", "1 2", "12"]


def test_plain_and_other_texts_keep_their_order() -> None:
    htmls = ["<p>1</p>", "<!-- x -->2", "3", "<![x[4", "5&nbsp;", "6 < 7"]
    assert check(htmls).to_list() == [False, True, False, True, False, True]


def test_a_text_that_beautifulsoup_cannot_parse_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ParserRejectedMarkup("no")

    monkeypatch.setattr("bs4.BeautifulSoup", refuse)
    texts, parsed = html_to_text(pl.Series(["<p>1</p>", "<!-- x -->"]))
    assert texts.to_list() == ["1", None]
    assert parsed.to_list() == [False, True]


def test_an_empty_column_stays_empty() -> None:
    texts, parsed = html_to_text(pl.Series([], dtype=pl.String))
    assert (texts.to_list(), parsed.to_list()) == ([], [])


def test_all_real_articles_are_plain(real_sources: Path) -> None:
    folder = real_sources / "ria_news"
    lines = (folder / "ria_20.json").read_bytes().splitlines()
    lines += gzip.decompress((folder / "ria.first10.json.gz").read_bytes()).splitlines()
    assert len(lines) == 30
    assert not check([json.loads(line)["text"] for line in lines]).any()


@given(st.lists(st.text() | st.sampled_from([" ", "  ", "\n", "\xa0", "\x1c", "\x85", "\u3000", "a"])).map("".join))
def test_white_space_folds_as_in_python(text: str) -> None:
    assert pl.select(fold_white_space(pl.lit(text))).item() == " ".join(text.split())


def test_white_space_is_what_python_strips() -> None:
    assert set(WHITE_SPACE) == {chr(code) for code in range(sys.maxunicode + 1) if not chr(code).strip()}


def test_every_character_that_is_white_space_in_python_folds() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    texts = pl.DataFrame({"text": [f"a{character}b" for character in characters]})
    folded = texts.select(fold_white_space(pl.col("text"))).to_series()
    assert folded.to_list() == [" ".join(text.split()) for text in texts["text"]]


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>Один\n  два</p><p>три</p>", "Один два\nтри"),
        ("раз<br>два<BR/>три", "раз\nдва\nтри"),
        ("<p>Так:</p><ul><li>раз</li><li>два</li></ul>конец", "Так:\nраз\nдва\nконец"),
        ('<b>жир</b>ный и <a href="/p">ссылка</a>', "жирный и ссылка"),
        (
            'Код:<pre><code class="python">if a:\n    b()\n\n\tc()\n</code></pre>после',
            "Код:\nif a:\n    b()\n\tc()\nпосле",
        ),
        ("<pre>  a\n  b</pre>", "  a\n  b"),
        ("<PRE>a &lt; b\r\n c", "a < b\n c"),
        ("a &lt;p&gt; b &amp;nbsp; &quot;c&quot;", 'a <p> b &nbsp; "c"'),
        ("до\x02\x03после", "допосле"),
        ('<img src="a.png"> \n <p> </p>', ""),
        ("<![x[ нельзя", None),
        ("", ""),
        (None, None),
    ],
    ids=repr,
)
def test_blocks_begin_lines_and_code_keeps_its_white_space(html: str | None, lines: str | None) -> None:
    texts = pl.Series("html", [html], pl.String)
    assert html_to_lines(texts).to_list() == [lines]
    assert html_to_lines(pl.Series(["<p>x</p>", html, "<pre>y</pre>"], dtype=pl.String)).to_list() == ["x", lines, "y"]


def test_a_column_keeps_its_name() -> None:
    assert html_to_lines(pl.Series("body", [], pl.String)).name == "body"


WORDS = {
    "Russian": "Пчёлы строят соты из воска",
    "Greek": "Οι μέλισσες χτίζουν κηρήθρες",
    "French": "L’abeille dépose le pollen récolté",
    "German": "Die Blüten öffnen sich früh, die Königin fährt übers Land",
    "Polish": "Pszczoły budują plastry",
    "punctuation": "honey – “gold” of the hive…",
    "price": "a jar for 5 €",
    "emoji": "honey 🐝",
    "lost character": "hon\ufffdy",
    "byte order mark": "\ufeffhoney",
}
SOUND = [
    *WORDS.values(),
    *(
        "Ñandú",
        "«ESPAÑA»",
        "AMANHû, AMANHÃ…, MAÇÔ",
        "IRMÃ\xadZINHA",
        "„Ä“ und „Ö“",
        "Å”, 20 Å², 3 Å³",
        "ÞAÐ“",
        "ROMÂNIA, ÎN",
        "â",
    ),
    *(
        "РС",
        "«СССР»",
        "РФ…",
        "СІРІ",
        "Сёмин, Рёв",
        "срџба",
        "в „Правде“",
        "№ 5 °C ± 1 µm",
        "5 €–10 €",
        "naïve “Æther”",
        "Œuvre",
    ),
]


def find(text: str) -> bool:
    return bool(pl.select(is_mojibake(pl.lit(text))).item())


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(words, encoding) for words in WORDS for encoding in ("cp1252", "latin-1")]
    + [
        (words, "cp1251") for words in ("Russian", "punctuation", "price", "emoji", "lost character", "byte order mark")
    ],
)
def test_utf_8_read_in_another_encoding_is_found(words: str, encoding: str) -> None:
    assert find(WORDS[words].encode().decode(encoding, "replace"))


@pytest.mark.parametrize("text", SOUND)
def test_sound_text_is_not_mojibake(text: str) -> None:
    assert not find(text)
    assert not find(text.upper())


def test_double_mojibake_is_found() -> None:
    once = "honey – gold".encode().decode("cp1252")
    assert find(once.encode().decode("cp1252"))


def test_the_audit_reports_it_as_a_warning() -> None:
    text = WORDS["Russian"].encode().decode("cp1251", "replace")
    tables = with_value("default", "test", "sentences", 2, text)(clean_tables("Clustering"))
    (finding,) = (finding for finding in quality_findings("Clustering", tables) if finding.kind == "mojibake")
    assert (finding.severity, finding.location, finding.count) == ("warning", "default/test.sentences", 1)
