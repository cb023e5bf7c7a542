"""pipelines.profile.searches: damage that is planted in made tables is found under its name, and clean tables have none."""

from collections.abc import Callable

import polars as pl
import pytest

from builders import tasks
from pipelines.audit.findings import FindingRows, list_rows
from pipelines.profile import searches
from pipelines.profile.searches import profile_tables
from pipelines.scores import permutations
from tests.support.made_texts import default, digit, sentence

NAMES = ("birds", "ships", "stars")
TASK = tasks.Classification(labels=NAMES, splits=("train", "test"))
STS = tasks.STS(low=0.0, high=5.0, splits=("train", "test"))
ROWS = {"train": 600, "test": 300}
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (permutations, searches):
        monkeypatch.setattr(module, "PERMUTATIONS", 399)
    monkeypatch.setattr(permutations, "RESAMPLES", 199)


def labels_of(split: str) -> list[int]:
    return [digit(split, row, "label") % 3 for row in range(ROWS[split])]


def texts_of(split: str) -> pl.DataFrame:
    """Texts with their labels, in no order; four of five have a word of their label."""
    labels = labels_of(split)
    clues = [NAMES[label] if digit(split, row, "clue") % 5 else "trees" for row, label in enumerate(labels)]
    texts = [f"{sentence(split, row, words=8)} {clue}" for row, clue in enumerate(clues)]
    return pl.DataFrame({"text": texts, "label": labels})


def pairs_of(split: str) -> pl.DataFrame:
    """Pairs that share as many of five words as their score says."""
    scores = [digit(split, row, "score") % 6 for row in range(ROWS[split])]
    first = [[f"{split}{row}{word}" for word in "abcde"] for row in range(ROWS[split])]
    second = [
        " ".join([*words[:score], *("none" for _ in range(5 - score))])
        for words, score in zip(first, scores, strict=True)
    ]
    return pl.DataFrame({"sentence1": map(" ".join, first), "sentence2": second, "score": map(float, scores)})


def profile(
    task: tasks.Task, make: Callable[[str], pl.DataFrame], train: Change | None = None, test: Change | None = None
) -> list[FindingRows]:
    tables = {split: make(split) for split in ROWS}
    changed = {
        "train": train(tables["train"]) if train else tables["train"],
        "test": test(tables["test"]) if test else tables["test"],
    }
    return profile_tables(task, default(**changed))[0]


def kinds(found: list[FindingRows]) -> list[tuple[str, str]]:
    return [(rows.finding.kind, rows.finding.split) for rows in found]


def reason(found: list[FindingRows]) -> str:
    """What explains the only split that disagrees."""
    [finding] = [rows.finding for rows in found if rows.finding.kind == "split_disagrees"]
    assert finding.severity == "warning"
    return finding.detail.split("; ")[1].split(", without")[0]


def shifted(column: str, rows: int) -> Change:
    return lambda table: table.with_columns(pl.col(column).shift(rows).fill_null(strategy="max"))


def test_clean_tables_have_no_finding_and_the_notes_say_how_well_the_model_does() -> None:
    found, notes = profile_tables(TASK, default(train=texts_of("train"), test=texts_of("test")))
    assert found == []
    assert notes[0].startswith("600 of 600 train rows looked at: balanced accuracy 8")
    assert profile(STS, pairs_of) == []


@pytest.mark.parametrize(("split", "rows", "words"), [
    ("test", 1, "labels look shifted down by 1 row"),
    ("test", -2, "labels look shifted up by 2 rows"),
    ("train", 1, "labels look shifted down by 1 row"),
])  # fmt: skip
def test_shifted_labels_are_named_in_either_split(split: str, rows: int, words: str) -> None:
    assert reason(profile(TASK, texts_of, **{split: shifted("label", rows)})) == words
    assert reason(profile(STS, pairs_of, **{split: shifted("score", rows)})) == words


def test_a_permuted_map_is_named_label_by_label() -> None:
    found = profile(TASK, texts_of, test=lambda table: table.with_columns((pl.col("label") + 1) % 3))
    expected = "labels look permuted (given -> meant): birds -> stars, ships -> birds, stars -> ships"
    assert reason(found) == expected


def test_labels_in_no_relation_to_the_texts_disagree_without_a_reason() -> None:
    found = profile(TASK, texts_of, test=lambda table: table.with_columns(pl.col("label").shuffle(seed=3)))
    assert reason(found) == "no shift or permutation explains it"


@pytest.mark.parametrize(("change", "words"), [
    (5 - pl.col("score"), "labels look inverted"),
    (pl.col("score") / 5, "scores look like those of another scale, 0.19 times as wide"),
])  # fmt: skip
def test_inverted_and_rescaled_scores_are_named(change: pl.Expr, words: str) -> None:
    assert reason(profile(STS, pairs_of, test=lambda table: table.with_columns(score=change))).startswith(words)


def test_scores_of_train_in_another_order_are_named_because_test_is_sound() -> None:
    def mixed(table: pl.DataFrame) -> pl.DataFrame:
        order = sorted(range(table.height), key=lambda row: digit("order", row))
        return table.with_columns(score=table["score"].gather(order[300:] + order[:300]))

    found = profile(STS, pairs_of, train=mixed)
    assert kinds(found) == [("split_disagrees", "train")]
    assert reason(found) == "no shift or permutation explains it"


