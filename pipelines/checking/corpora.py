"""A training corpus in partitions: pieces of its files that are read in any order, on any machine that has the files.

Where a file is divided follows from its bytes alone, and a row has the same number in every partition. Parquet is
divided between row groups, plain JSON lines and CSV between records; a compressed file is one partition, because it can
only be read from its beginning.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from itertools import chain
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from builders.errors import SourceError, UsageError
from pipelines.checking.batches import BATCH_ROWS, TextBatch
from pipelines.checking.data_files import READABLE, DataFile, Listing, data_format, files_below, list_local_files
from pipelines.checking.rows import (
    SEPARATORS,
    Layout,
    find_group_borders,
    find_line_borders,
    in_batches,
    infer_layout,
    list_names,
    parse_lines,
    parse_records,
    read_groups,
    read_header,
    read_lines,
    read_records,
)
from pipelines.checking.targets import locate_target, resolve_targets
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.process.stages import BYTES, stage
from pipelines.raw.digests import default_cache
from pipelines.release.resolution import is_inside

PARTITION_BYTES = 64 << 20


@dataclass(frozen=True)
class Partition:
    """Some consecutive rows of a file.

    number: in the order of the corpus, from 0. start, stop: of Parquet row groups, otherwise offsets in the
    decompressed data; stop is None for the end of the file. size: its part of the bytes on disk, for progress.
    """

    number: int
    file: DataFile
    layout: Layout
    first_row: int
    start: int
    stop: int | None
    size: int


def cut_file(file: DataFile, layout: Layout, size: int = PARTITION_BYTES) -> Iterator[Partition]:
    """The partitions of a file, of at least `size` bytes each but for the last; their numbers are all 0.

    Raises SourceError where Parquet or CSV cannot be read.
    """
    if file.format == "Parquet":
        for first_row, start, stop, stored in find_group_borders(file, layout, size):
            yield Partition(0, file, layout, first_row, start, stop, stored)
        return
    header = read_header(file) if file.format in SEPARATORS else None
    first = len(header[1]) if header else 0
    if file.compression or file.size - first <= size:
        if file.compression or file.size > first:
            yield Partition(0, file, layout, 0, first, None, file.size)
        return
    borders = _record_borders(file, first, size) if header else list(find_line_borders(file, size))
    for (start, row), (stop, _) in zip(borders, [*borders[1:], (file.size, 0)], strict=True):
        yield Partition(0, file, layout, row, start, stop, stop - start)


def read_partition(partition: Partition) -> Iterator[TextBatch]:
    """The texts of a partition in batches of a few megabytes, in order. Reading a large compressed file is a stage.

    Raises SourceError, with file and row, for what cannot be read.
    """
    file, layout, row = partition.file, partition.layout, partition.first_row
    if file.format == "Parquet":
        assert partition.stop is not None
        yield from read_groups(file, layout, row, partition.start, partition.stop)
        return
    if file.size <= 2 * PARTITION_BYTES or not file.compression:
        yield from _read_text(partition, None)
        return
    with stage(f"reading {file.path.name}", total=file.size, unit=BYTES) as advance:
        yield from _read_text(partition, advance)


def _read_text(partition: Partition, advance: Callable[[int], None] | None) -> Iterator[TextBatch]:
    file, layout, row = partition.file, partition.layout, partition.first_row
    pieces = read_lines(file, partition.start, partition.stop, row, advance)
    if file.format == "JSON lines":
        for lines in pieces:
            for first in range(0, len(lines), BATCH_ROWS):
                batch = lines[first : first + BATCH_ROWS]
                yield parse_lines(file.name, row, batch, layout)
                row += len(batch)
        return
    records = read_records(file, chain.from_iterable(pieces), row)
    for several in in_batches(records):
        yield parse_records(file.name, row, several, layout)
        row += len(several)


def _record_borders(file: DataFile, start: int, size: int) -> list[tuple[int, int]]:
    """As find_line_borders, of a file of CSV whose header ends at `start`. A line without quotes is a record; where there are
    some, only parsing tells where the record ends."""
    borders, offset, target = [(start, 0)], start, start + size
    lines = chain.from_iterable(read_lines(file, start))
    for row, line in enumerate(lines):
        if offset >= target:
            borders.append((offset, row))
            target = offset + size
        record = next(read_records(file, chain([line], lines), row))[1] if b'"' in line else line
        offset += len(record)
    return borders


HUB = "hf://"
HUB_FORM = "hf://datasets/ORG/NAME[@REVISION][/PATH]"
# hf://datasets/ORG/NAME@REVISION/PATH; a slash in a revision is written %2F, but for those that the Hub makes itself.
HUB_NAME = re.compile(
    rf"hf://datasets/(?P<repo>{client.REPOSITORY.pattern})"
    r"(?:@(?P<revision>refs/(?:pr/\d+|convert/[\w-]+)|[\w.%-]+))?(?:/(?P<path>.*))?",
    re.ASCII,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Corpus:
    """A corpus: its files with their layouts, in order, its partitions, and the files that were skipped.

    empty: files without rows, which have no layout.
    """

    files: tuple[tuple[DataFile, Layout], ...]
    partitions: tuple[Partition, ...]
    skipped: tuple[str, ...]
    empty: tuple[DataFile, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of all partitions on disk."""
        return sum(partition.size for partition in self.partitions)


