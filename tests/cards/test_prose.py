"""The hand-written parts of a card: prose and citations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from builders import catalogue
from builders.benchmarks import BENCHMARKS
from builders.errors import ReleaseError
from cards import front_matter
from cards.citations import bibtex
from cards.placeholders import fill_placeholders, release_numbers
from cards.texts import read_prose
from pipelines.release import ledger
from tests.support.releases import definition_of

CARDS = Path(front_matter.__file__).parent
PROSE = sorted((CARDS / "prose").glob("*.md"))
LEDGER = json.loads(ledger.LEDGER.read_text("utf-8"))
SOURCES: dict[str, list[str]] = {}
for entry in catalogue.entries().values():
    SOURCES.setdefault(entry.source, []).append(entry.dataset)
TOY = "# toy\n\nA.\n\n## Provenance\n\nP.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n\n"


def typed_numbers(text: str) -> list[int]:
    """The numbers in a text, without placeholders, code and the years of papers and campaigns."""
    text = re.sub(r"\{\{.*?\}\}|`[^`]*`", "", text, flags=re.DOTALL)
    words = re.findall(r"(?<![\w.-])\d[\d,]*(?![\w.]\d)", text)
    return [int(word.replace(",", "")) for word in words if not re.fullmatch(r"(19|20)\d\d", word.rstrip(","))]


@pytest.fixture
def toy_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of toy.md in a folder of prose that holds nothing else."""
    monkeypatch.setattr("cards.texts.CARDS", tmp_path)
    (tmp_path / "prose").mkdir()
    return tmp_path / "prose" / "toy.md"


def test_every_citation_has_a_key_of_its_own_and_balanced_braces() -> None:
    text = (CARDS / "citations.bib").read_text("utf-8")
    keys = re.findall(r"(?m)^@\w+\{([^,]+),$", text)
    assert len(keys) == len(set(keys)) == text.count("@")
    assert "\n\n".join(bibtex(key) for key in keys) + "\n" == text
    assert set(keys) >= {key for benchmark in BENCHMARKS.values() for key in benchmark.citations}


def test_an_error_names_a_missing_citation_and_its_file() -> None:
    with pytest.raises(ReleaseError, match="no entry 'nobody2020'") as caught:
        bibtex("nobody2020")
    assert str(caught.value.where).endswith("citations.bib")


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.stem)
def test_prose_describes_the_source_and_the_decisions_and_limits_of_each_dataset(path: Path) -> None:
    headings = re.findall(r"(?m)^# (.+)$", path.read_text("utf-8"))
    assert headings[0] == path.stem
    assert len(headings) == len(set(headings)) > 1
    for name in headings[1:]:
        prose = read_prose(path.stem, name, "1.0.0")
        lists = "\n".join(filter(None, (prose.choices, prose.decisions, prose.limits)))
        assert all(line.startswith(("- ", "  ")) for line in lists.splitlines())
        assert prose.dataset.endswith(".")
        assert prose.source.endswith(".")


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_says_where_its_texts_and_labels_come_from_and_who_says_so(source: str) -> None:
    provenance = " ".join(read_prose(source, SOURCES[source][0], "1.0.0").provenance.split())
    assert len(re.findall(r"[.:;] ", provenance)) >= 2, "two sentences or more"
    assert re.search(r"README|et al\.,? \d{4}|card on the Hub|\d{4}, section|\.com|Koehn, 2005", provenance), (
        "name the source"
    )


@pytest.mark.parametrize("source", SOURCES)
def test_no_number_of_rows_is_typed_into_the_opening_of_a_card(source: str) -> None:
    """Numbers from 100 on are those of a release or an option of its recipe: a placeholder, which cannot contradict them."""
    for name in SOURCES[source]:
        opening = read_prose(source, name, "1.0.0").dataset
        assert not [number for number in typed_numbers(opening) if number >= 100], f"{source}.md, # {name}"


