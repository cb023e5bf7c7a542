"""Regular expressions for the Russian words and signs of ratings: numbers, marks, and what is written before and after them.

Rust's syntax, without Unicode word boundaries, which are slow.
"""

BLANK = r"[\s--\n]"  # white space except line breaks (NBSP is frequent); `[^\S\n]` takes ten times as long to compile
WORD = rf"(?:{BLANK}+\p{{L}}+)"
BEFORE = r"(?P<before>^|[^\p{L}\p{N}])"
AFTER = r"(?:(?-u:\b)|(?P<after>[^\p{L}\p{N}]|$))"  # after a digit, an ASCII word boundary is enough

DIGITS = r"(?:[0-9],\s5|[0-9]+(?:[.,][0-9]+)?|[∞*]+)"
SPELLED = (
    "(?:н[оу]л[ья]|один|одного|полтора|два|двух|три|тр[её]х|четыре|четыр[её][хм]|пят[ьи]|шест[ьи]|сем[ьи]|восемь|восьми"
    "|девят[ьи]|десят[ьи]|десятью|сто)"
)
A_HALF = rf"(?:{BLANK}+с{BLANK}+половиной)"
NUMBER = rf"(?:(?:на|в){BLANK}+)?(?:{DIGITS}(?:(?:[-–—/]|\sили\s){DIGITS})?\+?\.?|{SPELLED}){A_HALF}?"
OF_TEN = rf"(?:{BLANK}*из\s*(?:(?:возможных|максимальных|плюс){BLANK}+)?(?:100?(?:-?[тх]?и)?|десяти))"
POINTS = r"(?:балл\p{L}*|бал(?:а|ов)?)"

MARK = r"(?:10|[0-9])(?:[.,][0-9]{1,2})?"
STEM = "(?:четв[её]р|пят[её]р|шест[её]р|сем[её]р|восьм[её]р|девят|десят)"
SCHOOL_MARK = rf"(?:(?:единиц|единичк|двойк|двоечк|тройк|троечк|{STEM}(?:оч)?к)(?:[ауие]|ой))"
SMALL_SCHOOL_MARK = rf"(?:(?:двоечк|троечк|{STEM}очк)[ау])"  # never counts things
SPELLED_MARK = "(?:ноль|два|три|четыре|пят[ьи]|шест[ьи]|сем[ьи]|восемь|восьми|девят[ьи]|десят[ьи])"
QUOTED_MARK = rf"[«\"](?:{MARK}|{SCHOOL_MARK}){BLANK}?[«»\"]"
A_MARK = rf"(?:{MARK}(?:-?(?:к[ауие]|ть))?|{SPELLED_MARK}|{SCHOOL_MARK}){A_HALF}?"
RANGE = rf"(?:{BLANK}*(?:[-–—/,]|или|и|из){BLANK}*{MARK})"
WITH_PLUS = rf"(?:{BLANK}+с{BLANK}+(?:\p{{L}}+{BLANK}+)?(?:плюс|минус)\p{{L}}*)"
FIRM = (
    "(?:(?:тв[её]рд|крепк|уверенн|заслуженн|жирн|натянут|полноценн|честн|чист|отдельн|бесспорн|скромн|слаб)"
    "(?:ая|ую|ой|ое|ые|ых|ие|их)|сплошные)"
)
# Words before a mark. MARKING: verbs and nouns of giving it; LABELLING: its name, before a colon or dash; REACHING: how well
# something was played, or how high it got, before "на"; PARTS: parts of a film, directly before "на"; BARELY: limits.
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
# Words after a mark. MARKED: verbs of giving it; NO_NOUN: what shows that the mark does not count things.
MARKED = r"(?:(?:по)?став(?:лю|и[лтмш])|даю|влеп|хватит|заслуж(?:ил|ен{1,2}[оаы]?(?:[^\p{L}]|$)))"
NO_NOUN = (
    rf"(?P<after>{BLANK}*(?:[;:!?…()«»\"—–\n]|[.,](?:[^0-9]|$)|$)"
    rf"|{BLANK}+(?:за|из-за|и|но|а|не|я|мне|ему|рука|вс[её]м?|только|так|потому|поскольку|хотя|этому|фильму|по|для|как|несмотря)[^\p{{L}}])"
)
COUNTED = (  # genitive plurals
    rf"(?:(?:его|е[её]|их){BLANK}+)?(?:\p{{L}}+[ыи]х|\p{{L}}{{2,}}[оеё]в|\p{{L}}{{2,}}[бвгджзклмнпрстфхцчшщ]ей|человек|раз|лет|серий"
    rf"|картин|лент|сцен|минут|женщин|мужчин|девушек|номинаций|тысяч|на{BLANK}+то)(?:[^\p{{L}}]|$)"
)
