"""Ratings in film reviews: which are removed, what is kept, and how the text around them is repaired.

The sentences are invented, in the forms of real reviews. The last tests read real reviews, if these are available.
"""

import json
import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.rumteb.kinopoisk import remove_ratings
from builders.rumteb.kinopoisk.more_rules import MORE_RULES
from builders.rumteb.kinopoisk.rules import GAP, RULES, SHIELD, Rule


def clean(*texts: str, thorough: bool = True) -> list[str]:
    known = clean_known_texts(thorough) if set(texts) <= known_texts() else clean_texts(list(texts), thorough)
    return [known[text] for text in texts]


def clean_texts(texts: list[str | None], thorough: bool) -> dict[str | None, str]:
    after = pl.select(remove_ratings(pl.Series("text", texts, pl.String), thorough=thorough)).to_series()
    return dict(zip(texts, after, strict=True))


@cache
def known_texts() -> frozenset[str]:
    """The texts of the tables below: cleaned together, because the regular expressions are compiled for every call."""
    removed = REMOVED | REMOVED_FROM_2_0_0
    examples = [example for rule in (*RULES, *MORE_RULES) for example in rule.examples]
    texts = [*removed, *removed.values(), *KEPT, *KEPT_FROM_2_0_0, *KEPT_IN_ALL, *examples]
    return frozenset([*texts, *(text.replace(" ", "\u00a0") for text in removed)])


@cache
def clean_known_texts(thorough: bool) -> dict[str | None, str]:
    return clean_texts([*sorted(known_texts()), None], thorough)


