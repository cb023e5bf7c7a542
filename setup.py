"""What a wheel has beside the modules and their data: the raw files of the golden samples, and the commit.

Everything else is in pyproject.toml.
"""

import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
INSTALLATION = runpy.run_path(str(ROOT / "pipelines" / "process" / "installation.py"))


def write_commit(folder: Path) -> None:
    """Write the commit into a copy of the package, where it is known."""
    commit = INSTALLATION["commit"]()
    if commit:
        (folder / INSTALLATION["COMMIT_FILE"]).write_text(f"{commit}\n", "utf-8")


class BuildPackages(build_py):
    """The packages, in an empty folder: an earlier build may have left modules there that are gone."""

    def run(self) -> None:
        """Copy the packages, the golden samples and the commit; an editable installation has them in its checkout."""
        if self.editable_mode:
            super().run()
            return
        folder = Path(self.build_lib)
        for package in self.packages or ():
            shutil.rmtree(folder / package.split(".")[0], ignore_errors=True)
        super().run()
        for raw in sorted(ROOT.glob("tests/golden/*/raw")):
            shutil.copytree(raw, folder / "pipelines" / "golden" / raw.parent.name / "raw")
        write_commit(folder)


class SourceArchive(sdist):
    """The source archive: it has no repository, but a wheel built from it names the commit too."""

    def make_release_tree(self, base_dir: str, files: Any) -> None:
        """Copy the files, and write the commit beside them."""
        super().make_release_tree(base_dir, files)
        write_commit(Path(base_dir))


setup(cmdclass={"build_py": BuildPackages, "sdist": SourceArchive})
