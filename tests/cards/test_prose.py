"""The hand-written parts of a card: prose and citations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builders.benchmarks import BENCHMARKS
from builders.errors import ReleaseError
from cards import front_matter
from cards.render import bibtex, read_prose

CARDS = Path(front_matter.__file__).parent
PROSE = sorted((CARDS / "prose").glob("*.md"))
TOY = "# toy\n\nA.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n\n"


@pytest.fixture
def toy_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of toy.md in a folder of prose that holds nothing else."""
    monkeypatch.setattr("cards.render.CARDS", tmp_path)
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
        assert all(line.startswith(("- ", "  ")) for line in (prose.decisions + "\n" + prose.limits).splitlines())
        assert prose.dataset.endswith(".")
        assert prose.source.endswith(".")


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
