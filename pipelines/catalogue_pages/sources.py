"""What each source needs, its raw files and what a build costs: python -m pipelines.catalogue_pages.sources > docs/sources.md

measured_builds.json holds, for each dataset that was built from its complete real files, the version, the seconds of the build,
the bytes of its raw files and of its release, on the machine that it names.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Literal

from builders import catalogue
from builders.catalogue import Definition, needed_files
from builders.raw_files import ByHand, RawFile
from builders.spec import Source
from cards import markdown
from pipelines.process.tables import cut_middle, wrap
from pipelines.process.terminal import format_size
from pipelines.raw.locations import missing_reason
from pipelines.raw.pins import LOCK_FILE, find_pin, is_waiting
from pipelines.raw.requests import file_url
from pipelines.raw.settings import stored_file

MEASURED = json.loads(Path(__file__).with_name("measured_builds.json").read_text("utf-8"))
MACHINE: str = MEASURED["machine"]  # that the builds were measured on
Access = Literal["open", "gated", "by hand", "made here"]


@dataclass(frozen=True)
class FileNeed:
    """A raw file, or a whole archive, as it is published.

    name: without the source. bytes: as far as it is known, perhaps in round numbers. digest: whether its bytes are
    verified against a known digest; in an archive without one, each file that is read has its own. url: None for a file fetched
    by hand.
    """

    name: str
    bytes: int | None
    access: Access
    digest: bool
    url: str | None


@dataclass(frozen=True)
class MeasuredBuild:
    """What the build of a dataset from its complete real files took: seconds, bytes of each raw file and of its release."""

    version: str
    seconds: float
    raw: dict[str, int]
    release_bytes: int


MEASURED_BUILDS = {name: MeasuredBuild(**build) for name, build in MEASURED["builds"].items()}


@dataclass(frozen=True)
class SourceNeed:
    """A source with the files that some of its datasets need. measured: the builds that were measured, by dataset."""

    name: str
    title: str
    license: str
    homepage: str
    groups: tuple[str, ...]
    datasets: tuple[str, ...]
    files: tuple[FileNeed, ...]
    measured: dict[str, MeasuredBuild]


@dataclass(frozen=True)
class Total:
    """The files of several sources together. bytes: of those with a known size; unknown: how many have none."""

    sources: int
    datasets: int
    files: int
    bytes: int
    unknown: int
    gated: int
    by_hand: int
    without_digest: int


def describe_sources(definitions: Iterable[Definition], lock_files: Sequence[Path]) -> list[SourceNeed]:
    """The sources of some datasets, in their order. lock_files: where digests are looked up that a source does not pin."""
    by_source: dict[str, list[Definition]] = {}
    for definition in definitions:
        by_source.setdefault(definition.source.name, []).append(definition)
    return [_describe(several, lock_files) for several in by_source.values()]


def file_needs(source: Source, keys: Collection[str], lock_files: Sequence[Path]) -> dict[str, FileNeed]:
    """The published files that have some raw files of a source, in its order, each by the key of the first that is read in it."""
    stored: dict[str, list[str]] = {}
    for key, file in source.files.items():
        if key in keys:
            stored.setdefault(stored_file(file).name, []).append(key)
    return {read[0]: _file_need(source, [source.files[key] for key in read], lock_files) for read in stored.values()}


def total(sources: Sequence[SourceNeed]) -> Total:
    """The sum of some sources."""
    files = [file for source in sources for file in source.files]
    return Total(
        sources=len(sources),
        datasets=sum(len(source.datasets) for source in sources),
        files=len(files),
        bytes=sum(file.bytes or 0 for file in files),
        unknown=sum(file.bytes is None for file in files),
        gated=sum(file.access == "gated" for file in files),
        by_hand=sum(file.access in ("by hand", "made here") for file in files),
        without_digest=sum(not file.digest for file in files),
    )


def group_totals(definitions: Sequence[Definition], lock_files: Sequence[Path]) -> dict[str, Total]:
    """The totals of each group that has a dataset here, with the files that its own datasets need, and of all together (`sum`).

    A file that two groups need is counted in both, and once in the sum.
    """
    groups: dict[str, list[Definition]] = {}
    for definition in definitions:
        groups.setdefault(definition.dataset.group, []).append(definition)
    if len(groups) > 1:
        groups["sum"] = list(definitions)
    return {name: total(describe_sources(own, lock_files)) for name, own in groups.items()}


def _describe(definitions: Sequence[Definition], lock_files: Sequence[Path]) -> SourceNeed:
    source = definitions[0].source
    keys = {
        key
        for definition in definitions
        for version in definition.dataset.versions
        if not is_waiting(definition, version, lock_files)
        for key in needed_files(definition, definition.dataset.task.splits, version)
    }
    names = [definition.dataset.name for definition in definitions]
    return SourceNeed(
        name=source.name,
        title=source.title,
        license=source.license,
        homepage=source.homepage,
        groups=tuple(dict.fromkeys(definition.dataset.group for definition in definitions)),
        datasets=tuple(names),
        files=tuple(file_needs(source, keys, lock_files).values()),
        measured={name: MEASURED_BUILDS[name] for name in names if name in MEASURED_BUILDS},
    )


def _file_need(source: Source, files: Sequence[RawFile], lock_files: Sequence[Path]) -> FileNeed:
    """One published file. files: itself, or those that are read in it."""
    stored = stored_file(files[0])
    pin = find_pin(source.name, stored, lock_files)
    reason = missing_reason(stored.location)
    access: Access = "open" if reason == "offline" else reason
    if isinstance(stored.location, ByHand) and stored.location.made_by:
        access = "made here"
    members_pinned = all(find_pin(source.name, file, lock_files).has_digest for file in files)
    size = stored.about if pin.bytes is None else pin.bytes
    return FileNeed(stored.name, size, access, pin.has_digest or members_pinned, file_url(stored.location))


NUMBER = re.compile(r"\d+")
MANY = 6  # files of one source that are listed one by one
UNKNOWN = "unknown"
HEADER = """\
# Sources

