"""The examples in the docstrings of the library are typed as they are."""

import doctest
from pathlib import Path

import polars as pl
import pytest

import embedding_datasets as ed
from pipelines.library import findings, records

FUNCTIONS = [getattr(ed, name) for name in ed.__all__ if name.islower()]


def documented() -> list[doctest.DocTest]:
    finder, names = doctest.DocTestFinder(recurse=False), {"ed": ed, "pl": pl}
    objects = [*FUNCTIONS, *(value for one in (findings.Findings, records.Release) for value in vars(one).values())]
    return [
        found
        for value in objects
        if hasattr(value, "__name__") and isinstance(getattr(value, "__doc__", None), str)
        for found in finder.find(value, value.__name__, globs=dict(names))
        if found.examples
    ]


@pytest.mark.parametrize("example", documented(), ids=lambda example: example.name)
def test_what_an_example_prints(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)


def test_every_function_has_an_example_and_names_all_its_parameters() -> None:
    for function in FUNCTIONS:
        assert any(found.name == function.__name__ for found in documented())
        for name in function.__kwdefaults__ or {}:
            assert f"{name}:" in function.__doc__ or f"{name}," in function.__doc__, (function.__name__, name)
