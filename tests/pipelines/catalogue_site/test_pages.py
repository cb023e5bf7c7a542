"""Statistics as charts."""

from builders import tasks
from pipelines.catalogue_site.pages import MAX_BARS, bar_chart, label_charts, length_charts

QUANTILES = {"p01": 10, "p05": 20, "p25": 40, "p50": 50, "p75": 60, "p95": 80, "p99": 200}
FIGURES = {"min_text_length": 1, "max_text_length": 900, "text_length_quantiles": QUANTILES}


def test_labels_have_their_names_and_are_sorted_by_count() -> None:
    labels = {"labels": {"None": {"count": 1}, "0": {"count": 2}, "1": {"count": 5}}}
    [chart] = label_charts(
        tasks.MultilabelClassification(labels=("joy", "fear")), {"test": {"num_samples": 8, "label_statistics": labels}}
    )
    assert [(bar["name"], bar["count"], bar["share"], bar["size"]) for bar in chart["bars"]] == [
        ("fear", 5, 0.625, 1.0), ("joy", 2, 0.25, 0.4), ("(none)", 1, 0.125, 0.2),
    ]  # fmt: skip


def test_of_many_labels_the_largest_are_shown_and_the_others_counted() -> None:
    chart = bar_chart("labels", "test", {str(n): n for n in range(MAX_BARS + 5)}, 0)
    assert len(chart["bars"]) == MAX_BARS
    assert chart["bars"][0]["name"] == str(MAX_BARS + 4)
    assert chart["omitted"] == 5


def test_lengths_of_the_same_texts_share_a_scale() -> None:
    short = FIGURES | {"text_length_quantiles": {name: value // 2 for name, value in QUANTILES.items()}}
    statistics = {"train": {"text_statistics": FIGURES}, "test": {"text_statistics": short}}
    train, test = length_charts(statistics)
    assert (train["split"], train["places"]["p50"], test["places"]["p50"]) == ("train", 0.25, 0.125)
    assert (train["shortest"], train["longest"]) == (1, 900)


def test_statistics_without_quantiles_have_no_chart() -> None:
    assert length_charts({"test": {"text_statistics": {"min_text_length": 1}, "num_samples": 3}}) == []
