"""stsb_ru: which pairs are dropped, and how the file of decisions is read."""

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.rumteb import stsb_ru
from builders.rumteb.stsb_ru import decision_line, distinct_sentences, find_acceptable, head_line, read_decisions
from builders.shaping.folding import fold_text_1
from builders.spec import Raw, RawFiles
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from tests.support.recipes import frame
from tests.support.releases import definition_of
from tests.support.stsb_ru import CLASSIFIER, ROWS, build_tables, csv_files, write_decisions

DISTINCT_PAIRS = {"train": 5694, "validation": 1495, "test": 1376}


def test_the_real_files_have_the_published_rows_and_unique_pairs(real_sources: Path, tmp_path: Path) -> None:
    files = csv_files(real_sources / "stsb_ru")
    sentences = distinct_sentences(files.values())
    assert len(sentences) == len(set(sentences)) == 15_085
    files["decisions"] = write_decisions(tmp_path / "decisions.jsonl", dict.fromkeys(sentences, True))
    by_row, by_pair = (build_tables(files, tmp_path, classifier=CLASSIFIER, same=same) for same in stsb_ru.SAME)
    for split, rows in ROWS.items():
        assert by_row.observed[f"pairs read in {split}"] == rows
        assert by_row.observed[f"distinct by pair in {split}"] == DISTINCT_PAIRS[split]
        assert frame(by_pair, split).height == DISTINCT_PAIRS[split]
        pairs = frame(by_row, split)
        assert pairs.n_unique(["sentence1", "sentence2"]) == DISTINCT_PAIRS[split]
        assert pairs.n_unique(["sentence1", "sentence2", "score"]) == pairs.height
        assert pairs["score"].is_between(0, 5).all()
    assert [frame(by_row, split).height for split in ROWS] == [5708, 1498, 1376]


def test_the_cleaned_version_has_every_real_pair_once_and_shared_pairs_stay_in_test(
    real_sources: Path, tmp_path: Path
) -> None:
    files = csv_files(real_sources / "stsb_ru")
    verdicts = dict.fromkeys(distinct_sentences(files.values()), True)
    files["decisions"] = write_decisions(tmp_path / "decisions.jsonl", verdicts)
    tables = build_tables(files, tmp_path, classifier=CLASSIFIER, clean=True)
    assert {split: frame(tables, split).height for split in ROWS} == {"train": 5583, "validation": 1479, "test": 1364}
    assert [(drop.split, drop.count) for drop in tables.dropped] == [
        ("train", 26), ("train", 68), ("train", 2), ("train", 42), ("train", 1), ("train", 14), ("train", 13),
        ("validation", 8), ("validation", 7), ("validation", 2), ("validation", 4), ("test", 6), ("test", 6), ("test", 3),
    ]  # fmt: skip
    equal = [drop.count for drop in tables.dropped if drop.reason.startswith("the two texts are equal")]
    assert equal == [26, 8, 6]
    for split in ROWS:
        same = frame(tables, split).filter(fold_text_1(pl.col("sentence1")) == fold_text_1(pl.col("sentence2")))
        assert set(same["score"]) <= {5.0}
    unordered = pl.concat_list("sentence1", "sentence2").list.sort()
    everything = pl.concat(frame(tables, split) for split in ROWS).select(unordered)
    assert everything.n_unique() == everything.height
    alone = RawFiles(
        ("test",), {key: files[key] for key in definition_of("ru-stsbenchmark-sts").dataset.needs["test"]}, tmp_path
    )
    test_only = stsb_ru.sts.recipe(alone, classifier=CLASSIFIER, clean=True)
    assert frame(test_only, "test").equals(frame(tables, "test"))


def test_without_decisions_the_error_names_the_command_that_creates_them(tmp_path: Path) -> None:
    (tmp_path / "stsb_ru").mkdir()
    settings = RawSettings(raw_dir=tmp_path, cache=tmp_path / "cache", offline=True, lock=tmp_path / "lock.json")
    with pytest.raises(SourceError, match="must be fetched by hand") as caught:
        locate(stsb_ru.SOURCE, "decisions", settings)
    assert "pip install '.[acceptability]'" in str(caught.value)
    assert "embedding-datasets decide stsb_ru --raw-dir DIR" in str(caught.value)
    assert str(tmp_path / "stsb_ru" / "rucola-decisions.jsonl") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "location", "what"),
    [
        ("", "line 1", "decisions of another classifier"),
        (decision_line("Снег.", acceptable=True), "line 1", "decisions of another classifier"),
        (head_line("another@2"), "line 1", "decisions of another classifier"),
        (f'{head_line(CLASSIFIER)}\n{{"sentence": "Снег."}}', "line 2", "incomplete decision"),
        (f'{head_line(CLASSIFIER)}\n{{"acceptable": true}}', "line 2", "incomplete decision"),
        (f'{head_line(CLASSIFIER)}\n{{"sentence": "Снег.", "acceptable": 1}}', "line 2", "wrong type"),
        (
            "\n".join([head_line(CLASSIFIER), *[decision_line("Снег.", acceptable=one) for one in (True, False)]]),
            "line 3",
            "repeated sentence",
        ),
    ],
)
def test_a_malformed_file_of_decisions_is_refused_with_its_line(
    text: str, location: str, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=what) as caught:
        read_decisions(Raw("stsb_ru/decisions", path), CLASSIFIER)
    assert location in str(caught.value)


def test_a_sentence_without_a_decision_is_an_error_instead_of_a_dropped_pair(tmp_path: Path) -> None:
    raw = write_decisions(tmp_path / "decisions.jsonl", {"Снег.": True})
    with pytest.raises(SourceError, match="no decision on some sentences") as caught:
        find_acceptable(pl.Series(["Снег.", "Дождь.", "Град.", "Дождь."]), read_decisions(raw, CLASSIFIER), raw)
    assert "2 sentences without a decision, the first is 'Дождь.'" in str(caught.value)
    assert "embedding-datasets decide" in str(caught.value)
