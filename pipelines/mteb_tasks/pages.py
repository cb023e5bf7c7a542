"""What checks found of tasks of mteb, in a table and in the forms that mteb itself uses.

mteb keeps the known issues of its datasets in the dictionary KNOWN_ISSUES of a test, tests/test_tasks/test_task_quality.py: by
check of the test, the tasks that fail it. The test reads mteb's statistics. The same checks of texts are made here (as of its
commit a905523d, 2026-08-22), on these statistics and on those of the rows that were read. All else that was found is for the
entry of the task in mteb's documentation, which has no place for it yet (mteb#3632): an admonition, like the citation there.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from builders.errors import DatasetError
from cards import markdown
from cards.evidence import group_findings, list_places
from cards.statistics import to_json
from pipelines.audit import statistics
from pipelines.checking.checks import CheckResult
from pipelines.checking.targets import Target
from pipelines.checking.text import group_name
from pipelines.checking.verdict import State
from pipelines.mteb_tasks.checking import COUNTS, SUBSETS
from pipelines.process import installation
from pipelines.process.tables import table

Outcome = list[CheckResult] | DatasetError  # of a task: a result for each subset, or why there is none
UNIQUE_SHARE = 0.99  # of the texts of a column, or of the pairs: with fewer, mteb calls them duplicated
SHORT = 3  # characters
KNOWN_ISSUES = "KNOWN_ISSUES in tests/test_tasks/test_task_quality.py"


def find_issues(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The checks of mteb's test that the statistics of a split fail, each with the figures."""
    total, documents = figures.get("num_samples") or 0, figures.get("num_documents")
    pairs, leaked = figures.get("unique_pairs") or total, figures.get("samples_in_train")
    checks: list[tuple[str, Any, str]] = [
        ("empty_split", figures.get("num_samples") == 0, "num_samples=0"),
        ("train_test_leakage", leaked, f"samples_in_train={leaked}"),
        ("duplicate_pairs", pairs < total * UNIQUE_SHARE, f"unique_pairs={pairs} of {total}"),
    ]
    for field, values in figures.items():
        if field == SUBSETS or not isinstance(values, dict):
            continue
        least, texts, labels = (values.get(name) for name in ("min_text_length", "unique_texts", "unique_labels"))
        documents_or_queries = {"documents": documents, "queries": figures.get("num_queries")}
        rows = documents_or_queries.get(field.partition("_")[0], total) or texts or 0
        repeated = (texts or rows) < rows * UNIQUE_SHARE and not field.endswith(("1_statistics", "2_statistics"))
        scores, relevant = (values.get("min_score"), values.get("max_score")), values.get("unique_relevant_docs") or 0
        checks += [
            ("short_text", least is not None and least <= SHORT, f"min_text_length={least} in {field}"),
            ("duplicate_text", repeated, f"unique_texts={texts} of {rows} in {field}"),
            ("impossible_unique_count", (texts or 0) > rows, f"unique_texts={texts} of {rows} in {field}"),
            ("too_few_labels", labels in (0, 1), f"unique_labels={labels} in {field}"),
            ("zero_label_variance", scores[0] is not None and scores[0] == scores[1], f"all scores are {scores[0]}"),
            ("zero_relevant_docs", values.get("min_relevant_docs_per_query") == 0, "min_relevant_docs_per_query=0"),
            ("zero_top_ranked", values.get("min_top_ranked_per_query") == 0, "min_top_ranked_per_query=0"),
            ("relevant_docs_exceed_corpus", relevant > (documents or relevant), f"{relevant} relevant of {documents}"),
        ]
    return [(check, text) for check, fails, text in checks if fails]


def issue_lines(outcomes: Sequence[tuple[Target, Outcome]]) -> list[str]:
    """The entries of KNOWN_ISSUES for tasks, in a fence; each says with which figures, and where only one side has it.

    The test also looks at all subsets together; here that is done on mteb's statistics alone.
    """
    entries: dict[str, list[str]] = {}
    for target, outcome in outcomes:
        of, results = target.mteb_task.metadata, outcome if isinstance(outcome, list) else []
        stated = [  # of all subsets together, and of each
            (split, part)
            for split, figures in (of.descriptive_stats or {}).items()
            for part in (figures, *(figures.get(SUBSETS) or {}).values())
        ]
        read = [statistics.describe_tables(result.task, result.frames) for result in results if result.frames]
        measured = [figures for tables in read for figures in to_json(tables).items()]
        theirs, ours = (
            {(check, split): text for split, part in figures for check, text in find_issues(part)}
            for figures in (stated, measured)
        )
        for check in sorted({check for check, _ in theirs | ours}):
            comments = [
                f"{place[1]}: {text}"
                + ("" if place in ours else ", which only mteb's statistics show")
                + ("" if place in theirs else ", which mteb's statistics do not show")
                for place, text in sorted((theirs | ours).items())
                if place[0] == check
            ]
            comment = " ".join(markdown.visible("; ".join(comments)).split())
            entries.setdefault(check, []).append(f"        {json.dumps(of.name)},  # {comment}")
    body = [line for check in sorted(entries) for line in (f'    "{check}": [', *entries[check], "    ],")]
    return markdown.fenced("\n".join([f"# {KNOWN_ISSUES}", *body]), "python").splitlines()


def documentation(results: Sequence[CheckResult]) -> list[str]:
    """What is wrong with the dataset of a task, for its entry in mteb's documentation; without what is for information."""
    about, sha = results[0].report["mteb"], results[0].report["revision"]
    address = f"https://huggingface.co/datasets/{about['repository']}/tree/{sha}"
    listed = [finding for result in results for finding in result.findings if finding.severity != "info"]
    items = [
        (
            f"{group_name(group)}: {group.count_text} ({markdown.share_text(group.share)})",
            group.detail,
            *list_places(group),
        )
        for group in group_findings(listed)
    ]
    texts = ["; ".join(filter(None, item)) for item in items] or ["Nothing that distorts a score was found."]
    head = [f"#### `{about['task']}`", "", '??? warning "Known issues"', ""]
    checked = f"    Checked at revision [`{sha[:7]}`]({address}) by {installation.describe()}."
    return [*head, checked, "", *(f"    - {markdown.plain(text)}" for text in texts), ""]


def task_table(outcomes: Sequence[tuple[Target, Outcome]], width: int | None) -> str:
    """A row for each task: rows of each evaluated split, the verdict, warnings, and the worst finding, or why there is none."""
    rows = [["task", "type", "rows", "verdict", "warnings", "worst finding"]]
    for target, outcome in outcomes:
        cells = [target.mteb_task.metadata.name, target.mteb_task.metadata.type]
        if isinstance(outcome, DatasetError):
            reason = ": ".join(filter(None, (outcome.what, outcome.found)))
            rows.append([*cells, "-", "not checked", "-", " ".join(reason.split())])
            continue
        reports = [result.report for result in outcome]
        counts = Counter[tuple[str, str]]()
        for split, figures in [pair for report in reports for pair in report["mteb"]["rows"].items()]:
            counts.update({(split, name): count for name, count in figures.items()})
        sizes = ", ".join(f"{split} {count:,} {COUNTS[name]}" for (split, name), count in counts.items())
        worst = max(
            (report["verdict"] for report in reports), key=lambda verdict: get_args(State).index(verdict["state"])
        )
        warnings = sum(finding.severity == "warning" for result in outcome for finding in result.findings)
        clause = worst["summary"].partition(": ")[2].split("; ")[0]
        rows.append([*cells, sizes, worst["state"], f"{warnings:,}", clause])
    return table(rows, width=width, numbers=("warnings",))
