"""The entries of citations.bib, their fields, and those that are on arXiv."""

import re

from builders.benchmarks import BENCHMARKS
from cards.texts import CITATIONS, arxiv_papers, bibtex, read_field
from tests.support.card_inputs import card_for

ENTRIES = [bibtex(key) for key in re.findall(r"(?m)^@\w+\{([^,]+),$", CITATIONS.read_text("utf-8"))]


def test_a_field_ends_at_the_brace_that_closes_it() -> None:
    entry = "@misc{key,\n  title = {The {BEIR} benchmark},\n  note = {never closed,\n"
    assert read_field(entry, "title") == "The {BEIR} benchmark"
    assert read_field(entry, "note") == read_field(entry, "year") == ""


def test_an_entry_with_an_address_on_arxiv_has_its_number_as_eprint() -> None:
    for entry in ENTRIES:
        for address in re.findall(r"url = \{(https://arxiv\.org/abs/.*)\}", entry):
            assert arxiv_papers([entry]) == [address]


def test_a_number_of_arxiv_is_complete_and_belongs_to_one_entry() -> None:
    papers = arxiv_papers(ENTRIES)
    assert all(re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", paper) for paper in papers)
    assert len(papers) == len(set(papers)) == sum(entry.count("archiveprefix = {arXiv}") for entry in ENTRIES)


def test_the_paper_of_every_benchmark_is_on_arxiv() -> None:
    for benchmark in BENCHMARKS.values():
        assert len(arxiv_papers(bibtex(key) for key in benchmark.citations)) == len(benchmark.citations)


def test_a_card_links_the_papers_of_its_source_and_its_benchmark_below_the_citations() -> None:
    card = card_for("Classification", source={"citation": ("clark2018arc", "rybin2021rubq")})
    assert card.endswith(
        "\n```\n\nOn arXiv: <https://arxiv.org/abs/1803.05457>, <https://arxiv.org/abs/2502.16766>, "
        "<https://arxiv.org/abs/2210.07316>\n"
    )
