"""What counts as a rating in a Russian film review, and what only looks like one.

A rating is a number, in digits or spelled out, that marks a film or a part of it on a scale, no matter who gave it: "8 из 10",
"девять баллов", "Оценка: 8", "твёрдая четвёрка", "Сюжет — 5". Not ratings: praise without a number ("высший балл"), numbers that
count things or state a date, a sports score, a share or a probability, and points added or subtracted.

RULES are applied in order; text matched by one rule is hidden from the next ones. Rust's regular expressions have no look-around:
the context of a rating is matched with it and put back.
"""

from dataclasses import dataclass

from builders.rumteb.kinopoisk.vocabulary import (
    A_MARK,
    AFTER,
    BARELY,
    BEFORE,
    BLANK,
    COUNTED,
    FIRM,
    LABELLING,
    MARK,
    MARKED,
    MARKING,
    NO_NOUN,
    NUMBER,
    OF_TEN,
    PARTS,
    POINTS,
    QUOTED_MARK,
    RANGE,
    REACHING,
    SCHOOL_MARK,
    SMALL_SCHOOL_MARK,
    WITH_PLUS,
    WORD,
)

# Noncharacters, which Unicode reserves for internal use.
GAP = "\ufdd0"  # replaces a rating
SHIELD = "\ufdd1"  # goes into text that only looks like a rating, so that no later rule matches it


@dataclass(frozen=True)
class Rule:
    """A pattern, with examples that it matches.

    rating: whether a match is a rating, which is removed except for the groups `before`, `after` and `end`. Otherwise it only
    looks like a rating: its groups `number` and `rest` cover all of it and are kept, and no later rule matches it.
    """

    examples: tuple[str, ...]
    pattern: str
    rating: bool = True

    @property
    def replacement(self) -> str:
        """The replacement of a match, in the syntax of Rust's regular expressions."""
        return f"${{before}}{GAP}${{after}}${{end}}" if self.rating else f"${{number}}{SHIELD}${{rest}}"


