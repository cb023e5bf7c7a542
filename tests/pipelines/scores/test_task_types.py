"""pipelines.scores.baselines: on small tables that a rule gives away, the baseline that reads it finds it, and no other."""

import polars as pl
import pytest

from builders import tasks
from pipelines.scores import permutations
from pipelines.scores.baselines import Baselines, compute_baselines
from tests.support.made_texts import COLOURS, default, digit, retrieval, sentence, word


@pytest.fixture(autouse=True)
def small_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made tables have fewer groups of rows than a shortcut needs."""
    monkeypatch.setattr(permutations, "LEAST", 20)
    monkeypatch.setattr(permutations, "PERMUTATIONS", 199)
    monkeypatch.setattr(permutations, "RESAMPLES", 99)


def scores(found: Baselines) -> dict[str, float]:
    """The scores by name; all but chance, which is expected, have an interval around them."""
    for baseline in found.baselines:
        if baseline.name != "chance" and (baseline.name, baseline.score) != ("majority", 0):  # by definition
            assert baseline.low is not None
            assert baseline.high is not None
            assert baseline.low <= baseline.score <= baseline.high
    return {baseline.name: baseline.score for baseline in found.baselines}


def areas(found: Baselines) -> dict[str, float | None]:
    return {baseline.name: baseline.auc for baseline in found.baselines}


def shortcuts(found: Baselines) -> list[str]:
    return [shortcut.baseline for shortcut in found.shortcuts]


def labelled(
    split: str, rows: int, *, longer: bool = False, telling: bool = False, shuffled: bool = False
) -> pl.DataFrame:
    """Texts labelled in turn. longer: a text labelled 1 is. telling: one word of a text is its label's."""
    labels = [row % 2 for row in range(rows)]
    texts = [
        sentence(split, row, words=12 if longer and label else 6) + (f" {COLOURS[label]}" if telling else "")
        for row, label in enumerate(labels)
    ]
    shown = [digit(split, row, "label") % 2 for row in range(rows)] if shuffled else labels
    return pl.DataFrame({"text": texts, "label": shown})


CLASSIFICATION = tasks.Classification(labels=COLOURS, splits=("train", "test"))


def classify(**kinds: bool) -> Baselines:
    frames = default(train=labelled("train", 120, **kinds), test=labelled("test", 200, **kinds))
    return compute_baselines(CLASSIFICATION, frames)


def test_of_a_label_that_only_lengths_tell_lengths_tell_all() -> None:
    found = classify(longer=True)
    assert scores(found)["length"] == 100
    assert scores(found)["chance"] == scores(found)["majority"] == 50
    assert shortcuts(found) == ["length"]


def test_a_label_that_a_word_tells_is_not_a_shortcut() -> None:
    found = classify(telling=True)
    assert scores(found)["tfidf"] == 100
    assert scores(found)["centroid"] > 95
    assert scores(found)["tfidf_few"] > 80
    assert scores(found)["length"] < 60
    assert shortcuts(found) == []


def test_of_shuffled_labels_all_baselines_are_at_chance() -> None:
    found = classify(longer=True, telling=True, shuffled=True)
    assert all(abs(score - 50) < 8 for score in scores(found).values()), scores(found)
    assert shortcuts(found) == []


def test_of_a_large_train_split_some_rows_are_learned_from_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.scores.folds.MAX_TRAINING", 60)
    found = classify(telling=True)
    assert scores(found)["tfidf"] > 90
    assert scores(found)["majority"] == 50
    assert {baseline.detail for baseline in found.baselines if baseline.labels == "all"} == {
        "learns from 60 of 120 train rows"
    }


def test_without_a_train_split_models_learn_from_the_other_folds() -> None:
    found = compute_baselines(CLASSIFICATION, default(test=labelled("test", 100, telling=True)))
    assert scores(found)["tfidf"] == 100
    assert {baseline.detail for baseline in found.baselines if baseline.labels == "all"} == {
        "learns from the other folds of the same split"
    }


def test_of_texts_with_two_sides_each_is_read_alone() -> None:
    texts = [f"Premise: {sentence(row // 2)} Hypothesis: {sentence(row, 'h')} {COLOURS[row % 2]}" for row in range(100)]
    found = compute_baselines(CLASSIFICATION, default(test=pl.DataFrame({"text": texts, "label": [0, 1] * 50})))
    assert scores(found)["sentence2"] == 100
    assert scores(found)["sentence1"] <= 60
    assert shortcuts(found) == ["sentence2"]
    assert found.shortcuts[0].metric == "auc"


def test_sets_of_labels_are_right_as_a_whole() -> None:
    rows = range(90)
    texts = [sentence(row) + " green" * (row % 3 != 0) + " brown" * (row % 3 == 2) for row in rows]
    labels = [[[], [0], [0, 1]][row % 3] for row in rows]
    frame = pl.DataFrame({"text": texts, "label": labels})
    task = tasks.MultilabelClassification(labels=COLOURS)
    found = compute_baselines(task, default(train=frame, test=frame.head(30)))
    assert scores(found)["chance"] == scores(found)["majority"] == 33.3
    assert scores(found)["tfidf"] > 80
    assert areas(found)["tfidf"] is None


def pairs(first: list[str], second: list[str], **label: list[float]) -> dict[str, dict[str, pl.LazyFrame]]:
    return default(test=pl.DataFrame({"sentence1": first, "sentence2": second} | label))


