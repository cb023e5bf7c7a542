"""The card of a Hub repository with an index of the texts of benchmarks: hashes, by which a corpus is searched for the texts."""

from collections.abc import Mapping, Sequence

import yaml

from cards import markdown
from cards.front_matter import license_keys

MARK = "<!-- Written by embedding-datasets publish --index, which replaces all of this page. -->"


def render_index_card(
    name: str,
    file: str,
    facts: Mapping[str, str],
    datasets: Sequence[tuple[str, str, int, str]],
    absent: Sequence[tuple[str, str]],
) -> bytes:
    """What is in an index and what is not, what it is made of, whose the texts are, and how it is used; as UTF-8.

    name: `ORG/NAME@TAG`. file: its path there. facts: what is known of it, by name. datasets: name, version, number of texts,
    licence. absent: name, reason.
    """
    repo, title = name.partition("@")[0], name.partition("@")[0].partition("/")[2]
    texts = markdown.number(sum(count for _, _, count, _ in datasets))
    purpose = (
        f"Hashes of {texts} texts of {markdown.number(len(datasets))} datasets, by which `embedding-datasets` finds these "
        "texts in a training corpus:"
    )
    contents = (
        "No text is in the file, and none can be computed from it: it has hashes of texts and of labels, the names (ids) of "
        "rows, and which texts belong together. Anyone who has a text can see whether it is in the index, and with which label."
    )
    metadata = {
        "pretty_name": f"Contamination index {title}",
        **license_keys("index", "other", f"https://huggingface.co/datasets/{repo}#licences"),
        "tags": ["embedding-datasets", "contamination-index"],
        "configs": [{"config_name": "default", "data_files": file}],
    }
    head = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=120)
    lines = [
        "---",
        f"{head}---",
        MARK,
        "",
        f"# Contamination index {markdown.code(title)}",
        "",
        purpose,
        "",
        "```console",
        f"embedding-datasets contamination scan corpus/ --index {name}",
        "```",
        "",
        "| | |",
        "| --- | --- |",
        *(f"| {key} | {markdown.code(value)} |" for key, value in facts.items()),
        "",
        contents,
        "",
        "## Licences",
        "",
        "The licences below are those of the texts, as their publishers state them. Their terms hold for whoever has the texts.",
        "",
        "| dataset | version | texts | licence |",
        "| --- | --- | ---: | --- |",
        *(
            f"| {markdown.code(dataset)} | {markdown.code(version)} | {markdown.number(count)} | {markdown.plain(licence)} |"
            for dataset, version, count, licence in datasets
        ),
        "",
        "## Not in the index",
        "",
        *([] if absent else ["Nothing that it should have."]),
        *(["| dataset | reason |", "| --- | --- |"] if absent else []),
        *(f"| {markdown.code(dataset)} | {markdown.plain(reason)} |" for dataset, reason in absent),
        "",
    ]
    return "\n".join(lines).encode()
