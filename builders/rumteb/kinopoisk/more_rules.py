"""Rules that version 2.0.0 applies before those of builders.rumteb.kinopoisk.rules.

They remove ratings whole that the others would cut in half ("4 балла из 5"), and ratings in further forms ("85/100"), and hide
what the others would remove by mistake ("Чемпионат 2008/10"). They are their own rules, because 1.0.0 keeps its rows.
"""

from builders.rumteb.kinopoisk.rules import Rule
from builders.rumteb.kinopoisk.vocabulary import (
    A_HALF,
    AFTER,
    BEFORE,
    BLANK,
    MARK,
    MARKING,
    POINTS,
    QUOTED_MARK,
    SPELLED,
    SPELLED_MARK,
    WORD,
)

DIGITS = r"[0-9]{1,3}(?:[.,][0-9]{1,2})?"
HALF = rf"(?:{BLANK}*½|{BLANK}+1/2)"
NUMBER = rf"(?:(?:на|в){BLANK}+)?(?:{DIGITS}{HALF}?\+?|{SPELLED}{A_HALF}?)(?:{BLANK}*\({SPELLED}\))?"
SCALE = r"(?:100|[1-9][0-9]?(?:[.,]0)?(?:-?[тх]?и)?|пяти|шести|семи|восьми|десяти|двенадцати|ста)"
OF_TEN = rf"{BLANK}*из{BLANK}+(?:100?(?:[.,]0)?(?:-?[тх]?и)?|десяти|ста)"
STARS = r"зв[её]зд\p{L}*"
PART = (  # what is graded, and words for grading
    r"(?:сюжет|сценари|игр[аы]|акт[её]р|режисс|музык|саундтрек|звук|график|спецэффект|эффект|оператор|съ[её]мк|картин|юмор"
    r"|атмосфер|концовк|финал|диалог|персонаж|геро[йи]|костюм|декораци|монтаж|постановк|иде[яи]|смысл|фильм|кино|мультфильм"
    r"|сериал|впечатлени|зрелищ|экшен|дубляж|итог|оценк|вердикт|балл|рейтинг)"
)
WORK = r"(?:фильм|кино|картин|лент|мульт|сериал|роман|книг|песн|альбом|журнал)"
STOP = rf"(?P<after>{BLANK}*(?:[;:!?…)\n,—–]|\.(?:[^0-9]|$)|$)|{BLANK}+за{BLANK})"

