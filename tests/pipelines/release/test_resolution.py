"""Which files `datasets` reads: compared with the library itself on folders of empty files."""

import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import pytest
import yaml
from datasets import data_files, packaged_modules
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.errors import SourceError
from pipelines.release import resolution
from pipelines.release.resolution import Files, resolve_files

FOLDERS = ("data", "train", "test", "en", "en-test", "validation_1", ".hidden", "__special__", "a b", "[x]")
STEMS = (
    "train", "test", "train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001", "my-dev-00000-of-00001",
    "my_dev-00000-of-00001", "train-extra", "x", "Train", "eval 1", "corpus", "queries", "en-train-1", ".hidden", "training",
)  # fmt: skip
ENDINGS = (".parquet", ".csv", ".jsonl.gz", ".tsv")
OTHERS = (
    "notes.txt", "config.json", "dataset_infos.csv", "img.png", "script.py", "none", "data/x.csv", "en/x.parquet", "metadata.csv",
    "train/metadata.jsonl", "logs/x.eval", "task.toml", "IMG.PNG", "x.JSONL",
)  # fmt: skip
PATTERNS = (
    "*", "**", "data/*", "data/**", "**/*", "**/train*", "*/test-*", "./data/*", "**/*.parquet", "**/.hidden.csv", ".hidden/*",
    "__special__/*", "da[tz]a/*", "da[!x]a/**", "*.csv", "en/**/test*", "data/train-*", "data/test-?????-of-00001.parquet",
    "a b/*", "**.parquet", "[[]x]/*", "x.parquet/*", "data",
)  # fmt: skip
SPLITS = ("train", "test", "dev", "my_dev", "my-dev")
DATA_DIRS = ("data", "en", "data/en", "train")


@st.composite
def repositories(draw: st.DrawFn) -> tuple[list[str], dict[str, Any]]:
    """The files of a repository, most of them in one format, and its front matter, whose patterns match some of them."""
    ending = draw(st.sampled_from(ENDINGS))
    folders = draw(st.lists(st.lists(st.sampled_from(FOLDERS), max_size=2).map("/".join), min_size=1, max_size=3))
    places = st.tuples(st.sampled_from(folders), st.sampled_from(STEMS)).map(lambda pair: "/".join(filter(None, pair)))
    files = [place + ending for place in draw(st.lists(places, min_size=1, max_size=8, unique=True))]
    files += draw(st.lists(st.sampled_from(OTHERS), max_size=2))
    files = list(dict.fromkeys(files))
    matching = [pattern for file in files for pattern in (file, f"{file[:-12]}*", f"{PurePosixPath(file).parent}/*")]
    patterns = st.sampled_from([*matching, *matching, *PATTERNS])
    several = st.one_of(patterns, st.lists(patterns, min_size=1, max_size=2))
    by_split = st.fixed_dictionaries({"split": st.sampled_from(SPLITS), "path": several})
    data_files = st.one_of(several, st.lists(by_split, min_size=1, max_size=2))
    config = st.fixed_dictionaries({}, optional={"data_files": data_files, "data_dir": st.sampled_from(DATA_DIRS)})
    configs = draw(st.dictionaries(st.sampled_from(("default", "en", "corpus")), config, max_size=2))
    declared = [{"config_name": name, **config} for name, config in configs.items()]
    return files, {"configs": declared} if declared else {}


def files_of_library(folder: Path, front_matter: dict[str, Any]) -> Files | None:
    """What `load_dataset_builder` reads of a folder; None where it raises, or would read a split without files."""
    try:
        files: Files = {}
        for name in [config["config_name"] for config in front_matter.get("configs", [{"config_name": "default"}])]:
            builder = datasets.load_dataset_builder(str(folder), name, cache_dir=str(folder / ".cache"))
            assert builder.config.data_files is not None
            files[name] = {
                str(split): [Path(path).relative_to(folder).as_posix() for path in several]
                for split, several in builder.config.data_files.items()
            }
    except Exception:  # noqa: BLE001 - it raises whatever happens to go wrong
        return None
    return files if all(several for splits in files.values() for several in splits.values()) else None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(repository=repositories())
def test_files_are_resolved_as_the_library_resolves_them(repository: tuple[list[str], dict[str, Any]]) -> None:
    listing, front_matter = repository
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        for path in listing:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).touch()
        (folder / "README.md").write_text(f"---\n{yaml.safe_dump(front_matter)}---\n", "utf-8")
        expected = files_of_library(folder, front_matter)
    try:
        ours: Files | None = resolve_files([*listing, "README.md"], front_matter, "here")
    except SourceError:
        ours = None
    assert ours == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "../*.csv",
        "a/../../b.csv",
        "/etc/passwd",
        "https://example.org/x.csv",
        "hf://datasets/a/b/*",
        "zip://*.csv::x.zip",
    ],
)
def test_a_pattern_that_leads_out_of_the_listing_is_refused_before_the_library_follows_it(pattern: str) -> None:
    for files in (pattern, ["*.csv", pattern], [{"split": "test", "path": ["*.csv", pattern]}]):
        with pytest.raises(SourceError, match="files outside the dataset") as caught:
            resolve_files(["x.csv"], {"configs": [{"config_name": "c", "data_files": files}]}, "here")
        assert caught.value.found == pattern
    with pytest.raises(SourceError, match="files outside the dataset"):
        resolve_files(["x.csv"], {"configs": [{"config_name": "c", "data_dir": pattern}]}, "here")


def test_a_name_that_leads_out_of_the_folder_is_in_no_table() -> None:
    paths = ["../x.csv", "/etc/y.csv", "a/../../z.csv", "a\\b.csv", "a//b.csv", "good/t.csv"]
    front_matter = {"configs": [{"config_name": "c", "data_files": "**"}]}
    assert resolve_files(paths, front_matter, "here") == {"c": {"train": ["good/t.csv"]}}


def test_a_file_that_two_patterns_match_is_read_twice() -> None:
    front_matter = {"configs": [{"config_name": "c", "data_files": ["x.csv", "*.csv"]}]}
    assert resolve_files(["x.csv"], front_matter, "here") == {"c": {"train": ["x.csv", "x.csv"]}}


def test_the_endings_and_patterns_are_those_of_the_library() -> None:
    """Where this fails, a new version of the library reads other files: compare its functions, then write readers.json again."""
    readers = {
        ending: " ".join([module, *(f"{name}={value!r}" for name, value in options.items())])
        for ending, (module, options) in packaged_modules._EXTENSION_TO_MODULE.items()
    }
    assert readers == resolution.READERS
    assert set(packaged_modules._ALL_ALLOWED_EXTENSIONS) == resolution.ALLOWED
    assert set(packaged_modules._ALL_METADATA_FILENAMES) == resolution.METADATA
    assert set(data_files.FILES_TO_IGNORE) == resolution.IGNORED
    own = [{str(split): several for split, several in each.items()} for each in data_files.ALL_DEFAULT_PATTERNS]
    assert own == list(resolution.OWN_PATTERNS)
    assert [resolution.SHARDS.format("{split}")] == data_files.ALL_SPLIT_PATTERNS
