"""pipelines.audit.languages and wrong_language: foreign texts are reported, as two of three detectors say, in a fixed sample."""

import lzma
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langdetect import detector_factory

from builders import tasks
from builders.errors import SourceError
from builders.shaping.sampling import sample
from builders.spec import Raw, RawFiles
from cards.manifest import Finding
from pipelines.audit import languages
from pipelines.audit.languages import (
    MAX_CHARACTERS,
    MIN_LETTERS,
    SAMPLE,
    UNDETERMINED,
    Guesses,
    guess_fasttext,
    guess_langdetect,
    guess_langid,
    guess_languages,
    langdetect_languages,
    language_shares,
    sample_rows,
    text_parts,
    text_prefix,
)
from tests.support.paths import ROOT
from tests.support.releases import definition_of
from tests.support.tables import audit_rows, row_names

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
        "Nobody in this valley ever leaves home without an umbrella.",
    ),
    "uk": (
        "Бібліотека зачинена до понеділка, але книжки можна віддати сторожеві.",
        "Учора ввечері ми довго сиділи на березі й дивилися, як відпливають човни.",
    ),
}
RUSSIAN, GERMAN, ENGLISH = (TEXTS[language] for language in ("ru", "de", "en"))


def foreign_languages(texts: Sequence[str], expected: set[str]) -> list[str | None]:
    """The language of each text that is in none of the expected languages."""
    series = pl.Series(texts, dtype=pl.String)
    parts = series.alias("text").to_frame().select(text_parts(pl.col("text"))).to_series()
    return languages.foreign_languages(series, guess_languages(series), parts, expected).to_list()


def shares(*texts: str) -> dict[str, float]:
    return language_shares(guess_languages(pl.Series(texts, dtype=pl.String)))


def wrong_languages(
    task: tasks.Task, frame: pl.DataFrame, *expected: str, config: str = "default", size: int | None = SAMPLE
) -> list[Finding]:
    """The findings of this kind in a dataset of one table."""
    frames = {config: {split: frame.lazy() for split in task.splits}}
    findings = audit_rows(task, frames, task.splits, expected, language_sample=size)
    return [finding for finding in findings if finding.kind == "wrong_language"]


def clustering(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"sentences": texts, "labels": ["a", "b", *["a"] * (len(texts) - 2)]})


@pytest.mark.parametrize("expected", TEXTS)
def test_each_text_is_foreign_in_every_other_language(expected: str) -> None:
    for language, texts in TEXTS.items():
        assert foreign_languages(texts, {expected}) == [None if language == expected else language] * len(texts)


def test_a_text_may_be_in_any_of_the_languages_of_its_dataset() -> None:
    assert foreign_languages([*RUSSIAN, *ENGLISH, *GERMAN], {"ru", "en"}) == [None] * 6 + ["de"] * 3


def test_planted_foreign_texts_are_reported() -> None:
    table = clustering(*RUSSIAN, GERMAN[0], *RUSSIAN[:2], TEXTS["uk"][1], GERMAN[1])
    assert wrong_languages(tasks.Clustering(), table, "rus-Cyrl") == [
        Finding(
            "wrong_language",
            "warning",
            "default",
            "test",
            "sentences",
            3,
            3 / 8,
            row_names(table, 3, 6, 7),
            "de 2, uk 1",
            texts_checked=8,
        )
    ]
    assert wrong_languages(tasks.Clustering(), clustering(*RUSSIAN), "rus-Cyrl") == []
    assert wrong_languages(tasks.Clustering(), table, "rus-Cyrl", "deu-Latn", "eng-Latn")[0].count == 1


def test_a_dataset_without_languages_is_not_checked_and_an_unknown_language_is_an_error() -> None:
    assert wrong_languages(tasks.Clustering(), clustering(*RUSSIAN, *GERMAN)) == []
    with pytest.raises(ValueError, match="unknown language 'xyz-Latn'"):
        wrong_languages(tasks.Clustering(), clustering(*RUSSIAN), "xyz-Latn")


