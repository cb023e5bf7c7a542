"""The exact versions that CI installs, and those with hashes for those who rebuild in later years."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
INSTALLED = ("test", "consumers", "docs", "models", "ray", "s3", "scores", "sign")  # the extras that CI installs
OURS = PROJECT["name"]


def pinned(name: str) -> dict[str, Version]:
    """The version of each package in a file."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(package): Version(version) for package, version in lines}


def requirements(*extras: str) -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return [one for one in map(Requirement, lines) if canonicalize_name(one.name) != OURS]


@pytest.mark.parametrize(("file", "extras"), [("constraints.txt", INSTALLED), ("requirements.lock", ())])
def test_every_dependency_has_an_exact_version_that_the_package_accepts(file: str, extras: tuple[str, ...]) -> None:
    versions = pinned(file)
    for requirement in requirements(*extras):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)], prereleases=True), (
            requirement
        )


def test_both_files_have_the_same_versions() -> None:
    constraints = pinned("constraints.txt")
    assert {
        name: version for name, version in pinned("requirements.lock").items() if constraints[name] != version
    } == {}


def test_every_version_of_the_lock_has_hashes() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", (ROOT / "requirements.lock").read_text("utf-8"))[1:]
    assert len(entries) == len(pinned("requirements.lock"))
    assert [entry.partition("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("file", ["constraints.txt", "requirements.lock"])
def test_no_file_names_an_index_or_a_path(file: str) -> None:
    text = "\n".join(line for line in (ROOT / file).read_text("utf-8").splitlines() if not line.startswith("#"))
    assert re.search(r"://| @ |(?m:^-|^/)", text) is None


@pytest.mark.parametrize("name", ["beautifulsoup4", "py3langid", "pystemmer"])
def test_what_decides_rows_has_an_upper_bound(name: str) -> None:
    [requirement] = [one for one in requirements() if one.name == name]
    assert not requirement.specifier.contains("99")
