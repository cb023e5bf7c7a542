"""What there is to download before a build: where each raw file would come from, and its size. Nothing is opened."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from builders.catalogue import Definition, needed_files, requested_splits
from pipelines.raw.file_request import stored_file
from pipelines.raw.locations import Origin, plan_file
from pipelines.raw.mirrors import digest_path
from pipelines.raw.missing import missing_reason
from pipelines.raw.pins import find_pin
from pipelines.raw.settings import RawSettings


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
