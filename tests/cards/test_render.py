"""The card of a release: valid for the Hub, loadable, safe against its data, the same for the same rows."""

from __future__ import annotations

import ast
import html
import importlib
import json
import logging
import re
import socket
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.benchmarks import BENCHMARKS
from builders.catalogue import Definition, Entry
from builders.column_types import type_name
from builders.spec import Prompts, Source, Tables, Version, dataset
from builders.tasks import TYPES
from cards import front_matter, markdown
from cards.render import bibtex, prose, render

CARDS = Path(front_matter.__file__).parent
PROSE = sorted((CARDS / "prose").glob("*.md"))
HOSTILE = (
    "a `b` ```c``` ~~~ | d\n\n---\n\n# e <script>f</script> {{ 7 * 7 }} {% raw %} [g](http://h) <!-- \u202e $$x$$ \\|"
)

TASKS: dict[str, tasks.Task] = {
    "Retrieval": tasks.Retrieval(),
    "Reranking": tasks.Reranking(),
    "Classification": tasks.Classification(labels=("bad", "good"), splits=("train", "test")),
    "MultilabelClassification": tasks.MultilabelClassification(labels=("joy", "fear")),
    "PairClassification": tasks.PairClassification(names=("not_entailment", "entailment"), splits=("dev",)),
    "STS": tasks.STS(low=-1.0, high=1.0),
    "Clustering": tasks.Clustering(),
    "BitextMining": tasks.BitextMining(pair="en-de"),
}
# A source and a dataset whose prose is in the package, and the languages of the texts.
NAMES = {
    "Retrieval": ("rubq", "rubq-retrieval", ("rus-Cyrl",)),
    "Reranking": ("rubq", "rubq-reranking", ("rus-Cyrl",)),
    "Classification": ("hh_rlhf", "hhrlhf-harmlessness-classification", ("eng-Latn",)),
    "MultilabelClassification": ("cedr", "cedr-classification", ("rus-Cyrl",)),
    "PairClassification": ("terra", "terra-pairclassification", ("rus-Cyrl",)),
    "STS": ("paraphraser", "ru-paraphraser-sts", ("rus-Cyrl",)),
    "Clustering": ("rubq", "rubq-retrieval", ("rus-Cyrl",)),
    "BitextMining": ("document_mt", "europarl-bitext", ("eng-Latn", "deu-Latn")),
}


def built_for(task_type: str, **source: Any) -> Definition:
    """A dataset of a task type, with two versions, as a builder would declare it."""
    name, dataset_name, languages = NAMES[task_type]

    def recipe(raw: object, *, minimum: int = 9, words: tuple[str, ...] = ("a|b",)) -> Tables:
        """Every line that is `<d>` or <d> opens a document.

        Columns: id (string), text (string).
        """
        raise NotImplementedError

    made = dataset(
        dataset_name,
        task=TASKS[task_type],
        languages=languages,
        needs=("all",),
        versions={"1.0.0": "the paper's recipe", "1.10.0": "one more column", "1.9.0": Version("nine")},
        benchmark="rumteb" if "rus-Cyrl" in languages else "ateb",
        prompts=Prompts("Find the answer", ("search_query", "search_document"), ("query",)),
    )(recipe)
    record = {
        "title": "A source",
        "license": "cc-by-sa-4.0",
        "homepage": "https://example.org/s",
        "citation": "clark2018arc",
    }
    given_source = Source(name=name, files={}, annotations=("crowdsourced",), **(record | source))
    return Definition(Entry(dataset_name, name, "builders.toy", Path("toy.py"), made.group), given_source, made)


def frames_for(task_type: str, text: str = "ответ") -> dict[str, dict[str, pl.DataFrame]]:
    """Small tables of a task type, with the columns and types of builders.tasks."""
    task = TASKS[task_type]
    cells: dict[str, Any] = {
        "string": [text, "second", "third"],
        "int64": [0, 1, 1],
        "float64": [-1.0, 0.0, 1.0],
        "list<string>": [["first", "second"], ["second"], []],
        "list<int64>": [[0, 1], [], [1]],
    }
    types = {
        "string": pl.String(),
        "int64": pl.Int64(),
        "float64": pl.Float64(),
        "list<string>": pl.List(pl.String),
        "list<int64>": pl.List(pl.Int64),
    }
    return {
        layout.config: {
            split: pl.DataFrame([pl.Series(name, cells[kind], types[kind]) for name, kind in layout.columns.items()])
            for split in task.splits
        }
        for layout in tasks.layouts(task)
    }


