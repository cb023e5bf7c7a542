"""The packages of embedding_datasets are its own, beside other packages of the same names."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from embedding_datasets.own_packages import NAMES, load_own_packages
from pipelines.process import workers
from tests.support.paths import ROOT

OTHER = 'raise RuntimeError("another package, which nobody asked for")\n'


def write_packages(folder: Path, text: str = OTHER) -> Path:
    """Packages with the names of ours in a folder."""
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(text)
    return folder


def python(*arguments: str, cwd: Path, path: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with our packages after those of the folder."""
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_in_a_folder_with_packages_of_the_same_names_the_command_is_ours(tmp_path: Path) -> None:
    done = python("-m", "embedding_datasets", "--help", cwd=write_packages(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "build releases from raw files" in done.stdout


def test_the_import_loads_our_packages_and_nothing_of_weight(tmp_path: Path) -> None:
    script = (
        "import sys, embedding_datasets\n"
        "import builders.errors, cards, pipelines.process.safe_text\n"
        "print(builders.__file__, cards.__file__, pipelines.__file__)\n"
        "print({'polars', 'pyarrow', 'datasets', 'pandas', 'numpy', 'httpx', 'importlib.metadata'} & set(sys.modules))\n"
    )
    done = python("-c", script, cwd=write_packages(tmp_path))
    assert done.stdout.splitlines() == [" ".join(str(ROOT / name / "__init__.py") for name in NAMES), "set()"]


@pytest.mark.parametrize("name", NAMES)
def test_our_packages_have_the_mark_by_which_they_are_recognised(name: str) -> None:
    assert importlib.import_module(name).DISTRIBUTION == "embedding-datasets"


def test_a_loaded_package_of_the_same_name_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_packages(tmp_path)
    with pytest.raises(
        ImportError, match=r"needs its own package builders, and another .* is loaded already"
    ) as caught:
        load_own_packages(tmp_path)
    assert f"found:    {ROOT / 'builders' / '__init__.py'}\n" in str(caught.value)
    assert f"expected: {tmp_path / 'builders' / '__init__.py'}\n" in str(caught.value)


def installed_over(folder: Path) -> Path:
    """A folder of installed packages, in which another distribution has replaced our package pipelines."""
    shutil.copytree(ROOT / "embedding_datasets", folder / "embedding_datasets")
    for name in NAMES:
        (folder / name).mkdir()
        shutil.copy(ROOT / name / "__init__.py", folder / name)
    (folder / "pipelines" / "__init__.py").write_text(OTHER)
    for distribution in ("embedding_datasets-0.2.0", "pipelines-0.1.14"):
        (folder / f"{distribution}.dist-info").mkdir()
        (folder / f"{distribution}.dist-info" / "RECORD").write_text("pipelines/__init__.py,sha256=x,1\n")
    return folder


@pytest.mark.parametrize(
    "command", [["-m", "embedding_datasets"], ["bin/embedding-datasets"]], ids=["module", "script"]
)
def test_a_package_installed_over_ours_ends_the_command_with_an_error_that_names_it(
    tmp_path: Path, command: list[str]
) -> None:
    folder = installed_over(tmp_path)
    script = folder / "bin" / "embedding-datasets"
    script.parent.mkdir()
    script.write_text("from embedding_datasets.__main__ import run\nrun()\n")
    done = python(*command, "show", cwd=folder, path=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "error: another package called pipelines was installed over the one of embedding_data"
    )
    assert f"{folder / 'pipelines' / '__init__.py'} (installed by pipelines-0.1.14)\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_installed_over_ours_is_an_import_error_that_python_can_catch(tmp_path: Path) -> None:
    script = "try:\n    import embedding_datasets\nexcept ImportError as error:\n    print(error.name)\n"
    assert python("-c", script, cwd=installed_over(tmp_path)).stdout == "pipelines\n"


def test_a_missing_package_is_an_error_that_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "builders")
    with pytest.raises(
        ImportError, match=r"the package builders of embedding_datasets is missing(?s:.*)--force-reinst"
    ):
        load_own_packages(tmp_path)


def test_new_processes_find_our_packages_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_packages(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    built = workers.run_in_processes(len, ["a", "bc"], 2, killed=lambda *_: AssertionError(), on_end=lambda _: None)
    assert list(built) == [1, 2]
