"""`import embedding_datasets`: what it offers, and what it costs."""

import argparse
import inspect
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import embedding_datasets as ed
from builders import errors
from pipelines import build, check
from pipelines.make import BuildResult
from tests.support.paths import ROOT

HEAVY = ("polars", "pyarrow", "pandas", "datasets", "mteb", "rich", "tqdm", "numpy", "msgspec", "pipelines.make")
SCRIPT = f"""
import sys
import embedding_datasets as ed
print(*(name for name in {HEAVY!r} if name in sys.modules))
release = ed.load("cedr", output="releases", offline=True)
print(*(name for name in ("pandas", "datasets", "pipelines.make") if name in sys.modules))
"""


def test_the_import_is_light_and_a_built_release_is_loaded_without_pandas_and_datasets(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    built = golden_release("cedr-classification")
    release_dir = tmp_path / "releases" / "cedr-classification" / "4.0.0"
    release_dir.parent.mkdir(parents=True)
    release_dir.symlink_to(built.release_dir)
    complete = SCRIPT.replace(
        "release =", "import pipelines.release.folder as f; f.Manifest.complete = True; release ="
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{complete}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"
    assert done.stderr == ""


PROGRESS = """
import io, sys
from pipelines.process.terminal import configure_logging, shows_progress
sys.stderr = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})()
print(shows_progress())
configure_logging()
print(shows_progress())
"""


def test_a_program_on_a_terminal_gets_no_progress_and_a_command_does() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRESS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"


def test_all_that_is_offered_is_there_and_documented() -> None:
    offered = {name: getattr(ed, name) for name in ed.__all__}
    assert all(inspect.getdoc(value) for value in offered.values())
    assert set(ed.__all__) <= set(dir(ed))
    with pytest.raises(AttributeError, match="nothing"):
        ed.nothing  # type: ignore[attr-defined] # noqa: B018


def test_errors_are_the_classes_of_the_command() -> None:
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
    assert {name for name in ed.__all__ if name.endswith("Error")} == classes
    assert all(getattr(ed, name) is getattr(errors, name) for name in classes)


@pytest.mark.parametrize(
    ("function", "parser"), [(ed.load, build.parser), (ed.build, build.parser), (ed.check, check.parser)]
)
def test_parameters_have_the_names_of_the_command_s_options(
    function: Callable[..., Any], parser: Callable[[], argparse.ArgumentParser]
) -> None:
    options = {option for action in parser()._actions for option in action.option_strings}
    keywords = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    named = {"columns": "map"}  # a keyword of Python's own functions says better what it is
    assert {f"--{named.get(name, name).replace('_', '-')}" for name in keywords} <= options


def test_the_packages_are_typed_for_their_users() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "py.typed" in settings["tool"]["setuptools"]["package-data"]["*"]
    assert all((ROOT / package / "py.typed").is_file() for package in settings["tool"]["mypy"]["packages"])
