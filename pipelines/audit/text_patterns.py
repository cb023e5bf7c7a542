r"""What shows in a text that a program damaged or wrote it, as regular expressions, and the check digits of numbers of people.

The expressions are those of polars (Rust: no look-around), each for `str.contains`. pipelines.audit.texts searches for many of
them in one pass, and for each by itself only in the texts where one occurs.

A new pattern is a row of RESIDUE and a word in the definition of its kind (cards/kinds.py). A good one begins with certain
characters, and does not match what people write: faces (`:-)`), formulas, answers (`5 %`), programs in questions about
programming. The patterns share the states of one automaton: write classes of ASCII where Unicode's (`\p{L}`, `\w`) are not
needed, and no long counted repetitions of large classes.
"""

import re
from html.entities import name2codepoint

from builders.shaping.text import WHITE_SPACE

_LONG_ELEMENTS = (
    "abbr|article|aside|big|blockquote|body|br|button|center|cite|code|dd|del|div|dl|dt|em|embed|figcaption|figure|font"
    "|footer|form|gallery|h[1-6]|head|header|hr|html|iframe|img|input|ins|label|li|main|math|meta|nav|nobr|noscript"
    "|nowiki|ol|option|pre|ref|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot"
    "|th|thead|title|tr|ul"
)
# All lower or all upper case. `link` only with an attribute: without one it says nothing in HTML, and `<Link>` and `<link>` are
# placeholders, which people and models write in place of a link.
_LONG_NAMES = f"{_LONG_ELEMENTS}|{_LONG_ELEMENTS.upper()}"
_NAMES = f"{_LONG_NAMES}|[abipqsuABIPQSU]"
_ENTITIES = "|".join(sorted(name2codepoint))
# Those that people write without a semicolon, and that are not the beginning of a parameter of a link (`&copy=1`).
_LOOSE_ENTITIES = "nbsp|amp|quot|[lg]t|[lr]aquo|[mn]dash|[lr][sd]quo|hellip|#[0-9]{2,5}"
HTML = (
    rf"<(?:{_NAMES})(?:\s[^<>]*)?/?>|<\s*/\s*(?:{_NAMES})\s*>|<(?:link|LINK)\s[^<>]*>"
    # As a tokenizer leaves them. `a < b and c > d` and `< p >` may be comparisons.
    rf"|<\s+(?:{_LONG_ELEMENTS})\s*(?:/?\s*>|\s[A-Za-z-]+\s*=)|<\s*!\s*--"
    rf"|&(?:apos|{_ENTITIES}|#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}});"
    rf"|&(?:{_LOOSE_ENTITIES})(?:[^;=A-Za-z0-9]|\z)|& (?:apos|{_LOOSE_ENTITIES}) ?;"
)

# Soft hyphen, zero-width space, word joiner, byte order mark, Hangul filler, annotation marks: a tokenizer divides a word there.
INVISIBLE = r"[\x{AD}\x{180E}\x{200B}\x{2060}-\x{2064}\x{206A}-\x{206F}\x{3164}\x{FEFF}\x{FFF9}-\x{FFFB}]"
# Marks of the direction of writing. They belong in a text with letters that are written from right to left.
BIDI = r"[\x{61C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}]"
RIGHT_TO_LEFT = r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]"
# Joiners, the emoji variation selector and tags. They belong after an emoji or a key, and joiners in the scripts that need them.
_JOINED = (
    r"\p{Emoji}\p{Emoji_Component}\p{Extended_Pictographic}\p{Arabic}\p{Syriac}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}"
)
STRAY_JOINER = rf"(?:^|[^{_JOINED}])[\x{{200C}}\x{{200D}}\x{{FE0F}}\x{{E0020}}-\x{{E007F}}]"
# Accents and Korean vowels that follow the letter they belong to: NFC joins most of them with it.
COMBINING = r"[\x{300}-\x{345}\x{3099}\x{309A}\x{1161}-\x{11FF}]"

_ROLE = r"(?:### ?)?(?:Human|HUMAN|Assistant|ASSISTANT|Instruction|Input) ?:|### ?Response ?:"
ROLE = rf"(?:\n|[.!?] )[ \t]*(?:{_ROLE})"
TRANSCRIPT = rf"\A\s*(?:{_ROLE})"

# Each is decided by the first or the last few characters of a text, whereas stripping a text takes time for each of its bytes.
_SPACE = "".join(f"\\x{{{ord(char):X}}}" for char in WHITE_SPACE)
TWO_CHARACTERS = f"[^{_SPACE}][{_SPACE}]*[^{_SPACE}]"
SPACE_FIRST = rf"\A[{_SPACE}]"
SPACE_LAST = rf"[{_SPACE}]\z"
DOUBLE_FULL_STOP = rf"(?:\A|[^.])\.\.[{_SPACE}]*\z"
# Not white space to a program, and nothing to a reader: NUL, fillers of Hangul, Braille without dots, format characters.
VISIBLE = rf"[^{_SPACE}\x00\x{{115F}}\x{{1160}}\x{{2800}}\x{{FFA0}}\x{{200C}}\x{{200D}}{INVISIBLE[1:-1]}{BIDI[1:-1]}]"

