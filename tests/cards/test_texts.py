"""The entries of citations.bib, their fields, and those that are on arXiv. Numbers of a release in hand-written prose."""

import re

import pytest

from builders.benchmarks import BENCHMARKS
from builders.tasks import Classification, Retrieval, Task
from cards.texts import CITATIONS, arxiv_papers, bibtex, fill_placeholders, read_field, release_numbers
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


CLASSIFICATION = Classification(labels=("bad", "good"), splits=("train", "test"))


@pytest.mark.parametrize(
    ("task", "rows", "text", "filled"),
    [
        (
            CLASSIFICATION,
            {("default", "train"): 7485, ("default", "test"): 1875},
            "{{ rows.train }} for training and {{ rows.test }} for testing.",
            "7,485 for training and 1,875 for testing.",
        ),
        (
            Retrieval(),
            {("corpus", "test"): 1133, ("queries", "test"): 1170},
            "{{ rows.queries.test }} queries, {{ rows.corpus.test }} documents, {{ rows.qrels.test }} judgements",
            "1,170 queries, 1,133 documents, 0 judgements",
        ),
        (CLASSIFICATION, {("default", "test"): 3019}, "{{ rows.train }} and {{ rows.test }} rows", "0 and 3,019 rows"),
        (
            CLASSIFICATION,
            {},
            '{{ options.per_class }} {{ options.threshold }} {{ options.same }} {{ observed["pairs in the table"] }}',
            "1,050 0.5 text 4,902",
        ),
        (
            CLASSIFICATION,
            {},
            "The text is `Premise: {evidence} Hypothesis: {claim}`.",
            "The text is `Premise: {evidence} Hypothesis: {claim}`.",
        ),
    ],
    ids=["splits", "several tables", "a split that a partial release lacks", "options and observed", "no placeholder"],
)
def test_placeholders_are_filled_with_the_numbers_of_a_release(
    task: Task, rows: dict[tuple[str, str], int], text: str, filled: str
) -> None:
    options = {"per_class": 1_050, "threshold": 0.5, "same": "text", "clean": True}
    numbers = release_numbers(task, rows, options, {"pairs in the table": 4902})
    assert fill_placeholders(text, numbers, "prose of toy") == filled


@pytest.mark.parametrize("text", ["{{ rows.dev }}", "{{ options.per_rubric }}", "{{ lines }}", "{{ rows.", "{% if %}"])
def test_a_placeholder_without_a_number_is_an_error_that_says_where(text: str) -> None:
    with pytest.raises(ValueError, match=r"^prose of toy: "):
        fill_placeholders(text, release_numbers(CLASSIFICATION, {}, {}, {}), "prose of toy")