@pytest.mark.parametrize("name", LEDGER)
def test_the_opening_of_a_card_names_no_number_of_rows_of_another_version(name: str) -> None:
    definition = definition_of(name)
    rows = {
        version: {(table["config"], table["split"]): table["rows"] for table in entry["tables"]}
        for version, entry in LEDGER[name].items()
    }
    for version, counts in rows.items():
        numbers = release_numbers(definition.dataset.task, counts, definition.dataset.options(version), {})
        opening = fill_placeholders(read_prose(definition.source.name, name, version).dataset, numbers, name)
        others = {count for other in rows.values() for count in other.values()} - set(counts.values())
        assert not others & set(typed_numbers(opening)), f"{name}@{version}"


@pytest.mark.parametrize(
    ("source", "dataset", "choice"),
    [
        ("beavertails", "beavertails-qa-classification", "does not say which of upstream's two sets"),
        ("lmsys_arena", "lmsys-reranking", "a release of 55,000"),
        ("hh_rlhf", "hhrlhf-helpful-reranking", "`helpful-base` alone"),
        ("pku_safe_rlhf", "beavertails-helpful-reranking", "PKU-SafeRLHF-30K is taken for"),
        ("par3", "dipper-pairclassification", "One negative for each paragraph"),
        ("document_mt", "europarl-bitext", "names no metric"),
        ("document_mt", "iwslt17-bitext", "names no metric"),
        ("document_mt", "nc2016-bitext", "names no metric"),
    ],
)
def test_what_a_paper_leaves_open_is_called_a_choice(source: str, dataset: str, choice: str) -> None:
    assert choice in " ".join(read_prose(source, dataset, "2.0.0").choices.split())


def test_an_error_names_missing_prose_and_its_file(toy_prose: Path) -> None:
    with pytest.raises(ReleaseError, match="no prose for the card") as caught:
        read_prose("nobody", "x", "1.0.0")
    assert caught.value.where == str(toy_prose.with_name("nobody.md"))
    toy_prose.write_text(TOY, "utf-8")
    for dataset, section in (("toy-retrieval", "'# toy-retrieval'"), ("toy-sts", "'## Limits' in '# toy-sts'")):
        with pytest.raises(ReleaseError, match="the prose for the card is incomplete") as caught:
            read_prose("toy", dataset, "1.0.0")
        assert (caught.value.where, caught.value.expected) == (str(toy_prose), section)
        assert "docs/adding-a-dataset.md" in str(caught.value.todo)


def test_a_version_may_have_prose_of_its_own(toy_prose: Path) -> None:
    toy_prose.write_text(f"{TOY}## Limits\n\n- D.\n\n## Limits of 2.0.0\n\n- E.\n", "utf-8")
    first, second = (read_prose("toy", "toy-sts", version) for version in ("1.0.0", "2.0.0"))
    assert (first.decisions, first.limits) == ("- C.", "- D.")
    assert (second.decisions, second.limits) == ("- C.", "- E.")


def test_prose_in_a_section_that_no_card_shows_is_an_error(toy_prose: Path) -> None:
    toy_prose.write_text(f"{TOY}## Limits\n\n- D.\n\n## More\n\n- E.\n", "utf-8")
    with pytest.raises(ReleaseError, match="sections that no card shows") as caught:
        read_prose("toy", "toy-sts", "1.0.0")
    assert caught.value.found == "'## More'"


def test_a_source_without_its_provenance_is_an_error(toy_prose: Path) -> None:
    toy_prose.write_text(TOY.replace("## Provenance\n\nP.\n\n", "") + "## Limits\n\n- D.\n", "utf-8")
    with pytest.raises(ReleaseError, match="the prose for the card is incomplete") as caught:
        read_prose("toy", "toy-sts", "1.0.0")
    assert caught.value.expected == "'## Provenance' in '# toy'"


def test_the_provenance_is_one_for_all_versions(toy_prose: Path) -> None:
    toy_prose.write_text(
        f"{TOY}## Limits\n\n- D.\n".replace("# toy-sts", "## Provenance of 2.0.0\n\nQ.\n\n# toy-sts"), "utf-8"
    )
    with pytest.raises(ReleaseError, match="sections that no card shows") as caught:
        read_prose("toy", "toy-sts", "2.0.0")
    assert caught.value.found == "'## Provenance of 2.0.0'"