What you need to build the datasets, how large it is, and what you may have. Every raw file is listed as it is published; an
archive is one file. `embedding-datasets show --sources [NAME...]` prints the same for some datasets, and
`embedding-datasets fetch NAME... --dry-run` says what you lack and how much there is to download.

This page is generated from the builders:

```console
python -m pipelines.catalogue_pages.sources > docs/sources.md
```

- **open** files are downloaded by `embedding-datasets fetch NAME`.
- **gated** files are downloaded by it too, with a token of an account that has accepted the terms on the page of the dataset
  (`HF_TOKEN`, or `hf auth login`). `embedding-datasets doctor` says which of them your token may read.
- **by hand**: no program may download them. `embedding-datasets show DATASET` and the error of a build say how to get them, and
  where to put them.
- **made here**: this package makes them, from the benchmarks or with a model: `embedding-datasets fetch NAME... --plan` says how.
- **size**: as the source or the lock file pins it, else as it is published, perhaps in round numbers; otherwise it is unknown
  until it is probed or downloaded.
- **digest**: whether a download is verified against a digest that is known before. A file without one is marked as unverified.
- **build**: seconds, and the bytes of the members that are read, unpacked, and of releases, where all raw files were here to
  measure it: measured on {machine}. [performance.md](performance.md) has estimates for MIRACL and RiaNews, the two largest.
- **licence**: of the source, as its publisher states it. The card of each dataset says more.
"""


def sources_page(definitions: Sequence[Definition], lock_files: Sequence[Path]) -> str:
    """The sources of some datasets for the terminal: each with its files, then the totals."""
    sources = describe_sources(definitions, lock_files)
    lines = [_row("source, raw files", "size", "access", "digest"), _row("-" * 46, "-" * 12, "-" * 7, "-" * 6)]
    for source in sources:
        lines += wrap(f"{source.name}: {source.license}; {', '.join(source.datasets)}")
        lines += [_row(f"  {label}", *cells) for label, *cells in _file_rows(source.files)]
        if source.measured:
            lines += wrap(f"built: {_measured(source)}", "  ")
    lines += ["", *wrap(_measured_where(sources)), ""]
    lines += [
        line
        for name, total in group_totals(definitions, lock_files).items()
        for line in wrap(_total_text(total), f"{name + ':':<8}")
    ]
    return "\n".join(lines)


def render_page() -> str:
    """The page of the whole catalogue in Markdown; digests by the lock file of the repository, not by the user's cache."""
    definitions = [catalogue.load(entry) for entry in catalogue.entries().values()]
    sources = describe_sources(definitions, (LOCK_FILE,))
    groups = ("group", "datasets", "sources", "files", "size", "gated", "by hand", "without digest")
    totals = [
        [name, of.datasets, of.sources, of.files, _sum(of), of.gated, of.by_hand, of.without_digest]
        for name, of in group_totals(definitions, (LOCK_FILE,)).items()
    ]
    overview = [
        [f"[{source.name}]({source.homepage})", ", ".join(source.datasets), source.license, _measured(source)]
        for source in sources
    ]
    files = [[source.name, f"`{label}`", *cells] for source in sources for label, *cells in _file_rows(source.files)]
    return "\n".join(
        [
            HEADER.format(machine=MACHINE),
            "## Totals\n",
            *markdown.table(dict.fromkeys(groups, "---:") | {"group": "---", "size": "---"}, totals),
            "\n## Sources\n",
            *markdown.table(dict.fromkeys(("source", "datasets", "licence", "build"), "---"), overview),
            "\n## Raw files\n",
            *markdown.table(
                dict.fromkeys(("source", "file", "size", "access", "digest"), "---") | {"size": "---:"}, files
            ),
            "",
        ]
    )


