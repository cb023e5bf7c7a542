"""HTML as text with its lines."""

import polars as pl
import pytest

from builders.shaping.text import html_to_lines


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