REMOVED = {
    # on a line of its own, at the end or in the middle of the text
    "Смотреть всем.\n\n10 из 10": "Смотреть всем.",
    "Смотреть всем. \n\n10 из 10 \n": "Смотреть всем. \n",
    "Смотреть всем.\n\n8,5 из 10\n\nP. S. Берите платки.": "Смотреть всем.\n\nP. S. Берите платки.",
    "\n9 из 10\n\nТакого я не ждал.": "\nТакого я не ждал.",
    "Смотреть всем.\n\n10 из 10!": "Смотреть всем.",
    "Смотреть всем.\n\n10 из 10 :)": "Смотреть всем.",
    "Смотреть всем.\n\n10/10": "Смотреть всем.",
    "Смотреть всем.\n\n**8 из 10**": "Смотреть всем.",
    "Смотреть всем.\n\n[7 из 10]\n(58%), берите платки.": "Смотреть всем.\nберите платки.",
    "Сюжет. Игра.\n\n9 и 10\n\nСудите сами.": "Сюжет. Игра.\n\nСудите сами.",
    "Сойдёт.\n\n3 из 5": "Сойдёт.",
    "Сойдёт.\n\n8, 5 из 10": "Сойдёт.",
    "Сойдёт.\n\n9.5. из 10": "Сойдёт.",
    "Сойдёт.\n\n10+ из 10": "Сойдёт.",
    "Сойдёт.\n\n6 из 10-ти": "Сойдёт.",
    "Сойдёт.\n\n6 из10": "Сойдёт.",
    "Сойдёт.\n\n∞ из 10": "Сойдёт.",
    "Сойдёт.\n\n11 по десятибалльной шкале.": "Сойдёт.",
    "Сойдёт.\n\n8 из": "Сойдёт.",
    "Сойдёт.\n\nСемёрка.": "Сойдёт.",
    "Смотреть. Восемь!": "Смотреть. ",
    "10 из 10\n10 из 10": "",
    # with a label, which is removed too
    "Смотреть всем.\n\nОценка: 8": "Смотреть всем.",
    "Смотреть всем.\n\nМоя оценка 10/10.": "Смотреть всем.",
    "Смотреть всем.\n\nМоя оценка этому фильму\n\n8 из 10": "Смотреть всем.",
    "Смотреть всем.\n\n**Итог: 7,5 из 10**": "Смотреть всем.",
    "Смотреть всем. Мой вердикт: твёрдая восьмёрка. Берите платки.": "Смотреть всем. Берите платки.",
    "Как итог: 9 из 10. Берите платки.": "Берите платки.",
    "Ставлю старой сказке ДЕСЯТЬ из десяти!": "",
    # in the middle of a sentence: the number is removed, the words are kept
    "Ставлю ему 9 из 10, но пересматривать не стану.": "Ставлю ему, но пересматривать не стану.",
    "Сказке ставлю 10 из 10 и бегу за билетом.": "Сказке ставлю и бегу за билетом.",
    "Кот тянет на оценку 10 из 10 и на пенсию.": "Кот тянет на оценку и на пенсию.",
    "Оценки 10 из 10 здесь чаще, чем зрители.": "Оценки здесь чаще, чем зрители.",
    "Ай да кот! 10 из 10": "Ай да кот! ",
    "Трогает за душу. 10 из 10. Всем советую.": "Трогает за душу. Всем советую.",
    "10 из 10, советую!": "советую!",
    "10 из 10 — и точка! Браво!": "и точка! Браво!",
    "8 из 10 за игру и за свет, меньше не могу.": "за игру и за свет, меньше не могу.",
    "8 из 10 (а коту 10 из 10 и сметаны)": "(а коту и сметаны)",
    "8 из 10, ваш Пётр": "ваш Пётр",
    "По утрам это 0 из 100, по вечерам 100 из 10.": "По утрам это, по вечерам.",
    "Финал потянул бы на 7-8 из 10.": "Финал потянул бы.",
    # points
    "10 баллов. Ждём второй серии.": "Ждём второй серии.",
    "Дарю 8 баллов за кота и два часа тишины.": "Дарю за кота и два часа тишины.",
    "9 баллов из 10 возможных!": "",
    "Хорошему мальчику и его собаке\n\n10 из 10 баллов.": "Хорошему мальчику и его собаке",
    "Один балл из десяти, и тот из жалости.": "и тот из жалости.",
    "Сцена у реки на 11 баллов из 10.": "Сцена у реки.",
    "Знакомый дал ему семь баллов, а я спорил.": "Знакомый дал ему, а я спорил.",
    "Ноль баллов, и тот из жалости.": "и тот из жалости.",
    "Тянет на семь с половиной баллов.": "Тянет.",
    "Коту 9 из возможных 10.": "Коту.",
    "Оценка: 5 сонных котов из 10.": "",
    # marks without a scale
    "Больше не дам, ставлю сразу 6, потому что уснул.": "Больше не дам, ставлю сразу, потому что уснул.",
    "Картине ставлю 2. Кот не виноват.": "Кот не виноват.",
    "Финал не понял, а ставлю крепкую 9.": "Финал не понял, а ставлю крепкую.",
    "Его оценка выше 7, как ни считай.": "Его оценка выше, как ни считай.",
    "Выспался и дал 10-ку.": "Выспался и дал.",
    "Дам режиссёру честную 4-ку, и довольно.": "Дам режиссёру честную, и довольно.",
    "Тётя поставила сказке десятку.": "Тётя поставила сказке.",
    "Коту я и десятку поставил бы.": "Коту я и поставил бы.",
    "Кот сыграл, как всегда, на пятёрку.": "Кот сыграл, как всегда.",
    "Погоня снята на троечку.": "Погоня снята.",
    "Кот играет на 5 с плюсом и не устаёт.": "Кот играет и не устаёт.",
    "Сосед сказал «7». Врёт.": "Сосед сказал. Врёт.",
    # marks spelled out
    "Ставлю пять, и точка.": "Ставлю, и точка.",
    "Ждал фильма с оценкой шесть. Зря.": "Ждал фильма с оценкой. Зря.",
    "От меня семь с половиной, от кота ничего.": "От меня, от кота ничего.",
    "С меня и семи хватит.": "С меня и хватит.",
    "И семь — хорошая оценка для кота.": "И — хорошая оценка для кота.",
    "За географию — садитесь, два.": "За географию — садитесь.",
    "Сюжет (8), игра котов (9).": "Сюжет, игра котов.",
    # marks mentioned in passing
    "Сосед по оценке «10» его и нашёл.": "Сосед по оценке его и нашёл.",
    "Друзья дали две оценки (4 и 10).": "Друзья дали две оценки.",
    "Первый сезон — тоска (6,9), «Кот» (8) веселее.": "Первый сезон — тоска, «Кот» веселее.",
    "Оценил бы на 4 из 5, но кот!": "Оценил бы, но кот!",
    "Поставил бы все 12.": "Поставил бы.",
    "Увы, только 7.": "Увы.",
    "За кота всё-таки 7! Но не больше.": "За кота! Но не больше.",
    "Максимум 6, и то спросонья.": "и то спросонья.",
    "Это «почти десятка», не хватило кота.": "Это, не хватило кота.",
    "Отдельные 10 — коту.": "коту.",
    "В общем, троечка всем.": "В общем, всем.",
    "Свою пятёрочку я отдам коту.": "Свою я отдам коту.",
    "Меньше восьмёрки я, увы, не могу.": "я, увы, не могу.",
    "Ему 10-ку влепил и не жалею.": "Ему влепил и не жалею.",
    "«Кошкин дом», 10 заслужена.": "«Кошкин дом», заслужена.",
    "Пёс лаял (до 10, по-моему, не дотягивает).": "Пёс лаял (по-моему, не дотягивает).",
    "Ставлю фильму 5 звёздочек.": "",
    "Пять звёзд из пяти, не меньше.": "не меньше.",
    # what a mark is for, and how well something was done
    "P. S. Четвёрка за первую половину.": "P. S. за первую половину.",
    "Грустно.\n\n(двойка только за кота)": "Грустно.\n\n(только за кота)",
    "10 минус 3 за погоню.": "за погоню.",
    "Кот играет на 4. Пёс спит.": "Кот играет. Пёс спит.",
    "Пёс сыграл на десятку роль хозяина.": "Пёс сыграл роль хозяина.",
    "Погоня проработана на все 5 — и без дублёров.": "Погоня проработана — и без дублёров.",
    "Если не на шесть, то на пять с плюсом.": "Если не, то.",
    "До восьми не дотягивает, музыка на 10!": "не дотягивает, музыка!",
    # parts of a film
    "Сюжет — 5\nАктёры — 4\nМузыка: 10.": "Сюжет\nАктёры\nМузыка.",
    "9 — за кота.\n7 — за погоню.": "за кота.\nза погоню.",
    "Звери (кот, пёс) 9/10": "Звери (кот, пёс)",
    "Кот Василий — 4,5, держался до конца.": "Кот Василий, держался до конца.",
}

