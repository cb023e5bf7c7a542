"""pipelines.audit.judgements: when a label is rare."""

from tests.support.tables import clean_tables, quality_findings, with_rows


def test_a_tenth_of_the_most_frequent_label_is_not_an_imbalance() -> None:
    tables = with_rows("default", "test", *((f"Of wax, the {number}th.", "wax") for number in range(18)))
    assert quality_findings("Clustering", tables(clean_tables("Clustering"))) == []