def manifest_for(built: Definition, frames: dict[str, dict[str, pl.DataFrame]], **changes: Any) -> dict[str, Any]:
    """The manifest of a release of these tables; file sizes are not those of real files."""
    tables = [
        {
            "config": config,
            "split": split,
            "rows": frame.height,
            "columns": [{"name": name, "type": type_name(dtype)} for name, dtype in frame.schema.items()],
            "content_sha256": "c" * 64,
            "num_bytes": 300,
            "files": [{"path": f"{split}-00000-of-00001.parquet", "bytes": 100, "sha256": "f" * 64}],
        }
        for config, splits in frames.items()
        for split, frame in splits.items()
    ]
    prompts = built.dataset.prompts
    assert prompts is not None
    manifest = {
        "limit": None,
        "dataset": built.dataset.name,
        "version": "1.9.0",
        "source": built.source.name,
        "task": built.dataset.task.type.name,
        "content_sha256": "d" * 64,
        "tables": tables,
        "raw": [
            {"name": "a.jsonl", "url": "https://example.org/a", "sha256": "a" * 64, "bytes": 12345, "verified": True}
        ],
        "recipe": {"module": "builders.toy", "options": {"minimum": 9, "words": ["a|b"]}, "sha256": "e" * 64},
        "dropped": [{"reason": "empty answer", "count": 4, "split": "test", "examples": ["x-1"]}],
        "observed": {"paragraphs after merging": 56826},
        "findings": [
            finding("short_text", "info", 1, 0.5),
            finding("duplicate_text", "warning", 1234, 0.00001),
        ],
        "prompts": {"instruction": prompts.instruction, "rosberta": [*prompts.rosberta], "e5": [*prompts.e5]},
        "sample": False,
        "partial": False,
        "tools": {"python": "3.11"},
        "built_at": "2025-01-01T00:00:00Z",
    }
    return manifest | changes


def finding(kind: str, severity: str, count: int, share: float, **others: Any) -> dict[str, Any]:
    place = {"config": "default", "split": "test", "column": "text", "examples": ["id-1"], "detail": "", "why": ""}
    return {"kind": kind, "severity": severity, "count": count, "share": share, **place, **others}


def statistics_for(built: Definition) -> dict[str, Any]:
    return {
        split: {
            "num_samples": 3600,
            "image_statistics": None,
            "sentence1_statistics": {"min_text_length": 1, "average_text_length": 12.3456},
            "labels_statistics": {"labels": {"0": {"count": 3}}},
        }
        for split in built.dataset.task.splits
    }


def examples_for(frames: dict[str, dict[str, pl.DataFrame]]) -> dict[str, dict[str, Any]]:
    return {config: next(iter(splits.values())).row(0, named=True) for config, splits in frames.items()}


def card_for(task_type: str, *, source: dict[str, Any] | None = None, **changes: Any) -> str:
    built, frames = built_for(task_type, **(source or {})), frames_for(task_type)
    manifest = manifest_for(built, frames, **changes)
    return render(built, manifest, statistics_for(built), examples_for(frames))


def head_of(card: str) -> dict[str, Any]:
    found = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    assert found is not None
    head = yaml.safe_load(found[1])
    assert isinstance(head, dict)
    return head