# The same letters in both scripts, in the same order. A reader sees no difference; a tokenizer divides the word into pieces that
# no model has learnt.
LATIN = "aceijopxyABCEHIJKMOPTXY"
CYRILLIC = "асеіјорхуАВСЕНІЈКМОРТХУ"
LATIN_BESIDE_CYRILLIC = r"[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z]"
MIXED_WORD = rf"[\p{{L}}\p{{M}}\p{{N}}]*(?:{LATIN_BESIDE_CYRILLIC})[\p{{L}}\p{{M}}\p{{N}}]*"
# A lower-case word, also with a capital at its start, or one in capitals; not two words without a space (`idА`, `SkyТеперь`).
ONE_WORD = r"^(?:\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+)$"
# Every letter of one of the scripts looks like one of the other; not `3D-шутер` or `PRщик`.
LOOKALIKES = rf"^(?:[{LATIN}]|\p{{Cyrillic}})+$|^(?:[{CYRILLIC}]|\p{{Latin}})+$"
# A letter of one script between letters of the other, or as the first of a word: `Cотовый`, `cлово`, `Аpple`. The last one is
# mostly a variable or an ending (`массивуy`, `Boeingа`), a small `x` or `y` at the start a word by itself (`yвзлом`).
FOREIGN_LETTER = (
    r"\p{Cyrillic}[A-Za-z]+\p{Cyrillic}|[A-Za-z]\p{Cyrillic}+[A-Za-z]"
    r"|^[aceopABCEHKMOPTX]\p{Cyrillic}{2,}$|^[АВЕКМНОРСТХ][A-Za-z]{2,}$"
)

# How Russian reads after `.encode("koi8_r").decode("cp1251")`: three letters that are in no Russian word in capitals, inside a
# longer one, so that abbreviations do not count (`ПУФ` not at its start: a pouffe); and the words `что` and `это`.
_GARBLED = "ЕОЙ|БФШ|ПЗП|ЕУФ|УЛЙ|ПМШ|БМЙ|РТЙ|МПЧ|УФБ|ЙМЙ|ЙФШ|ПЧБ|ЕМШ|ОЩК|БМШ|БМБ|ПДЙ|ПВБ|ТПЧ|ЗТБ|ЗДБ|ПЮЕ|ЦЮЙ|ВЩМ|ПЧП"
KOI8 = rf"[А-Яа-яё](?:{_GARBLED}|ПУФ)|(?:{_GARBLED})[А-Яа-яё]|ЮФП|ЬФП"
# The lead bytes of Cyrillic in UTF-8 are ╨ and ╤ in cp866.
CP866 = "(?:[╨╤][А-Яа-п░▒▓│┤╡╢╖╕╣║╗╝╜╛┐]){2}"
# They are п and я in KOI8-R, which has signs for most of the other bytes.
UTF8_AS_KOI8 = r"(?:[пя][\x{2500}-\x{25A0}°²·÷⌠∙√≈≤≥⌡©ё]){2}"
# Windows-1251 as Latin-1: what was a Cyrillic consonant and a vowel, beside a third letter. No language has three such in a row.
_CONSONANT_VOWEL = "[íòñðâëêìäïãçáæÍÒÑÐÂËÊÌÄÏÃÇÁÆ][îàåèóûÿÎÀÅÈÓÛß]"
LATIN1 = f"[À-ÿ]{_CONSONANT_VOWEL}|{_CONSONANT_VOWEL}[À-ÿ]"
# UTF-8 as Windows-1250, Mac OS Roman, cp437 or the Cyrillic of Mac OS: a lead byte and the signs that can follow it.
UTF8_AS_OTHERS = (
    r"Ă[¤¶ĽźŠ©¨Ş«®°´»ˇ±łľ‰–„]|Ĺ[źŸĄ‚¤ˇľ]|â€[ťž]|√[§∂º∫ü¨©®†°¢£•¶ß´≠ÆØ∞±≤≥¥µÑñ]|‚Ä[ôúùîìû¶¢ò]"
    r"|├[ñ╢╝ƒäûÄÖ£⌐¿¬½¼¡«»░▒▓│┤╡╖╕╣║╗╜╛┐á]|ΓÇ[ôöÖ£¥ªóÿ]|(?:[–—][А-Я†°Ґ£§•¶І®©™Ђђ≠Ѓѓ∞±≤≥іµґЈЄєЇїЉљЊњ]){3}"
)
# Letters of Latin-1 as Mac OS Roman, cp437 or Windows-1251, inside words of other Latin letters.
LATIN_AS_OTHERS = (
    r"[A-Za-z][‰ˆ¸][a-z]|[A-Za-z][Σ÷ⁿ▀╖][a-z]|(?:[A-Za-z]{2}|(?:\A|[^A-Za-zА-яЁё])[A-Z])[дцьйбвклжищхыэзфяю][a-z]"
)
# Windows-1251 as KOI8-R, like KOI8 above; as cp866; cp866 as Windows-1251; and Windows-1251 as the Cyrillic of Mac OS.
_GARBLED_1251 = (
    "ЕМХ|ЯРЮ|НЦН|НКЭ|ЯРП|НПН|НБЮ|РЯЪ|ЯЙХ|ЯРБ|ХМЮ|МХЙ|ХКХ|ЩРН|ХРЭ|МШИ|КНБ|ЯРХ|ЮКХ|БЯЕ|ЮМХ|КЯЪ|РНП|ЮКЮ|ЮКЭ|ЮЙН|ЮЙЮ|ЕМЭ|ЦПЮ|ПНБ"
    "|ЯРЭ|ПЮГ|ЯКХ|РПЮ"
)
RUSSIAN_AS_OTHERS = (
    rf"[А-Яа-яё](?:{_GARBLED_1251})|(?:{_GARBLED_1251})[А-Яа-яё]|[р-я][ЁЄЇЎ√■∙][р-я]|[р-я]√|√[р-я]"
    r"|[а-п][®¦§©¤¬][а-п®¦§©¤¬ўҐЎЈ]|[Ґў][®¦§©¤¬][а-п]|ўҐ|[а-п]Ґ[а-п]|[а-ю]€(?:\s|[.,!?]|\z)"
)
# Mails (quoted-printable, MIME, UTF-7), addresses (`%D0%B2`, `a+b+c`), RTF, and escapes without their backslash.
OTHER_ESCAPES = (
    r"(?:=[0-9A-F]{2}){3}|=\?[A-Za-z0-9-]+\?[BQbq]\?|(?:\A|\s)(?:%[0-9A-F]{2}){3}|(?:[A-Za-z]+\+){5}"
    r"|(?:\A|[^/&=A-Za-z0-9_-])(?:[A-Za-z]+%20){2}|\\rtf1|(?:u0[0-9a-f]{3}){3}|U\+1F[0-9A-F]{3}|(?:\A|\s)\+B[A-Za-z0-9/]{5,}-"
)
# Words of question marks: two of them, one before a word, or nothing else. Or a question mark in a word: behind a beginning
# without a vowel, before an ending, twice in a word, in four words. Neither `что?ничего` nor `watch?v=1` is such.
_BEGINNINGS = "[ГДЖЗЛМНПРТФХЦЧШЩЙгджзлмнпртфхцчшщй]|[бвгдкпфхстшБВГДКПФХСТШ][лрв]|[сС][тпкнм]|[зг]н|в[сзд]|чт|мн"
_ENDINGS = "ств|ть|ют|шь|т?ся|сь|ый|ые|ых|ую|ет|ит|[инь]и[еия]|ость|ости|ного|ному|ыми|лась|лись|лось|ться"
LOST_LETTERS = (
    r"(?:\A|[\s\"«(])\?{2,}[,;:\s-]+\?{2}|(?:\A|[\s\"«(])\?{4,}[.,;:)»\"]*\s+[A-Za-zА-яЁё0-9]|\A[?.,!\s-]*\?{4}[?.,!\s-]*\z"
    rf"|(?:\A|[^A-Za-zА-яЁё0-9?])(?:{_BEGINNINGS})\?{{1,2}}[а-яё]|[а-яё]\?{{1,2}}(?:[ьъы]|(?:{_ENDINGS})(?:[^А-яЁё]|\z))"
    r"|[а-яё]\?[а-яё]{1,2}\?[а-яё]|(?:[а-яё]\?[а-яё][^?]*){4}"
    r"|(?:\A|[^A-Za-zÀ-ÿА-яЁё0-9?/=&._%-])[A-Z]?[b-df-hj-np-tv-xz]+\?{1,2}[a-z]|[a-z]\?[a-z]{1,2}\?[a-z]"
)
# Of a program, not of a question that quotes an expression.
CODE = (
    r"(?:^|\n)>>> |(?:^|[\s;{])(?:function ?[A-Za-z0-9_]*\([^()\n]*\) ?\{|(?:var|let|const) [A-Za-z0-9_]+ ?= "
    r"|def [A-Za-z0-9_]+\([^\n]*\)(?: ->[^\n:]*)?:|#include ?[<\"]|(?:public|private|static) (?:static )?(?:void|class|int) "
    r"|@(?:Override|Autowired|property|staticmethod|classmethod|dataclass|media|import|param|return)(?:[^A-Za-z]|$)"
    r"|from [A-Za-z0-9_.]+ import |import [A-Za-z0-9_.]+(?: as |\n)|using namespace "
    r"|SELECT [^\n]+ FROM [A-Za-z0-9_.]+(?: WHERE| GROUP|;))"
    r"|document\.(?:getElement|querySelector|write\(|cookie)|console\.log\(|System\.out\.print|addEventListener\(|<\?php|<\?xml"
    r"|[A-Za-z0-9_.#-] ?\{\s*[a-z-]+ ?:[^{}\n;]+;"
)
# `\n` where no program or formula has it: not before a quotation mark, not before a small letter (`\nabla`).
ESCAPES = (
    r"\\n(?:[A-ZА-Яа-яЁё0-9\s*•(-]|\\n|\z)|[.!?;,)]\\n[a-z]|\\r\\n|\\t(?:[A-ZА-Яа-яЁё0-9]|\\t)"
    r"|\\u[0-9a-fA-F]{4}|\\U000[0-9a-fA-F]{5}|\\x[89a-fA-F][0-9a-fA-F]"
)
# The bytes, the list, the tuple or the array that a text is as a whole.
PRINTED = (
    r"(?s)\A\s*b'.*'\s*\z|\A\s*b\".*\"\s*\z|\A\s*\[\s*[\"'].*[\"'],?\s*\]\s*\z|\A\s*\(\s*[\"'].*[\"'], ?[\"'].*\)\s*\z"
    r"|\A\s*(?:array|tensor)\(\[|\A\s*\[(?:\s*-?[0-9]+\.[0-9e+-]*[\s,]+){3}"
)

