"""The hand-written texts behind a card: prose, docstring, citations, terms; what is missing of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from builders.catalogue import Definition
from builders.docstrings import read_docstring
from builders.errors import ReleaseError
from builders.spec import VERSION
from cards.citations import bibtex
from cards.gaps import Gap, gaps_error

CARDS = Path(__file__).parent
WRITE_PROSE = "write it; docs/adding-a-dataset.md shows a whole file"
INCOMPLETE = "the prose for the card is incomplete"
VERSION_SECTION = re.compile(rf"(?:Decided in|Limits of) (?:{VERSION.pattern})")
SOURCE_PARTS = ("", "Provenance")
DATASET_PARTS = ("", "Decided", "Limits")
OPTIONAL_PARTS = ("Choices", "Columns")


@dataclass(frozen=True)
class Prose:
    """The hand-written text about a dataset, as Markdown.

    source: what the source is. provenance: where its texts and labels come from, and who says so. dataset: what the dataset is.
    choices: what the paper leaves open and this package chose, empty if there is nothing. decisions: how the recipe reads the
    source. limits: what to know before using it. columns: a list of what single columns mean, may be empty.
    """

    source: str
    provenance: str
    dataset: str
    choices: str
    decisions: str
    limits: str
    columns: str


def read_prose(source: str, dataset: str, version: str) -> Prose:
    """The prose of a dataset from `prose/<source>.md`, with its placeholders.

    The file has a section `# <source>` with `## Provenance`, and for each dataset a section `# <dataset>` with `## Decided` and
    `## Limits`, perhaps `## Choices` and `## Columns`. For one version, `## Decided in 2.0.0` and `## Limits of 2.0.0` replace
    these.

    Raises ReleaseError for a missing file or section, and for a section that no card shows.
    """
    if gaps := list(prose_gaps(source, dataset)):
        raise gaps_error(ReleaseError, f"{dataset}@{version}", source, gaps)
    sections = split_sections(prose_path(source).read_text("utf-8"), "# ")
    about, parts = (split_sections(sections[name], "## ") for name in (source, dataset))
    return Prose(
        about[""],
        about["Provenance"],
        parts[""],
        parts.get("Choices", ""),
        parts.get(f"Decided in {version}") or parts["Decided"],
        parts.get(f"Limits of {version}") or parts["Limits"],
        parts.get("Columns", ""),
    )


def text_gaps(definition: Definition) -> Iterator[Gap]:
    """The docstring and citations that a card lacks.

    Raises UsageError where Python runs without docstrings.
    """
    if not read_docstring(definition.dataset.recipe):
        what = f"the recipe {definition.dataset.recipe.__name__}() has no docstring"
        todo = "say in its first line what the dataset asks, then how its tables are made and their columns"
        yield Gap(what, str(definition.entry.path), todo, level="finish")
    for key in citation_keys(definition):
        try:
            bibtex(key)
        except ReleaseError as error:
            yield Gap(error.what, str(error.where), str(error.todo))


def prose_gaps(source: str, dataset: str) -> Iterator[Gap]:
    """What the prose of a dataset lacks: the file, sections, or a card that shows them."""
    path = prose_path(source)
    if not path.is_file():
        expected = f"a file with the sections '# {source}' and '# {dataset}'"
        yield Gap("no prose for the card", str(path), WRITE_PROSE, expected)
        return
    sections = split_sections(path.read_text("utf-8"), "# ")
    yield from _part_gaps(path, sections, source, SOURCE_PARTS)
    yield from _part_gaps(path, sections, dataset, DATASET_PARTS, OPTIONAL_PARTS)


def prose_path(source: str) -> Path:
    """The file with the prose of a source and its datasets."""
    return CARDS / "prose" / f"{source}.md"


def citation_keys(definition: Definition) -> tuple[str, ...]:
    """The citation keys of the source, the dataset and the benchmark, without repetitions."""
    benchmark = definition.dataset.benchmark.citations if definition.dataset.benchmark else ()
    return tuple(dict.fromkeys((*definition.source.citations, *definition.dataset.citation, *benchmark)))


def _part_gaps(
    path: Path, sections: Mapping[str, str], name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[Gap]:
    """What a section of a prose file lacks; the text before the first heading has the name ''."""
    if not sections.get(name):
        yield Gap(INCOMPLETE, str(path), WRITE_PROSE, f"'# {name}'")
        return
    parts = split_sections(sections[name], "## ")
    for heading in required:
        if not parts.get(heading):
            expected = f"'## {heading}' in '# {name}'" if heading else f"a first paragraph in '# {name}'"
            yield Gap(INCOMPLETE, str(path), WRITE_PROSE, expected)
    known = {*required, *optional}
    if unknown := [part for part in parts if part not in known and not _replaces(part, known)]:
        yield Gap(
            f"'# {name}' has sections that no card shows",
            str(path),
            "rename or remove them",
            ", ".join(f"'## {part}'" for part in (*filter(None, required), *optional))
            + ", or one of these for a version: '## Decided in 2.0.0'",
            ", ".join(f"'## {part}'" for part in unknown),
        )


def _replaces(heading: str, known: set[str]) -> bool:
    """Whether a section is one of a version, for one of the known sections: `Limits of 2.0.0`."""
    return VERSION_SECTION.fullmatch(heading) is not None and heading.split(maxsplit=1)[0] in known


def split_sections(text: str, mark: str) -> dict[str, str]:
    """The text below each heading of one level; the text before the first heading has the key ''."""
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in text.splitlines():
        if line.startswith(mark):
            lines = sections.setdefault(line.removeprefix(mark).strip(), [])
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}
