"""Texts in a wrong language are found, and right ones left alone: what two detectors agree on, in a sample that never changes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import tasks
from builders.shaping.sampling import sample
from builders.spec import Raw, RawFiles
from cards.manifest import Finding
from pipelines.audit import languages
from pipelines.audit.languages import (
    AT_ONCE,
    CHARACTERS,
    LETTERS,
    SAMPLE,
    UNDETERMINED,
    foreign_languages,
    language_shares,
    sample_rows,
    text_prefix,
)
from pipelines.audit.quality import audit_rows
from tests.support.paths import ROOT
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "ru": (
        "Вчера вечером мы долго сидели на берегу и смотрели, как уходят лодки.",
        "Библиотека закрыта до понедельника, но книги можно вернуть сторожу.",
        "Он так и не признался, кто разбил большое окно в школьном коридоре!",
    ),
    "de": (
        "Der Bäcker an der Ecke macht sein Brot noch immer selbst und öffnet um sechs.",
        "Gestern Abend saßen wir lange am Ufer und sahen den Booten nach.",
        "Ohne Regenschirm sollte man in diesem Tal nicht aus dem Haus gehen.",
    ),
    "en": (
        "The baker on the corner still makes his own bread and opens at six.",
        "Yesterday evening we sat by the river for hours and watched the boats leave.",
        "Nobody in this valley ever leaves the house without an umbrella.",
    ),
    "uk": (
        "Бібліотека зачинена до понеділка, але книжки можна віддати сторожеві.",
        "Учора ввечері ми довго сиділи на березі й дивилися, як відпливають човни.",
    ),
}
RUSSIAN, GERMAN, ENGLISH = (TEXTS[language] for language in ("ru", "de", "en"))


def found_in(
    task: tasks.Task, frame: pl.DataFrame, *expected: str, config: str = "default", size: int | None = SAMPLE
) -> list[Finding]:
    """The findings of this kind in a dataset of one table."""
    frames = {config: {split: frame.lazy() for split in task.splits}}
    found = audit_rows(task, frames, task.splits, expected, language_sample=size)
    return [one for one in found if one.kind == "wrong_language"]


def clustering(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"sentences": texts, "labels": ["a", "b", *["a"] * (len(texts) - 2)]})


@pytest.mark.parametrize("expected", TEXTS)
def test_each_text_is_foreign_in_every_language_but_its_own(expected: str) -> None:
    for language, texts in TEXTS.items():
        assert foreign_languages(texts, {expected}) == [None if language == expected else language] * len(texts)


def test_a_text_may_be_in_any_of_the_languages_of_its_dataset() -> None:
    assert foreign_languages([*RUSSIAN, *ENGLISH, *GERMAN], {"ru", "en"}) == [None] * 6 + ["de"] * 3


def test_a_planted_text_is_the_one_that_is_found() -> None:
    table = clustering(*RUSSIAN, GERMAN[0], *RUSSIAN[:2], TEXTS["uk"][1], GERMAN[1])
    assert found_in(tasks.Clustering(), table, "rus-Cyrl") == [
        Finding(
            "wrong_language",
            "warning",
            "default",
            "test",
            "sentences",
            3,
            3 / 8,
            ("row 3", "row 6", "row 7"),
            "de 2, uk 1; texts looked at: 8",
        )
    ]
    assert found_in(tasks.Clustering(), clustering(*RUSSIAN), "rus-Cyrl") == []
    assert found_in(tasks.Clustering(), table, "rus-Cyrl", "deu-Latn", "eng-Latn")[0].count == 1


def test_a_dataset_that_names_no_language_is_not_judged() -> None:
    assert found_in(tasks.Clustering(), clustering(*RUSSIAN, *GERMAN)) == []


def test_a_language_that_the_package_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="no language is known for 'xyz-Latn'"):
        found_in(tasks.Clustering(), clustering(*RUSSIAN), "xyz-Latn")


def test_each_side_of_a_bitext_has_its_own_language() -> None:
    task = tasks.BitextMining(pair="en-de")
    right = pl.DataFrame({"id": ["a", "b", "c"], "sentence1": ENGLISH, "sentence2": GERMAN})
    assert found_in(task, right, "eng-Latn", "deu-Latn", config="en-de") == []
    left_in_english = right.with_columns(sentence2=pl.Series([GERMAN[0], ENGLISH[1], GERMAN[2]]))
    [found] = found_in(task, left_in_english, "eng-Latn", "deu-Latn", config="en-de")
    assert (found.location, found.count, found.examples) == ("en-de/test.sentence2", 1, ("b",))
    swapped = right.rename({"sentence1": "sentence2", "sentence2": "sentence1"})
    assert [found.count for found in found_in(task, swapped, "eng-Latn", "deu-Latn", config="en-de")] == [3, 3]


def test_a_document_is_judged_with_its_title() -> None:
    frames = {
        "corpus": pl.LazyFrame({"id": ["d1", "d2"], "title": [GERMAN[0], ""], "text": ["Kurz.", "Short."]}),
        "queries": pl.LazyFrame({"id": ["q1", "q2"], "text": ENGLISH[:2]}),
        "qrels": pl.LazyFrame({"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 1]}),
    }
    tables = {config: {"test": frame} for config, frame in frames.items()}
    [found] = audit_rows(tasks.Retrieval(), tables, ("test",), ("eng-Latn",))
    assert (found.kind, found.location, found.examples) == ("wrong_language", "corpus/test.text", ("d1",))
    assert (found.share, found.detail) == (1.0, "de 1; texts looked at: 1")


def judged(*texts: str) -> list[str | None]:
    return pl.DataFrame({"text": texts}).select(text_prefix(pl.col("text")))["text"].to_list()


def test_a_text_with_too_few_letters_is_not_judged() -> None:
    assert judged("Kurz und gut.", "1 2 3 " * 100, "", "x" * (LETTERS - 1)) == [None] * 4
    assert judged("x" * LETTERS, "ж-" * LETTERS) == ["x" * LETTERS, "ж-" * LETTERS]
    assert found_in(tasks.Clustering(), clustering("Wieso denn?", "Danke, Hans.", *RUSSIAN), "rus-Cyrl") == []


def test_the_beginning_of_a_long_text_stands_for_it() -> None:
    start = (RUSSIAN[0] * 10)[:CHARACTERS]
    assert judged(start + GERMAN[0] * 100) == [start]
    assert judged("." * CHARACTERS + GERMAN[0]) == [None]


@pytest.mark.parametrize(
    ("fast", "slow"), [(("bg", 0.99), "mk"), (("bg", 0.99), None), (("bg", 0.5), "bg"), (("ru", 0.3), "bg")]
)
def test_a_text_is_foreign_only_where_both_detectors_agree(
    fast: tuple[str, float], slow: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "detect_fast", lambda _: fast)
    monkeypatch.setattr(languages, "detect_slow", lambda _: slow)
    assert foreign_languages(RUSSIAN, {"ru"}) == [None] * 3
    monkeypatch.setattr(languages, "detect_fast", lambda _: ("bg", 0.99))
    monkeypatch.setattr(languages, "detect_slow", lambda _: "bg")
    assert foreign_languages(RUSSIAN, {"ru"}) == ["bg"] * 3


def test_the_slow_detector_is_asked_only_where_the_fast_one_is_sure_of_another_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(languages, "detect_slow", asked.append)
    foreign_languages([*RUSSIAN, GERMAN[0]], {"ru"})
    assert asked == [GERMAN[0]]


UNSURE = "Снова зима."  # plain Russian, which langdetect takes for Bulgarian or Macedonian, as its seed will have it


def test_the_slow_detector_gives_one_answer_however_often_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from langdetect import DetectorFactory, detect

    guesses = set()
    for seed in range(20):
        monkeypatch.setattr(DetectorFactory, "seed", seed)
        guesses.add(detect(UNSURE))
    assert len(guesses) > 1, "another text is needed: one on which the seed tells"
    answers = set()
    for seed in range(20):
        monkeypatch.setattr(DetectorFactory, "seed", seed)
        answers.add(languages.detect_slow(UNSURE))
    assert len(answers) == 1


def test_the_slow_detector_knows_nothing_of_what_holds_no_letters() -> None:
    assert languages.detect_slow("12 + 30 = 42") is None


def test_the_detectors_agree_on_the_name_of_chinese() -> None:
    assert foreign_languages(
        ["昨天晚上我们在河边坐了很久，看着船一艘一艘地离开，直到天完全黑了下来，大家才慢慢走回家去。"], {"en"}
    ) == ["zh"]


KEYS = st.lists(st.text(max_size=3), unique=True, max_size=30)


@given(KEYS, st.integers(0, 10), st.integers(1, 7))
def test_a_sample_is_the_first_rows_in_hash_order_in_the_order_of_the_table(
    keys: list[str], size: int, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "AT_ONCE", at_once)
        rows = sample_rows(pl.Series(keys, dtype=pl.String), size).to_list()
    assert rows == sorted(rows)
    frame = pl.DataFrame({"key": keys}, {"key": pl.String})
    wanted = sample(frame, min(size, len(keys)), key="key", seed=languages.SEED)["key"]
    assert {keys[row] for row in rows} == set(wanted)


@given(KEYS, KEYS, st.integers(0, 10))
def test_rows_that_are_added_can_only_push_others_out_of_a_sample(old: list[str], new: list[str], size: int) -> None:
    def chosen(keys: list[str]) -> set[str]:
        return {keys[row] for row in sample_rows(pl.Series(keys, dtype=pl.String), size)}

    more = list(dict.fromkeys(new + old))
    assert chosen(more) & set(old) <= chosen(old)


def test_of_a_large_table_always_the_same_rows_are_looked_at() -> None:
    rows = SAMPLE + 500
    keys = pl.Series([f"row {number}" for number in range(rows)])
    looked_at = set(sample_rows(keys))
    inside = next(row for row in range(rows) if row in looked_at)
    outside = next(row for row in range(rows) if row not in looked_at)
    texts = ["Schöne Grüße " + "aus dem Süden! " * 3 if row in (inside, outside) else RUSSIAN[0] for row in range(rows)]
    [found] = found_in(tasks.Clustering(), clustering(*texts), "rus-Cyrl")
    assert (found.count, found.examples, found.detail) == (1, (f"row {inside}",), f"de 1; texts looked at: {SAMPLE:,}")
    assert found.share == 1 / SAMPLE
    assert AT_ONCE > SAMPLE
    [found] = found_in(tasks.Clustering(), clustering(*texts), "rus-Cyrl", size=None)
    assert (found.count, found.examples) == (2, tuple(f"row {row}" for row in sorted((inside, outside))))
    assert found.detail == f"de 2; texts looked at: {rows:,}"


def test_asked_about_every_text_the_detectors_are_told_of_batch_after_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    table = clustering(*[RUSSIAN[0], GERMAN[0], "Kurz.", RUSSIAN[1], GERMAN[1]] * 3)
    [whole] = found_in(tasks.Clustering(), table, "rus-Cyrl", size=None)
    assert (whole.count, whole.share, whole.detail) == (6, 6 / 12, "de 6; texts looked at: 12")
    monkeypatch.setattr(languages, "BATCH", 4)
    assert found_in(tasks.Clustering(), table, "rus-Cyrl", size=None) == [whole]


def test_shares_are_of_all_texts_the_most_frequent_language_first() -> None:
    assert language_shares([*GERMAN, *ENGLISH, RUSSIAN[0]]) == {"de": 3 / 7, "en": 3 / 7, "ru": 1 / 7}
    assert language_shares([]) == {}


def test_a_text_of_which_the_fast_detector_is_unsure_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "detect_fast", lambda text: ("de", 0.7 if text == "unsure" else 0.8))
    assert language_shares(["unsure", "sure", "sure"]) == {"de": 2 / 3, UNDETERMINED: 1 / 3}


FINDER = """
import sys
from pathlib import Path