NUMBER = r"\A\s*[+-]?\d+(?:[.,/–-]\d+|\s\d\d\d)*\s*%?\s*\z"  # also a date, a range or a fraction
_MISSING = (
    r"N/A|n/a|NA|n\.a\.|<NA>|None|NONE|none|TBD|TBA|unknown|null|NULL|Null|NaN|nan|NAN|undefined|[Нн]/[Дд]|[-–—_]+"
    r"|#(?:N/A|REF|VALUE|NUM|NULL|NAME\?|DIV/0|Н/Д|ССЫЛКА|ЗНАЧ|ЧИСЛО|ИМЯ\?|ДЕЛ/0)!?"
    r"|[\[(<](?i:deleted|removed|empty|missing|no text|удалено|пусто)[\])>]"
    r"|<?(?i:no ?(?:input|text|data|title|description|content|comment))>?|(?i:not (?:available|specified|given"
    r"|applicable|provided))"
    r"|(?i:нет (?:данных|текста|описания|информации)|(?:данные )?не (?:указан|задан|заполнен)[оаы]?|данные отсутствуют)"
)
MISSING = rf"\A\s*(?:{_MISSING})[.!]?\s*\z"

# What moderators leave of a text.
NO_LONGER = (
    r"\A[\[(< ]*(?:(?:[ЭэДд][а-я]+ )?(?:[Кк]омментарий|[Сс]ообщение|[Пп]ост|[Оо]тзыв|[Рр]ецензия|[Оо]твет|[Тт]екст|[Зз]апись"
    r"|[Пп]ользователь|[Аа]ккаунт)(?: был[оа]?)? (?:удал[её]н|скрыт|заблокирован|отсутству|недоступ)[а-я]*"
    r"(?: (?:модератором|администрацией|автором|пользователем))?"
    r"|[Tt]h(?:is|e) (?:comment|post|message|tweet|review|account|question|answer|content|video|user)(?: has been| was| is)?"
    r" (?:removed|deleted|unavailable|suspended|hidden|no longer available)(?: by [a-z]+ ?[a-z]*)?"
    r"|(?:[Dd]elet|[Rr]emov)ed (?:by|user|account)(?: [a-z]+)?|[Tt]weet not (?:found|available))[\])>. !]*\z"
)
# A field without a value, joined with a text.
NO_VALUE = r"\s(?:nan|NaN|NULL|undefined)\z|[.!?»\"] ?None\z|[^A-Za-z\s]nan\z"
FILLERS = (
    r"\A[\[(< ]*(?:[Tt](?:est|EST)|[Тт](?:ест|ЕСТ)|asdf[a-z]*|qwerty[a-z]*|xxx+|XXX+|TODO|FIXME|фыва[а-я]*|йцукен[а-я]*"
    r"|[Ss]ample text|(?:[a-zA-Z]+ )?[Tt]ext (?:goes )?here)[\])>.! ]*\z"
)

