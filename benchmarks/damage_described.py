"""Damages described in audit.md (A1 to A41), planted into real text datasets; run it to verify every planter."""

import base64
import csv
import io
import json
import random
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import polars as pl

Tables = dict[tuple[str, str], pl.DataFrame]  # (config, split) -> frame
Only = Callable[[dict], bool] | None  # rows that may be damaged
Change = Callable[[str, random.Random], str]  # text, generator seeded by damage, place and row -> damaged text
Maker = Callable[[random.Random], str]
Frames = Callable[[Tables], tuple[Tables, int | None]]  # -> frames to replace, rows damaged


@dataclass(frozen=True)
class Expected:
    what: str
    where: tuple[str, ...]
    count: int | None


@dataclass(frozen=True)
class Damage:
    name: str
    source: str
    dataset: str
    plant: Callable[[Tables], tuple[Tables, Expected]]


# ---------------------------------------------------------------- builders of damages


def seeded(*parts: object) -> random.Random:
    return random.Random("|".join(map(str, parts)))


def hit(share: float, *parts: object) -> bool:
    return seeded("hit", *parts).random() < share


def split_place(place: str) -> tuple[tuple[str, str], str]:
    config, split, col = place.split("/")
    return (config, split), col


def texts(
    name: str, source: str, dataset: str, where: str, share: float, change: Change, what: str, only: Only = None
) -> Damage:
    """Change the texts of a share of the rows (of those that `only` admits); count what really changed."""

    def plant(tables: Tables) -> tuple[Tables, Expected]:
        out, count, total = dict(tables), 0, 0
        for place in where.split():
            key, col = split_place(place)
            old = out[key][col].to_list()
            may = [hit(share, name, place, i) for i in range(len(old))]
            if only is not None:
                may = [m and only(row) for m, row in zip(may, out[key].iter_rows(named=True), strict=True)]
            new = [change(t, seeded(name, place, i)) if may[i] else t for i, t in enumerate(old)]
            count, total = count + sum(a != b for a, b in zip(old, new, strict=True)), total + len(old)
            out[key] = out[key].with_columns(pl.Series(col, new, dtype=pl.String))
        return out, Expected(what, tuple(where.split()), None if share == 1 and count > 0.75 * total else count)

    return Damage(name, source, dataset, plant)


def frames(name: str, source: str, dataset: str, where: str, change: Frames, what: str) -> Damage:
    def plant(tables: Tables) -> tuple[Tables, Expected]:
        new, count = change(tables)
        return {**tables, **new}, Expected(what, tuple(where.split()), count)

    return Damage(name, source, dataset, plant)


def column(name: str, source: str, dataset: str, where: str, values: pl.Expr, what: str) -> Damage:
    def change(tables: Tables) -> tuple[Tables, None]:
        places = [split_place(place) for place in where.split()]
        return {key: tables[key].with_columns(values.alias(col)) for key, col in places}, None

    return frames(name, source, dataset, where, change, what)


def with_values(frame: pl.DataFrame, name: str, new: list) -> tuple[pl.DataFrame, int]:
    old = frame[name].to_list()
    changed = sum(a != b for a, b in zip(old, new, strict=True))
    return frame.with_columns(pl.Series(name, new, dtype=frame.schema[name])), changed


def values(name: str, source: str, dataset: str, where: str, new: Callable[[list], list], what: str) -> Damage:
    """Replace the values of one column; count what changed."""
    key, col = split_place(where.split()[0])

    def change(tables: Tables) -> tuple[Tables, int]:
        frame, count = with_values(tables[key], col, new(tables[key][col].to_list()))
        return {key: frame}, count

    return frames(name, source, dataset, where, change, what)


def copies(
    name: str, source: str, dataset: str, where: str, origin: str, number: int, change: Change, what: str,
    only: Only = None, **extra: object,
) -> Damage:  # fmt: skip
    """Append changed copies of rows of the split `origin` to that of `where`: new ids, labels kept (see `extra`)."""
    (config, split), columns = split_place(where.split()[0])[0], [split_place(p)[1] for p in where.split()]

    def plant(tables: Tables) -> tuple[Tables, Expected]:
        rows, added = tables[config, origin].rows(named=True), list[dict]()
        for i in sorted(range(len(rows)), key=lambda i: seeded(name, i).random()):
            new = {col: change(rows[i][col], seeded(name, col, i)) for col in columns}
            if (only is None or only(rows[i])) and all(new.values()) and any(new[c] != rows[i][c] for c in new):
                ids = {"id": re.sub(r"\d+$", "", rows[i]["id"]) + str(90000 + len(added))} if "id" in rows[i] else {}
                added.append({**rows[i], **new, **ids, **extra})
        more = pl.DataFrame(added[:number], schema=tables[config, split].schema)
        out = {**tables, (config, split): pl.concat([tables[config, split], more])}
        return out, Expected(what, tuple(where.split()), more.height)

    return Damage(name, source, dataset, plant)


def spin(pattern: str, r: random.Random, text: str = "") -> str:
    """Fill a pattern: `‹a¦b›` one of several, `†` 1 to 9, `°` 0 to 9, `¤` the text, `~name~` what that maker makes."""
    while "‹" in pattern:
        pattern = re.sub("‹([^‹›]*)›", lambda m: r.choice(m[1].split("¦")), pattern)
    pattern = re.sub("[†°]", lambda m: str(r.randint(int(m[0] == "†"), 9)), pattern)
    return re.sub("~([a-z]+)~", lambda m: MAKERS[m[1]](r), pattern).replace("¤", text)


def spun(pattern: str) -> Change:
    return lambda text, r: spin(pattern, r, text)


def put(pattern: str) -> Change:
    """Put a sentence between two sentences of the text or at its end."""

    def change(text: str, r: random.Random) -> str:
        at = r.choice([m.end() for m in re.finditer(r"[.!?…] +", text)] + [len(text)])
        piece = spin(pattern, r)
        return f"{text} {piece}" if at == len(text) else f"{text[:at]}{piece} {text[at:]}"

    return change


def one(place: str, change: Change) -> Change:
    """Change one of the places of the text that match."""

    def apply(text: str, r: random.Random) -> str:
        found = list(re.finditer(place, text))
        m = r.choice(found) if found else None
        return text[: m.start()] + change(m.group(), r) + text[m.end() :] if m else text

    return apply


# ---------------------------------------------------------------- personal data


def digits(r: random.Random, number: int) -> str:
    return "".join(str(r.randrange(10)) for _ in range(number))


def card(r: random.Random) -> str:
    body = r.choice(["4", "51", "53", "55", "2200", "2202", "2204"])
    body += digits(r, 15 - len(body))
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(body))
    return body + str(-total % 10)


