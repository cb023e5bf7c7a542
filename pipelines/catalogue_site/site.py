"""A site written beside its place and exchanged with the one before when it is complete."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from pipelines.catalogue_site.text_index import search_values, write_text_index
from pipelines.process.files import locked
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.process.stages import stage
from pipelines.release.comparison import compare_figures
from pipelines.release.staging import staged_folder

MARKER = "site.json"  # a folder that has it is a site, and holds what it lists


@dataclass(frozen=True)
class SiteSummary:
    """What was written: the first page, and the releases with the state of their verdict."""

    index: Path
    releases: tuple[tuple[str, str], ...]


def write_site(
    datasets: Sequence[tuple[Definition, Sequence[SiteRelease]]],
    output: Path,
    *,
    rights: bool,
    overwrite: bool = False,
    address: str = "",
    docs: bool = False,
) -> SiteSummary:
    """Write the site of some datasets, each with its releases, into a folder, which is new, empty, or an older site.

    rights: also show texts under no-derivatives licences. overwrite: the folder may hold other files, which are
    then gone. address: where the site will be on the web, for the picture that previews of links show. docs: with the
    documentation of this package in `docs/`.

    Raises UsageError for a folder that holds anything else and for documentation that cannot be built here, ReleaseError for a
    release that cannot be read and for a full disk.
    """
    set_site(address, docs=docs)
    output = output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    with locked(output.parent / f".{output.name}.lock", output.name, remove=True):
        claim([Output("--output", output, KINDS["site"])], overwrite=overwrite)
        with staged_folder(output, "the site", marker=MARKER) as site_dir:
            if docs:
                write_documentation(site_dir / "docs")
            count = sum(len(found) for _, found in datasets)
            with stage("releases", total=count, unit="releases") as advance:
                written = [
                    (definition, _write_dataset(found, site_dir, advance, rights=rights))
                    for definition, found in datasets
                ]
            copy_assets(site_dir / "assets")
            write_index(site_dir, written)
            releases = [data for _, versions in written for data in versions]
            index = write_text_index(site_dir / "search", releases)
            write_sides(site_dir / "sides", releases, index)
            for page in ("search", "compare"):
                write_page(site_dir / f"{page}.html", page, "", **search_values(index, releases))
            _write_marker(site_dir, releases)
    states = tuple((data.release.manifest.name, data.verdict["state"]) for data in releases)
    return SiteSummary(output / "index.html", states)


def _write_dataset(
    releases: Sequence[SiteRelease], site_dir: Path, advance: Callable[[int], None], *, rights: bool
) -> list[ReleaseData]:
    """Write all pages of a dataset; returns what was written of its releases, the newest first. advance: counts them."""
    written = []
    for release in releases:
        with stage(f"{release.manifest.name}: checking its rows and writing its pages"):
            written.append(write_release_data(release, site_dir / release.path, rights=rights))
        advance(1)
    built = {data.release.manifest.version: built_mark(data) for data in written}
    for place, new in enumerate(written):
        compared = [] if new.problems else [old for old in written[place + 1 :] if not old.problems]
        older = [old.release.manifest.version for old in compared]
        write_version_pages(site_dir, new, built, older)
        for old in compared:
            _write_changes(old, new, list(built), older, site_dir)
    return written


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
