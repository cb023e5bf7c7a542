"""Datasets in layouts of others are read without `--map`; what was read as what is said."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError
from pipelines.checking.columns import parse_column_map
from pipelines.checking.datasets import ForeignDataset, ForeignOptions, find_files, read_datasets
from tests.support.foreign import finding_counts, report_of, write_json_lines

SENTENCES = [
    "The harbour was empty when the last ferry left.",
    "A gardener cut the old roses behind the wall.",
    "Two engineers repaired the bridge before the winter.",
    "She sold her grandfather's clock at the market.",
    "The teacher forgot the keys of the small library.",
    "Heavy snow closed the road over the mountains.",
]


def read(folder: Path, **options: Any) -> ForeignDataset:
    [dataset] = read_datasets(find_files(folder), ForeignOptions(**options))
    return dataset


def rows_of(dataset: ForeignDataset, config: str, split: str) -> list[dict[str, Any]]:
    return dataset.frames[config][split].collect().to_dicts()


@pytest.mark.parametrize(
    ("row", "positives", "negatives"),
    [
        ({"anchor": "a", "positive": "b", "negative": "c"}, ["b"], ["c"]),
        ({"query": "a", "positive": "b", "negative_1": "c", "negative_2": "d"}, ["b"], ["c", "d"]),
        ({"anchor": "a", "positive": "b"}, ["b"], []),
        ({"query": "a", "pos": ["b", "e"], "neg": ["c", "d"]}, ["b", "e"], ["c", "d"]),
        ({"query": ["Find:", "a"], "pos": ["Find:", "b"], "neg": ["Find:", "c"], "task_name": "x"}, ["b"], ["c"]),
        ({"anchor": "a", "positive": "b", "negatives": ["c", "d"]}, ["b"], ["c", "d"]),
        ({"query": "a", "positives": ["b"], "negatives": ["c", "d"]}, ["b"], ["c", "d"]),
    ],
    ids=["triplet", "numbered negatives", "pair", "FlagEmbedding", "MEDI", "listed negatives", "ours without ids"],
)
def test_training_pairs_are_read_as_such(
    row: dict[str, Any], positives: list[str], negatives: list[str], tmp_path: Path
) -> None:
    write_json_lines(tmp_path / "train.jsonl", row)
    kinds = ["provided"] * len(negatives)
    expected = {"query": "a", "positives": positives, "negatives": negatives, "negative_kinds": kinds, "id": "0"}
    for dataset in (read(tmp_path), read(tmp_path, task="Contrastive")):
        assert dataset.task.type.name == "Contrastive"
        assert rows_of(dataset, "default", "train") == [expected]
        assert any(note.startswith("default: read as Contrastive: ") for note in dataset.notes)


def test_a_negative_that_is_the_positive_is_found_in_triplets_of_anybody(tmp_path: Path) -> None:
    rows = [{"anchor": text, "positive": f"{text} Yes.", "negative": f"{text} No."} for text in SENTENCES]
    rows[2]["negative"] = rows[2]["positive"]
    write_json_lines(tmp_path / "train.jsonl", *rows)
    found = finding_counts(report_of(tmp_path))
    assert ("negative_is_positive", "default/train/negatives", 1) in found


def test_lists_of_candidates_of_a_test_split_are_reranking(tmp_path: Path) -> None:
    rows = [
        {"query": "q one", "positive": ["p", "s"], "negative": ["n"]},
        {"query": "q two", "positive": ["t"], "negative": ["m"]},
    ]
    write_json_lines(tmp_path / "test.jsonl", *rows)
    dataset = read(tmp_path)
    assert dataset.task.type.name == "Reranking"
    assert rows_of(dataset, "queries", "test") == [{"id": "q0", "text": "q one"}, {"id": "q1", "text": "q two"}]
    assert rows_of(dataset, "corpus", "test") == [
        {"id": f"{name}", "title": "", "text": text}
        for name, text in (("q0-d0", "p"), ("q0-d1", "s"), ("q0-d2", "n"), ("q1-d0", "t"), ("q1-d1", "m"))
    ]
    judged = [(row["query-id"], row["corpus-id"], row["score"]) for row in rows_of(dataset, "qrels", "test")]
    assert judged == [
        ("q0", "q0-d0", 1),
        ("q0", "q0-d1", 1),
        ("q0", "q0-d2", 0),
        ("q1", "q1-d0", 1),
        ("q1", "q1-d1", 0),
    ]
    assert rows_of(dataset, "top_ranked", "test")[0] == {"query-id": "q0", "corpus-ids": ["q0-d2", "q0-d0", "q0-d1"]}
    assert read(tmp_path, task="Contrastive").task.type.name == "Contrastive"


@pytest.mark.parametrize(
    ("columns", "values", "task", "read_as"),
    [
        (("premise", "hypothesis", "label"), (0, 1, 2), "Classification", {"text", "label", "label_text"}),
        (("premise", "hypothesis", "label"), (0, 1, 0), "PairClassification", {"sentence1", "sentence2", "labels"}),
        (
            ("question1", "question2", "is_duplicate"),
            (0, 1, 0),
            "PairClassification",
            {"sentence1", "sentence2", "labels"},
        ),
        (("sentence1", "sentence2", "label"), (0.5, 3.25, 5.0), "STS", {"sentence1", "sentence2", "score"}),
        (("Sentence_A", "Sentence_B", "relatedness_score"), (1, 3, 5), "STS", {"sentence1", "sentence2", "score"}),
    ],
    ids=["NLI", "NLI of two labels", "QQP", "STS with labels", "SICK"],
)
def test_pairs_under_other_names_are_read(
    columns: tuple[str, str, str], values: tuple[float, ...], task: str, read_as: set[str], tmp_path: Path
) -> None:
    rows = [dict(zip(columns, (SENTENCES[n], SENTENCES[n + 1], value), strict=True)) for n, value in enumerate(values)]
    write_json_lines(tmp_path / "test.jsonl", *rows)
    dataset = read(tmp_path)
    assert dataset.task.type.name == task
    [row, *_] = rows_of(dataset, "default", "test")
    assert row.keys() >= read_as
    if task == "Classification":
        assert row["text"] == f"{SENTENCES[0]}\n{SENTENCES[1]}"
        assert finding_counts(report_of(tmp_path), "error") == [], "a split to train on is not missed"


def test_lists_of_pairs_are_one_pair_a_row(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "test.jsonl", {"sent1": ["a", "b"], "sent2": ["c", "d"], "labels": [0, 1]})
    dataset = read(tmp_path)
    assert rows_of(dataset, "default", "test") == [
        {"sentence1": "a", "sentence2": "c", "labels": 0},
        {"sentence1": "b", "sentence2": "d", "labels": 1},
    ]


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("sentence,target", "sentence", "target"),
        ("Review,Rating", "Review", "Rating"),
        ("stars,content", "content", "stars"),
    ],
)
def test_texts_and_labels_under_usual_names_are_read(header: str, text: str, label: str, tmp_path: Path) -> None:
    values = {text: SENTENCES[0], label: "1"}
    (tmp_path / "train.csv").write_text(
        f"{header}\n" + ",".join(values[name] for name in header.split(",")) + "\n", "utf-8"
    )
    dataset = read(tmp_path)
    assert dataset.task.type.name == "Classification"
    assert rows_of(dataset, "default", "train")[0]["text"] == SENTENCES[0]
    assert f"default: read as Classification: {text} as the text, {label} as the label" in dataset.notes


def test_columns_of_ours_are_never_read_as_others(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "train.jsonl", {"text": "a", "label": 0, "sentence": "b", "target": 1})
    dataset = read(tmp_path)
    assert rows_of(dataset, "default", "train")[0]["text"] == "a"
    assert not [note for note in dataset.notes if "read as" in note]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([{"Utt": text, "Klass": n % 2} for n, text in enumerate(SENTENCES)],
         "--task Classification --map text=Utt --map label=Klass"),
        ([{"left": text, "right": text[::-1], "same": n % 2} for n, text in enumerate(SENTENCES)],
         "--task PairClassification --map sentence1=left --map sentence2=right --map labels=same"),
        ([{"left": text, "right": text[::-1], "close": n / 2} for n, text in enumerate(SENTENCES)],
         "--task STS --map sentence1=left --map sentence2=right --map score=close"),
        ([{"Frage": text, "Antwort": text[::-1]} for text in SENTENCES],
         "--task Contrastive --map query=Frage --map positives=Antwort"),
    ],
    ids=["texts", "pairs with a label", "pairs with a score", "pairs"],
)  # fmt: skip
def test_columns_that_nobody_uses_are_an_error_with_the_command_that_reads_them(
    rows: list[dict[str, Any]], options: str, tmp_path: Path
) -> None:
    write_json_lines(tmp_path / "train.jsonl", *rows)
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        read(tmp_path)
    assert str(caught.value.todo).endswith(f"for example {options}")
    _, task, *columns = options.split()
    dataset = read(tmp_path, task=task, columns=parse_column_map(columns[1::2]))
    assert dataset.task.type.name == task
    assert not dataset.findings


@pytest.mark.parametrize(
    ("lines", "todo"),
    [
        (["a,b", "1,2"], "rename its configs or columns, or say which are which: --map text=sentence"),
        (
            [f"{text},{text[::-1]},2.5" for text in SENTENCES],
            "put a line with names of columns first: the first row was taken for them",
        ),
        (
            ["code,Utt,Klass", *(f"{n:040}x,{text},{n % 2}" for n, text in enumerate(SENTENCES))],
            "say which columns are which, for example --task Classification --map text=Utt --map label=Klass",
        ),
    ],
    ids=["columns without a text", "a file without a header", "ids, which are not proposed as texts"],
)
def test_columns_that_make_no_task_are_an_error_with_a_proposal_where_there_is_one(
    lines: list[str], todo: str, tmp_path: Path
) -> None:
    (tmp_path / "train.csv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    with pytest.raises(SourceError) as caught:
        read(tmp_path)
    assert caught.value.todo == todo


ROWS = [{"text": text, "label": number % 2} for number, text in enumerate(SENTENCES)]
MEDI = [{"query": ["Find:", text], "pos": ["Find:", "b"], "neg": ["Find:", "c"], "task_id": 1} for text in SENTENCES]


@pytest.mark.parametrize(
    ("name", "content", "task", "column", "values"),
    [
        ("medi-data.json", json.dumps(MEDI).encode(), "Contrastive", "query", SENTENCES),
        ("train.json", json.dumps(ROWS).encode(), "Classification", "text", SENTENCES),
        (
            "train.csv",
            "text;label\nснег;1\nдождь, град;0\n".encode("cp1251"),
            "Classification",
            "text",
            ["снег", "дождь, град"],
        ),
        ("train.jsonl.gz", gzip.compress(b'{"text": "a", "label": 0}\n', mtime=0), "Classification", "text", ["a"]),
    ],
    ids=["MEDI", "a JSON array", "semicolons in Windows-1251", "JSON lines in gzip"],
)
def test_files_as_others_publish_them_are_read(
    name: str, content: bytes, task: str, column: str, values: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    dataset = read(tmp_path)
    assert dataset.task.type.name == task
    assert [row[column] for row in rows_of(dataset, "default", "train")] == values


def test_an_arrow_file_alone_is_read(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_ipc_stream(tmp_path / "data.arrow")
    assert [row["text"] for row in rows_of(read(tmp_path), "default", "train")] == SENTENCES
    assert [row["text"] for row in rows_of(read(tmp_path / "data.arrow"), "default", "train")] == SENTENCES


def test_a_text_file_is_an_error_that_says_how_to_make_it_a_table(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\nb\n", "utf-8")
    for path in (tmp_path, tmp_path / "train.txt"):
        with pytest.raises(SourceError) as caught:
            read(path)
        assert "a .txt is a .tsv if its first line names the columns, such as text<TAB>label" in str(caught.value.todo)
        assert "train.txt" in f"{caught.value.where} {caught.value.found}"


@pytest.mark.parametrize(
    ("name", "separator", "encoding", "note"),
    [
        ("train.csv", ";", "utf-8", "a semicolon separates its columns"),
        ("train.csv", "\t", "utf-8", "a tab separates its columns"),
        ("train.csv", ",", "cp1251", "its encoding is Windows-1251"),
        ("train.csv", ",", "utf-8", ""),
        ("train.tsv", "\t", "utf-8", ""),
    ],
)
def test_csv_of_other_dialects_is_read_and_said(
    name: str, separator: str, encoding: str, note: str, tmp_path: Path
) -> None:
    text = "Вечером шёл дождь, и река поднялась".replace(separator, "")
    (tmp_path / name).write_bytes(f"text{separator}label\n{text}{separator}1\n".encode(encoding))
    dataset = read(tmp_path)
    assert rows_of(dataset, "default", "train")[0]["text"] == text
    notes = [f"{name}: {note}, which `datasets` does not expect"] if note else []
    assert [other for other in dataset.notes if other.startswith(name)] == notes


def test_what_save_to_disk_writes_is_read(tmp_path: Path) -> None:
    import datasets

    both = {"train": datasets.Dataset.from_list(ROWS), "test": datasets.Dataset.from_list(ROWS[:2])}
    datasets.DatasetDict(both).save_to_disk(str(tmp_path / "both"))
    both["train"].save_to_disk(str(tmp_path / "one"))
    assert [row["text"] for row in rows_of(read(tmp_path / "both"), "default", "test")] == SENTENCES[:2]
    assert [row["text"] for row in rows_of(read(tmp_path / "one"), "default", "train")] == SENTENCES


def test_a_finding_of_a_corpus_that_three_qrels_share_is_listed_once(tmp_path: Path) -> None:
    write_json_lines(
        tmp_path / "corpus.jsonl",
        *({"_id": f"d{n}", "title": "", "text": f"{text} &amp;"} for n, text in enumerate(SENTENCES)),
    )
    write_json_lines(tmp_path / "queries.jsonl", *({"_id": f"q{n}", "text": f"which {n}?"} for n in range(6)))
    for number, split in enumerate(("train", "dev", "test")):
        judged = "".join(f"q{n}\td{n}\t1\n" for n in (2 * number, 2 * number + 1))
        (tmp_path / "qrels").mkdir(exist_ok=True)
        (tmp_path / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    report = report_of(tmp_path)
    assert [count for count in finding_counts(report) if count[0] == "html_residue"] == [
        ("html_residue", "corpus/corpus/text", 6)
    ]
    assert {(table["config"], table["rows"]) for table in report["tables"] if table["config"] == "queries"} == {
        ("queries", 6)
    }
