"""Generate any number of articles in the raw format of ria_news, from recombined paragraphs with many invented words."""

import gzip
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

PARAGRAPHS = Path(__file__).with_name("ria_paragraphs.txt")
# The share of invented words, and the mean and standard deviation of the logarithm of an article's length in characters. About
# 72 % of these articles pass the recipe, with 1,170 characters on average; of the real ones, 70 % with 1,166.
INVENTED, LENGTH_MEAN, LENGTH_SPREAD = 0.8, 7.3, 0.65
WORD = re.compile(r"[а-яё]{4,}")
DATELINES = (
    "москва, 1 дек&nbsp;&mdash; риа новости.",
    "кишинев, 30 ноя&nbsp;&mdash; риа новости.",
    "киев, 31 янв - риа новости.",
    "афины, 12 мая - риа новости, имя фамилия.",
    "москва, 7 фев&nbsp;&mdash; р-спорт.",
    "москва, 3 авг&nbsp;&mdash; прайм.",
    "фарнборо (великобритания), 21 июл - риа новости.",
    "санкт-петербург, 18 окт &ndash; риа новости.",
    "москва, 9 июл- риа новости.",
)
ICON = (
    '<img src="/img/article_icon.gif" border="0" hspace="5" width="20" height="20" '
    """tag="[-json: {'type':'article','article_id':'1007647778'}-]" />"""
)
# Unusual markup, appended to one article in two hundred.
ODD = (
    "<!-- врезка -->",
    "<script>var a = 1;</script>",
    "рост составил <5%",
    "эйт энд ти (at&t)",
    "итоги&#8230",
    "<P>итоги</P>",
)


def write_articles(path: Path, count: int) -> None:
    """Write `count` articles to a gzip file, generated from ria_paragraphs.txt."""
    paragraphs = PARAGRAPHS.read_text("utf-8").splitlines()
    with gzip.open(path, "wb", compresslevel=6) as stream:
        for article in itertools.islice(generate_articles(paragraphs), count):
            line = json.dumps(article, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
            stream.write(line.encode() + b"\n")


def generate_articles(paragraphs: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield endless articles, the same every time; 1 % repeat an earlier title and 1 % an earlier text."""
    rng, earlier = random.Random(2010), list[dict[str, str]]()
    words = WORD.findall(" ".join(paragraphs))
    while True:
        text, chance = invent_html(paragraphs, words, rng), rng.random()
        title = " ".join(rng.choices(words, k=8)) + " " * (9 if chance < 0.02 else 0)
        article = {"text": text, "title": title}
        if earlier and chance > 0.98:
            kind = "title" if chance > 0.99 else "text"
            article[kind] = rng.choice(earlier)[kind]
        elif len(earlier) < 1000:
            earlier.append(article)
        yield article


def invent_html(paragraphs: Sequence[str], words: Sequence[str], rng: random.Random) -> str:
    """Generate the HTML of one article."""

    def replace_word(word: re.Match[str]) -> str:
        """Return the word, or an invented one: the first half of one word and the second half of another."""
        if rng.random() > INVENTED:
            return word[0]
        head, tail = rng.choice(words), rng.choice(words)
        return head[: len(head) // 2] + tail[len(tail) // 2 :]

    body, length = list[str](), rng.lognormvariate(LENGTH_MEAN, LENGTH_SPREAD)
    while not body or sum(map(len, body)) < length:
        body.append(WORD.sub(replace_word, rng.choice(paragraphs)))
    icon = ICON if rng.random() < 0.1 else ""
    odd = rng.choice(ODD) if rng.random() < 0.005 else ""
    start = f"<p><strong></strong></p>\n<p>{icon}<strong>{rng.choice(DATELINES)}</strong> "
    return start + "</p>\n<p>".join(body) + "</p>" + odd
