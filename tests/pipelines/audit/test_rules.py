"""pipelines.audit.rules: what a rule demands, the file of rules with its errors, and rules that data keep."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import UsageError
from cards.manifest import Finding, describe_record
from pipelines.audit.findings import list_rows
from pipelines.audit.rules import Rule, Rules, find_violations, propose_rules, read_rules, weigh
from tests.support.paths import ROOT

TABLES = {
    "default": {
        "train": pl.LazyFrame(
            {
                "id": ["a", "b", "c"], "text": ["see http://x.org now", "short", None], "n": [0.0, 2.5, None],
                "tags": [["x"], ["x", "?"], None],
            }
        ),
        "test": pl.LazyFrame(
            {"id": ["d", "a", None], "text": ["ёжик", "", "b"], "n": [9.0, 1.0, 2.0], "tags": [[], ["y"], ["z"]]}
        ),
    },
    "corpus": {"test": pl.LazyFrame({"id": ["a"], "text": ["https://x.org"]})},
}  # fmt: skip


def violations(**values: Any) -> list[tuple[str, int, tuple[str, ...]]]:
    """Location, count and row names of the findings of one rule."""
    found = find_violations([Rule(name="own", **values)], TABLES)
    assert {(one.finding.kind, one.finding.severity) for one in found} <= {("rule", values.get("severity", "warning"))}
    return [(one.finding.location, one.finding.count, one.finding.examples) for one in found]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"column": "text", "must_not": "https?://"}, [("default/train.text", 1, ("a",)), ("corpus/test.text", 1, ("a",))]),
        ({"column": "text", "must_not": "https?://", "table": "corpus"}, [("corpus/test.text", 1, ("a",))]),
        ({"column": "text", "must": "^[a-z]", "table": "default/test"}, [("default/test.text", 2, ("d", "a"))]),
        ({"column": "text", "characters": (4, 5), "table": "default"}, [
            ("default/train.text", 1, ("a",)), ("default/test.text", 2, ("a", "None")),
        ]),
        ({"column": "n", "between": (0, 2.5)}, [("default/test.n", 1, ("d",))]),
        ({"column": "text", "between": (0, 9), "table": "corpus"}, [("corpus/test.text", 1, ("a",))]),
        ({"column": "id", "unique": True}, [("default/test.id", 1, ("a",))]),
        ({"column": "tags", "must": "^[a-z]$"}, [("default/train.tags", 1, ("b",))]),
        ({"column": "n", "between": (0, 9), "must_not": "^9", "severity": "info"}, [("default/test.n", 1, ("d",))]),
        ({"column": "id", "unique": False}, []),
    ],
)  # fmt: skip
def test_rows_that_violate_a_rule_are_found_and_nulls_violate_none(rule: dict[str, Any], found: list[Any]) -> None:
    assert violations(**rule) == found


def test_a_finding_names_its_rule_and_has_its_rows() -> None:
    [found] = find_violations([Rule(name="no-links", column="text", must_not="http", table="train")], TABLES)
    assert found.finding.detail == 'no-links: must_not "http"'
    assert found.finding.share == 1 / 3
    assert list_rows(found)["text"].to_list() == ["see http://x.org now"]
    assert found.pattern == "http"


def test_a_column_that_no_table_has_is_an_error_that_names_the_rule_and_the_columns() -> None:
    with pytest.raises(UsageError) as caught:
        find_violations([Rule(name="own", column="txt", must="a")], TABLES)
    assert (caught.value.what, caught.value.where) == ("no table has the column 'txt'", "checks.yaml, rule 'own'")
    assert caught.value.found == "id, text, n, tags"


FILE = """\
languages: [rus-Cyrl]
rules:
- name: no-links
  column: text
  must_not: 'https?://'
- {name: ids, column: id, unique: true}
severities:
  html_residue: info
by_design:
  near_duplicate: contrast sets
