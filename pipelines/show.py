"""python -m pipelines.show [NAME...] : the catalogue, or all that is known of some datasets before a build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import command

if TYPE_CHECKING:
    import argparse

    from builders.catalogue import Definition
    from builders.raw_files import RawFile

EXAMPLES = """\
  python -m pipelines.show                    the catalogue
  python -m pipelines.show rumteb             a benchmark: its tasks and sizes, beside those of its paper
  python -m pipelines.show rarb               a group
  python -m pipelines.show rubq-retrieval     one dataset: its recipe, options, versions and raw files"""


def main() -> int:
    """Show what the command line names."""
    options = _parse()
    from pipelines.report import benchmark_table, text

    definitions = [definition for definition, _ in command.resolve_datasets(options.names or ["all"])]
    if options.json:
        for definition in definitions:
            command.print_json(describe(definition, options.output))
    elif len(options.names) == 1 and options.names[0] in benchmark_table.TASKS:
        [name] = options.names
        rows = benchmark_table.table_rows(name, [describe(one, options.output) for one in definitions])
        print(f"{text.table(rows)}\n\n{benchmark_table.NOTES[name]}")
    elif len(definitions) > 1:
        heading = ["dataset", "group", "task", "source", "license", "newest", "built"]
        described = [describe(one, options.output) for one in definitions]
        print(text.table([heading, *([str(row[column]) for column in heading] for row in described)]))
    else:
        print(_page(definitions[0], describe(definitions[0], options.output)))
    return 0


def describe(definition: Definition, output: Path) -> dict[str, Any]:
    """What the catalogue says of a dataset; `built`: the versions in the output folder."""
    dataset, source = definition.dataset, definition.source
    return {
        "dataset": dataset.name,
        "group": dataset.group,
        "task": dataset.task.type.name,
        "source": source.name,
        "license": source.license,
        "newest": dataset.newest,
        "built": ", ".join(_built_versions(output / dataset.name)) or "-",
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
    return command.parse(arguments)


def _built_versions(dataset_dir: Path) -> list[str]:
    from pipelines.release.folder import read_manifest

    if not dataset_dir.is_dir():
        return []
    marked = []
    for version in sorted(path.name for path in dataset_dir.glob("[0-9]*") if path.is_dir()):
        manifest = read_manifest(dataset_dir / version)
        marks = [mark for mark in ("sample", "partial") if manifest and getattr(manifest, mark)]
        marked.append(f"{version} ({', '.join(marks)})" if marks else version)
    return marked


def _page(definition: Definition, row: dict[str, Any]) -> str:
    """One dataset, for reading."""
    from builders.spec import version_key
    from builders.tasks import layouts
    from pipelines.raw.urls import file_url

    dataset, source = definition.dataset, definition.source
    columns = [f"{layout.config}: {', '.join(layout.columns)}" for layout in layouts(dataset.task)]
    versions = sorted(row["versions"], key=version_key)
    facts = {
        "task": f"{row['task']} ({dataset.group}), {', '.join(row['languages'])}",
        "splits": ", ".join(row["splits"]),
        "tables": "; ".join(columns),
        "source": f"{source.title}, {source.license}, {source.homepage}",
        "options": ", ".join(f"{name}={value!r}" for name, value in row["options"].items()) or "none",
        "versions": "; ".join(f"{number}: {row['versions'][number]}" for number in versions),
        "built": row["built"],
    }
    lines = [f"{dataset.name} - {dataset.summary}", ""]
    lines += [f"  {name:<10}{text}" for name, text in facts.items()]
    lines += ["", "  raw files (below --raw-dir DIR, or downloaded):"]
    for key in {key: None for split in dataset.task.splits for key in dataset.needs[split]}:
        file = source.files[key]
        where = file_url(file.location) or "to be fetched by hand"
        lines.append(f"    {source.name}/{file.name}  {_digest(file)}  {where}")
    return "\n".join([*lines, "", f"  build it: python -m pipelines.build {dataset.name}"])


def _digest(file: RawFile) -> str:
    if file.sha256:
        return f"sha256 {file.sha256[:16]}"
    return f"git {file.git_blob[:16]}" if file.git_blob else "no digest known"


if __name__ == "__main__":
    command.run(main)
