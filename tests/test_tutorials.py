"""The tutorials and the notebook of docs/ are followed to the letter, and print what they show."""

from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.tutorials import PAGES, follow

NEEDS = {
    "notebook": pytest.mark.extra("nbclient", "ipykernel"),
    "train": pytest.mark.extra("accelerate", "sentence_transformers"),
}


@pytest.mark.parametrize("page", [pytest.param(page, marks=NEEDS.get(page.stem, ()), id=page.stem) for page in PAGES])
def test_a_page_shows_what_it_prints(page: Path, tmp_path: Path) -> None:
    if page.stem == "contribute" and (ROOT / "builders" / "other" / "shop_questions.py").exists():
        pytest.skip("somebody has followed it in this checkout: the dataset is here")
    followed = follow(page, tmp_path)
    assert "Traceback" not in followed
    assert followed.splitlines() == page.read_text("utf-8").splitlines(), "write it: python -m tests.support.tutorials"


def test_there_is_a_tutorial_for_each_reader() -> None:
    tutorials = {page.stem: page.read_text("utf-8") for page in PAGES if page.suffix == ".md"}
    assert [*tutorials] == ["check", "choose", "contribute", "maintain", "train"]
    for name, text in tutorials.items():
        assert len(text.split()) <= 450, name
        assert text.count("\n$ ") > 4, name
