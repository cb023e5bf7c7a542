"""e-SNLI's test split from the real raw file has the published rows."""

from collections.abc import Callable

from pipelines.make import BuildResult
from tests.support.real_releases import label_counts, read_table, warning_counts


def test_esnli_has_the_published_rows_without_duplicates(real_release: Callable[[str], BuildResult]) -> None:
    result = real_release("esnli-classification")
    rows = read_table(result)
    assert rows.height == 9824
    assert label_counts(rows) == {"entailment": 3368, "contradiction": 3237, "neutral": 3219}
    assert rows["text"].n_unique() == rows["id"].n_unique() == 9824
    premises = rows["text"].str.split(" Hypothesis: ").list.first()
    assert premises.n_unique() == 3323
    assert warning_counts(result) == {}
    first = rows.row(0, named=True)
    assert (first["id"], first["label"]) == ("2677109430.jpg#1r1n", 1)
    assert first["text"].startswith("Premise: This church choir sings to the masses as they sing joyous songs from the")
    assert first["text"].endswith(" Hypothesis: The church has cracks in the ceiling.")
