"""Which releases were compared with other datasets, and what the card gets of it. Pairs of a query and a positive that two
sets of training data share. `show training --overlaps`: which sets of training data share pairs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders.errors import ReleaseError, UsageError
from cards.evidence import Comparison, SharedTexts
from pipelines import show
from pipelines.make import make
from pipelines.release import shared_texts, writing
from pipelines.release.shared_texts import (
    SharedPairs,
    find_sets,
    find_shared_pairs,
    read_map,
    shared_pairs_page,
    shared_with_others,
)
from tests.support.paths import ROOT
from tests.support.releases import definition_of, sample_settings
from tests.support.training_releases import Row, pair, write_training_release

ONE = {"dataset": "one", "version": "1.0.0", "config": "default", "split": "train", "column": "text"}
OTHER = {"dataset": "two", "version": "2.0.0", "config": "corpus", "split": "test", "column": "text"}
MAP: dict[str, Any] = {
    "datasets": [
        {"dataset": "one", "version": "1.0.0", "content_sha256": "a1"},
        {"dataset": "one", "version": "2.0.0", "content_sha256": "a2"},
        {"dataset": "two", "version": "2.0.0", "content_sha256": "b"},
    ],
    "shared": [{"of": ONE, "in": OTHER, "kinds": {"exact": 3}}],
}


def test_the_texts_of_a_release_that_another_dataset_has_are_found_by_its_content() -> None:
    shared = SharedTexts("train.text", "two", "2.0.0", "corpus/test.text", {"exact": 3})
    assert shared_with_others("one", "a1", MAP) == Comparison(1, (shared,))
    assert shared_with_others("one", "a2", MAP) == Comparison(1)


def test_other_rows_than_those_compared_have_no_comparison() -> None:
    assert shared_with_others("one", "a3", MAP) is None
    assert shared_with_others("three", "b", MAP) is None


def test_the_card_of_a_compared_release_quotes_the_map(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writing, "shared_with_others", lambda *_: shared_with_others("one", "a1", MAP))
    result = make(definition_of("terra-pairclassification"), "1.0.0", sample_settings(tmp_path))
    card = (result.release_dir / "README.md").read_text("utf-8")
    assert "- 3 rows of `train.text` are in `two` 2.0.0, `corpus/test.text` (3 exact)" in card


def test_the_committed_map_has_a_text_that_paraphraser_and_the_russian_sts_benchmark_share() -> None:
    digests = [
        dataset["content_sha256"] for dataset in read_map()["datasets"] if dataset["dataset"] == "ru-paraphraser-sts"
    ]
    for digest in digests:
        comparison = shared_with_others("ru-paraphraser-sts", digest)
        assert comparison is not None
        assert [(one.dataset, one.kinds) for one in comparison.shared] == [("stsb_ru", {"folded": 1})]


def compare(folder: Path, sets: Mapping[str, Sequence[Row]]) -> list[SharedPairs]:
    write_training_release(folder, sets)
    return find_shared_pairs(find_sets([("toy-contrastive", "1.0.0")], folder)[0])


def test_pairs_are_counted_exactly_and_folded_and_queries_whatever_their_positives(tmp_path: Path) -> None:
    [shared] = compare(
        tmp_path,
        {
            "nq": [pair("who", "Ann"), pair("Where?", "there"), pair("when", "now"), pair("what", "this")],
            "paq": [pair("who", "Ann"), pair("where", "There!"), pair("when", "later")],
        },
    )
    assert (shared.first.name, shared.second.name) == ("nq", "paq")
    assert (shared.pairs, shared.folded_pairs) == (1, 2)
    assert (shared.queries, shared.folded_queries) == (2, 3)
    assert shared.share == 2 / 3, "two of the three pairs of the smaller set"
    assert (shared.query, shared.positive) == ("who", "Ann")


def test_each_positive_of_a_row_is_a_pair_and_negatives_are_none(tmp_path: Path) -> None:
    [shared] = compare(
        tmp_path, {"one": [pair("who", "Ann Bob", provided="Eve")], "two": [pair("who", "Bob Eve"), pair("why", "so")]}
    )
    assert (shared.folded_pairs, shared.share) == (1, 0.5)
    assert (shared.query, shared.positive) == ("who", "Bob")


def test_a_pair_is_told_from_one_with_the_same_characters_elsewhere(tmp_path: Path) -> None:
    assert compare(tmp_path, {"one": [pair("ab", "c")], "two": [pair("a", "bc")]}) == []


def test_repeated_pairs_of_a_set_count_once_and_are_not_shared_with_itself(tmp_path: Path) -> None:
    twice = [pair("who", "Ann"), pair("who", "Ann")]
    [shared] = compare(tmp_path, {"one": twice, "two": twice, "three": [pair("no", "no")] * 2})
    assert (shared.first.name, shared.second.name, shared.pairs, shared.share) == ("one", "two", 1, 1.0)


def test_sets_that_share_queries_alone_have_a_query_as_example(tmp_path: Path) -> None:
    [shared] = compare(tmp_path, {"msmarco": [pair("why", "a"), pair("Who", "b")], "query2doc": [pair("who", "c")]})
    assert (shared.pairs, shared.folded_pairs, shared.queries, shared.folded_queries) == (0, 0, 0, 1)
    assert (shared.share, shared.query, shared.positive) == (0.0, "Who", None)


def test_sets_with_most_shared_pairs_come_first(tmp_path: Path) -> None:
    both, one = [pair("a"), pair("b")], [pair("a"), pair("c")]
    shared = compare(tmp_path, {"x": one, "y": both, "z": both, "w": [pair("a", "other")]})
    names = [(each.first.name, each.second.name, each.folded_pairs) for each in shared]
    assert names == [("y", "z", 2), ("x", "y", 1), ("x", "z", 1), ("x", "w", 0), ("y", "w", 0), ("z", "w", 0)]


def test_sets_of_several_releases_are_compared_in_batches_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [pair(f"query {number}", "yes") for number in range(7)]
    write_training_release(tmp_path, {"miracl": rows}, dataset="miracl-contrastive", version="1.0.0")
    write_training_release(tmp_path, {"tydi": [*rows[5:], pair("x")]}, dataset="tydi-contrastive", sample=True)
    sets, missing = find_sets(
        [("miracl-contrastive", "2.1.0"), ("tydi-contrastive", "1.0.0"), ("xnli-contrastive", "1.0.0")], tmp_path
    )
    assert missing == ["xnli-contrastive"]
    assert [(one.version, one.sample) for one in sets] == [("1.0.0", False), ("1.0.0", True)]
    whole = find_shared_pairs(sets)
    monkeypatch.setattr(shared_texts, "BATCH_ROWS", 2)
    assert find_shared_pairs(sets) == whole
    assert (whole[0].pairs, whole[0].query) == (2, "query 5")


def test_the_golden_samples_of_xnli_and_ru_wanli_share_a_pair(tmp_path: Path) -> None:
    sets = {}
    for source, name in (("xnli", "xnli"), ("ru_wanli", "ru-wanli")):
        rows = ROOT / "tests" / "golden" / source / f"{name}-contrastive" / "2.0.0" / f"{name}.train.jsonl"
        sets[name] = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    [shared] = compare(tmp_path, sets)
    assert (shared.pairs, shared.folded_pairs) == (0, 1), "the two are typed differently"
    assert shared.query.startswith("Концерт перенесли на субботу")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    release_dir = write_training_release(tmp_path, {"one": [pair("a")], "two": [pair("a")]})
    file = next(release_dir.rglob("*.parquet"))
    file.write_bytes(b"PAR1")
    with pytest.raises(ReleaseError, match="a data file cannot be read") as caught:
        find_shared_pairs(find_sets([("toy-contrastive", "1.0.0")], tmp_path)[0])
    assert file.name in str(caught.value)


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
