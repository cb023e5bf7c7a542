"""builders.shaping.text: UTF-8 read in another encoding is found, and text that looks a little like it is not."""

import polars as pl
import pytest

from builders.shaping.text import is_mojibake
from tests.support.tables import clean_tables, quality_findings, with_value

WORDS = {
    "Russian": "Пчёлы строят соты из воска",
    "Greek": "Οι μέλισσες χτίζουν κηρήθρες",
    "French": "L’abeille dépose le pollen récolté",
    "German": "Die Blüten öffnen sich früh, die Königin fährt übers Land",
    "Polish": "Pszczoły budują plastry",
    "punctuation": "honey – “gold” of the hive…",
    "price": "a jar for 5 €",
    "emoji": "honey 🐝",
    "lost character": "hon\ufffdy",
    "byte order mark": "\ufeffhoney",
}
SOUND = [
    *WORDS.values(),
    *(
        "Ñandú",
        "«ESPAÑA»",
        "AMANHû, AMANHÃ…, MAÇÔ",
        "IRMÃ\xadZINHA",
        "„Ä“ und „Ö“",
        "Å”, 20 Å², 3 Å³",
        "ÞAÐ“",
        "ROMÂNIA, ÎN",
        "â",
    ),
    *(
        "РС",
        "«СССР»",
        "РФ…",
        "СІРІ",
        "Сёмин, Рёв",
        "срџба",
        "в „Правде“",
        "№ 5 °C ± 1 µm",
        "5 €–10 €",
        "naïve “Æther”",
        "Œuvre",
    ),
]


def find(text: str) -> bool:
    return bool(pl.select(is_mojibake(pl.lit(text))).item())


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(words, encoding) for words in WORDS for encoding in ("cp1252", "latin-1")]
    + [
        (words, "cp1251") for words in ("Russian", "punctuation", "price", "emoji", "lost character", "byte order mark")
    ],
)
def test_utf_8_read_in_another_encoding_is_found(words: str, encoding: str) -> None:
    assert find(WORDS[words].encode().decode(encoding, "replace"))


@pytest.mark.parametrize("text", SOUND)
def test_sound_text_is_not_mojibake(text: str) -> None:
    assert not find(text)
    assert not find(text.upper())


def test_double_mojibake_is_found() -> None:
    once = "honey – gold".encode().decode("cp1252")
    assert find(once.encode().decode("cp1252"))


def test_the_audit_reports_it_as_a_warning() -> None:
    text = WORDS["Russian"].encode().decode("cp1251", "replace")
    tables = with_value("default", "test", "sentences", 2, text)(clean_tables("Clustering"))
    (finding,) = (one for one in quality_findings("Clustering", tables) if one.kind == "mojibake")
    assert (finding.severity, finding.location, finding.count) == ("warning", "default/test.sentences", 1)
