"""A third blind set: sixty damages of text datasets, each after a public report of real damage.

Every damage is deterministic, touches only what it says, returns new tables and the number of damaged rows, and fails
loudly where it could plant nothing. Nothing here was written with knowledge of how an auditor looks for faults.
"""

from __future__ import annotations

import html
import itertools
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

Tables = dict[tuple[str, str], "pl.DataFrame"]
Key = tuple[str, str]


@dataclass(frozen=True)
class Damage:
    name: str
    dataset: str
    link: str
    expected: str
    apply: Callable[[Tables], tuple[Tables, int]]


DAMAGES: list[Damage] = []


def damage(name: str, dataset: str, link: str, expected: str):
    def register(function: Callable[[Tables], tuple[Tables, int]]):
        def checked(tables: Tables) -> tuple[Tables, int]:
            new, rows = function(dict(tables))
            assert rows > 0, f"nothing planted: {name}"
            return new, rows

        DAMAGES.append(Damage(name, dataset, link, expected, checked))
        return function

    return register


# ---------------------------------------------------------------------------------------------------------- helpers


def main_config(tables: Tables) -> str:
    configs = sorted({config for config, _ in tables})
    return "default" if "default" in configs else configs[0]


def key_of(tables: Tables, *prefer: str) -> Key:
    """The first preferred split of the main config, else its largest split."""
    config = main_config(tables)
    splits = sorted(split for one, split in tables if one == config)
    for split in prefer:
        if split in splits:
            return config, split
    return config, max(splits, key=lambda split: (tables[config, split].height, split))


def largest(tables: Tables) -> Key:
    return key_of(tables)


def retrieval(tables: Tables) -> tuple[Key, Key, Key]:
    """The keys of corpus, queries and qrels."""
    corpus = queries = qrels = None
    for key in sorted(tables):
        if "query-id" in tables[key].columns:
            qrels = qrels or key
        elif "corpus" in key[0]:
            corpus = corpus or key
        elif "quer" in key[0]:
            queries = queries or key
    assert corpus and queries and qrels, f"not a retrieval set: {sorted(tables)}"
    return corpus, queries, qrels


def id_column(frame: pl.DataFrame) -> str:
    return "id" if "id" in frame.columns else "_id"


def pair_configs(tables: Tables) -> list[Key]:
    keys = [key for key in sorted(tables) if {"sentence1", "sentence2"} <= set(tables[key].columns)]
    assert keys, "no pair configs"
    return keys


def put(frame: pl.DataFrame, column: str, values: Sequence[Any]) -> pl.DataFrame:
    return frame.with_columns(pl.Series(column, list(values), dtype=frame.schema[column]))


def add_rows(frame: pl.DataFrame, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])


