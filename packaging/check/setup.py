"""What the wheel of embedding-datasets-check has: the modules that its commands import, from the tree two folders above."""

import ast
import runpy
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "embedding_datasets_check"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMMANDS = ("pipelines.command_line", "pipelines.check", "pipelines.diff", "pipelines.profile.searches")
# Imported for `check --org` and `check --against`, which need the catalogue.
LEFT_OUT = {
    "pipelines.hub.inspection", "pipelines.hub.organisation", "pipelines.hub.planning",
    "pipelines.hub.revisions", "pipelines.release.figures",
}  # fmt: skip
DATA = ("LICENSE", "builders/papers/*.json", "cards/[dpr]*.html.jinja", "pipelines/release/readers.json")
# Dependencies that builders, publishing and other commands have alone. PyStemmer is for --profile, with the extra scores.
OF_OTHERS = ("beautifulsoup4", "datasets", "defusedxml", "markdown-it-py", "pandas", "pystemmer")
EXTRAS = {name: list(PROJECT["optional-dependencies"][name]) for name in ("scores", "sign")}


def modules(root: Path = ROOT) -> set[Path]:
    """The files of the commands and of all modules of ours that they import, in functions too."""
    found, queue = set[Path](), list(COMMANDS)
    while queue:
        name = queue.pop()
        stem = root / name.replace(".", "/")
        path = next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)
        if path is None or path in found or name in LEFT_OUT:
            continue
        found.add(path)
        queue.append(name.rpartition(".")[0])
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                queue += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                queue += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


class BuildCheck(build_py):
    """The package with the modules, their data and the commit."""

    def run(self) -> None:
        """Copy them from the tree, into an empty folder."""
        folder = Path(self.build_lib, FOLDER)
        shutil.rmtree(folder, ignore_errors=True)
        super().run()
        for path in (*modules(), *(path for pattern in DATA for path in ROOT.glob(pattern))):
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        installation = runpy.run_path(str(ROOT / "pipelines" / "process" / "installation.py"))
        (folder / installation["COMMIT_FILE"]).write_text(f"{installation['commit']() or ''}\n", "utf-8")


if __name__ == "__main__":
    own = [line for line in PROJECT["dependencies"] if not line.startswith(OF_OTHERS)]
    EXTRAS["scores"] += [line for line in PROJECT["dependencies"] if line.startswith("pystemmer")]
    setup(version=PROJECT["version"], install_requires=own, extras_require=EXTRAS, cmdclass={"build_py": BuildCheck})
