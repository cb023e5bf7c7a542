"""Damage of text data sets as public reports describe it, brought into the data of this folder."""

import csv
import hashlib
import html
import io
import itertools
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

Tables = dict[tuple[str, str], pl.DataFrame]


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


DAMAGES: list[Damage] = []
Planted = tuple[Tables, Expected]
Plant = Callable[[Tables], Planted]
Row = dict[str, Any]
Fit = Callable[[Row], bool]
TextEdit = Callable[[str, int, Row], str | None]
RowEdit = Callable[[Row, int], Row]
ALPHA, ARC, PIQA, WINO = (f"{name}-retrieval" for name in ("alphanli", "arc-challenge", "piqa", "winogrande"))
CEDR, ESNLI, KINO = "cedr-classification", "esnli-classification", "kinopoisk-classification"
HARM, VITAMIN = "hhrlhf-harmlessness-classification", "vitaminc-classification"
STSB, NEWS, TERRA, XNLI = "stsb-sts", "ru-paraphraser-sts", "terra-pairclassification", "xnli-pairclassification"
EURO, TALKS, PAIRS = "europarl-bitext", "iwslt17-bitext", "pairs-contrastive"
CORPUS, QUERIES, QRELS = ("corpus", "test"), ("queries", "test"), ("qrels", "test")


def at(split: str, *columns: str) -> tuple[str, ...]:
    return tuple(f"{split}/{column}" for column in columns)


TRAIN, TEST = at("default/train", "text"), at("default/test", "text")
DOCS, ASKED, BOTH = at("corpus/test", "text"), at("queries/test", "text"), TRAIN + TEST
LABELS = at("default/test", "label", "label_text")
WIDE = at("default/train", "label", "label_text") + LABELS
JUDGED = at("qrels/test", "corpus-id", "query-id", "score", "")
PAIR = at("default/train", "sentence1", "sentence2", "score", "")


# ---- tools


def number(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=4).digest())


def pick(rows: list[int], share: float, salt: str) -> list[int]:
    """A share of the rows (or so many of them, from 1 up, when the share is an int), spread by a hash."""
    size = share if isinstance(share, int) else round(share * len(rows))
    return sorted(sorted(rows, key=lambda row: number(salt, row))[:size])


def one(options: tuple[str, ...], key: int) -> str:
    return options[key % len(options)]


def key_of(place: str) -> tuple[str, str]:
    config, split = place.split("/")[:2]
    return config, split


def column_of(tables: Tables, place: str) -> list:
    return tables[key_of(place)][place.split("/")[2]].to_list()


def cells(tables: Tables, place: str, new: dict[int, object]) -> Tables:
    key, column = key_of(place), place.split("/")[2]
    values = column_of(tables, place)
    for row, value in new.items():
        values[row] = value
    series = pl.Series(column, values, dtype=tables[key].schema[column])
    return {**tables, key: tables[key].with_columns(series)}


def some(tables: Tables, key: tuple[str, str], share: float, salt: str) -> pl.DataFrame:
    return tables[key][pick(list(range(tables[key].height)), share, salt)]


def added(tables: Tables, key: tuple[str, str], frame: pl.DataFrame) -> Tables:
    return {**tables, key: pl.concat([tables[key], frame.select(tables[key].columns).cast(tables[key].schema)])}


def replace(tables: Tables, split: str, share: float, salt: str, edit: RowEdit, fit: Fit) -> tuple[Tables, int]:
    rows = tables[key_of(split)].rows(named=True)
    chosen = pick([spot for spot, row in enumerate(rows) if fit(row)], share, salt)
    new = {spot: edit(rows[spot], number(salt, spot)) for spot in chosen}
    new = {spot: row for spot, row in new.items() if any(rows[spot][column] != row[column] for column in row)}
    for column in next(iter(new.values()), {}):
        tables = cells(tables, f"{split}/{column}", {spot: row[column] for spot, row in new.items()})
    return tables, len(new)


def unlinked(tables: Tables) -> list[int]:
    """Judgements without a document, judgements without a query, queries without a relevant document."""
    documents, queries = set(column_of(tables, "corpus/test/id")), column_of(tables, "queries/test/id")
    rows = tables[QRELS].rows()
    positive, known = {query for query, _, score in rows if score > 0}, set(queries)
    return [sum(document not in documents for _, document, _ in rows), sum(query not in known for query, _, _ in rows),
            sum(query not in positive for query in queries)]


def repeats(frame: pl.DataFrame, id_alone: bool) -> int:
    columns = [column for column in frame.columns if (column == "id") == id_alone]
    return frame.height - frame.select(columns).n_unique() if columns else 0


# ---- kinds of damage