def test_each_side_of_a_bitext_has_its_own_language() -> None:
    task = tasks.BitextMining(pair="en-de")
    right = pl.DataFrame({"id": ["a", "b", "c"], "sentence1": ENGLISH, "sentence2": GERMAN})
    assert wrong_languages(task, right, "eng-Latn", "deu-Latn", config="en-de") == []
    untranslated = right.with_columns(sentence2=pl.Series([GERMAN[0], ENGLISH[1], GERMAN[2]]))
    [finding] = wrong_languages(task, untranslated, "eng-Latn", "deu-Latn", config="en-de")
    assert (finding.location, finding.count, finding.examples) == ("en-de/test.sentence2", 1, ("b",))
    swapped = right.rename({"sentence1": "sentence2", "sentence2": "sentence1"})
    findings = wrong_languages(task, swapped, "eng-Latn", "deu-Latn", config="en-de")
    assert [finding.count for finding in findings] == [3, 3]


def test_the_language_of_a_document_includes_its_title() -> None:
    frames = {
        "corpus": pl.LazyFrame({"id": ["d1", "d2"], "title": [GERMAN[0], ""], "text": ["Kurz.", "Short."]}),
        "queries": pl.LazyFrame({"id": ["q1", "q2"], "text": ENGLISH[:2]}),
        "qrels": pl.LazyFrame({"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 1]}),
    }
    tables = {config: {"test": frame} for config, frame in frames.items()}
    [finding] = audit_rows(tasks.Retrieval(), tables, ("test",), ("eng-Latn",))
    assert (finding.kind, finding.location, finding.examples) == ("wrong_language", "corpus/test.text", ("d1",))
    assert (finding.share, finding.detail, finding.texts_checked) == (1.0, "de 1", 1)


def prefixes(*texts: str) -> list[str | None]:
    return pl.DataFrame({"text": texts}).select(text_prefix(pl.col("text")))["text"].to_list()


START = (RUSSIAN[0] * 10)[:MAX_CHARACTERS]


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        *(("Kurz und gut.", None), ("1 2 3 " * 100, None), ("", None), ("x" * (MIN_LETTERS - 1), None)),
        *(("x" * MIN_LETTERS, "x" * MIN_LETTERS), ("ж-" * MIN_LETTERS, "ж-" * MIN_LETTERS), (RUSSIAN[0], RUSSIAN[0])),
        *((START + GERMAN[0] * 100, START), ("." * MAX_CHARACTERS + GERMAN[0], None)),
        (RUSSIAN[0].upper(), RUSSIAN[0].lower()),
    ],
)
def test_the_start_of_a_text_is_checked_if_it_has_enough_letters_and_capitals_in_lower_case(
    text: str, prefix: str | None
) -> None:
    assert prefixes(text) == [prefix]


def test_a_text_with_too_few_letters_is_not_in_a_wrong_language() -> None:
    assert wrong_languages(tasks.Clustering(), clustering("Wieso denn?", "Danke, Hans.", *RUSSIAN), "rus-Cyrl") == []


def test_mojibake_is_not_in_a_wrong_language() -> None:
    damaged = "Ремонт моста через реку продлится до конца сентября.".encode().decode("cp1251", "ignore")
    assert guess_fasttext(damaged.lower(), 1)[0][0] != "ru", (
        "the test needs mojibake that a detector takes for a language"
    )
    assert prefixes(damaged) == [None]
    assert wrong_languages(tasks.Clustering(), clustering(damaged, *RUSSIAN), "rus-Cyrl") == []


# With a letter that Russian lacks, so that two votes suffice; too short to be judged in parts.
SURZHYK = "та то взагалі горе якесь, я серіали давно не дивилась"
FOREIGN, EXPECTED, UNCERTAIN = [("bg", 0.99)], [("ru", 0.99)], [("ru", 0.4), ("bg", 0.3)]