MORE_RULES = (
    Rule(
        ("можно поставить фильму «10»", "оценили картину на «8»"),
        rf"(?i)(?P<before>(?:^|[^\p{{L}}]){MARKING}{WORD}{{0,3}}?{BLANK}+)(?:(?:на|в){BLANK}+)?{QUOTED_MARK}",
    ),
    Rule(
        ("Мультфильм «9» не для детей", "фильма «10»"),
        rf"(?i)(?P<number>{WORK}\p{{L}}*{BLANK}+[«\"])(?P<rest>{MARK}[»\"])",
        rating=False,
    ),
    Rule(
        ("Чемпионат 2008/10", "сезон 1999/2000"),
        r"(?P<number>(?:19|20)[0-9]{2})(?P<rest>[/\\][0-9]{1,4})",
        rating=False,
    ),
    Rule(
        ("90 баллов на экзамене", "80 баллов за тест", "100 баллов по ЕГЭ"),
        rf"(?i)(?P<number>[0-9]+)(?P<rest>{BLANK}+{POINTS}{BLANK}+(?:на|за|по|в){BLANK}+(?:экзамен|ЕГЭ|ГИА|тест|контрольн|олимпиад|зач[её]т"
        r"|викторин|диктант|матч|тур))",
        rating=False,
    ),
    Rule(
        ("набрал 90 баллов", "набрали бы 12 баллов"),
        rf"(?i)(?P<number>набра\p{{L}}*{WORD}{{0,2}}{BLANK}+[0-9]+)(?P<rest>{BLANK}+{POINTS})",
        rating=False,
    ),
    Rule(
        ("шанс выжить — один из пяти", "с вероятностью три из пяти"),
        rf"(?i)(?P<number>(?:шанс|вероятност)[^.!?0-9\n]{{0,60}}{BLANK}{SPELLED})(?P<rest>{BLANK}+из{BLANK}+{SCALE})",
        rating=False,
    ),
    Rule(
        ("4 балла из 5", "7 баллов из 12", "девять баллов из ста", "4,5 балла из 5"),
        rf"(?i){BEFORE}{NUMBER}{BLANK}+{POINTS}{BLANK}+из{BLANK}+{SCALE}(?:{BLANK}+возможных)?{AFTER}",
    ),
    Rule(
        ("4 из 5 звёзд", "3,5 из 5 баллов", "Пять из пяти звёздочек"),
        rf"(?i){BEFORE}{NUMBER}{BLANK}*из{BLANK}+{SCALE}{BLANK}+(?:{STARS}|{POINTS}){AFTER}",
    ),
    Rule(
        ("8 1/2 из 10", "8½ из 10", "10 (десять) из 10", "8 (из 10)", "8.5 из 10.0", "7 (из десяти)"),
        rf"(?i){BEFORE}(?:на{BLANK}+)?{DIGITS}(?:(?:{HALF}|{BLANK}*\({SPELLED}\)){OF_TEN}|{BLANK}*\({OF_TEN}{BLANK}*\)"
        rf"|{BLANK}*из{BLANK}+100?[.,]0){AFTER}",
    ),
    Rule(
        ("4.5/5", "3,5/5", "85/100", "100/100", "4½/5"),
        rf"{BEFORE}(?:на{BLANK}+)?(?:[0-5](?:[.,][0-9]{{1,2}}|{HALF}){BLANK}?[/\\]{BLANK}?5|(?:[0-9]{{1,2}}|100)[/\\]100){AFTER}",
    ),
    Rule(
        ("четыре из пяти", "На три с половиной из пяти за игру"),
        rf"(?i){BEFORE}(?:на{BLANK}+)?{SPELLED}{A_HALF}?{BLANK}+из{BLANK}+(?:пяти|шести|двенадцати){STOP}",
    ),
    Rule(
        ("Оценка: 9 - отлично", "Моя оценка фильму = 8,5 — хорошо"),
        rf"(?i)(?P<before>(?:^|[^\p{{L}}])(?:оценк|вердикт|отметк|балл){BLANK}?\p{{L}}*{WORD}{{0,2}}?{BLANK}*[:=—–-]{BLANK}*){MARK}"
        rf"{BLANK}*[—–-](?P<after>{BLANK}+\p{{L}})",
    ),
    Rule(
        ("Сюжет: 8.", "Игра актёров - 9.", "музыка — 7;", "Режиссура: 8,5"),
        rf"(?im)(?P<before>{PART}\p{{L}}*{WORD}{{0,2}}?{BLANK}*(?::|{BLANK}[—–-]){BLANK}*){MARK}"
        rf"(?P<after>[.!;]{BLANK}|{BLANK}*[.!;,]?{BLANK}*$|[,;]{BLANK}+\p{{L}})",
    ),
    Rule(
        ("Сюжет (8)", "игра актёров (9)"),
        rf"(?i)(?P<before>(?:^|[^\p{{L}}]){PART}\p{{L}}*{WORD}{{0,1}}{BLANK}+)\((?:{MARK}|[0-9]{{1,2}})\)",
    ),
    Rule(
        ("Рон (10)", "с Гарри (9)"),
        rf"(?P<number>\p{{Lu}}\p{{Ll}}+{BLANK}+)(?P<rest>\((?:[5-9]|10)\))",
        rating=False,
    ),
    Rule(
        ("Пила — 5", "Смотрел вчера.\n\nКрик - 4\n\nОчень страшно."),
        rf"(?P<number>(?:\A|\p{{L}}[.!?…»)]*{BLANK}*\n){BLANK}*\n*\p{{Lu}}[\p{{L}} \u00a0]*{BLANK}[—–-]{BLANK})"
        rf"(?P<rest>[2-9]{BLANK}*\n*(?:\z|\n{BLANK}*\p{{L}}[^\n]*\p{{L}}[.!?…»)]*{BLANK}*(?:\n|\z)))",
        rating=False,
    ),
    Rule(
        ("5 звёзд", "Ставлю ему 4 звезды.", "Пять звёзд за музыку"),
        rf"(?im)(?P<before>^{BLANK}*|[.!?…(:—–-]{BLANK}*|{MARKING}{WORD}{{0,2}}?{BLANK}+)(?:{MARK}|{SPELLED_MARK}){BLANK}+"
        rf"зв[её]зд(?:а|ы|очк\p{{L}}*|очек)?{STOP}",
    ),
)
