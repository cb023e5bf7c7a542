"""Articles in the true raw format of ria_news, as many as wanted: paragraphs recombined, many of their words made up."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARAGRAPHS = Path(__file__).with_name("ria_paragraphs.txt")
# The share of words that are made up; of the logarithm of an article's length in characters, mean and deviation. With these
# about 72 % of the articles pass the recipe, at 1,170 characters on average, as of the real ones (70 %, at 1,166).
MADE_UP, LENGTH_MEAN, LENGTH_SPREAD = 0.8, 7.3, 0.65
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
# Markup that is not plain HTML, at the end of one article of two hundred.
ODD = (
    "<!-- врезка -->",
    "<script>var a = 1;</script>",
    "рост составил <5%",
    "эйт энд ти (at&t)",
    "итоги&#8230",
    "<P>итоги</P>",
)


def write_articles(place: Path, count: int, real: Sequence[Path] = ()) -> None:
    """Write the first `count` articles made from real ones, or from our own paragraphs, as `ria.json.gz`."""
    paragraphs = [one for path in real for one in paragraphs_of(path)] or PARAGRAPHS.read_text("utf-8").splitlines()
    with gzip.open(place, "wb", compresslevel=6) as file:
        for article in itertools.islice(articles(paragraphs), count):
            line = json.dumps(article, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
            file.write(line.encode() + b"\n")


def paragraphs_of(path: Path) -> Iterator[str]:
    """The paragraphs of real articles (JSON lines, or .gz) without their tags <p> and the dateline's <strong>."""
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        for paragraph in re.findall("<p[^>]*>(.*?)</p>", json.loads(line)["text"], re.DOTALL):
            text = re.sub("<strong>.*?</strong> ?", "", paragraph)
            if text:
                yield text


def articles(paragraphs: Sequence[str]) -> Iterator[dict[str, str]]:
    """Articles without end, always the same ones; one of a hundred has an earlier one's title, one its text."""
    choose, earlier = random.Random(2010), list[dict[str, str]]()
    words = WORD.findall(" ".join(paragraphs))
    while True:
        text, chance = made_up(paragraphs, words, choose), choose.random()
        title = " ".join(choose.choices(words, k=8)) + " " * (9 if chance < 0.02 else 0)
        article = {"text": text, "title": title}
        if earlier and chance > 0.98:
            kind = "title" if chance > 0.99 else "text"
            article[kind] = choose.choice(earlier)[kind]
        elif len(earlier) < 1000:
            earlier.append(article)
        yield article


def made_up(paragraphs: Sequence[str], words: Sequence[str], choose: random.Random) -> str:
    """The HTML of one article."""

    def replaced(word: re.Match[str]) -> str:
        """One word, or the first half of another with the second half of a third."""
        if choose.random() > MADE_UP:
            return word[0]
        head, tail = choose.choice(words), choose.choice(words)
        return head[: len(head) // 2] + tail[len(tail) // 2 :]

    body, length = list[str](), choose.lognormvariate(LENGTH_MEAN, LENGTH_SPREAD)
    while not body or sum(map(len, body)) < length:
        body.append(WORD.sub(replaced, choose.choice(paragraphs)))
    icon = ICON if choose.random() < 0.1 else ""
    odd = choose.choice(ODD) if choose.random() < 0.005 else ""
    start = f"<p><strong></strong></p>\n<p>{icon}<strong>{choose.choice(DATELINES)}</strong> "
    return start + "</p>\n<p>".join(body) + "</p>" + odd