RULES = (
    Rule(
        ("+1 балл", "минус два балла", "на все 100 баллов", "шторм в 9 баллов", "мнение падало на 1 балл"),
        rf"(?i)(?P<number>(?:минус|плюс|[-+−]|на{BLANK}+все|(?:шторм|ветр|волн|землетряс|толчк)\p{{L}}*{WORD}{{0,2}}"
        rf"|(?:пада|упа|сни[жз]|подн|вырос)\p{{L}}*{WORD}{{0,2}}{BLANK}+на){BLANK}*{NUMBER})"
        rf"(?P<rest>{BLANK}+{POINTS})",
        rating=False,
    ),
    Rule(
        ("два балла минус", "7 баллов по шкале Рихтера"),
        rf"(?i)(?P<number>{NUMBER})(?P<rest>{BLANK}+{POINTS}{BLANK}+(?:минус|по{BLANK}+(?:шкале{BLANK}+)?(?:Рихтер|Бофорт|Цельси)))",
        rating=False,
    ),
    Rule(
        ("9 баллов", "девять твёрдых баллов", "9 баллов из 10", "10 баллов из возможных", "10 из 10 возможных"),
        rf"(?i){BEFORE}{NUMBER}(?:{OF_TEN}?{BLANK}+(?:\p{{L}}+[ыи]х{BLANK}+)?{POINTS}{OF_TEN}?(?:{BLANK}+(?:из{BLANK}+)?возможных)?"
        rf"|{OF_TEN}{BLANK}+возможных){AFTER}",
    ),
    Rule(
        ("10 из 10 зрителей", "8 из 10 фильмов", "9 из 10 его последних картин", "7 из 10 опрошенных"),
        rf"(?i)(?P<number>{NUMBER})(?P<rest>{OF_TEN}{BLANK}+{COUNTED})",
        rating=False,
    ),
    Rule(
        ("шанс выжить — один из десяти", "с вероятностью 9 из 10"),
        rf"(?i)(?P<number>(?:шанс|вероятност)[^.!?0-9\n]{{0,60}}{BLANK}{NUMBER})(?P<rest>{OF_TEN})",
        rating=False,
    ),
    Rule(
        ("1/10 часть", "8/10/2009"),
        r"(?i)(?P<number>[0-9])(?P<rest>[/\\][0-9]+(?:[/\\]|\s+(?:част|дол)\p{L}))",
        rating=False,
    ),
    Rule(
        (
            "8 из 10",
            "8,5 из 10",
            "7-8 из 10",
            "ДЕСЯТЬ из десяти",
            "7/10",
            "11 по десятибалльной шкале",
            "Оценка: 5 сонных котов из 10",
        ),
        rf"(?i){BEFORE}(?:{NUMBER}(?:{OF_TEN}|\s?[/\\]\s?10"
        rf"|{BLANK}+по{BLANK}+[-0-9\p{{L}}]+балл?ьной{BLANK}+(?:шкале|системе))|оценка:{BLANK}*{NUMBER}{WORD}{{1,2}}{OF_TEN}){AFTER}",
    ),
    Rule(
        ("Сюжет — 5", "Музыка, костюмы: 9.", "Том Круз — 4,5, как всегда"),
        rf"(?m)(?P<before>^[\p{{L}},()\s--\n]+(?:{BLANK}[—–-]|:){BLANK}*){MARK}(?P<after>{BLANK}*[.!]*{BLANK}*$|,{BLANK}\p{{L}})",
    ),
    Rule(
        ("10!", "9 и 10", "3 из 5", "8 из", "Восемь.", "Не шедевр. Семь!"),
        rf"(?im)(?P<before>^{BLANK}*|(?:[а-яё]{{3}}\.|[!…]){BLANK}+){A_MARK}"
        rf"(?:{BLANK}*(?:и|из|-|–){BLANK}*[0-9]*)?(?P<after>[!+]*{BLANK}*$|\.\s*\z)",
    ),
    Rule(
        (
            "9 — за музыку",
            "Грустно. Четвёрка только за финал",
            "(двойка за кота)",
            "10 минус 3 за финал",
            "10, однозначно!",
        ),
        rf"(?im)(?P<before>^{BLANK}*|[.!?…(]{BLANK}*)(?:{MARK}|{SCHOOL_MARK})(?:{BLANK}+минус{BLANK}+{MARK})?"
        rf"(?P<after>(?:{BLANK}*[—–-])?{BLANK}+(?:(?:только|лишь|исключительно){BLANK}+)?за{BLANK}|,?{BLANK}+(?:конечно|однозначно)[^\p{{L}}])",
    ),
    Rule(
        ("ужасы (6,9)", "«Форсаж» (7)", "две оценки (4 и 10)"),
        rf"(?P<before>[\p{{L}}»]{BLANK}+)\((?:[5-9]|10|[0-9][.,][0-9]{{1,2}}|{MARK}{RANGE})\)",
    ),
    Rule(
        ("(66%)", "Не шедевр. 75%"),
        rf"(?m)(?P<before>^{BLANK}*|[.!?…]{BLANK}+)(?:\([0-9]+%\)|[0-9]+%(?P<after>{BLANK}*$))",
    ),
    Rule(
        (
            "Оценка: 8 за игру",
            "моя оценка не 10, а",
            "ставлю твёрдую 9.",
            "поставила бы фильму десятку",
            "картина с оценкой семь.",
            "по оценке «10» у друга",
            "оценил бы на 4 из 5.",
            "от меня семь с половиной.",
            "За логику садитесь, два.",
            "Итог такой: 8 за игру",
            "поставил бы все 12.",
        ),
        rf"(?i)(?P<before>(?:^|[^\p{{L}}])(?:{MARKING}{WORD}{{0,3}}?|{LABELLING}{WORD}{{0,3}}?{BLANK}*[:—–=-])"
        rf"(?:{BLANK}|[:—–=(-])+)(?:(?:на|в){BLANK}+)?"
        rf"(?:{QUOTED_MARK}|(?:{A_MARK}{RANGE}?{WITH_PLUS}?|(?:все|и){BLANK}+[0-9]{{2,3}})(?:{BLANK}+зв[её]з?д\p{{L}}*)?{NO_NOUN})",
    ),
    Rule(
        (
            "Актёры сыграли на 4.",
            "если не на шесть, то",
            "не дотягивает до восьми.",
            "сыграл на десятку роль",
            "музыка на 10!",
        ),
        rf"(?i)(?P<before>(?:^|[^\p{{L}}])(?:{REACHING}{WORD}{{0,3}}?|{PARTS}|если{BLANK}+не|бы)){BLANK}+(?:на|до){BLANK}+"
        rf"(?:{SCHOOL_MARK}(?P<end>[^\p{{L}}])|{A_MARK}{RANGE}?{WITH_PLUS}?{NO_NOUN})",
    ),
    Rule(
        (
            "10 не поставлю",
            "и десятку поставить",
            "10-ку влепил",
            "10 заслуженна",
            "и семи хватит",
            "восемь — хорошая оценка",
            "до 10 чуть не дотягивает",
        ),
        rf"(?i){BEFORE}(?:{A_MARK}(?P<after>{BLANK}+(?:(?:не{BLANK}+)?{MARKED}|[—–-]{WORD}{{0,2}}{BLANK}+(?:оценка|результат)))"
        rf"|до{BLANK}+{A_MARK}(?P<end>[^\p{{L}}0-9][^.!?0-9\n]{{0,40}}дотя[гн]))",
    ),
    Rule(
        ("твёрдая четвёрка", "на твёрдые 8,5.", "5 с плюсом", "моя 10-ка", "«7»", "4/5", "пять звёзд из пяти"),
        rf"(?i){BEFORE}(?:на{BLANK}+)?(?:{FIRM}{BLANK}+(?:{QUOTED_MARK}|{A_MARK}){WITH_PLUS}?|{A_MARK}{WITH_PLUS}|{MARK}-?к[ауие]|«{MARK}»"
        rf"|[0-5]/5|{A_MARK}{BLANK}+зв[её]зд\p{{L}}*{BLANK}+из{BLANK}+{A_MARK}){NO_NOUN}",
    ),
    Rule(
        (
            "на троечку",
            "ближе к десятке",
            "никак не ниже 9.",
            "проработан на все 5.",
            "увы, только 7.",
            "«почти десятка»",
        ),
        rf"(?i){BEFORE}(?:(?:на|до|к|меньше){BLANK}+{SCHOOL_MARK}|{BARELY}{BLANK}+(?:{MARK}|{SCHOOL_MARK})){NO_NOUN}",
    ),
    Rule(
        ("В общем, троечка всем.", "свою семёрочку я ставлю"),
        rf"(?im)(?P<before>^|[^\p{{L}}\p{{N}}\s-]{BLANK}*|\p{{L}}{{2}}{BLANK}+){SMALL_SCHOOL_MARK}{NO_NOUN}",
    ),
)
