"""Malformed records of sources of training data are errors that name the record."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from tests.support.reading import zst_frame
from tests.support.training import build_golden

Change = Callable[[Path], object]  # of a folder of raw files


def replaced(file: str, old: str, new: str) -> Change:
    """The first occurrence of a text in a file is another text."""
    return lambda raw: (raw / file).write_text((raw / file).read_text("utf-8").replace(old, new, 1), "utf-8")


def labelled(file: str, label: int | str) -> Change:
    """The first row of a Parquet file has another label."""
    first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(label)).otherwise("label")
    return lambda raw: pl.read_parquet(raw / file).with_columns(label=first).write_parquet(raw / file)


def repeated(raw: Path) -> None:
    """The first line comes again at the end."""
    lines = (raw / "train.jsonl").read_bytes()
    (raw / "train.jsonl").write_bytes(lines + lines.split(b"\n", 1)[0])


def numbered_by_text(raw: Path) -> None:
    line = b'{"question_id": "1", "title": "a", "text_markdown": "b", "score": 1, "views": 1, "answers": []}\n'
    (raw / "ru_stackoverflow.jsonl.zst").write_bytes(zst_frame(line))


DINO = "sts-dino-x1x2-postprocessed.jsonl"
LEIPZIG = "ru-paraphrase-nmt-leipzig-contrastive"
XNLI = "ru/train-00000-of-00001.parquet"
WIKIOMNIA = "dummy/wikiomnia_ruT5_filtered/wikiomnia_ruT5_filtered_train.json"


@pytest.mark.parametrize(
    ("name", "change", "where", "words"),
    [
        *(
            ("dino-sts-contrastive", replaced(DINO, '"label": 0.9', f'"label": {label}'), "line 1", "unknown label")
            for label in ("0.7", '"high"', "2", '"nan"')
        ),
        ("query2doc-contrastive", repeated, "line 15", "query_id for the second time.*100001"),
        *(
            (LEIPZIG, replaced("train.csv", ",0.91\n", f",{value}\n"), where, f"p_good.*{value}")
            for value, where in (("1.5", "record 2"), ("-0.1", "record 2"), ("nan", "line 3"))
        ),
        ("ru-stackoverflow-contrastive", numbered_by_text, "line 1", "question_id has the wrong type"),
        (
            "ru-wanli-contrastive",
            labelled("data/train.parquet", "entails"),
            "record 1",
            "unknown label.*entailment or neutral or contradiction",
        ),
        (
            "wikiomnia-contrastive",
            replaced(WIKIOMNIA, '"summary": null', '"summary": 13'),
            "line 13",
            "summary has the wrong type",
        ),
        *(("xnli-contrastive", labelled(XNLI, label), "record 1", "unknown label") for label in (3, -1)),
    ],
)
def test_a_malformed_record_is_an_error_that_names_it(
    name: str, change: Change, where: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match=f"(?s){words}") as caught:
        build_golden(name, tmp_path, change)
    assert str(caught.value.where).endswith(where)
