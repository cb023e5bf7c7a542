"""`show training --overlaps`: which sets of training data share pairs."""

import json
from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from pipelines import show
from pipelines.release.shared_texts import find_sets, find_shared_pairs, shared_pairs_page
from tests.support.training_releases import pair, write_training_release

NQ, PAQ = [pair("Who?", "Ann"), pair("when", "now"), pair("why", "so")], [pair("who", "ann"), pair("when", "then")]


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """Releases of two sets of different datasets that share one pair and another query."""
    write_training_release(tmp_path, {"xnli": NQ}, dataset="xnli-contrastive", sample=True)
    write_training_release(tmp_path, {"sberquad": PAQ}, dataset="sberquad-contrastive")
    return tmp_path


def test_the_table_has_both_sets_the_share_and_an_example_and_names_what_is_not_built(
    releases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["show", "training", "--overlaps", "--output", str(releases)])
    assert show.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["sberquad", "xnli", "1", "50.0%", "0", "2", "who", "|", "ann"]
    page = " ".join(" ".join(lines).split())
    assert "2 sets compared, 1 of them a sample or a part." in page
    assert "not built, not compared: " in page


@pytest.mark.parametrize("width", [80, 140])
def test_the_table_fits_the_terminal(releases: Path, width: int) -> None:
    sets, missing = find_sets([("xnli-contrastive", "1.0.0"), ("sberquad-contrastive", "1.0.0")], releases)
    lines = shared_pairs_page(find_shared_pairs(sets), sets, missing, width)
    assert max(map(len, lines)) <= width
    assert "example" in lines[0]


def test_json_has_an_object_for_each_two_sets(
    releases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["show", "training", "--overlaps", "--json", "--output", str(releases)])
    assert show.main() == 0
    assert json.loads(capsys.readouterr().out) == {
        "kind": "pair_in_other_dataset",
        "set": {"dataset": "sberquad-contrastive", "version": "1.0.0", "config": "sberquad", "sample": False},
        "other_set": {"dataset": "xnli-contrastive", "version": "1.0.0", "config": "xnli", "sample": True},
        "pairs": 0,
        "folded_pairs": 1,
        "queries": 1,
        "folded_queries": 2,
        "share": 0.5,
        "example": {"query": "who", "positive": "ann"},
    }


def test_without_releases_or_without_training_data_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["show", "training", "--overlaps", "--output", str(tmp_path)])
    with pytest.raises(ReleaseError, match="no training data to compare") as caught:
        show.main()
    assert "embedding-datasets build training" in str(caught.value)
    monkeypatch.setattr("sys.argv", ["show", "cedr", "--overlaps"])
    with pytest.raises(UsageError, match="--overlaps is for training data"):
        show.main()