KEPT = [
    # things counted
    "До титров досидели 10 из 10 зрителей.",
    "Из полки в прокат дошли 8 из 10 фильмов.",
    "Я видел 9 из 10 его последних картин.",
    "8 из 10 опрошенных уснули.",
    "Это один из десяти лучших фильмов года.",
    "7 из 10 раз он промахивается.",
    "3 из 5 серий можно пропустить.",
    "Шанс выжить — один из десяти.",
    "Ставлю девять из десяти на то, что он вернётся.",
    "Итог: 5 человек из 10 погибли. Оценивали 5 экспертов из 10.",
    "Ушли на охоту 5, пришли 4.",
    "Четвёрка друзей на месте, а кот входит в тройку лучших.",
    "Около десятка котов, пара-тройка псов, две семёрки козырей.",
    "Пара-троечка, и домой. Восьмёрка «воинов» в сборе.",
    "Сплошной ноль, а не сюжет. Ноль эмоций.",
    "Живут они дружно, пять за столом, три за дверью.",
    "Каждый помогает троим, итого девять, дальше двадцать семь.",
    "Сколько ему лет? Десять! Он ушёл. Три! Два! Один!",
    "Ей дали лет пять, не больше. Дали им три, и хватит.",
    "Максимум 3 раза, ровно 5 минут, хотя бы на два дня.",
    "Тянется минут десять, идёт почти 3,5 часа, играет до 10 вечера.",
    # dates, years, lengths, money
    "Снят в 1998 году, вышел 8/10/2009, идёт 2,5 часа.",
    "Бюджет 10 000 000 долларов, сборы 9,5 миллиона.",
    "Рейтинг 18+, и правильно. Рейтинг: PG-13, рейтинг 6+.",
    # scores, shares, percentages
    "Матч кончился со счётом 3:2, первый тайм — 1:0.",
    "Кот ведёт 10:0.",
    "Прочёл я 1/10 часть книги. Кухня занимает 1/6 квартиры.",
    "Он выложился на все 100%. Вероятность 50/50.",
    # titles and numbers of parts
    "«Брат 2» лучше, чем «9 рота» и «Крик 3».",
    "Пересмотрел «7 самураев» и «Миссию 2».",
    "1. Сюжет. 2. Музыка.\n\n1) начало\n2) конец",
    "Мои оценки:\n\n1. Сюжет хорош.\n2. Музыка тоже.",
    "Он ставит вопросы:\n\n1. Кто прав?\n2. Кто виноват?",
    "Брат(1) лучше, чем «Чужой» (2).",
    # praise without a number, points that are not a rating
    "Высший балл от меня. Высшая оценка!",
    "За сцену в лесу минус два балла, за кота + 1 балл.",
    "+2 за кота, и плюс 1 за пса.",
    "Удалось на все 100 баллов. Вера в него падала на 1 балл в минуту.",
    "Шторм в 9 баллов снят честно, и землетрясение 7 баллов по шкале Рихтера тоже.",
    "Школьный бал и сто балетов.",
    # verbs of marking in other senses
    "Оператор ставит 2 камеры, режиссёр ставит 5 условий.",
    "В итоге 2 часа прошли зря. Оценили 40 тысяч человек.",
    "Дам вам 5 минут. Доставил 3 письма. Составил список из 10.",
    "Стрела попала в десятку. Прямо в десяточку, как говорится.",
    "До триллера он не дотягивает.",
]


