"""A site written beside its place and exchanged with the one before when it is complete."""

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from builders.catalogue import Definition
from pipelines.catalogue_site.documentation import write_documentation
from pipelines.catalogue_site.lists import compare_versions
from pipelines.catalogue_site.pages import (
    built_mark,
    copy_assets,
    set_site,
    write_changes_page,
    write_index,
    write_page,
    write_version_pages,
)
from pipelines.catalogue_site.release_data import ReleaseData, SiteRelease, write_release_data
from pipelines.catalogue_site.side_by_side import write_sides
from pipelines.catalogue_site.text_index import TextColumn, search_values, spill_texts, write_text_index
from pipelines.decontamination.engines import Engine, run_pieces
from pipelines.process.files import locked
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.process.stages import stage
from pipelines.process.workers import killed_error
from pipelines.release.comparison import compare_figures
from pipelines.release.staging import staged_folder

MARKER = "site.json"  # a folder that has it is a site, and holds what it lists


RELEASE_BYTES = 2_000_000  # of values, for which the checks take as long as for a small release
STARTING_RELEASES = 16  # small ones, for which a process is worth its start
MAX_BYTES = 2_000_000_000  # of values of all releases that are checked at a time, which bounds memory
Written = list[tuple[ReleaseData, tuple[TextColumn, ...]]]  # what was written of releases, the newest first


def write_site(
    datasets: Sequence[tuple[Definition, Sequence[SiteRelease]]],
    output: Path,
    *,
    rights: bool,
    overwrite: bool = False,
    address: str = "",
    docs: bool = False,
) -> list[tuple[str, str]]:
    """Write the site of some datasets, each with its releases, into a folder, which is new, empty, or an older site.

    Returns the names of the releases, each with the state of its verdict.

    rights: also show texts under no-derivatives licences. overwrite: the folder may hold other files, which are
    then gone. address: where the site will be on the web, for the picture that previews of links show. docs: with the
    documentation of this package in `docs/`.

    Raises UsageError for a folder that holds anything else and for documentation that cannot be built here, ReleaseError for a
    release that cannot be read and for a full disk.
    """
    output = output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    with locked(output.parent / f".{output.name}.lock", output.name, remove=True):
        claim([Output("--output", output, KINDS["site"])], overwrite=overwrite)
        with staged_folder(output, "the site", marker=MARKER) as site_dir:
            if docs:
                write_documentation(site_dir / "docs")
            with TemporaryDirectory(dir=site_dir) as scratch:
                work = partial(
                    _write_dataset, site_dir=site_dir, scratch=Path(scratch), rights=rights, common=(address, docs)
                )
                found = _write_datasets([releases for _, releases in datasets], work)
                pairs = [pair for of_dataset in found for pair in of_dataset]
                index = write_text_index(site_dir / "search", Path(scratch), pairs)
            releases = [data for data, _ in pairs]
            set_site(address, docs=docs)
            copy_assets(site_dir / "assets")
            versions = [[data for data, _ in of_dataset] for of_dataset in found]
            write_index(site_dir, [(definition, own) for (definition, _), own in zip(datasets, versions, strict=True)])
            write_sides(site_dir / "sides", releases, index)
            for page in ("search", "compare"):
                write_page(site_dir / f"{page}.html", page, "", **search_values(index, releases))
            _write_marker(site_dir, releases)
    return [(data.release.manifest.name, data.verdict["state"]) for data in releases]


def _write_datasets(
    datasets: Sequence[Sequence[SiteRelease]], work: Callable[[Sequence[SiteRelease]], Written]
) -> list[Written]:
    """The results of `work` for the releases of each dataset: the largest begin, on as many processes as are worth it."""
    sizes = [[sum(table.num_bytes for table in release.manifest.tables) for release in own] for own in datasets]
    releases, largest = sum(map(len, datasets)), max(map(max, filter(None, sizes)))
    effort = releases + sum(map(sum, sizes)) // RELEASE_BYTES
    processes = max(1, min(os.cpu_count() or 1, effort // STARTING_RELEASES, MAX_BYTES // max(largest, 1)))
    by_size = sorted((number for number, own in enumerate(sizes) if own), key=lambda number: -sum(sizes[number]))
    with stage("releases", total=releases, unit="releases") as advance:
        results = run_pieces(
            [datasets[number] for number in by_size],
            work,
            Engine(workers=processes),
            killed=partial(
                killed_error,
                what="a process was killed {} times",
                where=lambda own: ", ".join(release.manifest.name for release in own),
                todo="run it again; if memory was short, with fewer datasets at a time",
            ),
            on_end=lambda own: advance(len(own)),
        )
        written = dict(zip(by_size, results, strict=True))
    return [written.get(number, []) for number in range(len(datasets))]


def _write_dataset(
    releases: Sequence[SiteRelease], site_dir: Path, scratch: Path, *, rights: bool, common: tuple[str, bool]
) -> Written:
    """Write all pages of a dataset, and its texts for the index. common: the arguments of set_site."""
    set_site(common[0], docs=common[1])
    written, columns = list[ReleaseData](), list[tuple[TextColumn, ...]]()
    for release in releases:
        for folder in (site_dir, scratch):  # a process that was killed leaves them behind
            shutil.rmtree(folder / release.path, ignore_errors=True)
        with stage(f"{release.manifest.name}: checking its rows and writing its pages"):
            written.append(write_release_data(release, site_dir / release.path, rights=rights))
        with stage(f"search: {release.manifest.name}"):
            columns.append(spill_texts(written[-1], scratch))
    built = {data.release.manifest.version: built_mark(data) for data in written}
    for place, new in enumerate(written):
        compared = [] if new.problems else [old for old in written[place + 1 :] if not old.problems]
        older = [old.release.manifest.version for old in compared]
        write_version_pages(site_dir, new, built, older)
        for old in compared:
            _write_changes(old, new, list(built), older, site_dir)
    return list(zip(written, columns, strict=True))


def _write_changes(
    old: ReleaseData, new: ReleaseData, versions: Sequence[str], older: Sequence[str], site_dir: Path
) -> None:
    sides = [(data.release.release_dir, data.release.manifest) for data in (old, new)]
    with_rows = not (old.withheld or new.withheld)
    page_dir, folder = site_dir / new.release.path, f"changes-from-{old.release.manifest.version}"
    changes = compare_versions(page_dir, folder, sides[0], sides[1], with_rows=with_rows)
    differing, _ = compare_figures(old.release.release_dir, new.release.release_dir)
    figures = [(name, *values) for name, values in differing.items()]
    write_changes_page(site_dir, old, new, changes, figures, versions=versions, older=older)


def _write_marker(site_dir: Path, releases: Sequence[ReleaseData]) -> None:
    marker = {
        "generator": "embedding-datasets site",
        "files": sorted(
            [*(path.relative_to(site_dir).as_posix() for path in site_dir.rglob("*") if path.is_file()), MARKER]
        ),
        "releases": {data.release.manifest.name: data.release.manifest.content_sha256 for data in releases},
    }
    (site_dir / MARKER).write_bytes(orjson.dumps(marker, option=orjson.OPT_INDENT_2) + b"\n")
