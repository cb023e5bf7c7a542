"""sts22: the real table of pairs, articles that are missing, empty or repeated, and malformed files."""

import json
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.reading.csv import read_csv
from builders.rumteb import sts22
from builders.spec import Raw, RawFiles
from tests.support.reading import write_zip
from tests.support.recipes import frame


def make_article(text: str) -> str:
    return json.dumps({"title": "Заголовок", "text": text, "authors": []})


def test_the_real_table_has_287_russian_pairs_and_their_scores(real_sources: Path) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    table = read_csv(raw, sts22.TABLE)
    pairs = sts22.select_russian_pairs(raw, table)
    assert (table.height, pairs.height) == (4902, 287)
    assert pairs["id"].n_unique() == 287
    counts = dict(pairs["score"].value_counts().iter_rows())
    assert counts == {4.0: 51, 3.0: 53, 2.0: 92, 1.0: 91}
    first = pairs.row(0, named=True)
    assert first == {"id": "1494234418_1492760032", "article1": "1494234418", "article2": "1492760032", "score": 3.0}


def test_real_pairs_without_one_of_their_articles_are_counted(real_sources: Path, tmp_path: Path) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    pairs = sts22.select_russian_pairs(raw, read_csv(raw, sts22.TABLE))
    articles = [*pairs["article1"], *pairs["article2"]]
    missing = articles[287:303]  # the second articles of the first 16 pairs
    files = {
        f"articles/{article[-2:]}/{article}.json": make_article(f"\n Статья {article}. ")
        for article in articles
        if article not in missing
    }
    archive = write_zip(tmp_path / "articles.zip", files)
    tables = sts22.sts.recipe(RawFiles(("test",), {"pairs": raw, "articles": archive}, tmp_path))
    rows = frame(tables)
    assert rows.height == 271
    assert [dropped.count for dropped in tables.dropped] == [16]
    assert rows["id"].to_list() == pairs["id"][16:].to_list()
    assert rows["sentence1"].to_list() == [f"Статья {one}." for one in pairs["article1"][16:]]
    assert rows["sentence2"].to_list() == [f"Статья {one}." for one in pairs["article2"][16:]]


def test_the_cleaned_version_drops_real_pairs_with_an_empty_article_or_the_texts_of_an_earlier_pair(
    real_sources: Path, tmp_path: Path
) -> None:
    raw = Raw("pairs", real_sources / "sts22" / "final_evaluation_data.csv")
    pairs = sts22.select_russian_pairs(raw, read_csv(raw, sts22.TABLE)).filter(pl.col("score") == 1)
    texts = {one: f"Статья {one}." for one in [*pairs["article1"], *pairs["article2"]]}
    (first, second), (third, fourth), (fifth, _) = pairs.select("article1", "article2").rows()[:3]
    texts |= {third: texts[second], fourth: texts[first], fifth: " \n"}
    archive = write_zip(tmp_path / "articles.zip", {f"{one}.json": make_article(text) for one, text in texts.items()})
    first_version, cleaned = (
        sts22.sts.recipe(RawFiles(("test",), {"pairs": raw, "articles": archive}, tmp_path), clean=clean)
        for clean in (False, True)
    )
    assert frame(first_version).height == pairs.height
    assert frame(cleaned)["id"].to_list() == [pairs["id"][0], *pairs["id"][3:]]
    assert [(dropped.reason, dropped.examples) for dropped in cleaned.dropped[1:]] == [
        ("a text is empty or a single character", (pairs["id"][2],)),
        ("duplicate of an earlier row", (pairs["id"][1],)),
    ]


@pytest.mark.parametrize("name", ["1500000011", "../1_2", "1_2_3", "1_", "1_2\n", "1_two"])
def test_a_pair_id_that_is_not_two_numbers_is_an_error(name: str, tmp_path: Path) -> None:
    columns = {"url1_lang": ["ru"], "url2_lang": ["ru"], "pair_id": [name], "Overall": [1.0]}
    with pytest.raises(SourceError, match="invalid pair_id") as caught:
        sts22.select_russian_pairs(Raw("pairs", tmp_path), pl.DataFrame(columns))
    assert "record 1" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<html>", "invalid JSON"),
        ('{"title": "Без текста"}', "text is missing"),
        ('{"text": null}', "text is null"),
        ("[]", "type"),
    ],
)
def test_a_malformed_article_is_an_error_with_its_name(text: str, what: str, tmp_path: Path) -> None:
    raw = write_zip(tmp_path / "articles.zip", {"articles/12/12.json": text})
    with pytest.raises(SourceError, match=what) as caught:
        sts22.read_articles(raw, ["11", "12"])
    assert "12.json" in str(caught.value)