def damage(name: str, source: str, dataset: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        link = source if source.startswith("https:") else "https://github.com/" + source
        DAMAGES.append(Damage(name, link, dataset, plant))
        return plant

    return register


def texts(name: str, source: str, dataset: str, what: str, places: tuple[str, ...], share: float, edit: TextEdit,
          fit: Fit = lambda row: True, also: tuple[str, ...] = ()) -> None:
    """In each place the texts of a share of the rows that fit are edited."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        count = 0
        for place in places:
            split, column = place.rsplit("/", 1)
            tables, more = replace(tables, split, share, name + place,
                                   lambda row, key, column=column: {column: edit(row[column], key, row)}, fit)
            count += more
        return tables, Expected(what, places + also, count)


def rows(name: str, source: str, dataset: str, what: str, places: tuple[str, ...], share: float, edit: RowEdit,
         fit: Fit = lambda row: True, whole: bool = False, also: tuple[str, ...] = ()) -> None:
    """In each split named by the places some columns of a share of the rows that fit are edited."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        count = 0
        for split in dict.fromkeys(place.rsplit("/", 1)[0] for place in places):
            tables, more = replace(tables, split, share, name + split, edit, fit)
            count += more
        return tables, Expected(what, places + also, None if whole else count)


def grows(name: str, source: str, dataset: str, what: str, where: tuple[str, ...],
          make: Callable[[Tables], pl.DataFrame]) -> None:
    """Rows are added to the split of the first place."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        more = make(tables)
        return added(tables, key_of(where[0]), more), Expected(what, where, more.height)


def loses(name: str, source: str, dataset: str, what: str, where: tuple[str, ...],
          gone: Callable[[Tables], list[str]]) -> None:
    """Rows go from the first place, by the ids of its column; counted are links that break by it."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        key, column = key_of(where[0]), where[0].split("/")[2]
        less = {**tables, key: tables[key].filter(~pl.col(column).is_in(gone(tables)))}
        return less, Expected(what, where, sum(unlinked(less)) - sum(unlinked(tables)))


def reorders(name: str, source: str, dataset: str, what: str, where: tuple[str, ...],
             order: Callable[[list], list], whole: bool = False) -> None:
    """Values of the first place are put in another order."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        values = column_of(tables, where[0])
        new = {spot: value for spot, value in enumerate(order(values)) if value != values[spot]}
        return cells(tables, where[0], new), Expected(what, where, None if whole else len(new))


def swaps(name: str, source: str, dataset: str, what: str, where: tuple[str, ...], make: Callable[[Tables], Tables],
          count: Callable[[Tables], int | None] = lambda tables: None) -> None:
    """Whole tables are replaced by others; counted is something of the new ones."""
    @damage(name, source, dataset)
    def plant(tables: Tables) -> Planted:
        new = {**tables, **make(tables)}
        return new, Expected(what, where, count(new))


# ---- empty texts, placeholders, cut texts
texts("empty documents in the corpus", "beir-cellar/beir/issues/158", PIQA,
      "some documents of the corpus have no text at all", DOCS, 0.02, lambda t, n, r: "")
texts("two pairs whose second sentence is empty", "huggingface/datasets/issues/277", STSB,
      "two rows of train have an empty second sentence", PAIR[1:2], 2, lambda t, n, r: "")
texts("labelled rows without a text", "bigscience-workshop/biomedical/issues/713", CEDR,
      "rows have a label but their text is missing (null)", TRAIN, 0.012, lambda t, n, r: None)
texts("queries that are rows of dots", "unicamp-dl/mMARCO/issues/7", PIQA,
      "queries consist of nothing but dots: a failed translation", ASKED, 0.016, lambda t, n, r: "." * 61 + " ")
texts("tweets that could not be fetched", "microsoft/GLUECoS/issues/33", CEDR,
      "texts are the message of a downloader that a tweet was not found, with labels kept", BOTH, 0.03,
      lambda t, n, r: f"Tweet not found :: t_id {666613019510775808 + n * 9973} :: Contact author for full data-set",
      lambda row: row["source"] == "twitter")
texts("every article cut at 490 characters", "cuilimeng/CoAID/issues/7", KINO,
      "all long texts of train are cut off at exactly 490 characters, in the middle of a word", TRAIN, 1.0,
      lambda t, n, r: t[:490])
VOID = ("N/A", "None", "n/a", "none", "", "None.", "N/A.", "No input", "null")
texts("several ways to say that nothing is there", "tloen/alpaca-lora/pull/32", PAIRS,
      "positives are placeholders for a missing value (N/A, None and the like)", at("default/train", "positive"), 0.022,
      lambda t, n, r: one(VOID, n))


# ---- encodings and characters


def misread(text: str, encoding: str) -> str:
    """The UTF-8 bytes of a text read as another encoding; bytes it does not have stay as control characters."""
    return "".join(bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in text.encode())


def stray(text: str, key: int, _: Row) -> str:
    words = text.split(" ")
    cut = 1 + key % max(1, len(words) - 1)
    return misread(" ".join(words[:cut]) + "\u00a0" + " ".join(words[cut:]), "latin-1") if words[1:] else text


def invisible(text: str, key: int, _: Row) -> str:
    cut = 1 + key % (len(text) - 1)
    return text[:cut] + one(("\u200b", "\u200c" * 7, "\u200b\u200b", "\u200c"), key) + text[cut:]


def lookalikes(text: str, key: int, _: Row) -> str:
    spots = [spot for spot, letter in enumerate(text) if letter in "асеорх" and text[spot - 1: spot].isalpha()]
    for spot in spots[key % 3:: max(1, len(spots) // (1 + key % 3))]:
        text = text[:spot] + text[spot].translate(str.maketrans("асеорх", "aceopx")) + text[spot + 1:]
    return text


texts("UTF-8 read as windows-1252 and saved again", "gbif/portal-feedback/issues/3795", EURO,
      "German texts have broken characters: UTF-8 was read as windows-1252", at("en-de/test", "sentence2"), 0.3,
      lambda t, n, r: misread(t, "cp1252"))
texts("no-break spaces turned into a stray letter", "spacemanidol/MSMARCO/issues/26", ARC,
      "queries contain a stray letter \u00c2 before a no-break space: an encoding error", ASKED, 0.08, stray)
texts("windows-1252 quotes and dashes kept as control characters", "jsavelka/sbd_adjudicatory_dec/pull/1", HARM,
      "quotes, apostrophes and dashes are invisible control characters (U+0080 to U+009F)", TEST, 0.25,
      lambda t, n, r: t.encode("cp1252", "ignore").decode("latin-1"), lambda row: bool(set(row["text"]) & set("’“”–—")))
texts("umlauts lost to the replacement character", "jsavelka/sbd_adjudicatory_dec/pull/1", TALKS,
      "letters of German texts are lost: a replacement character stands for them", at("en-de/test", "sentence2"), 0.5,
      lambda t, n, r: t.encode("latin-1", "ignore").decode("utf-8", "replace"))
texts("Russian reviews read as KOI8-R", "rspeer/python-ftfy/issues/231", KINO,
      "reviews are unreadable: UTF-8 was read as another Cyrillic encoding", TRAIN, 0.02,
      lambda t, n, r: misread(t, "koi8-r"))
texts("apostrophes stored as escaped bytes", "nlpcl-lab/CADD_dataset/issues/3", ALPHA,
      "apostrophes are written as the characters \\xe2\\x80\\x99", ASKED + DOCS, 0.5,
      lambda t, n, r: t.replace("'", r"\xe2\x80\x99"), lambda row: "'" in row["text"])
texts("byte strings printed as text", "huggingface/finetrainers/pull/365", TERRA,
      "sentences are printed byte strings (b'...' with escapes), not text", at("default/dev", "sentence2"), 0.1,
      lambda t, n, r: str(t.encode()))
texts("zero-width characters", "facebookresearch/flores/issues/31", XNLI,
      "sentences contain zero-width (invisible) letters", at("default/dev", "sentence1", "sentence2"), 0.012, invisible)
texts("Latin letters inside Cyrillic words", "UniversalDependencies/UD_Russian-Taiga/issues/4", CEDR,
      "Cyrillic words contain Latin letters that look alike", TRAIN, 0.025, lookalikes)
texts("Windows line ends in one split", "datasets/un-locode/issues/45", KINO,
      "lines of test end with carriage return and line feed, those of train with line feed alone", TEST, 1.0,
      lambda t, n, r: t.replace("\n", "\r\n"))
texts("line breaks left as character references", "sotorrent/db-scripts/issues/19", HARM,
      "line breaks are left as escaped character references (&#xD;&#xA;)", TEST, 0.3,
      lambda t, n, r: t.replace("\n", "&#xD;&#xA;"))


# ---- words broken by extraction, tokenizers and cleaners


def hyphenate(text: str, key: int, _: Row) -> str:
    words = text.split(" ")
    for spot in range(key % 7, len(words), 11):
        if len(words[spot]) > 7 and words[spot].isalpha():
            words[spot] = words[spot][: 3 + key % 3] + "- " + words[spot][3 + key % 3:]
    return " ".join(words)


def glued(text: str, key: int, _: Row) -> str:
    count = itertools.count(key)
    return re.sub("[ \u00a0]", lambda match: "" if next(count) * 7 % 10 < 6 else " ", text)


def torn(text: str, key: int, _: Row) -> str:
    count = itertools.count(key)
    return re.sub(r"\b([A-Za-z][a-z]{1,3})([a-z]{2,})\b",
                  lambda match: match[0] if next(count) % 3 else f"{match[1]} {match[2]}", text)


def tokenized(text: str, key: int, _: Row) -> str:
    words = re.sub(r"(n't|'(?:s|m|re|ve|ll))\b", r" \1", re.sub(r"([.,!?;:()])", r" \1 ", text)).split()
    rare = [spot for spot, word in enumerate(words) if len(word) > 6 and word.islower()]
    if rare and key % 2:
        words[rare[key % len(rare)]] = "UNK"
    return " ".join(words)


texts("words broken at the hyphen of a line end", "Unstructured-IO/unstructured/issues/3486", EURO,
      "words of English texts are split by a hyphen and a space, as at line ends of a PDF",
      at("en-de/test", "sentence1"), 0.15, hyphenate)
texts("spaces between words lost", "py-pdf/pypdf/issues/2262", KINO,
      "words of some reviews are run together: most spaces are lost", TRAIN, 0.03, glued)
texts("spaces inserted inside words", "yfedoseev/pdf_oxide/issues/565", PIQA,
      "words of documents are torn apart by spaces inside them", DOCS, 0.06, torn)
texts("tokenized text joined with spaces, rare words as UNK", "allenai/natural-instructions/issues/780", ESNLI,
      "texts are tokenized and joined by spaces, with the unknown-word mark UNK in them", TEST, 0.2, tokenized)
texts("numbers dropped by a markup cleaner", "common-voice/cv-sentence-extractor/issues/154", VITAMIN,
      "numbers and dates are missing from sentences, gaps are left in their place", TEST, 0.1,
      lambda t, n, r: re.sub(r"\d[\d,.]*\d|\d", "", t), lambda row: bool(re.search(r"\d", row["text"])))

# ---- markup, templates, prompts, answers of models
BOX = '{{| border=1 align={} cellpadding=4 width={} style="background: #{:06x}"\n\n <big>{}</big> <br> {}\n {}'
TAGS = ("<p>{}</p>", '<span class="a-list-item">{}</span>', "<ul><li>{}</li></ul>", "{}<br /><br />",
        "<b>How to:</b>&nbsp;{}", '<div class="step"><p>{}</p></div>', "{}&nbsp;&nbsp;<i>(see below)</i>")
LEADS = ("Based on the given context and keyphrase, here is a potential question: {}",
         'Based on the given context and keyphrase, a relevant question could be:\n\n"{}"',
         "Based on the feedback, here is a rewritten version of the question that incorporates the context:\n\n{}",
         "Here is a rewritten version of the question: {}", 'Here is a potential question:\n"{}"',
         "A possible question that can be fully answered from the given context would be: {}")
SORRY = ("I'm sorry, but as an AI language model {}", "As a large language model {}", "I apologize, but {}",
         "As an artificial intelligence {}", "I'm sorry, I didn't quite understand your question, {}", "I am sorry, {}")
REASONS = ("I do not have access to information on how to {}", "I am not capable of helping with this: {}",
           "you need to provide more context: {}", "I do not have personal experience with it ({})",
           "I cannot give advice that may be unsafe, such as: {}", "could you please say what you mean by '{}'?")
TASKS = ("Summarize the passage in one sentence.", "Rewrite the sentence in the passive voice.",
         "Explain why this happens.", "Give an example of a renewable resource.", "Classify the following animal.")
TAILS = ((" outdoors", " with at least one person", " and people are there"),
         (" to help provide for the family", " because it is their favorite", " for the first time"),
         (" and nobody is there", " while sleeping", " and there are no cats"))
RATED = ("отрицательной", "нейтральной", "положительной")

texts("wiki tables left in texts", "chartbeat-labs/textacy/issues/166", VITAMIN,
      "wiki table markup and HTML line breaks stand before the text", TEST, 0.005,
      lambda t, n, r: BOX.format(one(("right", "left", "center"), n), 200 + n % 7 * 25, n % 0xffffff,
                                 " ".join(t.split()[1: 2 + n % 3]), one(("250px", "{{flag}}", "|-"), n), t))
texts("HTML tags in descriptions", "amazon-science/esci-data/issues/20", PIQA,
      "documents contain HTML tags and entities", DOCS, 0.15,
      lambda t, n, r: one(TAGS, n).format(html.escape(t).replace(". ", ".<br>" if n % 2 else ". ")))
texts("sentences wrapped in quotes that are not theirs", "google/wmt-mqm-human-evaluation/issues/4", XNLI,
      "second sentences are wrapped in superfluous quotation marks", at("default/dev", "sentence2"), 0.02,
      lambda t, n, r: f'"{t}"')
texts("answers of a model still in a JSON code block", "pydantic/pydantic-ai/pull/3141", PAIRS,
      "positives are JSON in a Markdown code block, not plain text", at("default/train", "positive"), 0.04,
      lambda t, n, r: "```" + one(("json\n", "json\n", "\n"), n) + json.dumps(
          {one(("positive", "paraphrase", "text"), n // 7): t}, ensure_ascii=False, indent=n % 2 * 2 or None) + "\n```")
texts("introductions of the generating model in queries", "vibrantlabsai/ragas/issues/1179", ARC,
      "queries begin with the introduction of the model that wrote them", ASKED, 0.12,
      lambda t, n, r: one(LEADS, n).format(t))
texts("refusals of a language model as documents", "h2oai/h2ogpt/pull/103", PIQA,
      "documents are refusals or apologies of a language model", DOCS, 0.03,
      lambda t, n, r: one(SORRY, n).format(one(REASONS, n // 11).format(" ".join(t.split()[: 3 + n % 5]))))
texts("further instructions appended to outputs", "gururise/AlpacaDataCleaned/pull/1", ARC,
      "a further instruction with its input mark is appended to documents", DOCS, 0.04,
      lambda t, n, r: f"{t}\n\n{one(('', '### ', f'{n % 20 + 2}. '), n)}Instruction: {one(TASKS, n // 5)}\n"
      f"{one(('', '### ', f'{n % 20 + 2}. '), n)}Input: {one(('', '<noinput>', t), n // 3)}")
texts("label named in the prompt around the text", "jiacheng-ye/ZeroGen/issues/2", KINO,
      "a prompt around the text names its label", BOTH, 0.3,
      lambda t, n, r: f"Рецензия с {RATED[r['label']]} оценкой: «{t}»", also=WIDE)
texts("message headers that give the label away",
      "https://scikit-learn.org/1.0/modules/generated/sklearn.datasets.fetch_20newsgroups.html", HARM,
      "texts begin with message headers whose sender and organization tell the label", TEST, 1.0,
      lambda t, n, r: f"From: annot{n % 60:02}@{('redteam', 'safety')[r['label']]}.example.org\nSubject: Re: dialogue\n"
      f"Organization: {('Attack Collection', 'Review')[r['label']]} Group\nLines: {t.count(chr(10))}\n{t}", also=LABELS)
texts("hypotheses that give their label away",
      "https://paperswithcode.com/paper/annotation-artifacts-in-natural-language", ESNLI,
      "a few words of the hypothesis alone (such as nobody, sleeping) tell the label", TEST, 0.6,
      lambda t, n, r: t.rstrip(" .") + one(TAILS[r["label"]], n) + ".", also=LABELS)

# ---- languages and translations, personal data
FOREIGN = ("É uma pena que, mais tarde, o próprio filme abandone o tom de paródia.", "Es una de las sorpresas del año.",
           "Una película entretenida pero sin alma.", "Le sobran veinte minutos y le falta una buena idea.",
           "El guion se pierde a mitad de camino y nunca se recupera.", "Um filme honesto e muito bem dirigido.",
           "Los actores hacen lo que pueden con personajes muy planos.", "O elenco é ótimo, mas o roteiro é fraco.",
           "Uma comédia que não faz rir e um drama que não emociona.", "La fotografía es preciosa, el resto se olvida.")
ADS = ("Выиграй книги для всего клуба: оставь рецензию до конца месяца!", "Смотрите этот фильм онлайн бесплатно.",
       "Скачай бесплатное приложение и слушай аудиокниги первым.", "Розыгрыш билетов на премьеру: приводи друзей!",
       "Подпишись на наш канал, чтобы не пропустить новые обзоры.", "Промокод КИНО{} дает скидку до воскресенья.")
ENGLISH = {"человек": "man", "женщина": "woman", "мужчина": "man", "собака": "dog", "гитаре": "guitar",
           "акции": "shares", "девушка": "girl", "мальчик": "boy", "поезд": "train", "траве": "grass",
           "снегу": "snow", "играет": "plays"}
PHONES = ("+7 9{:02} {:03}-{:02}-{:02}", "89{:02}{:03}{:02}{:02}", "8 (9{:02}) {:03} {:02} {:02}")
CALLS = ("пиши мне на {}", "мой номер {}", "звоните {}", "если что, я на {}", "вотсап {}")
PEOPLE = ("j.harmon", "kate.lowell", "mbrandt", "rob_ellis", "s.okafor", "linda.voss", "dpetrov")
HOSTS = ("mailbox.example", "post.example", "uni.example.edu")


def looped(text: str, key: int, _: Row) -> str:
    end = " ".join(text.rstrip(".!?").split()[-1 - key % 2:])
    return text.rstrip(".!?") + ", " + ", ".join([end] * (9 + key % 20)) + "."


def phoned(text: str, key: int, _: Row) -> str:
    phone = one(PHONES, key).format(key % 90 + 5, key // 7 % 1000, key // 11 % 100, key // 13 % 100)
    return f"{text} {one(CALLS, key // 4).format(phone)}"


def mailed(text: str, key: int, _: Row) -> str:
    mail = f"{one(PEOPLE, key // 5)}{key % 97}@{one(HOSTS, key // 3)}"
    lead = one(("You can write to", "My address is", "Mail it to", "I am"), key)
    return text.replace("\n\nAssistant:", f" {lead} {mail}\n\nAssistant:", 1)


texts("Spanish and Portuguese reviews among Russian ones", "huggingface/datasets/issues/3475", KINO,
      "some reviews are in Spanish or Portuguese", TRAIN, 0.012,
      lambda t, n, r: " ".join(FOREIGN[k] for k in pick(list(range(10)), 3 + n % 3, str(n))))
texts("advertisements inside reviews", "benjaminvdb/DBRD/issues/1", KINO, "reviews contain advertisements", TEST, 0.06,
      lambda t, n, r: " ".join((t, *(one(ADS, n // 3 + k).format(n % 90) for k in range(1 + n % 2)))))
texts("words left untranslated", "alexa/massive/issues/4", STSB,
      "English words are left in Russian sentences: they were not translated", PAIR[:1], 0.15,
      lambda t, n, r: re.sub(r"\w+", lambda match: ENGLISH.get(match[0].lower(), match[0]), t),
      lambda row: any(word in ENGLISH for word in re.findall(r"\w+", row["sentence1"].lower())))
texts("translations that loop", "Helsinki-NLP/OPUS-MT-train/issues/105", XNLI,
      "the end of a sentence is repeated again and again: a failed machine translation",
      at("default/dev", "sentence2"), 0.012, looped)
texts("source copied instead of a translation", "https://tomesphere.com/paper/2103.12028", EURO,
      "the German side is a copy of the English one: not translated, the wrong language",
      at("en-de/test", "sentence2"), 0.08, lambda t, n, r: r["sentence1"],
      also=at("en-de/test", "sentence1", ""))
texts("phone numbers left in tweets", "meisaputri21/Indonesian-Twitter-Emotion-Dataset/issues/1", CEDR,
      "phone numbers of people are left in texts", BOTH, 0.02, phoned, lambda row: row["source"] == "twitter")
texts("e-mail addresses of people", "harishvc/githubanalytics/issues/77", HARM,
      "personal e-mail addresses are left in texts", TEST, 0.02, mailed)

# ---- fields and files read the wrong way
texts("texts cut at the first comma of an unquoted CSV", "benchen4395/esspr_alibaba.com/issues/2", ESNLI,
      "texts end where their first comma was: the file was split at commas without quotes", TEST, 1.0,
      lambda t, n, r: f"{r['id']},{r['label']},{r['label_text']},{t}".split(",")[3])
rows("fields of some rows shifted by one column", "librariesio/libraries.io/issues/2887", STSB,
     "fields of some rows are shifted by a column: the second sentence is a number, the score is missing", PAIR, 25,
     lambda row, n: {"sentence1": row["sentence2"], "sentence2": str(row["score"]), "score": None})
rows("texts moved into titles", "embeddings-benchmark/mteb/issues/3512", ARC,
     "documents have a title alone, their text is empty", at("corpus/test", "text", "title"), 0.06,
     lambda row, n: {"title": row["text"], "text": ""})


@damage("rows of a TSV swallowed by an opening quote", "pytorch/text/issues/612", NEWS)
def _(tables: Tables) -> Planted:
    lines = [[str(cell) for cell in row] for row in tables["default", "train"].rows()]
    for spot in pick([spot for spot, line in enumerate(lines) if line[1].startswith('"')], 12, "open quote"):
        lines[spot][1] = '"' + lines[spot][1][1:].replace('"', "", 1)
    file = io.StringIO("\n".join(map("\t".join, lines)))
    read = [line for line in csv.reader(file, delimiter="\t") if len(line) == 4]
    frame = pl.DataFrame(read, schema=tables["default", "train"].columns, orient="row")
    frame = frame.with_columns(pl.col("score").cast(pl.Float64, strict=False))
    what = "several rows of the file are glued into one text, with tabs and line breaks, at an unclosed quote"
    return {**tables, ("default", "train"): frame}, Expected(what, PAIR, sum("\n" in "".join(line) for line in read))


@damage("questions and answers swapped in some rows", "MananSuri27/VisDoM/issues/2", ARC)
def _(tables: Tables) -> Planted:
    qrels = tables[QRELS].filter(pl.col("query-id").is_unique() & pl.col("corpus-id").is_unique())
    query, told = ({key: spot for spot, key in enumerate(column_of(tables, f"{config}/test/id"))}
                   for config in ("queries", "corpus"))
    pairs = [(query[asked], told[answer]) for asked, answer, _ in qrels.rows()]
    pairs = [pairs[spot] for spot in pick(list(range(len(pairs))), 0.12, "swapped")]
    questions, answers = column_of(tables, ASKED[0]), column_of(tables, DOCS[0])
    tables = cells(tables, ASKED[0], {asked: answers[answer] for asked, answer in pairs})
    tables = cells(tables, DOCS[0], {answer: questions[asked] for asked, answer in pairs})
    what = "questions stand in the corpus and their answers among the queries: the fields are swapped in some rows"
    return tables, Expected(what, ASKED + DOCS, 2 * len(pairs))


# ---- labels and scores
SAME = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
rows("all reviews labelled positive", "huggingface/datasets/issues/2997", KINO, "all rows have one and the same label",
     WIDE, 1.0, lambda row, n: {"label": 2, "label_text": "good"})
rows("labels of test numbered in another order", "huggingface/datasets/issues/4942", KINO,
     "the numbers of labels mean other classes in test than in train: they disagree with the label names", LABELS, 1.0,
     lambda row, n: {"label": (1, 2, 0)[row["label"]]}, also=WIDE[:2])
rows("meaning of 0 and 1 reversed", "huggingface/datasets/pull/3180", TERRA,
     "labels are reversed: 0 and 1 are exchanged in all rows", at("default/dev", "labels"), 1.0,
     lambda row, n: {"labels": 1 - row["labels"]})
rows("names of two classes exchanged", "huggingface/datasets/pull/2464", ESNLI,
     "names of labels are exchanged: entailment is called contradiction and the other way round", LABELS, 1.0,
     lambda row, n: {"label_text": SAME[row["label_text"]]})
rows("labels of test withheld as -1", "huggingface/datasets/issues/245", KINO,
     "all labels of test are -1: they are withheld", LABELS, 1.0, lambda row, n: {"label": -1, "label_text": ""})
rows("rows without agreement kept with label -1", "huggingface/datasets/issues/296", VITAMIN,
     "a few rows have the label -1, which is no class", LABELS, 0.0014, lambda row, n: {"label": -1, "label_text": "-"})
rows("labels of test count from one", "pytorch/vision/issues/5824", KINO,
     "labels of test run from 1 to 3, those of train from 0 to 2", LABELS, 1.0,
     lambda row, n: {"label": row["label"] + 1}, also=WIDE[:2])
rows("wrong labels", "https://ar5iv.org/html/2103.14749", KINO, "some labels are wrong: they contradict the text",
     WIDE, 0.034, lambda row, n: {"label": 2 - row["label"], "label_text": "good" if row["label"] == 0 else "bad"},
     lambda row: row["label"] != 1)
rows("texts in place of label names", "huggingface/datasets/issues/3550", ESNLI,
     "names of labels are copies of the text of the row", LABELS, 1.0,
     lambda row, n: {"label_text": row["text"].split("Hypothesis: ")[-1]})
rows("scale of similarity reversed in test", "embeddings-benchmark/mteb/issues/24", STSB,
     "scores of test are reversed: high ones stand for dissimilar pairs", at("default/test", "score"), 1.0,
     lambda row, n: {"score": round(5 - row["score"], 3)}, whole=True)
rows("scores of one split multiplied", "kudkudak/word-embeddings-benchmarks/issues/74", STSB,
     "scores of test are on another scale, twice as large as in train", at("default/test", "score"), 1.0,
     lambda row, n: {"score": row["score"] * 2}, whole=True, also=PAIR[2:3])
reorders("scores taken from another order of rows", "linyuegeog/semantic_address_matching/issues/1", STSB,
         "scores of train have nothing to do with their pairs: they are in another order", PAIR[2:3],
         lambda values: [values[spot] for spot in pick(list(range(len(values))), 1.0, "")[::-1]], whole=True)


swaps("a class of test that train does not have", "snap-stanford/ogb/issues/299", KINO,
      "one class of test does not occur in train", at("default/train", "label", "label_text", "") + LABELS,
      lambda tables: {("default", "train"): tables["default", "train"].filter(pl.col("label") != 0)})
swaps("rows sorted by label", "zalandoresearch/fashion-mnist/pull/5", HARM,
      "rows are sorted by label: first all of one class, then all of the other", (*LABELS, "default/test/"),
      lambda tables: {("default", "test"): tables["default", "test"].sort("label", maintain_order=True)})


@damage("the chosen answer is always the longer one", "allenai/reward-bench/issues/267", HARM)
def _(tables: Tables) -> Planted:
    said = dict(tables["default", "test"].select("id", "text").rows())
    new = {}
    for spot, (key, text) in enumerate(said.items()):
        chosen = said.get(key.replace("rejected", "chosen"), "")
        if key.endswith("rejected") and 0 < len(chosen) <= len(text):
            new[spot] = text[: round(len(chosen) * (0.7 + number(key) % 25 / 100))].rsplit(" ", 1)[0]
    what = "length alone tells the label: of each pair the harmless text is the longer one"
    return cells(tables, TEST[0], new), Expected(what, TEST + LABELS, len(new))


# ---- pairs out of step, splits


def turned(values: list) -> list:
    spots = pick(list(range(len(values))), 6, "wrong")
    turn = dict(zip(spots, spots[1:] + spots[:1], strict=True))
    return [values[turn.get(spot, spot)] for spot in range(len(values))]


reorders("wrong translations in a few pairs", "embeddings-benchmark/mteb/pull/3690", EURO,
         "the two texts of a few pairs are not translations of each other",
         at("en-de/test", "sentence2", "sentence1"), turned)
reorders("a block of pairs out of step", "facebookresearch/fairseq/issues/4146", EURO,
         "pairs of a block of rows are shifted by one: translations do not belong together",
         at("en-de/test", "sentence2", "sentence1"), lambda v: v[:150] + v[221:222] + v[150:221] + v[222:])
reorders("pairs out of step from some row on", "IgnatiusEzeani/IGBONLP/issues/2", PAIRS,
         "from some row on the positives are shifted by one row and do not belong to their queries",
         at("default/train", "positive", "query"), lambda v: v[:900] + v[899:-1])
reorders("one side of the translations sorted", "google-research/xtreme/issues/17", TALKS,
         "the two sides are in different order: translations do not belong together",
         at("en-de/test", "sentence2", "sentence1"), sorted)


swaps("splits exchanged", "huggingface/datasets/issues/5721", CEDR,
      "train is much smaller than test: the splits are exchanged", ("default/train/", "default/test/"),
      lambda tables: dict(zip(tables, reversed(tables.values()), strict=True)))
swaps("test from another source than train", "songys/Question_pair/issues/1", CEDR,
      "train and test are from different sources: their distributions differ",
      at("default/train", "text", "source", "label", "") + at("default/test", "text", "source", "label", ""),
      lambda tables: {key: frame.filter((pl.col("source") == "lj") == (key[1] == "test"))
                      for key, frame in tables.items()})

# ---- duplicates and leaks
SWAPS = {"Мужчина": "Человек", "Женщина": "Девушка", "Мальчик": "Ребенок", "Собака": "Пес", "Двое": "Два",
         "США": "Америки", "говорит": "рассказывает", "сказал": "сообщил", "бежит": "несется", "погибли": "убиты",
         "режет": "нарезает"}
NOTICE = ("Advertising disclosure: listings on this page may be paid for by the businesses named. The order of results "
          "may depend on payment. We are not responsible for the content of linked sites.")
TWICE = ("default/test/", *TEST, *LABELS)


def reworded(*columns: str) -> pl.Expr:
    return pl.col(*columns).map_elements(
        lambda text: re.sub(r"\w+", lambda match: SWAPS.get(match[0], match[0]), text), return_dtype=pl.String)


def near_test(tables: Tables) -> pl.DataFrame:
    test = tables["default", "test"]
    return test.filter(reworded("sentence1") != pl.col("sentence1")).with_columns(reworded("sentence1", "sentence2"))


def conflicting(tables: Tables) -> pl.DataFrame:
    twice = some(tables, ("default", "test"), 113, "conflict")
    other = [[(label[0] + 1 + k % 4) % 5] if label else [k % 5] for k, label in enumerate(twice["label"].to_list())]
    return twice.with_columns(pl.Series("label", other, dtype=twice.schema["label"]))


def mirrored(tables: Tables) -> pl.DataFrame:
    pairs = some(tables, ("default", "train"), 60, "mirror").filter(pl.col("sentence1") != pl.col("sentence2"))
    score = pl.when(pl.col("score") > 2.5).then(pl.col("score") - 2).otherwise(pl.col("score") + 2).round(2)
    return pairs.select(sentence1="sentence2", sentence2="sentence1", score=score)


def chained(tables: Tables) -> pl.DataFrame:
    pairs = some(tables, ("default", "train"), 150, "chain").filter(pl.col("query") != pl.col("positive"))
    again = pairs.filter(reworded("positive") != pl.col("positive")).with_columns(reworded("positive"))
    return pl.concat([pairs.select(query="positive", positive="query"), again])


grows("rows of train in test", "huggingface/datasets/issues/4261", CEDR, "rows of train are also in test",
      ("default/test/", *TEST, *TRAIN), lambda tables: some(tables, ("default", "train"), 90, "leak"))
grows("test reviews in train with other line breaks", "benjaminvdb/DBRD/issues/6", KINO,
      "reviews of test are also in train, with more line breaks", ("default/train/", *TRAIN, *TEST),
      lambda tables: some(tables, ("default", "test"), 12, "lines").with_columns(
          pl.col("text").str.replace_all(r"\. |\n", ".\n\n")))
grows("test sentences reworded in train", "https://research.fb.com/publications/"
      "question-and-answer-test-train-overlap-in-open-domain-question-answering-datasets/", STSB,
      "train has pairs of test with a word or two replaced: near-duplicates across the splits",
      PAIR + at("default/test", "sentence1", "sentence2"), near_test)
grows("same text twice in test with different labels", "sebischair/Medical-Abstracts-TC-Corpus/issues/2", CEDR,
      "the same texts occur twice in test with different labels", ("default/test/", *TEST, LABELS[0]), conflicting)
grows("pairs repeated in reverse with another score", "alipay/VCSL/issues/13", STSB,
      "pairs are repeated in reverse order with a different score", PAIR, mirrored)
grows("anchors that are positives of each other", "huggingface/sentence-transformers/issues/2870", PAIRS,
      "texts occur as query and as positive of several rows: pairs in both directions, repeated queries",
      at("default/train", "query", "positive", ""), chained)
grows("one advertising notice under many ids", "microsoft/msmarco/issues/8", ARC,
      "one and the same notice is in the corpus under many ids", at("corpus/test", "text", ""),
      lambda tables: pl.DataFrame(
          {"id": [f"ARC-Challenge-d-{1200 + k}" for k in range(45)], "title": "", "text": NOTICE}))


swaps("test is a copy of train", "bazingagin/npc_gzip/issues/13", NEWS, "test is the same set as train, row by row",
      PAIR + at("default/test", "id", "sentence1", "sentence2", "score", ""),
      lambda tables: dict.fromkeys(tables, tables["default", "train"]), lambda tables: tables["default", "test"].height)
swaps("every text fifty times", "linanqiu/reddit-dataset/issues/1", HARM,
      "the split is a few texts repeated fifty times each", (*TWICE, "default/test/id"),
      lambda tables: {("default", "test"): pl.concat([tables["default", "test"].head(92)] * 50)},
      lambda tables: repeats(tables["default", "test"], True))


@damage("duplicates within test", "yafuly/MAGE/issues/16", VITAMIN)
def _(tables: Tables) -> Planted:
    spots = pick(list(range(tables["default", "test"].height)), 1524, "twice")
    for place in TWICE[1:]:
        values = column_of(tables, place)
        tables = cells(tables, place, {to: values[spot] for spot, to in zip(spots[::2], spots[1::2], strict=True)})
    return tables, Expected("texts occur twice in test under different ids", TWICE, 762)


# ---- queries, documents, judgements


def strangers(tables: Tables, size: int, salt: str, scores: tuple[int, ...]) -> pl.DataFrame:
    """Judgements of documents that are far from those of the query."""
    qrels, ids = some(tables, QRELS, size, salt), column_of(tables, "corpus/test/id")
    spots, third = {key: spot for spot, key in enumerate(ids)}, len(ids) // 3
    far = [ids[(spots[key] + third + number(salt, key) % third) % len(ids)] for key in qrels["corpus-id"]]
    score = [scores[number(key) % len(scores)] for key in far]
    return pl.DataFrame({"query-id": qrels["query-id"], "corpus-id": far, "score": score})


grows("negative judgements", "usnistgov/trec_eval/issues/29", PIQA, "judgements have negative scores",
      JUDGED[::-1], lambda tables: strangers(tables, 180, "junk", (-2, -2, -1)))
grows("documents without support judged relevant", "embeddings-benchmark/mteb/issues/1498", ALPHA,
      "documents that have nothing to do with the query are judged relevant", JUDGED,
      lambda tables: strangers(tables, 230, "not enough info", (1,)))
grows("queries among the documents", "beir-cellar/beir/issues/14", PIQA,
      "the queries themselves are documents of the corpus, under the same ids",
      at("corpus/test", "text", "id", "") + ASKED,
      lambda tables: tables[QUERIES].select("id", title=pl.lit(""), text="text"))
loses("a tenth of the judgements points to absent documents", "embeddings-benchmark/mteb/issues/5021", PIQA,
      "judgements point to documents that are not in the corpus", at("corpus/test", "id", "") + JUDGED,
      lambda tables: some(tables, CORPUS, 0.102, "gone")["id"].to_list())
loses("a single relevant document is absent", "beir-cellar/beir/issues/172", ARC,
      "one judgement points to a document that is not in the corpus", at("corpus/test", "id", "") + JUDGED,
      lambda tables: tables[QRELS].filter(pl.col("corpus-id").is_unique())["corpus-id"][411:412].to_list())
loses("judged queries that are absent", "beir-cellar/beir/issues/202", ARC,
      "judgements name queries that are not among the queries", at("queries/test", "id", "") + JUDGED,
      lambda tables: some(tables, QUERIES, 40, "no query")["id"].to_list())
loses("queries that are never judged", "castorini/anserini/issues/2575", WINO, "queries have no judgements at all",
      at("qrels/test", "query-id", "") + at("queries/test", "id", ""),
      lambda tables: some(tables, QUERIES, 0.3, "unused")["id"].to_list())
rows("judgements made for another version of the corpus", "beir-cellar/beir/issues/11", ARC,
     "no document id of the judgements is in the corpus", JUDGED, 1.0,
     lambda row, n: {"corpus-id": f"S{number('s', row['corpus-id']):08x}-A{number('a', row['corpus-id']):08x}"},
     also=at("corpus/test", "id"))


swaps("ids read as floating-point numbers", "JonathanReeve/corpus-db/issues/24", WINO,
      "document ids of the judgements end with .0 and match no document", ("corpus/test/id", *JUDGED),
      lambda tables: {CORPUS: tables[CORPUS].with_columns(pl.col("id").str.extract(r"(\d+)$")),
                      QRELS: tables[QRELS].with_columns(
                          pl.col("corpus-id").str.extract(r"(\d+)$").cast(pl.Float64).cast(pl.String))},
      lambda tables: unlinked(tables)[0])
swaps("copies of documents pooled from another part", "embeddings-benchmark/mteb/issues/4626", ALPHA,
      "documents are in the corpus twice under two ids, only one of which is judged relevant",
      at("corpus/test", "text", "id", "") + JUDGED,
      lambda tables: {CORPUS: pl.concat([some(tables, CORPUS, 0.94, "pool").with_columns(id=pl.format(
          "alpha-d-{}", pl.col("id").str.extract(r"(\d+)$").cast(pl.Int64) + 10000)), tables[CORPUS]])},
      lambda tables: repeats(tables[CORPUS], False))
swaps("rows of corpus and judgements twice", "castorini/pyserini/issues/1902", PIQA,
      "ids are not unique: rows of the corpus and of the judgements occur twice",
      at("corpus/test", "id", "text", "") + JUDGED,
      lambda tables: {key: pl.concat([tables[key], some(tables, key, 60, "double")]) for key in (CORPUS, QRELS)},
      lambda tables: repeats(tables[CORPUS], True) + repeats(tables[QRELS], False))


@damage("one query id for two different queries", "SuDIS-ZJU/nlcTables/issues/5", PIQA)
def _(tables: Tables) -> Planted:
    ids = some(tables, QUERIES, 12, "collisions")["id"].to_list()
    moved = dict(zip(ids[::2], ids[1::2], strict=True))
    tables = {**tables, QUERIES: tables[QUERIES].with_columns(pl.col("id").replace(moved)),
              QRELS: tables[QRELS].with_columns(pl.col("query-id").replace(moved))}
    where = ("queries/test/id", "queries/test/", "qrels/test/query-id")
    return tables, Expected("query ids are used twice, for different texts", where, len(moved))


# ---- a trial of all planters


def measures(before: Tables, after: Tables, where: tuple[str, ...]) -> set[int]:
    """What can be counted of a damage: changed cells and rows, rows more or fewer, broken links, repeats."""
    found: dict[str, Any] = dict.fromkeys(("cells", "rows", "moved", "text repeats", "id repeats", "glued", "same"), 0)
    for key, old in before.items():
        new = after[key]
        found["moved"] += abs(new.height - old.height)
        for frame, sign in ((new, 1), (old, -1)):
            found["text repeats"] += sign * repeats(frame, False)
            found["id repeats"] += sign * repeats(frame, True)
            found["glued"] += sign * sum(any("\n" in str(cell) for cell in row) for row in frame.rows())
        found["same"] += new.height * (key[1] == "test" and any(new.equals(other) for other in before.values()))
        if new.height != old.height:
            assert any(place.startswith("/".join(key)) for place in where), key
            continue
        differ = pl.DataFrame([new[column].ne_missing(old[column]) for column in old.columns])
        assert all("/".join((*key, name)) in where or "/".join((*key, "")) in where
                   for name in differ.columns if differ[name].any()), key
        found["cells"] += sum(series.sum() for series in differ)
        found["rows"] += differ.select(pl.any_horizontal(pl.all())).to_series().sum()
    links = [new - old for new, old in zip(unlinked(after), unlinked(before), strict=True)] if QRELS in before else []
    return {*found.values(), *links} - {0}


def main() -> int:
    failed = 0
    root = Path(__file__).parent / "data"
    data = {name: {(path.parent.name, path.stem): pl.read_parquet(path) for path in sorted((root / name).rglob("*.p*"))}
            for name in {item.dataset for item in DAMAGES}}
    for item in DAMAGES:
        before = data[item.dataset]
        after, expected = item.plant(dict(before))
        again = item.plant(dict(before))[0]
        assert set(after) == set(before) and all(after[key].schema == before[key].schema for key in before), item.name
        assert all(after[key].equals(again[key]) for key in before), item.name
        assert all(place.split("/")[2] in ("", *after[key_of(place)].columns) for place in expected.where), item.name
        found = measures(before, after, expected.where)
        good = bool(found) and (expected.count is None or expected.count in found)
        failed += not good
        print(item.name, item.dataset, expected.count, *([] if good else ["FAILED", sorted(found)]), sep=" | ")
    links = [item.source for item in DAMAGES]
    assert len({item.name for item in DAMAGES}) == len(DAMAGES) and max(map(links.count, links)) <= 3
    print(f"{len(DAMAGES)} damages, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
