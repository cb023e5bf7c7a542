"""builders.rumteb.ria_news: which texts begin with a dateline, and what remains without it."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from builders.rumteb.ria_news import remove_dateline

# From real articles, with white space folded.
REAL = (
    "москва, 1 дек — риа новости.",
    "москва, 1 дек- риа новости.",
    "москва, 31 янв - риа новости.",
    "москва, 31 янв – риа новости.",
    "кишинев, 30 ноя — риа новости.",
    "москва, 1 дек — р-спорт.",
    "магас, 1 дек — риа новости, адам буражев.",
    "мехико, 30 ноя — риа новости, дмитрий знаменский.",
    "киев, 31 янв - риа новости, марина шмаюн.",
    "фарнборо (великобритания), 21 июл - риа новости, александр смотров.",
)
INVENTED = (
    "москва, 12 марта - прайм.",
    'лондон, 3 мая — "прайм".',
    "сочи, 7 фев — р-спорт, андрей ветров и мария снежная.",
    "москва, 2 июня — ria.ru.",
    "москва, 2 июн — риа новости/прайм.",
    "нью-йорк/вашингтон, 25 сен - риа новости, анна-мария о'нил, п. лесной, о. в. речная.",
    "ростов-на-дону, 5 авг. – риа новости.",
    "г. москва, 8 апр 2013 г. — риа новости.",
    "с.-петербург, 8-9 апреля 2013 года - риа новости.",
    "борт теплохода «чайка», 1 июл ― риа новости..",
    "МОСКВА, 1 дек — РИА Новости.",
    "оон, 14 окт, - риа новости .",
    "москва, 1дек-риа новости.",
)
BRANCHES = (
    "москва, 1 дек - прайм-тасс.",
    "екатеринбург, 2 дек - риа новости-урал, анна лесная.",
    "москва, 3 дек — /риа новости/.",
    "москва, 3 дек — риа новости/прайм-тасс.",
    'москва, 3 дек - "прайм-тасс".',
)
REST = "в городе открылась выставка. риа новости."
NO_DATELINE = (
    "в городе открылась выставка. москва, 1 дек — риа новости. вход свободный.",
    "мост откроют 1 дек — риа новости.",
    "движение откроют в четверг, 1 дек, риа новости. вход свободный.",
    "сообщает риа новости. мост откроют в полночь.",
    "риа новости. мост откроют в полночь.",
    "москва, 1 дек. мост откроют в полночь.",
    "москва, 1 дек — мост откроют в полночь, сообщили риа новости.",
    "москва, 1 дек - риа новости сообщили, что мост откроют. вход свободный.",
    "москва, 1 дек — риа новости, около 60 тысяч литров нефти вытекли в болото.",
    "москва, 1 дек — риа новости, пожар. ущерб мал.",
    "москва, 1 дек — риа новости: мост откроют.",
    "москва, 1 дек — риа новости",
    "москва, 1 дек — интерфакс. мост откроют.",
    "москва, дек — риа новости. мост откроют.",
    ", 1 дек — риа новости. мост откроют.",
    "прайм. цены выросли.",
    "москва, 1 дек — риа новости-урал сообщили, что мост откроют. вход свободный.",
    "москва, 1 дек — риа новости - пожар. ущерб мал.",
    "",
)


def without_dateline(text: str) -> str:
    return str(pl.select(remove_dateline(pl.lit(text))).item())


@pytest.mark.parametrize("dateline", [*REAL, *INVENTED, *BRANCHES])
@pytest.mark.parametrize("rest", [f" {REST}", REST, ""])
def test_a_dateline_is_removed_and_the_first_sentence_kept(dateline: str, rest: str) -> None:
    assert without_dateline(dateline + rest) == rest.strip()


def test_1_0_0_keeps_the_datelines_of_branches() -> None:
    texts = pl.DataFrame({"text": [f"{dateline} {REST}" for dateline in BRANCHES]})
    assert texts.select(remove_dateline(pl.col("text"), branches=False)).equals(texts)


@pytest.mark.parametrize("text", NO_DATELINE)
def test_a_text_without_a_dateline_is_unchanged(text: str) -> None:
    assert without_dateline(text) == text


@pytest.mark.parametrize("dateline", REAL)
def test_only_the_first_dateline_is_removed(dateline: str) -> None:
    assert without_dateline(f"{dateline} {dateline} {REST}") == f"{dateline} {REST}"


def test_a_short_sentence_after_a_reporter_is_not_mistaken_for_another_name() -> None:
    text = "москва, 1 дек — риа новости, иван петров. пожар потушен. ущерб мал."
    assert without_dateline(text) == "пожар потушен. ущерб мал."


@given(st.text(alphabet="абв ,.-—1дек") | st.text())
def test_a_text_without_an_agency_is_unchanged(text: str) -> None:
    assert without_dateline(text) == text


@given(st.sampled_from(REAL + INVENTED), st.text(alphabet="абвгд ,.—12"))
def test_text_after_a_dateline_is_unchanged(dateline: str, rest: str) -> None:
    assert without_dateline(f"{dateline} {rest}|") == f"{rest}|"


def test_every_real_article_has_a_dateline_and_loses_nothing_else(real_sources: Path) -> None:
    folder = real_sources / "ria_news"
    lines = (folder / "ria_20.json").read_bytes().splitlines()
    lines += gzip.decompress((folder / "ria.first10.json.gz").read_bytes()).splitlines()
    for line in lines:
        html = json.loads(line)["text"]
        dateline = next(
            one.get_text() for one in BeautifulSoup(html, "html.parser").find_all("strong") if one.get_text()
        )
        text = " ".join(BeautifulSoup(html, "html.parser").get_text().split())
        assert without_dateline(text) == text.removeprefix(" ".join(dateline.split())).lstrip()
