"""Published rows found in the raw source: five sources that a program of the test writes, publishes in its own way and knows."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow.parquet as pq
import pytest

import embedding_datasets as ed
from builders import limits
from builders.catalogue import Definition, needed_files
from builders.errors import RecipeError, SourceError, UsageError
from builders.published import KEY, read_keys
from builders.rumteb.inappropriateness import TOPICS
from builders.rumteb.ru_sci_bench import GRNTI
from builders.shaping.benchmark_index import header_metadata
from builders.spec import AS_PUBLISHED, Raw, RawFiles, published_key
from pipelines.checking.datasets import ForeignOptions
from pipelines.identity import published
from pipelines.identity.datasets import read_side
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.raw.settings import RawSettings
from pipelines.reproduction import clean_process
from pipelines.reproduction.reproducing import reproduce, require_sound
from tests.support.first_contact import publish_golden_files
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import definition_of

WORDS = ["кот", "дом", "река", "снег", "чай", "поезд", "сад", "мост", "лодка", "хлеб", "ветер", "окно"]
RUBRICS = {"спорт": "Sport", "политика": "Politik", "наука": "Wissen", "происшествия": "Vorfall", "культура": "Kunst"}
GRADES = {"Bad": "плохо", "Neutral": "никак", "Good": "хорошо"}
Key = tuple[str, int | None, int, str]  # split, record, records, change


class Source(NamedTuple):
    """A raw source: its files, its records in order (text, and the label as the copy has it), and how the copy shows a record."""

    files: dict[str, Any]
    records: list[tuple[str, Any]]
    show: Callable[[str | None, Any], dict[str, Any]] = lambda text, label: {"text": text, "label": label}


def make_texts(rng: random.Random, count: int) -> list[str]:
    """Texts that differ, with white space at some ends and in some middles; every ninth is an earlier one again."""
    texts = list[str]()
    for number in range(count):
        words = ["  ", "\u00a0", " "][number % 3].join([*rng.choices(WORDS, k=6), f"№{number}"])
        again = texts[max(0, number - (5 if number % 2 else 14))] if number % 9 == 8 else ""
        texts.append(again or f"{' ' * (number % 4 == 1)}{words}{' ' * (number % 5 == 1)}")
    return texts


def write_georeview(texts: list[str]) -> Source:
    """Reviews with line feeds, one without a rating; the copy numbers the ratings downwards."""
    written = [text.replace("№", "\\n№") if "7" in text else text for text in texts]
    ratings = [0 if number == 4 else number // 9 % 5 + 1 for number in range(len(texts))]
    lines = [f"address=А\trating={rating}.\ttext={text}\n" for rating, text in zip(ratings, written, strict=True)]
    labels = [5 - rating if rating else None for rating in ratings]
    return Source(
        {"geo-reviews-dataset-2023.tskv": "".join(lines)},
        [(text.replace("\\n", "\n"), label) for text, label in zip(written, labels, strict=True)],
    )


def write_headline(texts: list[str]) -> Source:
    """Clusters of headlines, two in seven not of the published rubrics, some with headlines twice; labels are words."""
    clusters, records = {}, []
    while texts:
        rubric = [*RUBRICS, "экономика", "погода"][len(clusters) % 7]
        headlines = [texts.pop() for _ in range(min(len(texts), len(clusters) % 3 + 1))] * (
            1 + (len(clusters) % 5 == 0)
        )
        clusters[str(len(clusters))] = {"rubric": rubric.upper(), "headlines": headlines}
        records += [(text, RUBRICS.get(rubric)) for text in headlines]
    return Source({"ParaPhraserPlus.json": json.dumps(clusters, ensure_ascii=False)}, records)


def write_kinopoisk(texts: list[str]) -> Source:
    """Reviews that end in a rating, which the copy does not have; its names and numbers of labels are others."""
    grades = [[*GRADES][number // 9 % 3] for number in range(len(texts))]
    lines = [
        json.dumps({"review_id": number % 50, "grade3": grade, "content": f"{text}\n\n{number % 10} из 10"})
        for number, (text, grade) in enumerate(zip(texts, grades, strict=True))
    ]
    return Source(
        {"kinopoisk.jsonl": "\n".join(lines)},
        [(text, GRADES[grade]) for text, grade in zip(texts, grades, strict=True)],
        lambda text, label: {"text": text, "label": sorted(GRADES.values()).index(label), "label_text": label},
    )


def write_sensitive(texts: list[str]) -> Source:
    """Messages with no topic, one or two; the copy numbers the topics downwards."""
    chosen = [{n // 9 % 18, n % 18 if n % 8 == 0 else n // 9 % 18} if n % 10 else set() for n in range(len(texts))]
    scores = [",".join("0.7" if topic in topics else "0.2" for topic in range(18)) for topics in chosen]
    lines = [f'"{text}",{score},1' for text, score in zip(texts, scores, strict=True)]
    return Source(
        {"Version3/sensitive_topics.csv": "\n".join([",".join(["text", *TOPICS, "human_labeled"]), *lines])},
        [(text, sorted(17 - topic for topic in topics)) for text, topics in zip(texts, chosen, strict=True)],
    )


def write_scibench(texts: list[str]) -> Source:
    """Papers in two tables, one without an abstract; the copy has lists of texts, and of codes, in each row."""
    codes = [[*GRNTI][number // 9 % 4] for number in range(len(texts))]
    rows = [f"{number},{code}" for number, code in enumerate(codes)]
    tables = {"train": ["id,label", *rows[:90]], "test": ["id,label", *rows[90:]]}
    papers = [{"paper_id": n, "title": "О", "abstract": None if n == 9 else text} for n, text in enumerate(texts)]
    return Source(
        {f"elibrary_grnti_ru/{split}.csv": "\n".join(lines) for split, lines in tables.items()}
        | {"data/ru-00000-of-00001.parquet": pl.DataFrame(papers[::-1])},
        [(f"О\n{text}" if n != 9 else "", code) for n, (text, code) in enumerate(zip(texts, codes, strict=True))],
        lambda text, label: {"sentences": text, "labels": int(label)},
    )


WRITERS = {
    "georeview-classification": write_georeview,
    "headline-classification": write_headline,
    "kinopoisk-sentiment-classification": write_kinopoisk,
    "sensitive-topics-classification": write_sensitive,
    "ru-scibench-grnti-clustering-p2p": write_scibench,
}


def publish(
    source: Source, definition: Definition, folder: Path, rng: random.Random, *, spoil: bool = False
) -> list[Key]:
    """Write a copy: rows drawn, shuffled, trimmed and repeated; spoil: five of each split are edited. Returns its true keys."""
    records, keys = source.records, list[Key]()
    usable = [number for number, (text, label) in enumerate(records) if text and label is not None]
    often = {text for number, (text, _) in enumerate(records) if text in {other for other, _ in records[:number]}}
    order = sorted(
        rng.sample(usable, len(usable)), key=lambda number: records[number][0] in often
    )  # edits: of other texts
    folder.mkdir()
    for position, split in enumerate(definition.dataset.task.splits):
        drawn, rows = order[position :: len(definition.dataset.task.splits)], []
        for place, number in enumerate([*drawn, *drawn[-2:]]):
            text, label = records[number]
            same = [other for other, record in enumerate(records) if record == (text, label)]
            forms = {"exact": text, "trimmed": text.strip(), "spaced": " ".join(text.split())}
            shown: str | None = forms[rng.choice(["exact", *forms])]
            key: Key = split, same[0], len(same), next(name for name, form in forms.items() if form == shown)
            if spoil and place < 5:
                shown, label, key = (
                    (f"{text} и ещё слово", label, (split, None, 0, "absent")),
                    ("Этого текста в источнике нет.", label, (split, None, 0, "absent")),
                    (f"«{text.upper()}»!", label, (split, number, 1, "alike")),
                    (
                        text,
                        next(other for _, other in records if other not in (label, None, [])),
                        (split, number, 1, "relabelled"),
                    ),
                    (None, label, (split, None, 0, "absent")),
                )[place]
            keys.append(key)
            rows.append(source.show(shown, label))
        if "sentences" in rows[0]:
            rows = [
                {name: [row[name] for row in rows[at : at + 7]] for name in rows[0]} for at in range(0, len(rows), 7)
            ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return keys


# A source below tmp_path/raw, and its dataset without the digests of the real files.
@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Source, Definition]:
    definition = definition_of(request.param)
    source = WRITERS[request.param](make_texts(random.Random(7), 170))
    for name, content in source.files.items():
        path = tmp_path / "raw" / definition.source.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8") if isinstance(content, str) else content.write_parquet(path)
    files = {
        key: replace(file, sha256=None, git_blob=None, bytes=None) for key, file in definition.source.files.items()
    }
    return source, replace(definition, source=replace(definition.source, files=files))


# What decide does, without the command line: where the rows come from, and the file of keys that it wrote.
def decide(definition: Definition, folder: Path, copy: Path) -> tuple[published.Provenance, Path]:
    dataset, files = definition.dataset, definition.source.files
    keys = needed_files(definition, dataset.task.splits, AS_PUBLISHED)
    raw = {key: Raw(key, folder / "raw" / definition.source.name / files[key].name) for key in keys}
    target = raw.pop(published_key(dataset.name)).path
    (folder / "scratch" / copy.name).mkdir(parents=True)
    side = read_side(str(copy), ForeignOptions(), folder)
    found = published.find_records(
        dataset, RawFiles(dataset.task.splits, raw, folder / "scratch" / copy.name), side, {}
    )
    published.write_keys(target, dataset.name, found, side)
    return found, target


def build(definition: Definition, folder: Path, **options: Any) -> BuildResult:
    raw = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    return make(
        definition, AS_PUBLISHED, BuildSettings(folder / "outputs", raw, ledger=folder / "ledger.json", **options)
    )


def test_keys_name_the_records_that_were_drawn_and_the_build_equals_the_copy(
    written: tuple[Source, Definition], tmp_path: Path
) -> None:
    source, definition = written
    expected = publish(source, definition, tmp_path / "copy", random.Random(1))
    found, keys = decide(definition, tmp_path, tmp_path / "copy")
    assert found.keys.rows() == expected
    assert max(expected, key=lambda key: key[2])[2] > 1, "records whose text and label others have"
    release = build(definition, tmp_path)
    difference = ed.diff(tmp_path / "copy", release.release_dir, allow=["columns", "labels"])
    assert (difference.same, "order" in difference.differences) == (True, False), difference
    before = keys.rename(tmp_path / "before").read_bytes()
    shutil.copytree(tmp_path / "copy", tmp_path / "elsewhere")
    decide(definition, tmp_path, tmp_path / "elsewhere")
    assert keys.read_bytes() == before, "the bytes depend on the rows alone, not on a path"
    part = build(definition, tmp_path, splits=("test",), force=True).manifest
    assert (part.partial, [table.split for table in part.tables]) == (len(definition.dataset.task.splits) > 1, ["test"])
    assert build(definition, tmp_path, limit=60, force=True).manifest.sample


def test_rows_that_were_edited_are_counted_and_make_a_part_at_most(
    written: tuple[Source, Definition], tmp_path: Path
) -> None:
    source, definition = written
    expected = publish(source, definition, tmp_path / "copy", random.Random(2), spoil=True)
    edited, (found, _) = 5 * len(definition.dataset.task.splits), decide(definition, tmp_path, tmp_path / "copy")
    assert (found.keys.rows(), "Этого текста в источнике нет." in found.absent) == (expected, True)
    with pytest.raises(RecipeError, match=r"(?s)published rows cannot be made.*3 of test: no raw record has the text"):
        build(definition, tmp_path)
    release = build(definition, tmp_path, partial=True)
    assert (release.manifest.partial, sum(drop.count for drop in release.manifest.dropped)) == (True, edited)
    assert sum(release.manifest.rows.values()) == len(expected) - edited
    assert f"**in part**: {edited} published rows cannot be made" in (release.release_dir / "README.md").read_text()
    publish(source, definition, tmp_path / "other", random.Random(3))
    with pytest.raises(SourceError, match="other keys are there already"):
        decide(definition, tmp_path, tmp_path / "other")


NAME = "ru-reviews-classification"
GOLDEN_KEYS = ROOT / "tests" / "golden" / "ru_reviews" / "raw" / "published" / f"{NAME}.parquet"
DAMAGES: list[tuple[str, dict[str, Any], Callable[[pl.DataFrame], pl.DataFrame]]] = [
    ("of another, 12 rows", {"dataset": "another"}, lambda keys: keys),
    ("13 rows said and 12 there", {"rows": 13}, lambda keys: keys),
    ("an invalid header", {"content": []}, lambda keys: keys),
    ("('all', 3, 1, 'exact')", {}, lambda keys: keys.with_columns(split=pl.lit("all"))),
    ("('train', 3, 1, None)", {}, lambda keys: keys.with_columns(change=None)),
    ("('train', None, 1, 'exact')", {}, lambda keys: keys.with_columns(record=None)),
    ('unable to find column "record"', {}, lambda keys: keys.drop("record")),
    ("other rows than those that were compared", {}, lambda keys: keys.with_columns(pl.col("record") + 10_000)),
    ("other rows than those that", {}, lambda keys: keys.with_columns(record=pl.col("record").reverse())),
]


@pytest.mark.parametrize(("words", "header", "damage"), DAMAGES)
def test_damaged_keys_are_an_error_in_words(
    words: str, header: dict[str, Any], damage: Callable[[pl.DataFrame], pl.DataFrame], tmp_path: Path
) -> None:
    golden, raw = pq.read_table(GOLDEN_KEYS), tmp_path / "golden" / "ru_reviews" / "raw"
    shutil.copytree(GOLDEN_KEYS.parents[1], raw)
    changed = json.dumps(json.loads(golden.schema.metadata[KEY]) | header).encode()
    table = damage(pl.DataFrame(golden)).to_arrow().replace_schema_metadata(header_metadata(KEY, changed))
    pq.write_table(table, raw / "published" / GOLDEN_KEYS.name)
    with pytest.raises(SourceError, match="not the keys of published rows, or damaged") as caught:
        build(definition_of(NAME), tmp_path, sample=True, golden=tmp_path / "golden")
    assert words in str(caught.value)


def test_a_file_that_has_no_keys_or_too_many_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_KEYS", 11)
    for content, words in ((b"<html>", "found"), (GOLDEN_KEYS.read_bytes(), "12 rows said and 12 there")):
        (tmp_path / "keys").write_bytes(content)
        with pytest.raises(SourceError, match=words):
            read_keys(Raw("keys", tmp_path / "keys"), definition_of(NAME).dataset)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("geo_reviews --published org/copy", "'geo_reviews' means 2 datasets"),
        ("cedr --published org/copy", "cedr-classification has no version 0.1.0"),
        (f"{NAME} --published org/copy --offline", "has to be downloaded, and --offline is set"),
        (f"{NAME} --published org/copy --device cuda", "--device is for models, not for --published"),
        (f"{NAME} --map label=grade", "--map is for --published"),
        ("stsb_ru --device cuda", "--device is for mined negatives"),
    ],
)
def test_names_and_options_that_do_not_fit_are_a_usage_error(arguments: str, words: str, tmp_path: Path) -> None:
    process = run("decide", *arguments.split(), "--raw-dir", str(tmp_path))
    assert (process.returncode, words in process.stderr) == (2, True), process.stderr


ROWS = pl.DataFrame({"text": ["Платье"], "label": [0]})


@pytest.mark.parametrize(
    ("copy", "error", "words"),
    [
        ({"test": ROWS}, UsageError, "found: default/test"),
        ({"train": ROWS, "validation": ROWS, "test": ROWS.drop("label")}, UsageError, "--map label=COLUMN"),
        ({"train": ROWS, "validation": ROWS.clear(), "test": ROWS.clear()}, SourceError, "copy: validation, test"),
    ],
    ids=["splits", "label", "rows"],
)
def test_a_copy_that_does_not_fit_is_an_error_in_words(
    copy: dict[str, pl.DataFrame], error: type[Exception], words: str, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    for split, rows in copy.items():
        rows.write_parquet(tmp_path / "copy" / f"{split}.parquet")
    with pytest.raises(error) as caught:
        decide(definition_of(NAME), tmp_path, tmp_path / "copy")
    assert words in " ".join(str(caught.value).split())


def test_a_copy_in_a_folder_offers_the_version_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_golden_files(monkeypatch, "http://127.0.0.1:9", tmp_path)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    keys, copy = tmp_path / "raw" / "ru_reviews" / "published" / GOLDEN_KEYS.name, tmp_path / "copy"
    shutil.copytree(GOLDEN_KEYS.parents[1], keys.parents[1], ignore=lambda *_: [keys.name])
    shutil.copytree(GOLDEN_KEYS.parents[2] / NAME / AS_PUBLISHED, copy, ignore=lambda *_: ["counts.json"])
    version, output, report = f"{NAME}@{AS_PUBLISHED}", ("--output", tmp_path / "outputs"), tmp_path / "report.json"
    raw, lock = ("--raw-dir", tmp_path / "raw", "--offline"), tmp_path / "cache" / "raw.lock.json"
    decide_it, publish_it = (
        ("decide", NAME, *raw, "--published", copy),
        ("publish", "--org", "org", "--dry-run", *output),
    )
    build_it = ("build", version, *raw, *output, "--report", report, "--force")
    accept_it = ("accept", report, "--lock", lock, "--ledger", tmp_path / "accepted.json")

    # Each command must end so and say this.
    def expect(*steps: tuple[int, str, *tuple[str | Path, ...]]) -> None:
        for code, words, *arguments in steps:
            process = run(*map(str, arguments))
            assert process.returncode == code, process.stderr
            assert words in " ".join((process.stdout + process.stderr).split())

    expect((3, f"decide {NAME} --published ORG/NAME@REVISION", *build_it), (0, "train 4 1 1 0 0", *decide_it))
    assert pq.read_table(keys) == pq.read_table(GOLDEN_KEYS)
    expect(
        (0, "0 of 15 figures agree with sizes: the ruMTEB paper", *build_it),
        (0, "0.1.0 waits for decide. The published rows", "show", NAME),
        (0, f'"waiting": ["{AS_PUBLISHED}"]', "show", NAME, "--json"),
        (5, f"{version} waits for decide", *publish_it, version),
        (5, f"{version}: passed over, it waits for decide", *publish_it, NAME, "--all-versions"),
        (2, "--partial is for versions 0.1.0", "build", NAME, "--partial"),
    )
    lock.write_text("{}")
    expect(
        (0, "added: 1 to raw.lock.json, 1 to accepted.json", *accept_it),
        (0, '"waiting": []', "show", NAME, "--json"),
        (5, f"build first: embedding-datasets build {NAME}@1.0.0", *publish_it, NAME, "--all-versions"),
    )
    rows = (copy / "default.test.jsonl").read_bytes()
    (copy / "default.test.jsonl").write_bytes(rows.replace("Платье".encode(), "Халат".encode()))
    keys.unlink()
    lock.write_text("{}")
    expect(
        (1, "absent: Халат село", *decide_it),
        (1, "build the others with --partial", *build_it),
        (0, "1 test: no raw record has the text", *build_it, "--partial"),
        (0, "added: 0 to raw.lock.json, 0 to accepted.json", *accept_it),
    )
    part, settings = tmp_path / "outputs" / NAME / AS_PUBLISHED, RawSettings(raw[1], tmp_path / "again", offline=True)
    again = reproduce(part, require_sound(part), settings, build=clean_process.build)
    assert (again.verdict, again.same_recipe) == ("rows and bytes equal", True), again.problems
