"""What a card says of the texts that other datasets have too."""

from cards.evidence import Comparison, SharedTexts, describe_comparison


def test_shared_texts_are_listed_with_both_tables_and_kinds() -> None:
    one = SharedTexts("train.sentence2", "reviews-classification", "1.0.0", "test.text", {"exact": 1_000, "folded": 2})
    raw = SharedTexts("test.sentence1", "stsb_ru", "", "train.sentence1", {"near": 1})
    assert describe_comparison(Comparison(14, (one, raw))) == [
        "Compared with 14 other datasets, which share texts with it:",
        "",
        "- 1,002 rows of `train.sentence2` are in `reviews-classification` 1.0.0, `test.text` (1,000 exact, 2 folded)",
        "- 1 row of `test.sentence1` is in `stsb_ru`, `train.sentence1` (1 near)",
    ]


def test_a_dataset_that_shares_nothing_says_so_and_one_that_was_not_compared_says_nothing() -> None:
    [said] = describe_comparison(Comparison(14))
    assert said.startswith("None of its texts was found in the 14 other datasets")
    assert describe_comparison(None) == []