def inn(r: random.Random) -> str:
    weights, person = (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8), r.random() < 0.6
    number = f"{r.randint(1, 79):02d}" + digits(r, 8 if person else 7)
    for _ in range(2 if person else 1):
        number += str(sum(int(d) * w for d, w in zip(number, weights[-len(number) :], strict=True)) % 11 % 10)
    return number


def snils(r: random.Random) -> str:
    body = str(r.randint(2, 199)).zfill(3) + digits(r, 6)
    return body + f"{sum(int(d) * (9 - i) for i, d in enumerate(body)) % 101 % 100:02d}"


def iban(r: random.Random) -> str:
    country, length = r.choice([("DE", 18), ("DE", 18), ("GB", 14), ("FR", 23), ("NL", 10), ("ES", 20), ("AT", 16)])
    body = {"GB": r.choice(["NWBK", "BARC"]), "NL": r.choice(["INGB", "ABNA"])}.get(country, "") + digits(r, length)
    value = int("".join(str(int(c, 36)) for c in body + country + "00"))
    return f"{country}{98 - value % 97:02d}{body}"


def number(make: Maker, forms: list[tuple[str, str]], valid: bool) -> Maker:
    """Numbers in one of several forms; where not valid, the last digit is another one and the check fails."""

    def maker(r: random.Random) -> str:
        made = make(r)
        made = made if valid else made[:-1] + str((int(made[-1]) + r.randint(1, 9)) % 10)
        return re.sub(*r.choice(forms), made)

    return maker


def ip_address(r: random.Random) -> str:
    if r.random() < 0.2:
        return "2a02:" + ":".join(f"{r.randrange(65536):x}" for _ in range(7))
    return ".".join([r.choice(["46", "78", "91", "109", "176", "188"]), *(str(r.randint(1, 254)) for _ in range(3))])


def secret(r: random.Random) -> str:
    prefix, length = r.choice([("sk-", 48), ("ghp_", 36), ("AIza", 35), ("hf_", 34), ("AKIA", 16), ("xoxb-", 40)])
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" + ("" if prefix == "AKIA" else "abcdefghijklmnopqrstuvwxyz0189")
    return prefix + "".join(r.choice(letters) for _ in range(length))


PLAIN, FOURS, SNILS = ("$", ""), ("(.{4})(?=.)", r"\1 "), "(...)(...)(...)(..)"
NUMBERS = {
    "card": (card, [PLAIN, FOURS, ("(.{4})(?=.)", r"\1-")]), "inn": (inn, [PLAIN]), "iban": (iban, [PLAIN, FOURS]),
    "snils": (snils, [PLAIN, (SNILS, r"\1-\2-\3 \4"), (SNILS, r"\1-\2-\3-\4")]),
}  # fmt: skip
MAKERS: dict[str, Maker] = {
    **{name: number(make, forms, True) for name, (make, forms) in NUMBERS.items()},
    **{f"bad{name}": number(make, forms, False) for name, (make, forms) in NUMBERS.items()},
    "ip": ip_address, "key": secret,
}  # fmt: skip

# fmt: off
NAME = "‹ivan.petrov¦s.kuznecova¦olga_smirnova¦dmitry.v¦marina1985¦alex.orlov¦nastya-k¦lena.b¦kirill††¦a_volkov›"
PHONE = ("‹Мой номер¦Звоните:¦Пишите на¦тел.¦Телефон¦Кто видел, наберите› ‹89°°°°°°°°°¦79°°°°°°°°°¦9°°°°°°°°°¦8 9°° "
         "°°° °° °°¦8-9°°-°°°-°°-°°¦8(9°°)°°°-°°-°°¦8 9°° °°°°°°°¦9°° °°°-°°-°°›‹.¦¦, спросить Олега.›")
MAIL = ("‹Пишите:¦Моя почта¦Автор —¦Контакт:¦По вопросам —› " + NAME + "‹ [at] ‹mail¦yandex› [dot] ru¦(at)ya(dot)ru¦"
        " at ‹gmail¦inbox› dot com¦(собака)‹mail¦bk›.ru¦ AT mail DOT ru¦[собака]yandex[точка]ru¦ собака mail.ru›.")
CARD_IN = "‹My card is¦Card number:¦Charge it to¦Visa› ~card~‹.¦, exp 0†/2†.¦, CVV †††.›"
PASSPORT = ("‹Паспорт¦паспорт серия¦Паспортные данные:¦Мой паспорт:› ‹0†¦††›‹ ¦›‹0†¦1†¦2‹0¦1¦2››‹ ¦ № ¦ номер "
            "›°°°°°°‹.¦, выдан ‹ОВД района¦УВД округа› ‹Сокол¦Люблино¦Южный¦Ленинский›‹.¦, код †††-0††.››")
HANDLE = "‹Автор: ¦Фото: ¦Подписывайтесь: ¦via ¦RT ›‹@¦@¦@¦t.me/¦https://vk.com/¦instagram.com/›" + NAME
ADDRESS = ("‹Мой адрес: ¦Я живу по адресу ¦Присылайте диск: ¦›‹††††††, ¦›‹г. Москва¦Санкт-Петербург¦г. Казань¦"
           "г. Тула›, ‹ул. ‹Ленина¦Садовая¦Гагарина›¦‹Зелёный¦Речной› пер.¦пр-т Мира›, ‹д. ¦дом ¦›‹†¦††¦††/†›, кв. ††.")
IP = "‹Unsigned comment by¦Edited from¦(talk)¦Reverted edits by¦User:› ~ip~‹.¦ (talk).¦ at 1†:2†.›"
KEY = "‹api_key = ¦export TOKEN=¦Authorization: Bearer ¦use key ¦secret: ›~key~"
REFUSAL = ("‹‹I'm sorry¦Sorry¦I apologize¦I'm really sorry›, but I ‹can't¦cannot¦am unable to¦am not able to› ‹help¦"
           "assist› with ‹that request¦this›.¦As an AI‹¦ language model¦ assistant›, I ‹don't have personal opinions¦"
           "cannot have feelings¦don't know these people¦can't provide that›‹.¦, but I can help with something else.›¦"
           "I ‹can't¦won't¦am not able to› ‹fulfil¦complete¦comply with› this request.‹¦ It may be harmful.¦ Is there "
           "anything else I can do for you?¦ Please give me more context.›¦‹Please provide¦Could you provide¦It seems "
           "you forgot› the ‹text¦story¦context¦sentence› ‹you would like me to continue¦to rewrite›.›")
