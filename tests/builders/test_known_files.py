"""What others published of raw files, copied by hand: sizes, digests and commits that builders must keep."""

import re

import pytest

from builders import catalogue
from builders.raw_files import GitHub, Hub, RawFile
from pipelines.raw.settings import stored_file
from tests.support.paths import ROOT
from tests.support.releases import definition_of

SOURCES = {entry.source: catalogue.load(entry).source for entry in catalogue.entries().values()}


def file_of(source: str, name: str) -> RawFile:
    """A raw file of a source, or the archive of that name."""
    files = [each for file in SOURCES[source].files.values() for each in (file, stored_file(file))]
    return next(file for file in files if file.name.endswith(name))


@pytest.mark.parametrize(
    ("source", "name", "size", "sha256"),
    [
        ("arc", "ARC-V1-Feb2018.zip", 680_841_265, "6d2d5ab50b2ceec6ba5f79c921be77cf2de712ea25a2b3f4fff3acc101cecfa0"),
        ("winogrande", "winogrande_1.1.zip", 3_395_492, "3619ab104d8be2977b25c90ff420cb42d491707dcc75362a1e5d22bc082b7318"),
        ("cedr", "main.zip", 693_026, "d81e6d19679a903773b8776c4c0f68755d55596e6b34866fbaa9d39d2e385bd3"),
        ("ru_stackoverflow", "jsonl.zst", 670_468_664, "e3f6eda2b3df7de1d3cc4a45ce2e69bb1e439b7736cd8d81e911129bd512dab9"),
        ("hellaswag", "hellaswag_val.jsonl", 12_246_618, "0aa3b888"),
        ("hellaswag", "hellaswag_train.jsonl", 47_496_131, "dae5e692"),
        ("massive", "ru-RU.jsonl", 13_029_758, "af736786"),
        ("geo_reviews", "geo-reviews-dataset-2023.tskv", 378_730_064, "3aa1a838"),
        ("terra", "TERRa.zip", 907_346, None),
        ("stsb_ru", "stsb-ru-train.csv", 1_373_901, None),
        ("stsb_ru", "stsb-ru-dev.csv", 382_231, None),
        ("stsb_ru", "stsb-ru-test.csv", 295_513, None),
        ("esnli", "esnli_train_1.csv", 90_169_741, None),
        ("esnli", "esnli_train_2.csv", 99_406_852, None),
        ("esnli", "esnli_dev.csv", 7_501_310, None),
        ("esnli", "esnli_test.csv", 7_438_107, None),
        ("bge_m3_data", "bge-m3-data.tar.gz", 24_000_000_000, None),
        ("habr", "habr.jsonl.zst", 3_490_000_000, None),
        ("yandex_q", "full.jsonl.gz", 1_580_000_000, None),
        ("habr_qna", "questions.jsonl.zst", 499_000_000, None),
        ("ru_wanli", "train.parquet", 16_400_000, None),
        ("alpacafarm", "alpaca_human_preference.json", 7_710_000, None),
        ("query2doc", "train.jsonl", 241_000_000, None),
        ("wikiomnia", "wikiomnia_ruT5_filtered_train.json", 4_278_635_364, None),
    ],
)  # fmt: skip
def test_a_builder_knows_the_size_and_the_digest_that_are_published(
    source: str, name: str, size: int, sha256: str | None
) -> None:
    file = file_of(source, name)
    known = file.bytes or file.about or 0
    assert known == size if file.bytes else abs(known - size) < size / 100
    assert sha256 is None or (file.sha256 or "").startswith(sha256)


def test_pikabu_has_twenty_files_of_the_published_size() -> None:
    source = SOURCES["pikabu"]
    names = [file.name for file in source.files.values() if isinstance(file.location, Hub)]
    assert names == [f"{number:02}.jsonl.zst" for number in range(20)]
    assert source.published_bytes == 20_196_853_689


@pytest.mark.parametrize(
    ("source", "name", "commit"),
    [
        ("ru_wanli", "train.parquet", "6dafb666178498e72f6ffd0bc2d914234b6d6a4a"),
        ("query2doc", "train.jsonl", "a7ffea9bf9b3890c5128ee0146f599e0a41df5f7"),
        ("wikiomnia", "filtered_train.json", "e779d8701b4c72e2e587af74d85ccc4998b695ea"),
        ("ru_sci_bench", "ru-00000-of-00001.parquet", "e627fb545289359c6cdd402f681fc884c739ce70"),
    ],
)
def test_a_full_commit_that_is_known_is_pinned(source: str, name: str, commit: str) -> None:
    location = file_of(source, name).location
    assert isinstance(location, Hub)
    assert (location.revision, location.moving) == (commit, False)


def test_files_without_a_known_commit_are_declared_moving_and_no_other_is() -> None:
    moving = {(name, file) for name, source in SOURCES.items() for file in source.moving}
    assert moving == {
        ("paraphrases", "paraphrases.json"), ("instrusum", "human_eval.json"),
        ("pku_safe_rlhf", "train.parquet"), ("pku_safe_rlhf", "test.parquet"),
    }  # fmt: skip


def test_the_quick_start_is_small_pinned_and_on_github() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    named = re.search(r"embedding-datasets fetch (\S+)", text)
    assert named is not None
    files = definition_of(named[1])
    keys = catalogue.needed_files(files, files.dataset.task.splits, files.dataset.newest)
    wanted = [files.source.files[key] for key in keys]
    assert all(isinstance(file.location, GitHub) and (file.sha256 or file.git_blob) for file in wanted)
    assert sum(file.bytes or 10**9 for file in wanted) < 1_000_000


def test_the_withdrawn_source_has_a_second_address_and_says_so() -> None:
    file = file_of("geo_reviews", ".tskv")
    assert [copy.repo for copy in file.copies] == ["d0rj/geo-reviews-dataset-2023"]
    assert file.withdrawn
    assert "withdrawn" in (ROOT / "docs" / "first-contact.md").read_text("utf-8")
