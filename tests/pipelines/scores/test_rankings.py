"""pipelines.scores.rankings: the numbers are those of trec_eval, and chance is the mean of all orders."""

from itertools import permutations

import numpy as np
import pytest

from pipelines.scores import rankings

# Rankings of documents 0 to 3, and the scores of the relevant ones; -1 is a relevant document that the corpus lacks.
CASES = [
    ([0, 1, 2, 3], {2: 1}),
    ([3, 2, 1, 0], {0: 1, 3: 2}),
    ([1, 0], {2: 1, 0: 3}),
    ([2, 3, 0, 1], {0: 1, 1: 1, -1: 2}),
    ([], {1: 1}),
]


@pytest.mark.extra("pytrec_eval")
@pytest.mark.parametrize(("ranked", "relevant"), CASES)
def test_rankings_are_scored_as_trec_eval_scores_them(ranked: list[int], relevant: dict[int, int]) -> None:
    import pytrec_eval

    judgements = {"q": {str(document): score for document, score in relevant.items()}}
    run = {"q": {str(document): -float(rank) for rank, document in enumerate(ranked)}}
    expected = pytrec_eval.RelevanceEvaluator(judgements, {"ndcg_cut.10", "map_cut.1000"}).evaluate(run)
    scores = expected.get("q", {"ndcg_cut_10": 0.0, "map_cut_1000": 0.0})
    assert rankings.ndcg_at_10(ranked, relevant) == pytest.approx(scores["ndcg_cut_10"])
    assert rankings.average_precision(ranked, relevant) == pytest.approx(scores["map_cut_1000"])


@pytest.mark.parametrize("relevant", [{0: 1}, {0: 1, 3: 2}, {0: 1, 1: 1, 2: 1, 3: 1}])
def test_chance_is_the_mean_of_all_orders(relevant: dict[int, int]) -> None:
    orders = list(permutations(range(4)))
    expected = np.mean([rankings.ndcg_at_10(order, relevant) for order in orders])
    assert rankings.chance_ndcg_at_10(relevant, 4) == pytest.approx(expected)
    expected = np.mean([rankings.average_precision(order, relevant) for order in orders])
    assert rankings.chance_average_precision(len(relevant), 4, len(relevant)) == pytest.approx(expected)


def test_equal_scores_are_ordered_by_priority_not_by_position() -> None:
    documents, priorities = np.array([0, 1, 2, 3]), np.array([3, 1, 2, 0])
    assert rankings.rank_documents(documents, np.array([5.0, 5.0, 5.0, 9.0]), priorities, 10) == [3, 1, 2, 0]
    assert rankings.rank_documents(documents, np.array([5.0, 5.0, 5.0, 9.0]), priorities, 2) == [3, 1]
