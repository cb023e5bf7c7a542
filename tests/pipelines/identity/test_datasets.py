"""`diff` of datasets in any layout, its options, errors and pages, as docs/diff.md says them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from huggingface_hub import HfApi, constants

import embedding_datasets as ed
from pipelines.hub import client
from pipelines.make import BuildResult
from tests.support.foreign import write_card
from tests.support.loopback_hub import LoopbackHub
from tests.support.processes import run
from tests.support.releases import write_dataset
from tests.support.tables import Change, Tables, clean_tables, combine, with_edit, with_value


def compare(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """The exit code and the object of --json."""
    done = run("diff", *map(str, arguments), "--json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout, parse_constant=pytest.fail)


def states(report: dict[str, Any]) -> dict[str, str]:
    return {f"{table['config']}/{table['split']}": table["state"] for table in report["tables"]}


def write_files(folder: Path, tables: Tables, path: str, write: Callable[[pl.DataFrame, Path], object]) -> Path:
    """A folder with a file at `path` for each split, and a card that names them."""
    configs = []
    for config, splits in tables.items():
        names = {split: path.format(config=config, split=split) for split in splits}
        for split, name in names.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write(splits[split], folder / name)
        files = [{"split": split, "path": name} for split, name in names.items()]
        configs.append({"config_name": config, "data_files": files})
    write_card(folder, json.dumps({"configs": configs}))
    return folder


LAYOUTS: dict[str, Callable[[Path, Tables], Path]] = {
    "parquet": write_dataset,
    "csv": lambda folder, tables: write_files(folder, tables, "{config}/x/{split}.csv", pl.DataFrame.write_csv),
    "jsonl": lambda folder, tables: write_files(folder, tables, "d/{split}-{config}.jsonl", pl.DataFrame.write_ndjson),
}


@pytest.mark.parametrize(
    ("task_type", "layout"),
    [
        *((task_type, layout) for task_type in ("Classification", "STS", "Retrieval") for layout in LAYOUTS),
        *(
            (task_type, "jsonl")
            for task_type in ("MultilabelClassification", "Reranking", "Contrastive", "BitextMining")
        ),
    ],
)
def test_the_same_rows_in_another_layout_are_the_same(task_type: str, layout: str, tmp_path: Path) -> None:
    tables = clean_tables(task_type)
    for split in tables.get("corpus", {}):  # CSV files do not tell an empty text from a null
        tables = with_edit("corpus", split, lambda table: table.with_columns(title=pl.lit("Bees")))(tables)
    a, b = write_dataset(tmp_path / "a", tables), LAYOUTS[layout](tmp_path / "b", tables)
    for pair in ((a, b), (b, a)):
        code, report = compare(*pair)
        assert (code, report["same"], set(states(report).values())) == (0, True, {"same"})
        assert len(report["tables"]) == sum(map(len, tables.values()))


def in_foreign_names(tables: Tables) -> Tables:
    """Tables in another order; those of retrieval with other ids, and `_id` as their name."""
    ids = cs.by_name("id", "query-id", "corpus-id", require_all=False).as_expr().str
    candidates = cs.by_name("corpus-ids", require_all=False).as_expr().list
    names = {"id": "_id"}
    renamed = ids.replace("^", "x-"), candidates.eval(pl.element().str.replace("^", "x-"))
    return {
        config: {
            split: (
                table if config == "default" else table.with_columns(*renamed).rename(names, strict=False)
            ).reverse()
            for split, table in splits.items()
        }
        for config, splits in tables.items()
    }


def test_judgements_and_candidates_are_compared_by_the_ids_of_the_other(tmp_path: Path) -> None:
    tables = clean_tables("Reranking")
    a, b = write_dataset(tmp_path / "a", tables), write_dataset(tmp_path / "b", in_foreign_names(tables))
    code, report = compare(a, b)
    assert (code, report["differences"]) == (1, ["ids", "order"])
    counts = {(table["config"], table["new_ids"], table["equal"]) for table in report["tables"]}
    assert counts == {("corpus", 3, 0), ("queries", 2, 0), ("qrels", 0, 3), ("top_ranked", 0, 2)}
    assert compare(a, b, "--allow", "ids")[0] == 0


@pytest.mark.parametrize(
    ("change", "table", "counts"),
    [
        (with_value("qrels", "test", "score", 2, 1), "qrels/test", {"equal": 2, "changed": 1, "same_text": 1}),
        (with_value("qrels", "test", "corpus-id", 0, "d2"), "qrels/test", {"equal": 2, "removed": 1, "added": 1}),
        (with_value("top_ranked", "test", "corpus-ids", 0, ["d1", "d3"]), "top_ranked/test",
         {"equal": 1, "changed": 1, "same_text": 1}),
        (with_edit("corpus", "test", lambda table: table.with_columns(id=pl.Series(["d2", "d1", "d3"]))), "qrels/test",
         {"equal": 1, "removed": 2, "added": 2}),
    ],
)  # fmt: skip
def test_one_wrong_judgement_is_seen_behind_other_ids(
    change: Change, table: str, counts: dict[str, int], tmp_path: Path
) -> None:
    tables = clean_tables("Reranking")
    a = write_dataset(tmp_path / "a", tables)
    b = write_dataset(tmp_path / "b", combine(change, in_foreign_names)(tables))
    code, report = compare(a, b, "--allow", "ids")
    assert code == 1
    [found] = [one for one in report["tables"] if f"{one['config']}/{one['split']}" == table]
    names = ("equal", "new_ids", "changed", "same_text", "folded", "same_id", "removed", "added")
    assert {name: found[name] for name in names if found[name]} == counts


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"sent1": [["a", "b"]], "sent2": [["c", "d"]], "labels": [[0, 1]]},
         {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "labels": [0, 1]}),
        ({"sentences": [["a", "b"]], "labels": [["x", "y"]]}, {"sentences": ["a", "b"], "labels": ["x", "y"]}),
        ({"question1": ["a", "b"], "question2": ["c", "d"], "is_duplicate": [0, 1]},
         {"sentence1": ["b", "a"], "sentence2": ["d", "c"], "labels": [1, 0]}),
        ({"query": ["a", "b"], "pos": [["c"], ["d"]], "neg": [["e"], ["f"]]},
         {"anchor": ["b", "a"], "positive": ["d", "c"], "negative": ["f", "e"]}),
    ],
    ids=["lists of pairs", "lists to cluster", "QQP", "FlagEmbedding"],
)  # fmt: skip
def test_layouts_of_others_are_compared_as_one_task(a: dict[str, Any], b: dict[str, Any]) -> None:
    for one, other in ((a, b), (b, a)):
        difference = ed.diff(pl.DataFrame(one), pl.DataFrame(other))
        assert set(difference.differences) <= {"order"}
        assert (difference.same, difference.tables[0].equal) == (True, 2)


STS = clean_tables("STS")["default"]
PAIRS = clean_tables("BitextMining")["en-de"]
OTHER_PAIRS = with_value("", "test", "sentence2", 1, "etwas anderes")({"": PAIRS})[""]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"default": STS | {"validation": STS["test"]}}, {"default": STS | {"dev": STS["test"]}},
         {"default/train": "same", "default/dev": "same", "default/test": "same"}),
        ({"default": STS}, {"default": {"train": STS["train"]}}, {"default/train": "same", "default/test": "gone"}),
        ({"default": {"train": STS["train"]}}, {"default": STS}, {"default/train": "same", "default/test": "new"}),
        ({"default": {"train": STS["train"], "odd": STS["test"]}}, {"default": STS},
         {"default/train": "same", "default/odd": "gone", "default/test": "new"}),
        ({"default": {"train": STS["train"]}}, {"default": {"test": STS["train"]}}, {"default/test": "same"}),
        ({"default": {"train": STS["test"], "test": STS["train"]}}, {"default": STS},
         {"default/train": "changed", "default/test": "changed"}),
        ({"en-de": PAIRS, "en-fr": OTHER_PAIRS}, {"en-fr": OTHER_PAIRS, "en-de": PAIRS},
         {"en-de/test": "same", "en-fr/test": "same"}),
        ({"en-de": PAIRS, "en-fr": PAIRS, "en-it": PAIRS}, {"en-it": PAIRS, "en-fr": OTHER_PAIRS, "en-ru": PAIRS},
         {"en-it/test": "same", "en-fr/test": "changed", "en-ru/test": "new", "en-de/test": "gone"}),
    ],
)  # fmt: skip
def test_tables_are_paired_by_their_names(a: Tables, b: Tables, expected: dict[str, str], tmp_path: Path) -> None:
    code, report = compare(write_dataset(tmp_path / "a", a), write_dataset(tmp_path / "b", b))
    assert states(report) == expected
    assert code == (1 if set(expected.values()) - {"same"} else 0)
    assert ("tables" in report["differences"]) is bool(set(expected.values()) & {"gone", "new"})


def test_a_file_is_compared_with_a_folder_that_has_one_table(tmp_path: Path) -> None:
    STS["test"].write_csv(tmp_path / "anything.csv")
    for number, (splits, code) in enumerate((({"test": STS["test"]}, 0), (STS, 1))):
        folder = write_dataset(tmp_path / str(number), {"default": splits})
        assert compare(folder, tmp_path / "anything.csv")[0] == code


@pytest.mark.parametrize("name", ["terra-pairclassification", "cedr-classification", "rubq-reranking"])
def test_a_release_is_the_same_as_a_copy_in_another_layout_on_the_hub(
    name: str, golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = golden_release(name).release_dir
    tables: Tables = {}
    for path in sorted(release.rglob("*.parquet")):
        config = path.parent.name if path.parent.name != "data" else "default"
        tables.setdefault(config, {})[path.name.split("-")[0]] = pl.read_parquet(path)
    tables = in_foreign_names(tables)
    copy = LAYOUTS["jsonl"](tmp_path / "copy", tables)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    with LoopbackHub() as hub:
        monkeypatch.setattr(client, "HfApi", lambda endpoint, **more: HfApi(endpoint=endpoint or hub.url, **more))
        files = (path for path in copy.rglob("*") if path.is_file())
        commit = hub.create("org/set", {path.relative_to(copy).as_posix(): path.read_bytes() for path in files})
        for pair in ((release, "org/set@main"), (f"org/set@{commit}", release)):
            code, report = compare(*pair, "--allow", "ids")
            assert (code, report["same"], set(report["differences"]) - {"ids"}) == (0, True, {"order"})
            rows = sum(table.height for splits in tables.values() for table in splits.values())
            assert sum(table["equal"] + table["new_ids"] for table in report["tables"]) == rows


ONE = pl.DataFrame({"id": ["1", "2", "3"], "text": ["The cat.", "A dog", "Foxes"], "label": [0, 1, 0]})


@pytest.mark.parametrize(
    ("edit", "allow"),
    [
        (lambda table: table, ""),
        (lambda table: table.reverse(), "order"),
        (lambda table: table.cast({"label": pl.Int8}), "types"),
        (lambda table: table.with_columns(year=1999), "columns"),
        (lambda table: table.drop("id"), "columns"),
        (lambda table: table.with_columns(id=pl.col("id").str.replace("1", "9")), "ids"),
        (lambda table: table.with_columns(label=pl.col("label").replace_strict({0: "no", 1: "yes"})), "labels"),
        (lambda table: table.with_columns(text=pl.col("text").str.to_uppercase()), "folded"),
        (lambda table: table.with_columns(label=pl.Series([1, 1, 0])), "rows"),
        (lambda table: table[:2], "rows"),
    ],
)
def test_each_option_allows_one_kind_of_difference(
    edit: Callable[[pl.DataFrame], pl.DataFrame], allow: str, tmp_path: Path
) -> None:
    ONE.write_parquet(tmp_path / "a.parquet")
    edit(ONE).write_parquet(tmp_path / "b.parquet")
    pair = (tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert allow in ("", *compare(*pair)[1]["differences"])
    assert compare(*pair)[0] == (0 if allow in ("", "order", "types") else 1)
    assert compare(*pair, "--strict")[0] == (1 if allow else 0)
    for kind in ("columns", "ids", "labels", "folded"):
        assert compare(*pair, "--allow", kind)[0] == (0 if allow in ("", "order", "types", kind) else 1), kind


def test_columns_with_other_names_are_mapped(tmp_path: Path) -> None:
    pair = (tmp_path / "a.csv", tmp_path / "b.parquet")
    ONE.write_csv(pair[0])
    ONE.rename({"text": "phrase", "label": "klass"}).write_parquet(pair[1])
    for one, other in (pair, pair[::-1]):
        assert compare(one, other, "--map", "text=phrase", "--map", "label=klass")[0] == 0
    ONE.rename({"text": "sentence"}).write_parquet(pair[1])
    [table] = compare(*pair)[1]["tables"]
    assert (table["equal"], table["columns"]) == (3, ["-id (int64)", "+id (string)"]), "the task has no ids"


HOSTILE = [
    "<script>alert(1)</script>",
    "a | b `c` ``d``\n| --- |",
    "\x1b[31mred\x07\x00\u202e",
    "long " * 20_000,
    '"><img src=x>',
]


def test_hostile_values_are_shown_escaped_and_cut(tmp_path: Path) -> None:
    pair = (str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet"))
    table = pl.DataFrame({"text": HOSTILE, "label": [0, 1, 0, 1, 0], "<b>": HOSTILE})
    table.write_parquet(pair[0])
    table.with_columns(label=pl.lit(0), **{"<b>": pl.lit("`|<i>")}).write_parquet(pair[1])
    code, report = compare(*pair)
    assert (code, report["tables"][0]["changed"], report["tables"][0]["differing"]) == (1, 5, {"label": 2, "<b>": 5})
    for form in ("text", "markdown"):
        done = run("diff", *pair, "--format", form, "--html", str(tmp_path / "d.html"))
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stdout)
        assert len(done.stdout) < 20_000
    assert {line.count("|") for line in done.stdout.splitlines() if "|" in line} == {9}, "a table of eight columns"
    assert not re.search(r"<(?!br>)", re.sub(r"`[^`\n]*`", "", done.stdout))
    page = (tmp_path / "d.html").read_text("utf-8")
    assert [path.name for path in tmp_path.glob("*") if path.suffix != ".parquet"] == ["d.html"]
    assert not {"script", "img", "i", "link"} & set(re.findall(r"<(\w+)", page))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", page)
    assert ("&lt;script&gt;" in page, len(page) < 50_000) == (True, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("a.csv missing.csv", 2, "missing.csv"),
        ("a.csv x.docx", 3, "x.docx"),
        ("a.csv empty", 2, "empty"),
        ("a.csv corrupt.parquet", 3, "corrupt.parquet"),
        ("a.csv cut.parquet", 3, "cut.parquet"),
        ("a.csv empty.csv", 3, "empty.csv"),
        ("broken.jsonl a.csv", 3, "broken.jsonl, line 2"),
        ("a.csv a.csv --map text=nothing", 2, "text=nothing"),
        ("a.csv a.csv --map nothing=text", 2, "nothing=text"),
        ("a.csv a.csv --map text", 2, "--map"),
        ("a.csv a.csv --subset nothing", 2, "nothing"),
        ("a.csv a.csv --html a.csv", 2, "a.csv"),
        ("a.csv cut.parquet --html cut.parquet --overwrite", 2, "cut.parquet"),
        ("a.csv a.csv --html x.docx", 2, "x.docx"),
        ("a.csv rubq", 2, "rubq-reranking, rubq-retrieval"),
        ("a.csv", 2, "name two datasets"),
        ("a.csv a.csv --allow everything", 2, "everything"),
        ("a.csv a.csv --strict --allow ids", 2, "--strict"),
    ],
)
def test_an_error_names_what_is_wrong(arguments: str, code: int, words: str, tmp_path: Path) -> None:
    ONE.write_csv(tmp_path / "a.csv")
    ONE.write_parquet(tmp_path / "cut.parquet")
    whole = (tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "empty").mkdir()
    files = {"cut.parquet": whole[:-9], "corrupt.parquet": whole[:30] + bytes(300) + whole[330:], "x.docx": b"PK\x03\x04",
             "empty.csv": b"", "broken.jsonl": b'{"text": "a", "label": 1}\n{"text": \n'}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    done = run("diff", *arguments.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert (words in done.stderr, "Traceback" in done.stderr) == (True, False), done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
