"""RAR-b's five sources from real raw files, compared with what RAR-b published, to the byte where it can be.

The digests are those of the published files: github.com/gowitheflow-1998/RAR-b at 9f37bffd, folder `full` (git-lfs for queries
and corpus). The figures are those of the datasets on the Hub, as mteb measures them.
"""

from __future__ import annotations

import bz2
import json
from collections import defaultdict
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import polars as pl
import pytest

from builders.ateb import alphanli, arc, hellaswag, piqa, winogrande
from builders.shaping.choices import gold_pool, option_pool
from builders.shaping.folding import fold_case
from builders.spec import Raw, Tables
from pipelines.make import BuildResult, make
from pipelines.release import ledger, staging
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPLETE = ("piqa-retrieval", "winogrande-retrieval", "alphanli-retrieval")
CLEAN = {
    "arc-challenge-retrieval": (1170, 1133, 1172),
    "piqa-retrieval": (1802, 1838, 1838),
    "winogrande-retrieval": (1267, 474, 1267),
}  # queries, documents, judgements

QUERIES = {
    "arc": "9d1f600af26dc5163847fc5500fa71d5508304aa564e388afb67d802dee1f855",
    "piqa": "d466454b7f38d5fa212c4465150d1dfdf9daf5c88a7988723929e2bfb3202b79",
    "winogrande": "cd33f5725286701565abd74f5330ec4a2d452c3a8ccedc377fa27d16ed6cd423",
    "alphanli": "9920f28df3b7676022eb1786c8b80b5a3be6daf203cdbfd29c4ee58aeef0e42b",
}
QRELS = {
    "arc": "9275b78e9810493961904f33a53f2ec9028cb57a01f6b7007a7a3aede73c50bf",
    "piqa": "e7a0147a3764f1a0bd41d7fa99b7134d1d5f24daf18d98b3fb1b1add0f37df30",
    "winogrande": "1bfc2103878d0f146d27d88982743307dae31991a905b360c70961c1b6832472",
    "alphanli": "43dd9728b8118006b809af13f523f4a39578bb71d650d89261a40c337f70c274",
}
CORPUS = {
    "rarb-arc-challenge": (9350, "a5073039fdfa87476843762bee50d1df4f72e5f7e690ae5a9278c841b4e5a253"),
    "rarb-piqa": (35542, "ef5f4efdd64befded690edc2f97d4169dac9c78167dd5bd80faea36f8dbbaffc"),
    "rarb-winogrande": (5095, "4871ac5f34b8d482470c277110368fb97f65a7a8e7b43a11014c163e64605c53"),
    "rarb-alphanli": (241347, "d487c71e8c479e96e9b1704e4e56b93cad5de6ab25e06c361eaaddc7ab848dab"),
    "rarb-hellaswag": (199162, None),
}
# The queries of RAR-b's HellaSwag that share their relevant document, by number: they do not depend on the order of endings.
SHARED_ENDINGS = [
    (298, 1226), (488, 2385), (618, 619), (878, 1256), (2228, 2923), (3066, 3067), (3272, 4676), (3318, 7569), (3482, 9732),
    (3803, 5050, 5334), (3909, 7237), (3991, 9573), (4044, 6481), (4091, 6241), (4119, 6071), (4129, 5729), (4545, 5301),
    (4908, 5423), (5021, 5503), (5487, 6115), (5588, 8595), (5677, 6789), (5928, 7588), (6230, 9464), (6410, 8460),
    (7273, 7529), (7325, 9822), (8195, 8896), (8323, 8516),
]  # fmt: skip


def questions(source: str, folder: Path) -> tuple[str, pl.DataFrame]:
    """The prefix of a source's ids, and the questions of its evaluated split."""

    def raw(name: str) -> Raw:
        return Raw(f"{source}/{name}", folder / source / name)

    if source == "arc":
        return arc.PREFIX, arc.questions(raw("ARC-Challenge-Test.jsonl"))
    if source == "piqa":
        return piqa.PREFIX, piqa.questions(raw("valid.jsonl"), raw("valid-labels.lst"))
    if source == "winogrande":
        return winogrande.PREFIX, winogrande.questions(raw("dev.jsonl"))
    return alphanli.PREFIX, alphanli.questions(raw("dev.jsonl"), raw("dev-labels.lst"))