def open_corpus(
    names: Sequence[str],
    columns: Sequence[str] = (),
    *,
    releases: Path = Path("outputs"),
    hub: HubClient | None = None,
    cache: Path | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> Corpus:
    """The corpus that names lead to: files, folders, globs, datasets on the Hub (`ORG/NAME[@REVISION]`, or
    `hf://datasets/ORG/NAME[@REVISION][/PATH]` for a part of one), and releases of the catalogue.

    columns: the columns with texts, by default all of strings or lists of strings but ids, addresses and labels. releases: where
    those of the catalogue are. hub: the connection to the Hub, by default with the stored login. cache: where its files are kept,
    by default the package's cache.

    Raises UsageError for a name or a column that does not exist, SourceError for a file that cannot be read and a
    corpus without rows.
    """
    found: dict[str, DataFile] = {}
    skipped: list[str] = []
    for name in names:
        for listing in _list_name(name, releases, hub, cache):
            for file in listing.files:
                found.setdefault(str(file.path.resolve()), file)
            skipped += listing.skipped
    if not found:
        what = "no file that a corpus may have"
        raise SourceError(what, where=", ".join(names), found=_list_files(skipped), expected=READABLE)
    if skipped:
        logger.info("files skipped, not in a format of a corpus: %s", _list_files(skipped))
    files, empty = list[tuple[DataFile, Layout]](), list[DataFile]()
    partitions: list[Partition] = []
    with stage("dividing the corpus", total=sum(file.size for file in found.values()), unit=BYTES) as advance:
        for file in found.values():
            layout = infer_layout(file, columns)
            if layout is None:
                empty.append(file)
            else:
                files.append((file, layout))
                partitions += cut_file(file, layout, partition_bytes)
            advance(file.size)
    if not partitions:
        raise SourceError(
            "the corpus has no rows", where=", ".join(names), found=_list_files(list(found)), todo="name others"
        )
    if missing := [name for name in columns if not any(name in layout.texts for _, layout in files)]:
        what = f"no file has the column {missing[0]!r}"
        present = list(dict.fromkeys(name for _, layout in files for name in layout.columns))
        raise UsageError(
            what, where=", ".join(names), found=list_names(present), todo="name another column with --text"
        )
    numbered = tuple(replace(partition, number=number) for number, partition in enumerate(partitions))
    return Corpus(tuple(files), numbered, tuple(skipped), tuple(empty))


def _list_name(name: str, releases: Path, hub: HubClient | None, cache: Path | None) -> Iterator[Listing]:
    """The files that a name leads to; of a release of the catalogue, its folder's.

    Raises UsageError for a name that means nothing, ReleaseError for a release that has not been built.
    """
    if name.startswith(HUB):
        match = HUB_NAME.fullmatch(name)
        if match is None:
            todo = "name it as the Hub does: hf://datasets/ORG/NAME, hf://datasets/ORG/NAME@REVISION/PATH"
            raise UsageError("not the name of a dataset on the Hub", where=name, expected=HUB_FORM, todo=todo)
        root = name[: match.start("path")] if match["path"] else name
        revision = unquote(match["revision"] or repository.MAIN)
        yield _list_repository(
            root.rstrip("/"), (match["repo"], revision), (match["path"] or "").strip("/"), hub, cache
        )
    elif Path(name).exists() or has_magic(name):
        yield list_local_files(name)
    else:
        for target in resolve_targets(name, releases):
            if target.repository is not None:
                yield _list_repository(name, target.repository, "", hub, cache)
            else:
                yield list_local_files(str(locate_target(target, option="--releases")[0]))


def _list_repository(
    name: str, at_revision: tuple[str, str], path: str, hub: HubClient | None, cache: Path | None
) -> Listing:
    """The data files of a dataset on the Hub, in the cache. name: what precedes their paths in matches. path: only those at it,
    below it, or that it matches.

    Raises SourceError where the Hub does not give the files.
    """
    repo, revision = at_revision
    hub = hub or client.connect()
    at = repository.require_snapshot(hub, repo, revision)
    paths = sorted(listed for listed in at.digests if _is_at(listed, path) and is_inside(listed))
    wanted = [listed for listed in paths if data_format(listed)]
    if not wanted:
        raise SourceError("no file that a corpus may have", where=name, found=_list_files(paths), expected=READABLE)
    folder = repository.fetch_files(hub, repo, at, wanted, cache or default_cache())
    listing = files_below(folder, name, wanted, dict(at.digests))
    others = [
        f"{name}/{listed}"
        for listed in paths
        if listed not in wanted and not PurePosixPath(listed).name.startswith(".")
    ]
    return Listing(listing.files, (*listing.skipped, *others))


def _is_at(path: str, requested: str) -> bool:
    """Whether a path of a repository is at or below a requested one, or matches it as a glob."""
    return (
        not requested or path == requested or path.startswith(f"{requested}/") or PurePosixPath(path).match(requested)
    )


def _list_files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) or "nothing"
    return f"{shown}, and {len(names) - 5:,} more" if len(names) > 5 else shown
