"""python -m pipelines.report.findings_page > docs/findings.md : every kind of finding, from pipelines.audit.kinds.KINDS."""

from __future__ import annotations

from cards.manifest import SEVERITIES
from pipelines.audit.kinds import KINDS

MEANING = {
    "error": "It breaks a reader, or an evaluation passes over it in silence: such a release is not written, and a build that"
    " meets it ends with exit code 4.",
    "warning": "It bends a score or spoils a text: a maintainer mends it in a next version or knows why it stays.",
    "info": "Many a sound dataset has it; a reader may want to know.",
}
HEAD = """\
# Findings

What a build and `python -m pipelines.check` look for in a dataset. Every finding is told in `manifest.json` and on the dataset
card: its kind, its severity, where it is (config, split, column), how many there are, their share, and up to five examples by
id. Errors are found by `pipelines/audit/integrity.py`, the others by `pipelines/audit/quality.py`, in all rows of all
splits unless the definition says otherwise.

This page is made from the definitions in the code, `pipelines.audit.kinds.KINDS`:

```console
python -m pipelines.report.findings_page > docs/findings.md
```
"""


def page() -> str:
    """The page in Markdown: the kinds by severity, in the order in which they are reported."""
    sections = [HEAD]
    for severity in SEVERITIES:
        rows = [
            f"| `{name}` | {_cell(kind.definition)} | {_cell(kind.counted)} |"
            for name, kind in KINDS.items()
            if kind.severity == severity
        ]
        heading = ["| kind | what it means | what is counted |", "| --- | --- | --- |"]
        sections.append("\n".join([f"## {severity}", "", MEANING[severity], "", *heading, *rows]) + "\n")
    return "\n".join(sections)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    print(page(), end="")
