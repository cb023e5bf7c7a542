"""An index of tasks of mteb: their names, revisions, subsets, splits and columns are those of the mteb that is installed; their
datasets are on a Hub in memory, a few rows each in the layouts that mteb publishes.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from builders.shaping.folding import hash_texts
from pipelines.decontamination import mteb_tasks
from pipelines.decontamination.index_file import read_index, read_record
from pipelines.decontamination.mteb_tasks import find_mteb_datasets, index_mteb
from pipelines.hub import client
from pipelines.mteb_tasks.registry import describe_dataset
from tests.pipelines.decontamination.test_clean import run_scan
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.mteb_hub import card, mteb_hub, parquet, publish

pytestmark = pytest.mark.extra("mteb")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with mteb_hub(tmp_path, monkeypatch) as server:
        yield server


def publish_tasks(hub: LoopbackHub) -> None:
    """The datasets of eight tasks; three of them cannot be read."""
    train, test = ["never read of train"], ["headline of the test split", "another headline of it"]
    publish(
        hub,
        "HeadlineClassification",
        {
            "data/train-00000-of-00001.parquet": parquet(text=train, label=[0]),
            "data/test-00000-of-00001.parquet": parquet(text=test, label=[1, 0]),
        },
    )
    # All rows of a split in one, the layout of mteb 1.
    sides = {"sentence1": [["premise of a row", "other premise"]], "sentence2": [["hypothesis of a row", "other one"]]}
    publish(hub, "TERRa", {"data/dev-00000-of-00001.parquet": parquet(**sides, labels=[[1, 0]])})
    # Columns that the transformation of the task renames.
    pairs = parquet(text_1=["first of two paraphrases"], text_2=["second of two paraphrases"], **{"class": ["-1"]})
    publish(hub, "RUParaPhraserSTS", {"data/test-00000-of-00001.parquet": pairs})
    # A subset of many, with the parts of retrieval as configs.
    reranking = {
        "ru-corpus/dev.parquet": parquet(
            _id=["d1", "d2"], title=["A title", ""], text=["of a passage", "a distractor"]
        ),
        "ru-queries/dev.parquet": parquet(_id=["q1"], text=["a question in Russian"]),
        "ru-qrels/dev.parquet": parquet(**{"query-id": ["q1"], "corpus-id": ["d1"], "score": [1]}),
        "ru-top_ranked/dev.parquet": parquet(**{"query-id": ["q1"], "corpus-ids": [["d1", "d2"]]}),
        "de-corpus/dev.parquet": b"of another subset",
    }
    names = [f"ru-{part}" for part in ("corpus", "queries", "qrels", "top_ranked")]
    publish(hub, "MIRACLReranking", reranking | {"README.md": card(*names, "de-corpus", dev="dev.parquet")})
    # The layout of BEIR: judgements in the config `default`, one corpus for all splits.
    publish(
        hub,
        "RuBQRetrieval",
        {
            "corpus.jsonl": b'{"_id": "7", "title": "", "text": "a paragraph about Gogol"}\n',
            "queries.jsonl": b'{"_id": "1", "text": "who wrote Dead Souls"}\n',
            "qrels/test.tsv": b"query-id\tcorpus-id\tscore\n1\t7\t1\n",
        },
    )
    publish(hub, "CEDRClassification", {"data/test-00000-of-00001.parquet": b"not for everybody"}, gated=True)
    publish(hub, "KinopoiskClassification", {"data/test-00000-of-00001.parquet": parquet(number=[1, 2])})
    publish(hub, "RuReviewsClassification", {"data/train-00000-of-00001.parquet": parquet(text=train, label=[0])})


TASKS = [
    "HeadlineClassification", "TERRa", "RUParaPhraserSTS", "RuBQRetrieval", "CEDRClassification", "KinopoiskClassification",
    "RuReviewsClassification", "SensitiveTopicsClassification", "CIFAR10",
]  # fmt: skip
READ = [
    "headline of the test split", "another headline of it", "a paragraph about Gogol", "who wrote Dead Souls",
    "first of two paraphrases", "second of two paraphrases", "premise of a row", "hypothesis of a row", "other premise",
    "other one",
]  # fmt: skip


def test_the_evaluated_splits_are_indexed_and_what_cannot_be_read_is_listed_with_its_reason(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    publish_tasks(hub)
    tables = index_mteb(TASKS, tmp_path / "my.index", tmp_path / "cache")
    index = read_index(tmp_path / "my.index")
    assert index.columns["exact"].tolist() == [int(number) for number in hash_texts(pl.Series(READ))]
    assert [(table.dataset, table.config, table.split, table.column, table.rows) for table in tables] == [
        ("ai-forever/headline-classification", "default", "test", "text", 2),
        ("ai-forever/rubq-retrieval", "corpus", "corpus", "text", 1),
        ("ai-forever/rubq-retrieval", "queries", "queries", "text", 1),
        ("merionum/ru_paraphraser", "default", "test", "sentence1", 1),
        ("merionum/ru_paraphraser", "default", "test", "sentence2", 1),
        ("mteb/TERRa", "default", "dev", "sentence1", 2),
        ("mteb/TERRa", "default", "dev", "sentence2", 2),
    ]
    assert tables[0].version == "2fe05ee6b5832cda29f2ef7aaad7b7fe6a3609eb"
    assert [index.tables[number].pair for number in range(7)] == [None, None, None, 4, 3, 6, 5]
    assert index.columns["positives"].values.tolist() == [2]
    assert list((tmp_path / "cache").rglob("*.parquet")) == []  # no download is left
    record = read_record(tmp_path / "my.index")
    reasons = {unread.tasks[0]: unread.reason for unread in record.unread}
    assert list(reasons) == [
        "CIFAR10", "KinopoiskClassification", "RuReviewsClassification", "SensitiveTopicsClassification", "CEDRClassification",
    ]  # fmt: skip
    assert reasons["CIFAR10"] == "it has image; tasks of text alone are read"
    assert "none of the splits that mteb evaluates" in reasons["RuReviewsClassification"]
    assert "number" in reasons["KinopoiskClassification"]
    assert "no such repository" in reasons["SensitiveTopicsClassification"]
    assert "restricted" in reasons["CEDRClassification"]
    assert record.licenses["merionum/ru_paraphraser"] == "mit"
    assert record.source.startswith("HeadlineClassification, TERRa, ")


def test_a_benchmark_has_its_subsets_and_splits() -> None:
    source, datasets, unread = find_mteb_datasets(["MTEB(rus, v1.1)"])
    found = {dataset.path: dataset for dataset in datasets}
    assert source.startswith("MTEB(rus, v1.1) of mteb 2.")
    assert unread == []
    assert len({task for dataset in datasets for task in dataset.tasks}) == 23
    assert found["mteb/MIRACLReranking"].subsets == ("ru",)
    assert found["mteb/amazon_massive_intent"].splits == ("test", "validation")
    assert found["ai-forever/ru-scibench-grnti-classification"].tasks == (
        "RuSciBenchGRNTIClassification",
        "RuSciBenchGRNTIClusteringP2P",
    )
    assert found["merionum/ru_paraphraser"].readings[0] == (
        "STS",
        (("sentence1", "text_1"), ("sentence2", "text_2"), ("score", "class")),
    )


def test_all_tasks_have_a_dataset_or_a_reason() -> None:
    import mteb

    names = {task.metadata.name for task in mteb.get_tasks(exclude_superseded=False, exclude_aggregate=True)}
    _, datasets, unread = find_mteb_datasets(["all"])
    assert names <= {name for one in [*datasets, *unread] for name in one.tasks}
    assert len(datasets) > 1000
    with pytest.raises(UsageError, match="has no benchmark and no task of this name"):
        find_mteb_datasets(["MTEB(rus, v7)"])


def test_parts_of_a_subset_are_read_and_other_subsets_are_not(hub: LoopbackHub, tmp_path: Path) -> None:
    import mteb

    publish_tasks(hub)
    russian = mteb.get_task("MIRACLReranking", hf_subsets=["ru"])
    dataset = describe_dataset([russian])
    part = mteb_tasks._index_dataset(client.connect(), dataset, tmp_path / "parts")
    found = read_index(part)
    texts = ["A title of a passage", "a distractor", "a question in Russian"]
    assert found.columns["exact"].tolist() == [int(number) for number in hash_texts(pl.Series(texts))]
    assert [table.config for table in found.tables] == ["ru-corpus", "ru-queries"]


def test_a_split_that_one_of_several_subsets_lacks_and_a_config_without_a_layout_are_listed(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    table, number = parquet(text=["a command"], label=["play"]), parquet(number=[1])
    files = {
        "ru/validation.parquet": table,
        "ru/test.parquet": table,
        "de/test.parquet": table,
        "notes/test.parquet": number,
    }
    publish(hub, "MassiveIntentClassification", files)
    index_mteb(["MassiveIntentClassification"], tmp_path / "my.index", tmp_path / "cache")
    [unread] = read_record(tmp_path / "my.index").unread
    lacking = unread.reason.split("; ")
    assert [lacking[0], lacking[1], lacking[-1]] == [
        "no split validation of de", "no subset af", "the config notes has no known layout",
    ]  # fmt: skip
    assert (
        len([reason for reason in lacking if reason.startswith("no subset ")]) == 51 - 2
    )  # mteb has 51 languages of it
    assert [(table.config, table.split) for table in read_index(tmp_path / "my.index").tables] == [
        ("de", "test"), ("ru", "validation"), ("ru", "test"),
    ]  # fmt: skip


def test_an_interrupted_command_goes_on_where_it_was_and_gives_the_same_bytes(hub: LoopbackHub, tmp_path: Path) -> None:
    publish_tasks(hub)
    hub.fail_at["mteb/TERRa"] = Fault(status=503)
    with pytest.raises(SourceError, match="reading the repository failed"):
        index_mteb(TASKS[:4], tmp_path / "my.index", tmp_path / "cache")
    assert not (tmp_path / "my.index").exists()
    hub.stop_failing()
    hub.log.clear()
    index_mteb(TASKS[:4], tmp_path / "my.index", tmp_path / "cache")
    assert {request.path.split("/")[4] for request in hub.log if request.path.startswith("/api")} == {"TERRa"}
    index_mteb(TASKS[:4], tmp_path / "new.index", tmp_path / "other")
    assert (tmp_path / "my.index").read_bytes() == (tmp_path / "new.index").read_bytes()


def test_the_command_lists_what_the_index_lacks_and_so_does_a_scan_with_it(
    hub: LoopbackHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        assert run_scan(*arguments) == 0
        return " ".join(capsys.readouterr().out.split())

    publish_tasks(hub)
    tasks = [argument for name in ("TERRa", "CIFAR10") for argument in ("--mteb", name)]
    lack = "it has image; tasks of text alone are read, so not in the index: 1 dataset: mteb/cifar10"
    assert lack in run("index", *tasks, "--output", "my.index")
    (tmp_path / "corpus.jsonl").write_text('{"text": "premise of a row"}\n')
    assert lack in run("scan", "corpus.jsonl", "--index", "my.index")
    last = run("scan", "corpus.jsonl", "--index", "my.index", "--json").splitlines()[-1]
    assert '"not_indexed": [{"dataset": "mteb/cifar10"' in last
    with pytest.raises(UsageError, match="with --mteb, splits"):
        run("index", *tasks, "--splits", "train", "--output", "my.index")
    with pytest.raises(UsageError, match="and no --mteb"):
        run("index", "cedr", *tasks, "--output", "my.index")
