"""What the wheel of embedding-datasets-check has: the modules that its commands import, from the tree two folders above."""

import shutil
import sys
import tomllib
from pathlib import Path, PurePosixPath

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.process import installation  # noqa: E402 - from this tree
from pipelines.release import fingerprint  # noqa: E402

FOLDER = "embedding_datasets_check"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMMANDS = ("pipelines.command_line", "pipelines.check", "pipelines.diff", "pipelines.profile.searches")
# Imported for `check --org` and `check --against`, which need the catalogue.
LEFT_OUT = frozenset(
    f"pipelines/{name}.py"
    for name in ("hub/inspection", "hub/organisation", "hub/planning", "hub/revisions", "release/figures")
)
DATA = ("LICENSE", "builders/papers/*.json", "cards/[dpr]*.html.jinja", "pipelines/release/readers.json")
# Dependencies that builders, publishing and other commands have alone. PyStemmer is for --profile, with the extra scores.
OF_OTHERS = ("beautifulsoup4", "datasets", "defusedxml", "markdown-it-py", "pandas", "pystemmer")


def modules() -> set[str]:
    """The files, below ROOT, of the commands and of all modules of ours that they import, in functions too."""
    found = fingerprint.reached(COMMANDS, without=LEFT_OUT, use_cache=False)
    return {
        *found,
        *(f"{parent}/__init__.py" for path in found for parent in PurePosixPath(path).parents if parent.name),
    }


class BuildCheck(build_py):
    """The package with the modules, their data and the commit."""

    def run(self) -> None:
        """Copy them from the tree, into an empty folder."""
        folder = Path(self.build_lib, FOLDER)
        shutil.rmtree(folder, ignore_errors=True)
        super().run()
        data = (path.relative_to(ROOT) for pattern in DATA for path in ROOT.glob(pattern))
        for name in (*modules(), *data):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
        (folder / installation.COMMIT_FILE).write_text(f"{installation.commit() or ''}\n", "utf-8")


if __name__ == "__main__":
    own = [line for line in PROJECT["dependencies"] if not line.startswith(OF_OTHERS)]
    extras = {name: list(PROJECT["optional-dependencies"][name]) for name in ("scores", "sign")}
    extras["scores"] += [line for line in PROJECT["dependencies"] if line.startswith("pystemmer")]
    setup(version=PROJECT["version"], install_requires=own, extras_require=extras, cmdclass={"build_py": BuildCheck})
