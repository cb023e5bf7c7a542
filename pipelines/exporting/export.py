"""An export: written beside its place, and exchanged with the one before when it is complete."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from builders.errors import ReleaseError, UsageError
from pipelines.exporting import flagembedding, medi, sentence_transformers
from pipelines.exporting.readme import render_readme
from pipelines.exporting.records import GENERATOR, RECORD, Choices, ExportedSet, describe_export
from pipelines.exporting.releases import TrainingSet
from pipelines.files import locked
from pipelines.release.folder import CARD, MANIFEST, write_json
from pipelines.release.staging import staged_folder

FORMATS = {
    "sentence-transformers": sentence_transformers.write_sets,
    "flagembedding": flagembedding.write_sets,
    "medi": medi.write_sets,
}


@dataclass(frozen=True)
class Export:
    """An export as it was written. record: the content of its export.json."""

    folder: Path
    sets: tuple[ExportedSet, ...]
    record: dict[str, Any]


def write_export(sets: Sequence[TrainingSet], target: Path, choices: Choices) -> Export:
    """Write sets in the format of a trainer into a folder, which is new, empty, or an older export.

    Raises UsageError for a folder that holds anything else, ReleaseError for a release that is damaged or has no row for this
    trainer, and for a full disk.
    """
    target = target.absolute()
    refuse_other_folder(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / f".{target.name}.lock", target.name, remove=True):
        refuse_other_folder(target)
        with staged_folder(target, "the export", marker=RECORD) as folder:
            written = FORMATS[choices.trainer](sets, folder, choices)
            if not any(one.tally.rows for one in written):
                reasons = {reason for one in written for reason in one.tally.dropped}
                found = ", ".join(sorted(reasons)) or "no rows"
                todo = "choose another release or format"
                raise ReleaseError(f"no row to export for {choices.trainer}", found=found, todo=todo)
            if choices.trainer == "sentence-transformers":
                write_json(folder / sentence_transformers.TRAINING, sentence_transformers.describe_training(written))
            (folder / CARD).write_text(render_readme(written, choices), encoding="utf-8", newline="\n")
            releases = list({id(one.release): one.release for one in sets}.values())
            record = describe_export(folder, choices, releases, written)
            write_json(folder / RECORD, record)
    return Export(target, tuple(written), record)


def refuse_other_folder(target: Path) -> None:
    """Raise UsageError where a folder holds anything but an export, which would be deleted, or is part of a release."""
    todo = "choose another --to, or remove the folder yourself"
    if target.exists() and not target.is_dir():
        raise UsageError("the target is not a folder", where=str(target), todo=todo)
    inside = [parent for parent in target.absolute().parents if (parent / MANIFEST).is_file()]
    if inside:
        raise UsageError("the target is inside a release", where=str(inside[0]), todo="choose another --to")
    names = {path.name for path in target.iterdir()} if target.is_dir() else set()
    if other := sorted(names - _own_names(target)):
        shown = ", ".join(other[:5]) + (", ..." if len(other) > 5 else "")
        what = "the target holds other files, which an export would replace"
        expected = "a new or empty folder, or an export"
        raise UsageError(what, where=str(target), found=shown, expected=expected, todo=todo)


def _own_names(target: Path) -> set[str]:
    """The names that the export in a folder consists of; empty where there is none."""
    try:
        record = orjson.loads((target / RECORD).read_bytes())
        files = [str(file["path"]) for file in record["files"]] if record["generator"] == GENERATOR else []
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return set()
    names = {path.partition("/")[0] for path in files}
    others = {path.relative_to(target).as_posix() for name in names for path in (target / name).rglob("*")}
    return {RECORD, *names} if others <= set(files) else {RECORD}
