"""Checks of tasks of mteb: all that is known of them is the metadata of the mteb that is installed; their datasets are on a Hub
in memory, in the layouts that mteb publishes.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import embedding_datasets as ed
from builders.errors import UsageError
from tests.support.loopback_hub import LoopbackHub
from tests.support.mteb_hub import card, parquet, parts, publish
from tests.support.processes import run

pytestmark = pytest.mark.extra("mteb")
PAIR = {"sentence1": ["first of a pair", "another first"], "sentence2": ["second of a pair", "another second"]}


def check(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code of `check --json`, and its objects."""
    done = run("check", *arguments, "--json", cwd=Path.cwd())
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def details(report: dict[str, Any], *kinds: str) -> list[tuple[str, str, str]]:
    """Severity, location and detail of the findings of these kinds."""
    return [
        (one["severity"], "/".join(filter(None, (one["config"], one["split"]))), one["detail"])
        for one in report["findings"]
        if one["kind"] in kinds
    ]


CANDIDATES = {"query-id": ["q1"], "corpus-ids": [["d1", "d2"]]}
TEXTS = {"text": ["one text of the task", "another text of it"], "label": [0, 1]}
DATASETS: dict[str, tuple[dict[str, bytes], str, list[tuple[str, str, str]]]] = {
    # mteb draws 2,048 rows of the test split itself: another number is for information.
    "HeadlineClassification": (
        {f"data/{split}-00000-of-00001.parquet": parquet(**TEXTS) for split in ("train", "validation", "test")},
        "default/train 2, default/test 2",
        [
            ("info", "default/train", "2 rows, 36,000 in mteb's statistics"),
            ("info", "default/test", "2 rows, 2,048 in mteb's statistics"),
        ],
    ),
    "KinopoiskClassification": (
        {f"data/{split}-00000-of-00001.parquet": parquet(**TEXTS) for split in ("train", "test")},
        "default/train 2, default/test 2",
        [
            ("warning", "default/train", "2 rows, 10,500 in mteb's statistics"),
            ("warning", "default/test", "2 rows, 1,500 in mteb's statistics"),
        ],
    ),
    # All rows of a split in one, the layout of mteb 1.
    "TERRa": (
        {"data/dev-00000-of-00001.parquet": parquet(**{name: [texts] for name, texts in PAIR.items()}, labels=[[1, 0]])},
        "default/dev 2",
        [("warning", "default/dev", "2 rows, 307 in mteb's statistics")],
    ),
    # The class of the task renames the columns, and makes numbers of the scores.
    "RUParaPhraserSTS": (
        {"data/test-00000-of-00001.parquet": parquet(**{"text_1": ["a", "b"], "text_2": ["c", "d"], "class": ["-1", "1"]})},
        "default/test 2",
        [("info", "default/test", "2 rows, 1,924 in mteb's statistics")],
    ),
    "GeoreviewClusteringP2P": (
        {"data/test-00000-of-00001.parquet": parquet(sentences=["one review", "two reviews"], labels=["Кафе", "Аптека"])},
        "default/test 2",
        [("warning", "default/test", "2 rows, 2,000 in mteb's statistics")],
    ),
    "RuBQRetrieval": (
        parts(),
        "corpus/test 2, queries/test 2, qrels/test 1",
        [
            ("warning", "corpus/test", "2 documents, 56,826 in mteb's statistics"),
            ("warning", "corpus/test", "1 queries with judgements, 1,692 in mteb's statistics"),
        ],
    ),
    "RuBQReranking": (
        parts(top_ranked=CANDIDATES),
        "corpus/test 2, queries/test 2, qrels/test 1, top_ranked/test 1",
        [
            ("warning", "corpus/test", "2 documents, 37,447 in mteb's statistics"),
            ("warning", "corpus/test", "1 queries with judgements, 1,551 in mteb's statistics"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", DATASETS)
def test_a_task_is_read_as_mteb_reads_it_and_compared_with_its_statistics(hub: LoopbackHub, task: str) -> None:
    import mteb

    files, tables, differing = DATASETS[task]
    publish(hub, task, files)
    _, [report] = check(f"mteb:{task}")
    metadata = mteb.get_task(task).metadata
    assert (report["path"], report["dataset"], report["subset"]) == (f"mteb:{task}", f"mteb:{task}", "")
    assert (report["task"], report["languages"]) == (metadata.type, ["rus-Cyrl"])
    assert report["revision"] == metadata.dataset["revision"]
    assert ", ".join(f"{table['config']}/{table['split']} {table['rows']}" for table in report["tables"]) == tables
    assert details(report, "metadata_differs") == differing
    assert f"{metadata.type}, evaluated on {metadata.eval_splits[0]} by {metadata.main_score}" in report["notes"][0]
    assert not details(report, "missing_table", "missing_column")
    assert {severity for severity, *_ in details(report, "wrong_type")} <= {"info"}
    transformed = [note for note in report["notes"] if note.startswith("not applied, mteb's own dataset_transform")]
    assert len(transformed) == (differing[0][0] == "info")


def test_what_mteb_says_of_a_dataset_is_compared_with_its_repository(hub: LoopbackHub) -> None:
    # As many rows as mteb counted, whose texts are not alike; seven of the test split are in train.
    texts = [str(UUID(int=(row + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)) for row in range(9410)]
    texts[7528:7535] = texts[:7]
    labels = [[row % 5] for row in range(9410)]
    files = {
        "data/train-00000-of-00001.parquet": parquet(text=texts[:7528], label=labels[:7528]),
        "data/test-00000-of-00001.parquet": parquet(text=texts[7528:], label=labels[7528:]),
        "README.md": b"---\nlicense: apache-2.0\nlanguage: ru\n---\n",
    }
    repo = publish(hub, "CEDRClassification", files)
    _, [report] = check("mteb:CEDRClassification", "--fail-on", "metadata_differs")
    assert (report["task"], report["failed_on"]) == ("MultilabelClassification", [])
    assert report["mteb"] == {
        "task": "CEDRClassification", "repository": "mteb/CEDRClassification",
        "main_score": "accuracy", "rows": {"test": {"num_samples": 1882}},
    }  # fmt: skip
    publish(hub, "CEDRClassification", files | {"README.md": b"---\nlicense: [mit, cc0-1.0]\n---\n"})
    repo.branches["main"], repo.commits["f" * 40] = "f" * 40, repo.commits[repo.branches["main"]]
    code, [report] = check("mteb:CEDRClassification", "--fail-on", "metadata_differs")
    assert (code, report["failed_on"]) == (1, ["metadata_differs"])
    assert details(report, "metadata_differs") == [
        ("warning", "", "licence apache-2.0 in mteb, mit, cc0-1.0 on the card")
    ]
    assert f"mteb reads d872ceae33d049f0ef50e8abb9229b569ebfcf7d; main is at {'f' * 40}" in report["notes"]


def test_a_revision_that_is_not_a_full_commit_and_a_renamed_repository_are_findings(hub: LoopbackHub) -> None:
    import mteb

    dataset, sha = mteb.get_task("BarExamQA").metadata.dataset, "49c07b6" + "0" * 33
    repo = publish(hub, "BarExamQA", parts(), revision=sha)
    repo.branches[dataset["revision"]] = sha
    hub.repos["isaacus/barexam"] = hub.repos.pop(dataset["path"])
    hub.renamed[dataset["path"]] = "isaacus/barexam"
    _, [report] = check("mteb:BarExamQA")
    assert details(report, "metadata_differs")[:2] == [
        ("warning", "", f"the revision 49c07b6 is not a full commit; it is {sha} now"),
        ("warning", "", "the repository is called isaacus/barexam now"),
    ]


def test_each_subset_is_checked_with_its_own_languages_and_a_missing_one_is_an_error(hub: LoopbackHub) -> None:
    split = "train-00000-of-00001.parquet"
    files = {f"{pair}/{split}": parquet(**PAIR) for pair in ("en-ha", "en-ig", "en-yo")}
    publish(hub, "NollySentiBitextMining", files | {"README.md": card("en-ha", "en-ig", "en-yo", train=split)})
    code, reports = check("mteb:NollySentiBitextMining")
    assert code == 4
    assert [(report["subset"], report["languages"]) for report in reports] == [
        ("en-ha", ["eng-Latn"]), ("en-ig", ["eng-Latn"]), ("en-yo", ["eng-Latn"]),
    ]  # fmt: skip
    assert "language that cannot be detected, not checked: hau-Latn" in reports[0]["notes"]
    assert details(reports[0], "missing_table") == [("error", "en-pcm", "mteb evaluates this subset")]
    assert details(reports[1], "missing_table") == []
    rows = ("warning", "en-ig/train", "2 rows, 410 in mteb's statistics")
    assert details(reports[1], "metadata_differs") == [rows]
    _, [report] = check("mteb:NollySentiBitextMining", "--subset", "en-yo")
    assert (report["subset"], details(report, "missing_table")) == ("en-yo", [])
    code, [failure] = check("mteb:NollySentiBitextMining", "--subset", "en-de")
    assert (code, failure["error"]["found"]) == (2, "en-de")


def test_python_checks_one_subset_of_one_task(hub: LoopbackHub) -> None:
    split = "train-00000-of-00001.parquet"
    files = {f"{pair}/{split}": parquet(**PAIR) for pair in ("en-ha", "en-yo")}
    publish(hub, "NollySentiBitextMining", files | {"README.md": card("en-ha", "en-yo", train=split)})
    result = ed.check("mteb:NollySentiBitextMining", subset="en-yo")
    assert (result.dataset, result.task) == ("mteb:NollySentiBitextMining en-yo", "BitextMining")
    with pytest.raises(UsageError, match="means 2 subsets") as caught:
        ed.check("mteb:NollySentiBitextMining")
    assert caught.value.found == "en-ha, en-yo"
    with pytest.raises(UsageError, match=r"means \d+ tasks"):
        ed.check("mteb:MTEB(rus, v1.1)")
    with pytest.raises(UsageError, match="mteb says how its tasks are read"):
        ed.check("mteb:TERRa", language="rus-Cyrl")


def test_only_the_subsets_and_splits_that_mteb_reads_are_downloaded(hub: LoopbackHub) -> None:
    files = {"ru": parts("ru-", "dev", top_ranked=CANDIDATES), "de": parts("de-", "dev", top_ranked=CANDIDATES)}
    names = [f"{subset}-{part}" for subset in files for part in ("corpus", "queries", "qrels", "top_ranked")]
    tree = files["ru"] | files["de"] | {"README.md": card(*names, dev="dev.parquet", train="dev.parquet")}
    publish(hub, "MIRACLReranking", tree)
    _, [report] = check("mteb:MIRACLReranking", "--subset", "ru")
    assert (report["subset"], report["languages"]) == ("ru", ["rus-Cyrl"])
    assert {table["split"] for table in report["tables"]} == {"dev"}
    fetched = {request.path.split("/")[-2] for request in hub.log if request.path.endswith(".parquet")}
    assert fetched == {name for name in names if name.startswith("ru-")}


def test_an_evaluated_split_that_is_missing_is_an_error(hub: LoopbackHub) -> None:
    publish(hub, "KinopoiskClassification", {"data/train-00000-of-00001.parquet": parquet(**TEXTS)})
    code, [report] = check("mteb:KinopoiskClassification")
    assert (code, report["verdict"]["state"], report["mteb"]["rows"]) == (4, "defective", {"test": {}})
    assert details(report, "missing_table") == [("error", "default/test", "mteb evaluates this split")]
    publish(hub, "HeadlineClassification", {"data/test-00000-of-00001.parquet": parquet(**TEXTS)})
    _, [report] = check("mteb:HeadlineClassification")
    assert [location for _, location, _ in details(report, "missing_table")] == ["default/train"]


def test_a_task_that_cannot_be_read_says_why(hub: LoopbackHub) -> None:
    publish(hub, "TERRa", {"data/dev-00000-of-00001.parquet": parquet(**PAIR, labels=[1, 0])}, revision="a" * 40)
    publish(hub, "CEDRClassification", {"data/test-00000-of-00001.parquet": b"not for everybody"}, gated=True)
    publish(hub, "KinopoiskClassification", {"data/test-00000-of-00001.parquet": parquet(number=[1, 2])})
    tasks = [
        "TERRa",
        "CEDRClassification",
        "KinopoiskClassification",
        "STS22",
        "Core17InstructionRetrieval",
        "CIFAR10",
    ]
    code, failures = check(*(f"mteb:{task}" for task in tasks))
    errors = {failure["dataset"]: failure["error"] for failure in failures}
    assert (code, [*errors]) == (3, [f"mteb:{task}" for task in tasks])
    moved, gated, columns, absent, unsupported, images = errors.values()
    assert moved["what"] == "the repository lacks the revision of mteb"
    assert (moved["expected"], moved["found"]) == ("48312c334eb916d88481dc4a41bd0d8b2fa0d576", f"main at {'a' * 40}")
    assert "restricted" in gated["found"]
    assert "number" in columns["found"]
    assert absent["what"] == "no such repository on the Hub, or a private one"
    assert (unsupported["what"], unsupported["found"]) == (
        "tasks of this type are not supported", "InstructionReranking of text",
    )  # fmt: skip
    assert images["found"] == "ImageClassification of image"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mteb:CEDRClasification"], "did you mean 'CEDRClassification'"),
        (["mteb:mteb(RUS, v1.2)"], "did you mean 'MTEB(rus, v1.1)' or 'MTEB(rus, v1)'"),
        (["mteb:TERRa", "--language", "rus-Cyrl"], "mteb says how its tasks are read"),
        (["mteb:TERRa", "--against", "published"], "mteb says how its tasks are read"),
        (["cedr", "--format", "mteb"], "--format mteb is for tasks of mteb"),
    ],
)
def test_a_mistake_on_the_command_line_exits_with_2(arguments: list[str], said: str) -> None:
    done = run("check", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_without_mteb_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.mteb_tasks.registry.find_spec", lambda name: None)
    done = run("check", "mteb:TERRa")
    assert done.returncode == 2
    assert "pip install 'embedding-datasets[mteb]'" in done.stderr


def test_the_tasks_of_a_language_are_those_of_text_with_their_subsets_of_it() -> None:
    import mteb

    from pipelines.mteb_tasks.checking import resolve_tasks

    targets = {target.name: target.mteb_task for target in resolve_tasks("mteb:rus-Cyrl")}
    assert len(targets) > 60
    assert targets["mteb:STS22.v2"].hf_subsets == ["ru"]
    assert targets["mteb:MIRACLReranking"].hf_subsets == ["ru"]
    assert "mteb:TERRa" in targets or mteb.get_task("TERRa").metadata.superseded_by
    assert all(task.metadata.modalities == ["text"] for task in targets.values())
