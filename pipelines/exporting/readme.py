"""The README.md of an export: what is in it, and code that trains on it."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2

from cards.markdown import code, number
from pipelines.exporting.records import Choices, ExportedSet, share

HERE = Path(__file__).parent


def render_readme(sets: Sequence[ExportedSet], choices: Choices) -> str:
    """The README.md of an export. Its front matter lists the files, so that `datasets` loads them by name."""
    total = sum(one.tally.rows for one in sets)
    manifests = {one.source.release.manifest.name: one.source.release.manifest for one in sets}
    template = _environment().get_template(f"{choices.trainer}.md.jinja")
    return template.render(sets=sets, choices=choices, total=total, share=share, releases=manifests.values())


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"code": code, "number": number}
    return environment
