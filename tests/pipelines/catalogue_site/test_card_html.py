"""The card as HTML: GitHub's Markdown, and no markup but its own."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.catalogue_site.card_html import render_card

TAGS = re.compile(r"<(/?\w+)")


def test_tables_code_and_folded_parts_are_rendered_and_the_front_matter_is_cut_off() -> None:
    card = (
        "---\nlicense: mit\n---\n\n# name\n\nA *text*.\n\n## Known issues\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n"
        "<details><summary>More of it</summary>\n\n```python\nx < 1\n```\n\n</details>\n"
    )
    html = render_card(card)
    assert "license" not in html
    assert "<h1" not in html, "the page has a heading of its own"
    assert '<h3 id="card-known-issues">Known issues</h3>' in html
    assert '<td class="number">2</td>' in html
    assert "<details><summary>More of it</summary>" in html
    assert "x &lt; 1" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<details open ontoggle=alert(1)><summary onclick=alert(1)>x</summary></details>",
        "<svg/onload=alert(1)>",
        "![picture](https://example.org/x.png)",
        "[link](javascript:alert(1)) [other](data:text/html,x) <javascript:alert(1)>",
        "<!-- a comment <script> -->\n",
        "&lt;script&gt;",
        '<details "><script>alert(1)</script>">',
        "<b\nonclick=alert(1)>x</b>",
    ],
)
def test_no_other_markup_passes(text: str) -> None:
    html = render_card(f"# name\n\n{text}\n\n| cell |\n| --- |\n| {text.strip()} |\n")
    assert set(TAGS.findall(html)) <= {
        one
        for name in ("p", "a", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code")
        for one in (name, f"/{name}")
    }
    for tag in re.findall(r"<[^>]*>", html):
        assert not re.search(r"\son\w+=|javascript:|data:|src=", tag), tag


def test_a_card_cannot_end_the_element_around_it() -> None:
    html = render_card("# name\n\n</details></details>\n\n<details>\n\nopen\n")
    assert html.count("<details>") == html.count("</details>") == 1


def test_links_lead_to_the_web_or_into_the_card() -> None:
    html = render_card(
        "# n\n\n## Limits\n\n[a](https://example.org/x) [b](#limits) [c](manifest.json) [d](file:///etc/passwd)\n"
    )
    assert re.findall(r'href="([^"]*)"', html) == ["https://example.org/x", "#card-limits"]


PIECES = (
    "<details>", "</details>", "<summary>", "</summary>", "<script>", "</script>", "<b onclick=x>", "<", ">", '"', "'", "`",
    "```\n", "\n", "\n\n", "| ", " |", "| --- |\n", "[a](", "javascript:x", "https://example.org", ")", "![", "](", "<!--",
    "-->", "&lt;", "&#60;", "*", "# ", "- ", "1. ", "    ", "<a href=x>", '<https://e.org/"onx>', "<img src=x onerror=y>",
    "<svg/onload=z>", "text", "[x]: javascript:y\n", "[x]", "\0", "</article>", "<br/>",
)  # fmt: skip
ALLOWED = {
    "p", "a", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "br", "code", "pre", "em", "strong", "s",
    "ul", "ol", "li", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote",
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "id", "class", "start", "tabindex"}


class Parsed(HTMLParser):
    """The elements of a text as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.depth = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.depth += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((tag, {}))
        self.depth -= tag == "details"
        assert self.depth >= 0, "no element around the card is closed"


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_is_in_a_card_only_the_markup_of_markdown_comes_out(text: str) -> None:
    parsed = Parsed(render_card(f"# name\n\n{text}"))
    assert parsed.depth == 0
    for tag, attributes in parsed.elements:
        assert tag in ALLOWED, tag
        assert attributes.keys() <= ATTRIBUTES, (tag, attributes)
        assert (attributes.get("href") or "#").startswith(("#", "https://", "http://")), attributes