def mixed(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    order = list(range(frame.height))
    random.Random(seed).shuffle(order)
    return frame[order]


def some(eligible: Iterable[int], share: float, seed: int, total: int | None = None) -> list[int]:
    """A share of the eligible row numbers (or of `total` rows, taken from the eligible ones), at least one."""
    rows = list(eligible)
    assert rows, "no row is fit for this damage"
    want = max(1, round(share * (len(rows) if total is None else total)))
    return sorted(random.Random(seed).sample(rows, min(want, len(rows))))


def change(frame: pl.DataFrame, column: str, rows: Iterable[int], edit: Callable[[str, int], str]) -> tuple[pl.DataFrame, int]:
    values = frame[column].to_list()
    count = 0
    for row in rows:
        old = values[row]
        if old is None:
            continue
        new = edit(old, row)
        if new != old:
            values[row] = new
            count += 1
    return put(frame, column, values), count


def edit_share(
    tables: Tables,
    key: Key,
    column: str,
    share: float,
    seed: int,
    edit: Callable[[str, random.Random], str],
    fit: Callable[[str], bool] = lambda text: True,
    of_all: bool = True,
) -> tuple[Tables, int]:
    frame = tables[key]
    texts = frame[column].to_list()
    eligible = [row for row, text in enumerate(texts) if text and fit(text)]
    rows = some(eligible, share, seed, frame.height if of_all else None)
    rng = random.Random(seed + 1)
    tables[key], count = change(frame, column, rows, lambda text, _row: edit(text, rng))
    return tables, count


def text_of_label(tables: Tables) -> dict[Any, Any]:
    names: dict[Any, Any] = {}
    for key in sorted(tables):
        frame = tables[key]
        if {"label", "label_text"} <= set(frame.columns):
            for label, name in frame.select("label", "label_text").iter_rows():
                names.setdefault(label, name)
    return names


def new_ids(existing: list[Any], count: int) -> list[Any]:
    if existing and isinstance(existing[0], int):
        top = max(existing)
        return [top + 1 + step for step in range(count)]
    parts = [re.fullmatch(r"(.*?)(\d+)", str(one)) for one in existing]
    known = {str(one) for one in existing}
    if all(parts):
        prefix = parts[-1].group(1)
        top = max(int(part.group(2)) for part in parts)
        return [f"{prefix}{top + 1 + step}" for step in range(count)]
    made = (f"doc{step}" for step in itertools.count(100000))
    return list(itertools.islice((one for one in made if one not in known), count))


# ------------------------------------------------------------------------------------------------ cedr-classification


@damage(
    "the text of an eighth of the test sentences is TWEET_NOT_FOUND, their labels kept",
    "cedr-classification",
    "https://github.com/huggingface/datasets/pull/1448",
    "test, column text: about 12 % of the rows hold the same placeholder TWEET_NOT_FOUND instead of a sentence (with differing labels)",
)
def cedr_placeholder(tables: Tables) -> tuple[Tables, int]:
    return edit_share(tables, key_of(tables, "test"), "text", 0.12, 101, lambda text, rng: "TWEET_NOT_FOUND")


@damage(
    "every Cyrillic letter of 6 % of the training sentences became a question mark",
    "cedr-classification",
    "https://github.com/common-voice/common-voice/issues/4815",
    "train, column text: about 6 % of the rows are runs of question marks with spaces, the letters lost in encoding",
)
def cedr_question_marks(tables: Tables) -> tuple[Tables, int]:
    letters = re.compile("[А-Яа-яЁё]")
    return edit_share(
        tables,
        key_of(tables, "train"),
        "text",
        0.06,
        102,
        lambda text, rng: letters.sub("?", text),
        lambda text: len(letters.findall(text)) >= 10,
    )


LOOKALIKE = dict(zip("аеосрхуАЕОСРХВНКМТ", "aeocpxyAEOCPXBHKMT", strict=True))


@damage(
    "Latin look-alike letters stand inside Cyrillic words in a tenth of the training sentences",
    "cedr-classification",
    "https://github.com/UniversalDependencies/UD_Russian-Taiga/issues/4",
    "train, column text: about 10 % of the rows have words that mix Cyrillic with Latin letters of the same look (a, e, o, c, p, x)",
)
def cedr_homoglyphs(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        return "".join(LOOKALIKE[c] if c in LOOKALIKE and rng.random() < 0.35 else c for c in text)

    return edit_share(
        tables, key_of(tables, "train"), "text", 0.10, 103, edit, lambda text: sum(c in LOOKALIKE for c in text) >= 12
    )


@damage(
    "the classes of the test split are numbered in another order than those of train",
    "cedr-classification",
    "https://github.com/huggingface/datasets/issues/4942",
    "test, column label: the class numbers mean other emotions than in train (each class moved on by one): class shares of test and train do not fit, labels do not fit the sentences",
)
def cedr_label_order(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    seen: set[Any] = set()
    for one in tables.values():
        for label in one["label"].to_list():
            seen.update(label if isinstance(label, list) else [] if label is None else [label])
    classes = sorted(seen)
    assert len(classes) >= 2, "needs two classes"
    step = dict(zip(classes, classes[1:] + classes[:1], strict=True))
    old = tables[key]["label"].to_list()
    new = [
        sorted(step[one] for one in label) if isinstance(label, list) else None if label is None else step[label]
        for label in old
    ]
    tables[key] = put(tables[key], "label", new)
    return tables, sum(a != b for a, b in zip(old, new, strict=True))


@damage(
    "a quarter of the test sentences was added to train, lowercased and without punctuation",
    "cedr-classification",
    "https://github.com/tomhosking/hrq-vae/issues/2",
    "train against test, column text: about a quarter of the test sentences stand in train too, but for case and punctuation",
)
def cedr_leak(tables: Tables) -> tuple[Tables, int]:
    train, test = key_of(tables, "train"), key_of(tables, "test")
    assert train != test
    rows = some(
        [row for row, text in enumerate(tables[test]["text"].to_list()) if text and len(text) > 20], 0.25, 105, tables[test].height
    )
    copies = []
    for row in tables[test][rows].iter_rows(named=True):
        plain = " ".join(re.sub(r"[^\w\s]", " ", row["text"].lower()).split())
        copies.append({**row, "text": plain})
    copies = [{column: row.get(column) for column in tables[train].columns} for row in copies]
    tables[train] = mixed(add_rows(tables[train], copies), 1050)
    return tables, len(copies)


@damage(
    "30 % of the training sentences bear the emotions of another sentence",
    "cedr-classification",
    "https://www.surgehq.ai//blog/30-percent-of-googles-reddit-emotions-dataset-is-mislabeled",
    "train, column label: nearly a third of the labels are wrong (noise): the emotions do not fit the sentences, and train is much noisier than test",
)
def cedr_noise(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    labels = tables[key]["label"].to_list()
    rng = random.Random(106)
    rows = some(range(len(labels)), 0.30, 1060)
    kinds = sorted({tuple(label) if isinstance(label, list) else label for label in labels if label is not None})
    assert len(kinds) >= 2
    new = list(labels)
    for row in rows:
        old = tuple(labels[row]) if isinstance(labels[row], list) else labels[row]
        pick = rng.choice([kind for kind in kinds if kind != old])
        new[row] = list(pick) if isinstance(pick, tuple) else pick
    tables[key] = put(tables[key], "label", new)
    return tables, len(rows)


COUNTRIES = (
    "Кипра Палау Перу Польши Суринама Хорватии Чада Чили Германии Египта Индии Ирана Испании Италии Канады Кении Кубы Латвии "
    "Ливана Ливии Литвы Мали Мексики Непала Нигера Нигерии Норвегии Омана Панамы Португалии Румынии Сербии Сирии Словакии "
    "Судана Туниса Турции Уганды Украины Финляндии Франции Чехии Швеции Эстонии Японии"
).split()
WHO = ["посла", "представителя", "министра иностранных дел", "постоянного представителя", "премьер-министра", "делегата"]
FOR_WHAT = [
    "за его выступление",
    "за его заявление",
    "за его заявление и за его добрые слова",
    "за его объявление",
    "за его выступление от имени группы государств",
    "за его добрые слова",
    "за его выступление и предоставляю слово следующему оратору",
]


@damage(
    "15 % of the training sentences are one template with another country or office filled in",
    "cedr-classification",
    "https://github.com/common-voice/common-voice/issues/2497",
    "train, column text: about 15 % of the rows are near copies of one template (Благодарю … за его …), differing in a word or two, with arbitrary labels",
)
def cedr_template(tables: Tables) -> tuple[Tables, int]:
    filled = [f"Благодарю {who} {country} {what}." for country in COUNTRIES for who in WHO for what in FOR_WHAT]
    random.Random(107).shuffle(filled)
    supply = itertools.cycle(filled)
    return edit_share(tables, key_of(tables, "train"), "text", 0.15, 1070, lambda text, rng: next(supply))


# ------------------------------------------------------------------------------------------- kinopoisk-classification


@damage(
    "the middle of 7 % of the training reviews is UTF-8 read as Windows-1251, the beginning and the end are sound",
    "kinopoisk-classification",
    "https://github.com/dialogue-evaluation/factRuEval-2016/issues/33",
    "train, column text: about 7 % of the reviews turn into garble (РџСЂРё…) after a sound beginning: mis-decoded UTF-8",
)
def kinopoisk_garbled(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        start, end = len(text) // 4, len(text) - max(10, len(text) // 20)
        return text[:start] + text[start:end].encode("utf-8").decode("cp1251", errors="replace") + text[end:]

    return edit_share(
        tables, key_of(tables, "train"), "text", 0.07, 201, edit, lambda text: len(text) >= 80 and bool(re.search("[а-я]{4}", text))
    )


@damage(
    "the validation split is the test split",
    "kinopoisk-classification",
    "https://github.com/ernoult/scalingDTP/issues/33",
    "validation: it holds the very rows of test, so the two splits are identical",
)
def kinopoisk_validation(tables: Tables) -> tuple[Tables, int]:
    test = key_of(tables, "test")
    held = [key for key in sorted(tables) if key[0] == test[0] and key[1] in {"validation", "val", "dev"}]
    assert held and test[1] == "test", "needs a validation and a test split"
    tables[held[0]] = tables[test].clone()
    return tables, tables[test].height


@damage(
    "all reviews of the highest class, and no others, end in a newline",
    "kinopoisk-classification",
    "https://github.com/RUCAIBox/HaluEval/issues/27",
    "all splits, column text: a newline at the end gives the label away: every review of one class has it, no other review has",
)
def kinopoisk_newline(tables: Tables) -> tuple[Tables, int]:
    config = main_config(tables)
    keys = [key for key in sorted(tables) if key[0] == config and "label" in tables[key].columns]
    top = max(label for key in keys for label in tables[key]["label"].to_list() if label is not None)
    count = 0
    for key in keys:
        texts = tables[key]["text"].to_list()
        labels = tables[key]["label"].to_list()
        new = [
            None if text is None else text.rstrip() + ("\n" if label == top else "")
            for text, label in zip(texts, labels, strict=True)
        ]
        count += sum(label == top for label in labels)
        tables[key] = put(tables[key], "text", new)
    return tables, count


@damage(
    "every review of the test split is labelled positive",
    "kinopoisk-classification",
    "https://github.com/huggingface/datasets/issues/2997",
    "test, columns label and label_text: one class only; the other classes are missing although train has them",
)
def kinopoisk_one_class(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    names = text_of_label(tables)
    frame = tables[key]
    labels = frame["label"].to_list()
    top = max(label for label in labels if label is not None)
    frame = put(frame, "label", [top] * len(labels))
    if "label_text" in frame.columns:
        frame = put(frame, "label_text", [names.get(top)] * len(labels))
    tables[key] = frame
    return tables, sum(label != top for label in labels)


@damage(
    "whole passages stand twice or three times inside an eighth of the training reviews",
    "kinopoisk-classification",
    "https://github.com/OpenCorpora/opencorpora/issues/654",
    "train, column text: about 12 % of the reviews repeat a long passage of their own word for word",
)
def kinopoisk_repeated_passage(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        parts = re.split(r"(?<=[.!?…])\s+", text)
        half = max(1, len(parts) // 2)
        first = rng.randrange(0, max(1, len(parts) - half + 1))
        passage = " ".join(parts[first : first + half])
        if len(passage) < 60:
            passage = text
        return text + ("\n" + passage) * rng.choice([1, 1, 2])

    return edit_share(tables, key_of(tables, "train"), "text", 0.12, 205, edit, lambda text: len(text) >= 80)


@damage(
    "personal data (mail, telephone, passport, bank account) stands in 6 % of the training reviews",
    "kinopoisk-classification",
    "https://github.com/enrondata/enrondata/issues/8",
    "train, column text: about 6 % of the reviews hold personal data: e-mail addresses, telephone, passport, card and account numbers",
)
def kinopoisk_personal(tables: Tables) -> tuple[Tables, int]:
    surnames = ["Петрушин", "Самойлова", "Ковригин", "Ларионова", "Зубков", "Мещерякова", "Гордеев", "Туманова"]
    latin = ["petrushin", "samoylova", "kovrigin", "larionova", "zubkov", "mescher", "gordeev", "tumanova"]

    def digits(rng: random.Random, count: int) -> str:
        return "".join(str(rng.randrange(10)) for _ in range(count))

    def edit(text: str, rng: random.Random) -> str:
        who = rng.randrange(len(surnames))
        phone = f"+7 (9{digits(rng, 2)}) {digits(rng, 3)}-{digits(rng, 2)}-{digits(rng, 2)}"
        mail = f"{latin[who]}.{digits(rng, 2)}@mail.ru"
        extra = rng.choice(
            [
                f"Пишите: {mail}, звоните {phone}, {surnames[who]}.",
                f"{surnames[who]}, паспорт {digits(rng, 4)} {digits(rng, 6)}, тел. {phone}",
                f"Перевод на карту 4276 {digits(rng, 4)} {digits(rng, 4)} {digits(rng, 4)}, {surnames[who]}, {mail}",
                f"р/с 40817810{digits(rng, 12)}, ИНН {digits(rng, 12)}, {phone}",
            ]
        )
        return f"{text}\n{extra}" if rng.random() < 0.7 else f"{extra}\n{text}"

    return edit_share(tables, key_of(tables, "train"), "text", 0.06, 206, edit)


@damage(
    "train and test were cut anew from rows sorted by label, so test is all of the last class",
    "kinopoisk-classification",
    "https://github.com/encord-team/text-to-image-eval/pull/74",
    "train and test, column label: rows sorted by label were split without shuffling: test holds (almost) only the last class, which train has too little or nothing of",
)
def kinopoisk_unshuffled_split(tables: Tables) -> tuple[Tables, int]:
    train, test = key_of(tables, "train"), key_of(tables, "test")
    assert train != test
    size = tables[train].height
    whole = pl.concat([tables[train], tables[test].select(tables[train].columns)]).sort("label", maintain_order=True)
    tables[train], tables[test] = whole[:size], whole[size:]
    return tables, whole.height


@damage(
    "a quarter of the long training reviews is the teaser of the page, cut within a word and ending in the link text",
    "kinopoisk-classification",
    "https://github.com/facundoolano/google-play-scraper/issues/442",
    "train, column text: many long reviews are cut off within a word at a fixed length and end in '...Полная рецензия', the link of the page",
)
def kinopoisk_teaser(tables: Tables) -> tuple[Tables, int]:
    lengths = sorted(len(text) for text in tables[key_of(tables, "train")]["text"].to_list() if text)
    limit = max(40, min(500, lengths[len(lengths) // 4]))
    return edit_share(
        tables,
        key_of(tables, "train"),
        "text",
        0.25,
        208,
        lambda text, rng: text[:limit] + "...Полная рецензия",
        lambda text: len(text) > limit + 20,
    )


# -------------------------------------------------------------------------------------------------- ru-paraphraser-sts


@damage(
    "an eighth of the first sentences are Python byte literals (b'\\xd0\\x9f…')",
    "ru-paraphraser-sts",
    "https://github.com/huggingface/finetrainers/pull/365",
    "train (or the only split), column sentence1: about 12 % of the rows are printed byte strings b'\\xd0…' instead of text",
)
def paraphraser_bytes(tables: Tables) -> tuple[Tables, int]:
    return edit_share(tables, key_of(tables, "train", "test"), "sentence1", 0.12, 301, lambda text, rng: str(text.encode("utf-8")))


@damage(
    "a tenth of the pairs pairs a sentence with itself, with scores that call it different",
    "ru-paraphraser-sts",
    "https://github.com/alipay/VCSL/issues/13",
    "train (or the only split), sentence1 and sentence2: about 10 % of the pairs are a sentence with itself although their score is not the highest",
)
def paraphraser_self_pairs(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train", "test")
    frame = tables[key]
    scores = frame["score"].to_list()
    top = max(score for score in scores if score is not None)
    first, second = frame["sentence1"].to_list(), frame["sentence2"].to_list()
    rows = some([row for row, s in enumerate(scores) if s is not None and s < top], 0.10, 302, frame.height)
    count = 0
    for row in rows:
        count += first[row] != second[row]
        second[row] = first[row]
    tables[key] = put(frame, "sentence2", second)
    return tables, count


@damage(
    "the scores of the test split run the other way round: the lowest number means the same",
    "ru-paraphraser-sts",
    "https://github.com/huggingface/datasets/pull/3180",
    "test (or the only split), column score: the scale is upside down: like pairs bear the lowest score, unlike pairs the highest",
)
def paraphraser_upside_down(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    scores = tables[key]["score"].to_list()
    known = [score for score in scores if score is not None]
    low, high = min(known), max(known)
    new = [None if score is None else low + high - score for score in scores]
    tables[key] = put(tables[key], "score", new)
    return tables, sum(a != b for a, b in zip(scores, new, strict=True))


@damage(
    "a fifth of the test pairs has no score",
    "ru-paraphraser-sts",
    "https://github.com/facebookresearch/SentEval/issues/85",
    "test (or the only split), column score: about 20 % of the scores are missing (null)",
)
def paraphraser_no_score(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    scores = tables[key]["score"].to_list()
    rows = some([row for row, score in enumerate(scores) if score is not None], 0.20, 304)
    for row in rows:
        scores[row] = None
    tables[key] = put(tables[key], "score", scores)
    return tables, len(rows)


# --------------------------------------------------------------------------------------------- terra-pairclassification


@damage(
    "the header line of every shard was read as a row: sentence1, sentence2 and no label",
    "terra-pairclassification",
    "https://github.com/huggingface/datasets/issues/485",
    "train (or the largest split): eight rows are the column names themselves (sentence1 = 'sentence1', sentence2 = 'sentence2', label missing)",
)
def terra_headers(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    header = {
        column: column if frame.schema[column] == pl.String else None for column in frame.columns
    }
    shards = 8
    cuts = [round(frame.height * step / shards) for step in range(shards + 1)]
    parts = []
    for start, end in itertools.pairwise(cuts):
        parts += [pl.DataFrame([header], schema=frame.schema), frame[start:end]]
    tables[key] = pl.concat(parts)
    return tables, shards


@damage(
    "the second sentence of most pairs of the lower class begins with a denial, which gives the label away",
    "terra-pairclassification",
    "http://aclweb.org/anthology/N18-2017?ref=ruder.io",
    "train (or the largest split), column sentence2: about 70 % of one class begin with 'Неверно, что' and the like, no row of the other does: the label can be told from sentence2 alone",
)
def terra_artefact(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    labels = frame["label"].to_list()
    low = min(label for label in labels if label is not None)
    rows = some([row for row, label in enumerate(labels) if label == low], 0.70, 402)
    rng = random.Random(4020)
    starts = ["Неверно, что ", "Неправда, что ", "Никак нельзя сказать, что ", "Вовсе не так, что "]
    tables[key], count = change(frame, "sentence2", rows, lambda text, _row: rng.choice(starts) + text[:1].lower() + text[1:])
    return tables, count


@damage(
    "й and ё are written as letter plus combining mark in a third of the rows",
    "terra-pairclassification",
    "https://github.com/common-voice/common-voice/issues/3883",
    "train (or the largest split), sentence1 and sentence2: about a third of the rows are in decomposed Unicode form (и + U+0306), the others composed",
)
def terra_decomposed(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    columns = {name: frame[name].to_list() for name in ("sentence1", "sentence2")}
    marked = [
        row
        for row in range(frame.height)
        if any(columns[name][row] and re.search("[йЙёЁ]", columns[name][row]) for name in columns)
    ]
    rows = some(marked, 0.33, 403, frame.height)
    for name, values in columns.items():
        for row in rows:
            if values[row] is not None:
                values[row] = unicodedata.normalize("NFD", values[row])
        frame = put(frame, name, values)
    tables[key] = frame
    return tables, len(rows)


# ---------------------------------------------------------------------------------------------- xnli-pairclassification


@damage(
    "a stray quote made the reader swallow the next two lines, tabs, labels and all, into the second sentence",
    "xnli-pairclassification",
    "https://github.com/huggingface/datasets/pull/855",
    "largest split, column sentence2: about 5 % of the rows hold several lines of the file (tabs, line breaks, labels and the sentences of the next rows); those rows are lost",
)
def xnli_merged(tables: Tables) -> tuple[Tables, int]:
    key = largest(tables)
    rows = list(tables[key].iter_rows(named=True))
    starts = set(some(range(0, len(rows) - 2, 3), 0.16, 501))
    new: list[dict[str, Any]] = []
    row = merged = 0
    while row < len(rows):
        one = dict(rows[row])
        if row in starts:
            tail = f'{one["sentence2"]}\t{one["label"]}'
            for step in (1, 2):
                other = rows[row + step]
                tail += f'\n{other["sentence1"]}\t{other["sentence2"]}'
                tail += f'\t{other["label"]}' if step == 1 else ""
            one["sentence2"] = tail
            one["label"] = rows[row + 2]["label"]
            merged += 1
            row += 2
        new.append(one)
        row += 1
    tables[key] = pl.DataFrame(new, schema=tables[key].schema)
    return tables, merged


@damage(
    "the machine translation of 8 % of the first sentences got caught in a loop",
    "xnli-pairclassification",
    "https://github.com/Helsinki-NLP/Opus-MT/issues/49",
    "largest split, column sentence1: about 8 % of the rows repeat their last words dozens of times (degenerate translation)",
)
def xnli_loops(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        words = text.split()
        loop = " ".join(words[-rng.choice([1, 2, 3]) :]).strip(".!?")
        return text.rstrip(".!?") + (", " + loop) * rng.randrange(15, 45)

    return edit_share(tables, largest(tables), "sentence1", 0.08, 502, edit, lambda text: len(text.split()) >= 4)


ENGLISH = [
    ("The committee met on Thursday to discuss the new budget for the {} programme.", "The committee talked about money for the {} programme."),
    ("Most visitors to the {} museum arrive by train and stay for the whole weekend.", "Visitors to the {} museum never stay overnight."),
    ("He said that the {} report would be published before the end of the year.", "The {} report has already been published."),
    ("Well, I wasn't even thinking about the {} project when she called me back.", "I had forgotten about the {} project."),
    ("The old road to the {} valley was closed last winter because of heavy snow.", "Snow kept people from using the {} road."),
    ("According to the survey, fewer people now trust the {} newspapers than ten years ago.", "Trust in the {} newspapers has grown."),
    ("You can still buy the original {} recordings in a small shop near the station.", "The {} recordings are sold somewhere."),
    ("The agency did not answer any questions about the costs of the {} contract.", "The agency explained what the {} contract cost."),
    ("My sister used to teach at the {} school before she moved to the coast.", "My sister was once a teacher."),
    ("In the evening the whole village comes together in front of the {} church.", "The village has no {} church."),
]
FILLERS = "regional national local Scottish northern public technical agricultural historic maritime Canadian rural".split()


@damage(
    "15 % of the pairs are in English in a Russian set",
    "xnli-pairclassification",
    "https://github.com/common-voice/common-voice/issues/4815",
    "largest split, sentence1 and sentence2: about 15 % of the pairs are English, the set is Russian",
)
def xnli_english(tables: Tables) -> tuple[Tables, int]:
    key = largest(tables)
    frame = tables[key]
    supply = [(a.format(f), b.format(f)) for f in FILLERS for a, b in ENGLISH]
    random.Random(503).shuffle(supply)
    rows = some(range(frame.height), 0.15, 5030)
    first, second = frame["sentence1"].to_list(), frame["sentence2"].to_list()
    for row, (a, b) in zip(rows, itertools.cycle(supply), strict=False):
        first[row], second[row] = a, b
    tables[key] = put(put(frame, "sentence1", first), "sentence2", second)
    return tables, len(rows)


# ------------------------------------------------------------------------------------------------------------- stsb-sts


@damage(
    "the scores of the test split run from 0 to 1, those of the other splits from 0 to 5",
    "stsb-sts",
    "https://github.com/huggingface/sentence-transformers/issues/156",
    "test, column score: another scale (0..1) than in train and validation (0..5)",
)
def stsb_scale(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    frame = tables[key]
    scores = [None if score is None else round(score / 5, 4) for score in frame["score"].to_list()]
    tables[key] = frame.with_columns(pl.Series("score", scores, dtype=pl.Float64))
    if frame.schema["score"] != pl.Float64:
        for other in sorted(tables):
            tables[other] = tables[other].with_columns(pl.col("score").cast(pl.Float64))
    return tables, frame.height


@damage(
    "15 % of the test pairs are training pairs with the two sentences changed about",
    "stsb-sts",
    "https://github.com/embeddings-benchmark/mteb/issues/4798",
    "test against train: about 15 % of the test pairs stand in train with sentence1 and sentence2 changed about (leak of mirrored pairs)",
)
def stsb_mirrored(tables: Tables) -> tuple[Tables, int]:
    train, test = key_of(tables, "train"), key_of(tables, "test")
    assert train != test
    frame = tables[test]
    rows = some(range(frame.height), 0.15, 602)
    source = random.Random(6020).sample(range(tables[train].height), min(len(rows), tables[train].height))
    columns = {name: frame[name].to_list() for name in ("sentence1", "sentence2", "score")}
    for row, other in zip(rows, source, strict=False):
        pair = tables[train].row(other, named=True)
        columns["sentence1"][row], columns["sentence2"][row], columns["score"][row] = pair["sentence2"], pair["sentence1"], pair["score"]
    for name, values in columns.items():
        frame = put(frame, name, values)
    tables[test] = frame
    return tables, min(len(rows), len(source))


@damage(
    "zero-width spaces, soft hyphens and joiners stand inside the words of an eighth of the first sentences",
    "stsb-sts",
    "https://github.com/unicamp-dl/mMARCO/issues/24",
    "train, column sentence1: about 12 % of the rows have invisible characters (U+200B, U+00AD, U+2060, U+FEFF) inside words",
)
def stsb_invisible(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        words = text.split(" ")
        long = [place for place, word in enumerate(words) if len(word) >= 5]
        for place in rng.sample(long, min(len(long), rng.randrange(1, 4))):
            cut = rng.randrange(2, len(words[place]) - 1)
            words[place] = words[place][:cut] + rng.choice("\u200b\u00ad\u2060\ufeff") + words[place][cut:]
        return " ".join(words)

    return edit_share(
        tables, key_of(tables, "train"), "sentence1", 0.12, 603, edit, lambda text: any(len(word) >= 5 for word in text.split(" "))
    )


# --------------------------------------------------------------------------------------------- vitaminc-classification


def treebank(text: str) -> str:
    text = text.replace("(", " -LRB- ").replace(")", " -RRB- ").replace("[", " -LSB- ").replace("]", " -RSB- ")
    text = re.sub(r'(^|\s)"', r"\1`` ", text).replace('"', " ''")
    text = re.sub(r"([,;:?!%$])(?=\s|$)", r" \1", text)
    text = re.sub(r"\.(?=\s|$)", " .", text)
    text = re.sub(r"n't\b", " n't", text)
    text = re.sub(r"'(s|re|ve|ll|d|m)\b", r" '\1", text)
    return " ".join(text.split())


@damage(
    "the test split is treebank-tokenised (spaces before punctuation, -LRB-, ``), train is plain text",
    "vitaminc-classification",
    "https://github.com/google-research-datasets/paws/issues/13",
    "test, column text: pre-tokenised text (space before full stops and commas, -LRB-, split n't), unlike train",
)
def vitaminc_tokenised(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    frame = tables[key]
    tables[key], count = change(frame, "text", range(frame.height), lambda text, _row: treebank(text))
    return tables, count


@damage(
    "wiki markup (thumb, links, cite templates, categories) stands in a tenth of the training texts",
    "vitaminc-classification",
    "https://github.com/huggingface/datasets/issues/835",
    "train, column text: about 10 % of the rows carry wiki markup: thumb|…px, [[…]], {{cite web}}, Category:",
)
def vitaminc_markup(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        words = re.findall(r"[A-Z][a-z]{3,}", text) or ["Article"]
        about = rng.choice(words)
        kind = rng.randrange(4)
        if kind == 0:
            return f"thumb|{rng.choice([180, 220, 250, 300])}px|right|{about} in {rng.randrange(1950, 2020)}\n{text}"
        if kind == 1:
            return text.replace(about, f"[[{about} (disambiguation)|{about}]]", 1) + f"\n[[Category:{about}]]"
        if kind == 2:
            return text + "{{cite web|url=http://www.example.com/|title=" + about + "|accessdate=" + str(rng.randrange(2005, 2020)) + "}}"
        return f'{{| class="wikitable" style="float:right"\n|-\n! {about}\n|}}\n{text}'

    return edit_share(tables, key_of(tables, "train"), "text", 0.10, 702, edit)


@damage(
    "numbers and dates are gone from a third of the training texts that had some",
    "vitaminc-classification",
    "https://github.com/common-voice/cv-sentence-extractor/issues/154",
    "train, column text: sentences lack their numbers ('more than  cases', 'born on  in'): gaps with doubled spaces where figures stood, in about a third of the texts with numbers",
)
def vitaminc_no_numbers(tables: Tables) -> tuple[Tables, int]:
    figure = re.compile(r"\$?\b\d[\d,.]*\d\b%?|\b\d\b%?")
    return edit_share(
        tables, key_of(tables, "train"), "text", 0.33, 703, lambda text, rng: figure.sub("", text), lambda text: bool(figure.search(text)), False
    )


@damage(
    "label_text of the test split has SUPPORTS and REFUTES (the two main classes) changed about",
    "vitaminc-classification",
    "https://github.com/huggingface/datasets/pull/2464",
    "test, label against label_text: two class names are changed about: the same label number has another name than in train",
)
def vitaminc_names(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "test")
    names = tables[key]["label_text"].to_list()
    common = sorted(set(names), key=lambda name: (-names.count(name), str(name)))[:2]
    assert len(common) == 2
    swap = {common[0]: common[1], common[1]: common[0]}
    new = [swap.get(name, name) for name in names]
    tables[key] = put(tables[key], "label_text", new)
    return tables, sum(a != b for a, b in zip(names, new, strict=True))


# -------------------------------------------------------------------------------------- hhrlhf-harmlessness-classification


@damage(
    "a fifth of the dialogues ends right after the first 'Assistant:', the answers are lost",
    "hhrlhf-harmlessness-classification",
    "https://github.com/huggingface/trl/issues/1858",
    "train (or the largest split), column text: about 20 % of the dialogues have no answer: they end in 'Assistant:', so nothing is left to judge (and like texts bear both labels)",
)
def hh_no_answer(tables: Tables) -> tuple[Tables, int]:
    texts = tables[key_of(tables, "train")]["text"].to_list()
    marks = [r"Assistant\s*:", r"\n\n", r"\n"]  # the first way of marking turns that the texts know
    turn = re.compile(next((mark for mark in marks if any(re.search(mark, text[1:]) for text in texts if text)), marks[0]))

    def edit(text: str, rng: random.Random) -> str:
        return text[: turn.search(text).end()]

    return edit_share(
        tables, key_of(tables, "train"), "text", 0.20, 801, edit, lambda text: bool(turn.search(text)) and len(text) > turn.search(text).end() + 10
    )


@damage(
    "the rows of train stand sorted by label, all of one class first",
    "hhrlhf-harmlessness-classification",
    "https://github.com/zalandoresearch/fashion-mnist/pull/5",
    "train (or the largest split): rows are ordered by label (one block per class), not shuffled",
)
def hh_sorted(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key].sort("label", maintain_order=True)
    assert frame["label"].to_list() != tables[key]["label"].to_list(), "was sorted before"
    tables[key] = frame
    return tables, frame.height


# ------------------------------------------------------------------------------------------------ esnli-classification


@damage(
    "HTML entities were left escaped in 15 % of the texts",
    "esnli-classification",
    "https://github.com/princeton-nlp/SimCSE/issues/235",
    "train (or the largest split), column text: about 15 % of the rows have HTML entities (&amp;, &#x27;, &quot;, &nbsp;) instead of the characters",
)
def esnli_entities(tables: Tables) -> tuple[Tables, int]:
    def edit(text: str, rng: random.Random) -> str:
        new = html.escape(text.replace(" and ", " & "), quote=True)
        if new == text:
            words = text.split(" ")
            place = rng.randrange(1, len(words))
            new = " ".join(words[:place]) + "&nbsp;" + " ".join(words[place:])
        return new

    return edit_share(tables, key_of(tables, "train"), "text", 0.15, 901, edit, lambda text: len(text.split(" ")) >= 3)


@damage(
    "8 % of the rows stand a second time with another label",
    "esnli-classification",
    "https://github.com/sebischair/Medical-Abstracts-TC-Corpus/issues/2",
    "train (or the largest split): about 8 % of the texts occur twice with contradicting labels",
)
def esnli_conflicts(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    names = text_of_label(tables)
    classes = sorted({label for label in frame["label"].to_list() if label is not None})
    assert len(classes) >= 2
    rows = some(range(frame.height), 0.08, 902)
    rng = random.Random(9020)
    copies = []
    for row in frame[rows].iter_rows(named=True):
        other = rng.choice([label for label in classes if label != row["label"]])
        copy = {**row, "label": other}
        if "label_text" in copy:
            copy["label_text"] = names.get(other)
        copies.append(copy)
    tables[key] = mixed(add_rows(frame, copies), 9021)
    return tables, len(copies)


# ----------------------------------------------------------------------------------------------- arc-challenge-retrieval


@damage(
    "11 % of the queries were overwritten with wordings of one question (the example of the translation prompt)",
    "arc-challenge-retrieval",
    "https://github.com/EleutherAI/lm-evaluation-harness/issues/1596",
    "queries, column text: about 11 % are one question about detecting IP spoofing in five wordings, unrelated to their relevant documents",
)
def arc_one_question(tables: Tables) -> tuple[Tables, int]:
    _, queries, _ = retrieval(tables)
    wordings = [
        "How is IP address spoofing detected?",
        "How can IP spoofing be detected?",
        "In what way is the spoofing of an IP address detected?",
        "How is the falsification of an IP address revealed?",
        "How does one detect IP address spoofing?",
    ]
    return edit_share(
        tables, queries, "text", 0.11, 1001, lambda text, rng: rng.choices(wordings, weights=[309, 217, 95, 85, 66])[0]
    )


@damage(
    "30 % of the queries stand in the corpus as documents under their own ids",
    "arc-challenge-retrieval",
    "https://github.com/beir-cellar/beir/issues/14",
    "corpus against queries: about 30 % of the query texts are documents too (word for word), not judged relevant: every search finds the query itself first",
)
def arc_query_in_corpus(tables: Tables) -> tuple[Tables, int]:
    corpus, queries, _ = retrieval(tables)
    docs, asked = tables[corpus], tables[queries]
    rows = some([row for row, text in enumerate(asked["text"].to_list()) if text], 0.30, 1002, asked.height)
    chosen = asked[rows]
    ids = chosen[id_column(asked)].to_list()
    known = set(docs[id_column(docs)].to_list())
    if any(one in known for one in ids) or docs.schema[id_column(docs)] != asked.schema[id_column(asked)]:
        ids = new_ids(docs[id_column(docs)].to_list(), len(rows))
    made = []
    for one, text in zip(ids, chosen["text"].to_list(), strict=True):
        row: dict[str, Any] = {column: "" if docs.schema[column] == pl.String else None for column in docs.columns}
        made.append({**row, id_column(docs): one, "text": text})
    tables[corpus] = mixed(add_rows(docs, made), 10020)
    return tables, len(made)


@damage(
    "18 % of the queries begin with the introductory phrase of the language model that wrote them",
    "arc-challenge-retrieval",
    "https://github.com/vibrantlabsai/ragas/issues/1179",
    "queries, column text: about 18 % begin with 'Based on the given context and keyphrase …, here is a potential question:' and the like (language-model preamble)",
)
def arc_preamble(tables: Tables) -> tuple[Tables, int]:
    _, queries, _ = retrieval(tables)

    def edit(text: str, rng: random.Random) -> str:
        topic = max(re.findall(r"[A-Za-z]+", text) or ["topic"], key=len)
        start = rng.choice(
            [
                "Based on the given context and keyphrase, here is a potential question: ",
                f'Based on the given context and keyphrase "{topic}", a relevant question could be: ',
                "Based on the feedback, here is a rewritten version of the question that incorporates the relevant context:\n\n",
            ]
        )
        return start + text

    return edit_share(tables, queries, "text", 0.18, 1003, edit)


@damage(
    "the fields of 6 % of the corpus lines slipped by one: the text is the id",
    "arc-challenge-retrieval",
    "https://github.com/Tariq60/LIAR-PLUS/issues/3",
    "corpus, column text: about 6 % of the documents hold their own id as text (the text, if a title column exists, slipped into the title)",
)
def arc_slipped_fields(tables: Tables) -> tuple[Tables, int]:
    corpus, _, _ = retrieval(tables)
    frame = tables[corpus]
    ids, texts = frame[id_column(frame)].to_list(), frame["text"].to_list()
    rows = some(range(frame.height), 0.06, 1004)
    if frame.schema.get("title") == pl.String:
        titles = frame["title"].to_list()
        for row in rows:
            titles[row] = texts[row]
        frame = put(frame, "title", titles)
    for row in rows:
        texts[row] = str(ids[row])
    tables[corpus] = put(frame, "text", texts)
    return tables, len(rows)


STOP = set(
    "a an the of in on at to for with from by as is are was were be been being it its this that these those which what who whom how "
    "when where why do does did has have had will would can could should may might must and or not no if than then into over under "
    "below above about there their they he she his her you your we our i me my most likely best".split()
)


@damage(
    "40 % of the queries lost their function words, case and punctuation in cleaning",
    "arc-challenge-retrieval",
    "https://github.com/nyu-dl/dl4ir-searchQA/issues/2",
    "queries, column text: about 40 % are bags of lowercased content words (no function words, no question mark), the others whole sentences",
)
def arc_bags(tables: Tables) -> tuple[Tables, int]:
    _, queries, _ = retrieval(tables)

    def edit(text: str, rng: random.Random) -> str:
        words = re.findall(r"[a-z0-9']+", text.lower())
        return " ".join(word for word in words if word not in STOP) or text.lower()

    return edit_share(tables, queries, "text", 0.40, 1005, edit)


# ------------------------------------------------------------------------------------------------------- piqa-retrieval


@damage(
    "15 % of the relevant documents stand a second time in the corpus under a new id that is not judged",
    "piqa-retrieval",
    "https://github.com/CoIR-team/coir/issues/18",
    "corpus against qrels: documents with the same text under several ids, only one of them judged relevant (about 15 % of the relevant ones)",
)
def piqa_unjudged_twins(tables: Tables) -> tuple[Tables, int]:
    corpus, _, qrels = retrieval(tables)
    docs = tables[corpus]
    name = id_column(docs)
    wanted = set(tables[qrels]["corpus-id"].to_list())
    rows = some([row for row, one in enumerate(docs[name].to_list()) if one in wanted], 0.15, 1101)
    ids = new_ids(docs[name].to_list(), len(rows))
    copies = [{**row, name: one} for one, row in zip(ids, docs[rows].iter_rows(named=True), strict=True)]
    tables[corpus] = mixed(add_rows(docs, copies), 11010)
    return tables, len(copies)


@damage(
    "a tenth more qrels rows with the score -2 (junk)",
    "piqa-retrieval",
    "https://github.com/usnistgov/trec_eval/issues/29",
    "qrels, column score: negative scores (-2) in about 9 % of the rows, where otherwise only positive scores stand",
)
def piqa_negative_scores(tables: Tables) -> tuple[Tables, int]:
    corpus, _, qrels = retrieval(tables)
    frame = tables[qrels]
    if frame.schema["score"] not in (pl.Float32, pl.Float64):
        frame = frame.with_columns(pl.col("score").cast(pl.Int64))
    judged = set(frame.select("query-id", "corpus-id").iter_rows())
    docs = tables[corpus][id_column(tables[corpus])].to_list()
    rng = random.Random(1102)
    made = []
    for row in frame[some(range(frame.height), 0.10, 11020)].iter_rows(named=True):
        doc = rng.choice(docs)
        if (row["query-id"], doc) in judged:
            continue
        judged.add((row["query-id"], doc))
        made.append({**row, "corpus-id": doc, "score": -2})
    tables[qrels] = mixed(add_rows(frame, made), 11021)
    return tables, len(made)


@damage(
    "all documents were cut at one length, most of the longer ones within a word",
    "piqa-retrieval",
    "https://github.com/brightmart/nlp_chinese_corpus/issues/23",
    "corpus, column text: nearly a third of the documents are cut off at exactly one length, within words, without final punctuation",
)
def piqa_cut(tables: Tables) -> tuple[Tables, int]:
    corpus, _, _ = retrieval(tables)
    frame = tables[corpus]
    lengths = sorted(len(text) for text in frame["text"].to_list() if text)
    limit = max(8, lengths[int(0.7 * (len(lengths) - 1))])
    tables[corpus], count = change(frame, "text", range(frame.height), lambda text, _row: text[:limit])
    return tables, count


# ------------------------------------------------------------------------------------------------- winogrande-retrieval


@damage(
    "the documents of the qrels are shifted by five rows against the queries",
    "winogrande-retrieval",
    "https://github.com/RED-Search/Qilin/issues/2",
    "qrels: (almost) every query is judged against the document of another query (shift by five rows): relevant documents do not fit their queries at all",
)
def winogrande_shift(tables: Tables) -> tuple[Tables, int]:
    _, _, qrels = retrieval(tables)
    frame = tables[qrels]
    old = frame["corpus-id"].to_list()
    new = old[5:] + old[:5]
    tables[qrels] = put(frame, "corpus-id", new)
    return tables, sum(a != b for a, b in zip(old, new, strict=True))


@damage(
    "5 % of the queries bear the id of another query with another text",
    "winogrande-retrieval",
    "https://github.com/SuDIS-ZJU/nlcTables/issues/5",
    "queries, column id: ids that occur twice with different texts (about 5 % of the queries), so that their qrels are ambiguous",
)
def winogrande_query_ids(tables: Tables) -> tuple[Tables, int]:
    _, queries, qrels = retrieval(tables)
    frame = tables[queries]
    name = id_column(frame)
    ids = frame[name].to_list()
    rows = random.Random(1202).sample(range(len(ids)), 2 * max(1, round(0.05 * len(ids))))
    renamed = {}
    for row, other in zip(rows[::2], rows[1::2], strict=True):
        renamed[ids[row]] = ids[other]
    tables[queries] = put(frame, name, [renamed.get(one, one) for one in ids])
    tables[qrels] = put(tables[qrels], "query-id", [renamed.get(one, one) for one in tables[qrels]["query-id"].to_list()])
    return tables, len(renamed)


# --------------------------------------------------------------------------------------------------- alphanli-retrieval


@damage(
    "4 % of the documents, relevant ones among them, are empty",
    "alphanli-retrieval",
    "https://github.com/beir-cellar/beir/issues/158",
    "corpus, column text (and title): about 4 % of the documents are empty strings, some of them judged relevant",
)
def alphanli_empty(tables: Tables) -> tuple[Tables, int]:
    corpus, _, qrels = retrieval(tables)
    frame = tables[corpus]
    wanted = set(tables[qrels]["corpus-id"].to_list())
    ids = frame[id_column(frame)].to_list()
    relevant = [row for row, one in enumerate(ids) if one in wanted]
    rows = sorted(set(some(range(frame.height), 0.03, 1301)) | set(some(relevant, 0.01, 13010, frame.height)))
    for name in ("text", "title"):
        if frame.schema.get(name) == pl.String:
            values = frame[name].to_list()
            for row in rows:
                values[row] = ""
            frame = put(frame, name, values)
    tables[corpus] = frame
    return tables, len(rows)


@damage(
    "9 % of the documents are the sign-in notice of the site they were taken from",
    "alphanli-retrieval",
    "https://github.com/cuilimeng/CoAID/issues/7",
    "corpus, column text: about 9 % of the documents are one of three sign-in or cookie notices instead of their text (page boilerplate, repeated many times)",
)
def alphanli_sign_in(tables: Tables) -> tuple[Tables, int]:
    corpus, _, _ = retrieval(tables)
    notices = [
        "Please sign in to continue reading. Already a subscriber? Sign in. Not a subscriber yet? Create a free account to read three articles a month.",
        "We use cookies to improve your experience on our site. By continuing to use this website you agree to our Privacy Policy and Terms of Service. Accept all | Manage preferences",
        "Access to this page has been denied because we believe you are using automation tools to browse the website. Please make sure that Javascript and cookies are enabled on your browser.",
    ]
    return edit_share(tables, corpus, "text", 0.09, 1302, lambda text, rng: rng.choice(notices))


@damage(
    "a tenth of the judged queries is missing from the query table",
    "alphanli-retrieval",
    "https://github.com/beir-cellar/beir/issues/202",
    "qrels against queries: about 10 % of the query ids of the qrels have no row in queries",
)
def alphanli_missing_queries(tables: Tables) -> tuple[Tables, int]:
    _, queries, qrels = retrieval(tables)
    frame = tables[queries]
    name = id_column(frame)
    judged = set(tables[qrels]["query-id"].to_list())
    ids = frame[name].to_list()
    gone = set(some([row for row, one in enumerate(ids) if one in judged], 0.10, 1303))
    lost = {ids[row] for row in gone}
    tables[queries] = frame[[row for row in range(frame.height) if row not in gone]]
    return tables, sum(one in lost for one in tables[qrels]["query-id"].to_list())


# ------------------------------------------------------------------------------------------------------ bitext: iwslt17


@damage(
    "a run of lines amounting to 8 % of one language pair is shifted by one against its translations",
    "iwslt17-bitext",
    "https://github.com/facebookresearch/fairseq/issues/4146",
    "test of one pair (en-de if there is one): in one run of about 8 % of the rows, sentence2 translates the sentence1 of the neighbouring row (misaligned by one); before and after all is well",
)
def iwslt_shift(tables: Tables) -> tuple[Tables, int]:
    keys = pair_configs(tables)
    key = next((one for one in keys if one[0] in {"en-de", "de-en"}), keys[0])
    frame = tables[key]
    size = max(4, round(0.08 * frame.height))
    start = random.Random(1401).randrange(frame.height // 4, frame.height - size)
    second = frame["sentence2"].to_list()
    block = second[start : start + size]
    second[start : start + size] = block[-1:] + block[:-1]
    tables[key] = put(frame, "sentence2", second)
    return tables, size


@damage(
    "an eighth of the translations of one language pair are the source, untranslated",
    "iwslt17-bitext",
    "https://github.com/OpenNMT/nmt-wizard-docker/pull/208",
    "test of the first pair: about 12 % of the rows have sentence2 equal to sentence1 (copied, not translated; wrong language)",
)
def iwslt_copied(tables: Tables) -> tuple[Tables, int]:
    key = pair_configs(tables)[0]
    frame = tables[key]
    first, second = frame["sentence1"].to_list(), frame["sentence2"].to_list()
    rows = some(
        [row for row in range(frame.height) if first[row] and first[row] != second[row] and len(first[row]) > 15], 0.12, 1402, frame.height
    )
    for row in rows:
        second[row] = first[row]
    tables[key] = put(frame, "sentence2", second)
    return tables, len(rows)


@damage(
    "the tags <seg id=…> of the raw files were left round a fifth of the source sentences of one pair",
    "iwslt17-bitext",
    "https://github.com/facebookresearch/fairseq/issues/4146",
    "test of the last pair, column sentence1: about 20 % of the rows are wrapped in <seg id=\"…\"> … </seg> (XML residue)",
)
def iwslt_seg(tables: Tables) -> tuple[Tables, int]:
    key = pair_configs(tables)[-1]
    frame = tables[key]
    rows = some([row for row, text in enumerate(frame["sentence1"].to_list()) if text], 0.20, 1403, frame.height)
    tables[key], count = change(frame, "sentence1", rows, lambda text, row: f'<seg id="{row % 180 + 1}"> {text} </seg>')
    return tables, count


# ----------------------------------------------------------------------------------------------------- bitext: europarl


@damage(
    "the two sides of one language pair are changed about against its name",
    "europarl-bitext",
    "https://github.com/Helsinki-NLP/OPUS/issues/12",
    "test of the pair whose name sorts last: sentence1 holds the second language and sentence2 the first (sides swapped against the config name)",
)
def europarl_swapped(tables: Tables) -> tuple[Tables, int]:
    key = pair_configs(tables)[-1]
    frame = tables[key]
    first, second = frame["sentence1"].to_list(), frame["sentence2"].to_list()
    tables[key] = put(put(frame, "sentence1", second), "sentence2", first)
    return tables, sum(a != b for a, b in zip(first, second, strict=True))


@damage(
    "lines were filtered out of one side only, so the translations of one pair drift further and further away",
    "europarl-bitext",
    "https://github.com/M4t1ss/parallel-corpora-tools/issues/13",
    "test of the first pair: from about a quarter of the file on, sentence2 is not the translation of sentence1 (offset growing from one to a dozen rows)",
)
def europarl_drift(tables: Tables) -> tuple[Tables, int]:
    key = pair_configs(tables)[0]
    frame = tables[key]
    height = frame.height
    lost = min(12, max(2, height // 10))
    places = sorted(random.Random(1502).sample(range(height // 4, height * 9 // 10), lost))
    gone = set(places)
    second = [text for row, text in enumerate(frame["sentence2"].to_list()) if row not in gone]
    frame = frame[: len(second)]
    old = frame["sentence2"].to_list()
    tables[key] = put(frame, "sentence2", second)
    return tables, sum(a != b for a, b in zip(old, second, strict=True))


@damage(
    "one language pair holds the data of another pair",
    "europarl-bitext",
    "https://github.com/embeddings-benchmark/mteb/issues/294",
    "test of one pair: its rows are those of another pair (word for word), so at least one side is in a language the config name does not say",
)
def europarl_other_pair(tables: Tables) -> tuple[Tables, int]:
    keys = pair_configs(tables)
    for target, source in itertools.product(keys[::-1], keys):
        if set(target[0].split("-")) != set(source[0].split("-")):
            tables[target] = tables[source].select(tables[target].columns).clone()
            return tables, tables[target].height
    raise AssertionError("needs two different language pairs")


# --------------------------------------------------------------------------------------------------- pairs-contrastive


def lists(frame: pl.DataFrame, column: str) -> list[list[str]]:
    return [list(one) if one is not None else [] for one in frame[column].to_list()]


@damage(
    "a fifth of the rows has its positive among the negatives",
    "pairs-contrastive",
    "https://github.com/FlagOpen/FlagEmbedding/issues/621",
    "train, positives against negatives: about 20 % of the rows hold a text that is both positive and negative",
)
def pairs_positive_as_negative(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    positives, negatives = lists(frame, "positives"), lists(frame, "negatives")
    rows = some([row for row, one in enumerate(positives) if one], 0.20, 1601, frame.height)
    rng = random.Random(16010)
    count = 0
    for row in rows:
        if positives[row][0] in negatives[row]:
            continue
        negatives[row].insert(rng.randrange(len(negatives[row]) + 1), positives[row][0])
        count += 1
    tables[key] = put(frame, "negatives", negatives)
    return tables, count


@damage(
    "a quarter of the rows keeps the tags of the generator: Вопрос: before the query, Ответ: before the positives only",
    "pairs-contrastive",
    "https://github.com/instructlab/sdg/issues/103",
    "train, query and positives: about 25 % begin with 'Вопрос:' and 'Ответ:', the negatives never do: prompt tags left in, a shortcut for the model",
)
def pairs_tags(tables: Tables) -> tuple[Tables, int]:
    key = key_of(tables, "train")
    frame = tables[key]
    queries, positives = frame["query"].to_list(), lists(frame, "positives")
    rows = some([row for row, one in enumerate(positives) if one and queries[row]], 0.25, 1602, frame.height)
    for row in rows:
        queries[row] = "Вопрос: " + queries[row]
        positives[row] = ["Ответ: " + one for one in positives[row]]
    tables[key] = put(put(frame, "query", queries), "positives", positives)
    return tables, len(rows)


@damage(
    "7 % of the positives are refusals of a language model",
    "pairs-contrastive",
    "https://github.com/AoiDragon/HADES/issues/5",
    "train, positives: about 7 % are refusals or self-descriptions of a language model ('Извините, но я не могу…'), the same few texts for unrelated queries",
)
def pairs_refusals(tables: Tables) -> tuple[Tables, int]:
    refusals = [
        "Извините, но я не могу помочь с этим запросом.",
        "К сожалению, как языковая модель, я не имею доступа к этой информации.",
        "Я — большая языковая модель и не могу выполнить эту просьбу. Могу ли я помочь чем-то ещё?",
        "Извините, я не могу сгенерировать такой текст, так как он может нарушать правила использования.",
        "Как искусственный интеллект, я не имею личного мнения по этому вопросу.",
    ]
    key = key_of(tables, "train")
    frame = tables[key]
    positives = lists(frame, "positives")
    rows = some([row for row, one in enumerate(positives) if one], 0.07, 1603, frame.height)
    rng = random.Random(16030)
    for row in rows:
        positives[row] = [rng.choice(refusals)]
    tables[key] = put(frame, "positives", positives)
    return tables, len(rows)


@damage(
    "a tenth of the positives is page furniture: menus, prices, article numbers, no language",
    "pairs-contrastive",
    "https://portizs.eu/publication/2022/tacl/quality/",
    "train, positives: about 10 % are not sentences but navigation menus, price lists, dates and codes from web pages",
)
def pairs_furniture(tables: Tables) -> tuple[Tables, int]:
    menu = "Главная|О компании|Каталог|Доставка и оплата|Контакты|Вакансии|Новости|Отзывы|Личный кабинет|Корзина|Карта сайта|Войти".split("|")

    def furniture(rng: random.Random) -> str:
        kind = rng.randrange(4)
        if kind == 0:
            return " » ".join(rng.sample(menu, rng.randrange(4, 9)))
        if kind == 1:
            return " | ".join(f"Арт. {rng.randrange(10000, 99999)} {rng.randrange(2, 90) * 100} руб." for _ in range(rng.randrange(3, 7)))
        if kind == 2:
            return " ".join(f"{rng.randrange(1, 29):02}.{rng.randrange(1, 13):02}.20{rng.randrange(10, 24)}" for _ in range(rng.randrange(4, 9)))
        return " ".join(str(page) for page in range(1, rng.randrange(8, 14))) + " ... »  Показать ещё  Наверх"

    key = key_of(tables, "train")
    frame = tables[key]
    positives = lists(frame, "positives")
    rows = some([row for row, one in enumerate(positives) if one], 0.10, 1604, frame.height)
    rng = random.Random(16040)
    for row in rows:
        positives[row][0] = furniture(rng)
    tables[key] = put(frame, "positives", positives)
    return tables, len(rows)


@damage(
    "words of the positives are torn apart at the line breaks of a PDF (вычис- ление) in an eighth of the rows",
    "pairs-contrastive",
    "https://github.com/clulab/pdf2txt/issues/65",
    "train, positives: about 12 % of the rows have words split by a hyphen and a space inside the line (line-break hyphenation of a PDF left in)",
)
def pairs_hyphens(tables: Tables) -> tuple[Tables, int]:
    long = re.compile(r"[а-яё]{7,}")

    def tear(text: str, rng: random.Random) -> str:
        found = list(long.finditer(text))
        for match in sorted(rng.sample(found, min(len(found), rng.randrange(1, 5))), key=lambda one: -one.start()):
            word = match.group()
            cuts = [place for place in range(3, len(word) - 2) if word[place - 1] in "аеёиоуыэюя" and word[place] not in "аеёиоуыэюяьъй"]
            place = match.start() + (rng.choice(cuts) if cuts else len(word) // 2)
            text = text[:place] + "- " + text[place:]
        return text

    key = key_of(tables, "train")
    frame = tables[key]
    positives = lists(frame, "positives")
    rows = some([row for row, one in enumerate(positives) if any(long.search(text) for text in one)], 0.12, 1605, frame.height)
    rng = random.Random(16050)
    for row in rows:
        positives[row] = [tear(text, rng) for text in positives[row]]
    tables[key] = put(frame, "positives", positives)
    return tables, len(rows)