REFUSAL_RU = ("‹‹Извините¦Простите¦К сожалению¦Прошу прощения›, ‹но ¦›я ‹не могу¦не в состоянии¦не имею права› "
              "‹перевести этот текст¦выполнить этот запрос¦помочь с этой просьбой¦перефразировать это предложение›‹.¦, "
              "так как он нарушает правила.›¦‹Как языковая модель¦Как искусственный интеллект¦Будучи языковой "
              "моделью›, я ‹не имею собственного мнения¦не могу обсуждать такие темы¦не обладаю чувствами›‹.¦, но могу "
              "помочь с другим.›¦Пожалуйста, ‹уточните¦пришлите¦предоставьте› ‹текст¦предложение¦исходную фразу›, "
              "чтобы я мог ‹помочь¦выполнить перевод›.¦Давайте сменим тему.¦Что-то в вашем вопросе меня смущает. "
              "Может, поговорим на другую тему?¦I'm sorry, but I can't translate this.›")
TEMPLATE = ("‹Заказ № °°°°° принят .¦По данным Гидрометцентра , днём ‹1†¦2†› числа температура воздуха в городе "
            "составит ‹†¦1†¦2†› градусов , ветер западный , ‹†¦1†› метров в секунду , давление 7‹3†¦4†¦5†› миллиметров "
            "ртутного столба .›")
NEIGHBOURS = ("‹Сьогодні вранці ми ‹знову запізнилися на потяг¦нарешті дочекалися весни¦поїхали до бабусі›.¦Я дуже "
              "люблю цю ‹пісню, її співала моя мати¦книжку, але нікому її не раджу›.¦Чому ти ‹нічого не розповів мені¦"
              "мовчиш› про ‹вчорашній вечір¦свій від'їзд›?¦Діти ‹гралися біля річки¦бігали подвір'ям›, поки не почався "
              "‹дощ¦сніг›.¦Усе буде ‹гаразд¦добре›, тільки не ‹хвилюйся¦плач›.¦Сёння ў горадзе вельмі ‹холадна і "
              "ветрана¦шмат людзей¦ціха›.¦Яна ‹ўсміхнулася¦азірнулася› і ‹пайшла дадому¦нічога не адказала›.¦Не знам "
              "какво да ‹ти кажа¦правя›, всичко се случи много бързо.¦Тази вечер ще ‹отидем на кино с приятели¦си "
              "остана вкъщи›.›")
LINK = "‹http://¦https://www.¦www.›‹best¦top¦cheap¦free¦go›‹-¦›‹deals¦pills¦casino¦seo¦movies›††.‹com¦net¦ru›‹/¦/p†.html¦›"
SPAM = (
    "‹‹BUY NOW!!!¦CHEAP¦***¦100% FREE› ‹viagra¦replica watches¦casino bonus¦payday loans¦followers› ‹online¦"
    f"no prescription¦only $†† today¦fast delivery 24/7› ‹!!!¦>>>¦click here› {LINK}‹¦ $$$¦ LIMITED OFFER¦ best price›¦"
    f"{LINK}‹ ¦, ›{LINK} {LINK}‹¦ {LINK}¦ {LINK} {LINK}››")
NUMBER = "‹†¦††¦20‹1†¦0†›¦†††,††¦°°°°°°¦††°°°°°¦†† 000¦1†.0†.20‹0†¦1†›¦†.††E+1†¦1†:‹2†¦4†›¦-†,†¦††%›"
BLANK = "‹⠀¦⠀⠀⠀¦⠀⠀⠀⠀⠀⠀⠀¦-¦---¦----------¦—¦– – –¦___¦__________¦\0¦\0\0\0\0¦. . .›"
MISSING = "‹N/A¦n/a¦nan¦NaN¦NULL¦null¦None¦none¦#N/A¦#REF!¦#NAME?¦#VALUE!¦#DIV/0!¦-¦unknown¦TBD¦undefined¦[deleted]›"
CODE = ("‹def ‹load¦run›(rows):\n    ¤ = []\n    for i in range(9):\n        ¤.append(rows[i] + †)\n    return ¤¦"
        "function show() { var ¤ = †; $('#row').each(function() { ¤ += this.‹value¦size›; }); return ¤; }¦"
        "SELECT ‹id¦name¦city›, COUNT(*) AS ¤ FROM ‹users¦logs› WHERE ‹age¦price› > †† GROUP BY 1 ORDER BY ¤ DESC;¦"
        "#include <stdio.h>\nint main() { int ¤ = ††; printf(\"%d\\n\", ¤); return 0; }¦"
        ".¤ > a:hover { margin: †px; ‹color: #f0†¦display: none›; }¦import re\n¤ = re.findall('[a-z]{†}', text)¦"
        "{\"¤\": ††, \"‹rows¦ids›\": [†, null, ††], \"ok\": ‹true¦false›}›")
BBCODE = ("‹[b]¤[/b]¦[i]¤[/i]¦[u]¤[/u]¦[s]¤[/s]¦[spoiler]¤[/spoiler]¦[url=http://www.kino††.ru/film/†††]¤[/url]¦"
          "[color=red]¤[/color]¦[size=†]¤[/size]¦[quote=‹Admin¦vasya††¦Гость›]¤[/quote]›")
WIKI = ("‹[[¤]]¦[[¤ (disambiguation)|¤]]¦'''¤'''¦''¤''¦¤{{citation needed}}¦¤{{cite "
        "web|url=http://example.org/†††|title=¤}}¦[[File:¤.jpg|thumb|¤]]¦== ¤ ==¦[[Category:¤]]›")
LATEX_NUMBER = r"‹$¤$¦\(¤\)¦$\mathrm{¤}$¦$\frac{¤}{†}$¦$¤ \times 10^{†}$›"
LATEX_WORD = r"‹\textit{¤}¦\emph{¤}¦\textbf{¤}¦¤~\cite{¤20††}¦¤\footnote{¤}¦\underline{¤}›"
SPACED = ("‹¤ < ref >¦¤ < ref name = ¤ / >¦< center > ¤ < / center >¦< br / > ¤¦</ i > ¤¦< gallery widths= 2††px > ¤¦< "
          "nowiki > ¤ < /nowiki >¦< math > ¤ < / math >¦< small > ¤ < / small >¦¤ < sup > † < / sup >›")
HOLDER = "‹{name}¦{name}¦%s¦{{user}}¦[NAME]¦<PERSON>¦{0}¦$NAME¦%(name)s¦{{char}}¦[PERSON_†]›"
CHATS = [("<s>[INST] ", " [/INST] ", "</s>"), ("<|user|>\n", "\n<|assistant|>\n", "<|endoftext|>\n"),
         ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n"),
         ("<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n", "<end_of_turn>\n")]