IDENTIFIERS = (
    r"\A\s*(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,64}|[0-9A-F]{16,64}"
    r"|[A-Za-z]{1,12}[_#-]?[0-9]{3,}[A-Za-z0-9_-]*|(?:[A-Za-z]:|\.{0,2})[\\/]?(?:[A-Za-z0-9_.-]+[\\/])*[A-Za-z0-9_-]+"
    r"\.(?:jpe?g|png|gif|svg|webp|pdf|txt|csv|tsv|jsonl?|xml|html?|mp[34]|wav|docx?|xlsx?|zip|gz|parquet))\s*\z"
)
SERVER_MESSAGES = (
    r"\A[\[(<* ]*(?:(?:(?:[Ee]rror|ERROR|HTTP|[Оо]шибка)[ :/]*)?(?:40[0-9]|429|50[0-4])[ :.-]+(?:[Nn]ot [Ff]ound|[Ff]orbidden"
    r"|[Uu]nauthori|[Bb]ad [RG]|[Tt]oo [Mm]any|[Ii]nternal|[Ss]ervice|[Gg]ateway|[Сс]траница|[Дд]оступ)|[Aa]ccess [Dd]enied"
    r"|[Pp]age [Nn]ot [Ff]ound|Th(?:e|is) page (?:you (?:requested|are looking for)|can(?:no|'t be|not be|t be)|could not be)"
    r"|(?:Please )?(?:[Ee]nable|[Tt]urn on) (?:JavaScript|[Jj]avascript|cookies)|Just a moment\.\.\.|Checking your browser"
    r"|Attention [Rr]equired!|Verify (?:that )?you are|Страница не найдена|Доступ (?:к [а-я]+ )?(?:запрещ[её]н|ограничен)"
    r"|(?:Internal [Ss]erver [Ee]rror|Bad [Gg]ateway|Service [Uu]navailable|Gateway [Tt]ime-?out|Connection (?:timed out|refused)"
    r"|Read timed out)[. !]*\z|Traceback \(most recent)"
)
WEB_PAGES = (
    r"(?:Читать (?:далее|полностью|дальше|ещё)|Подробнее|Показать (?:ещё|полностью)|[Rr]ead (?:more|the full [a-z]+)"
    r"|Continue reading|[Ss]how (?:more|less)|[Ss]ee more|[Vv]iew (?:more|full))[ .…»>→\])]*\z"
    r"|[Aa]ll [Rr]ights [Rr]eserved|ALL RIGHTS|[Вв]се права защищены|[Ww]e use cookies|uses cookies"
    r"|используем (?:файлы )?cookie|(?:©|\([cC]\)) ?(?:19|20)[0-9]{2}"
)
# A text that was turned round: it begins with a full stop and ends with a capital letter.
TURNED = r"(?s)\A[.!?]+[a-zа-яё].*[A-ZА-ЯЁ]\z"
LINKS = r"\A\s*(?:(?:[-*•]|[0-9]+[.)])?\s*(?:https?://|www\.)\S+[\s,;]*)+\z"
ADVERTISING = (
    r"(?:BUY NOW|LIMITED OFFER|(?i:no prescription|casino bonus|payday loans))[^\n]*(?:https?://|www\.)"
    r"|(?i:промокод) [A-ZА-Я0-9]{4}|(?i:подпи(?:шись|шитесь|сывайтесь) на (?:наш|мой) канал|розыгрыш билетов)"
    r"|(?i:приводи друзей|онлайн бесплатно|бесплатное приложение)"
    r"|Выиграй(?:те)? [а-яё]+"
)
# Symbols in a row that are not punctuation of strong feelings (`!!!`, `)))`), or nothing but symbols.
SYMBOLS = r"(?:[#$%&*+/:;<=>@\\^_`{|}~\x{2500}-\x{25FF}\x{FF00}-\x{FF0F}-] ?){5}|\A[^\p{L}\p{M}\p{N}]+\z"
WORD_CHARACTER = r"[\p{L}\p{M}\p{N}]"
MIN_SYMBOLS = 5  # fewer are a face (`:-)`) or a dash
# A digit with 15 characters of the alphabet behind it: names and long words have none. `is_encoded` looks closer.
BASE64 = r"(?:\A|[\s\"',:(])[A-Za-z+/]*[0-9][A-Za-z0-9+/]{15,}={0,2}"
MIN_ENCODED = 24  # characters


