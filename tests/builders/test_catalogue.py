"""The whole catalogue: names, files beside files, imports that run one way, builds that agree with each other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders import catalogue
from builders.errors import UsageError
from pipelines.make import GOLDEN
from tests.support.releases import FIRST_OF_EACH_TASK_TYPE, NAMES, definition_of

ROOT = Path(catalogue.__file__).parents[1]
SOURCES = sorted({entry.source for entry in catalogue.entries().values()})


def names(*asked: str) -> list[str]:
    return [entry.dataset for entry, _ in catalogue.resolve(asked)]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("rubq", ["rubq-reranking", "rubq-retrieval"]),
        ("rub", ["rubq-reranking", "rubq-retrieval"]),
        ("rubq-retrieval", ["rubq-retrieval"]),
        ("europarl", ["europarl-bitext"]),
        ("iwslt17", ["iwslt17-bitext"]),
        ("ru-paraphraser", ["ru-paraphraser-sts"]),
        ("hhrlhf-harmlessness", ["hhrlhf-harmlessness-classification"]),
        ("arc", ["arc-challenge-retrieval", "rarb-arc-challenge"]),
        ("rubq rubq-retrieval rubq", ["rubq-reranking", "rubq-retrieval"]),
        ("miracl", ["miracl-retrieval-ru", "miracl-retrieval-hard-negatives-ru", "miracl-reranking-ru"]),
        ("miracl-contrastive", ["miracl-contrastive"]),  # training data, which the source's name does not mean
        ("medi", ["medi-contrastive"]),
    ],
)
def test_a_name_is_a_source_a_dataset_or_an_unambiguous_beginning(asked: str, meant: list[str]) -> None:
    assert names(*asked.split()) == meant


def test_groups_partition_the_catalogue() -> None:
    groups = {entry.group for entry in catalogue.entries().values()} - {
        "mteb-rus-v1.1"
    }  # its tasks read datasets of others
    own = [entry.dataset for entry in catalogue.entries().values() if entry.group == "mteb-rus-v1.1"]
    assert len(own) == 2
    assert sorted([*own, *(name for group in groups for name in names(group))]) == sorted(NAMES)
    assert sorted(names("all", "training")) == sorted(NAMES)


def test_training_data_are_in_no_benchmark_and_not_in_all() -> None:
    assert "ru-hnp-contrastive" in names("training")
    assert not set(names("training")) & set(names("all", "rumteb", "ateb", "rarb"))
    assert all(definition_of(name).dataset.group == "training" for name in names("training"))


def test_training_data_of_a_source_of_a_benchmark_are_listed_as_training(tmp_path: Path) -> None:
    path = tmp_path / "rumteb" / "one.py"
    path.parent.mkdir()
    path.write_text(
        '@dataset("one-pairs", task=Contrastive(("a",)), needs=())\ndef pairs(raw):\n    ...\n'
        '@dataset("one-search", task=Retrieval(), needs=(), benchmark="rumteb")\ndef search(raw):\n    ...\n'
        '@dataset("one-else", task=Retrieval(), needs=())\ndef other(raw):\n    ...\n',
        encoding="utf-8",
    )
    found = catalogue.read_catalogue(tmp_path)
    assert {name: entry.group for name, entry in found.items()} == {
        "one-pairs": "training",
        "one-search": "rumteb",
        "one-else": "other",
    }


def test_a_builder_whose_docstring_names_the_decorator_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "ateb" / "one.py"
    path.parent.mkdir()
    path.write_text(f'"""Three of @dataset:\n\n@dataset("no")\ndef no(): ...\n"""\n{declare("one", "two")}', "utf-8")
    assert list(catalogue.read_catalogue(tmp_path)) == ["one", "two"]


def test_the_group_that_a_builder_declares_is_that_of_the_dataset_as_loaded() -> None:
    groups = {name: entry.group for name, entry in catalogue.entries().items()}
    assert groups == {name: definition_of(name).dataset.group for name in groups}
    assert "miracl-contrastive" in names("training")
    assert "miracl-contrastive" not in names("all", "rumteb")


def test_a_version_belongs_to_the_name_it_is_written_with() -> None:
    [(entry, version)] = catalogue.resolve(["rubq-retrieval@1.0.0"])
    assert (entry.dataset, version) == ("rubq-retrieval", "1.0.0")


def test_an_ambiguous_beginning_is_answered_with_what_it_could_mean() -> None:
    with pytest.raises(UsageError, match="beginning of several names") as caught:
        catalogue.resolve(["ru"])
    assert "rubq" in str(caught.value)
    assert "ru-paraphraser-sts" in str(caught.value)


def test_an_empty_name_means_nothing() -> None:
    with pytest.raises(UsageError):
        catalogue.resolve([""])


def test_a_version_may_be_written_like_its_tag() -> None:
    assert catalogue.resolve(["rubq-retrieval@v1.0.0"]) == catalogue.resolve(["rubq-retrieval@1.0.0"])


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("cedr@", "no version after the @ in 'cedr@'"),
        ("@1.0.0", "no dataset before the version in '@1.0.0'"),
        ("cedr@latest", "'latest' is not a version"),
        ("cedr@2", "'2' is not a version"),
        ("cedr@1.0.0@2.0.0", "'1.0.0@2.0.0' is not a version"),
    ],
)
def test_what_is_not_a_version_is_refused(asked: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue.resolve([asked])
    assert caught.value.what == what
    assert caught.value.todo


def test_several_versions_of_a_dataset_come_in_ascending_order_and_each_once() -> None:
    names = ["rubq-retrieval@10.0.0", "cedr", "rubq-retrieval@2.0.0", "rubq-retrieval", "rubq-retrieval@10.0.0"]
    resolved = [(entry.dataset, version) for entry, version in catalogue.resolve(names)]
    assert resolved == [("cedr-classification", None), ("rubq-retrieval", "2.0.0"), ("rubq-retrieval", "10.0.0")]


def declare(*datasets: str) -> str:
    """A builder with these datasets."""
    return "".join(
        f'@dataset("{name}", benchmark="ateb")\ndef recipe_{i}(raw):\n    ...\n' for i, name in enumerate(datasets)
    )


@pytest.mark.parametrize(
    ("builders", "words"),
    [
        ({"rumteb/one.py": declare("same"), "ateb/other.py": declare("same")}, "two datasets are named 'same'"),
        ({"rumteb/same.py": declare("one"), "ateb/same.py": declare("other")}, "two sources are named 'same'"),
        ({"rumteb/empty.py": ""}, "no dataset declared"),
        (
            {"rumteb/computed.py": 'NAME = "x"\n@dataset(NAME, benchmark="rumteb")\ndef recipe(raw):\n    ...\n'},
            r"computed\.py:2: a dataset's name and benchmark must be literal",
        ),
    ],
    ids=["one name for two datasets", "one name for two sources", "no dataset", "a name that is computed"],
)
def test_builders_that_cannot_be_listed_are_refused(builders: dict[str, str], words: str, tmp_path: Path) -> None:
    for file, text in builders.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=words):
        catalogue.read_catalogue(tmp_path)


def test_resolving_names_imports_no_builder() -> None:
    code = "import sys; from builders import catalogue; catalogue.resolve(['all'])"
    code += "; print([m for m in sys.modules if 'ateb' in m or m == 'polars'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_stem_everywhere_and_no_orphans() -> None:
    golden = {path.name for path in GOLDEN.iterdir() if path.is_dir()} - {"old"}  # what version 0.2.0 wrote
    written = {path.stem for path in (ROOT / "cards" / "prose").glob("*.md")}
    assert golden == set(SOURCES)
    assert written == set(SOURCES)


def sample_build(names: list[str], output: Path, **environment: str) -> dict[str, str]:
    """The content hashes of sample builds in a separate process that may open no socket."""
    guard = (
        "import sys\n"
        "def refuse(event, _):\n"
        "    if event == 'socket.connect' or event == 'socket.getaddrinfo':\n"
        "        raise RuntimeError('a build opened a socket: ' + event)\n"
        "sys.addaudithook(refuse)\n"
        f"sys.argv = ['build', *{names!r}, '--sample', '--json', '--output', {str(output)!r}]\n"
        "from pipelines.build import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", guard],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {row["dataset"]: row["content_sha256"] for row in map(json.loads, done.stdout.splitlines())}


def golden_counts(name: str) -> Path:
    """What the newest version of a dataset gives of its golden sample: test_golden.py builds it in this environment."""
    definition = definition_of(name)
    return GOLDEN / definition.source.name / name / definition.dataset.newest / "counts.json"


@pytest.mark.parametrize(
    "names", [FIRST_OF_EACH_TASK_TYPE, pytest.param(NAMES, marks=pytest.mark.slow)], ids=["each task type", "all"]
)
def test_builds_agree_whatever_the_hash_seed_the_threads_the_locale_the_time_zone_and_optimization(
    names: list[str], tmp_path: Path
) -> None:
    golden = {name: json.loads(golden_counts(name).read_text("utf-8"))["content_sha256"] for name in names}
    assert golden == sample_build(
        names,
        tmp_path,
        PYTHONHASHSEED="1",
        POLARS_MAX_THREADS="4",
        LC_ALL="C.UTF-8",
        TZ="Asia/Tokyo",
        PYTHONOPTIMIZE="1",  # as with -O: without assertions
    )


def test_every_dataset_has_a_title_of_its_own() -> None:
    titles = {name: definition_of(name).dataset.pretty_name for name in NAMES}
    assert len(set(titles.values())) == len(titles)