def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        raise RuntimeError(event)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise RuntimeError(f"{arguments[0]} opened to write")
    if event in ("os.mkdir", "os.rename", "shutil.copyfile"):
        raise RuntimeError(f"{event} {arguments[0]}")

sys.addaudithook(watch)
from pipelines.audit.languages import foreign_languages
print(foreign_languages(sys.argv[1:], {"en"}))
"""


def test_nothing_is_downloaded_and_nothing_is_written_and_another_process_agrees(tmp_path: Path) -> None:
    texts = [*RUSSIAN, *GERMAN, *ENGLISH, UNSURE]
    homes = dict.fromkeys(("HOME", "TMPDIR", "FTLANG_CACHE", "XDG_CACHE_HOME"), str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-B", "-c", FINDER, *texts],
        cwd=ROOT,
        env=os.environ | homes | {"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(foreign_languages(texts, {"en"}))
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_whatever_a_text_holds_the_detectors_answer(text: str) -> None:
    assert len(foreign_languages([text], {"en"})) == 1
    assert languages.detect_slow(text) != ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [("europarl-bitext", {}), ("iwslt17-bitext", {}), ("nc2016-bitext", {}), ("cedr-classification", {"test": 3})],
)
def test_real_texts_are_in_their_languages_but_for_the_ukrainian_ones_of_cedr(
    name: str, expected: dict[str, int], real_sources: Path, tmp_path: Path
) -> None:
    source, dataset = definition_of(name).source, definition_of(name).dataset
    files = {key: Raw(file.name, real_sources / source.name / file.name) for key, file in source.files.items()}
    tables = dataset.recipe(RawFiles(dataset.task.splits, files, tmp_path))
    frames = {
        config: {split: frame.lazy() for split, frame in splits.items()} for config, splits in tables.frames.items()
    }
    found = audit_rows(dataset.task, frames, dataset.task.splits, dataset.languages)
    wrong = {one.split: one for one in found if one.kind == "wrong_language" and one.split != "train"}
    assert {split: one.count for split, one in wrong.items()} == expected
    assert all(one.detail.startswith("uk ") for one in wrong.values())