@pytest.mark.parametrize(
    ("fasttext", "langid", "langdetect", "foreign"),
    [
        (FOREIGN, FOREIGN, None, "bg"),
        (FOREIGN, UNCERTAIN, FOREIGN, "bg"),
        (UNCERTAIN, FOREIGN, FOREIGN, "bg"),
        (FOREIGN, UNCERTAIN, EXPECTED, None),
        (FOREIGN, [], UNCERTAIN, None),
        (FOREIGN, [], [], None),
        ([("ext", 0.2), ("es", 0.1)], FOREIGN, UNCERTAIN, None),
        ([], FOREIGN, FOREIGN, "bg"),
        (FOREIGN, EXPECTED, None, None),
        (UNCERTAIN, UNCERTAIN, None, None),
        (UNCERTAIN, EXPECTED, None, None),
        ([], [], None, None),
        (EXPECTED, None, None, None),
    ],
)
def test_a_text_is_foreign_if_two_of_three_detectors_say_so(
    fasttext: Guesses,
    langid: Guesses | None,
    langdetect: Guesses | None,
    foreign: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None for a detector: it must not be asked."""

    def guess(guesses: Guesses | None) -> Guesses:
        assert guesses is not None, "the other detectors have decided"
        return [*guesses]

    monkeypatch.setattr(languages, "guess_fasttext", lambda _, count=5: guess(fasttext)[:count])
    monkeypatch.setattr(languages, "guess_langid", lambda _: guess(langid))
    monkeypatch.setattr(languages, "guess_langdetect", lambda _: guess(langdetect))
    assert foreign_languages([SURZHYK], {"ru"}) == [foreign]


def test_langdetect_has_no_say_about_a_language_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "guess_langid", lambda _: [("be", 0.99)])
    monkeypatch.setattr(languages, "guess_langdetect", lambda _: EXPECTED)
    for best, foreign in ([("be", 0.5), ("ru", 0.4)], "be"), ([("ru", 0.5), ("be", 0.4)], None):
        monkeypatch.setattr(languages, "guess_fasttext", lambda _, count=5, best=best: best[:count])
        assert foreign_languages([SURZHYK], {"ru"}) == [foreign]


def test_langdetect_does_not_vote_where_it_does_not_know_the_expected_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "guess_fasttext", lambda _, count=5: [("ru", 0.99)])
    monkeypatch.setattr(languages, "guess_langid", lambda _: [("kk", 0.4), ("ru", 0.4)])
    assert "kk" not in langdetect_languages()
    assert foreign_languages(["Барлығы дұрыс."], {"kk"}) == [None]


DETECTORS = (guess_fasttext, guess_langid, guess_langdetect)
AMBIGUOUS = "Снова зима."  # Russian; langdetect takes it for Bulgarian or Macedonian, depending on the seed


def test_the_slow_detector_always_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from langdetect import DetectorFactory, detect

    guesses = set()
    for seed in range(20):
        monkeypatch.setattr(DetectorFactory, "seed", seed)
        guesses.add(detect(AMBIGUOUS))
    assert len(guesses) > 1, "the test needs a text whose language depends on the seed"
    answers = set()
    for seed in range(20):
        monkeypatch.setattr(DetectorFactory, "seed", seed)
        answers.add(tuple(guess_langdetect(AMBIGUOUS)))
    assert len(answers) == 1


@pytest.mark.parametrize(
    "text", [*(text for texts in TEXTS.values() for text in texts), AMBIGUOUS, "Ni suhaho kosiro fopa"]
)
def test_the_slow_detector_computes_what_its_library_does(text: str) -> None:
    library = languages._langdetect_factory().create()
    library.append(text)
    expected = [(guess.lang.partition("-")[0], guess.prob) for guess in library.get_probabilities()]
    assert guess_langdetect(text) == expected != []


def test_a_detector_has_no_guess_for_a_text_without_any_clue() -> None:
    assert guess_langdetect("12 + 30 = 42") == guess_langid("42") == []


CHINESE = "昨天晚上我们在河边坐了很久，看着船一艘一艘地离开，直到天完全黑了下来，大家才慢慢走回家去。"


def test_the_detectors_agree_on_the_name_of_chinese() -> None:
    assert foreign_languages([CHINESE], {"en"}) == ["zh"]
    assert [guess(CHINESE)[0][0] for guess in DETECTORS] == ["zh"] * 3


def test_languages_that_hardly_differ_count_as_one() -> None:
    croatian = "Sinoć smo dugo sjedili pokraj rijeke i razgovarali o prošlom ljetu."
    assert foreign_languages([croatian], {"sr"}) == foreign_languages([croatian], {"hr"}) == [None]
    assert foreign_languages([croatian], {"en"}) != [None]


@given(st.lists(st.text(max_size=3), unique=True, max_size=30), st.integers(0, 10))
def test_a_sample_is_the_first_rows_in_hash_order_sorted_by_position(keys: list[str], size: int) -> None:
    rows = sample_rows(pl.Series(keys, dtype=pl.String), size).to_list()
    assert rows == sorted(rows)
    frame = pl.DataFrame({"key": keys}, {"key": pl.String})
    expected = sample(frame, min(size, len(keys)), key="key", seed=languages.SEED)["key"]
    assert {keys[row] for row in rows} == set(expected)


def test_the_same_rows_of_a_large_table_are_always_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    large = SAMPLE + 50
    monkeypatch.setattr(languages, "LARGE_TABLE", large)
    rows = large + 50
    keys = pl.Series([f"row {number}" for number in range(rows)])
    sampled = set(sample_rows(keys))
    inside = next(row for row in range(rows) if row in sampled)
    outside = next(row for row in range(rows) if row not in sampled)
    texts = ["Schöne Grüße " + "aus dem Süden! " * 3 if row in (inside, outside) else RUSSIAN[0] for row in range(rows)]
    table = clustering(*texts)
    [finding] = wrong_languages(tasks.Clustering(), table, "rus-Cyrl")
    assert (finding.count, finding.examples) == (1, row_names(table, inside))
    assert (finding.share, finding.texts_checked) == (1 / SAMPLE, SAMPLE)
    [finding] = wrong_languages(tasks.Clustering(), table.head(large), "rus-Cyrl")
    assert finding.texts_checked == large
    [finding] = wrong_languages(tasks.Clustering(), table, "rus-Cyrl", size=None)
    assert (finding.count, finding.examples) == (2, row_names(table, *sorted((inside, outside))))
    assert (finding.share, finding.texts_checked) == (2 / rows, rows)


def test_batches_change_nothing_when_all_rows_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    table = clustering(*[RUSSIAN[0], GERMAN[0], "Kurz.", RUSSIAN[1], GERMAN[1]] * 3)
    [whole] = wrong_languages(tasks.Clustering(), table, "rus-Cyrl", size=None)
    assert (whole.count, whole.share, whole.texts_checked) == (6, 6 / 12, 12)
    monkeypatch.setattr(languages, "BATCH_ROWS", 4)
    assert wrong_languages(tasks.Clustering(), table, "rus-Cyrl", size=None) == [whole]


def test_the_most_frequent_language_comes_first() -> None:
    assert shares(*GERMAN, *ENGLISH, RUSSIAN[0]) == {"de": 3 / 7, "en": 3 / 7, "ru": 1 / 7}
    assert shares() == {}


def test_a_text_with_low_certainty_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    certainties = {"certain": [("de", 0.8)], "uncertain": [("de", 0.7)], "42": []}
    monkeypatch.setattr(languages, "guess_fasttext", lambda text, _: certainties[text])
    assert shares("uncertain", "certain", "certain", "42") == {"de": 2 / 4, UNDETERMINED: 2 / 4}


SCRIPT = """
import sys
from pathlib import Path

def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        raise RuntimeError(event)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise RuntimeError(f"{arguments[0]} opened for writing")
    if event in ("os.mkdir", "os.rename", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp"):
        raise RuntimeError(f"{event} {arguments[0]}")

sys.addaudithook(watch)
from pipelines.audit import languages
guessers = (languages.guess_fasttext, languages.guess_langid, languages.guess_langdetect)
print([guess(text) for text in sys.argv[1:] for guess in guessers])
"""


def test_nothing_is_downloaded_or_written_and_another_process_agrees(tmp_path: Path) -> None:
    texts = [*RUSSIAN, *GERMAN, *ENGLISH, AMBIGUOUS]
    homes = dict.fromkeys(("HOME", "TMPDIR", "FTLANG_CACHE", "XDG_CACHE_HOME"), str(tmp_path))
    process = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, *texts],
        cwd=ROOT,
        env=os.environ | homes | {"PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == str([guess(text) for text in texts for guess in DETECTORS])
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=200))
def test_the_detectors_accept_any_text(text: str) -> None:
    assert len(foreign_languages([text], {"en"})) == 1
    for guess in DETECTORS:
        assert all(0 <= probability <= 1.0001 for _, probability in guess(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("europarl-bitext", {}),
        ("iwslt17-bitext", {}),
        ("nc2016-bitext", {}),
        ("terra-pairclassification", {}),
        ("arc-challenge-retrieval", {}),
        ("cedr-classification", {"train": 9, "test": 3}),
    ],
)
def test_few_texts_of_real_datasets_are_in_a_wrong_language_or_script(
    name: str, expected: dict[str, int], real_sources: Path, tmp_path: Path
) -> None:
    source, dataset = definition_of(name).source, definition_of(name).dataset
    files = {key: Raw(file.name, real_sources / source.name / file.name) for key, file in source.files.items()}
    tables = dataset.recipe(RawFiles(dataset.task.splits, files, tmp_path))
    frames = {
        config: {split: frame.lazy() for split, frame in splits.items()} for config, splits in tables.frames.items()
    }
    findings = audit_rows(dataset.task, frames, dataset.task.splits, dataset.languages)
    wrong = [finding for finding in findings if finding.kind in ("wrong_language", "wrong_script")]
    assert {finding.split: finding.count for finding in wrong} == expected


def test_another_model_of_languages_is_refused_before_native_code_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "MODEL_SHA256", "0" * 64)
    languages._fasttext_model.cache_clear()
    with pytest.raises(SourceError, match="another model of languages"):
        languages._fasttext_model()


def test_a_model_is_the_same_from_the_cache_without_it_and_where_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "model.xz"
    model.write_bytes(lzma.compress(b"one model"))
    assert [languages._unpack(model) for _ in range(2)] == [b"one model"] * 2
    [cached] = (tmp_path / "cache" / "models").iterdir()
    whole = cached.read_bytes()
    for content in (b"", whole[:-1], whole[:-1] + b"?"):
        cached.write_bytes(content)
        assert languages._unpack(model) == b"one model"
        assert cached.read_bytes() == whole, "written again"
    model.write_bytes(lzma.compress(b"two model"))
    assert languages._unpack(model) == b"two model"
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(model))
    assert languages._unpack(model) == b"two model"


def test_langdetect_gets_the_frequencies_that_it_computes_itself() -> None:
    library = detector_factory.DetectorFactory()
    folder = Path(detector_factory.PROFILES_DIRECTORY)
    library.load_json_profile([path.read_text("utf-8") for path in sorted(folder.iterdir()) if path.is_file()])
    ours = languages._langdetect_factory()
    assert ours.get_lang_list() == library.get_lang_list()
    words = library.word_lang_prob_map
    assert len(words) > 80_000
    own = ours.word_lang_prob_map
    assert [word for word in words if word not in own or own[word].tolist() != words[word]] == []
    assert "\ue000\ue000" not in ours.word_lang_prob_map
    languages._langdetect_factory.cache_clear()
