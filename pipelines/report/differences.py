"""What differs between two releases, for `diff` and for Python: their tables, and the figures that describe them."""

from pathlib import Path
from typing import Any

from builders.errors import ReleaseError
from pipelines.release import comparison, folder
from pipelines.release.verification import verify_release


def compare_releases(old: tuple[str, Path], new: tuple[str, Path]) -> dict[str, Any]:
    """What differs between two releases, each given by the name that the user has for it and by its folder.

    Returns same (whether their rows are), a and b (name, dataset, version, content_sha256), tables (release.comparison.Change),
    figures (statistics and others that differ, as [a, b]) and equal_figures (how many do not).

    Raises ReleaseError for a folder that is not a release, and where the rows differ from its manifest.
    """
    heads, release_dirs = [], (old[1], new[1])
    for name, release_dir in (old, new):
        manifest = folder.require_manifest(release_dir)
        # A card edited on the Hub does not matter here; edited statistics do, because they are compared.
        problems = verify_release(release_dir, manifest)
        problems += folder.edited_documents(release_dir, manifest, [folder.STATISTICS])
        if problems:
            todo = f"remove {release_dir}, then build or fetch it again"
            raise ReleaseError("the release is damaged", where=name, found=problems[0], todo=todo)
        head = {"dataset": manifest.dataset, "version": manifest.version, "content_sha256": manifest.content_sha256}
        heads.append({"name": name, **head})
    figures, equal = comparison.compare_figures(*release_dirs)
    return {
        "same": heads[0]["content_sha256"] == heads[1]["content_sha256"],
        "a": heads[0],
        "b": heads[1],
        "tables": comparison.compare_tables(*release_dirs),
        "figures": figures,
        "equal_figures": equal,
    }
