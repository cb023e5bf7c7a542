"""The page of all kinds of findings: python -m pipelines.report.findings_page > docs/findings.md"""

from pathlib import Path

from cards.manifest import SEVERITIES
from pipelines.audit.kinds import KINDS

MEANING = {
    "error": "Breaks a reader or silently distorts an evaluation. The release is not written; the build ends with exit code 4.",
    "warning": "Distorts scores or damages texts. A maintainer fixes it in a later version, or declares why it stays.",
    "info": "Common in good datasets; listed for information.",
}
HEADER = """\
# Findings

The problems that a build and `embedding-datasets check` look for in a dataset. `manifest.json` and the dataset card list every
finding: its kind, severity, location (config, split, column), count, share, and up to five rows as examples, with the rows
that make them findings; `--findings DIR` writes all of them ([checking.md](checking.md)). Errors,
`few_rows_of_label` and `label_without_training_rows` come from `pipelines/audit/integrity.py`, `query_in_benchmark_test` from
recipes (`pipelines/release/reported.py`), all others from `pipelines/audit/quality.py`. They check all rows of all splits, unless
a definition says otherwise.

This page is generated from the definitions in the code, `pipelines.audit.kinds.KINDS`:

```console
python -m pipelines.report.findings_page > docs/findings.md
```
"""


MEASURED = Path(__file__).parents[2] / "benchmarks" / "audit_quality.md"
MEASURED_HEADER = """\
## How well they are found

`benchmarks/audit_quality.py` plants defects of every kind into tables without any, audits them as `check` does, and compares
the rows that are reported with those that were planted. The cost is that of the whole audit, on one machine with two cores; only
its ratios mean something elsewhere. For near-duplicates and near-leaks, what was planted is what comparing all pairs finds.
"""


def render_page() -> str:
    """The page in Markdown: a table of kinds for each severity, in the order of reports, then the measurements."""
    sections = [HEADER]
    for severity in SEVERITIES:
        rows = [
            f"| `{name}` | {_escape(kind.definition)} | {_escape(kind.counted)} |"
            for name, kind in KINDS.items()
            if kind.severity == severity
        ]
        header = ["| kind | what it means | what is counted |", "| --- | --- | --- |"]
        sections.append("\n".join([f"## {severity}", "", MEANING[severity], "", *header, *rows]) + "\n")
    return "\n".join([*sections, MEASURED_HEADER, MEASURED.read_text("utf-8")])


def _escape(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    print(render_page(), end="")
