"""pipelines.audit.texts: residue of HTML, programs and wrong decodings, junk, data of people, and texts that are far too long,
and the kind wrong_script: texts without a letter of the script of their dataset, in all rows.
"""

from functools import cache
from string import ascii_letters

import polars as pl
import pytest

from builders import tasks
from cards.front_matter import LANGUAGES
from cards.manifest import Finding
from pipelines.audit import languages
from pipelines.audit import survey as survey_module
from pipelines.audit import texts as texts_module
from pipelines.audit.quality import audit_tables
from pipelines.audit.texts import DEFAULTS, SCRIPTS, TEXT_CONDITIONS, in_wrong_script, script
from tests.support.tables import TASKS, audit_rows, row_names

# Some of the texts here have white space around them.
OF_ONE_TEXT = {"length_outlier", *(condition.kind for condition in TEXT_CONDITIONS)} - {"surrounding_whitespace"}

FOUND = {
    "html_residue": [
        *(
            "<p>",
            "</DIV>",
            "<br/>",
            "<br />",
            '<a href="x">',
            "<A HREF='x'>",
            "<!-- x -->",
            "<h2\nid=x>",
            "<H2>",
            "</ i >",
            "</i\n>",
        ),
        *("<link rel='x'>", "&nbsp;", "&#8211;", "&#x2F;", "wax &nbsp honey", "Wax &amp Co", "&#8211 "),
        *(
            "< ref >",
            "< /ref >",
            "<ref name=wax>",
            "< gallery widths= '' 200 '' >",
            "< center >",
            "< br / >",
            "<nowiki>",
            "< ! --",
            "& apos ;",
        ),
    ],
    "encoding_residue": [
        *("\ufffd", "\x80", "\x85", "\x9f", "_x000D_", "a_x005F_b", "wax\x00", "\x1b[0m", "\x07", "\x0c", "\x1f"),
        *(
            "wax\u2028wax",
            "\u2029",
            "пр?вет",
            "М?сква",
            "люд?ьми",
            "дела?тся",
            "к?р?ва",
            "f?r M?nchen",
            "???? ??? ??????",
        ),
        *("РТЙЧЕФ, ЬФП ПРСФШ УФБТБС ЛПТПЧБ", "оПЧПУФЙ УЕЗПДОС", "╨╝╤С╨┤", "Ïðèâåò", "ìåä è âîñê"),
        *("fĂĽr", "f√ºr Bienen", "f├╝r", "–њ–µ–і", "Bl‰tter", "fⁿr", "Mьnchen", "grьn"),
        *("ОПХБЕР, ЙНРНПШИ ЯННАЫЕМХЕ", "яЁштхЄ ьхф", "ЏаЁўҐв Ё ўҐб«®", "мед€"),
        *(
            "=D0=BC=D1=91=D0=B4",
            "=?UTF-8?B?0LzRkdC0?=",
            "%D0%BC%D1%91%D0%B4",
            "the+bees+make+all+the+honey",
            "the%20bees%20make",
        ),
        *("{\\rtf1\\ansi wax}", "u043cu0451u0434", "wax U+1F41D", "+BDwENQQ0-"),
        *("Wax.\\nHoney", "мёд\\nвоск", "wax\\r\\nhoney", "\\u0435\\u0436", "\\xd0\\xbf", "\\tWax"),
    ],
    "preprocessing_residue": [
        *("-LRB-", "a-RSB-b", "-RCB-", "tts://", "tt://x", "ttp://honey.example", "мёдttps://", "(ttp://"),
        *(
            "<unk>",
            "[CLS]",
            "<|im_start|>",
            "[/INST]",
            "<pad><pad>",
        ),
        *("bee ##keeper", "\u2581bee", "bee@@ keeper", "wax @-@ like", "__eou__"),
        *("ﬁve bees", "the bee-\nkeeper", "пче-\nловод"),
    ],
    "csv_residue": [
        *('said ""Wax"" twice', '""Мёд"" и воск', 'wax",0\nhoney'),
        *("wax ||| honey", "wax @@@ honey"),
    ],
    "decomposed_letter": ["мои\u0306", "е\u0308лка", "cafe\u0301", "\u1112\u1161\u11ab"],
    "spacing": [
        *(
            "wax  of bees",
            "in  , of 20",
            "мёда  нет",
            "the end.Then bees",
            "мёд.Потом воск",
            "b e e s f l y n",
            "м ё д в у л ь е",
        ),
        *("the_bees_make_the_honey", "wax\thoney", "the bees\nfly from a flower\nto the next one,\nand they all buzz"),
        "всепчёлыделаютмёдивоскпотомулетятдомойвулей",
    ],
    "markup_residue": [
        *("[[Мёд|мёда]]", "{{cite web|url=}}", "'''wax'''", "[b]wax[/b]", "[url=honey.example]", "[IMG]", "[quote]"),
        *("[wax](https://honey.example)", "![](wax.png) ![a](b)", "```", "|---|", "**pure wax**", "\n## Wax\n"),
        *("\\frac{a}{b}", "\\textbf{wax}", "\\alpha", "$x^2 + y$", "[header]", "[substeps]"),
        *("Bees ( ) are insects.", "Bees (, 1758) fly", "Bees fly.[12]", "honey[3] is", "мёд[4]"),
        *("00:01:02,000 --> 00:01:04,000\nBees.", "[00:12:30] Bees.", "SPEAKER_01: Bees."),
        *("function wax(a) {", "def wax(a):", "#include <wax.h>", "console.log(1)", "p { color: red; }", '{"wax": 1}'),
    ],
    "placeholder": [
        *(
            "{name}",
            "{{ user.name }}",
            "${WAX}",
            "%(wax)s",
            "wax: %s",
            "<NAME>",
            "<LINK>",
            "<Link>",
            "<link>",
            "[REDACTED]",
        ),
        *(
            "[Your Name]",
            "[insert name here]",
            "[Queen's name]",
            "<Insert Honey>",
            "[Ваше имя]",
            "Lorem ipsum",
            "HTTPURL",
            "bees :smile:",
        ),
    ],
    "invisible_character": [
        *(
            "\u00ad",
            "a\u200bb",
            "\ufeff",
            "\u2060",
            "\u200e",
            "\u202atext\u202c",
            "a\u200db",
            "\ufe0f",
            "мёд\u200c",
            "\u3164",
        ),
    ],
    "lookalike_word": ["сaхар", "Cотовый", "MЁД", "Аpple", "HОNЕY", "Сталiн", "слово, cлово!", "«cлово»"],
    "personal_data": [
        *("bee@hive.example", "a.bee+1@mail.hive-2.example.", "<bee@hive.example>", "mailto:bee@hive.example"),
        *("(555) 010-0199", "555-010-0199", "1-555-010-0199", "+1 (555) 010-0199", "call:555.010.0199,"),
        *("+7 (999) 010-01-99", "8-999-010-01-99", "8 (999) 010 01 99", "+79990100199", "+380 99 010 01 99"),
        *(
            "89990100199",
            "8(999)0100199",
            "7 999 010 01 99",
            "+442079460000",
            "тел. 010-01-99",
            "@bee_keeper",
            "(@bee_keeper)",
        ),
        *(
            "bee [at] hive [dot] example",
            "bee(at)hive.example",
            "bee собака mail точка ру",
            "ул. Пчелиная, д. 5",
            "Hive, CA 90210",
        ),
        *(
            "4111 1111 1111 1111",
            "5555-5555-5555-4444",
            "378282246310005",
            "2200 0000 0000 0004",
        ),  # published as examples
        *(
            "GB82 WEST 1234 5698 7654 32",
            "DE89370400440532013000",
            "мDE89370400440532013000",
            "ИНН \u0663\u0663 7707083893",
            "112-233-445 95",
            "СНИЛС 11223344595",
        ),
        *("ИНН 7707083893", "500100732259", "паспорт 45 10 123456", "серия 4510 № 123456", "192.168.0.1", "8.8.8.140"),
        *(
            "AKIA" + "Q" * 16,
            "ghp_" + ascii_letters[:36],
            "hf_" + ascii_letters[:34],
            "AIza" + ascii_letters[:35],
            "-----BEGIN PRIVATE KEY-----",
        ),
    ],
    "prompt_residue": [
        *("mead.\n\nHuman: Why?", "mead. Input: wax", "x\n  ASSISTANT: Yes", "x\n### Response:"),
        *(
            "Which? (A) wax (B) honey (C) bees",
            "Что? А) воск Б) мёд В) рой",
            "Bees fly. Answer: yes",
            "Мёд.\nМетка: еда",
        ),
        *("As an AI language model, I cannot taste it.", "Как языковая модель, я не ем мёд."),
    ],
}
# Kinds of whole texts.
WHOLE = {
    "empty_text": ["\u2800", " \u2800\u2800 ", "\u1160", "\u2003\u2800"],
    "number_text": ["1984", "-3,5 %", "10 000", "+1.5"],
    "missing_value_text": [
        *("N/A", "n/a.", "None", "null", "NaN", "--", "——", "#REF!", "#Н/Д", "[deleted]", "(пусто)", "Не указано"),
        *("нет данных", "No description"),
        *("This comment was removed.", "[Комментарий удалён модератором]", "Tweet not found", "Текст отсутствует"),
    ],
    "placeholder": ["test", "asdfgh", "xxx", "Тест.", "[your text here]"],
    "junk_text": [
        *(
            "https://honey.example/1",
            "1. www.honey.example\n2. https://wax.example",
            "%$#@!*&^%",
            "=====",
            "~~ wax ~~~~~~~~~~~",
        ),
        *(
            "мёд мёд мёд мёд мёд мёд мёд",
            "o" * 30,
            "Bees like " + "wax and honey, " * 5,
            "0L/Rh9GR0LvRiyDQtNC10LvQsNGO0YIg0LzRkdC0",
        ),
        *(
            "3f2b8c1e-0a4d-4f6b-9c2e-1d3f5a7b9c0d",
            "doc_000123",
            "IMG1234",
            "/data/hive/bee.jpg",
            "d41d8cd98f00b204e9800998ecf8427e",
        ),
        *(
            "404 Not Found",
            "Access denied",
            "Страница не найдена",
            "Please enable JavaScript to go on.",
            "Just a moment...",
        ),
        *(
            "Bees make honey... Read more",
            "Пчёлы. Читать далее »",
            "© 2014 Hive",
            "Bees. All rights reserved.",
            ".yenoh ekam seeB",
        ),
        "𝐛𝐞𝐞𝐬 make honey",
    ],
    "encoding_residue": [
        "b'wax'",
        "['wax', 'honey']",
        '["wax"]',
        "('wax', 'honey')",
        "array([1, 2])",
        "[0.5 1.5 2.5 3.5]",
    ],
    "spacing": ["Bees , wax and honey .", "мёд\xa0и\xa0воск"],
    "csv_residue": ["The bees. nan", "мёдnan", "Wax. None", "wax NaN"],
    "prompt_residue": [
        *(
            "Sure! Here is a poem.",
            "Here is the translation: wax",
            "Конечно! Вот стихи.",
            "Вот исправленный текст: мёд",
        ),
        *("I'm sorry, but I can't help with that.", "I cannot assist with that.", "К сожалению, я не могу помочь."),
    ],
    "": [
        *(
            "Нет",
            "none of these",
            "No.",
            "No",
            "?!",
            ":-)",
            "***",
            "1984 год",
            "B-52",
            "1 + 1 = 2",
            "так так так так",
            "ха-ха-ха",
        ),
        *(
            "See https://honey.example",
            "('wax')",
            "[3, 1, 2]",
            "What??",
            "что ???",
            "Sure, I will help",
            "I can't help but laugh",
        ),
        *(
            "Вот текст",
            "Donaudampfschifffahrtsgesellschaft2",
            "src/main/java/com/example/Hive2Config3File",
            "H_2 + O_2",
        ),
    ],
}
NOT_FOUND = [
    *(
        "The end.  Then bees.",
        "Well , yes.",
        "А и Б и В",
        "snake_case_name",
        "e.g. Bees",
        "What! why",
        "le\xa0miel est là",
    ),
    *("a < b > c", "<name>", "< p>", "<3", "x<y", "<pretty>", "<<p", "AT&T;", "R & D;", "&copy=1", "&;", "&#;"),
    *("<Body>", "</ Link >", "</ pretty >"),
    *("\xa0", "é", "\x7f", "_x00_", "_xyzw_", "x000D"),
    *(
        "что?ничего",
        "Что??? Да",
        "да?нет?может быть",
        "What?Why",
        "Nf3? Nc6",
        "honey.example/watch?v=wax",
        "page.php?id=1&q=2",
    ),
    *(
        "ПУФИК",
        "УФПС",
        "ВЕРНЫЙ ОТВЕТ",
        "créée",
        "jäääär",
        "INFORMAÇÕES",
        "╔═╤═╗",
        "C:\\new\\table",
        "\\nabla",
        'print("wax\\n")',
    ),
    *(
        'x = ""',
        'ООО "Фирма "Мёд""',
        "сло\u0301во",
        "a[i] = b[i]",
        "f**k and s**t",
        "5 ** 2",
        "#1 #wax",
        "costs $5 and $10_000",
    ),
    *(
        "{x}",
        "100 % s",
        "50%s",
        "[sic]",
        "<M>",
        "[note]",
        "i @ 5",
        "yвзлом",
        "массивуy",
        "idа",
        "ахахf",
        "Boeingа",
        "xвообще",
    ),
    *(
        "4111 1111 1111 1112",
        "DE89370400440532013001",
        "112-233-445 96",
        "ИНН 7707083894",
        "500100732258",
        "7707083893",
    ),
    *("1.2.3.4", "v10.0.0.117", "Chrome/91.0.4472.124", "ask-billboard-titanic-mid-90s-singers", "look at me dot com"),
    *(
        "-lrb-",
        "LRB",
        "-LXB-",
        "http://honey.example",
        "https://",
        "mqtts://hive",
        "://",
        "attp:",
        "HTTP://honey.example",
    ),
    *("\U0001f469\u200d\U0001f33e", "\u2764\ufe0f", "1\ufe0f\u20e3", "\U0001f926\U0001f3fc\u200d\u2640\ufe0f"),
    *(
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "نامه\u200cای",
        "क्\u200dष",
        "\u200eשלום\u200e",
    ),
    *(
        "IT-специалист",
        "PRщик",
        "3D-сот",
        "idА",
        "SkyТеперь",
        "web-сайт",
        "KSHMЯ",
        "мёд honey",
        "СССР USSR",
        "чайf",
        "YouTubeр",
    ),
    *("bee@hive", "@ 5 pm", "bee @ hive.example", "a@b.c"),
    *(
        "2008-2009",
        "555-0199",
        "978-0-555-01019-9",
        "978-555-010-0199-1",
        "2021-01-01 12:00",
        "1,555,010,019",
        "12345678901",
        "555-01-0199",
    ),
    *("8 999 тонн", "192.168.100.1000", "3.1415926535", "10 000 000 000"),
    *(
        "Human: Why?\n\nAssistant: So.",
        "\n\nHuman: a\n\nAssistant: b",
        "The input: wax",
        "a human: b",
        "x\nNote: y",
        "Output: 5",
    ),
]


