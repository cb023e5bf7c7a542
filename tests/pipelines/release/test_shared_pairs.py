"""Pairs of a query and a positive that two sets of training data share."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from builders.errors import ReleaseError
from pipelines.release import shared_texts
from pipelines.release.shared_texts import SharedPairs, find_sets, find_shared_pairs
from tests.support.paths import ROOT
from tests.support.training_releases import Row, pair, write_training_release


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
