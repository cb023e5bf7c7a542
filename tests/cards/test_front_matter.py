"""The front matter of a card: valid for the Hub, and loadable with `datasets`. Front matter as other programs and people
write it, and as an attacker would.
"""

import contextlib
import importlib
import logging
import re
import socket
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.errors import SourceError
from builders.limits import MAX_CARD, MAX_FRONT_MATTER, MAX_VALUES
from cards import front_matter
from cards.front_matter import parse_front_matter, split_front_matter
from tests.support.card_inputs import NAMES, TASKS, card_for, frames_for, front_matter_of, write_release


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library without a network; imported by name because it has no types."""

    def refuse(*_: object) -> None:
        raise AssertionError("this test must not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return importlib.import_module("datasets")


@pytest.mark.parametrize("task_type", TASKS)
def test_front_matter_uses_the_vocabulary_of_the_hub(task_type: str) -> None:
    metadata = front_matter_of(card_for(task_type))
    assert set(metadata["language"]) <= {"ru", "en", "de"}
    assert set(metadata["task_categories"]) <= {
        "text-retrieval", "text-ranking", "text-classification", "sentence-similarity", "feature-extraction", "translation",
    }  # fmt: skip
    assert set(metadata["task_ids"]) <= {
        "document-retrieval", "multi-class-classification", "multi-label-classification",
        "multi-input-text-classification", "semantic-similarity-scoring",
    }  # fmt: skip
    assert metadata["multilinguality"] == (["translation"] if task_type == "BitextMining" else ["monolingual"])
    assert metadata["source_datasets"] == [f"extended|other-{NAMES[task_type][0]}"]
    assert metadata["size_categories"] == ["n<1K"]
    assert metadata["annotations_creators"] == ["crowdsourced"]
    assert ("mteb" in metadata["tags"]) == (task_type != "Contrastive")


def test_a_licence_without_an_id_has_a_name_and_a_link() -> None:
    card = card_for("BitextMining", source={"license": "other", "license_note": "Corpora: <own> terms."})
    metadata = front_matter_of(card)
    assert [metadata["license"], metadata["license_name"], metadata["license_link"]] == [
        "other", "document-mt-terms", "https://example.org/s",
    ]  # fmt: skip
    assert "other. Corpora: &lt;own> terms." in card
    assert 'metadata of a task: `license="not specified"`, which a maintainer may refuse' in card


@given(st.integers(min_value=0, max_value=10**10 - 1))
def test_a_size_category_contains_the_number_of_rows(rows: int) -> None:
    category = front_matter.size_category(rows)
    numbers = [
        int(number) * 1000 ** "_KMB".index(unit or "_") for number, unit in re.findall(r"(\d+)([KMB]?)", category)
    ]
    low, high = numbers if len(numbers) == 2 else (0, numbers[0])
    assert low <= rows < high


def test_an_unknown_language_is_an_error_that_says_where_to_add_it() -> None:
    with pytest.raises(ValueError, match=r"'sah-Cyrl': add it to LANGUAGES"):
        front_matter.language("sah-Cyrl")


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
            "label": datasets.List(datasets.ClassLabel(names=["joy", "fear"])),
        }
        assert loaded["test"]["label"][:] == [[0, 1], [], [1]]
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(("task_type", "column", "names"), [
    ("Classification", "label", ["bad", "good"]),
    ("MultilabelClassification", "label", ["joy", "fear"]),
    ("PairClassification", "labels", ["not_entailment", "entailment"]),
])  # fmt: skip
def test_labels_are_class_labels_with_names_and_load_as_the_same_numbers(
    tmp_path: Path, task_type: str, column: str, names: list[str], datasets: Any
) -> None:
    write_release(tmp_path / "release", task_type)
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    for split, frame in frames_for(task_type)["default"].items():
        feature = loaded[split].features[column]
        assert getattr(feature, "feature", feature).names == names
        assert loaded[split][column][:] == frame[column].to_list()
        assert pl.from_pandas(loaded[split].to_pandas())[column].to_list() == frame[column].to_list()
        polars = pl.read_parquet(tmp_path / "release" / "data" / f"{split}-*.parquet")
        assert polars[column].to_list() == frame[column].to_list()


def test_names_of_labels_that_are_bare_numbers_are_not_in_the_front_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tasks.Classification(("bad", "good"), ("train", "test"), bare_labels=True)
    monkeypatch.setitem(TASKS, "Classification", bare)
    [info] = front_matter_of(card_for("Classification"))["dataset_info"]
    assert {"name": "label", "dtype": "int64"} in info["features"]


@pytest.mark.parametrize("task_type", TASKS)
def test_features_are_written_as_datasets_writes_them(task_type: str, datasets: Any) -> None:
    for info in front_matter_of(card_for(task_type))["dataset_info"]:
        assert datasets.Features._from_yaml_list(info["features"])._to_yaml_list() == info["features"]


@pytest.mark.parametrize(("task_type", "configs"), [
    ("Retrieval", ["corpus", "queries", "qrels"]), ("Reranking", ["corpus", "queries", "qrels", "top_ranked"]),
])  # fmt: skip
def test_a_release_of_several_configs_loads_each_by_name_and_the_queries_without_one(
    tmp_path: Path, task_type: str, configs: list[str], datasets: Any
) -> None:
    release_dir, cache = str(tmp_path / "release"), str(tmp_path / "cache")
    write_release(tmp_path / "release", task_type)
    assert sorted(datasets.get_dataset_config_names(release_dir)) == sorted(configs)
    for config in configs:
        loaded = datasets.load_dataset(release_dir, config, cache_dir=cache)
        expected = frames_for(task_type)[config]["test"]
        assert loaded["test"].to_list() == expected.to_dicts()
    assert datasets.load_dataset(release_dir, cache_dir=cache)["test"].to_list() == (
        frames_for(task_type)["queries"]["test"].to_dicts()
    )


def test_the_only_config_of_a_release_loads_without_its_name(tmp_path: Path, datasets: Any) -> None:
    write_release(tmp_path / "release", "BitextMining")
    loaded = datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))
    assert loaded["test"].column_names == ["sentence1", "sentence2"]


def test_datasets_refuses_a_release_with_fewer_rows_than_its_card_says(tmp_path: Path, datasets: Any) -> None:
    errors = importlib.import_module("datasets.utils.info_utils")
    write_release(tmp_path / "release", "STS", rows=4)
    with pytest.raises(errors.NonMatchingSplitsSizesError):
        datasets.load_dataset(str(tmp_path / "release"), cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("card", "front_matter", "body"),
    [
        ("---\na: 1\n---\n\n# Title\n", "a: 1\n", "\n# Title\n"),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---\r\na: 1\r\n---\r\n# Title\r\n", "a: 1\r\n", "# Title\r\n"),
        ("\ufeff---\na: 1\n---\n", "a: 1\n", ""),
        ("--- \na: 1\n---\t\nb", "a: 1\n", "b"),
        ("---\na: |\n  x---\n  --- x\n---\nb", "a: |\n  x---\n  --- x\n", "b"),
        ("---\n---\nb\n---\n", "", "b\n---\n"),
        ("# Title\n\n---\na: 1\n---\n", "", "# Title\n\n---\na: 1\n---\n"),
        ("---\na: 1\n", "", "---\na: 1\n"),
        ("----\na: 1\n----\n", "", "----\na: 1\n----\n"),
        ("", "", ""),
    ],
)
def test_front_matter_is_between_two_lines_of_hyphens_at_the_head(card: str, front_matter: str, body: str) -> None:
    assert split_front_matter(card) == (front_matter, body)


@pytest.mark.parametrize("task_type", TASKS)
def test_the_front_matter_of_our_cards_is_parsed(task_type: str) -> None:
    card = card_for(task_type)
    assert parse_front_matter(card.encode(), "here") == front_matter_of(card) != {}
    front_matter, body = split_front_matter(card)
    assert f"---\n{front_matter}---\n{body}" == card


@pytest.mark.parametrize("card", [b"", b"# Title\n", b"---\n---\n", b"---\n# comment\n---\n", b"---\nnull\n---\n"])
def test_a_card_without_metadata_has_no_keys(card: bytes) -> None:
    assert parse_front_matter(card, "here") == {}


def test_aliases_merge_keys_and_bytes_that_are_not_utf_8_are_read() -> None:
    card = b"---\na: &a {x: 1}\nb: *a\nc: {<<: *a, y: [*a, *a]}\nd: caf\xe9\n---\n"
    one = {"x": 1}
    assert parse_front_matter(card, "here") == {"a": one, "b": one, "c": {"x": 1, "y": [one, one]}, "d": "caf\ufffd"}


def nested_aliases(item: str) -> str:
    """25 lines in which each value holds the one before twice: 2 ** 25 copies of the first."""
    lines = ["v0: &v0 {x: 1}"]
    lines += [f"v{number}: &v{number} {item.format(f'*v{number - 1}')}" for number in range(1, 25)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("configs: [", "expected the node content"),
        ("a: \x07", "special characters are not allowed"),
        ("a: b: c", "mapping values are not allowed"),
        ("? [a]\n: b", "unhashable key"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: 2024-99-99", "month must be in 1..12"),
        ("a: !!int ''", "does not fit its tag"),
        ("a: !!float ''", "does not fit its tag"),
        ("a: !!bool maybe", "does not fit its tag"),
        ("a: !!timestamp now", "does not fit its tag"),
        ('a: "\\ud800"', "surrogates not allowed"),
        ("a: " + "1" * 6000, "a number of more than 100 digits"),
        ("a: 0x" + "f" * 6000, "a number of more than 100 digits"),
        ("a: 1" + ":1" * 6000, "a number of more than 100 digits"),
        ("a: !!int '" + "1" * 6000 + "'", "a number of more than 100 digits"),
        ("a: " + "[" * 120 + "]" * 120, "nested in more than 100 levels"),
        ("a: " + "[" * 100_000, "nested in more than 100 levels"),
        ("\n".join(" " * depth + "-" for depth in range(1000)), "nested in more than 100 levels"),
        ("v0: &v0 [x]\n" + "\n".join(f"v{n}: &v{n} [*v{n - 1}]" for n in range(1, 200)), "more than 100 levels"),
        (nested_aliases("[{0}, {0}]"), "more than 10,000,000 characters, aliases expanded"),
        (nested_aliases("{{<<: [{0}, {0}]}}"), "more than 10,000,000 characters, aliases expanded"),
        ("a: &a " + "x" * 20_000 + "\nb: [" + "*a, " * 600 + "]", "more than 10,000,000 characters, aliases expanded"),
        ("a: &a [*a]", "a value contains an alias of itself"),
        ("a: &a {b: {c: *a}}", "a value contains an alias of itself"),
        ("a: 1\n" * (MAX_FRONT_MATTER // 5 + 1), "2,000,006 characters, more than 2,000,000"),
        pytest.param("a: [" + "b," * MAX_VALUES + "]", "more than 500,000 values", marks=pytest.mark.slow),
    ],
    ids=range(26),
)
def test_yaml_that_is_invalid_or_exceeds_a_limit_is_an_error(text: str, found: str) -> None:
    with pytest.raises(SourceError, match="invalid YAML in the front matter") as caught:
        parse_front_matter(f"---\n{text}\n---\n# Title\n".encode(), "ORG/NAME")
    assert found in str(caught.value.found)
    assert caught.value.where == "ORG/NAME"
    assert len(str(caught.value)) < 1000


def test_a_card_that_is_too_large_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"README.md is too large") as caught:
        parse_front_matter(b"---\na: 1\n---\n" + bytes(MAX_CARD), "ORG/NAME")
    assert caught.value.where == "ORG/NAME"


@pytest.mark.parametrize(("text", "kind"), [("- a", "list"), ("some text", "str"), ("3", "int"), ("false", "bool")])
def test_front_matter_that_is_not_a_mapping_is_an_error(text: str, kind: str) -> None:
    with pytest.raises(SourceError, match="the front matter is not a mapping") as caught:
        parse_front_matter(f"---\n{text}\n---\n".encode(), "here")
    assert caught.value.found == kind


YAML_TEXT = st.text(alphabet=st.sampled_from("&*a<>|!:?-[]{},'\"#%@`0x1.~= \n"), max_size=60)
TAGGED = st.builds(
    "k: !!{} {}".format,
    st.sampled_from(
        ["int", "float", "bool", "null", "str", "binary", "timestamp", "seq", "map", "set", "omap", "pairs"]
    ),
    YAML_TEXT,
)


@given(st.one_of(YAML_TEXT, TAGGED, st.text()))
def test_any_text_is_a_mapping_or_an_error(text: str) -> None:
    with contextlib.suppress(SourceError):
        metadata: Any = parse_front_matter(f"---\n{text}\n---\n".encode("utf-8", "surrogatepass"), "here")
        assert isinstance(metadata, dict)


JSON_LIKE = st.recursive(st.text() | st.integers() | st.booleans(), st.lists)


@given(st.dictionaries(st.text(min_size=1), JSON_LIKE, max_size=4))
def test_valid_front_matter_has_the_values_that_pyyaml_reads(metadata: dict[str, Any]) -> None:
    text = yaml.safe_dump(metadata, allow_unicode=True)
    assert parse_front_matter(f"---\n{text}---\n# Title\n".encode(), "here") == yaml.safe_load(text)
