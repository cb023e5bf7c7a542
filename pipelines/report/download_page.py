"""What `fetch --dry-run` prints: where each raw file would come from, and how much there is to download of each source."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pipelines.report.missing_files_page import total_size
from pipelines.report.text import wrap
from pipelines.terminal import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.raw.downloads import PlannedDownload

WORDS = {"raw-dir": "here", "cache": "here", "download": "to download", "missing": "missing", "by-hand": "by hand"}


def download_page(plans: Sequence[PlannedDownload]) -> list[str]:
    """The plan as lines: the files by source, each with its size and its address or path, then the totals."""
    lines = []
    for source, group in groupby(plans, key=lambda plan: plan.source):
        files = list(group)
        lines += wrap(f"{source}: {_counts(files)}")
        for file in files:
            size = format_size(file.bytes) if file.bytes is not None else "size unknown"
            terms = ", accept its terms first" if file.gated and file.origin == "download" else ""
            lines.append(f"  {file.name.removeprefix(f'{source}/')}  {size}  {file.origin}{terms}")
            if file.origin in {"raw-dir", "cache", "download"}:
                lines.append(f"    {file.where}")
    return [*lines, *([""] if lines else []), *wrap(f"total: {_counts(plans)}")]


def _counts(plans: Sequence[PlannedDownload]) -> str:
    """ "to download 2 files, 3 MB; here 1 file, size unknown"."""
    sizes: dict[str, list[int | None]] = {word: [] for word in ("to download", "here", "missing", "by hand")}
    for plan in plans:
        sizes[WORDS[plan.origin]].append(plan.bytes)
    return "; ".join(f"{word} {total_size(known)}" for word, known in sizes.items() if known)
