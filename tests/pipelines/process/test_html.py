"""Templates of HTML pages: values are escaped, also by the filters that return markup."""

from pathlib import Path

import jinja2
import pytest

from pipelines.process.html import html_environment


@pytest.mark.parametrize(
    ("template", "value", "page"),
    [
        ("{{ value }}", "<b>", "&lt;b&gt;"),
        ("{{ value | code_spans }}", "see `<b>` & c", "see <code>&lt;b&gt;</code> &amp; c"),
        ("{{ value | number }}", 1234567, "1,234,567"),
        ("{{ value | percent }}", 0.1234, "12.34 %"),
        ("{{ value | percent }}", 0.00001, "&lt;0.01 %"),
    ],
)
def test_values_are_escaped_and_filters_write_html(template: str, value: object, page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html.jinja").write_text(template, "utf-8")
    assert html_environment(tmp_path).get_template("page.html.jinja").render(value=value) == page


def test_a_value_that_a_template_does_not_get_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.html.jinja").write_text("{{ value }}", "utf-8")
    with pytest.raises(jinja2.UndefinedError, match="'value' is undefined"):
        html_environment(tmp_path).get_template("page.html.jinja").render()