def is_encoded(match: str) -> bool:
    """Whether a match is base64 or another code, not a path or a name: with letters of both cases, and digits around letters."""
    has_all = all(re.search(pattern, match) for pattern in ("[a-z]", "[A-Z]", r"[0-9][A-Za-z+/]+[0-9]"))
    return has_all and len(match) > MIN_ENCODED and match.count("/") * 16 < len(match)


E_MAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
MASKED_E_MAIL = (
    r"[A-Za-z0-9._-]+ ?[\[({] ?(?:at|AT|@|собака) ?[\])}] ?[A-Za-z0-9-]+"
    r"|[a-z0-9._-]+ собака [a-z0-9-]+\.[a-z]+|[a-z0-9._-]+ (?:собака|at) (?:gmail|yahoo|hotmail|outlook|yandex|mail"
    r"|rambler|inbox|bk) (?:точка|dot) [a-zа-я]+"
)
_NUMBER = (
    r"\([0-9]{3}\) ?[0-9]{3}[-. ]?[0-9]{2}[-. ]?[0-9]{2}|[0-9]{3}[-./][0-9]{3}[-.][0-9]{4}"
    r"|(?:8[ (-]{1,2}|\+7[ (-]{0,2})[0-9]{3}[ )-]{0,2}[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}"
    r"|[78][ (-]{0,2}9[0-9]{2}[ )-]{0,2}[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}"
    r"|\+[0-9]{1,3}[ (-]{1,2}[0-9]{2,4}[ )-]{1,2}[0-9]{3,4}[ -]?[0-9]{2,4}(?:[ -]?[0-9]{2,4})?|\+[1-9][0-9]{9,13}"
)
PHONE = (
    rf"(?:^|[^0-9+.-]|[^0-9]-|\+?1[-. ])(?:{_NUMBER})(?:$|[^0-9-]|-[^0-9])"
    r"|(?:^|[^A-Za-zА-яЁё])(?:[Тт]ел(?:\.|ефон[уы]?)|[Tt]el\.|[Pp]hone)[: №]{0,3}[0-9(][0-9() -]{4,}[0-9]"
)
PASSPORT = r"(?:[Пп]аспорт|ПАСПОРТ|[Сс]ери[яи])[^0-9\n]{0,30}[0-9]{2} ?[0-9]{2},? ?(?:№|номер|N)? ?[0-9]{6}(?:[^0-9]|$)"
_OCTET, _LARGE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])", "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9])"
_BEFORE, _AFTER = r"(?:^|[^0-9A-Za-z.,_/-])", r"(?:[^0-9A-Za-z_/-]|$)"
# With a number of three digits, unlike versions (`1.11.1.2`) and sections, and without a letter before it (`v10.0.0.117`).
IP_ADDRESS = (
    rf"{_BEFORE}(?:{_LARGE}(?:\.{_OCTET}){{3}}|{_OCTET}\.{_LARGE}(?:\.{_OCTET}){{2}}|(?:{_OCTET}\.){{2}}{_LARGE}\.{_OCTET}"
    rf"|(?:{_OCTET}\.){{3}}{_LARGE})(?:[^0-9A-Za-z.]|\.?(?:\s|$))|://(?:{_OCTET}\.){{3}}{_OCTET}[:/]"
    r"|(?:^|[\s:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?:[^0-9a-f:]|$)"
)
KEY = (
    r"AKIA[0-9A-Z]{16}|gh[oprsu]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9_]{20}|glpat-[A-Za-z0-9_-]{20}|hf_[A-Za-z0-9]{30}"
    r"|(?:^|[^A-Za-z0-9])sk-(?:proj-|ant-)?[A-Za-z0-9_]{20}|[rs]k_live_[A-Za-z0-9]{20}|AIza[A-Za-z0-9_-]{35}"
    r"|xox[abps]-[0-9A-Za-z-]{10}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
HANDLE = (
    r"(?:^|[\s(«\"])@[A-Za-z][A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)?[A-Za-z0-9_](?:[,:;!?)»\"]|\.?\s|\.?$)"
    r"|(?:^|[\s(/.])(?:t\.me|vk\.com|instagram\.com|facebook\.com|twitter\.com)/[A-Za-z0-9_.-]+"
)
_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
ADDRESS = (
    rf"[A-Z][a-z]+ ?, (?:{_STATES}),? [0-9]{{5}}(?:[^0-9]|$)"
    # With three digits: films are called `21 Jump Street`.
    r"|[0-9]{3,5} (?:[A-Z][a-z]+ ){1,2}(?:Street|St|Avenue|Ave|Boulevard|Blvd|Road|Lane|Way|Drive),? "
    r"|[А-ЯЁ][а-яё-]+ (?:ул|пер|просп|бульв|пл)\.?, ?(?:д\. ?|дом )?[0-9]|[0-9], ?кв\. ?[0-9]"
    r"|(?:ул\.|улица|пр-т|просп\.|проспект|пер\.|шоссе) ?[А-ЯЁ][А-Яа-яё .-]{2,30}, ?(?:д\.|дом) ?[0-9]"
)
_ISSUERS = "4[0-9]{3}|5[1-5][0-9]{2}|220[0-4]|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720|6011|6[245][0-9]{2}"
CARD = rf"{_BEFORE}(?:(?:{_ISSUERS})(?:[ -]?[0-9]{{4}}){{3}}|3[47][0-9]{{2}}[ -]?[0-9]{{6}}[ -]?[0-9]{{5}}){_AFTER}"
IBAN = rf"{_BEFORE}[A-Z]{{2}}[0-9]{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_AFTER}"
SNILS = (
    rf"{_BEFORE}[0-9]{{3}}-[0-9]{{3}}-[0-9]{{3}}[ -][0-9]{{2}}{_AFTER}|(?:СНИЛС|снилс)[^0-9]{{0,9}}[0-9]{{11}}{_AFTER}"
)
TAX_NUMBER = rf"{_BEFORE}[0-9]{{12}}{_AFTER}|(?:ИНН|инн|INN)[^0-9]{{0,9}}[0-9]{{10}}{_AFTER}"
# Digits of a number -> weights of the first ones, modulus, length of the check number behind them: the tax number (INN) of a
# company, the insurance number (SNILS), the tax number of a person, whose second check digit counts the first.
_CHECK_DIGITS: dict[int, list[tuple[tuple[int, ...], int, int]]] = {
    10: [((2, 4, 10, 3, 5, 9, 4, 6, 8), 11, 1)],
    11: [((9, 8, 7, 6, 5, 4, 3, 2, 1), 101, 2)],
    12: [((7, 2, 4, 10, 3, 5, 9, 4, 6, 8), 11, 1), ((3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8), 11, 1)],
}


def is_russian_number(match: str) -> bool:
    """Whether the digits of a match are a tax or an insurance number, by their check digits."""
    digits = re.sub("[^0-9]", "", match)
    return int(digits) > 0 and all(
        sum(weight * int(digit) for weight, digit in zip(weights, digits, strict=False)) % modulus % (modulus - 1)
        == int(digits[len(weights) : len(weights) + length])
        for weights, modulus, length in _CHECK_DIGITS[len(digits)]
    )


def is_card(match: str) -> bool:
    """Whether the last digit of a match is the check digit of a payment card (Luhn): every second one is doubled."""
    digits = re.sub("[^0-9]", "", match)[::-1]
    return sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(digits)) % 10 == 0