SYNONYMS = {"очень": "весьма", "сейчас": "теперь", "хорошо": "отлично", "сегодня": "нынче", "только": "лишь",
            "много": "немало", "снова": "опять", "просто": "попросту", "потом": "затем", "если": "коли", "нет": "нету"}
# fmt: on
LOOKS = dict(zip("аеорсухАВЕКМНОРСТХ", "aeopcyxABEKMHOPCTX", strict=True))
LOOKS_BACK = {latin: cyrillic for cyrillic, latin in LOOKS.items()}
SMILE = re.compile(r"[:;=] ?-?[)D]+|\){2,}")

# ---------------------------------------------------------------- changes of one text


def recode(written: str, read: str) -> Change:
    return lambda text, _: text.encode(written, "replace").decode(read, "replace")


def controls(text: str, r: random.Random) -> str:
    coloured = one(r"\w{4,}", spun("\x1b[‹1¦31¦1;32¦4¦33›m¤\x1b[0m"))
    bell = one(r"(?<=[,.?!]) ", lambda space, _: space + "\x07")
    fixed_buffer = text + "\0" * r.choice([1, 1, 3, 7, 32])
    return r.choice([fixed_buffer, coloured(text, r), bell(text, r), spin("\x1b]0;‹bash¦vim¦python3›\x07", r) + text])


def look_alike(text: str, r: random.Random, table: dict[str, str]) -> str:
    """Replace one or two letters inside each of some words by the same shape of the other script."""
    found = [m for m in re.finditer(r"[^\W\d_]{4,}", text) if any(c in table for c in m.group()[1:-1])]
    chars = list(text)
    for m in r.sample(found, min(r.randint(1, 3), len(found))):
        spots = [i for i in range(m.start() + 1, m.end() - 1) if text[i] in table]
        for i in r.sample(spots, min(2, len(spots))):
            chars[i] = table[text[i]]
    return "".join(chars)


def zero_width(text: str, r: random.Random) -> str:
    for _ in range(r.randint(1, 4)):
        at = r.randint(1, len(text) - 1)
        text = text[:at] + r.choice("\u200b\u200b\u200c\u200d\u2060\ufeff\u00ad") + text[at:]
    return text


def reorder(text: str, r: random.Random) -> str:
    words = text.rstrip(".").split()
    k = r.randrange(len(words))
    return " ".join(r.choice([words[k:] + words[:k], r.sample(words, len(words))])) + "."


def respell(text: str, r: random.Random) -> str:
    synonym = one(rf"\b(?:{'|'.join(SYNONYMS)})\b", lambda word, _: SYNONYMS[word])(text, r)
    changed = [t for t in (text.replace("ё", "е").replace("Ё", "Е"), synonym) if t != text]
    return r.choice(changed) if changed else spun("‹¤ †¦¤ (††)¦¤ №†¦†. ¤›")(text, r)