SURROUNDED = ("{} after", "before {} after", "before {}")


def kinds_of(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """The kinds of finding in each text by itself; the texts are the rows of one table."""
    labels = [("wax", "honey")[row % 2] for row in range(len(texts))]
    frames = {"default": {"test": pl.LazyFrame({"sentences": texts, "labels": labels})}}
    kinds: dict[str, list[str]] = {text: [] for text in texts}
    for table in audit_tables(TASKS["Clustering"], frames, ("test",)):
        if table.finding.kind in OF_ONE_TEXT:
            for position in table.rows.collect()["position"]:
                kinds[texts[position]].append(table.finding.kind)
    return kinds


@cache
def kinds_of_surrounded() -> dict[str, list[str]]:
    texts = [*(text for several in FOUND.values() for text in several), *NOT_FOUND]
    return kinds_of(tuple(form.format(text) for text in texts for form in SURROUNDED))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
def test_what_does_not_belong_in_a_text_is_found(kind: str, text: str) -> None:
    for form in SURROUNDED:
        assert kinds_of_surrounded()[form.format(text)] == [kind]


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_looks_a_little_like_it_is_not_found(text: str) -> None:
    for form in SURROUNDED[:1] if text.strip().startswith("Human:") else SURROUNDED:
        assert kinds_of_surrounded()[form.format(text)] == []


@cache
def kinds_of_whole() -> dict[str, list[str]]:
    return kinds_of(tuple(text for texts in WHOLE.values() for text in texts))


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in WHOLE.items() for text in texts])
def test_a_text_as_a_whole_is_of_a_kind(kind: str, text: str) -> None:
    assert kinds_of_whole()[text] == ([kind] if kind else [])


