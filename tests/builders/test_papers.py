"""The tables of the papers, cell by cell against the papers' own texts, where the reference is beside the checkout."""

import re
from collections import Counter
from pathlib import Path

import pytest

from builders import catalogue, papers
from tests.support.paths import REFERENCE

present = pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the texts of the papers beside the checkout")


def folded(path: Path) -> str:
    """A text on one line, without the footnotes that its conversion left between words: their number, thrice, and an address."""
    return " ".join(re.sub(r"(\d{2})\1\1https?://\S+", "", path.read_text("utf-8")).split())


@pytest.fixture(scope="module")
def rumteb() -> str:
    return folded(REFERENCE / "papers" / "rumteb.txt")


@present
def test_every_row_of_table_1_is_in_the_paper(rumteb: str) -> None:
    for row in papers.sizes().values():
        sizes = " ".join(filter(None, (row.train, row.validation, row.test)))
        assert f"{row.task} {row.origin} {sizes} " in f"{rumteb} ", row.task
    assert len(papers.sizes()) == 23


@present
def test_every_row_of_tables_2_6_7_and_8_is_in_the_paper(rumteb: str) -> None:
    text = re.sub(r" \d{9,}For non-cited datasets please refer to A\.1\.2", "", rumteb)
    for row in papers.training_sets():
        name = f"{row.set} {row.cited}".strip()
        assert f"{name} {row.target_task} {row.thousands} {row.prefix}" in text, name
    for prompt in papers.prompts().values():
        assert f"{prompt.task} {prompt.rosberta} {prompt.e5} {prompt.instruction}" in text, prompt.task
    for row in papers.read("rumteb_table_8")["rows"]:
        assert f"{row['task']} {' '.join(row['scores'])}" in text, row["task"]
    for row in papers.read("rumteb_table_2")["rows"]:
        assert " ".join(row.values()) in text, row


@present
def test_the_tables_are_those_that_the_reference_copied_cell_by_cell() -> None:
    """The text of Table 1 has lost the dashes; people placed the figures in the reference."""
    lines = (REFERENCE / "PAPERS.md").read_text("utf-8").splitlines()
    for row in papers.sizes().values():
        [line] = [line for line in lines if line.startswith(f"| {row.dataset} |")]
        cells = [cell.strip().removesuffix(" (sic)") for cell in line.split("|")]
        printed = ["" if cell.startswith("–") else cell.split()[0] for cell in cells[5:8]]
        assert [cells[2], cells[4], *printed] == [row.task, row.origin, row.train, row.validation, row.test]
    for task in papers.ateb_tasks().values():
        [line] = [line for line in lines if line.startswith(f"| {task.section} (")]
        assert task.task in line
        assert task.citation in line


@present
def test_every_quotation_is_word_for_word_in_its_paper() -> None:
    texts = {name: folded(REFERENCE / "papers" / f"{name}.txt") for name in ("rumteb", "ateb")}
    for key, quotation in papers.quotations().items():
        assert quotation.words in texts[quotation.paper], key


def test_the_tables_add_up_as_the_papers_say() -> None:
    sets = papers.training_sets()
    thousands = Counter[str]()
    for row in sets:
        thousands[row.part] += row.pairs // 1000
    assert [*Counter(row.part for row in sets).values()] == [30, 17, 5, 2]
    assert [*thousands.values()] == [1255, 1775, 747, 20]
    table = papers.read("rumteb_table_8")
    assert table["rows"][-1]["task"] == "Average"
    for number, model in enumerate(table["models"]):
        scores = [values[model] for values in papers.scores().values()]
        assert len(scores) == 23
        assert round(sum(scores) / 23, 2) == pytest.approx(float(table["rows"][-1]["scores"][number]), abs=0.011)
    assert [*Counter(task.section for task in papers.ateb_tasks().values()).values()] == [3, 7, 2, 5, 1, 3]


def test_a_dataset_has_one_row_in_each_table() -> None:
    assert papers.sizes().keys() == papers.prompts().keys() == papers.scores().keys()
    configs = [(row.dataset, row.config) for row in papers.training_sets()]
    assert len(configs) == len(set(configs)) == 54


@present
def test_every_name_that_tables_1_7_and_8_print_resolves(rumteb: str) -> None:
    """The names are read from the paper's text, whose tables begin their lines with them."""
    text = (REFERENCE / "papers" / "rumteb.txt").read_text("utf-8")
    begins = r"^(?:(?:Pair|MultiLabel)?Classification |STS |Clustering |Reranking |Retrieval )?"
    names = re.findall(begins + r"([A-Z]\w+) [A-Z][\w ]*?(?: 2\.0)?(?: \d+)+$", text, re.MULTILINE)
    names += re.findall(r"^(\w+) (?:classification|clustering|search_query)", text, re.MULTILINE)
    names += re.findall(r"^(\w+)(?: \d+\.\d\d){10}$", text, re.MULTILINE)
    names = sorted({*names} - {"Average"} - {row.set for row in papers.training_sets()})
    assert len(names) == 31, "23 of Table 1, and 8 that Tables 7 and 8 spell otherwise"
    for name in names:
        [(entry, _)] = catalogue.resolve([name])
        assert entry.group == "rumteb", name
        assert catalogue.resolve([f"ai-forever/{entry.dataset}"])[0][0] == entry
