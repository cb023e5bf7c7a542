"""Ratings that the authors of Russian film reviews write into them, and how they are taken out.

A rating is a number, in digits or spelt out, that marks a film or a part of it on a scale of marks, whoever gave it: "8 из 10",
"девять баллов", "Оценка: 8", "твёрдая четвёрка", "Сюжет — 5". Praise without a number ("высший балл") is none, nor is a number
that counts things or tells a date, a score, a share or a chance, nor points added or taken away.

RULES says what is looked for, in this order: what one rule has found, those after it do not see. CLEANING says what becomes
of the place where a rating stood. Both are Rust's regular expressions, which have no look-around: what must stand beside a
rating is matched with it and put back. They are fast as long as none asks for a Unicode word boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# Noncharacters, which Unicode keeps for such use inside a program.
GAP = "\ufdd0"  # where a rating stood
SHIELD = "\ufdd1"  # inside what only looks like a rating

BLANK = r"[^\S\n]"  # white space but line breaks: NBSP is everywhere
WORD = rf"(?:{BLANK}+\p{{L}}+)"
BEFORE = r"(?P<before>^|[^\p{L}\p{N}])"
AFTER = r"(?:(?-u:\b)|(?P<after>[^\p{L}\p{N}]|$))"  # after a digit an ASCII word boundary will do

DIGITS = r"(?:[0-9],\s5|[0-9]+(?:[.,][0-9]+)?|[∞*]+)"
SPELT = (
    "(?:н[оу]л[ья]|один|одного|полтора|два|двух|три|тр[её]х|четыре|четыр[её][хм]|пят[ьи]|шест[ьи]|сем[ьи]|восемь|восьми"
    "|девят[ьи]|десят[ьи]|десятью|сто)"
)
A_HALF = rf"(?:{BLANK}+с{BLANK}+половиной)"
NUMBER = rf"(?:(?:на|в){BLANK}+)?(?:{DIGITS}(?:(?:[-–—/]|\sили\s){DIGITS})?\+?\.?|{SPELT}){A_HALF}?"
OF_TEN = rf"(?:{BLANK}*из\s*(?:(?:возможных|максимальных|плюс){BLANK}+)?(?:100?(?:-?[тх]?и)?|десяти))"
POINTS = r"(?:балл\p{L}*|бал(?:а|ов)?)"

MARK = r"(?:10|[0-9])(?:[.,][0-9]{1,2})?"
STEM = "(?:четв[её]р|пят[её]р|шест[её]р|сем[её]р|восьм[её]р|девят|десят)"
SCHOOL_MARK = rf"(?:(?:единиц|единичк|двойк|двоечк|тройк|троечк|{STEM}(?:оч)?к)(?:[ауие]|ой))"
SMALL_SCHOOL_MARK = rf"(?:(?:двоечк|троечк|{STEM}очк)[ау])"  # never the number of something
SPELT_MARK = "(?:ноль|два|три|четыре|пят[ьи]|шест[ьи]|сем[ьи]|восемь|восьми|девят[ьи]|десят[ьи])"
QUOTED_MARK = rf"[«\"](?:{MARK}|{SCHOOL_MARK}){BLANK}?[«»\"]"
A_MARK = rf"(?:{MARK}(?:-?(?:к[ауие]|ть))?|{SPELT_MARK}|{SCHOOL_MARK}){A_HALF}?"
RANGE = rf"(?:{BLANK}*(?:[-–—/,]|или|и|из){BLANK}*{MARK})"
WITH_PLUS = rf"(?:{BLANK}+с{BLANK}+(?:\p{{L}}+{BLANK}+)?(?:плюс|минус)\p{{L}}*)"
FIRM = (
    "(?:(?:тв[её]рд|крепк|уверенн|заслуженн|жирн|натянут|полноценн|честн|чист|отдельн|бесспорн|скромн|слаб)"
    "(?:ая|ую|ой|ое|ые|ых|ие|их)|сплошные)"
)
# Words before a mark: they give it, name it (with a colon or dash), say how well it was played or how far it got ("на" follows),
# which part of the film it is for ("на" follows at once), or that it is no more and no less.
MARKING = (
    r"(?:(?:оцен[кию]|рейтинг|(?:по)?став[илья]|заслуж|достоин|влеп)\p{L}*|садитесь,|садись,"
    rf"|да(?:м|ю|л[аи]?{BLANK}+бы)|от{BLANK}+меня|балл?ьной{BLANK}+(?:шкале|системе))"
)
LABELLING = r"(?:вердикт|итог|балл|отметк)\p{L}*"
REACHING = r"(?:(?:с|от|об|вы)?[иы]гр[аы]|снят|снял|работ|справил|удал|(?:до|по)?тя[гн]|претенд)\p{L}*"
PARTS = r"(?:фильм|кино|картин|сюжет|сценари|музык|саундтрек|юмор|эффект|концовк|финал|атмосфер)\p{L}*"
BARELY = (
    rf"(?:ниже|выше|на{BLANK}+все|только|лишь|вс[её]-таки|вс[её]{BLANK}+же|максимум|минимум|почти|ровно|скорее|явно)"
)
# Words after a mark: they give it, or show that it is not the number of something.
MARKED = r"(?:(?:по)?став(?:лю|и[лтмш])|даю|влеп|хватит|заслуж(?:ил|ен{1,2}[оаы]?(?:[^\p{L}]|$)))"
NO_NOUN = (
    rf"(?P<after>{BLANK}*(?:[;:!?…()«»\"—–\n]|[.,](?:[^0-9]|$)|$)"
    rf"|{BLANK}+(?:за|из-за|и|но|а|не|я|мне|ему|рука|вс[её]м?|только|так|потому|поскольку|хотя|этому|фильму|по|для|как|несмотря)[^\p{{L}}])"
)
COUNTED = (  # genitive plurals
    rf"(?:(?:его|е[её]|их){BLANK}+)?(?:\p{{L}}+[ыи]х|\p{{L}}{{2,}}[оеё]в|\p{{L}}{{2,}}[бвгджзклмнпрстфхцчшщ]ей|человек|раз|лет|серий"
    rf"|картин|лент|сцен|минут|женщин|мужчин|девушек|номинаций|тысяч|на{BLANK}+то)(?:[^\p{{L}}]|$)"
)


@dataclass(frozen=True)
class Rule:
    """A pattern, and examples of what it finds.

    rating: what it finds is a rating; its groups `before`, `after` and `end` stay. Else it only looks like one and stays as it
    is: its groups `number` and `rest` are all of it, and no rule that follows finds a rating in it.
    """

    examples: tuple[str, ...]
    pattern: str
    rating: bool = True

    @property
    def replacement(self) -> str:
        """What takes the place of a match."""
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

NO_TEXT = r"[^\p{L}\p{N}\n]*"
LABEL = rf"(?:\p{{L}}+{BLANK}+){{0,2}}(?:оценк[ау]|вердикт|итого?|став(?:лю|им)|поставлю){WORD}{{0,3}}\s*[:—–=-]*\s*"
END = rf"({BLANK}*[.!?…*]|{NO_TEXT}$)"
CLEANING = {
    "brackets, quotes and asterisks that hold only the rating go with it": (
        rf"[(\[*«]+{BLANK}*{GAP}[.!…\s--\n]*[)\]*»]+",
        GAP,
    ),
    "so does its label, where the two are a sentence or a line": (
        rf"(?im)(?:^{NO_TEXT}|([.!?…]{BLANK}+)){LABEL}{GAP}{END}",
        f"${{1}}{GAP}${{2}}",
    ),
    "a first line without a letter or digit left goes, with the line breaks after it": (
        rf"\A(\n*){NO_TEXT}{GAP}{NO_TEXT}\n+",
        "${1}",
    ),
    "any other such line, with the line breaks before it": (rf"(?m)(?:\A|\n+){NO_TEXT}{GAP}{NO_TEXT}$", ""),
    "where the rating opened a line or a sentence, blanks and punctuation after it go": (
        rf"(?m)(^|[.!?…(])({BLANK}*){GAP}[.,;:!…*—–\s--\n-]*",
        "${1}${2}",
    ),
    "where it closed one, or a part of one, a comma, colon or dash before it goes": (
        rf"(?m)(?:{BLANK}*[,:=—–-])?{BLANK}*{GAP}([,;]|{END})",
        "${1}",
    ),
    "elsewhere, one blank before it": (rf"{BLANK}?{GAP}", ""),
    "what only looked like a rating is whole again": (SHIELD, ""),
}


def without_ratings(texts: pl.Expr) -> pl.Expr:
    """The texts (String) without their ratings; whatever else they hold is kept byte for byte, but for CLEANING.

    A text that holds nothing but a rating comes out empty, or as white space.
    """
    for rule in RULES:
        texts = texts.str.replace_all(rule.pattern, rule.replacement)
    for pattern, replacement in CLEANING.values():
        texts = texts.str.replace_all(pattern, replacement)
    return texts