def test_texts_are_searched_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "MAX_SUSPECTS", 3)
    monkeypatch.setattr(survey_module, "FEW", 0)  # as large tables are read
    assert kinds_of(tuple(kinds_of_whole())) == kinds_of_whole()


def test_the_detail_of_a_finding_counts_each_of_its_parts() -> None:
    texts = [
        "bee@hive.example",
        "Bee 555-010-0199, 4111111111111111",
        "wax",
        "Wax, ИНН 7707083893",
        "bee [at] hive.example",
    ]
    table = pl.LazyFrame({"sentences": texts, "labels": ["wax", "honey", "wax", "honey", "wax"]})
    findings = audit_rows(tasks.Clustering(), {"default": {"test": table}}, ("test",))
    [found] = [finding for finding in findings if finding.kind == "personal_data"]
    detail = "e-mail addresses 1, masked e-mail addresses 1, phone numbers 1, payment cards 1, tax numbers 1"
    assert (found.count, found.detail) == (4, detail)


LONG, SHORT = "The queen lays two thousand eggs a day", "They swarm in May"


@pytest.mark.parametrize(
    ("kind", "text", "is_found"),
    [
        ("double_full_stop", "Wax..", True),
        ("double_full_stop", "Wax.. \n", True),
        ("double_full_stop", "Wax...", False),
        ("double_full_stop", "W.. ax.", False),
        ("repeated_sentence", f"{LONG}. {LONG}.", True),
        ("repeated_sentence", f"{LONG}! So it is. {LONG}!", True),
        ("repeated_sentence", f"{LONG}\n\n  {LONG}", True),
        ("repeated_sentence", f"{LONG}.\n{LONG}.", True),
        ("repeated_sentence", f"So it is. {LONG}, as e.g. Mr. Bee says? No. {LONG}, as e.g. Mr. Bee says?", True),
        ("repeated_sentence", f"{LONG} in the Hive of Wax Bros. {LONG} in the Hive of Wax Bros.", False),
        ("repeated_sentence", f"{LONG}, says Mr. Bee. So it is. {LONG}, says Mr. Bee. ", True),
        ("repeated_sentence", "Games of honey by Wax Bros. for bees, games of honey by Wax Bros. for bears.", False),
        ("repeated_sentence", f"{LONG}. {LONG}!", False),
        ("repeated_sentence", f"{LONG}. {LONG.lower()}.", False),
        ("repeated_sentence", f"{LONG} and {LONG}.", False),
        ("repeated_sentence", f"{SHORT}. {SHORT}.", False),
        ("repeated_sentence", "www.a-long-name-of-a-hive.example/1 www.a-long-name-of-a-hive.example/2", False),
    ],
)
def test_full_stops_are_double_at_the_end_and_sentences_repeated_from_twenty_characters(
    kind: str, text: str, is_found: bool
) -> None:
    assert (kind in kinds_of((text,))[text]) == is_found