def frame(tables: Tables, config: str) -> pl.DataFrame:
    return tables.frames[config]["test"].lazy().collect()


def lengths(texts: pl.Series) -> tuple[int, int, int]:
    counts = [len(text) for text in texts]
    return min(counts), round(sum(counts) / len(counts)), max(counts)


def published_lines(rows: pl.DataFrame, *columns: str) -> str:
    """A table as RAR-b writes it: JSON lines, pure ASCII, `_id`, the columns, and an empty `metadata`."""
    lines = (
        json.dumps({"_id": row["id"], **{name: row[name] for name in columns}, "metadata": {}})
        for row in rows.iter_rows(named=True)
    )
    return "".join(line + "\n" for line in lines)


@pytest.mark.parametrize("source", QUERIES)
def test_queries_and_judgements_are_byte_for_byte_the_published_files(source: str, real_sources: Path) -> None:
    prefix, rows = questions(source, real_sources)
    # Documents of other splits change neither: tests/test_choices.py.
    tables = option_pool(rows, [], prefix=prefix, split="test")
    queries = published_lines(frame(tables, "queries"), "text")
    assert sha256(queries.encode()).hexdigest() == QUERIES[source]
    qrels = frame(tables, "qrels").write_csv(separator="\t")
    assert sha256(qrels.encode()).hexdigest() == QRELS[source]


@pytest.mark.parametrize(
    ("source", "queries", "query_lengths", "relevant", "options"),
    [
        ("arc", (1172, 1170), (13, 132, 831), 1143, 4408),
        ("piqa", (1838, 1803), (3, 36, 116), 1838, 3673),
        ("winogrande", (1267, 1267), (79, 112, 185), 478, 650),
        ("alphanli", (1532, 1532), (51, 103, 153), 1532, 3064),
    ],
)
def test_queries_have_the_published_figures_and_the_pool_begins_with_the_options_in_order(
    source: str,
    queries: tuple[int, int],
    query_lengths: tuple[int, int, int],
    relevant: int,
    options: int,
    real_sources: Path,
) -> None:
    prefix, rows = questions(source, real_sources)
    assert (rows.height, rows["query"].n_unique()) == queries
    assert lengths(rows["query"]) == query_lengths
    assert frame(gold_pool(rows, prefix=prefix, split="test"), "corpus").height == relevant
    corpus = frame(option_pool(rows, [], prefix=prefix, split="test"), "corpus")
    assert corpus["text"].to_list() == list(dict.fromkeys(option for row in rows["options"] for option in row))
    assert corpus.height == options


@pytest.fixture(scope="session")
def real(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., BuildResult]:
    """The release of a dataset from real raw files, of version 1.0.0 or another, built once a session."""
    settings = sample_settings(tmp_path_factory.mktemp("real-rarb"))
    settings = replace(settings, sample=False, places=replace(settings.places, raw_dir=real_sources))
    made = dict[tuple[str, str], BuildResult]()

    def outcome(name: str, version: str = "1.0.0") -> BuildResult:
        if (name, version) not in made:
            made[name, version] = make(definition_of(name), version, settings, lambda _: None)
        return made[name, version]

    return outcome


