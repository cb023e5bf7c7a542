"""The table of docs/training.md: each set of Table 6 with our dataset, what pins its raw files, and what a person must get.

python -m pipelines.report.training_markdown
"""

from builders import catalogue
from pipelines.raw.settings import RawSettings
from pipelines.report.sources import file_needs
from pipelines.report.training_table import SETS


def training_markdown() -> str:
    """The table, as Markdown."""
    definitions = {entry.dataset: catalogue.load(entry) for entry in catalogue.entries().values()}
    lines = [
        "| set | rows in Table 6 | dataset, config | licence | digests known | by hand |",
        "| --- | ---: | --- | --- | --- | --- |",
    ]
    for one in SETS:
        name, config = one.get("dataset"), one.get("config")
        ours = ["no builder yet", "", "", ""]
        if name:
            definition = definitions[name]
            keys = catalogue.needed_files(definition, definition.dataset.task.splits, definition.dataset.newest)
            mine = [key for key in keys if not key.startswith("mined-") or key == f"mined-{config}"]
            needs = file_needs(definition.source, mine, RawSettings().lock_files)
            fetched = [need for need in needs.values() if need.access != "by hand"]
            by_hand = [key.removesuffix(f"-{config}") for key, need in needs.items() if need.access == "by hand"]
            known = sum(need.digest for need in fetched)
            ours = [f"`{name}`, `{config}`", definition.license, f"{known} of {len(fetched)}", ", ".join(by_hand)]
        cells = [one["set"], f"{one['thousands']}K", *ours]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(training_markdown(), end="")
