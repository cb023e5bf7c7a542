"""The templates of the site: every value is escaped, and data for scripts is in a block that no text can end."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from cards.kind_names import kind_name
from cards.render import CARDS
from pipelines.files import write_atomically
from pipelines.report.html_templates import html_environment
from pipelines.site_pages.data_scripts import as_json

TEMPLATES = CARDS / "site"
ASSETS = (".css", ".js")


def write_page(path: Path, template: str, root: str, **values: Any) -> None:
    """Render a template into a page. root: the way from the page's folder to that of the site, such as `../../`."""
    text = _environment().get_template(f"{template}.html.jinja").render(root=root, **values)
    write_atomically(path, text)


def copy_assets(assets_dir: Path) -> None:
    """Copy the styles and the scripts of all pages."""
    assets_dir.mkdir(parents=True)
    for path in sorted(TEMPLATES.iterdir()):
        if path.suffix in ASSETS:
            shutil.copyfile(path, assets_dir / path.name)


@cache
def _environment() -> jinja2.Environment:
    environment = html_environment(TEMPLATES)
    environment.filters["json"] = lambda value: Markup(as_json(value).decode())  # noqa: S704 - has no `<`
    environment.filters["kind_name"] = kind_name
    return environment
