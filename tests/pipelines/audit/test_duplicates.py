"""pipelines.audit.duplicates: repeated texts, whose severity depends on the task."""

from tests.support.tables import Change, clean_tables, quality_findings, with_value


def duplicate_severities(task_type: str, change: Change) -> dict[str, str]:
    findings = quality_findings(task_type, change(clean_tables(task_type)))
    return {finding.location: finding.severity for finding in findings if finding.kind == "duplicate_text"}


def test_a_text_that_recurs_by_design_is_only_info() -> None:
    premises = with_value("default", "test", "sentence1", 1, "0 test sentence number 0")
    assert duplicate_severities("PairClassification", premises) == {"default/test.sentence1": "info"}
    assert duplicate_severities("STS", premises) == {"default/test.sentence1": "info"}
    queries = with_value("queries", "test", "text", 1, "who makes honey (test)")
    assert duplicate_severities("Reranking", queries) == {"queries/test.text": "info"}
    assert duplicate_severities("Retrieval", queries) == {"queries/test.text": "warning"}
