"""What the templates of all HTML pages share: values are escaped, an unknown one is an error, and a few filters."""

import re
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from cards import markdown


def html_environment(folder: Path) -> jinja2.Environment:
    """The environment of the templates in a folder. Filters: `number` and `percent`, as on the card, and `code_spans`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = markdown.number
    environment.filters["percent"] = markdown.share_text
    environment.filters["code_spans"] = _code_spans
    return environment


def _code_spans(text: str) -> Markup:
    """A text as HTML, what is between two backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before
