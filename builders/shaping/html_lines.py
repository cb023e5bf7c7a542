"""Convert HTML to text with its lines: paragraphs and list items in lines of their own, code as it is indented.

builders.shaping.text.html_to_text folds all white space and joins what only tags divide: `<li>one<li>two` becomes `onetwo`. Here
control characters replace white space while it does its work.
"""

import re

import polars as pl

from builders.shaping.text import html_to_text

LINE, SPACE, TAB = "\x02", "\x03", "\x04"
# Elements that begin and end a line.
BLOCKS = "article|blockquote|br|dd|div|dl|dt|figcaption|figure|h[1-6]|hr|li|ol|p|pre|section|summary|table|td|th|tr|ul"
CODE = re.compile("<pre\\b.*?(?:</pre>|$)", re.IGNORECASE | re.DOTALL)
MARKS = str.maketrans({"\n": LINE, " ": SPACE, "\t": TAB, "\r": None})
BETWEEN_TAGS = re.compile("(<[^>]*>)")


def html_to_lines(html: pl.Series) -> pl.Series:
    """The text of each HTML text (String), in lines without blank ones; null for null and for what cannot be read.

    Within a line white space is folded, except in `<pre>`, whose line breaks, spaces and tabs stay.
    """
    text = pl.col("text")
    frame = html.alias("text").to_frame().with_columns(text.str.replace_all(f"[{LINE}{SPACE}{TAB}]", ""))
    with_code = frame.with_row_index("row").filter(text.str.contains("(?i)<pre\\b"))
    if with_code.height:
        marked = pl.Series([CODE.sub(_mark_spaces, one) for one in with_code["text"]], dtype=pl.String)
        frame = pl.DataFrame({"text": frame["text"].scatter(with_code["row"], marked)})
    # html_to_text is fast for `div`, and slow for `pre`, whose spaces no longer need it.
    blocks = frame.select(
        text.str.replace_all(f"(?i)<(/?)({BLOCKS})\\b", f"{LINE}<${{1}}${{2}}").str.replace_all(
            "(?i)(</?)pre\\b", "${1}div"
        )
    )
    known = blocks["text"].is_not_null()
    converted = html_to_text(blocks["text"].fill_null(""))[0]
    lines = (
        text.str.replace_all(f"[ {SPACE}{TAB}]*{LINE}[ {LINE}]*", "\n")
        .str.replace_all("\n\n+", "\n")
        .str.replace_many([SPACE, TAB], [" ", "\t"])
        .str.strip_chars("\n")
        .str.strip_chars_end(" \t")
    )
    result = converted.alias("text").to_frame().with_columns(known=known)
    return result.select(pl.when("known").then(lines).alias(html.name)).to_series()


def _mark_spaces(code: re.Match[str]) -> str:
    """A `pre` element with marks for the white space between its tags."""
    pieces = BETWEEN_TAGS.split(code[0])
    return "".join(piece if number % 2 else piece.translate(MARKS) for number, piece in enumerate(pieces))
