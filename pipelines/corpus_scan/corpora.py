"""Opens a training corpus: its files, which of their columns are texts, and its partitions."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from builders.errors import SourceError, UsageError
from pipelines.corpus_scan.corpus_files import READABLE, CorpusFile, Listing, data_format, files_below, list_local_files
from pipelines.corpus_scan.layouts import Layout, list_names
from pipelines.corpus_scan.partitions import PARTITION_BYTES, Partition, cut_file, infer_layout
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.inspection import COMMIT
from pipelines.raw.cache import default_cache
from pipelines.stages import BYTES, stage

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
    """A corpus: its files with their layouts, in order, its partitions, and the files that were skipped."""

    files: tuple[tuple[CorpusFile, Layout], ...]
    partitions: tuple[Partition, ...]
    skipped: tuple[str, ...]

    @property
    def size(self) -> int:
        """The bytes of all partitions on disk."""
        return sum(partition.size for partition in self.partitions)


def open_corpus(
    names: Sequence[str],
    columns: Sequence[str] = (),
    *,
    hub: HubClient | None = None,
    cache: Path | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> Corpus:
    """The corpus that names lead to: files, folders, globs, and `hf://datasets/ORG/NAME[@REVISION][/PATH]`.

    columns: the columns with texts, by default all of strings or lists of strings but ids, addresses and labels. hub: the
    connection to the Hub, by default with the stored login. cache: where its files are kept, by default the package's cache.

    Raises UsageError for a name or a column that does not exist, SourceError for a file that cannot be read and a
    corpus without rows.
    """
    found: dict[str, CorpusFile] = {}
    skipped: list[str] = []
    for name in names:
        listing = _list_repository(name, hub, cache) if name.startswith(HUB) else list_local_files([name])
        for file in listing.files:
            found.setdefault(str(file.path.resolve()), file)
        skipped += listing.skipped
    if not found:
        what = "no file that a corpus may have"
        raise SourceError(what, where=", ".join(names), found=_list_files(skipped), expected=READABLE)
    if skipped:
        logger.info("files skipped, not in a format of a corpus: %s", _list_files(skipped))
    files: list[tuple[CorpusFile, Layout]] = []
    partitions: list[Partition] = []
    with stage("dividing the corpus", total=sum(file.size for file in found.values()), unit=BYTES) as advance:
        for file in found.values():
            layout = infer_layout(file, columns)
            if layout is not None:
                files.append((file, layout))
                partitions += cut_file(file, layout, partition_bytes)
            advance(file.size)
    if not partitions:
        raise SourceError(
            "the corpus has no rows", where=", ".join(names), found=_list_files(list(found)), todo="name others"
        )
    if missing := [name for name in columns if not any(name in layout.texts for _, layout in files)]:
        what, present = f"no file has the column {missing[0]!r}", list(dict.fromkeys(_all_columns(files)))
        raise UsageError(
            what, where=", ".join(names), found=list_names(present), todo="name another column with --text"
        )
    numbered = tuple(replace(partition, number=number) for number, partition in enumerate(partitions))
    return Corpus(tuple(files), numbered, tuple(skipped))


def _list_repository(name: str, hub: HubClient | None, cache: Path | None) -> Listing:
    """The data files of a dataset on the Hub, in the cache; with a path, only those at it, below it, or that it matches.

    Raises UsageError for a name of another form, SourceError where the Hub does not give the files.
    """
    match = HUB_NAME.fullmatch(name)
    if match is None:
        todo = "name it as the Hub does: hf://datasets/ORG/NAME, hf://datasets/ORG/NAME@REVISION/PATH"
        raise UsageError("not the name of a dataset on the Hub", where=name, expected=HUB_FORM, todo=todo)
    repo, path = match["repo"], (match["path"] or "").strip("/")
    hub = hub or client.connect()
    at = repository.require_snapshot(hub, repo, unquote(match["revision"] or repository.MAIN))
    if not COMMIT.fullmatch(at.sha):  # it becomes the name of a folder
        raise SourceError(
            "the Hub names no commit", where=name, found=repr(at.sha[:60]), expected="40 hexadecimal digits"
        )
    paths = [one for one in at.digests if _is_at(one, path) and _is_inside(one)]
    wanted = [one for one in sorted(paths) if data_format(one)]
    if not wanted:
        raise SourceError("no file that a corpus may have", where=name, found=_list_files(paths), expected=READABLE)
    folder = repository.fetch_files(hub, repo, at, wanted, cache or default_cache())
    root = name[: match.start("path")].rstrip("/") if match["path"] else name.rstrip("/")
    listing = files_below(folder, root, wanted, dict(at.digests))
    others = [
        f"{root}/{one}" for one in sorted(paths) if one not in wanted and not PurePosixPath(one).name.startswith(".")
    ]
    return Listing(listing.files, (*listing.skipped, *others))


def _is_at(path: str, requested: str) -> bool:
    """Whether a path of a repository is at or below a requested one, or matches it as a glob."""
    return (
        not requested or path == requested or path.startswith(f"{requested}/") or PurePosixPath(path).match(requested)
    )


def _is_inside(path: str) -> bool:
    """Whether a path that a server lists leads to a file below the folder that it is joined with."""
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and "\\" not in path and "\0" not in path


def _all_columns(files: Iterable[tuple[CorpusFile, Layout]]) -> Iterable[str]:
    return (name for _, layout in files for name in layout.columns)


def _list_files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) or "nothing"
    return f"{shown}, and {len(names) - 5:,} more" if len(names) > 5 else shown