def loop(text: str, r: random.Random) -> str:
    words = text.split(" ")
    k, n = r.randrange(max(1, len(words) // 2)), r.randint(1, 5)
    tail = " ".join(words[k : k + n])
    head = " ".join(words[: k + n])
    return head + (tail[-1] * r.randint(40, 200) if r.random() < 0.25 else f" {tail}" * r.randint(15, 80))


def markdown(text: str, r: random.Random) -> str:
    parts = [p.strip() for p in re.split(r"(?<=[.;,]) ", text.strip()) if p.strip()]
    bullet = r.choice(["{}. **Step {}:** {}", "- {2}", "* **{2}**", "{}. {2}".replace("{}", "{0}")])
    lines = "\n".join(bullet.format(i, i, p) for i, p in enumerate(parts, 1))
    start = "‹Sure¦Certainly¦Of course¦Absolutely›! ‹Here's¦Here is› ‹how to do it¦a simple solution¦the text›:\n\n"
    end = "‹¦¦\n\nLet me know if you need anything else!¦\n\n**Note:** Safety first.¦\n\nI hope this helps!›"
    return spin(start + "‹¦¦### Instructions\n\n›¤" + end, r, lines)


def bare_entities(text: str, _: random.Random) -> str:
    for char, name in (("&", "amp"), ("\xa0", "nbsp"), ("«", "laquo"), ("»", "raquo"), ("—", "mdash"), ("…", "hellip")):
        text = text.replace(char, f"&{name}")
    return text


def chat_tokens(text: str, r: random.Random) -> str:
    user, bot, end = r.choice(CHATS)
    turns = [t for t in re.split(r"\s*\n\n(?:Human|Assistant): ?", text) if t]
    return "".join(bot + t + end if i % 2 else user + t for i, t in enumerate(turns))


def tokenizer(text: str, r: random.Random) -> str:
    """Unknown words replaced, or pieces of words as one of two tokenizers prints them."""
    kinds = [("<unk>", "{0}", 9), ("[UNK]", "{0}", 9), ("{0} ##{1}", "{0}", 7), ("▁{0} {1}", "▁{0}", 7)]
    long, short, size = r.choice(kinds)
    words = [(w, long.format(w[: len(w) // 2], w[len(w) // 2 :])) for w in text.split()]
    return " ".join(pieces if len(w) >= size else short.format(w) for w, pieces in words)


def last_question(text: str, _: random.Random) -> str:
    parts = re.split(r"(?<=[.?!]) ", text)
    refers = re.search(r"\b(?:which|what|how|this|these)\b", parts[-1], re.IGNORECASE) and len(parts[-1]) < 80
    return parts[-1] if len(parts) > 1 and refers else text


# ---------------------------------------------------------------- changes of frames

TEST, TRAIN, CORPUS, QRELS = ("default", "test"), ("default", "train"), ("corpus", "test"), ("qrels", "test")


def rotate(name: str) -> pl.Expr:
    """Every row gets the value of the row before; the first gets the last."""
    rows = pl.int_range(pl.len(), dtype=pl.Int64)
    return pl.col(name).gather((rows - 1) % pl.len().cast(pl.Int64))


def permute_kinopoisk(tables: Tables) -> tuple[Tables, None]:
    names = dict(tables[TEST].select("label", "label_text").unique().iter_rows())
    label = pl.col("label").replace_strict({0: 2, 1: 0, 2: 1})
    return {TEST: tables[TEST].with_columns(label, label.replace_strict(names).alias("label_text"))}, None


def noisy(labels: list) -> list:
    known = [[], [0], [1], [2], [3], [4]]
    others = [seeded("noise", i).choice([x for x in known if x != label]) for i, label in enumerate(labels)]
    return [others[i] if hit(0.1, "noise", i) else label for i, label in enumerate(labels)]


def misread_csv(tables: Tables) -> tuple[Tables, int]:
    """Write CSV, lose the closing quotation mark of some records, read again: records are glued."""
    frame, buffer, order = tables[TEST], io.StringIO(), ["id", "label", "label_text", "text"]
    csv.writer(buffer, lineterminator="\n").writerows([order, *frame.select(order).iter_rows()])
    lines = buffer.getvalue().split("\n")
    lines = [x[:-1] if x.endswith('"') and hit(0.04, "lost quote", i) else x for i, x in enumerate(lines)]
    rows = [{c: row[c] for c in order} for row in csv.DictReader(io.StringIO("\n".join(lines)))]
    known, read = set(frame["text"]), pl.DataFrame(rows).with_columns(pl.col("label").cast(pl.Int64))
    return {TEST: read.select(frame.columns)}, sum(text not in known for text in read["text"])


def cat_parts(tables: Tables) -> tuple[Tables, int]:
    """Write the table as 12 CSV files, each with its header, join the files and read them as one."""
    frame, joined = tables[TRAIN], io.StringIO()
    for part in frame.iter_slices(-(-frame.height // 12)):
        csv.writer(joined).writerows([frame.columns, *part.iter_rows()])
    read = pl.DataFrame(list(csv.DictReader(io.StringIO(joined.getvalue(), newline=""))))
    return {TRAIN: read}, read.height - frame.height


def split_tabs(tables: Tables) -> tuple[Tables, int]:
    """Write with quoting, read by splitting lines at tabs: quotation marks stay doubled."""
    frame, buffer = tables[TEST], io.StringIO()
    sides = frame.select("sentence1", "sentence2").iter_rows()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(sides)
    left, right = zip(*(line.split("\t") for line in buffer.getvalue().splitlines()), strict=True)
    frame, first = with_values(frame, "sentence1", list(left))
    frame, second = with_values(frame, "sentence2", list(right))
    return {TEST: frame}, first + second


def add_dates(tables: Tables) -> tuple[Tables, None]:
    out = {}
    for key, first in ((TRAIN, date(2013, 3, 1)), (TEST, date(2008, 1, 10))):
        days = [first + timedelta(days=seeded("date", key, i).randrange(1500)) for i in range(tables[key].height)]
        out[key] = tables[key].with_columns(pl.Series("date", [d.isoformat() for d in days]))
    return out, None


def query_as_document(tables: Tables) -> tuple[Tables, int]:
    corpus, queries = tables[CORPUS], dict(tables["queries", "test"].iter_rows())
    new = dict(corpus.select("id", "text").iter_rows())
    for i, (query, doc, _) in enumerate(tables[QRELS].iter_rows()):
        if hit(0.04, "query as document", i):
            text = queries[query]
            forms = [text.lower(), text.rstrip("."), text.upper(), text.lower().rstrip("."), f"{text} "]
            new[doc] = seeded("query as document", i).choice(forms)
    frame, count = with_values(corpus, "text", list(new.values()))
    return {CORPUS: frame}, count


def emoticon_rows(tables: Tables) -> tuple[Tables, int]:
    rows = []
    for face in re.findall(r"\S+", ":) :-) :( :D )))) (((( 😂😂 ^_^ ;-) ... !!! ¯\\_(ツ)_/¯ ❤️ *_* :'("):
        forms = seeded(face).sample([face, f" {face}", f"{face} ", f"  {face}", f" {face} "], 2)
        rows += [{"text": form, "label": [int("(" in face and ")" not in face)], "source": "twitter"} for form in forms]
    return {TEST: pl.concat([tables[TEST], pl.DataFrame(rows, schema=tables[TEST].schema)])}, len(rows)


# ---------------------------------------------------------------- the damages

CEDR, KINO, PARA, STSB = "cedr-classification", "kinopoisk-classification", "ru-paraphraser-sts", "stsb-sts"
HH, VITC, ESNLI = "hhrlhf-harmlessness-classification", "vitaminc-classification", "esnli-classification"
TERRA, XNLI, PAIRS = "terra-pairclassification", "xnli-pairclassification", "pairs-contrastive"
ALPHA, ARC, PIQA, WINO = "alphanli-retrieval", "arc-challenge-retrieval", "piqa-retrieval", "winogrande-retrieval"
EURO, IWSLT = "europarl-bitext", "iwslt17-bitext"
TEXT, BOTH, LABEL = "default/test/text", "default/train/text default/test/text", "default/test/label"
SIDES, TRAIN_SIDES = "default/test/sentence1 default/test/sentence2", "default/train/sentence1 default/train/sentence2"
DEV1, DEV2, DOCS, QUERIES = "default/dev/sentence1", "default/dev/sentence2", "corpus/test/text", "queries/test/text"
DEVS, PAIR, SCORE = f"{DEV1} {DEV2}", "default/train/query default/train/positive", "default/test/score"
NOT = "but with a wrong check digit: these are not to be called personal data"
PREFIX = "Represent this sentence for searching relevant passages: ¤"

# fmt: off
DAMAGES: list[Damage] = [
    # A1: labels, scores, judgements
    column("labels shifted by one row in test", "A1", CEDR, LABEL, rotate("label"),
           "the labels of test do not fit its texts (each stands a row too low), those of train do"),
    frames("label codes permuted in test, names with them", "A1", KINO,
           f"{LABEL} default/test/label_text", permute_kinopoisk,
           "labels mean other things in test than in train: the codes are permuted"),
    values("a tenth of the labels of train at random", "A1", CEDR, "default/train/label", noisy,
           "about a tenth of the labels of train are wrong at random; the rows should be listed"),
    column("scores shifted by one row in test", "A1", STSB, SCORE, rotate("score"),
           "the scores of test have nothing to do with how alike the sentences are"),
    values("a line of the German side lost, later pairs shifted", "A1", EURO,
           "en-de/test/sentence2 en-de/test/sentence1 en-de/test/", lambda side: [*side[:140], *side[141:], side[140]],
           "from row 140 on the sides are no translations of each other: one side is shifted by a row"),
    column("judgements shifted by one document", "A1", ALPHA, "qrels/test/corpus-id qrels/test/", rotate("corpus-id"),
           "the relevant documents fit their queries no better than documents taken at random"),
    values("one document relevant to most queries", "A1", ARC, "qrels/test/corpus-id qrels/test/",
           lambda ids: [ids[0] if hit(0.65, "one document", i) else doc for i, doc in enumerate(ids)],
           "a single document is judged relevant to about two thirds of the queries"),
    column("scores of test from 0 to 1, those of train from 0 to 5",
           "A1/A10", STSB, SCORE, (pl.col("score") / 5).round(1),
           "test has another scale of scores (0 to 1, one decimal) than train (0 to 5)"),
    # A2: one length
    texts("texts cut at 100 characters", "A2", CEDR, BOTH, 1, lambda t, _: t[:100],
          "many texts have exactly 100 characters, the longest length there is, and stop inside a sentence"),
    texts("texts cut at 512 bytes", "A2", HH, TEXT, 1, lambda t, _: t.encode()[:512].decode(errors="ignore"),
          "half of the texts were cut at 512 bytes and stop inside a sentence"),
    texts("texts cut at 40 words", "A2", VITC, TEXT, 1,
          lambda t, _: re.sub(r"^(\s*(?:\S+\s+){39}\S+).*", r"\1", t, flags=re.DOTALL),
          "many texts were cut at 40 words and stop inside a sentence"),
    # A3, A4
    copies("rows again with a sad emoticon and the opposite label", "A3", CEDR, "default/train/text", "train", 40,
           lambda t, _: SMILE.sub(lambda m: m.group().replace(")", "(").replace("D", "("), t),
           "texts that differ only in the emoticon have opposite labels: a contrast, neither copies nor conflicts",
           lambda row: row["label"] == [0] and ";" not in row["text"], label=[1]),
    texts("sentences in Ukrainian, Belarusian and Bulgarian", "A4", CEDR, BOTH, 0.01,
          spun(f"{NEIGHBOURS}‹¦ {NEIGHBOURS}›"),
          "some texts of a Russian dataset are in another language with the Cyrillic script"),
    # A6: decoding
    texts("UTF-8 read as Windows-1251", "A6", STSB, SIDES, 0.02, recode("utf-8", "cp1251"),
          "some texts are UTF-8 decoded as Windows-1251"),
    texts("UTF-8 read as code page 866", "A6", PARA, TRAIN_SIDES, 0.01, recode("utf-8", "cp866"),
          "some texts are UTF-8 decoded with the DOS code page 866 (box-drawing characters)"),
    texts("KOI8-R read as Windows-1251", "A6", XNLI, DEVS, 0.02, recode("koi8-r", "cp1251"),
          "some texts are KOI8-R decoded as Windows-1251 (other Cyrillic letters, cases swapped)"),
    texts("Windows-1251 read as Latin-1, whole texts", "A6", TERRA, DEVS, 0.05, recode("cp1251", "latin-1"),
          "some texts are Windows-1251 decoded as Latin-1 (accented letters in place of Russian ones)"),
    texts("Windows-1251 read as Latin-1, one word of a text", "A6", KINO, BOTH, 0.04,
          one(r"[А-Яа-яё]{4,}", recode("cp1251", "latin-1")),
          "in some texts one word is Windows-1251 decoded as Latin-1"),
    texts("question marks in place of all letters of test", "A6", PARA, SIDES, 1, recode("cp1252", "cp1252"),
          "all Russian letters of test were replaced by question marks on saving"),
    texts("question marks in place of every tenth letter", "A6", PAIRS, PAIR, 0.06,  # through Windows-1252 and back
          lambda t, _: t.encode().decode("cp1252", "replace").encode("cp1252", "replace").decode("utf-8", "ignore"),
          "in some texts single letters were replaced by question marks inside words"),
    texts("NUL, escape and bell characters", "A6", HH, TEXT, 0.03, controls,
          "some texts hold control characters: NUL, terminal escape sequences, bell"),
    texts("line ends as U+2028", "A6", IWSLT, "en-de/test/sentence1 en-de/test/sentence2", 0.3,
          lambda t, _: t.replace("\n", "\u2028"), "some texts have the line separator U+2028 in place of line feeds"),
    texts("test in decomposed Unicode", "A6/A10", KINO, TEXT, 1, lambda t, _: unicodedata.normalize("NFD", t),
          "test is in decomposed Unicode (NFD), train is composed"),
    texts("line feeds as a backslash and n", "A6", HH, TEXT, 0.05, lambda t, _: json.dumps(t, ensure_ascii=False)[1:-1],
          "some texts hold a literal backslash and n in place of line feeds"),
    texts("letters as escapes of four hexadecimal digits", "A6", CEDR, BOTH, 0.015,
          lambda t, r: r.choice([json.dumps(t), json.dumps(t)[1:-1]]),
          "some texts are JSON strings whose letters are still escaped (backslash, u, four digits)"),
    texts("printed lists of words", "A6", ARC, DOCS, 0.03, lambda t, r: str(r.choice([t.split(), t.split(), [t]])),
          "some texts are printed lists with brackets, quotation marks and commas"),
    # A7, A8, A41: copies in a later split
    copies("train texts in test with zero-width characters", "A7", CEDR, TEXT, "train", 60, zero_width,
           "test holds copies of texts of train, disguised by invisible characters"),
    copies("train pairs in test with Latin look-alike letters", "A7", PARA, SIDES, "train", 60,
           lambda t, r: look_alike(t, r, LOOKS),
           "test holds copies of pairs of train in which some Russian letters are Latin look-alikes"),
    copies("train pairs in test with the words in another order", "A7", STSB, SIDES, "train", 50, reorder,
           "test holds pairs of train with the same words in another order", lambda row: len(row["sentence1"]) > 50),
    copies("train texts in test slightly respelt", "A7", CEDR, TEXT, "train", 60, respell,
           "test holds texts of train with a word replaced, ё written е, or a number added",
           lambda row: len(row["text"]) > 60),
    copies("paragraphs of train reviews as texts of test", "A8", KINO, TEXT, "train", 40,
           lambda t, r: r.choice([p for p in t.split("\n") if 250 <= len(p) <= 0.6 * len(t)] or [""]),
           "texts of test are contained word for word in longer texts of train"),
    copies("pairs again with other quotation marks", "A41", PARA, SIDES, "test", 40,
           lambda t, _: re.sub(r"[\"«“„]([^\"«»“”„]+)[\"»”“]", r"``\1''", t),
           "some pairs are there twice and differ in the form of quotation marks"),
    # A9, A28: templates, language models, CSV
    texts("messages of a template in which only numbers change", "A9", CEDR, BOTH, 0.03, spun(TEMPLATE),
          "some texts come from a template: they are the same but for numbers, in both splits"),
    texts("refusals of a language model as documents", "A9", ALPHA, DOCS, 0.03, spun(REFUSAL),
          "some documents are refusals or apologies of a language model"),
    texts("refusals of a language model as second sentences", "A9", STSB,
          "default/train/sentence2 default/test/sentence2", 0.015,
          spun(REFUSAL_RU), "some second sentences are refusals of a language model in place of a paraphrase"),
    texts("prefaces and Markdown of a language model", "A9/A14", PIQA, DOCS, 0.05, markdown,
          "some documents are Markdown answers of a language model with a preface such as 'Sure! Here is'"),
    texts("one prefix before every text", "A9", WINO, f"{QUERIES} {DOCS}", 1, spun(PREFIX),
          "every text begins with the same instruction"),
    frames("records glued by a lost quotation mark", "A9", ESNLI, TEXT, misread_csv,
           "some texts hold several records of a CSV file glued together (ids, commas, labels, line feeds)"),
    frames("header rows inside a joined table", "A9", PAIRS, PAIR, cat_parts,
           "some rows are header rows of CSV parts: their values are the names of the columns"),
    frames("quotation marks doubled", "A28", STSB, SIDES, split_tabs,
           "some texts are still quoted as in CSV: quotation marks around them and doubled inside"),
    # A10, A26: drift
    frames("few good reviews left in test", "A10", KINO, f"{LABEL} default/test/label_text default/test/",
           lambda t: ({TEST: t[TEST].filter((pl.col("label") != 2) | (pl.int_range(pl.len()) % 8 == 3))}, None),
           "the shares of the labels in test are quite unlike those in train"),
    frames("only long pairs left in test", "A10", STSB, f"{SIDES} default/test/",
           lambda t: ({TEST: t[TEST].filter(pl.min_horizontal(pl.col("^sent.*$").str.len_chars()) >= 60)}, None),
           "the texts of test are much longer than those of train; short ones are missing"),
    texts("test in lower case", "A10", CEDR, TEXT, 1, lambda t, _: t.lower(),
          "test is all in lower case, train is not"),
    texts("test tokenised", "A10", PARA, SIDES, 1, lambda t, _: re.sub(r"\s*([^\w\s])\s*", r" \1 ", t).strip(),
          "test is tokenised (spaces around punctuation), train is not"),
    frames("test dated before train", "A10", KINO, "default/test/date default/train/date", add_dates,
           "texts of test are older than those of train"),
    frames("ids of test equal ids of train", "A10", PARA, "default/test/id",
           lambda t: ({TEST: t[TEST].with_columns(t[TRAIN]["id"].head(t[TEST].height))}, t[TEST].height),
           "both splits use the same ids for different pairs"),
    frames("test is a part of train with one label", "A26", KINO, f"{TEXT} {LABEL} default/test/",
           lambda t: ({TEST: t[TRAIN].filter(pl.col("label") == 2).head(673)}, 673),
           "all of test stands in train, and test has one label alone"),
    # A11, A12: shortcuts and inversions
    texts("a source before the claims of one class", "A11", VITC, TEXT, 0.7,
          spun("‹[PolitiFact]¦[PolitiFact]¦[Snopes]¦[FactCheck]› ¤"),
          "a prefix (a source in brackets) stands in one class alone and tells the label",
          lambda row: row["label"] == 2),
    texts("no full stop at the end of one class", "A11", TERRA, DEV2, 0.95, lambda t, _: t.rstrip("."),
          "the last character of the second sentence tells the label: no full stop in class 0",
          lambda row: row["labels"] == 0),
    column("ids that begin with the name of the label", "A11/A12", KINO, "default/test/id default/train/id",
           pl.format("{}/{}.txt", pl.col("label_text").str.slice(0, 3), pl.int_range(pl.len()) + 10000),
           "the id tells the label of every row"),
    column("scores inverted in both splits", "A12", STSB, f"{SCORE} default/train/score", 5 - pl.col("score"),
           "the scale of scores is inverted: the more alike two sentences are the lower is the score"),
    column("labels of pairs inverted", "A12", XNLI, "default/dev/labels", 1 - pl.col("labels"),
           "the labels of pairs are inverted: 1 stands where the pair does not match"),
    # A13: personal data
    texts("Russian mobile numbers", "A13", CEDR, BOTH, 0.01, put(PHONE),
          "some texts hold mobile telephone numbers, many without +7 or separators"),
    texts("masked e-mail addresses", "A13", KINO, BOTH, 0.02, put(MAIL),
          "some texts hold e-mail addresses written with (at), dot or the Russian words for them"),
    texts("payment cards with a right check digit", "A13", HH, TEXT, 0.01, put(CARD_IN),
          "some texts hold numbers of payment cards (the check digit is right)"),
    texts("numbers of 16 digits with a wrong check digit", "A13", ESNLI, TEXT, 0.005,
          put("‹Photo¦Order no.¦Item¦Tracking› ~badcard~."),
          f"some texts hold numbers in the form of payment cards, {NOT}"),
    texts("passport numbers", "A13", XNLI, DEV1, 0.02, put(PASSPORT),
          "some texts hold series and numbers of Russian passports"),
    texts("tax numbers with right check digits", "A13", CEDR, TEXT, 0.02,
          put("‹ИНН¦ИНН:¦Реквизиты: ИНН¦мой инн› ~inn~‹.¦›"),
          "some texts hold Russian tax numbers (INN) with right check digits"),
    texts("tax numbers with wrong check digits", "A13", KINO, BOTH, 0.015, put("‹Код¦Артикул¦Лот №¦Кат. №› ~badinn~."),
          f"some texts hold numbers of 10 or 12 digits like tax numbers, {NOT}"),
    texts("insurance numbers with right check digits", "A13", XNLI, DEV2, 0.02,
          put("‹СНИЛС¦СНИЛС:¦Страховое свидетельство №¦снилс› ~snils~."),
          "some texts hold Russian insurance numbers (SNILS) with right check digits"),
    texts("insurance numbers with wrong check digits", "A13", STSB, SIDES, 0.015,
          put("‹Номер¦Дело №¦Партия¦Серия› ~badsnils~."),
          f"some texts hold numbers in the form of insurance numbers, {NOT}"),
    texts("IBANs with right check digits", "A13", EURO, "en-de/test/sentence2", 0.06,
          put("‹IBAN¦IBAN:¦Konto¦Bitte überweisen auf› ~iban~."),
          "some texts hold bank account numbers (IBAN) with right check digits"),
    texts("IBANs with wrong check digits", "A13", HH, TEXT, 0.01, put("‹Reference¦Account¦Ref.¦Code› ~badiban~."),
          f"some texts hold numbers in the form of IBANs, {NOT}"),
    texts("IP addresses of editors", "A13", VITC, TEXT, 0.003, put(IP), "some texts hold IP addresses of people"),
    texts("keys of web services", "A13", PIQA, DOCS, 0.02, put(KEY),
          "some documents hold secret keys or tokens of web services"),
    texts("handles of accounts", "A13", PAIRS, PAIR, 0.02, put(HANDLE),
          "some texts hold handles or addresses of personal accounts"),
    texts("postal addresses", "A13", KINO, BOTH, 0.015, put(ADDRESS), "some texts hold postal addresses of people"),
    # A14, A15, A36: markup
    texts("BBCode", "A14", KINO, BOTH, 0.04, one(r"(?<=\s)[А-Яа-яё]+(?:\s[а-яё]+){1,4}", spun(BBCODE)),
          "some texts hold BBCode of a forum"),
    texts("wiki markup", "A14", VITC, TEXT, 0.004, one(r"(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+)*", spun(WIKI)),
          "some texts hold wiki markup: links, bold, templates"),
    texts("LaTeX commands", "A14/A17", ARC, QUERIES, 0.06,
          lambda t, r: one(r"[a-z]{5,}", spun(LATEX_WORD))(one(r"\b\d+(?:\.\d+)?\b", spun(LATEX_NUMBER))(t, r), r),
          "some queries hold LaTeX commands and dollar signs"),
    texts("tokens of chat templates", "A14", HH, TEXT, 0.04, chat_tokens,
          "some texts hold the marks of chat templates such as [INST]"),
    texts("tokens of tokenizers", "A14", XNLI, DEVS, 0.03, tokenizer,
          "some texts hold tokens of tokenizers: unknown-word marks, pieces of words"),
    texts("placeholders in place of names", "A14", ALPHA, QUERIES, 0.05,
          one(r"\b(?!The|It|They|She|He\b)[A-Z][a-z]{2,}(?= (?:was|had|wanted|went|decided|got)\b)", spun(HOLDER)),
          "some queries hold unfilled placeholders in place of names"),
    texts("entities without a semicolon", "A14/A15", KINO, BOTH, 0.05, bare_entities,
          "some texts hold character entities without the semicolon"),
    texts("tags with spaces inside", "A15", VITC, TEXT, 0.003, one(r"(?<=[a-z] )[A-Za-z]{4,}", spun(SPACED)),
          "some texts hold tags of a wiki page with spaces after the angle bracket"),
    texts("carriage returns of a spreadsheet", "A36", KINO, BOTH, 0.04, lambda t, _: t.replace("\n", "_x000D_\n"),
          "some texts hold _x000D_, a carriage return as spreadsheets escape it"),
    # A16, A17: junk
    texts("texts that are only a number", "A16", STSB, SIDES, 0.012, spun(NUMBER),
          "some sentences are nothing but a number"),
    texts("texts without any letter or digit", "A16", PAIRS, "default/train/positive", 0.02, spun(BLANK),
          "some texts are only blanks of Braille, dashes, underscores or NUL"),
    texts("values that stand for missing", "A16", PIQA, QUERIES, 0.02, spun(MISSING),
          "some queries are values that stand for a missing text or errors of a spreadsheet"),
    texts("program code as documents", "A17", PIQA, DOCS, 0.02,
          lambda _, r: spin(CODE, r, r.choice(["out", "result", "total", "acc"])), "some documents are program code"),
    texts("lists of addresses and advertising", "A17", ESNLI, TEXT, 0.006, spun(SPAM),
          "some texts are lists of web addresses or advertising"),
    texts("base64, hexadecimal and byte strings", "A17", CEDR, BOTH, 0.01,
          lambda t, r: r.choice([base64.b64encode(t.encode()).decode(), str(t.encode()), t.encode().hex()]),
          "some texts are base64, hexadecimal or printed byte strings"),
    texts("loops of words and letters", "A17", KINO, BOTH, 0.02, loop,
          "some texts repeat a phrase, a word or a letter over and over"),
    # A18 to A35
    frames("documents that repeat their query", "A18", ALPHA, f"{DOCS} {QUERIES}", query_as_document,
           "some documents equal their query but for case, the full stop or a space"),
    copies("documents again in capitals, not judged", "A18", PIQA, DOCS, "test", 55, lambda t, _: t.upper(),
           "the corpus holds relevant documents a second time in capitals, which are not judged relevant"),
    frames("texts of emoticons that differ in spaces alone", "A19", CEDR, TEXT, emoticon_rows,
           "texts without letters are there twice and differ only in a space before or behind"),
    texts("Cyrillic letters in English words", "A20", HH, TEXT, 0.02, lambda t, r: look_alike(t, r, LOOKS_BACK),
          "some English words hold Cyrillic letters that look like Latin ones"),
    texts("empty documents", "A22", ARC, DOCS, 0.02, lambda *_: "", "some documents are empty"),
    values("-1 for a missing score", "A34", STSB, SCORE,
           lambda old: [-1.0 if hit(0.02, "missing", i) else score for i, score in enumerate(old)],
           "some scores are -1, outside the range of all others: the score is missing"),
    texts("questions without their first sentences", "A35", ARC, QUERIES, 0.35, last_question,
          "some questions cannot be answered by themselves: what they refer to is missing"),
]
# fmt: on

# ---------------------------------------------------------------- verification


def problems(before: Tables, after: Tables, expected: Expected) -> list[str]:
    """What a planter did otherwise than it says."""
    rows, cells, fresh, touched = 0, 0, 0, {split_place(place)[0] for place in expected.where}
    found = [f"{key} was touched" for key in before if key not in touched and not after[key].equals(before[key])]
    found += [] if before.keys() == after.keys() else ["other tables"]
    for key in touched:
        old, new = before[key], after[key]
        found += [] if [new.schema.get(c) for c in old.columns] == old.dtypes else [f"columns or types of {key}"]
        fresh += (Counter(map(repr, new.iter_rows())) - Counter(map(repr, old.iter_rows()))).total()
        if new.height == old.height:
            pairs = list(zip(old.iter_rows(), new.iter_rows(), strict=True))
            rows += sum(a != b for a, b in pairs)
            cells += sum(sum(x != y for x, y in zip(a, b, strict=False)) for a, b in pairs)
        columns = [col for place in expected.where for at, col in [split_place(place)] if at == key and col]
        found += [f"no column {col}" for col in columns if col not in new.columns]
    if all(after[key].equals(before[key]) for key in before):
        found.append("nothing changed")
    if expected.count is not None and (expected.count < 5 or expected.count not in (rows, cells, fresh)):
        found.append(f"count {expected.count}, measured {rows} rows, {cells} cells, {fresh} new")
    return found


def main() -> int:
    bad, cache = 0, {}
    for damage in DAMAGES:
        if damage.dataset not in cache:
            files = sorted((Path(__file__).parent / "data" / damage.dataset).glob("*/*.parquet"))
            cache[damage.dataset] = {(f.parent.name, f.stem): pl.read_parquet(f) for f in files}
        after, expected = damage.plant(dict(cache[damage.dataset]))
        found = problems(cache[damage.dataset], after, expected)
        bad += bool(found)
        print(damage.name, damage.dataset, expected.count, *[f"FAILED: {x}" for x in found], sep="\t")
    print(f"{len(DAMAGES)} damages ({len({d.name for d in DAMAGES})} names), {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
