"""Authors and years of BibTeX entries, as plain text."""

import re

import pytest

from cards.croissant import Author, list_authors, read_year
from cards.texts import CITATIONS, bibtex


@pytest.mark.parametrize(
    ("written", "authors"),
    [
        ("Koehn, Philipp", [Author("Philipp Koehn")]),
        ("Philipp Koehn", [Author("Philipp Koehn")]),
        (r"St{\"u}ker, Sebastian and Bojar, Ond{\v{r}}ej", [Author("Sebastian Stüker"), Author("Ondřej Bojar")]),
        (r"Martins, Andr{\'e} F. T.", [Author("André F. T. Martins")]),
        (r"N{\'e}v{\'e}ol, Aur{\'{e}}lie", [Author("Aurélie Névéol")]),
        (r"{\O}stergaard, J{\o}rgen and Mu{\~n}oz, A.", [Author("Jørgen Østergaard"), Author("A. Muñoz")]),
        ("King, Jr., Martin Luther", [Author("Martin Luther King, Jr.")]),
        ("{Yandex}", [Author("Yandex", organisation=True)]),
        ("{Barnes and Noble} and Ivanov, Ivan", [Author("Barnes and Noble", organisation=True), Author("Ivan Ivanov")]),
        ("Ivanov,\n            Ivan\n  and others", [Author("Ivan Ivanov")]),
        ("", []),
    ],
)
def test_names_are_read_as_people_write_them(written: str, authors: list[Author]) -> None:
    assert list_authors(f"@article{{key,\n  author = {{{written}}},\n  year = {{2020}},\n}}") == authors


def test_an_entry_without_authors_and_year_has_none() -> None:
    assert list_authors("@misc{key,\n  title = {A title},\n}") == []
    assert read_year("@misc{key,\n  title = {A title},\n}") == ""
    assert read_year("@misc{key,\n  year = {in press},\n}") == ""


def test_every_entry_that_cards_cite_has_authors_and_a_year() -> None:
    for key in re.findall(r"(?m)^@\w+\{([^,]+),", CITATIONS.read_text("utf-8")):
        authors = list_authors(bibtex(key))
        assert authors, key
        assert not [author for author in authors if re.search(r"[\\{},]", author.name)], key
        assert re.fullmatch("[0-9]{4}", read_year(bibtex(key))), key
