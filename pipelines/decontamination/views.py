r"""Views: ways in which a text is written around or into another, and back.

A training corpus has the text of a benchmark behind a prefix, in a chat template, with escapes of HTML or JSON, in Markdown, or
with hyphens at the ends of its lines. A view undoes one of these: what it returns is compared as the text itself is.

A view has a version and never changes; a better one has the next version. An index of the first format is read
without views.

    prefix    query: Who wrote it?                      Who wrote it?
    chat      <|im_start|>user\nWho wrote it?<|im_end|>  Who wrote it?
    html      <p>Who &quot;wrote&quot; it?</p>          Who "wrote" it?
    json      Who \"wrote\" \u0069t?                    Who "wrote" it?
    markdown  Who [wrote](http://x) it?                 Who wrote it?
    joined    Who wro\u00adte it?                       Who wrote it?
"""

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

# Of E5, RoSBERTa, Nomic; BGE in English and Chinese; Gemma; INSTRUCTOR, MEDI and other models with instructions, which are also
# the prompts of our datasets; and what people write before a question, an answer, or a turn.
PREFIX = (
    r"^\s*(?:(?:search_)?(?:query|document|passage)|classification|clustering|"
    r"Instruct:[^\n]{0,500}\n\s*Query|(?:task|title): [^|\n]{0,200}\| ?(?:query|text)|"
    r"(?:Represent|Given|Classify|Identify|Retrieve)\b[^:\n]{2,400}?(?:[;.] ?Input)?|\x{4e3a}[^\n\x{ff1a}]{2,40}|"
    r"(?i:question|answer|text|input|sentence|premise|hypothesis|user|human|assistant|title|q|a|"
    r"\x{432}\x{43e}\x{43f}\x{440}\x{43e}\x{441}|\x{43e}\x{442}\x{432}\x{435}\x{442}|\x{442}\x{435}\x{43a}\x{441}\x{442}))"
    r"\s*[:\x{ff1a}]\s*"
    r"|^(?:Given|Classify|Identify|Retrieve)\b[^:.\n]{10,300}(?:[.] ?|\n)\s*"
)
TURN = r"(?:system|user|assistant|model|human|gpt)"
CHAT = (
    rf"<\|(?:im_start|start_header_id)\|>\s*{TURN}(?:<\|end_header_id\|>)?|<\|\w{{2,30}}\|>|\[/?INST\]|<</?SYS>>|</?s>|"
    rf"<(?:start|end)_of_turn>(?:\s*{TURN}\b)?|(?m:^###? ?(?:Instruction|Input|Response|Human|Assistant|User):)"
)
TAG, REFERENCE = r"</?[A-Za-z][^<>]{0,500}>|<!--", r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});"
ESCAPES = r"""(?:\\(?:u[0-9A-Fa-f]{4}|["\\/bfnrt]))+"""
LINK = r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,500}(?: \"[^\"]{0,200}\")?\)"
MARKS = r"`|~~"
UNSEEN = r"\x{ad}|\x{200b}|\x{200c}|\x{200d}|\x{2060}|\x{feff}"  # literals, which are found faster than a class
HYPHEN = r"(\p{L})[-\x{2010}]\s*\n\s*(\p{Ll})"


@dataclass(frozen=True)
class View:
    """A view. name: with its version. applies: a regular expression that finds something in each text that the view changes."""

    name: str
    applies: str
    render: Callable[[pl.Series], pl.Series]


def _replacing(*replacements: tuple[str, str]) -> Callable[[pl.Series], pl.Series]:
    def render(texts: pl.Series) -> pl.Series:
        for pattern, written in replacements:
            texts = texts.str.replace_all(pattern, written)
        return texts

    return render


def _unescape_html(texts: pl.Series) -> pl.Series:
    bare = texts.str.replace_all(r"(?s)<!--.*?-->", " ").str.replace_all(TAG, " ")
    return pl.Series([html.unescape(text) for text in bare], dtype=pl.String)


def _unescape_json(texts: pl.Series) -> pl.Series:
    return pl.Series([re.sub(ESCAPES, _decode, text) for text in texts], dtype=pl.String)


def _decode(escapes: re.Match[str]) -> str:
    text: str = json.loads(f'"{escapes[0]}"')
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


VIEWS = (  # in the order in which they are undone: what encloses a text comes first
    View("json/1", ESCAPES, _unescape_json),
    View("chat/1", CHAT, _replacing((CHAT, "\n"))),
    View("html/1", f"{REFERENCE}|{TAG}", _unescape_html),
    View("markdown/1", rf"\]\(|{MARKS}", _replacing((LINK, "$1"), (MARKS, " "))),
    View("joined/1", rf"{UNSEEN}|-\n|- \n|-\r\n|\x{{2010}}\n", _replacing((UNSEEN, ""), (HYPHEN, "$1$2"))),
    View("prefix/1", PREFIX, _replacing((PREFIX, ""))),
)


def render_views(texts: pl.Series, views: tuple[str, ...]) -> pl.DataFrame:
    """The texts that a view changes, without what all of them undo.

    views: by their names; others than these are not used. Columns: position (UInt32, ascending), text, view: the names of the
    views that changed it, without versions, joined by `+`.
    """
    rendered = pl.DataFrame({"position": range(len(texts)), "text": texts}, {"position": pl.UInt32, "text": pl.String})
    rendered = rendered.with_columns(view=pl.lit(""))
    for view in VIEWS:
        applies = rendered["text"].str.contains(view.applies) if view.name in views else pl.Series([False])
        if applies.any():
            changed = rendered.filter(applies)
            name = view.name.partition("/")[0]
            names = pl.when(pl.col("view") == "").then(pl.lit(name)).otherwise(pl.col("view") + f"+{name}")
            changed = changed.with_columns(view.render(changed["text"]).alias("text"), view=names)
            rendered = pl.concat([rendered.filter(~applies), changed]).sort("position")
    return rendered.filter(pl.col("view") != "")