def test_inverted_labels_of_pairs_are_named_where_no_split_is_sound() -> None:
    task = tasks.PairClassification(names=("other", "same"), splits=("train", "test"))

    def labelled(split: str, *, same: int) -> pl.DataFrame:
        table = pairs_of(split)
        return table.with_columns(labels=pl.when(pl.col("score") > 2).then(same).otherwise(1 - same)).drop("score")

    assert profile(task, lambda split: labelled(split, same=1)) == []
    found = profile(task, lambda split: labelled(split, same=0))
    assert kinds(found) == [("split_disagrees", "train"), ("split_disagrees", "test")]
    assert all("; labels look inverted, without which it is " in rows.finding.detail for rows in found)


def test_several_labels_a_row_are_judged_one_by_one() -> None:
    def make(split: str) -> pl.DataFrame:
        return texts_of(split).with_columns(label=pl.concat_list("label"))

    task = tasks.MultilabelClassification(labels=NAMES)
    shift = lambda table: table.with_columns(pl.Series("label", [[0], *table["label"].to_list()[:-1]]))  # noqa: E731
    assert profile(task, make) == []
    assert reason(profile(task, make, test=shift)) == "labels look shifted down by 1 row"


def test_at_least_half_of_the_flipped_labels_are_listed_with_the_likelier_one() -> None:
    flipped = pl.int_range(pl.len()) % 10 == 3

    def flip(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(label=pl.when(flipped).then((pl.col("label") + 1) % 3).otherwise("label"))

    [doubtful] = [rows for rows in profile(TASK, texts_of, train=flip) if rows.finding.kind == "label_doubtful"]
    listed = list_rows(doubtful)
    right = listed.filter(pl.col("text").is_in(texts_of("train").filter(flipped)["text"].implode()))
    assert len(right) >= 30
    assert len(right) / len(listed) > 0.5
    meant = dict(texts_of("train").iter_rows())
    assert (right["likelier label"] == [NAMES[meant[text]] for text in right["text"]]).mean() == 1
    assert listed["times likelier"].is_sorted(descending=True)
    row, given, likelier, times = listed.row(0)[0], *listed.row(0)[3:6]
    assert doubtful.finding.examples[0] == f"{row} ({times}): {given} -> {likelier}"


def test_labels_that_repeat_every_few_rows_are_told_by_the_order_and_blocks_are_not() -> None:
    def numbered(label: pl.Expr) -> Callable[[str], pl.DataFrame]:
        return lambda split: texts_of(split).with_columns(label=label)

    alternating = profile(TASK, numbered(pl.int_range(pl.len()) % 3))
    assert [pair for pair in kinds(alternating) if pair[0] == "order_tells_label"] == [
        ("order_tells_label", "train"),
        ("order_tells_label", "test"),
    ]
    sorted_rows = profile(TASK, lambda split: texts_of(split).sort("label"))
    assert sorted_rows == []


def test_a_text_of_other_letters_is_an_outlier_and_several_alike_are_not() -> None:
    def plant(texts: list[str]) -> Change:
        return lambda table: table.with_columns(text=pl.concat([pl.Series(texts), table["text"].slice(len(texts))]))

    alone = profile(TASK, texts_of, test=plant(["Η μέλισσα πετά πάνω από τον κήπο"]))
    assert kinds(alone) == [("outlier_text", "test")]
    assert list_rows(alone[0])["text"].to_list() == ["Η μέλισσα πετά πάνω από τον κήπο"]
    several = [f"Η μέλισσα πετά πάνω από τον κήπο {number}" for number in range(3)]
    assert profile(TASK, texts_of, test=plant(several)) == []


def test_a_source_whose_labels_are_noise_is_a_weak_group() -> None:
    def make(split: str) -> pl.DataFrame:
        table = texts_of(split).with_columns(
            source=pl.Series([("forum", "news", "news")[digit(split, row) % 3] for row in range(ROWS[split])])
        )
        noise = pl.Series([digit(split, row, "noise") % 3 for row in range(ROWS[split])])
        return table.with_columns(label=pl.when(pl.col("source") == "forum").then(noise).otherwise("label"))

    details = [rows.finding.detail.split(":")[0] for rows in profile(TASK, make) if rows.finding.kind == "weak_group"]
    assert details == ["source forum", "source forum"]


def test_large_splits_are_limited_to_whole_groups_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "MOST", 200)
    twice = pl.concat([texts_of("train")] * 2)
    _, [train, test] = profile_tables(TASK, default(train=twice, test=texts_of("test")))
    assert train.startswith("200 of 1,200 train rows looked at")
    assert test.startswith("200 of 300 test rows looked at")


@pytest.mark.parametrize(("task", "tables"), [
    (TASK, default(train=texts_of("train").head(60), test=texts_of("test").head(60))),
    (tasks.Retrieval(), {}),
])  # fmt: skip
def test_nothing_is_learned_from_few_rows_and_without_labels(
    task: tasks.Task, tables: dict[str, dict[str, pl.LazyFrame]]
) -> None:
    found, [note] = profile_tables(task, tables)
    assert found == []
    assert note.startswith("profile: nothing is learned")
