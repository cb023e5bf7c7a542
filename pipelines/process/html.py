"""What the templates of all HTML pages share: values are escaped, an unknown one is an error, and a few filters."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from cards import markdown
from pipelines.process import installation
from pipelines.process.files import write_atomically


def html_environment(folder: Path) -> jinja2.Environment:
    """The environment of the templates in a folder. Filters: `number` and `percent`, as on the card, and `code_spans`."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": markdown.number, "percent": markdown.share_text, "code_spans": _code_spans}
    return environment


def write_page(path: Path, template: Path, **values: Any) -> None:
    """Write the page of a template atomically: an error leaves the old file as it was. Creates missing parent directories.

    The template gets the values, and as `date` and `program` the day and the version of this package.
    """
    today = datetime.now(UTC).date().isoformat()
    page = html_environment(template.parent).get_template(template.name)
    text = page.render(**values, date=today, program=installation.describe())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)


def _code_spans(text: str) -> Markup:
    """A text as HTML, what is between two backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before