def is_iban(match: str) -> bool:
    """Whether a match is an IBAN: with its first four characters last, and 10 to 35 for A to Z, it leaves 1 if divided by 97."""
    number = re.sub("[^0-9A-Z]", "", match)
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1


_QUOTE = "['’]"
REFUSAL = (
    rf"\A[\s\"«*>(-]*(?:(?:I(?:{_QUOTE}m| am) (?:(?:very|really|so) )?sorry,?|I apologi[sz]e,?|Sorry,?"
    rf"|Unfortunately,)(?: but)? )?"
    rf"I(?:{_QUOTE}m| am)? (?:cannot|can{_QUOTE}t|can not|won{_QUOTE}t|will not|unable to|not able to|not at liberty to"
    rf"|not capable of)"
    r" (?:fulfill?|translate|rewrite|give|helping|assist|help(?: you| with|[.!])|comply|provide|share|answer|generate"
    r"|create|write|discuss|engage|complete)"
    rf"|\A[\s\"«*>(-]*(?:(?:I(?:{_QUOTE}m| am) sorry,|I apologi[sz]e,) (?:I did(?:n{_QUOTE}t| not) (?:quite )?understand"
    rf"|I do not have|but (?:you|could))"
    rf"|(?:Could you|Please) provide (?:me with )?(?:the|more) [a-z]+ |It seems (?:that )?you forgot)"
    r"|[Aa]s an (?:AI (?:language model|assistant)|artificial intelligence)|[Aa]s a (?:large )?language model"
    r"|\A[\s\"«*>(-]*As an AI,"
    r"|[Кк]ак (?:и любая )?(?:языковая модель|искусственный интеллект|ИИ),|[Бб]удучи языковой моделью|\AДавайте сменим тему"
    r"|\A[\s\"«*>(-]*(?:(?:К сожалению|Извините|Простите|Прошу прощения),? (?:но )?)?[Яя] не (?:могу|способен|способна"
    r"|в состоянии|имею права)"
    r" (?:помочь|выполнить|перевести|перефразировать|предоставить|обсуждать|создать|написать|сгенерировать|генерировать)"
    r"|В интернете есть много сайтов с информацией на эту тему|\AЧто-то в ваш[а-яё]+ вопрос[а-яё]* меня смущает"
    r"|\A[Пп]ожалуйста, (?:уточните|пришлите|предоставьте|напишите)[^.\n]*(?:чтобы я мог|и я смогу)"
)
PREFACE = (
    rf"\A[\s\"«*>(-]*(?:Sure|Certainly|Of course|Absolutely)[!,.]+"
    rf" (?:[Hh]ere(?: is|{_QUOTE}s| are)|I can help|let me know|I{_QUOTE}d be happy)"
    rf"|\A[\s\"«*>(-]*(?:Based on the (?:given|provided|above|feedback)|A possible question)"
    rf"|\A[\s\"«*>(-]*Here(?: is|{_QUOTE}s) (?:the|an?|your|my|one) (?:[A-Za-z]+ )?"
    r"(?:question|translat|rewrit|revis|paraphras|summar|correct|generat|draft|edited|program|function|implementation"
    r"|solution|way to)"
    r"|\A[\s\"«*>(-]*(?:Конечно|Разумеется|Хорошо)[!,.]+ [Вв]от"
    r"|\A[\s\"«*>(-]*Вот (?:[а-яё]+ )?(?:перевод|пересказ|перефраз|исправленн|переписанн|сгенерированн)"
)
# The answers to choose from behind a question, and an answer or a label behind a text.
OPTIONS = (
    r"(?:^|\s)\(?A[).] [^\n]*\s\(?B[).] [^\n]*\s\(?C[).] "
    r"|(?:^|\s)\(?А[).] [^\n]*\s\(?Б[).] [^\n]*\s\(?В[).] "
)
ANSWERS = r"(?:\n|[.!?] )[ \t]*(?:Answer|Output|Label|Category|Sentiment|Метка|Категория|Тональность) ?: "
_TAGS = "url|img|quote|color|spoiler"
_TOKENS = "unk|UNK|pad|PAD|mask|MASK|[be]os|[BE]OS|sep|SEP|cls|CLS"
TOKENS = (
    rf"<\|[A-Za-z_]+\|>|<</?SYS>>|\[/?INST\]|\[(?:CLS|SEP|PAD|UNK|MASK)\]|<(?:{_TOKENS})>|<(?:start|end)_of_turn>"
    r"|__(?:eou|eot|EOS|BOS|UNK)__|(?:^|\s)UNK(?:[\s.,]|$)"
)
# A heading without a colon, unlike a part of a prompt (`### Response:`); two asterisks around words, not in a censored one.
MARKDOWN = (
    r"!?\[[^\[\]\n]+\]\([^()\s]+\)|```|\|[ :]*-{3,}[ :]*\||(?:^|\n)#{2,6} [^\s:][^\n:]*(?:\n|$)"
    r"|(?:^|[\s(])\*\*[^\s*][^*\n]{2}[^*\n]+\*\*"
)
WIKI = (
    r"\[\[[A-Za-zА-яЁё:][^\[\]\n]*\]\]|\{\{[^{}\n]+[|:][^{}\n]*\}\}|'''[^'\n]+'''|(?:^|\n)==+ ?[^=\n]+ ?==+(?:\n|$)|\{\|"
    # Of a citation, also as a tokenizer divides it.
    r"|\{ ?\{ ?[Cc]it(?:e |ation needed)|(?:^|\s)== [A-Za-zА-яЁё][^=\n]* ==(?:\s|$)"
    r"|\|(?:title|work|publisher|url|accessdate|access-date|archive-url) ?="
)
LATEX = (
    r"\\[A-Za-z]{2,} ?\{|\\(?:alpha|beta|gamma|lambda|sigma|theta|pi|times|cdot|leq|geq|infty|sum|left|right)(?:[^A-Za-z]|$)"
    r"|(?:^|[^\\])\$[^$\s0-9][^$\n]*[\^_\\][^$\n]*[^$\s\\]\$(?:[\s.,;:)!?-]|$)"
)
VARIABLES = r"(?:^|[\s\"'«(:,>])\{\{? ?[A-Za-z_][A-Za-z0-9_. ]+\}?\}|\$\{[A-Za-z0-9_]+\}|%\([a-z_]+\)s"
FORMATS = r"(?:^|[\s\"'«(:=])%[sd](?:$|[\s\"'».,:;!?)])"
_LEFT_OUT = "REDACTED|NAME|PERSON|USER|USERNAME|URL|LINK|EMAIL|PHONE|NUMBER|DATE|ADDRESS|LOCATION|ORG|ORGANIZATION"
LEFT_OUT = (
    rf"[\[<](?:(?:{_LEFT_OUT})(?:_?[0-9]+)?|[Ll]ink|Insert [A-Z][a-z]+|[A-Z][a-z]+{_QUOTE}s [Nn]ame)[\]>]|\((?:REDACTED"
    rf"|Redacted)\)"
    rf"|\[(?i:your|insert)(?: [A-Za-z]+){{1,4}}\]|HTTPURL|\$(?:{_LEFT_OUT})(?:[^A-Za-z]|$)"
    r"|\[(?i:ваше?|ваша|вставьте|укажите)(?: [а-яё]+){1,4}\]|\[(?:ИМЯ|ФИО|АДРЕС|ТЕЛЕФОН|НАЗВАНИЕ|ДАТА|ДАННЫЕ УДАЛЕНЫ)\]"
)
# What a reader of CSV turns into one quotation mark, before a word: not `print("")`, `"one""two"` or `ООО "Фирма "Мёд""`.
DOUBLED_MARK = r"""(?:\A"?|[\s(\[«,—-])""[\p{L}\p{N}]"""
# The end of a record and its line, or the start of the next: `text,1`, `text",joy`, `"text","joy"` and `"`, `17,"text`.
SEVERAL_RECORDS = (
    r'[^\s\d][,;\t]-?[0-9]+(?:\.[0-9]+)?"?\r?\n|"[,;\t][^\s",;()=\[\]{}<>]{1,20}"?\r?\n|"[,;\t]"[^"\n]*"\r?\n"'
    r'|\n"?[0-9A-Za-z_-]{1,40}[,;\t]"[^\s",]|\n[^\s,;]+[,;\t]-?[0-9]+[,;\t][^\s,;]'
)
# Punctuation as a tokenizer sets it apart, and as it is written.
SET_APART, SET_CLOSE = r" [.,](?:\s|\z)", r"[A-Za-zÀ-ÿА-яЁё0-9][.,!?;:](?:\s|\z)"
RUN_TOGETHER = "[A-Za-zÀ-ÿ]{36}|[А-яЁё]{25}|[А-яЁё,.!?:;]{30}"


