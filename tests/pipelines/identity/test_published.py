"""Published rows found in the raw source: five sources that a program of the test writes, publishes in its own way and knows."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import embedding_datasets as ed
from builders.catalogue import Definition, needed_files
from builders.errors import RecipeError, SourceError, UsageError
from builders.published import KEY, read_keys
from builders.shaping.benchmark_index import header_metadata
from builders.spec import AS_PUBLISHED, Raw, RawFiles, published_key
from pipelines.checking.datasets import ForeignOptions
from pipelines.identity import published
from pipelines.identity.datasets import read_side
from pipelines.identity.published import Provenance
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.raw.settings import RawSettings
from tests.support.first_contact import publish_golden_files
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import definition_of

Row = dict[str, Any]
Record = tuple[str, Any]  # the text that is published, and the label by its name in the copy
WORDS = "кот дом река снег чай поезд сад мост лодка хлеб ветер окно".split()
RUBRICS = {"спорт": "Sport", "политика": "Politik", "наука": "Forschung", "происшествия": "Vorfall"}
RUBRICS |= {"культура": "Kultur", "экономика": "Wirtschaft"}
GRADES = {"Bad": "плохо", "Neutral": "никак", "Good": "хорошо"}


@dataclass(frozen=True)
class Source:
    """A raw source that was written: its records in order, and how a row of the copy shows one."""

    name: str
    records: list[Record]
    show: Callable[[Record], Row]
    splits: tuple[str, ...]
    lists: bool = False


def make_texts(rng: random.Random, count: int) -> list[str]:
    """Texts that differ, with white space at some ends and in some middles; every ninth is an earlier one again."""
    texts = []
    for number in range(count):
        words = [*rng.choices(WORDS, k=6), f"№{number}"]
        glue = ["  ", "\u00a0", " "][number % 3]
        texts.append(f"{' ' * (number % 4 == 1)}{glue.join(words)}{' ' * (number % 5 == 1)}")
        if number % 9 == 8:
            texts[-1] = texts[number - (5 if number % 2 else 14)] if number > 14 else texts[0]
    return texts


def write_georeview(folder: Path, rng: random.Random) -> Source:
    """Reviews with line feeds, some without a rating; the copy numbers the ratings downwards."""
    records, lines = [], []
    for number, text in enumerate(make_texts(rng, 90)):
        written = text.replace("№", "\\n№") if "7" in text else text
        rating = number // 9 % 5 + 1
        lines.append(f"address=А\trating={'0' if number == 4 else rating}.\ttext={written}\n")
        records.append((written.replace("\\n", "\n"), None if number == 4 else 5 - rating))
    (folder / "geo-reviews-dataset-2023.tskv").write_text("".join(lines), "utf-8")
    return Source(
        "georeview-classification", records, lambda r: {"text": r[0], "label": r[1]}, ("train", "validation", "test")
    )


def write_headlines(folder: Path, rng: random.Random) -> Source:
    """Clusters of one to three headlines, some of another rubric; the copy has words for labels."""
    texts, clusters, records = make_texts(rng, 120), {}, list[Record]()
    while texts:
        rubric = [*RUBRICS, "погода"][len(clusters) % 7]
        headlines = [texts.pop() for _ in range(min(len(texts), len(clusters) % 3 + 1))]
        headlines += headlines[:1] if len(clusters) % 5 == 0 else []
        clusters[str(len(clusters))] = {"rubric": rubric.upper(), "headlines": headlines}
        records += [(text, RUBRICS.get(rubric)) for text in headlines]
    (folder / "ParaPhraserPlus.json").write_text(json.dumps(clusters, ensure_ascii=False), "utf-8")
    return Source(
        "headline-classification", records, lambda r: {"text": r[0], "label": r[1]}, ("train", "validation", "test")
    )


def write_kinopoisk(folder: Path, rng: random.Random) -> Source:
    """Reviews that end in a rating, which the copy does not have; its names of labels are others."""
    records, lines = [], []
    for number, text in enumerate(make_texts(rng, 60)):
        grade = [*GRADES][number // 9 % 3]
        review = {"review_id": number % 50, "grade3": grade, "content": f"{text}\n\n{number % 10} из 10"}
        lines.append(json.dumps(review, ensure_ascii=False) + "\n")
        records.append((text, GRADES[grade]))
    (folder / "kinopoisk.jsonl").write_text("".join(lines), "utf-8")
    name = "kinopoisk-sentiment-classification"
    return Source(
        name,
        records,
        lambda r: {"text": r[0], "label": sorted(GRADES.values()).index(r[1]), "label_text": r[1]},
        ("train", "validation", "test"),
    )


def write_topics(folder: Path, rng: random.Random) -> Source:
    """Messages with no topic, one or two; the copy numbers the topics downwards."""
    from builders.rumteb.inappropriateness import TOPICS

    lines, records = [",".join(["text", *TOPICS, "human_labeled"])], []
    for number, text in enumerate(make_texts(rng, 170)):
        chosen = set(rng.sample(range(18), number % 8 == 0)) | ({number // 9 % 18} if number % 10 else set())
        scores = ["0.7" if topic in chosen else "0.2" for topic in range(18)]
        lines.append(",".join([f'"{text}"', *scores, str(number % 2)]))
        records.append((text, sorted(17 - topic for topic in chosen)))
    (folder / "Version3").mkdir()
    (folder / "Version3" / "sensitive_topics.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return Source(
        "sensitive-topics-classification", records, lambda r: {"text": r[0], "label": r[1]}, ("train", "test")
    )


def write_papers(folder: Path, rng: random.Random) -> Source:
    """Papers in two tables, one without an abstract; the copy has lists of texts, and of codes, in each row."""
    from builders.rumteb.ru_sci_bench import GRNTI

    texts, records, papers = make_texts(rng, 80), list[Record](), list[Row]()
    for split, numbers in (("train", range(50)), ("test", range(50, 80))):
        (folder / "elibrary_grnti_ru").mkdir(exist_ok=True)
        codes = {number: [*GRNTI][number // 9 % 4] for number in numbers}
        lines = ["id,label", *(f"{number},{code}" for number, code in codes.items())]
        (folder / "elibrary_grnti_ru" / f"{split}.csv").write_text("\n".join(lines) + "\n")
        records += [(f"Заглавие\n{texts[number]}" if number != 9 else "", code) for number, code in codes.items()]
    papers = [
        {"paper_id": n, "title": "Заглавие", "abstract": None if n == 9 else text} for n, text in enumerate(texts)
    ]
    (folder / "data").mkdir()
    pl.DataFrame(rng.sample(papers, 80)).write_parquet(folder / "data" / "ru-00000-of-00001.parquet")
    name = "ru-scibench-grnti-clustering-p2p"
    return Source(name, records, lambda r: {"sentences": r[0], "labels": int(r[1])}, ("test",), lists=True)


WRITERS = [write_georeview, write_headlines, write_kinopoisk, write_topics, write_papers]
Key = tuple[str, int | None, int, str]  # split, record, records, change


def publish(source: Source, folder: Path, rng: random.Random, *, spoil: bool = False) -> list[Key]:
    """Write a copy: rows drawn, shuffled, trimmed and repeated; spoil: four of each split are edited. Returns its true keys."""
    records, keys = source.records, list[Key]()
    usable = [number for number, (text, label) in enumerate(records) if text and label is not None]
    rng.shuffle(usable)
    usable.sort(
        key=lambda number: sum(text == records[number][0] for text, _ in records) > 1
    )  # what is edited occurs once
    folder.mkdir()
    for position, split in enumerate(source.splits):
        drawn = usable[position :: len(source.splits)]
        rows = []
        for place, number in enumerate([*drawn, *drawn[-2:]]):
            text, label = records[number]
            same = [other for other, record in enumerate(records) if record == (text, label)]
            forms = {"exact": text, "trimmed": text.strip(), "spaced": " ".join(text.split())}
            shown = forms[rng.choice(["exact", *forms])]
            key: Key = split, same[0], len(same), next(name for name, form in forms.items() if form == shown)
            if spoil and place < 4:
                other = next(other for _, other in records if other not in (label, None, []))
                shown, label, key = (
                    (f"{text} и ещё слово", label, (split, None, 0, "absent")),
                    ("Этого текста в источнике нет.", label, (split, None, 0, "absent")),
                    (f"«{text.upper()}»!", label, (split, number, 1, "alike")),
                    (text, other, (split, number, 1, "relabelled")),
                )[place]
            keys.append(key)
            rows.append(source.show((shown, label)))
        if source.lists:
            rows = [
                {name: [row[name] for row in rows[at : at + 7]] for name in rows[0]} for at in range(0, len(rows), 7)
            ]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text("".join(lines), "utf-8")
    return keys


@pytest.fixture(params=WRITERS, ids=lambda writer: writer.__name__.removeprefix("write_"))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Source, Definition]:
    """A source below tmp_path/raw, and its dataset without the digests of the real files."""
    name = {"write_georeview": "geo_reviews", "write_headlines": "headlines", "write_kinopoisk": "kinopoisk"}.get(
        request.param.__name__, "inappropriateness" if request.param is write_topics else "ru_sci_bench"
    )
    folder = tmp_path / "raw" / name
    folder.mkdir(parents=True)
    written = request.param(folder, random.Random(7))
    definition = definition_of(written.name)
    files = {
        key: replace(file, sha256=None, git_blob=None, bytes=None) for key, file in definition.source.files.items()
    }
    return written, replace(definition, source=replace(definition.source, files=files))


def decide(definition: Definition, folder: Path, copy: Path) -> Provenance:
    """What decide does, without the command line; writes the file of keys."""
    dataset, raw = definition.dataset, folder / "raw" / definition.source.name
    side, key = read_side(str(copy), ForeignOptions(), folder), published_key(dataset.name)
    names = {
        name: definition.source.files[name].name for name in needed_files(definition, dataset.task.splits, AS_PUBLISHED)
    }
    (folder / "scratch" / copy.name).mkdir(parents=True)
    files = RawFiles(
        dataset.task.splits,
        {name: Raw(name, raw / file) for name, file in names.items() if name != key},
        folder / "scratch" / copy.name,
    )
    found = published.find_records(dataset, files, side, {})
    published.write_keys(raw / names[key], dataset.name, found, side)
    return found


def build(definition: Definition, folder: Path, **options: Any) -> BuildResult:
    raw = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", raw, ledger=folder / "ledger.json", **options)
    return make(definition, AS_PUBLISHED, settings)


def test_keys_name_the_records_that_were_drawn_and_the_build_equals_the_copy(
    source: tuple[Source, Definition], tmp_path: Path
) -> None:
    written, definition = source
    expected = publish(written, tmp_path / "copy", random.Random(1))
    found = decide(definition, tmp_path, tmp_path / "copy")
    assert found.keys.rows() == expected
    assert {change for *_, change in expected} == {"exact", "trimmed", "spaced"}
    assert max(records for _, _, records, _ in expected) > 1
    assert published.count_not_made(found.keys) == 0
    release = build(definition, tmp_path)
    assert release.manifest.dropped == ()
    difference = ed.diff(tmp_path / "copy", release.release_dir, allow=["columns", "labels"])
    assert difference.same, difference
    assert "order" not in difference.differences
    keys = tmp_path / "raw" / definition.source.name / definition.source.files[published_key(written.name)].name
    before = keys.read_bytes()
    shutil.copytree(tmp_path / "copy", tmp_path / "elsewhere")
    keys.unlink()
    decide(definition, tmp_path, tmp_path / "elsewhere")
    assert keys.read_bytes() == before, "the bytes depend on the rows alone, not on a path"
    part = build(definition, tmp_path, splits=("test",), force=True).manifest
    assert (part.partial, [table.split for table in part.tables]) == (len(written.splits) > 1, ["test"])


def test_rows_that_were_edited_are_counted_and_make_a_part_at_most(
    source: tuple[Source, Definition], tmp_path: Path
) -> None:
    written, definition = source
    expected = publish(written, tmp_path / "copy", random.Random(2), spoil=True)
    found = decide(definition, tmp_path, tmp_path / "copy")
    assert found.keys.rows() == expected
    assert "Этого текста в источнике нет." in found.absent
    assert published.count_not_made(found.keys) == 4 * len(written.splits)
    with pytest.raises(RecipeError, match="published rows cannot be made") as caught:
        build(definition, tmp_path)
    assert "2 of test: no raw record has the text" in str(caught.value)
    assert caught.value.exit_code == 1
    release = build(definition, tmp_path, partial=True).manifest
    assert release.partial
    assert sum(drop.count for drop in release.dropped) == 4 * len(written.splits)
    assert sum(release.rows.values()) == len(expected) - 4 * len(written.splits)
    publish(written, tmp_path / "other", random.Random(3))
    with pytest.raises(SourceError, match="other keys are there already"):
        decide(definition, tmp_path, tmp_path / "other")
