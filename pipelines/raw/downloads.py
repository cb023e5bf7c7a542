"""What there is to download before a build: where each raw file would come from, and its size. Nothing is opened."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from builders.catalogue import Definition, needed_files, requested_splits
from pipelines.process.tables import fold, wrap
from pipelines.process.terminal import format_size
from pipelines.raw.locations import Origin, missing_reason, plan_file
from pipelines.raw.mirrors import digest_path
from pipelines.raw.missing_files import total_size
from pipelines.raw.pins import find_pin
from pipelines.raw.settings import RawSettings, stored_file


@dataclass(frozen=True)
class PlannedDownload:
    """A raw file, or a whole archive.

    name: `<source>/<name>`. origin: where it would come from; `missing` where --offline is set. where: its path, its URL, or what
    to do. bytes: its size, where the source or the lock file knows it. gated: whether its terms must be accepted first.
    """

    source: str
    name: str
    origin: Origin | Literal["by-hand", "missing"]
    where: str
    bytes: int | None
    gated: bool


def plan_downloads(
    datasets: Iterable[tuple[Definition, str]], raw: RawSettings, splits: tuple[str, ...] | None = None
) -> list[PlannedDownload]:
    """The files that some datasets need in some version, each once.

    A member of an archive that lies somewhere by itself is a file of its own.

    Raises SourceError for a directory in place of a file, UsageError where `raw_dir` or a split does not exist.
    """
    planned: dict[tuple[str, str], PlannedDownload] = {}
    for definition, version in datasets:
        source = definition.source
        for key in needed_files(definition, requested_splits(definition, splits), version):
            file, plan = source.files[key], plan_file(source, key, raw)
            here = plan.origin in ("raw-dir", "cache", "mirror")
            path = digest_path(find_pin(source.name, file, raw.lock_files)) if plan.origin == "mirror" else file.name
            if not (here and plan.where.endswith(f"/{path}")):
                file = stored_file(file)
            planned[source.name, plan.where if here else file.name] = PlannedDownload(
                source.name,
                f"{source.name}/{file.name}",
                plan.origin,
                plan.where,
                find_pin(source.name, file, raw.lock_files).bytes,
                missing_reason(stored_file(file).location) == "gated",
            )
    return list(planned.values())


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
