"""docs/troubleshooting.md shows what the commands print when users make the likeliest mistakes."""

import re

import pytest

from tests.support.mistakes import HEADER, MISTAKES, Mistake, render_section
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title)
def test_the_page_shows_what_a_mistake_prints(mistake: Mistake) -> None:
    section = render_section(mistake)
    assert section in PAGE, "generate the page: python -m tests.support.mistakes > docs/troubleshooting.md"
    assert "error: " in section
    assert "Traceback" not in section


def test_the_page_has_these_mistakes_and_no_others() -> None:
    assert PAGE.startswith(HEADER)
    assert re.findall(r"(?m)^## (.*)$", PAGE) == [mistake.title for mistake in MISTAKES]
