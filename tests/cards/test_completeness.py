"""What a dataset lacks is one list: every fault of its builder, prose and citations is named, with what to do."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.catalogue import Definition
from builders.errors import ReleaseError
from builders.spec import Tables, Version
from cards import texts
from cards.completeness import find_text_gaps, require_complete
from cards.texts import MARK
from tests.support.releases import definition_of

TERRA = "terra-pairclassification"


def without_docstring(raw: Any) -> Tables:
    return Tables({})


def without_columns(raw: Any) -> Tables:
    """What follows"""
    return Tables({})


def changed(**changes: Any) -> Definition:
    """TERRa with other values; those of the source begin with `source_`."""
    terra = definition_of(TERRA)
    source = {name.removeprefix("source_"): value for name, value in changes.items() if name.startswith("source_")}
    dataset = {name: value for name, value in changes.items() if not name.startswith("source_")}
    return replace(terra, source=replace(terra.source, **source), dataset=replace(terra.dataset, **dataset))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source_homepage": ""}, ["no homepage"]),
        ({"source_license": "cc-by"}, ["a licence that the Hub does not know; found cc-by"]),
        ({"source_citation": "nobody2020"}, ["no entry 'nobody2020' to cite"]),
        ({"recipe": without_docstring}, ["the recipe without_docstring() has no docstring"]),
        ({"recipe": without_columns}, ["not a sentence; found What follows", "does not list the columns"]),
        ({"versions": {"1.0.0": Version("")}}, ["terra-pairclassification@1.0.0 has no summary"]),
        ({"versions": {"1.1.0": Version("First.")}}, ["terra-pairclassification has no version 1.0.0"]),
        ({"pretty_name": "TERRa"}, ["the pretty_name is not a title for the Hub"]),
        ({"languages": ("xyz-Latn",)}, ["unknown language 'xyz-Latn'"]),
        ({"needs": {"dev": ("other",)}}, ["needs files that SOURCE lacks; found other"]),
        ({"source_license": "", "source_homepage": ""}, ["no homepage", "a licence"]),
    ],
)  # fmt: skip
def test_every_fault_of_a_builder_is_listed_with_what_to_do(changes: dict[str, Any], words: list[str]) -> None:
    gaps = find_text_gaps(changed(**changes))
    assert len(gaps) == len(words)
    for gap, part in zip(gaps, words, strict=True):
        assert part in str(gap)
        assert gap.todo
        assert gap.where


@pytest.fixture
def prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of TERRa's prose that a test may change."""
    path = tmp_path / "prose" / "terra.md"
    path.parent.mkdir()
    shutil.copyfile(texts.prose_path("terra"), path)
    monkeypatch.setattr("cards.texts.CARDS", tmp_path)
    return path


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("{{ rows.dev }}", "{{ rows.test }}", "a placeholder that no release can fill"),
        ("{{ rows.dev }}", "307", "a number of rows is typed into the opening"),
        ("- Entailment has", "Entailment has", "'## Limits' in '# terra-pairclassification' is not a list"),
        ("as in ruMTEB.", "as in ruMTEB", "do not end with a full stop"),
        ("## Limits", "## Limits of 9.0.0", "the prose for the card is incomplete; expected '## Limits'"),
        ("## Limits", "## Decided in 9.0.0\n\n- X.\n\n## Limits", "sections of versions that do not exist; found 9.0.0"),
        ("russiansuperglue.com", "the site", "the provenance does not name who says so"),
        ("# terra\n", "# terra\n\n# more\n", "the prose for the card is incomplete"),
    ],
)  # fmt: skip
def test_every_fault_of_the_prose_is_listed(before: str, after: str, words: str, prose: Path) -> None:
    text = prose.read_text("utf-8")
    assert before in text
    prose.write_text(text.replace(before, after), "utf-8")
    assert words in "\n".join(map(str, find_text_gaps(definition_of(TERRA))))


def test_a_build_names_all_missing_sections_in_one_error(prose: Path) -> None:
    text = prose.read_text("utf-8").replace("## Limits", "## Decided in 1.0.0").replace("## Provenance", "")
    prose.write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match="2 things are missing or wrong") as caught:
        require_complete(definition_of(TERRA), "1.0.0", sample=True)
    assert "'## Provenance' in '# terra'" in str(caught.value)
    assert "'## Limits' in '# terra-pairclassification'" in str(caught.value)
    assert "embedding-datasets new terra" in str(caught.value.todo)


def test_a_sample_can_be_built_before_its_texts_are_written_and_a_complete_release_cannot(prose: Path) -> None:
    terra = definition_of(TERRA)
    assert require_complete(terra, "1.0.0", sample=True) == ()
    prose.write_text(prose.read_text("utf-8").replace("- Many texts", f"- {MARK}: limits. Many texts"), "utf-8")
    [note] = require_complete(terra, "1.0.0", sample=True)
    assert "embedding-datasets new terra" in note
    with pytest.raises(ReleaseError, match="not written yet") as caught:
        require_complete(terra, "1.0.0", sample=False)
    number = next(n for n, line in enumerate(prose.read_text("utf-8").splitlines(), 1) if MARK in line)
    assert caught.value.where == f"{prose}:{number}"


def test_the_sample_of_a_second_dataset_can_be_built_before_its_section_is_written(prose: Path) -> None:
    terra = definition_of(TERRA)
    prose.write_text(prose.read_text("utf-8").split(f"# {TERRA}")[0], "utf-8")
    [note] = require_complete(terra, "1.0.0", sample=True)
    assert "embedding-datasets new terra" in note
    with pytest.raises(ReleaseError, match="the prose for the card is incomplete") as caught:
        require_complete(terra, "1.0.0", sample=False)
    assert caught.value.expected == f"'# {TERRA}'"
    [gap] = find_text_gaps(terra)
    assert gap.level == "finish"
