"""What `fetch --dry-run` prints: where each raw file would come from, and how much there is to download of each source."""

from collections.abc import Sequence
from itertools import groupby

from pipelines.raw.downloads import PlannedDownload
from pipelines.report.missing_files_page import total_size
from pipelines.report.tables import fold, wrap
from pipelines.terminal import format_size

WORDS = {
    "raw-dir": "here",
    "cache": "here",
    "download": "to download",
    "missing": "missing",
    "by-hand": "by hand",
    "mirror": "on a mirror",
}


def download_page(plans: Sequence[PlannedDownload], *, width: int | None = None) -> list[str]:
    """The plan as lines: the files by source, each with its size and its address or path, then the totals.

    width: of the terminal, for which names, addresses and paths are folded as in a table; None where no terminal shows them.
    """
    lines = []
    for source, group in groupby(plans, key=lambda plan: plan.source):
        files = list(group)
        lines += wrap(f"{source}: {_counts(files)}")
        for file in files:
            size = format_size(file.bytes) if file.bytes is not None else "size unknown"
            terms = ", accept its terms first" if file.gated and file.origin == "download" else ""
            line = f"{file.name.removeprefix(f'{source}/')}  {size}  {file.origin}{terms}"
            lines += _folded(line, ("  ", "      "), width)
            if file.origin in {"raw-dir", "cache", "download", "mirror"}:
                lines += _folded(file.where, ("    ", "    "), width)
    return [*lines, *([""] if lines else []), *wrap(f"total: {_counts(plans)}")]


def _folded(text: str, indents: tuple[str, str], width: int | None) -> list[str]:
    """A text as lines of at most `width` characters, in one line without a width. indents: of the first line, of the others."""
    first, others = indents
    folded = fold(text, width - len(others)) if width else [text]
    return [f"{others if number else first}{line}" for number, line in enumerate(folded)]


def _counts(plans: Sequence[PlannedDownload]) -> str:
    """ "to download 2 files, 3 MB; here 1 file, size unknown"."""
    sizes: dict[str, list[int | None]] = {
        word: [] for word in ("to download", "here", "on a mirror", "missing", "by hand")
    }
    for plan in plans:
        sizes[WORDS[plan.origin]].append(plan.bytes)
    return "; ".join(f"{word} {total_size(known)}" for word, known in sizes.items() if known)
