"""Fills the numbers of a release into hand-written prose, so that a card cannot contradict its release.

`{{ rows.train }}` is the number of rows of a split, `{{ rows.queries.test }}` that of one of several tables; 0 for a split that
a partial release does not have. `{{ options.per_class }}` is an option of the recipe, `{{ observed.segments }}` a number that
the recipe counted.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from builders import tasks
from cards import markdown

_ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML


def release_numbers(
    task: tasks.Task, rows: Mapping[tuple[str, str], int], options: Mapping[str, Any], observed: Mapping[str, int]
) -> dict[str, Mapping[str, Any]]:
    """The values of the placeholders of a release, as text. rows: of each table, by config and split."""
    configs = [layout.config for layout in tasks.layouts(task)]
    counts = {
        config: {split: markdown.number(rows.get((config, split), 0)) for split in task.splits} for config in configs
    }
    return {
        "rows": counts if len(configs) > 1 else counts[configs[0]],
        "options": {name: _as_text(value) for name, value in options.items()},
        "observed": {name: markdown.number(value) for name, value in observed.items()},
    }


def fill_placeholders(text: str, numbers: Mapping[str, Mapping[str, Any]], where: str) -> str:
    """A text with each placeholder replaced. where: what the text is, for the error.

    Raises ValueError for a placeholder without a number, and for a malformed one.
    """
    try:
        return _compile(text).render(numbers)
    except jinja2.TemplateError as error:
        raise ValueError(f"{where}: {error.message}") from error


@cache
def _compile(text: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(text)


def _as_text(value: Any) -> str:
    return markdown.number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)
