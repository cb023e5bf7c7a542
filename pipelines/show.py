"""python -m pipelines.show [NAME...] : the catalogue, or all that is known of some datasets before a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command
from pipelines.report import benchmark_table

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition

EXAMPLES = """\
  python -m pipelines.show                    the catalogue
  python -m pipelines.show rumteb             a benchmark: its tasks and sizes, beside those of its paper
  python -m pipelines.show rarb               a group
  python -m pipelines.show rubq-retrieval     one dataset: its recipe, options, versions and raw files"""


def main() -> int:
    """Show what the command line names."""
    options = _parse()
    wanted = [built for built, _ in command.resolve_datasets(options.names or ["all"])]
    if options.json:
        for built in wanted:
            print(json.dumps(describe(built, options.output), ensure_ascii=False))
    elif len(options.names) == 1 and options.names[0] in benchmark_table.TASKS:
        [name] = options.names
        rows = benchmark_table.table_rows(name, [describe(built, options.output) for built in wanted])
        print(f"{command.table(rows)}\n\n{benchmark_table.NOTES[name]}")
    elif len(wanted) > 1:
        heading = ["dataset", "group", "task", "source", "license", "newest", "built"]
        found = [describe(built, options.output) for built in wanted]
        print(command.table([heading, *([str(row[column]) for column in heading] for row in found)]))
    else:
        print(_page(wanted[0], describe(wanted[0], options.output)))
    return 0


def describe(built: Definition, output: Path) -> dict[str, Any]:
    """What a catalogue says of a dataset; `built`: the versions that lie in the output folder."""
    dataset, source = built.dataset, built.source
    return {
        "dataset": dataset.name,
        "group": dataset.group,
        "task": dataset.task.type.name,
        "source": source.name,
        "license": source.license,
        "newest": dataset.newest,
        "built": ", ".join(_built(output / dataset.name)) or "-",
        "summary": dataset.summary,
        "languages": list(dataset.languages),
        "splits": list(dataset.task.splits),
        "versions": {number: version.notes for number, version in dataset.versions.items()},
        "options": dataset.options(dataset.newest),
        "homepage": source.homepage,
        "raw": [{"name": file.name, "digest": file.sha256 or file.git_blob} for file in source.files.values()],
    }


def _parse() -> argparse.Namespace:
    arguments = command.parser("show", "List the catalogue, or show one dataset.", EXAMPLES)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=command.NAMES)
    arguments.add_argument(
        "--output", type=Path, default=Path("outputs"), metavar="DIR", help="where releases are (outputs/)"
    )
    arguments.add_argument("--json", action="store_true", help="one JSON object a dataset, for programs")
    return arguments.parse_args()


def _built(folder: Path) -> list[str]:
    from pipelines.release import staging

    versions = sorted(path.name for path in folder.glob("[0-9]*") if path.is_dir()) if folder.is_dir() else []
    marked = []
    for version in versions:
        manifest = staging.read_manifest(folder / version)
        marks = [mark for mark in ("sample", "partial") if manifest and manifest[mark]]
        marked.append(f"{version} ({', '.join(marks)})" if marks else version)
    return marked


def _page(built: Definition, row: dict[str, Any]) -> str:
    """One dataset, for reading."""
    from builders.spec import version_key
    from builders.tasks import layouts
    from pipelines.raw.urls import file_url

    dataset, source = built.dataset, built.source
    columns = [f"{layout.config}: {', '.join(layout.columns)}" for layout in layouts(dataset.task)]
    facts = {
        "task": f"{row['task']} ({dataset.group}), {', '.join(row['languages'])}",
        "splits": ", ".join(row["splits"]),
        "tables": "; ".join(columns),
        "source": f"{source.title}, {source.license}, {source.homepage}",
        "options": ", ".join(f"{name}={value!r}" for name, value in row["options"].items()) or "none",
        "versions": "; ".join(
            f"{number}: {row['versions'][number]}" for number in sorted(row["versions"], key=version_key)
        ),
        "built": row["built"],
    }
    lines = [f"{dataset.name} - {dataset.summary}", ""]
    lines += [f"  {name:<10}{text}" for name, text in facts.items()]
    lines += ["", "  raw files (below --raw-dir DIR, or downloaded):"]
    for key in {key: None for split in dataset.task.splits for key in dataset.needs[split]}:
        file = source.files[key]
        digest = (
            f"sha256 {file.sha256[:16]}"
            if file.sha256
            else f"git {file.git_blob[:16]}"
            if file.git_blob
            else "no digest known"
        )
        lines.append(f"    {source.name}/{file.name}  {digest}  {file_url(file.location) or 'to be fetched by hand'}")
    return "\n".join([*lines, "", f"  build it: python -m pipelines.build {dataset.name}"])


if __name__ == "__main__":
    command.run(main)
