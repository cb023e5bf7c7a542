"""The vocabulary refuses what could not be built, when it is declared rather than when it is run."""

import pickle

import pytest

from builders.errors import DatasetError, FindingsError, MissingFile, PublishError, RecipeError, SourceError, UsageError
from builders.raw_files import RawFile, by_hand, github, https, member
from builders.spec import Dataset, RawFiles, Source, Tables, Version, dataset, version_key
from builders.tasks import Classification, Retrieval, evaluated_split, layouts


def recipe(raw: RawFiles, *, per_class: int = 100, seed: str = "a") -> Tables:
    """Say what it is.

    More.
    """
    return Tables({})


def declared(**changes: object) -> Dataset:
    options = {
        "task": Classification(labels=("a", "b")),
        "languages": ("eng-Latn",),
        "needs": ("file",),
        "versions": {"1.0.0": "The first.", "2.0.0": Version("Fewer.", {"per_class": 10})},
        "benchmark": "ateb",
        "sample": {"per_class": 2},
    }
    return dataset("a-name", **(options | changes))(recipe)  # type: ignore[arg-type]


def test_options_are_defaults_then_the_version_then_the_sample() -> None:
    assert declared().options("1.0.0") == {"per_class": 100, "seed": "a"}
    assert declared().options("2.0.0") == {"per_class": 10, "seed": "a"}
    assert declared().options("2.0.0", sample=True) == {"per_class": 2, "seed": "a"}


def test_the_newest_version_is_newest_by_number() -> None:
    versions = {"1.0.0": ".", "10.0.0": ".", "9.2.0": "."}
    assert declared(versions=versions).newest == "10.0.0"
    assert sorted(versions, key=version_key) == ["1.0.0", "9.2.0", "10.0.0"]


def test_the_summary_is_the_first_line_of_the_docstring() -> None:
    assert declared().summary == "Say what it is."


def test_files_needed_by_every_split_are_named_once() -> None:
    assert declared().needs == {"train": ("file",), "validation": ("file",), "test": ("file",)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"versions": {"1.0": "."}}, "versions are numbers like"),
        ({"versions": {}}, "versions are numbers like"),
        ({"needs": {"train": ("file",)}}, "`needs` names the splits"),
        ({"sample": {"per_clas": 2}}, "the recipe has no option per_clas"),
        ({"versions": {"1.0.0": Version(".", {"per_clas": 2})}}, "the recipe has no option per_clas"),
        ({"benchmark": "mteb"}, "no benchmark is named 'mteb'"),
        ({"benchmark": "rumteb"}, "ruMTEB has a prompt for every dataset"),
        ({"languages": None}, "declare its `languages`"),  # this file lies in no folder of builders
    ],
)
def test_a_dataset_that_could_not_be_built_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        declared(**changes)


def test_a_name_is_lower_case_words_joined_by_hyphens() -> None:
    with pytest.raises(ValueError, match="lower-case words"):
        dataset(
            "A Name", task=Retrieval(), languages=("eng-Latn",), needs=(), versions={"1.0.0": "."}, benchmark="ateb"
        )(recipe)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b", "", "a\\b"])
def test_a_raw_file_never_leaves_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="a raw file's name"):
        by_hand(name, "get it")


@pytest.mark.parametrize("digest", [{"sha256": "abc"}, {"git_blob": "0" * 64}, {"sha256": "G" * 64}])
def test_a_digest_that_cannot_be_one_is_refused(digest: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must be"):
        https("https://example.org/x", **digest)


def test_two_files_of_a_source_never_share_a_place() -> None:
    files = {"a": https("https://example.org/one/x.json"), "b": https("https://example.org/two/x.json")}
    with pytest.raises(ValueError, match=r"two raw files are named 'x\.json'"):
        Source("s", "S", "mit", "https://example.org", "key", files)


def test_names_of_raw_files_come_from_where_they_are() -> None:
    archive = https("https://example.org/data/all.zip")
    named: list[RawFile] = [archive, member(archive, "in/a.csv"), github("o/r", "c" * 40, "x/y.json")]
    assert [file.name for file in named] == ["all.zip", "in/a.csv", "y.json"]


def test_the_evaluated_split_is_test_or_else_the_last() -> None:
    assert evaluated_split(Classification(labels=("a",))) == "test"
    assert evaluated_split(Retrieval(splits=("dev",))) == "dev"
    assert [layout.config for layout in layouts(Retrieval())] == ["corpus", "queries", "qrels"]


def test_an_error_says_what_where_found_expected_and_what_to_do() -> None:
    error = SourceError("bad line", where="a.jsonl, line 3", found="'x'", expected="JSON", todo="fetch it again")
    lines = [
        "bad line",
        "  where:    a.jsonl, line 3",
        "  found:    'x'",
        "  expected: JSON",
        "  to do:    fetch it again",
    ]
    assert str(error).splitlines() == lines
    assert str(RecipeError("too few", found="3", expected="4")).splitlines()[1:] == ["  found:    3", "  expected: 4"]


def test_errors_survive_the_way_from_a_worker_process() -> None:
    error = SourceError("bad line", where="a.jsonl", todo="fetch it again").lacking("demo/x", "offline")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is SourceError
    assert str(copy) == str(error)
    assert copy.missing == MissingFile("demo/x", "offline")


def test_every_kind_of_error_has_the_exit_code_of_the_contract() -> None:
    codes = {kind: kind.exit_code for kind in (DatasetError, UsageError, SourceError, FindingsError, PublishError)}
    assert list(codes.values()) == [1, 2, 3, 4, 5]


def test_a_dataset_may_belong_to_no_benchmark() -> None:
    assert declared(benchmark=None).group == "other"
    assert declared(benchmark=None).benchmark is None
