"""The hand-written parts of a card: prose and citations."""

import json
import re
from pathlib import Path

import pytest

from builders.benchmarks import BENCHMARKS
from builders.errors import ReleaseError
from cards import front_matter
from cards.completeness import typed_numbers
from cards.texts import MARK, bibtex, fill_placeholders, read_prose, release_numbers
from pipelines.release import ledger
from tests.support.releases import definition_of

CARDS = Path(front_matter.__file__).parent
LEDGER = {
    name: versions for name, versions in json.loads(ledger.LEDGER.read_text("utf-8")).items() if name != ledger.PARTS
}
TOY = "# toy\n\nA.\n\n## Provenance\n\nP.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n\n"


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
    assert MARK not in text
    assert set(keys) >= {key for benchmark in BENCHMARKS.values() for key in benchmark.citations}


def test_an_error_names_a_missing_citation_and_its_file() -> None:
    with pytest.raises(ReleaseError, match="no entry 'nobody2020'") as caught:
        bibtex("nobody2020")
    assert str(caught.value.where).endswith("citations.bib")


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
        ("lmsys_arena", "lmsys-reranking", "there is also one of 55,000"),
        ("hh_rlhf", "hhrlhf-helpful-reranking", "`helpful-base` alone"),
        ("pku_safe_rlhf", "beavertails-helpful-reranking", "PKU-SafeRLHF-30K is taken for"),
        ("par3", "dipper-pairclassification", "one negative for each paragraph"),
        ("document_mt", "europarl-bitext", "names no direction"),
        ("document_mt", "iwslt17-bitext", "names no direction"),
        ("document_mt", "nc2016-bitext", "names no direction"),
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


def test_a_sample_is_shown_without_the_section_of_its_dataset(toy_prose: Path) -> None:
    toy_prose.write_text(f"{TOY}## Limits\n\n- D.\n", "utf-8")
    prose = read_prose("toy", "toy-retrieval", "1.0.0", sample=True)
    assert prose.source == read_prose("toy", "toy-sts", "1.0.0").source
    assert (prose.dataset, prose.decisions, prose.limits) == (
        "Not written yet.",
        "- Not written yet.",
        "- Not written yet.",
    )
    toy_prose.write_text("# toy-sts\n\nB.\n", "utf-8")
    with pytest.raises(ReleaseError, match="the prose for the card is incomplete"):
        read_prose("toy", "toy-retrieval", "1.0.0", sample=True)


def test_a_version_may_have_prose_of_its_own(toy_prose: Path) -> None:
    toy_prose.write_text(f"{TOY}## Limits\n\n- D.\n\n## Limits of 2.0.0\n\n- E.\n", "utf-8")
    first, second = (read_prose("toy", "toy-sts", version) for version in ("1.0.0", "2.0.0"))
    assert (first.decisions, first.limits) == ("- C.", "- D.")
    assert (second.decisions, second.limits) == ("- C.", "- E.")


@pytest.mark.parametrize(
    ("before", "after", "what", "details"),
    [
        ("## Decided", "## More\n\n- E.\n\n## Decided", "sections that no card shows", "found:    '## More'"),
        ("## Provenance\n\nP.\n\n", "", "the prose for the card is incomplete", "expected: '## Provenance' in '# toy'"),
        (
            "# toy-sts",
            "## Provenance of 2.0.0\n\nQ.\n\n# toy-sts",
            "sections that no card shows",
            "found:    '## Provenance of 2.0.0'",
        ),
    ],
    ids=["a section of no card", "no provenance", "another provenance for one version"],
)
def test_a_section_that_is_missing_or_in_no_card_is_an_error(
    before: str, after: str, what: str, details: str, toy_prose: Path
) -> None:
    toy_prose.write_text(f"{TOY}## Limits\n\n- D.\n".replace(before, after, 1), "utf-8")
    with pytest.raises(ReleaseError, match=what) as caught:
        read_prose("toy", "toy-sts", "2.0.0")
    assert details in str(caught.value)
