"""Trainers read what is exported, and the code in an export trains on it."""

import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.consumer_process import ORG, Published, publish_releases, run_consumer
from tests.support.exports import CHOICES, export, read_columns, read_lines
from tests.support.loopback_hub import LoopbackHub
from tests.support.paths import ROOT
from tests.support.processes import environment
from tests.support.training_releases import SEARCH, pair, write_training_release

DATASETS = ("ru-hnp-contrastive", "ru-wanli-contrastive")


class Trainer:
    """What the code of a card or an export passes to the trainer of sentence-transformers, instead of a training."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.settings: dict[str, Any] = {}
        self.train: dict[str, Any] = {}
        self.losses: list[dict[str, Any]] = []
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", cache)
        samplers = {"BatchSamplers": types.SimpleNamespace(NO_DUPLICATES="no_duplicates")}
        samplers["MultiDatasetBatchSamplers"] = types.SimpleNamespace(PROPORTIONAL="proportional")
        loss = self.set_loss
        modules = {
            "": {
                "SentenceTransformer": lambda name: name,
                "SentenceTransformerTrainer": self.set_data,
                "SentenceTransformerTrainingArguments": self.set_arguments,
            },
            ".sentence_transformer": {},
            ".sentence_transformer.losses": {
                "MultipleNegativesRankingLoss": loss, "CachedMultipleNegativesRankingLoss": loss,
            },
            ".sentence_transformer.training_args": samplers,
        }  # fmt: skip
        for name, members in modules.items():
            module = types.ModuleType(f"sentence_transformers{name}")
            vars(module).update(members)
            monkeypatch.setitem(sys.modules, module.__name__, module)

    def set_arguments(self, output: str, **settings: Any) -> None:
        self.settings = settings

    def set_loss(self, _: object, **settings: Any) -> None:
        self.losses.append(settings)

    def set_data(self, *_: object, train_dataset: dict[str, Any], **__: object) -> types.SimpleNamespace:
        self.train = train_dataset
        return types.SimpleNamespace(train=lambda: None)


def code_of(readme: Path) -> str:
    """The block of Python code that trains."""
    blocks: list[str] = re.findall(r"(?ms)^```python\n(.*?)^```$", readme.read_text("utf-8"))
    [block] = [block for block in blocks if "SentenceTransformerTrainer" in block]
    return block


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trainer:
    return Trainer(monkeypatch, tmp_path / "cache")


def test_the_code_of_an_export_loads_every_row_with_a_prompt_for_each_column(
    trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [pair("who", "a b", provided="c d"), pair("when", "e", provided="f"), pair("why", "g")]
    release_dir = write_training_release(tmp_path, {"faq": rows}, {"faq": SEARCH})
    written = export([release_dir], tmp_path / "to", CHOICES["sentence-transformers"])
    monkeypatch.chdir(tmp_path / "to")
    exec(code_of(tmp_path / "to" / "README.md"), {})
    files = {file["name"]: tmp_path / "to" / file["path"] for one in written["sets"] for file in one["files"]}
    assert {name: data.to_list() for name, data in trainer.train.items()} == {
        name: read_columns(path) for name, path in files.items()
    }
    for name, data in trainer.train.items():
        assert list(trainer.settings["prompts"][name]) == data.column_names
    assert trainer.settings["multi_dataset_batch_sampler"] == "proportional"
    assert trainer.losses == [{"scale": 50}]


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_code_of_a_card_trains_on_the_same_rows_with_the_same_prompts(
    dataset: str, golden_release: Callable[..., BuildResult], trainer: Trainer, tmp_path: Path
) -> None:
    release_dir = golden_release(dataset, "1.0.0").release_dir
    code = code_of(release_dir / folder.CARD)
    exec(re.sub(r"repo = .*", f"repo = {str(release_dir)!r}", code.replace("negatives = 1", "negatives = 7")), {})
    export([release_dir], tmp_path / "to", CHOICES["sentence-transformers"])
    [name] = trainer.train
    assert trainer.train[name].to_list() == read_columns(tmp_path / "to" / "data" / f"{name}.parquet")
    training = json.loads((tmp_path / "to" / "training.json").read_text("utf-8"))
    assert trainer.settings["prompts"][name] == training["prompts"][name]
    assert trainer.settings["multi_dataset_batch_sampler"] == "proportional"


def test_a_readme_says_what_is_in_the_export_and_how_to_train_on_it(tmp_path: Path) -> None:
    rows = [pair("who", "a", provided="c d"), pair("when", "e")]
    release_dir = write_training_release(tmp_path, {"faq": rows}, {"faq": SEARCH}, sample=True)
    readme = {}
    for trainer, choices in CHOICES.items():
        export([release_dir], tmp_path / trainer, choices)
        readme[trainer] = (tmp_path / trainer / "README.md").read_text("utf-8")
        assert "- `toy-contrastive@1.0.0`, a sample, content_sha256 `" in readme[trainer]
    assert "| `faq` | `data/faq.jsonl` | 1 | 1.0 | `search_query: ` | `search_document: ` |" in readme["flagembedding"]
    assert "Rows dropped from `faq`: 1 (no negative)." in readme["medi"]
    assert "--train_group_size 8" in readme["flagembedding"]
    assert "The instructions are empty" in readme["medi"]


@pytest.fixture(scope="module")
def published(
    golden_release: Callable[..., BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    """A Hub with the golden releases of two training sets, each tagged with its version."""
    with LoopbackHub() as server:
        releases = [golden_release(name) for name in DATASETS]
        yield publish_releases(server, releases, tmp_path_factory.mktemp("published"), sample=True)


def export_by_tag(published: Published, trainer: str, work: Path) -> Path:
    """The export of both releases by their tags on the Hub."""
    names = [f"{repo}@v{release.version}" for repo, release in published.releases.items()]
    command = [sys.executable, "-m", "pipelines.export", *names, "--as", trainer, "--to", str(work / "export")]
    variables = environment(published.server, work)
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return work / "export"


@pytest.mark.slow
@pytest.mark.extra("accelerate", "sentence_transformers")
def test_a_small_model_learns_from_a_release_by_tag(published: Published, tmp_path: Path) -> None:
    target = export_by_tag(published, "sentence-transformers", tmp_path)
    configs = {
        repo: (f"v{one.version}", one.dataset.removesuffix("-contrastive")) for repo, one in published.releases.items()
    }
    job = {"export": str(target), "code": code_of(target / "README.md"), "repos": configs}
    answer = run_consumer(published.server, "train", job, tmp_path)
    for repo, (_, config) in configs.items():
        expected = [
            [row["query"], row["positives"][0], *row["negatives"]]
            for row in answer["rows"][f"{ORG}/{repo.split('/')[1]}"]
        ]
        assert [list(row.values()) for row in read_columns(target / "data" / f"{config}.parquet")] == expected
    first, last = answer["losses"][:4], answer["losses"][-4:]
    assert len(answer["losses"]) >= 20
    assert sum(last) < sum(first) / 2, answer["losses"]
    assert answer["anchor"].startswith("classification : "), "the prompt is before the text"


@pytest.mark.slow
def test_flagembedding_reads_lines_with_its_own_loaders(published: Published, tmp_path: Path) -> None:
    packages = ["FlagEmbedding==1.4.2", "peft==0.21.2", "ir_datasets==0.6.3", "accelerate==1.15.0", "psutil==7.2.2"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "packages")]
    inherited = {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}
    subprocess.run([*command, *packages], check=True, capture_output=True, env=inherited)
    target = export_by_tag(published, "flagembedding", tmp_path)
    script = ROOT / "tests" / "support" / "flagembedding_loaders.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(target / "data"), str(tmp_path / "answer.json")],
        env=inherited | {"PYTHONPATH": str(tmp_path / "packages"), "HF_HOME": str(tmp_path / "hf")},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads((tmp_path / "answer.json").read_text("utf-8"))
    rows = {row["query"]: row for path in (target / "data").iterdir() for row in read_lines(path)}
    assert {query for query, _ in answer["mixed"]} == set(rows)
    for query, passages in [*answer["mixed"], *answer["same dataset"]]:
        assert passages[0] in rows[query]["pos"]
        assert len(passages) == 8
        assert set(passages[1:]) == set(rows[query]["neg"])
    assert answer["same dataset"]