# Of version 2.0.0: ratings that 1.0.0 cuts in half or keeps.
REMOVED_FROM_2_0_0 = {
    "Сойдёт.\n\n4 балла из 5": "Сойдёт.",
    "Сойдёт.\n\n4.5/5": "Сойдёт.",
    "Сойдёт.\n\n3,5/5": "Сойдёт.",
    "Сойдёт.\n\n8.5 из 10.0": "Сойдёт.",
    "Сойдёт.\n\n8 1/2 из 10": "Сойдёт.",
    "Сойдёт.\n\n7 баллов из 12": "Сойдёт.",
    "Моя оценка 4 балла из 5, не больше.": "Моя оценка, не больше.",
    "Сойдёт.\n\n8 (из 10)": "Сойдёт.",
    "Сойдёт.\n\n10 (десять) из 10": "Сойдёт.",
    "Сойдёт.\n\n85/100": "Сойдёт.",
    "Сойдёт.\n\nчетыре из пяти": "Сойдёт.",
    "Сойдёт.\n\n4 из 5 звёзд": "Сойдёт.",
    "Сойдёт.\n\nОценка: 9 - отлично": "Сойдёт.\n\nОценка: отлично",
    "Сойдёт.\n\nСюжет: 8. Игра: 9.": "Сойдёт.\n\nСюжет. Игра.",
    "Сойдёт.\n\n5 звёзд": "Сойдёт.",
    "Мой балл 85/100.": "Мой балл.",
}
# Of version 2.0.0: what 1.0.0 removes by mistake.
KEPT_FROM_2_0_0 = [
    "Мультфильм «9» не для детей.",
    "Рон (10) и Гарри.",
    "Пила — 5",
    "Смотрел вчера.\n\nПила — 5\n\nСтрашно, аж жуть.",
    "90 баллов на экзамене.",
    "Дети набрали 90 баллов, и все рады.",
    "Чемпионат 2008/10.",
]
# What both versions keep, but further rules might remove.
KEPT_IN_ALL = [
    "Четыре из пяти друзей уснули.",
    "Отель 5 звёзд стоял у моря.",
    "5 звёзд Голливуда в кадре.",
    "Шанс выжить — один из пяти.",
    "Сезон 1999/2000, 3 из 5, что он видел.",
]


@pytest.mark.parametrize(("text", "left"), (REMOVED | {text: text for text in [*KEPT, *KEPT_IN_ALL]}).items())
@pytest.mark.parametrize("thorough", [True, False])
def test_a_rating_is_removed_and_what_only_looks_like_one_is_kept(text: str, left: str, thorough: bool) -> None:
    assert clean(text, thorough=thorough) == [left]


