"""pipelines.audit.findings: every row of every finding, with its twin."""

from pipelines.audit.findings import FindingRows, list_rows
from pipelines.audit.quality import audit_tables
from tests.support.tables import TASKS, Tables, as_lazy, clean_tables, with_rows, with_value


def audit(task_type: str, tables: Tables) -> list[FindingRows]:
    return audit_tables(TASKS[task_type], as_lazy(tables), TASKS[task_type].splits)


def test_both_labels_of_a_conflict_are_written() -> None:
    tables = with_value("default", "test", "text", 4, "0 test sentence number 0")(clean_tables("Classification"))
    conflict = next(one for one in audit("Classification", tables) if one.finding.kind == "conflicting_label")
    row = list_rows(conflict).row(0, named=True)
    assert (row["label_text"], row["twin label_text"]) == ("red", "green")


def test_a_pair_that_is_not_in_a_table_has_a_name_and_no_values() -> None:
    twins = [(f"d{number}", "", "Wax They build with it.") for number in range(4, 12)]
    findings = audit("Retrieval", with_rows("corpus", "test", *twins)(clean_tables("Retrieval")))
    unjudged = next(one for one in findings if one.finding.kind == "unjudged_twin")
    rows = list_rows(unjudged)
    assert rows["row"].to_list() == [f"q2 d{number}" for number in range(4, 12)]
    assert unjudged.finding.examples == tuple(rows["row"][:5])
