"""What cards and pages say of the two papers: quotations that are in them, or a table, or what they do not say."""

import re

import pytest

from builders import papers
from cards.texts import prose_path
from tests.support.paths import ROOT
from tests.support.releases import NAMES, definition_of

NAMED = re.compile(r"\b[Tt]he (ruMTEB |ATEB )?paper\b(?!(\'s)? (on|of) )")
# A figure or words of a paper, by where they are; or what the paper does not say, which nothing can quote.
GROUNDED = re.compile(
    r"\{\{ (paper\.|size\(|pairs\()|Table \d|\(A\.\d|\b(not|no|none|neither|nothing)\b|own random sample"
)
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))]
SOURCES = sorted({definition_of(name).source.name for name in NAMES})


def sentences(text: str) -> list[str]:
    """The sentences of Markdown without code, each on one line."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    blocks = re.split(r"\n\s*\n|\n(?=- |\||#)", text)
    return [part for block in blocks for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(block.split()))]


@pytest.mark.parametrize("source", SOURCES)
def test_a_sentence_on_a_paper_has_its_words_its_table_or_what_it_does_not_say(source: str) -> None:
    for sentence in sentences(prose_path(source).read_text("utf-8")):
        assert not NAMED.search(sentence) or GROUNDED.search(sentence), sentence


@pytest.mark.parametrize("page", PAGES)
def test_words_of_a_paper_in_quotation_marks_are_quotations(page: str) -> None:
    known = [quotation.words for quotation in papers.quotations().values()]
    for sentence in sentences((ROOT / page).read_text("utf-8")):
        if NAMED.search(sentence):
            for words in re.findall(r'"([^"]+)"', sentence):
                assert any(words in quotation for quotation in known), f"{words!r} in: {sentence}"


def test_every_quotation_is_used_or_in_the_code() -> None:
    used = "".join(path.read_text("utf-8") for folder in ("cards", "docs") for path in (ROOT / folder).rglob("*.md"))
    used += "".join(path.read_text("utf-8") for path in (ROOT / "builders").rglob("*.py"))
    unused = [
        key
        for key, quotation in papers.quotations().items()
        if f"paper.{key} " not in used and f"quotations()['{key}']" not in used and quotation.words not in used
    ]
    assert unused == []


def test_a_quotation_without_an_entry_is_refused() -> None:
    from cards.texts import fill_placeholders

    with pytest.raises(ValueError, match="invented"):
        fill_placeholders("The paper: {{ paper.invented }}.", {}, "prose")