@pytest.mark.parametrize(("text", "left"), (REMOVED_FROM_2_0_0 | {text: text for text in KEPT_FROM_2_0_0}).items())
def test_2_0_0_removes_ratings_in_more_forms_and_keeps_more_of_what_only_looks_like_one(text: str, left: str) -> None:
    assert clean(text) == [left]
    assert clean(text, thorough=False) != [left]


@pytest.mark.parametrize("text", REMOVED | REMOVED_FROM_2_0_0)
def test_a_rating_is_removed_whatever_its_white_space(text: str) -> None:
    expected = (REMOVED | REMOVED_FROM_2_0_0)[text]
    assert clean(text.replace(" ", "\u00a0")) == [expected.replace(" ", "\u00a0")]


@pytest.mark.parametrize("text", [*REMOVED.values(), *REMOVED_FROM_2_0_0.values()])
def test_a_text_without_ratings_is_unchanged(text: str) -> None:
    assert clean(text) == [text]


@pytest.mark.parametrize("rules", [RULES, MORE_RULES], ids=["rules", "more rules"])
def test_the_examples_of_a_rule_are_matched_by_that_rule(rules: tuple[Rule, ...]) -> None:
    text = pl.Series([example for rule in rules for example in rule.examples])
    start = 0
    for rule in rules:
        examples = slice(start, start + len(rule.examples))
        assert text[examples].to_list() == list(rule.examples), "an earlier rule matches it"
        text = text.str.replace_all(rule.pattern, rule.replacement)
        assert all((GAP if rule.rating else SHIELD) in one for one in text[examples])
        for example in rule.examples:
            assert (clean(example, thorough=rules is MORE_RULES) == [example]) is not rule.rating
        start = examples.stop


words = st.text("абвгдёЖЮя,—()!?« \u00a0\n", max_size=40)


RATINGS = st.sampled_from(["10 из 10", "7/10", "9 баллов", "**8,5 из 10**!"])


@settings(max_examples=4)  # of many texts: the regular expressions are compiled for every example
@given(
    st.lists(words, max_size=20),
    st.lists(st.tuples(words, RATINGS), max_size=10),
    st.lists(st.text("1089 ,./\\—:()\nизбаловцеквт", max_size=60), max_size=20),
)
def test_only_ratings_are_removed_and_no_internal_markers_remain(
    plain: list[str], rated: list[tuple[str, str]], others: list[str]
) -> None:
    expected = {text: text for text in plain}
    for words, rating in rated:
        text = f"Я{words}я"
        expected |= {f"{text}\n\n{rating}": text, f"\n{rating}\n\n{text}": f"\n{text}"}
        expected[f"{text}\n\n{rating}\n\n{text}"] = f"{text}\n\n{text}"
    after = clean(*expected, *others)
    assert after[: len(expected)] == list(expected.values()), "only a rating on its own line is removed"
    for old, new in zip(others, after[len(expected) :], strict=True):
        assert not {GAP, SHIELD} & set(new)
        assert len(new) <= len(old)


def test_a_null_stays_null() -> None:
    assert clean_known_texts(True)[None] is None


def read_contents(path: Path) -> list[str]:
    return [json.loads(line)["content"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("thorough", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_1669_of_2473_real_reviews_have_ratings_and_none_remains(real_sources: Path, thorough: bool) -> None:
    names = "blinoff.record0.jsonl", "kinopoisk.standin.jsonl"
    record, *before = (text for name in names for text in read_contents(real_sources / "kinopoisk" / name))
    cleaned_record, *after = clean(record, *before, thorough=thorough)
    assert record == f"{cleaned_record}\n\n10 из\u00a010"
    assert len(before) == 2473
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1669
    assert clean(*after, thorough=thorough) == after

    def count_matches(texts: list[str], pattern: str) -> int:
        return sum(re.search(pattern, text) is not None for text in texts)

    # Counted independently of the rules.
    out_of_ten = r"\d\+?\s+из\s+10\b|(?:10|\d)/10\b(?!\s+часть)"
    assert (count_matches(before, out_of_ten), count_matches(after, out_of_ten)) == (1626, 0)
    points = r"\d\s+балл"
    assert (count_matches(before, points), count_matches(after, points)) == (33, 5), (
        "+1, -1, a drop by 1, and `на все ... баллов` twice"
    )
