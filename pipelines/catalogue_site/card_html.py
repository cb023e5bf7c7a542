"""A card as HTML: GitHub's Markdown, in which no text of a dataset can become markup.

Of HTML in the card, `<details>`, `<summary>` and `<br>` pass, without their attributes; all other HTML is shown as text. Images
are shown as their description: a page of the site loads nothing from elsewhere. Links lead to http and https addresses or to
places in the card.
"""

import html
import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
ALLOWED = ("details", "summary", "br")
TAG = re.compile(r"<(/?)([a-zA-Z]+)((?:\s[^<>]*)?)/?>")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"https?://[^\s\x00-\x1f]+|#[\w-]*", re.IGNORECASE)


def render_card(card: str) -> Markup:
    """The card of a release, without its front matter and its first heading, as HTML. Its headings are one level lower."""
    text = FRONT_MATTER.sub("", card.replace("\r\n", "\n"), count=1)
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(re.sub(r"\A\s*# [^\n]*\n", "", text))
    _mark_headings(tokens)
    depth = [0]
    _make_safe(tokens, depth)
    rendered = parser.renderer.render(tokens, parser.options, {})
    # For readers without a mouse or a screen: what scrolls takes the focus, and an empty cell does not count as a heading.
    for written, accessible in (
        ("<pre>", '<pre tabindex="0">'),
        ("<table>", '<table tabindex="0">'),
        ("<th></th>", "<td></td>"),
    ):
        rendered = rendered.replace(written, accessible)
    return Markup(rendered + "</details>" * max(depth[0], 0))  # noqa: S704 - every token was made safe


def _mark_headings(tokens: list[Token]) -> None:
    """Give headings the names that links in the card use, as on GitHub, and lower them by one level."""
    names: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            texts = tokens[number + 1].children or ()
            words = "".join(inline.content for inline in texts if inline.type in ("text", "code_inline"))
            name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            repeats = names.get(name, 0)
            names[name] = repeats + 1
            token.attrSet("id", f"card-{name}-{repeats}" if repeats else f"card-{name}")
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"


def _make_safe(tokens: Iterable[Token], depth: list[int]) -> None:
    """Change tokens so that nothing but their own markup is rendered. depth: how many `<details>` are open."""
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            token.content = "".join(_safe_html(token.content, depth))
        elif token.type == "image":
            token.type, token.tag, token.content = "text", "", f"[image: {token.content}]"
            token.children = None
        elif token.type == "link_open":
            target = str(token.attrGet("href") or "")
            token.attrs = {}
            if target.startswith("#"):
                token.attrs = {"href": f"#card-{target[1:]}"}
            elif LINK.fullmatch(target):
                token.attrs = {"href": target, "rel": "noopener noreferrer"}
        elif token.type in ("th_open", "td_open"):
            style = str(token.attrGet("style") or "")
            token.attrs = {"class": "number"} if "right" in style else {}
        elif token.type == "ordered_list_open":
            token.attrs = {key: value for key, value in token.attrs.items() if key == "start"}
        _make_safe(token.children or (), depth)


def _safe_html(text: str, depth: list[int]) -> Iterator[str]:
    """Raw HTML with the allowed tags, everything else as text."""
    end = 0
    text = COMMENT.sub("", text)
    for tag in TAG.finditer(text):
        yield _as_text(text[end : tag.start()])
        closing, name = tag[1], tag[2].lower()
        end = tag.end()
        if name not in ALLOWED:
            yield _as_text(tag[0])
        elif name != "details":
            yield f"<{closing}{name}>"
        elif not closing or depth[0]:  # the end of what was not opened would end the element around the card
            depth[0] += -1 if closing else 1
            yield f"<{closing}details>"
    yield _as_text(text[end:])


def _as_text(text: str) -> str:
    return html.escape(html.unescape(text), quote=True)