def is_of_words(match: str) -> bool:
    """Whether a run of letters is of many words, not a laugh or a key: small letters, ten of them different."""
    return match[1:].islower() and len(set(match)) >= 10


# Kind, part and pattern.
RESIDUE = (
    ("encoding_residue", "lost characters", r"\x{FFFD}"),
    ("encoding_residue", "spreadsheet escapes", "_x[0-9A-F]{4}_"),
    ("encoding_residue", "control characters", r"[\x00-\x08\x0B\x0C\x0E-\x1F\x{80}-\x{9F}]"),
    ("encoding_residue", "line separators", r"[\x{2028}\x{2029}]"),
    ("encoding_residue", "question marks for letters", LOST_LETTERS),
    ("encoding_residue", "KOI8-R read as Windows-1251", KOI8),
    ("encoding_residue", "UTF-8 read as cp866", CP866),
    ("encoding_residue", "UTF-8 read as KOI8-R", UTF8_AS_KOI8),
    ("encoding_residue", "Windows-1251 read as Latin-1", LATIN1),
    ("encoding_residue", "printed values", PRINTED),
    ("encoding_residue", "UTF-8 read as another encoding", UTF8_AS_OTHERS),
    ("encoding_residue", "Latin letters read as another encoding", LATIN_AS_OTHERS),
    ("encoding_residue", "Russian read as another encoding", RUSSIAN_AS_OTHERS),
    ("encoding_residue", "escapes of mails and addresses", OTHER_ESCAPES),
    ("html_residue", "", HTML),
    ("preprocessing_residue", "treebank brackets", "-[LR][RSC]B-"),
    ("preprocessing_residue", "link stumps", r"(?:^|[^hHqQ])ttp?s?://"),  # `ttp://`, `tts://`, `tt://`; not `mqtts://`
    ("preprocessing_residue", "tokens of models", TOKENS),
    (
        "preprocessing_residue",
        "pieces of words",
        r"\x{2581}[A-Za-zА-яЁё0-9]|Ġ[A-Za-z]|[A-Za-zА-яЁё]@@ |[A-Za-zА-яЁё] ##[a-zа-яё]| @[-,.]@ ",
    ),
    ("csv_residue", "doubled quotation marks", DOUBLED_MARK),
    ("preprocessing_residue", "ligatures", r"[\x{FB00}-\x{FB06}]"),
    ("preprocessing_residue", "words divided at a line end", r"[a-zа-яё]{2}[-\x{AD}]\n[a-zа-яё]{2}"),
    ("csv_residue", "several records", SEVERAL_RECORDS),
    ("csv_residue", "fields without a value", NO_VALUE),
    ("csv_residue", "separators", r"\s(?:\|\|\||<sep>|@@@|\$\$\$|\[sep\])\s"),
    ("number_text", "", NUMBER),
    ("missing_value_text", "", f"{MISSING}|{NO_LONGER}"),
    ("junk_text", "links", LINKS),
    ("junk_text", "advertising", ADVERTISING),
    ("junk_text", "identifiers and names of files", IDENTIFIERS),
    ("junk_text", "messages of servers", SERVER_MESSAGES),
    ("junk_text", "parts of web pages", WEB_PAGES),
    ("junk_text", "texts turned round", TURNED),
    ("junk_text", "letters of mathematics", r"[\x{1D400}-\x{1D7FF}]{3}"),
    ("junk_text", "hexadecimal digits", r"(?:\A|\s)[0-9a-f]{40}"),
    ("prompt_residue", "refusals of a language model", REFUSAL),
    ("prompt_residue", "prefaces of a language model", PREFACE),
    ("prompt_residue", "options", OPTIONS),
    ("prompt_residue", "answers", ANSWERS),
    ("markup_residue", "wiki", WIKI),
    ("markup_residue", "empty brackets", r"[A-Za-z0-9А-яё,.»\"] \([\s,;:–-]*\)[\s.,;]|\(\s*[,;]\s"),
    ("markup_residue", "footnotes", r"[.,;\"»)а-яё]\[[0-9]{1,3}\]|[a-z]{4}\[[1-9][0-9]{0,2}\](?:[.,;]|\s[A-Za-z]|\z)"),
    (
        "markup_residue",
        "time codes and speakers",
        r"[0-9]:[0-9]{2}[,.][0-9]{3} -->|\[[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\]|(?:SPEAKER_|Speaker )[0-9]+ ?:",
    ),
    (
        "markup_residue",
        "BBCode",
        rf"(?i)\[/(?:b|i|u|s|code|size|font|list|center|{_TAGS})\]|\[(?:{_TAGS})(?:=[^\[\]\n]*)?\]",
    ),
    ("markup_residue", "Markdown", MARKDOWN),
    ("markup_residue", "LaTeX", LATEX),
    ("markup_residue", "headings in brackets", r"\[(?:header|title|step|substeps)\]"),
    ("markup_residue", "code", CODE),
    ("markup_residue", "JSON", r"\{\s*\"[^\"\n]+\"\s*:|\A\s*\{'[^'\n]+' ?:"),
    ("placeholder", "names for what is left out", LEFT_OUT),
    ("placeholder", "words for a text", FILLERS),
    ("placeholder", "names of emoji", r"(?:\s|\A):[a-z]{2,}(?:_[a-z]+)*:(?:\s|\z)"),
    ("placeholder", "filler text", r"(?i)lorem ipsum|dolor sit amet"),
    ("spacing", "several spaces in a sentence", r"(?:[A-Za-zА-яЁё,]|[^.!?0-9]\)) {2,3}[^\s*|#<=-]"),
    ("spacing", "no space after a sentence", r"(?:\s|\A)[^\s/@:]*[a-zа-яё]{2}[.!][A-ZА-ЯЁ][a-zа-яё]"),
    ("spacing", "letters apart", r"(?:\A|\s)[A-Za-zА-яЁё](?:\s[A-Za-zА-яЁё]){6}(?:\s|\z|[.,])"),
    ("spacing", "underscores for spaces", r"(?:\A|\s)(?:[A-Za-zА-яЁё]+_){4}"),
    ("spacing", "no-break spaces for spaces", r"\A[^ ]*\x{A0}[^ ]*\x{A0}[^ ]*\z"),
    ("spacing", "tabs", r"[^\s]\t[^\s]"),
    ("spacing", "lines broken inside sentences", r"(?:[a-zа-яё,]\n[a-zа-яё][^\n]* [^\n]* [^\n]*){3}"),
    ("personal_data", "e-mail addresses", E_MAIL),
    ("personal_data", "masked e-mail addresses", MASKED_E_MAIL),
    ("personal_data", "phone numbers", PHONE),
    ("personal_data", "postal addresses", ADDRESS),
    ("personal_data", "passports", PASSPORT),
    ("personal_data", "IP addresses", IP_ADDRESS),
    ("personal_data", "keys of programs", KEY),
)
# Kind, part, pattern, and what decides about each match of it.
CHECKED = (
    ("junk_text", "encoded data", BASE64, is_encoded),
    ("spacing", "words run together", RUN_TOGETHER, is_of_words),
    ("personal_data", "payment cards", CARD, is_card),
    ("personal_data", "bank accounts", IBAN, is_iban),
    ("personal_data", "insurance numbers", SNILS, is_russian_number),
    ("personal_data", "tax numbers", TAX_NUMBER, is_russian_number),
)
