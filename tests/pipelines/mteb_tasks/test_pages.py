"""What is said of tasks of mteb together: one table, entries of mteb's known issues, sections of its documentation."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.mteb_tasks.pages import find_issues
from tests.support.loopback_hub import LoopbackHub
from tests.support.made_texts import sentence
from tests.support.mteb_hub import parquet, parts, publish
from tests.support.processes import run

pytestmark = pytest.mark.extra("mteb")


def test_a_benchmark_is_one_table_with_a_row_for_each_task_and_why_one_could_not_be_read(hub: LoopbackHub) -> None:
    cluster = {"sentences": [sentence(row) for row in range(40)], "labels": ["roof", "wall"] * 20}
    publish(hub, "BuiltBenchClusteringP2P", {"data/test-00000-of-00001.parquet": parquet(**cluster)})
    publish(hub, "BuiltBenchRetrieval", parts(queries={"_id": ["q1"], "text": [""]}))
    candidates = {"query-id": ["q1"], "corpus-ids": [["d1", "d3"]]}
    publish(hub, "BuiltBenchReranking", parts(top_ranked=candidates, queries={"_id": ["q1"], "text": ["what is rain"]}))
    done = run("check", "mteb:BuiltBench(eng)", cwd=Path.cwd())
    assert done.returncode == 3
    heading, _, *rows, blank, summary = done.stdout[done.stdout.index("\ntask  ") + 1 :].splitlines()
    assert (blank, summary.partition(";")[0]) == (
        "",
        "4 datasets: warnings 1, not checked 1, compromised 1, defective 1",
    )
    assert heading.split() == ["task", "type", "rows", "verdict", "warnings", "worst", "finding"]
    cells = [[cell.strip() for cell in row.split("  ") if cell] for row in rows]
    p2p, s2s, retrieval, reranking = cells
    assert p2p[:4] == ["BuiltBenchClusteringP2P", "Clustering", "test 40 rows", "warnings"]
    assert s2s == [
        "BuiltBenchClusteringS2S", "Clustering", "-", "not checked", "-", "no such repository on the Hub, or a private one",
    ]  # fmt: skip
    assert retrieval[:4] == [
        "BuiltBenchRetrieval", "Retrieval", "test 2 documents, test 1 queries with judgements", "compromised",
    ]  # fmt: skip
    assert retrieval[5] == "1 of 1 test queries is empty"
    assert reranking[:2] == ["BuiltBenchReranking", "Reranking"]
    assert (reranking[3], reranking[5]) == ("defective", "candidate that does not exist (1)")
    assert "no such repository on the Hub" in done.stderr
    files = ["--html", "report.html", "--findings", "rows"]
    page = run("check", "mteb:BuiltBench(eng)", "--format", "markdown", *files, cwd=Path.cwd()).stdout
    assert {path.name for path in Path("rows").iterdir() if path.is_dir()} == {
        f"mteb_BuiltBench{name}" for name in ("ClusteringP2P", "Retrieval", "Reranking")
    }
    assert "mteb:BuiltBenchRetrieval" in Path("report.html").read_text("utf-8")
    assert page.splitlines()[-1] == "```"
    assert rows[1] in page


def test_what_was_found_has_the_form_of_the_known_issues_and_of_the_documentation_of_mteb(hub: LoopbackHub) -> None:
    texts = [f"{sentence(row, words=9)} {row}" for row in range(60)]
    labels = [[row % 3] for row in range(60)]
    texts[50:52], texts[52] = texts[:2], "ab"
    files = {
        "data/train-00000-of-00001.parquet": parquet(text=texts[:50], label=labels[:50]),
        "data/test-00000-of-00001.parquet": parquet(text=texts[50:], label=[*labels[:2], *labels[52:]]),
    }
    publish(hub, "CEDRClassification", files)
    pairs = {"sentence1": ["first | one", "another"], "sentence2": ["<b>second</b>", "second of it"], "labels": [1, 0]}
    license_line = b"---\nlicense: '<b>|mine'\n---\n"
    publish(hub, "TERRa", {"data/dev-00000-of-00001.parquet": parquet(**pairs), "README.md": license_line})
    done = run("check", "mteb:CEDRClassification", "mteb:TERRa", "--format", "mteb", cwd=Path.cwd())
    assert done.returncode == 1  # a fifth of the test texts leak: the dataset is compromised
    cedr, terra = done.stdout.split("#### ")[1:]
    title, _, begin, _, checked, _, *items = cedr.splitlines()
    assert (title, begin) == ("`CEDRClassification`", '??? warning "Known issues"')
    link = "https://huggingface.co/datasets/mteb/CEDRClassification/tree/d872ceae33d049f0ef50e8abb9229b569ebfcf7d"
    assert checked.startswith(f"    Checked at revision [`d872cea`]({link}) by embedding-datasets ")
    assert "    - text also in an earlier split, exact: 2 (20.00 %); in train; default/test.text" in items
    rows = "50 rows, 7,528 in mteb's statistics; default/test 1,872 (99.47 %), 10 rows, 1,882 in mteb's statistics"
    differing = f"metadata of mteb that differ from the dataset: 9,350 (99.36 %); default/train 7,478 (99.34 %), {rows}"
    assert items[0] == f"    - {differing}"
    assert all(line.startswith("    - ") for line in items if line)
    section, block = terra.split("```python\n")
    assert "licence mit in mteb, &#60;b&#62;&#124;mine on the card" in section
    assert "    - HTML tags or character references: 1 (50.00 %); default/dev.sentence2" in section
    assert block.splitlines() == [
        "# KNOWN_ISSUES in tests/test_tasks/test_task_quality.py",
        '    "short_text": [',
        '        "CEDRClassification",  # test: min_text_length=2 in text_statistics, which mteb\'s statistics do not show',
        "    ],",
        '    "train_test_leakage": [',
        '        "CEDRClassification",  # test: samples_in_train=2',
        "    ],",
        "```",
    ]


def test_of_a_task_that_cannot_be_read_the_known_issues_are_those_that_mteb_s_statistics_show(hub: LoopbackHub) -> None:
    done = run("check", "mteb:MassiveIntentClassification", "--format", "mteb", cwd=Path.cwd())
    assert (done.returncode, "####" in done.stdout) == (3, False)
    duplicates, line = done.stdout.splitlines()[2:4]
    assert duplicates.strip() == '"duplicate_text": ['
    assert line.startswith('        "MassiveIntentClassification",  # test: unique_texts=')
    assert "; validation: unique_texts=" in line
    assert line.count(", which only mteb's statistics show") == 3  # of train, too


# By mteb's own KNOWN_ISSUES at its commit a905523d, which lists each of these tasks under these checks and no others.
KNOWN = {
    "CEDRClassification": {"train_test_leakage"},
    "TERRa": set[str](),
    "RUParaPhraserSTS": {"duplicate_pairs"},
    "HeadlineClassification": {"short_text"},
    "RuBQReranking": {"short_text", "duplicate_text"},
    "MSMARCOHardNegatives": {"relevant_docs_exceed_corpus"},
    "TwitterHjerneRetrieval": {"zero_relevant_docs"},
    "BUCC": {"impossible_unique_count"},
}


@pytest.mark.parametrize("task", KNOWN)
def test_mteb_s_statistics_fail_the_checks_that_mteb_lists(task: str) -> None:
    import mteb

    published: dict[str, Any] = dict(mteb.get_task(task).metadata.descriptive_stats or {})
    assert {check for figures in published.values() for check, _ in find_issues(figures)} == KNOWN[task]


def test_each_check_of_mteb_has_its_threshold() -> None:
    def checks(**figures: Any) -> list[str]:
        return [check for check, _ in find_issues({"num_samples": 200} | figures)]

    assert checks(unique_pairs=198) == []
    assert checks(unique_pairs=197) == ["duplicate_pairs"]
    assert checks(text_statistics={"min_text_length": 4, "unique_texts": 198}) == []
    assert checks(text_statistics={"min_text_length": 3, "unique_texts": 197}) == ["short_text", "duplicate_text"]
    assert checks(text1_statistics={"min_text_length": 4, "unique_texts": 2}) == []
    assert checks(num_queries=9, queries_text_statistics={"unique_texts": 8}) == ["duplicate_text"]
    assert checks(label_statistics={"unique_labels": 1}) == ["too_few_labels"]
    assert checks(label_statistics={"min_score": 0.5, "max_score": 0.5}) == ["zero_label_variance"]
    assert checks(top_ranked_statistics={"min_top_ranked_per_query": 0}) == ["zero_top_ranked"]
    assert checks(num_samples=0) == ["empty_split"]
