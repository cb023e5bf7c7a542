"""An export: written beside its place, and exchanged with the one before when it is complete; its README.md and its page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders.errors import ReleaseError
from cards.manifest import Manifest
from cards.render import card_template
from pipelines.exporting.sets import DATA, RECORD, Choices, ExportedSet, TrainingSet, describe_export, share
from pipelines.exporting.trainers import TRAINERS, TRAINING
from pipelines.process.files import locked
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.process.stages import format_amount
from pipelines.process.tables import WIDTH, table, wrap
from pipelines.release.folder import CARD, write_json
from pipelines.release.staging import staged_folder

HERE = Path(__file__).parent


def render_readme(sets: Sequence[ExportedSet], choices: Choices, releases: Sequence[Manifest]) -> str:
    """The README.md of an export. Its front matter lists the files, so that `datasets` loads them by name."""
    total = sum(exported.tally.rows for exported in sets)
    template = card_template(f"readme/{choices.trainer}.md.jinja", HERE)
    return template.render(sets=sets, choices=choices, total=total, share=share, releases=releases)


def write_export(
    sets: Sequence[TrainingSet], target: Path, choices: Choices, *, overwrite: bool = False
) -> dict[str, Any]:
    """Write sets in the format of a trainer into a folder, which is new, empty, or an older export.

    overwrite: the folder may hold other files, which are then gone. Returns the content of its export.json.

    Raises UsageError for a folder that holds anything else, ReleaseError for a release that is damaged or has no row for this
    trainer, and for a full disk.
    """
    target, trainer = target.absolute(), TRAINERS[choices.trainer]
    output = Output("--output", target, KINDS["export"])
    claim([output], overwrite=overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / f".{target.name}.lock", target.name, remove=True):
        claim([output], overwrite=overwrite)
        with staged_folder(target, "the export", marker=RECORD) as folder:
            (folder / DATA).mkdir()
            written = trainer.write(sets, folder, choices)
            if not any(exported.tally.rows for exported in written):
                reasons = {reason for exported in written for reason in exported.tally.dropped}
                raise ReleaseError(
                    f"no row to export for {choices.trainer}",
                    found=", ".join(sorted(reasons)) or "no rows",
                    todo="choose another release or format",
                )
            if trainer.describe is not None:
                write_json(folder / TRAINING, trainer.describe(written))
            releases = list({each.release.manifest.name: each.release.manifest for each in sets}.values())
            (folder / CARD).write_text(render_readme(written, choices, releases), encoding="utf-8", newline="\n")
            record = describe_export(folder, choices, releases, written)
            write_json(folder / RECORD, record)
    return record


def export_page(record: Mapping[str, Any], folder: Path, *, width: int | None, brief: bool = False) -> list[str]:
    """The releases, the sets with their rows and weights, and what was left out.

    record: the content of export.json. folder: of the export. brief: a line for each release, and sums.
    """
    lines, brief = [], brief and len(record["releases"]) > 1
    for release in record["releases"]:
        what = ", a sample" if release["sample"] else ", a part of it" if release["partial"] else ""
        own = [described["rows"] for described in record["sets"] if described["dataset"] == release["dataset"]]
        sums = f": {format_amount(len(own), 'sets')}, {format_amount(sum(own), 'rows')}" if brief else ""
        lines.append(f"{release['dataset']} {release['version']}{what}{sums}")
    total = f"{format_amount(record['rows'], 'rows')} for {record['format']}; README.md says how to train on them"
    last = [*wrap(total, width=width or WIDTH), f"in {folder}"]
    if brief:
        left = Counter[str]()
        for described in record["sets"]:
            left.update({f"rows dropped ({reason})": count for reason, count in described["dropped"].items()})
            left.update({f"{what} left out": count for what, count in described["left_out"].items()})
        listed = [f"{count:,} {what}" for what, count in left.items()]
        return [*lines, "", *wrap("; ".join([*listed, "-v shows each set"]), width=width or WIDTH), *last]
    rows = [["set", "rows", "weight", "negatives", "files"]]
    for described in record["sets"]:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in described["negatives"].items()) or "none"
        rows.append(
            [
                described["name"],
                f"{described['rows']:,}",
                f"{described['weight']:.4f}",
                kinds,
                str(len(described["files"])),
            ]
        )
    lines += ["", *table(rows, width=width).splitlines(), ""]
    for described in record["sets"]:
        remarks = [
            f"{format_amount(count, 'rows')} dropped ({reason})" for reason, count in described["dropped"].items()
        ]
        remarks += [f"{format_amount(count, what)} left out" for what, count in described["left_out"].items()]
        remarks += [
            f"{format_amount(file['rows'], 'rows')} in {file['path']}"
            for file in described["files"]
            if len(described["files"]) > 1
        ]
        for remark in remarks:
            lines += wrap(f"{described['name']}: {remark}", width=width or WIDTH)
    return [*lines, *last]