def wrong_script(texts: list[str], *expected: str) -> list[str]:
    frame = pl.DataFrame({"text": texts})
    return frame.filter(in_wrong_script(pl.col("text"), expected))["text"].to_list()


@pytest.mark.parametrize(
    ("texts", "expected", "wrong"),
    [
        (["ok", "да", "μ", "Wi-Fi есть", "2 + 2", "", "…"], ["Cyrl"], ["ok", "μ"]),
        (["ok", "да", "μ", "2 + 2"], ["Latn"], ["да", "μ"]),
        (["ok", "да", "μ"], ["Latn", "Cyrl"], ["μ"]),
        (["𝒜𝒷𝒸", "ʼ", "ª", "№ 5"], ["Cyrl"], ["ª"]),
        (["東京", "ひらがな", "カタカナ", "한글"], ["Jpan"], ["한글"]),
        (["東京", "ひらがな", "한글"], ["Kore"], ["ひらがな"]),
    ],
    ids=["Cyrillic", "Latin", "two scripts", "letters of no single script", "Japanese", "Korean"],
)
def test_a_text_without_a_letter_of_its_scripts_is_in_a_wrong_script(
    texts: list[str], expected: list[str], wrong: list[str]
) -> None:
    assert wrong_script(texts, *expected) == wrong


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
    assert [finding for finding in findings if finding.kind == "wrong_script"] == [
        Finding("wrong_script", "warning", "default", "test", "sentences", 2, 2 / 6, row_names(table, 2, 4))
    ]
    findings = audit_rows(tasks.Clustering(), frames, ("test",))
    assert not [finding for finding in findings if finding.kind == "wrong_script"], (
        "without languages, scripts are unknown"
    )


def test_each_side_of_a_bitext_has_its_own_script() -> None:
    table = pl.DataFrame({"id": ["a", "b", "c"], "sentence1": ["yes", "no", "да"], "sentence2": ["да", "no", "нет"]})

    def found(pair: str, *languages: str) -> dict[str, tuple[str, ...]]:
        findings = audit_rows(tasks.BitextMining(pair), {pair: {"test": table.lazy()}}, ("test",), languages)
        return {finding.column: finding.examples for finding in findings if finding.kind == "wrong_script"}

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
    found = {finding.location: finding.examples for finding in findings if finding.kind == "wrong_script"}
    assert found == {"corpus/test.text": ("d2",), "queries/test.text": ("q2",)}
