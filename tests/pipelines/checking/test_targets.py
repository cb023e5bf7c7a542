"""The names that commands take: folders, repositories, datasets of the catalogue, and the newest of several versions."""

from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from pipelines.checking.targets import Target, locate_target, newest_release, resolve_release, resolve_targets
from pipelines.hub import client
from pipelines.release.figures import VERSIONS


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("org/set", ("org/set", "main")),
        ("org/set@v1.0.0", ("org/set", "v1.0.0")),
        ("org/set@refs/pr/1", ("org/set", "refs/pr/1")),
        ("here/set", None),
        ("here", None),
        ("org/set/more", None),
        ("../set", None),
        ("/org/set", None),
    ],
)
def test_a_name_with_a_slash_is_a_repository_unless_its_folder_exists(
    name: str, expected: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert client.parse_reference(name, "main") == expected
    assert client.parse_reference(name) == (expected if "@" in name else None)


def test_a_name_is_a_repository_a_folder_or_datasets_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here" / "data").mkdir(parents=True)
    output = Path("outputs")
    assert resolve_targets("org/set@v1.0.0", output) == [Target("org/set@v1.0.0", repository=("org/set", "v1.0.0"))]
    assert resolve_targets("here", output) == [Target("here", Path("here"))]
    assert resolve_targets("terra", output) == [Target("terra", output / "terra-pairclassification")]
    assert resolve_targets("terra@1.0.0", output) == [
        Target("terra@1.0.0", output / "terra-pairclassification" / "1.0.0")
    ]
    assert [target.name for target in resolve_targets("rubq", output)] == ["rubq-reranking", "rubq-retrieval"]
    with pytest.raises(UsageError, match="no such folder or file, and "):
        resolve_targets("terrra", output)
    for name in ("heer", "./heer"):
        with pytest.raises(UsageError, match="no such folder") as caught:
            resolve_targets(name, output)
        assert caught.value.found == "here"
    with pytest.raises(UsageError, match="no such folder"):
        resolve_targets("here/there", output)


def test_the_figures_of_a_paper_are_compared_with_a_version_that_rebuilds_its_dataset(tmp_path: Path) -> None:
    releases = tmp_path / "cedr-classification"
    (releases / "2.0.0").mkdir(parents=True)
    with pytest.raises(ReleaseError, match=r"no version 1\.x of cedr has been built") as caught:
        locate_target(Target("cedr", releases), versions=VERSIONS)
    assert caught.value.found == "version 2.0.0"
    assert "embedding-datasets build cedr-classification@1.0.0" in str(caught.value.todo)
    for version in ("1.0.0", "1.1.0"):
        (releases / version).mkdir()
        assert locate_target(Target("cedr", releases), versions=VERSIONS)[0].name == version
    named = Target("cedr@2.0.0", releases / "2.0.0")
    assert locate_target(named, versions=VERSIONS)[0].name == "2.0.0", "a version that is named is taken"


def test_the_newest_version_is_chosen_among_the_preferred_ones(tmp_path: Path) -> None:
    assert newest_release(tmp_path) == tmp_path
    for version in ("1.0.0", "1.10.0", "1.2.0", "2.0.0"):
        (tmp_path / version).mkdir()
    assert newest_release(tmp_path, VERSIONS).name == "1.10.0"
    assert newest_release(tmp_path).name == "2.0.0"
    (tmp_path / "manifest.json").touch()
    assert newest_release(tmp_path) == tmp_path


def make_releases(releases: Path, *names: str) -> None:
    for name in names:
        (releases / name).mkdir(parents=True)
        (releases / name / "manifest.json").touch()


def test_a_folder_with_the_releases_of_several_datasets_means_all_of_them(tmp_path: Path) -> None:
    make_releases(tmp_path, "rubq-retrieval/1.0.0", "cedr-classification/10.0.0", "cedr-classification/2.0.0")
    (tmp_path / "README.md").touch()
    (tmp_path / "cedr-classification" / "notes").mkdir()
    targets = resolve_targets(str(tmp_path), Path("elsewhere"))
    assert [target.folder.relative_to(tmp_path).as_posix() for target in targets if target.folder] == [
        "cedr-classification/2.0.0",
        "cedr-classification/10.0.0",
        "rubq-retrieval/1.0.0",
    ]
    one = str(tmp_path / "cedr-classification")
    assert resolve_targets(one, Path("elsewhere")) == [Target(one, Path(one))], "the newest of one dataset, as ever"


def test_a_link_out_of_the_folder_of_releases_is_not_followed(tmp_path: Path) -> None:
    make_releases(tmp_path / "elsewhere", "cedr-classification/1.0.0")
    make_releases(tmp_path / "here", "rubq-retrieval/1.0.0")
    (tmp_path / "here" / "cedr-classification").symlink_to(tmp_path / "elsewhere" / "cedr-classification")
    [target] = resolve_targets(str(tmp_path / "here"), Path("outputs"))
    assert target.folder == tmp_path / "here" / "rubq-retrieval" / "1.0.0"


@pytest.mark.parametrize("files", [[], ["README.md", ".gitignore"]])
def test_a_folder_with_nothing_in_it_is_an_error(files: list[str], tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match="the folder holds no dataset") as caught:
        resolve_targets(str(tmp_path), Path("outputs"))
    assert "embedding-datasets build NAME" in str(caught.value)


def test_a_file_is_a_target_and_not_a_release(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.touch()
    [target] = resolve_targets(str(path), Path("outputs"))
    assert target == Target(str(path), file=path)
    with pytest.raises(UsageError, match="a file is not a release"):
        locate_target(target)


def test_a_name_of_the_catalogue_means_a_release_below_the_folder_of_releases(tmp_path: Path) -> None:
    make_releases(tmp_path, "cedr-classification/1.0.0", "cedr-classification/3.0.0")
    cedr = tmp_path / "cedr-classification"
    assert resolve_release("cedr@1.0.0", tmp_path) == cedr / "1.0.0"
    assert resolve_release("CEDRClassification@v1.0.0", tmp_path) == cedr / "1.0.0"
    assert resolve_release("cedr", tmp_path) == cedr / "3.0.0"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cedr@2.0.0", ["cedr@2.0.0 has not been built", "embedding-datasets build cedr@2.0.0", "--releases DIR"]),
        ("cedr@9.9.9", ["has no version '9.9.9'", "1.0.0"]),
        ("rubq@1.0.0", ["'rubq@1.0.0' means 2 datasets", "rubq-reranking, rubq-retrieval"]),
        ("terrra", ["no source, dataset or group is named 'terrra'", "terra"]),
        ("here/there", ["no such folder", "cedr@1.0.0"]),
    ],
)
def test_a_release_that_is_not_there_is_an_error_that_says_what_to_do(
    name: str, words: list[str], tmp_path: Path
) -> None:
    with pytest.raises((UsageError, ReleaseError)) as caught:
        resolve_release(name, tmp_path)
    assert all(word in str(caught.value) for word in words), str(caught.value)
