"""What an export wrote, as a page of text."""

from pipelines.exporting.export import Export
from pipelines.report.tables import WIDTH, table, wrap


def export_page(export: Export, *, width: int | None) -> list[str]:
    """The releases, the sets with their rows and weights, and what was left out."""
    record = export.record
    lines = []
    for release in record["releases"]:
        what = ", a sample" if release["sample"] else ", a part of it" if release["partial"] else ""
        lines.append(f"{release['dataset']} {release['version']}{what}")
    rows = [["set", "rows", "weight", "negatives", "files"]]
    for one in record["sets"]:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in one["negatives"].items()) or "none"
        rows.append([one["name"], f"{one['rows']:,}", f"{one['weight']:.4f}", kinds, str(len(one["files"]))])
    lines += ["", *table(rows, width=width).splitlines(), ""]
    for one in record["sets"]:
        remarks = [f"{_count(count, 'rows')} dropped ({reason})" for reason, count in one["dropped"].items()]
        remarks += [f"{_count(count, what)} left out" for what, count in one["left_out"].items()]
        remarks += [
            f"{_count(file['rows'], 'rows')} in {file['path']}" for file in one["files"] if len(one["files"]) > 1
        ]
        for remark in remarks:
            lines += wrap(f"{one['name']}: {remark}", width=width or WIDTH)
    total = f"{_count(record['rows'], 'rows')} for {record['format']}; README.md says how to train on them"
    return [*lines, *wrap(total, width=width or WIDTH), f"in {export.folder}"]


def _count(count: int, what: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{count:,} {what.removesuffix('s') if count == 1 else what}"