def write_release(folder: Path, task_type: str, **changes: Any) -> None:
    """A release as a folder: Parquet files where the contract has them, and the card."""
    built, frames = built_for(task_type), frames_for(task_type)
    manifest = manifest_for(built, frames)
    for table in manifest["tables"]:
        place = folder / ("data" if table["config"] == "default" else table["config"])
        place.mkdir(parents=True, exist_ok=True)
        path = place / table["files"][0]["path"]
        frames[table["config"]][table["split"]].write_parquet(path)
        table["files"][0]["bytes"] = path.stat().st_size
        table.update(changes)
    card = render(built, manifest, statistics_for(built), examples_for(frames))
    (folder / "README.md").write_text(card, encoding="utf-8")


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, without a network; imported so because it has no types."""

    def refuse(*_: object) -> None:
        raise AssertionError("this test must not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return importlib.import_module("datasets")


@pytest.mark.parametrize("task_type", TASKS)
def test_front_matter_survives_huggingface_hub_unchanged(task_type: str) -> None:
    from huggingface_hub import DatasetCard, DatasetCardData

    card = card_for(task_type)
    loaded: Any = DatasetCard(card)
    again: Any = DatasetCard(str(loaded))
    assert loaded.data.to_dict() == again.data.to_dict() == head_of(card)
    assert isinstance(loaded.data, DatasetCardData)
    assert loaded.text.lstrip().startswith(f"# {NAMES[task_type][1]}\n")


@pytest.mark.parametrize("task_type", TASKS)
def test_front_matter_uses_the_words_of_the_hub(task_type: str) -> None:
    head = head_of(card_for(task_type))
    assert set(head["language"]) <= {"ru", "en", "de"}
    assert set(head["task_categories"]) <= {
        "text-retrieval", "text-ranking", "text-classification", "sentence-similarity", "translation",
    }  # fmt: skip
    assert set(head["task_ids"]) <= {
        "document-retrieval", "multi-class-classification", "multi-label-classification",
        "multi-input-text-classification", "semantic-similarity-scoring",
    }  # fmt: skip
    assert head["multilinguality"] == (["translation"] if task_type == "BitextMining" else ["monolingual"])
    assert head["source_datasets"] == [f"extended|other-{NAMES[task_type][0]}"]
    assert head["size_categories"] == ["n<1K"]
    assert head["annotations_creators"] == ["crowdsourced"]
    assert head["tags"][0] == "mteb"


def test_every_task_type_of_the_builders_can_have_a_card() -> None:
    types = {task.type.name for task in get_args(tasks.Task)}
    assert types == set(TASKS) == set(TYPES)


def test_a_licence_without_an_id_has_a_name_and_a_link() -> None:
    head = head_of(card_for("BitextMining", source={"license": "other", "license_note": "Corpora: <own> terms."}))
    assert [head["license"], head["license_name"], head["license_link"]] == [
        "other", "document-mt-terms", "https://example.org/s",
    ]  # fmt: skip
    assert "other. Corpora: &lt;own> terms." in card_for(
        "BitextMining", source={"license": "other", "license_note": "Corpora: <own> terms."}
    )


@given(st.integers(min_value=0, max_value=10**10 - 1))
def test_a_size_category_holds_the_number_of_rows(rows: int) -> None:
    bucket = front_matter.size_category(rows)
    numbers = [int(number) * 1000 ** "_KMB".index(unit or "_") for number, unit in re.findall(r"(\d+)([KMB]?)", bucket)]
    low, high = numbers if len(numbers) == 2 else (0, numbers[0])
    assert low <= rows < high


def test_an_unknown_language_is_an_error_that_says_where_to_add_it() -> None:
    with pytest.raises(ValueError, match=r"'tat-Cyrl': add it to LANGUAGES"):
        front_matter.language("tat-Cyrl")


def test_a_release_of_one_config_loads_with_its_splits_and_types(
    tmp_path: Path, datasets: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("datasets"), "propagate", True)  # its warnings go to caplog
    write_release(tmp_path / "release", "MultilabelClassification")
    for name in ("default", None):
        loaded = datasets.load_dataset(
            str(tmp_path / "release"), name, revision="v1.9.0", cache_dir=str(tmp_path / "cache")
        )
        assert list(loaded) == ["train", "test"]
        assert loaded["test"].features == {
            "text": datasets.Value("string"),
            "label": datasets.List(datasets.Value("int64")),
        }
        assert loaded["test"]["label"][:] == [[0, 1], [], [1]]
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(("task_type", "configs"), [
    ("Retrieval", ["corpus", "queries", "qrels"]), ("Reranking", ["corpus", "queries", "qrels", "top_ranked"]),
])  # fmt: skip
def test_a_release_of_several_configs_loads_each_by_name(
    tmp_path: Path, task_type: str, configs: list[str], datasets: Any
) -> None:
    folder, cache = str(tmp_path / "release"), str(tmp_path / "cache")
    write_release(tmp_path / "release", task_type)
    assert sorted(datasets.get_dataset_config_names(folder)) == sorted(configs)
    for config in configs:
        loaded = datasets.load_dataset(folder, config, cache_dir=cache)
        expected = frames_for(task_type)[config]["test"]
        assert loaded["test"].to_list() == expected.to_dicts()
    with pytest.raises(ValueError, match="Config name is missing"):
        datasets.load_dataset(folder, cache_dir=cache)


def test_the_only_config_of_a_release_loads_without_its_name(tmp_path: Path, datasets: Any) -> None:
    write_release(tmp_path / "release", "BitextMining")
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    assert loaded["test"].column_names == ["sentence1", "sentence2"]


def test_datasets_refuses_a_release_with_fewer_rows_than_its_card_says(tmp_path: Path, datasets: Any) -> None:
    errors = importlib.import_module("datasets.utils.info_utils")
    write_release(tmp_path / "release", "STS", rows=4)
    with pytest.raises(errors.NonMatchingSplitsSizesError):
        datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))


def skeleton(card: str) -> list[str]:
    """What Markdown sees: headings, the number of cells of each table line, where fences begin and end."""
    shape, fence = [], ""
    for line in card.split("---\n", 2)[2].splitlines():
        if fence:
            fence = "" if line == fence else fence
            shape += [] if fence else ["end of fence"]
        elif found := re.match("(`{3,})[a-z]*$", line):
            fence = found[1]
            shape.append("fence")
        elif line.startswith("#"):
            shape.append(line)
        elif line.startswith("|"):
            shape.append(f"{line.count('|')} pipes")
    assert not fence
    return shape


def hostile_card(text: str) -> str:
    """A card in which a text stands wherever raw data can come through."""
    built, frames = built_for("Reranking"), frames_for("Reranking", text)
    manifest = manifest_for(
        built,
        frames,
        dropped=[{"reason": text, "count": 1, "split": text, "examples": [text]}],
        observed={text: 3},
        findings=[finding("short_text", "info", 1, 1.0, examples=[text], detail=text)],
        raw=[{"name": text, "url": f"https://{text}", "sha256": "a", "bytes": 1, "verified": True}],
        recipe={"module": "m", "options": {"words": [text], "one": text}, "sha256": "e"},
    )
    statistics = {"test": {"labels_statistics": {"labels": {text: {"count": 1}}, "longest": text}}}
    examples = examples_for(frames) | {"corpus": {"id": text, text: [text] * 20}}
    return render(built, manifest, statistics, examples)


@pytest.mark.parametrize(
    "text", [HOSTILE, "```", "|", "`", "\\|", "\\", "---\n---", "<d>", "{{ x }}", " ", "", "\x00\x85\u2028"]
)
def test_texts_of_the_data_cannot_break_the_card(text: str) -> None:
    card = hostile_card(text)
    assert skeleton(card) == skeleton(hostile_card("harmless"))
    assert head_of(card) == head_of(hostile_card("harmless"))


@given(st.text(alphabet=st.sampled_from("`|\\<>{%}#*_-=~[]()!&$\n\r\u2028 a"), max_size=12))
def test_no_text_of_any_markup_breaks_the_card(text: str) -> None:
    assert skeleton(hostile_card(text)) == skeleton(hostile_card("harmless"))


def test_html_and_templates_of_the_data_are_shown_not_run() -> None:
    card = hostile_card(HOSTILE)
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?^\1$", "", card)
    assert "<script>" not in re.sub("`[^`\n]*`", "", outside)
    assert "{{ 7 * 7 }}" in card
    assert "49 {%" not in card
    assert "\u202e" not in card


def test_an_example_row_reads_back_as_json_with_long_values_cut() -> None:
    built, frames = built_for("STS"), frames_for("STS")
    row = {"sentence1": "```" * 200, "sentence2": "x", "score": 0.5, "ids": list(range(12))}
    card = render(built, manifest_for(built, frames), {}, {"default": row})
    found = re.search(r"(?s)## Example\n\n(`+)json\n(.*?)\n\1\n", card)
    assert found is not None
    assert len(found[1]) > 300
    shown = json.loads(found[2])
    assert shown == row | {"sentence1": "```" * 100 + " […]", "ids": [*range(10), "[…]"]}


@given(st.text())
def test_a_code_span_holds_any_text_and_gives_it_back(text: str) -> None:
    span = markdown.code(text, limit=10**6)
    assert span[0] == span[-1] == "`"
    assert not set(span[1:-1]) & {"`", "|", "\n"}
    assert span[1:-1].isprintable()
    assert json.loads(span[1:-1] if not text.strip() else f'"{span[1:-1]}"') == text


@given(st.text())
def test_plain_text_reads_as_it_is_on_one_line(text: str) -> None:
    shown = markdown.plain(text)
    assert not re.search(r"[\\`*_\[\]<>|~$]", shown)
    assert shown.isprintable()
    one_line = " ".join(text.split())
    assert html.unescape(shown) == one_line or not one_line.isprintable()


@given(st.text(alphabet="`\n a"))
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text: str) -> None:
    first, *_, last = markdown.fenced(text).split("\n")
    assert first == last
    assert first not in text


def test_hand_written_markdown_keeps_its_code_and_opens_no_html() -> None:
    card = card_for("STS")
    assert "Every line that is `<d>` or &lt;d> opens a document.\n\nColumns: id (string), text (string)." in card


@pytest.mark.parametrize("task_type", TASKS)
def test_the_mteb_snippet_is_python_that_names_the_task(task_type: str) -> None:
    snippet = next(code for code in re.findall(r"(?s)```python\n(.*?)```", card_for(task_type)) if "mteb" in code)
    tree = ast.parse(snippet)
    made = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    call = next(node.value for node in made.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    words = {word.arg: ast.unparse(word.value) for word in call.keywords}
    assert words["type"] == repr(task_type)
    assert words["eval_splits"] == repr(["dev" if task_type == "PairClassification" else "test"])
    assert words["dataset"] == "{'path': repo, 'revision': 'v1.9.0'}"
    assert ("query" in words["prompt"]) == (task_type in {"Retrieval", "Reranking"})
    if task_type == "BitextMining":
        assert words["eval_langs"] == "{'en-de': ['eng-Latn', 'deu-Latn']}"
    if task_type == "STS":
        assert "min_score = -1\n    max_score = 1\n" in snippet
    if task_type == "Clustering":
        assert "max_fraction_of_documents_to_embed = None" in snippet


def test_where_there_is_no_train_split_the_mteb_snippet_names_the_one_to_train_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "train_split" not in card_for("Classification")
    monkeypatch.setitem(TASKS, "Classification", tasks.Classification(("bad", "good"), ("validation", "test")))
    assert '    train_split = "validation"\n    metadata = mteb.TaskMetadata(' in card_for("Classification")
    built, frames = built_for("Classification"), frames_for("Classification")
    del frames["default"]["validation"]
    card = render(built, manifest_for(built, frames, partial=True), {}, examples_for(frames))
    assert "cannot be evaluated with mteb" in card


def test_a_complete_release_has_no_notice() -> None:
    assert "[!WARNING]" not in card_for("Retrieval")


def test_a_sample_says_at_the_top_that_it_is_not_the_dataset() -> None:
    card = card_for("Retrieval", sample=True)
    first = card.split("\n# rubq-retrieval\n\n")[1].split("\n\n")[0]
    assert first.startswith("> [!WARNING]\n> **Sample.**")
    assert first.endswith("this is not the dataset.")
    assert "python -m pipelines.build rubq-retrieval@1.9.0 --sample" in card


def test_a_partial_release_says_which_splits_it_lacks_and_offers_no_evaluation_it_cannot_run() -> None:
    built, frames = built_for("MultilabelClassification"), frames_for("MultilabelClassification")
    del frames["default"]["train"]
    card = render(built, manifest_for(built, frames, partial=True), {}, examples_for(frames))
    assert "**Partial.** Without the split `train`: this is not the whole dataset" in card
    assert "mteb.evaluate" not in card
    assert "cannot be evaluated with mteb" in card
    assert "pipelines.build cedr-classification@1.9.0 --splits test\n" in card
    assert "train" not in head_of(card)["configs"][0]["data_files"]


def test_a_release_of_some_rows_says_so() -> None:
    assert "**Partial.** Built from a part of the rows: " in card_for("STS", partial=True)


def test_an_unverified_raw_file_is_named_at_the_top_and_marked_in_the_table() -> None:
    raw = [
        {"name": "a.xml", "url": "https://example.org/a.xml", "sha256": "a", "bytes": 1, "verified": True},
        {"name": "by hand.xml", "url": None, "sha256": "b", "bytes": 2, "verified": False},
    ]
    card = card_for("STS", raw=raw)
    assert "**Unverified.** No digest is known for `by hand.xml`: whether this is the file" in card
    assert "| `a.xml` | <https://example.org/a.xml> | 1 | `a` | yes |" in card
    assert "| `by hand.xml` | – | 2 | `b` | **no** |" in card


def test_neither_the_clock_nor_the_tools_change_a_card() -> None:
    card = card_for("Retrieval")
    assert card == card_for("Retrieval", built_at="2031-12-31T23:59:59Z", tools={"python": "3.14", "polars": "9"})
    assert card != card_for("Retrieval", content_sha256="0" * 64)


def test_statistics_are_one_flat_table_a_split() -> None:
    card = card_for("MultilabelClassification")
    for split in ("train", "test"):
        table = card.split(f"### {split}\n\n")[1].split("\n\n")[0].splitlines()
        assert table[2:] == [
            "| num samples | 3,600 |",
            "| sentence1 statistics / min text length | 1 |",
            "| sentence1 statistics / average text length | 12.35 |",
            "| labels statistics / labels / 0 / count | 3 |",
        ]


def test_quantiles_and_shares_of_languages_are_a_row_each() -> None:
    built, frames = built_for("STS"), frames_for("STS")
    texts = {
        "text_length_quantiles": {"p01": 3, "p50": 1200, "p99": 20000},
        "languages": {"texts": 2000, "shares": {"ru": 0.99995, "uk": 0.00005}},
    }
    card = render(built, manifest_for(built, frames), {"test": {"text1_statistics": texts}}, examples_for(frames))
    assert "| text1 statistics / text length quantiles, % 1 / 50 / 99 | 3 / 1,200 / 20,000 |" in card
    assert "| text1 statistics / languages / texts | 2,000 |" in card
    assert "| text1 statistics / languages / shares | ru 100.00 %, uk &lt;0.01 % |" in card


def test_findings_stand_by_severity_with_their_share() -> None:
    table = card_for("STS").split("## Findings\n")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `duplicate_text` | warning | default / test / text | 1,234 | &lt;0.01 % | `id-1` | – |",
        "| `short_text` | info | default / test / text | 1 | 50.00 % | `id-1` | – |",
    ]


def test_a_known_finding_says_why_it_stays() -> None:
    known = finding("duplicate_text", "warning", 28, 0.01) | {"why": "The source has *them*."}
    card = card_for("STS", findings=[known, finding("short_text", "info", 1, 0.5)])
    listed = card.split("Known, and why they stay:\n\n")[1].split("\n\n")[0]
    assert listed == "- `duplicate_text` in default / test / text: The source has *them*."
    assert "why they stay" not in card_for("STS")


def test_a_clean_release_says_that_nothing_was_found_and_nothing_left_out() -> None:
    card = card_for("STS", findings=[], dropped=[], observed={}, prompts=None)
    assert "## Findings\n\nNo findings.\n" in card
    assert "### Left out\n\nNothing was left out.\n" in card
    assert "### Observed" not in card
    assert "### Prompts" not in card


def test_the_history_is_newest_first_by_number_and_marks_the_version() -> None:
    history = card_for("STS").split("### Versions\n\n")[1].split("\n\n")[0].splitlines()
    assert history == [
        "- **1.10.0**: one more column",
        "- **1.9.0** (this one): nine",
        "- **1.0.0**: the paper's recipe",
    ]


def test_prompts_say_which_is_for_queries_and_which_for_documents() -> None:
    card = card_for("Retrieval")
    assert "| instruct models | Find the answer |" in card
    assert "| ru-en-RoSBERTa | `search_query` for queries, `search_document` for documents |" in card
    assert "| E5 | `query` |" in card


def test_labels_are_listed_by_number() -> None:
    assert "- **Labels**: 0 `not_entailment`, 1 `entailment`" in card_for("PairClassification")
    assert "- **Scores**: -1 to 1, more is more alike" in card_for("STS")


def test_a_card_cites_source_and_benchmark_once_each() -> None:
    card = card_for("Classification", source={"citation": ("clark2018arc", "han2025ateb")})
    assert re.findall(r"(?m)^@\w+\{(\w+),", card) == ["clark2018arc", "han2025ateb", "muennighoff2023mteb"]


def test_every_citation_has_a_key_of_its_own_and_closed_braces() -> None:
    text = (CARDS / "citations.bib").read_text("utf-8")
    keys = re.findall(r"(?m)^@\w+\{([^,]+),$", text)
    assert len(keys) == len(set(keys)) == text.count("@")
    assert "\n\n".join(bibtex(key) for key in keys) + "\n" == text
    assert set(keys) >= {key for benchmark in BENCHMARKS.values() for key in benchmark.citations}


def test_a_missing_citation_is_named_with_its_file() -> None:
    with pytest.raises(ValueError, match=r"citations\.bib: no entry 'nobody2020'"):
        bibtex("nobody2020")


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.stem)
def test_prose_has_its_source_and_for_each_dataset_what_was_decided_and_its_limits(path: Path) -> None:
    headings = re.findall(r"(?m)^# (.+)$", path.read_text("utf-8"))
    assert headings[0] == path.stem
    assert len(headings) == len(set(headings)) > 1
    for name in headings[1:]:
        text = prose(path.stem, name, "1.0.0")
        assert all(line.startswith(("- ", "  ")) for line in (text.decided + "\n" + text.limits).splitlines())
        assert text.dataset.endswith(".")
        assert text.source.endswith(".")


def test_prose_that_is_missing_is_named_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"nobody\.md: no such file"):
        prose("nobody", "x", "1.0.0")
    with pytest.raises(ValueError, match=r"terra\.md: no section '# terra-retrieval'"):
        prose("terra", "terra-retrieval", "1.0.0")
    monkeypatch.setattr("cards.render.CARDS", tmp_path)
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose/toy.md").write_text("# toy\n\nA.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n", "utf-8")
    with pytest.raises(ValueError, match=r"toy\.md: '# toy-sts' has no section ## Limits"):
        prose("toy", "toy-sts", "1.0.0")


def test_a_version_may_have_prose_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cards.render.CARDS", tmp_path)
    (tmp_path / "prose").mkdir()
    text = "# toy\n\nA.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n\n## Limits\n\n- D.\n\n## Limits of 2.0.0\n\n- E.\n"
    (tmp_path / "prose/toy.md").write_text(text, "utf-8")
    first, second = (prose("toy", "toy-sts", version) for version in ("1.0.0", "2.0.0"))
    assert (first.decided, first.limits) == ("- C.", "- D.")
    assert (second.decided, second.limits) == ("- C.", "- E.")


def test_prose_in_a_section_that_no_card_shows_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cards.render.CARDS", tmp_path)
    (tmp_path / "prose").mkdir()
    text = "# toy\n\nA.\n\n# toy-sts\n\nB.\n\n## Decided\n\n- C.\n\n## Limits\n\n- D.\n\n## More\n\n- E.\n"
    (tmp_path / "prose/toy.md").write_text(text, "utf-8")
    with pytest.raises(ValueError, match="sections that no card shows: More"):
        prose("toy", "toy-sts", "1.0.0")
