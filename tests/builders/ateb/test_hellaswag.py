"""HellaSwag: labels are indices of endings, and a copy of the validation set has the published structure."""

import bz2
import json
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from builders.ateb import hellaswag
from builders.errors import SourceError
from builders.shaping.choices import build_gold_pool, build_option_pool
from builders.spec import Raw
from tests.support.reading import write_raw
from tests.support.recipes import frame

# The queries of RAR-b's HellaSwag that share their relevant document, by number; the order of endings does not matter.
SHARED_ENDINGS = [
    (298, 1226), (488, 2385), (618, 619), (878, 1256), (2228, 2923), (3066, 3067), (3272, 4676), (3318, 7569), (3482, 9732),
    (3803, 5050, 5334), (3909, 7237), (3991, 9573), (4044, 6481), (4091, 6241), (4119, 6071), (4129, 5729), (4545, 5301),
    (4908, 5423), (5021, 5503), (5487, 6115), (5588, 8595), (5677, 6789), (5928, 7588), (6230, 9464), (6410, 8460),
    (7273, 7529), (7325, 9822), (8195, 8896), (8323, 8516),
]  # fmt: skip
ITEM: dict[str, object] = {"ctx": "A dog. it", "endings": ["runs.", "sits.", "flies.", "reads."], "label": 3}


@pytest.mark.parametrize(
    "change", [{"label": 4}, {"label": -1}, {"endings": ["runs.", "sits.", "flies."]}, {"endings": [], "label": 0}]
)
def test_a_label_that_is_not_the_index_of_an_ending_is_an_error_that_names_its_line(
    change: dict[str, object], tmp_path: Path
) -> None:
    lines = json.dumps(ITEM) + "\n" + json.dumps(ITEM | change) + "\n"
    with pytest.raises(SourceError, match=r"source/val\.jsonl, line 2") as caught:
        hellaswag.read_questions(write_raw(tmp_path, lines, "source/val.jsonl"))
    assert caught.value.expected == "four endings and a label from 0 to 3"


@pytest.fixture(scope="session")
def real_questions(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The questions of a lossy copy of HellaSwag's validation set: six lines per item, converted to JSON lines."""
    compressed = (real_sources / "hellaswag" / "hellaswag_val_full.txt.bz2").read_bytes()
    lines = bz2.decompress(compressed).decode().removesuffix("\n").split("\n")
    path = tmp_path_factory.mktemp("hellaswag") / "hellaswag_val.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, len(lines), 6):
            ctx, label, *endings = lines[start : start + 6]
            file.write(json.dumps({"ctx": ctx, "endings": endings, "label": int(label)}) + "\n")
    return hellaswag.read_questions(Raw("hellaswag/hellaswag_val.jsonl", path))


def test_the_same_queries_share_endings_as_in_rarb(real_questions: pl.DataFrame) -> None:
    for pool in (
        build_gold_pool(real_questions, prefix="hellaswag", split="test"),
        build_option_pool(real_questions, [], prefix="hellaswag", split="test"),
    ):
        qrels = frame(pool, config="qrels")
        assert qrels["query-id"].to_list() == [f"hellaswag-q-{i}" for i in range(10042)]
        assert qrels["corpus-id"].n_unique() == 10012
        queries = defaultdict[str, list[int]](list)
        for number, document in enumerate(qrels["corpus-id"]):
            queries[document].append(number)
        assert [tuple(numbers) for numbers in queries.values() if len(numbers) > 1] == SHARED_ENDINGS


def test_a_cleaned_version_has_no_duplicates_and_keeps_every_ending(real_questions: pl.DataFrame) -> None:
    pool = build_gold_pool(real_questions, prefix="hellaswag", split="test")
    clean = build_gold_pool(real_questions, prefix="hellaswag", split="test", clean=True)
    assert frame(clean, config="corpus").equals(frame(pool, config="corpus")), (
        "no two endings differ only in case and punctuation"
    )
    queries = frame(clean, config="queries")
    # Fewer than upstream: the copy is lossy, which makes some texts equal.
    assert (queries.height, queries["text"].n_unique()) == (10_019, 10_019)
    endings = real_questions.select("query", ending=pl.col("options").list.get(pl.col("gold"))).n_unique()
    assert frame(clean, config="qrels").height == endings
