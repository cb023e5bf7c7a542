"""The names that commands take: folders, repositories, datasets of the catalogue, and the newest of several versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import ReleaseError, UsageError
from pipelines.hub import client
from pipelines.release.figures import VERSIONS
from pipelines.report.targets import Target, locate_target, newest_release, resolve_release, resolve_targets


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
    (tmp_path / "here").mkdir()
    output = Path("outputs")
    assert resolve_targets("org/set@v1.0.0", output) == [Target("org/set@v1.0.0", repository=("org/set", "v1.0.0"))]
    assert resolve_targets("here", output) == [Target("here", Path("here"))]
    assert resolve_targets("terra", output) == [Target("terra", output / "terra-pairclassification")]
    assert resolve_targets("terra@1.0.0", output) == [
        Target("terra@1.0.0", output / "terra-pairclassification" / "1.0.0")
    ]
    assert [target.name for target in resolve_targets("rubq", output)] == ["rubq-reranking", "rubq-retrieval"]
    with pytest.raises(UsageError, match="no such folder, and "):
        resolve_targets("terrra", output)
    with pytest.raises(UsageError, match="no such folder"):
        resolve_targets("here/there", output)


def test_a_dataset_that_has_not_been_built_is_an_error_that_says_how_to_build_it() -> None:
    with pytest.raises(ReleaseError, match="terra has not been built") as caught:
        locate_target(Target("terra", Path("outputs/nothing")))
    assert "embedding-datasets build terra" in str(caught.value.todo)
    with pytest.raises(UsageError, match="no such folder"):
        resolve_release("outputs/nothing")


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