@pytest.mark.parametrize(
    ("name", "version"), [*((name, "1.0.0") for name in COMPLETE), *((name, "2.0.0") for name in CLEAN)]
)
def test_the_gold_pools_are_those_of_the_ledger(name: str, version: str, real: Callable[..., BuildResult]) -> None:
    manifest = real(name, version).manifest
    assert all(file["verified"] for file in manifest["raw"])
    entry = ledger.find_entry(name, version)
    assert entry is not None
    assert manifest["content_sha256"] == entry["content_sha256"]


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_gold_pool_has_each_text_once_and_every_judgement(name: str, real: Callable[..., BuildResult]) -> None:
    outcome = real(name, "2.0.0")
    assert not {"duplicate_text", "unjudged_twin"} & {finding["kind"] for finding in outcome.manifest["findings"]}
    queries, corpus, qrels = (
        staging.frames_of(outcome.place, outcome.manifest)[config]["test"].collect()
        for config in ("queries", "corpus", "qrels")
    )
    assert (queries.height, corpus.height, qrels.height) == CLEAN[name]
    assert all(texts.select(fold_case(pl.col("text"))).is_unique().all() for texts in (queries, corpus))


def test_blanks_at_the_end_of_real_piqa_solutions_are_kept(real: Callable[[str], BuildResult]) -> None:
    outcome = real("piqa-retrieval")
    texts = staging.frames_of(outcome.place, outcome.manifest)["corpus"]["test"].collect()["text"]
    assert sum(text != text.rstrip() for text in texts) == 113


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_is_the_published_one(name: str, real_sources: Path, real: Callable[[str], BuildResult]) -> None:
    """Skipped without the train files. Where WinoGrande's are, it tells whether its choice of splits is RAR-b's."""
    source = definition_of(name).source
    absent = [file.name for file in source.files.values() if not (real_sources / source.name / file.name).is_file()]
    if absent:
        pytest.skip(f"not among the real raw files: {source.name}/{', '.join(absent)}")
    outcome = real(name)
    corpus = staging.frames_of(outcome.place, outcome.manifest)["corpus"]["test"].collect()
    documents, digest = CORPUS[name]
    assert corpus.height == documents
    if digest is not None:
        assert sha256(published_lines(corpus, "title", "text").encode()).hexdigest() == digest


@pytest.fixture(scope="session")
def hellaswag_copy(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The questions of a copy of HellaSwag's validation set whose texts are lossy: six lines an item, made JSON lines again."""
    packed = (real_sources / "hellaswag" / "hellaswag_val_full.txt.bz2").read_bytes()
    lines = bz2.decompress(packed).decode().removesuffix("\n").split("\n")
    path = tmp_path_factory.mktemp("hellaswag") / "hellaswag_val.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, len(lines), 6):
            ctx, label, *endings = lines[start : start + 6]
            file.write(json.dumps({"ctx": ctx, "endings": endings, "label": int(label)}) + "\n")
    return hellaswag.questions(Raw("hellaswag/hellaswag_val.jsonl", path))


def test_hellaswag_shares_endings_between_the_queries_that_rarb_shares_them_between(
    hellaswag_copy: pl.DataFrame,
) -> None:
    for pool in (
        gold_pool(hellaswag_copy, prefix="hellaswag", split="test"),
        option_pool(hellaswag_copy, [], prefix="hellaswag", split="test"),
    ):
        qrels = frame(pool, "qrels")
        assert qrels["query-id"].to_list() == [f"hellaswag-q-{i}" for i in range(10042)]
        assert qrels["corpus-id"].n_unique() == 10012
        together = defaultdict[str, list[int]](list)
        for number, document in enumerate(qrels["corpus-id"]):
            together[document].append(number)
        assert [tuple(numbers) for numbers in together.values() if len(numbers) > 1] == SHARED_ENDINGS


def test_a_clean_hellaswag_has_each_text_once_and_every_ending(hellaswag_copy: pl.DataFrame) -> None:
    pool = gold_pool(hellaswag_copy, prefix="hellaswag", split="test")
    clean = gold_pool(hellaswag_copy, prefix="hellaswag", split="test", clean=True)
    assert frame(clean, "corpus").equals(frame(pool, "corpus")), "no two endings are equal but for case and punctuation"
    queries = frame(clean, "queries")
    assert (queries.height, queries["text"].n_unique()) == (10_019, 10_019), "the copy lost what tells one text apart"
    endings = hellaswag_copy.select("query", ending=pl.col("options").list.get(pl.col("gold"))).n_unique()
    assert frame(clean, "qrels").height == endings