def _row(label: str, size: str, access: str, digest: str) -> str:
    """A line of the terminal's table; a long name is cut in the middle."""
    return f"{cut_middle(label, 46, end=23):<46}  {size:>12}  {access:<7}  {digest}".rstrip()


def _file_rows(files: Sequence[FileNeed]) -> list[tuple[str, str, str, str]]:
    """Name, size, access and digest of files; of many files, those that look alike share a line."""
    rows: list[tuple[str, str, str, str]] = []
    for label, group in _alike(files).items():
        sizes = [file.bytes for file in group]
        known = [size for size in sizes if size is not None]
        size = format_size(sum(known)) if len(known) == len(sizes) else UNKNOWN
        digests = sum(file.digest for file in group)
        digest = "known" if digests == len(group) else f"{digests} of {len(group)}" if digests else "none"
        number = f" ({len(group)} files)" if len(group) > 1 else ""
        rows.append((f"{label}{number}", size, group[0].access, digest))
    return rows


def _alike(files: Sequence[FileNeed]) -> dict[str, list[FileNeed]]:
    """Files by name; where they are many, by a pattern: `docs-*.jsonl.gz`, else `*/train.json`; those made here together."""
    made = [file for file in files if file.access == "made here"]
    if made and len(files) > len(made):
        others = _alike([file for file in files if file.access != "made here"])
        return others | {", ".join(dict.fromkeys(file.name.partition("/")[0] for file in made)): made}
    if len(files) <= MANY:
        return {file.name: [file] for file in files}

    def numbered(file: FileNeed) -> str:
        return NUMBER.sub("*", PurePosixPath(file.name).name)

    counts = Counter(map(numbered, files))
    grouped: dict[str, list[FileNeed]] = {}
    for pattern, group in groupby(files, key=numbered):
        listed = list(group)
        folder = PurePosixPath(listed[0].name).parent
        same = all(PurePosixPath(file.name).parent == folder for file in listed)
        label = str(folder / pattern) if same else f"*/{pattern}"
        grouped.setdefault(label if counts[pattern] > 1 else listed[0].name, []).extend(listed)
    return grouped


def _measured(source: SourceNeed) -> str:
    """What the builds of a source took, as far as all of its datasets were measured; empty where none was."""
    builds = list(source.measured.values())
    if not builds:
        return ""
    of = "" if len(builds) == len(source.datasets) else f"{', '.join(source.measured)}: "
    seconds = ceil(sum(build.seconds for build in builds))
    raw = {name: size for build in builds for name, size in build.raw.items()}  # each file once
    release = sum(build.release_bytes for build in builds)
    return f"{of}{seconds} s, raw files {format_size(sum(raw.values()))}, release {format_size(release)}"


def _measured_where(sources: Sequence[SourceNeed]) -> str:
    """What the build times and sizes of a page were measured on, and how many sources have none."""
    unmeasured = [source.name for source in sources if not source.measured]
    if not unmeasured:
        return f"build times and sizes: measured on {MACHINE}"
    none = "no build from the complete real files was measured yet"
    if len(unmeasured) == len(sources):
        return f"build times and sizes: {none}; docs/performance.md has estimates for some sources"
    return f"build times and sizes: measured on {MACHINE}; of {len(unmeasured)} sources, {none}"


def _sum(total: Total) -> str:
    size = format_size(total.bytes)
    return f"at least {size} ({total.unknown} files of unknown size)" if total.unknown else size


def _total_text(total: Total) -> str:
    return (
        f"{total.datasets} datasets of {total.sources} sources: {total.files} files, {_sum(total)}; "
        f"{total.gated} gated, {total.by_hand} by hand, {total.without_digest} without a known digest"
    )


if __name__ == "__main__":
    print(render_page(), end="")
