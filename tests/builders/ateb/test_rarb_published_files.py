"""RAR-b's sources from real raw files match the files that RAR-b published, byte for byte where possible.

The digests are those of github.com/gowitheflow-1998/RAR-b at 9f37bffd, folder `full` (queries and corpus are in git-lfs). The
figures are those of the datasets on the Hub, as mteb measures them.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from builders.ateb import alphanli, arc, piqa, winogrande
from builders.shaping.choices import build_option_pool
from builders.shaping.folding import fold_case
from builders.spec import Raw
from cards.kinds import FOLDED_DETAIL
from pipelines.make import BuildResult
from pipelines.release import ledger
from tests.support.real_releases import read_table
from tests.support.recipes import frame
from tests.support.releases import definition_of

COMPLETE = ("piqa-retrieval", "winogrande-retrieval", "alphanli-retrieval")
# The queries, documents and judgements of cleaned versions.
CLEAN = {
    ("arc-challenge-retrieval", "2.0.0"): (1170, 1133, 1172),
    ("arc-challenge-retrieval", "3.0.0"): (967, 1133, 969),
    ("arc-challenge-retrieval", "4.0.0"): (967, 1133, 969),
    ("piqa-retrieval", "2.0.0"): (1802, 1838, 1838),
    ("piqa-retrieval", "3.0.0"): (1801, 1838, 1838),
    ("winogrande-retrieval", "2.0.0"): (1267, 474, 1267),
    ("winogrande-retrieval", "3.0.0"): (1267, 474, 1267),
}
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
# The number of documents and the digest of the published corpus.
CORPUS = {
    "rarb-arc-challenge": (9350, "a5073039fdfa87476843762bee50d1df4f72e5f7e690ae5a9278c841b4e5a253"),
    "rarb-piqa": (35542, "ef5f4efdd64befded690edc2f97d4169dac9c78167dd5bd80faea36f8dbbaffc"),
    "rarb-winogrande": (5095, "4871ac5f34b8d482470c277110368fb97f65a7a8e7b43a11014c163e64605c53"),
    "rarb-alphanli": (241347, "d487c71e8c479e96e9b1704e4e56b93cad5de6ab25e06c361eaaddc7ab848dab"),
    "rarb-hellaswag": (199162, None),
}


def read_questions(source: str, folder: Path) -> tuple[str, pl.DataFrame]:
    """The prefix of a source's ids, and the questions of its evaluated split."""

    def raw(name: str) -> Raw:
        return Raw(f"{source}/{name}", folder / source / name)

    if source == "arc":
        return arc.PREFIX, arc.read_questions(raw("ARC-Challenge-Test.jsonl"))
    if source == "piqa":
        return piqa.PREFIX, piqa.read_questions(raw("valid.jsonl"), raw("valid-labels.lst"))
    if source == "winogrande":
        return winogrande.PREFIX, winogrande.read_questions(raw("dev.jsonl"))
    return alphanli.PREFIX, alphanli.read_questions(raw("dev.jsonl"), raw("dev-labels.lst"))


def format_lines(rows: pl.DataFrame, *columns: str) -> str:
    """A table as RAR-b writes it: JSON lines in ASCII, with `_id`, the columns, and an empty `metadata`."""
    lines = (
        json.dumps({"_id": row["id"], **{name: row[name] for name in columns}, "metadata": {}})
        for row in rows.iter_rows(named=True)
    )
    return "".join(line + "\n" for line in lines)


@pytest.mark.parametrize("source", QUERIES)
def test_queries_and_judgements_equal_the_published_files(source: str, real_sources: Path) -> None:
    prefix, questions = read_questions(source, real_sources)
    # Documents of other splits change neither: tests/builders/shaping/test_choices.py.
    tables = build_option_pool(questions, [], prefix=prefix, split="test")
    queries = format_lines(frame(tables, config="queries"), "text")
    assert sha256(queries.encode()).hexdigest() == QUERIES[source]
    qrels = frame(tables, config="qrels").write_csv(separator="\t")
    assert sha256(qrels.encode()).hexdigest() == QRELS[source]


@pytest.mark.parametrize(("name", "version"), [*((name, "1.0.0") for name in COMPLETE), *CLEAN])
def test_gold_pools_match_the_ledger(name: str, version: str, real_release: Callable[..., BuildResult]) -> None:
    manifest = real_release(name, version).manifest
    assert all(file.verified for file in manifest.raw)
    entry = ledger.find_entry(name, version)
    assert entry is not None
    assert manifest.content_sha256 == entry.content_sha256


@pytest.mark.parametrize(("name", "version"), CLEAN)
def test_a_cleaned_gold_pool_has_no_duplicates_and_keeps_the_judgements_of_its_queries(
    name: str, version: str, real_release: Callable[..., BuildResult]
) -> None:
    result = real_release(name, version)
    found = [finding for finding in result.manifest.findings if finding.kind in ("duplicate_text", "unjudged_twin")]
    # 2.0.0 of PIQA merges equal queries; those equal after folding are merged in 3.0.0.
    assert [one.detail for one in found] == ([FOLDED_DETAIL] if (name, version) == ("piqa-retrieval", "2.0.0") else [])
    queries, corpus, qrels = (read_table(result, config) for config in ("queries", "corpus", "qrels"))
    assert (queries.height, corpus.height, qrels.height) == CLEAN[name, version]
    folded = fold_case(pl.col("text"), start=version != "2.0.0")
    assert all(texts.select(folded).is_unique().all() for texts in (queries, corpus))


def test_blanks_at_the_end_of_real_solutions_are_kept(real_release: Callable[[str], BuildResult]) -> None:
    texts = read_table(real_release("piqa-retrieval"), "corpus")["text"]
    assert sum(text != text.rstrip() for text in texts) == 113


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_equals_the_published_file(
    name: str, real_sources: Path, real_release: Callable[[str], BuildResult]
) -> None:
    """Skipped without the train files. For WinoGrande, it also shows whether its choice of splits is RAR-b's."""
    source = definition_of(name).source
    missing = [file.name for file in source.files.values() if not (real_sources / source.name / file.name).is_file()]
    if missing:
        pytest.skip(f"not among the real raw files: {source.name}/{', '.join(missing)}")
    corpus = read_table(real_release(name), "corpus")
    documents, digest = CORPUS[name]
    assert corpus.height == documents
    if digest is not None:
        assert sha256(format_lines(corpus, "title", "text").encode()).hexdigest() == digest