def test_a_side_that_gives_the_label_away_is_a_shortcut() -> None:
    rows = range(120)
    second = [f"{sentence(row, 'second')} {COLOURS[row % 2]}" for row in rows]
    frames = pairs([sentence(row // 2) for row in rows], second, labels=[row % 2 for row in rows])
    found = compute_baselines(tasks.PairClassification(names=("no", "yes")), frames)
    assert areas(found)["sentence2"] == 100
    assert scores(found)["chance"] == 50
    assert shortcuts(found) == ["sentence2"]


@pytest.mark.parametrize("alike", [0, 1])
def test_pairs_that_lengths_tell_are_found_whichever_way_they_tell(alike: int) -> None:
    rows = range(120)
    second = [sentence(row, "second", words=6 if row % 2 == alike else 12) for row in rows]
    frames = pairs([sentence(row, words=6) for row in rows], second, labels=[row % 2 for row in rows])
    found = compute_baselines(tasks.PairClassification(names=("no", "yes")), frames)
    assert areas(found)["length"] == 100
    assert "length" in shortcuts(found)


def test_the_score_of_a_pair_is_ordered_by_what_its_sides_share() -> None:
    rows = range(50)
    first = [[f"{word(row)}{row}{position}" for position in range(5)] for row in rows]
    second = [
        [*own[: row % 6], *(f"x{row}y{position}" for position in range(5 - row % 6))]
        for row, own in zip(rows, first, strict=True)
    ]
    frames = pairs(
        [" ".join(own) for own in first], [" ".join(own) for own in second], score=[float(row % 6) for row in rows]
    )
    found = compute_baselines(tasks.STS(low=0, high=5), frames)
    assert scores(found)["words"] == 100
    assert scores(found)["chance"] == 0
    assert scores(found)["letters"] > 80


def test_an_answer_that_the_query_names_first_is_found() -> None:
    names = [f"name{number}" for number in range(40)]
    queries = [f"{names[row]} asked {names[(row + 7) % 40]} to come" for row in range(40)]
    found = compute_baselines(tasks.Retrieval(), retrieval(names, queries, list(range(40))))
    assert scores(found)["named"] == 100
    assert 60 < scores(found)["bm25"] < 100  # it does not know which of the two was first
    assert scores(found)["chance"] == 11.4


def test_of_a_large_corpus_words_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.scores.retrieval.MAX_DOCUMENTS", 3)
    found = compute_baselines(tasks.Retrieval(), retrieval(["a", "b", "c", "d"], ["a"], [0]))
    assert [baseline.name for baseline in found.baselines] == ["chance"]
    assert found.baselines[0].detail == "words were not compared: 4 documents, more than 3"


def preferences(
    *, longer: bool = False, first: bool = False, telling: bool = False
) -> dict[str, dict[str, pl.LazyFrame]]:
    """Eighty prompts with two answers each; the good one is longer, listed first, or has a word of its own."""
    corpus, ranked = [], []
    for row in range(80):
        turn = digit(row, "good") % 2
        good = sentence(row, "good", words=9 if longer else 6) + (" gladly" if telling else "")
        corpus += [good, sentence(row, "bad") + (" never" if telling else "")]
        answers = [f"d{2 * row}", f"d{2 * row + 1}"]
        ranked.append(answers if first or turn else answers[::-1])
    frames = retrieval(corpus, [f"prompt {row}" for row in range(80)], list(range(0, 160, 2)))
    candidates = pl.DataFrame({"query-id": [f"q{row}" for row in range(80)], "corpus-ids": ranked})
    return frames | {"top_ranked": {"test": candidates.lazy()}}


def test_longer_answers_that_win_are_a_shortcut() -> None:
    found = compute_baselines(tasks.Reranking(), preferences(longer=True))
    assert scores(found)["chance"] == 75
    assert (scores(found)["longer"], scores(found)["shorter"]) == (100, 50)
    assert "longer" in shortcuts(found)
    assert "first" not in shortcuts(found)


def test_a_position_that_gives_the_answer_away_is_a_shortcut() -> None:
    found = compute_baselines(tasks.Reranking(), preferences(first=True))
    assert scores(found)["first"] == 100
    assert shortcuts(found) == ["first"]


def test_an_answer_that_its_own_words_give_away_is_a_shortcut() -> None:
    found = compute_baselines(tasks.Reranking(), preferences(telling=True))
    assert scores(found)["candidate"] == 100
    assert "candidate" in shortcuts(found)


def test_clusters_that_words_tell_are_found() -> None:
    rows = range(60)
    texts = [f"{word(row)} {' '.join(f'{COLOURS[row % 2]}{digit(row, n) % 6}' for n in range(8))}" for row in rows]
    frame = pl.DataFrame({"sentences": texts, "labels": [COLOURS[row % 2] for row in rows]})
    found = compute_baselines(tasks.Clustering(), default(test=frame))
    assert scores(found)["kmeans"] > 80
    assert scores(found)["majority"] == 0
    assert scores(found)["chance"] < 5


def test_translations_that_share_names_are_found() -> None:
    rows = range(30)
    frame = pl.DataFrame(
        {
            "sentence1": [f"The {sentence(row)} of Smith{row}" for row in rows],
            "sentence2": [f"{'lang ' * (row % 7)}von Smith{row}" for row in rows],
        }
    )
    found = compute_baselines(tasks.BitextMining(pair="en-de"), {"en-de": {"test": frame.lazy()}})
    assert scores(found)["words"] == 100
    assert scores(found)["length"] < 20
    assert scores(found)["chance"] < 4
