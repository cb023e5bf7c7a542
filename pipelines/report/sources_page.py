"""The page of all sources: python -m pipelines.report.sources_page > docs/sources.md; and the same for the terminal."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import ceil
from pathlib import PurePosixPath

from builders import catalogue
from pipelines.raw.lock_file import LOCK_FILE
from pipelines.report.sources import FileNeed, SourceNeed, Total, describe_sources, group_totals, machine
from pipelines.report.tables import cut_middle, wrap
from pipelines.terminal import format_size

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
python -m pipelines.report.sources_page > docs/sources.md
```

- **open** files are downloaded by `embedding-datasets fetch NAME`.
- **gated** files are downloaded by it too, with a token of an account that has accepted the terms on the page of the dataset
  (`HF_TOKEN`, or `hf auth login`). `embedding-datasets doctor` says which of them your token may read.
- **by hand**: no program may download them. `embedding-datasets show DATASET` and the error of a build say how to get them, and
  where to put them.
- **size**: as the source or the lock file pins it; otherwise it is unknown until it is downloaded.
- **digest**: whether a download is verified against a digest that is known before. A file without one is marked as unverified.
- **build**: seconds, and the bytes of raw files and releases on disk, where all raw files were here to measure it: measured on
  {machine}. [performance.md](performance.md) has estimates for MIRACL and RiaNews, the two largest.
- **licence**: of the source, as its publisher states it. The card of each dataset says more.
"""


def sources_page(sources: Sequence[SourceNeed]) -> str:
    """Sources for the terminal: each with its files, then the totals."""
    lines = [_row("source, raw files", "size", "access", "digest"), _row("-" * 48, "-" * 12, "-" * 7, "-" * 6)]
    for source in sources:
        lines += wrap(f"{source.name}: {source.license}; {', '.join(source.datasets)}")
        for label, size, access, digest in _file_rows(source.files):
            lines.append(_row(f"  {label}", size, access, digest))
        if source.measured:
            lines += wrap(f"built: {_measured(source)}", "  ")
    lines += ["", *wrap(_measured_where(sources)), ""]
    lines += [
        line for name, one in group_totals(sources).items() for line in wrap(_total_text(one), f"{name + ':':<8}")
    ]
    return "\n".join(lines)


def render_page() -> str:
    """The page of the whole catalogue in Markdown; digests by the lock file of the repository, not by the user's cache."""
    definitions = [catalogue.load(entry) for entry in catalogue.entries().values()]
    sources = describe_sources(definitions, (LOCK_FILE,))
    totals = [_cells(name, *_total_cells(one)) for name, one in group_totals(sources).items()]
    overview = [
        _cells(f"[{one.name}]({one.homepage})", ", ".join(one.datasets), one.license, _measured(one)) for one in sources
    ]
    files = [
        _cells(source.name, f"`{label}`", *cells) for source in sources for label, *cells in _file_rows(source.files)
    ]
    return "\n".join(
        [
            HEADER.format(machine=machine()),
            "## Totals\n",
            "| group | datasets | sources | files | size | gated | by hand | without digest |",
            "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
            *totals,
            "\n## Sources\n",
            "| source | datasets | licence | build |",
            "| --- | --- | --- | --- |",
            *overview,
            "\n## Raw files\n",
            "| source | file | size | access | digest |",
            "| --- | --- | ---: | --- | --- |",
            *files,
            "",
        ]
    )


def _cells(*cells: object) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def _total_cells(one: Total) -> tuple[object, ...]:
    return one.datasets, one.sources, one.files, _sum(one), one.gated, one.by_hand, one.without_digest


def _row(label: str, size: str, access: str, digest: str) -> str:
    """A line of the terminal's table; a long name is cut in the middle."""
    return f"{cut_middle(label, 48, end=23):<48}  {size:>12}  {access:<7}  {digest}".rstrip()


def _file_rows(files: Sequence[FileNeed]) -> list[tuple[str, str, str, str]]:
    """Name, size, access and digest of files; of many files, those that look alike share a line."""
    rows: list[tuple[str, str, str, str]] = []
    for label, group in _alike(files).items():
        sizes = [file.bytes for file in group]
        known = [size for size in sizes if size is not None]
        size = format_size(sum(known)) if len(known) == len(sizes) else UNKNOWN
        digest = "known" if all(file.digest for file in group) else "none"
        number = f" ({len(group)} files)" if len(group) > 1 else ""
        rows.append((f"{label}{number}", size, group[0].access, digest))
    return rows


def _alike(files: Sequence[FileNeed]) -> dict[str, list[FileNeed]]:
    """Files by name; where they are many, by a pattern: `docs-*.jsonl.gz`, else `*/train.json`."""
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
    seconds = ceil(sum(one.seconds for one in builds))
    raw, release = source.measured_raw_bytes, sum(one.release_bytes for one in builds)
    return f"{of}{seconds} s, raw files {format_size(raw)}, release {format_size(release)}"


def _measured_where(sources: Sequence[SourceNeed]) -> str:
    """What the build times and sizes of a page were measured on, and how many sources have none."""
    unmeasured = [source.name for source in sources if not source.measured]
    if not unmeasured:
        return f"build times and sizes: measured on {machine()}"
    none = "no build from the complete real files was measured yet"
    if len(unmeasured) == len(sources):
        return f"build times and sizes: {none}; docs/performance.md has estimates for some sources"
    return f"build times and sizes: measured on {machine()}; of {len(unmeasured)} sources, {none}"


def _sum(one: Total) -> str:
    return format_size(one.bytes) + (f", and {one.unknown} files of unknown size" if one.unknown else "")


def _total_text(one: Total) -> str:
    return (
        f"{one.datasets} datasets of {one.sources} sources: {one.files} files, {_sum(one)}; "
        f"{one.gated} gated, {one.by_hand} by hand, {one.without_digest} without a known digest"
    )


if __name__ == "__main__":
    print(render_page(), end="")