"""


def test_a_file_is_read_as_written(tmp_path: Path) -> None:
    (tmp_path / "checks.yaml").write_text(FILE, "utf-8")
    rules = read_rules(tmp_path / "checks.yaml")
    assert [rule.name for rule in rules.rules] == ["no-links", "ids"]
    assert (rules.rules[0].must_not, rules.rules[1].unique) == ("https?://", True)
    assert (rules.languages, rules.by_design) == (("rus-Cyrl",), {"near_duplicate": "contrast sets"})
    (tmp_path / "checks.yaml").write_text("", "utf-8")
    assert read_rules(tmp_path / "checks.yaml") == Rules()


@pytest.mark.parametrize(
    ("old", "new", "line", "found"),
    [
        ("must_not:", "mustnt:", 5, "unknown field `mustnt`"),
        ("'https?://'", "12", 5, "Expected `str | null`, got `int`"),
        ("'https?://'", "'(https'", 3, "not a pattern: "),
        (", unique: true", "", 6, "a rule that demands nothing: give one of must, must_not, characters"),
        ("html_residue: info", "html_residue: bad", 8, "Invalid enum value 'bad'"),
        ("html_residue", "html_residu", 8, "unknown kind 'html_residu'"),
        ("near_duplicate: c", "near: c", 10, "unknown kind 'near'"),
        ("contrast sets", "[1]", 10, "Expected `str`, got `array`"),
        ("column: text", "column: [text", 5, "expected ',' or ']'"),
        (FILE, "- a", 1, "Expected `object`, got `array`"),
        ("contrast sets", "!!python/object:os.system x", 10, "could not determine a constructor"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(
    old: str, new: str, line: int, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "checks.yaml"
    path.write_text(FILE.replace(old, new), "utf-8")
    with pytest.raises(UsageError) as caught:
        read_rules(path)
    assert (caught.value.what, caught.value.where) == ("the rules cannot be read", f"{path}, line {line}")
    assert found in str(caught.value.found)
    assert "must_not" in str(caught.value.expected)


@pytest.mark.parametrize("content", [b"\xff", b"a: &x [y, y]\nb: &z [*x, *x]\n" + b"c: [" + b"*z, " * 600_000 + b"]"])
def test_bytes_and_aliases_without_measure_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "checks.yaml").write_bytes(content)
    with pytest.raises(UsageError, match="the rules cannot be read"):
        read_rules(tmp_path / "checks.yaml")


@pytest.mark.parametrize(
    ("kind", "share", "severity", "expected"),
    [
        ("html_residue", 0.5, "warning", ("info", False)),
        ("duplicate_text", 0.01, "warning", ("info", False)),
        ("duplicate_text", 0.011, "warning", ("warning", False)),
        ("near_leak", 0.5, "warning", ("info", True)),
        ("empty_id", 0.5, "error", ("error", False)),
        ("mojibake", 0.5, "warning", ("warning", False)),
    ],
)
def test_a_finding_has_the_weight_that_the_rules_give_its_kind(
    kind: str, share: float, severity: Any, expected: tuple[str, bool]
) -> None:
    rules = Rules(
        severities={"html_residue": "info", "empty_id": "info"},
        thresholds={"duplicate_text": 0.01},
        by_design={"near_leak": "So."},
    )
    weighed = weigh(Finding(kind, severity, "default", "test", "text", 1, share), rules)
    assert (weighed.severity, weighed.by_design) == expected


def test_proposed_rules_are_kept_by_the_rows_that_they_are_made_of(tmp_path: Path) -> None:
    findings = [Finding("near_duplicate", "info", "default", "test", "text", 1, 0.5)]
    (tmp_path / "checks.yaml").write_text(propose_rules(TABLES, ["eng-Latn"], findings), "utf-8")
    rules = read_rules(tmp_path / "checks.yaml")
    assert rules.languages == ("eng-Latn",)
    assert [(rule.name, rule.characters, rule.between) for rule in rules.rules] == [
        ("default-id", (1, 1), None), ("default-text", (0, 20), None), ("default-n", None, (0.0, 9.0)),
        ("corpus-id", (1, 1), None), ("corpus-text", (13, 13), None),
    ]  # fmt: skip
    assert find_violations(rules.rules, TABLES) == []
    assert (tmp_path / "checks.yaml").read_text("utf-8").endswith("# by_design:\n#   near_duplicate: say why\n")


def test_the_schema_in_the_documentation_is_generated_from_the_records() -> None:
    schema = json.loads((ROOT / "docs" / "checks.schema.json").read_text("utf-8"))
    assert schema == json.loads(json.dumps(describe_record(Rules, "checks.yaml of embedding-datasets check"))), (
        "run: python -m pipelines.audit.rules > docs/checks.schema.json"
    )


def test_the_example_of_the_documentation_is_read(tmp_path: Path) -> None:
    example, *_ = re.findall(
        r"```yaml\n(languages.*?)```", (ROOT / "docs" / "checking.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "checks.yaml").write_text(example, "utf-8")
    rules = read_rules(tmp_path / "checks.yaml")
    assert [rule.name for rule in rules.rules] == ["no-links", "length", "stars", "ids"]
    assert (rules.thresholds, rules.columns) == ({"duplicate_text": 0.01}, {"text": "review"})
