"""CITATION.cff says the same as the package."""

import tomllib

import yaml

from tests.support.paths import ROOT


def test_the_citation_has_the_name_and_the_licence_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])
    assert {"cff-version", "message", "authors"} <= citation.keys(), "what the format demands"
