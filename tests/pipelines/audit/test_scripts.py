"""pipelines.audit.texts and the kind wrong_script: texts without a letter of the script of their dataset, in all rows."""

import polars as pl
import pytest

from builders import tasks
from cards.front_matter import LANGUAGES
from cards.manifest import Finding
from pipelines.audit import languages
from pipelines.audit.texts import DEFAULTS, SCRIPTS, in_wrong_script, script
from tests.support.tables import audit_rows, row_names


def wrong_script(texts: list[str], *expected: str) -> list[str]:
    frame = pl.DataFrame({"text": texts})
    return frame.filter(in_wrong_script(pl.col("text"), expected))["text"].to_list()


def test_a_text_without_a_letter_of_the_script_is_in_a_wrong_one() -> None:
    assert wrong_script(["ok", "да", "μ", "Wi-Fi есть", "2 + 2", "", "…"], "Cyrl") == ["ok", "μ"]
    assert wrong_script(["ok", "да", "μ", "2 + 2"], "Latn") == ["да", "μ"]
    assert wrong_script(["ok", "да", "μ"], "Latn", "Cyrl") == ["μ"]


def test_letters_of_no_single_script_are_not_in_a_wrong_one() -> None:
    assert wrong_script(["𝒜𝒷𝒸", "ʼ", "ª", "№ 5"], "Cyrl") == ["ª"]


def test_japanese_and_korean_texts_may_be_in_any_of_their_scripts() -> None:
    assert wrong_script(["東京", "ひらがな", "カタカナ", "한글"], "Jpan") == ["한글"]
    assert wrong_script(["東京", "ひらがな", "한글"], "Kore") == ["ひらがな"]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("rus-Cyrl", "Cyrl"),
        ("rus", "Cyrl"),
        ("srp-Latn", "Latn"),
        ("srp", "Cyrl"),
        ("eng", "Latn"),
        ("rus-Zzzz", "Cyrl"),
    ],
)
def test_a_language_without_a_known_script_has_its_usual_one(language: str, expected: str) -> None:
    assert script(language) == expected


def test_every_usual_script_is_known() -> None:
    assert set(DEFAULTS.values()) <= set(SCRIPTS)
    assert set(DEFAULTS) <= {short for short, _ in LANGUAGES.values()}
    for code in SCRIPTS:
        wrong_script(["x"], code)  # every name is one that regular expressions know


def test_all_rows_are_checked_and_short_texts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "SAMPLE", 1)
    monkeypatch.setattr(languages, "LARGE_TABLE", 1)
    damaged = "привет".encode().decode("cp1252", "replace")  # is mojibake
    texts = ["да", "нет", "maybe", "может быть", "no", damaged]
    table = pl.DataFrame({"sentences": texts, "labels": ["a", "b", "a", "b", "a", "b"]})
    frames = {"default": {"test": table.lazy()}}
    findings = audit_rows(tasks.Clustering(), frames, ("test",), ("rus-Cyrl",))
    assert [one for one in findings if one.kind == "wrong_script"] == [
        Finding("wrong_script", "warning", "default", "test", "sentences", 2, 2 / 6, row_names(table, 2, 4))
    ]
    findings = audit_rows(tasks.Clustering(), frames, ("test",))
    assert not [one for one in findings if one.kind == "wrong_script"], "without languages, scripts are unknown"


def test_each_side_of_a_bitext_has_its_own_script() -> None:
    table = pl.DataFrame({"id": ["a", "b", "c"], "sentence1": ["yes", "no", "да"], "sentence2": ["да", "no", "нет"]})

    def found(pair: str, *languages: str) -> dict[str, tuple[str, ...]]:
        findings = audit_rows(tasks.BitextMining(pair), {pair: {"test": table.lazy()}}, ("test",), languages)
        return {one.column: one.examples for one in findings if one.kind == "wrong_script"}

    assert found("en-ru", "eng-Latn", "rus-Cyrl") == {"sentence1": ("c",), "sentence2": ("b",)}
    assert found("en-ru") == {"sentence1": ("c",), "sentence2": ("b",)}
    assert found("en-kv") == {"sentence1": ("c",)}, "nobody knows in which script Komi is here"
    assert found("en-sr", "eng-Latn", "srp-Cyrl", "srp-Latn") == {"sentence1": ("c",)}


def test_each_column_and_the_title_of_a_document_count() -> None:
    frames = {
        "corpus": pl.LazyFrame({"id": ["d1", "d2"], "title": ["Название", ""], "text": ["Only Latin.", "Only Latin."]}),
        "queries": pl.LazyFrame({"id": ["q1", "q2"], "text": ["вопрос", "question"]}),
        "qrels": pl.LazyFrame({"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 1]}),
    }
    tables = {config: {"test": frame} for config, frame in frames.items()}
    findings = audit_rows(tasks.Retrieval(), tables, ("test",), ("rus-Cyrl",))
    found = {one.location: one.examples for one in findings if one.kind == "wrong_script"}
    assert found == {"corpus/test.text": ("d2",), "queries/test.text": ("q2",)}
