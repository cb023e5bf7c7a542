"""The ledger: the content hash of every version built from complete real sources, kept in the repository.

    {dataset: {version: {"content_sha256": ..., "tables": [{config, split, rows, content_sha256}], "raw": {name: sha256},
                         "published": [repository, ...]}}}

It is what tells, years later, that a rebuilt version is the one that was released. `published` is there once a version is on
the Hub: from then on nothing replaces its rows.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LEDGER = Path(__file__).parents[1] / "ledger.json"


def ledger_entry(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the ledger keeps of a release; None for a sample, a part, or one from files of unknown digest."""
    if manifest["sample"] or manifest["partial"] or not all(file["verified"] for file in manifest["raw"]):
        return None
    return _entry(manifest)


def _entry(manifest: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("config", "split", "rows", "content_sha256")
    return {
        "content_sha256": manifest["content_sha256"],
        "tables": [{key: table[key] for key in kept} for table in manifest["tables"]],
        "raw": {file["name"]: file["sha256"] for file in manifest["raw"]},
    }


def find_entry(dataset: str, version: str, ledger: Path = LEDGER) -> dict[str, Any] | None:
    """The entry of a version; None where the ledger has none."""
    entry: dict[str, Any] | None = _read(ledger).get(dataset, {}).get(version)
    return entry


def record_entry(dataset: str, version: str, entry: Mapping[str, Any], ledger: Path = LEDGER) -> bool:
    """Write an entry; False where it stands already or the package is no checkout that can be written."""

    def change(old: dict[str, Any] | None) -> dict[str, Any]:
        published = (old or {}).get("published")
        return {**entry, "published": published} if published else dict(entry)

    return _change(dataset, version, change, ledger)


def record_publication(manifest: Mapping[str, Any], repo: str, ledger: Path = LEDGER) -> bool:
    """Note that a version is published as a repository of the Hub; True and False as of `record`.

    A version that the ledger did not know, for it was built from files of unknown digest, is known from now on.
    """

    def change(old: dict[str, Any] | None) -> dict[str, Any]:
        entry = old or _entry(manifest)
        return {**entry, "published": sorted({*entry.get("published", []), repo})}

    return _change(manifest["dataset"], manifest["version"], change, ledger)


def _change(
    dataset: str, version: str, change: Callable[[dict[str, Any] | None], dict[str, Any]], ledger: Path
) -> bool:
    """Replace an entry by what `change` makes of it."""

    checkout = (ledger.parent.parent / "pyproject.toml").is_file() or ledger != LEDGER
    if not checkout or not os.access(ledger.parent, os.W_OK):
        return False
    lock = ledger.with_name(f".{ledger.name}.lock")
    with FileLock(lock):
        content = _read(ledger)
        old = content.get(dataset, {}).get(version)
        entry = change(old)
        if old == entry:
            lock.unlink()
            return False
        content.setdefault(dataset, {})[version] = entry
        new = ledger.with_name(f".{ledger.name}.new")
        ordered = {name: dict(sorted(content[name].items())) for name in sorted(content)}
        new.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8", newline="\n")
        new.replace(ledger)
        lock.unlink()
        return True


def _read(ledger: Path) -> dict[str, Any]:
    if not ledger.is_file():
        return {}
    content: dict[str, Any] = json.loads(ledger.read_bytes())
    return content
