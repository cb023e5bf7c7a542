"""The hand-written texts behind a card: prose, docstring, citations, terms; what is missing of them; numbers that are filled in.

`{{ rows.train }}` is the number of rows of a split, `{{ rows.queries.test }}` that of one of several tables; 0 for a split that
a partial release does not have. `{{ options.per_class }}` is an option of the recipe, `{{ observed.segments }}` a number that
the recipe counted. What a paper says or prints is in builders/papers: `{{ paper.threshold }}` is a quotation with its section,
`{{ size('CEDRClassification', 'train') }}` a figure of Table 1, `{{ pairs('XNLI') }}` one of Table 6.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jinja2

from builders import papers, tasks
from builders.catalogue import Definition
from builders.errors import DatasetError, ReleaseError
from builders.spec import VERSION
from cards import markdown

CARDS = Path(__file__).parent
CITATIONS = CARDS / "citations.bib"

NOT_WRITTEN = "not written yet"
MARK = "TODO(new)"  # in every text that `embedding-datasets new` leaves for a person to write
WRITE = f"write it in place of {MARK}"
Level = Literal["build", "finish", "later"]


@dataclass(frozen=True)
class Gap:
    """Something missing or wrong: what, in which file, what to do, and as in DatasetError what was expected and found.

    level: `build`, nothing can be built before it is closed; `finish`, a sample can be built, a complete release cannot; `later`,
    worth knowing, and no build is refused for it.
    """

    what: str
    where: str
    todo: str
    expected: str | None = None
    found: str | None = None
    level: Level = "build"

    def __str__(self) -> str:
        """One line: what, expected and found."""
        details = [f"{name} {text}" for name, text in (("found", self.found), ("expected", self.expected)) if text]
        return "; ".join([self.what, *details])


def gaps_error(kind: type[DatasetError], name: str, source: str, gaps: Sequence[Gap]) -> DatasetError:
    """One error for some gaps: that of the gap itself if there is one, else a list of all of them; lines with a mark by file."""
    if len(gaps) == 1:
        gap = gaps[0]
        return kind(gap.what, where=gap.where, found=gap.found, expected=gap.expected, todo=gap.todo)
    marked: dict[str, list[str]] = {}
    listed = []
    for gap in gaps:
        if gap.what == NOT_WRITTEN:
            path, _, line = gap.where.rpartition(":")
            marked.setdefault(path, []).append(line)
        else:
            listed.append(f"{gap.where}: {gap}")
    listed += [f"{path}: {NOT_WRITTEN}: line {', '.join(lines)}" for path, lines in marked.items()]
    return kind(
        f"{name}: {len(gaps)} things are missing or wrong",
        found="".join(f"\n            - {line}" for line in listed),
        todo=f"embedding-datasets new {source} says for each what to do",
    )


WRITE_PROSE = "write it; docs/adding-a-dataset.md shows a whole file"
INCOMPLETE = "the prose for the card is incomplete"
OF_A_VERSION = re.compile(rf"(?:Decided in|Limits of) (?:{VERSION.pattern})")
# In place of the section of a dataset, on the card of a sample.
UNWRITTEN_SECTION = "Not written yet.\n\n## Decided\n\n- Not written yet.\n\n## Limits\n\n- Not written yet."


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


def read_prose(source: str, dataset: str, version: str, *, sample: bool = False) -> Prose:
    """The prose of a dataset from `prose/<source>.md`, with its placeholders.

    The file has a section `# <source>` with `## Provenance`, and for each dataset a section `# <dataset>` with `## Decided` and
    `## Limits`, perhaps `## Choices` and `## Columns`. For one version, `## Decided in 2.0.0` and `## Limits of 2.0.0` replace
    these.

    sample: the section of the dataset may be missing; its card then says that it is not written yet.

    Raises ReleaseError for a missing file or section, and for a section that no card shows.
    """
    if gaps := [gap for gap in prose_gaps(source, dataset) if gap.level == "build" or not sample]:
        raise gaps_error(ReleaseError, f"{dataset}@{version}", source, gaps)
    sections = split_sections(prose_path(source).read_text("utf-8"), "# ")
    about, parts = (split_sections(sections.get(name) or UNWRITTEN_SECTION, "## ") for name in (source, dataset))
    return Prose(
        about[""],
        about["Provenance"],
        parts[""],
        parts.get("Choices", ""),
        parts.get(f"Decided in {version}") or parts["Decided"],
        parts.get(f"Limits of {version}") or parts["Limits"],
        parts.get("Columns", ""),
    )


def prose_gaps(source: str, dataset: str) -> Iterator[Gap]:
    """What the prose of a dataset lacks: the file, sections, or a card that shows them."""
    path = prose_path(source)
    if not path.is_file():
        yield Gap(
            "no prose for the card", str(path), WRITE_PROSE, f"a file with the sections '# {source}' and '# {dataset}'"
        )
        return
    sections = split_sections(path.read_text("utf-8"), "# ")
    yield from _part_gaps(path, sections, source, ("", "Provenance"))
    yield from _part_gaps(path, sections, dataset, ("", "Decided", "Limits"), ("Choices", "Columns"))


def _part_gaps(
    path: Path, sections: Mapping[str, str], name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[Gap]:
    """What a section of a prose file lacks; the text before the first heading has the name ''."""
    if not sections.get(name):
        # A second dataset of a source gets its sample before its prose: the rows show what there is to write.
        yield Gap(INCOMPLETE, str(path), WRITE_PROSE, f"'# {name}'", level="finish" if optional else "build")
        return
    parts = split_sections(sections[name], "## ")
    for heading in required:
        if not parts.get(heading):
            expected = f"'## {heading}' in '# {name}'" if heading else f"a first paragraph in '# {name}'"
            yield Gap(INCOMPLETE, str(path), WRITE_PROSE, expected)
    known = [heading for heading in (*required, *optional) if heading]
    versions = [heading for heading in parts if OF_A_VERSION.fullmatch(heading) and heading.split()[0] in known]
    if unknown := [heading for heading in parts if heading not in ("", *known, *versions)]:
        expected = ", ".join(f"'## {heading}'" for heading in known)
        expected += ", or one of these for a version: '## Decided in 2.0.0'"
        yield Gap(
            f"'# {name}' has sections that no card shows",
            str(path),
            "rename or remove them",
            expected,
            ", ".join(f"'## {heading}'" for heading in unknown),
        )


def prose_path(source: str) -> Path:
    """The file with the prose of a source and its datasets."""
    return CARDS / "prose" / f"{source}.md"


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


# What to cite for the models that measure texts, and for the model and the way by which negatives are mined.
MODELS = {"ai-forever/ruRoberta-large": "zmitrovich2023family", "sentence-transformers/LaBSE": "feng2022labse"}
MINING = ("wang2024multilingual", "xiao2023cpack")


def citation_keys(definition: Definition) -> tuple[str, ...]:
    """The citation keys of the source, the dataset, the benchmark and the models that decide rows, without repetitions."""
    dataset, source = definition.dataset, definition.source
    benchmark = dataset.benchmark.citations if dataset.benchmark else ()
    needed = {key for keys in dataset.needs.values() for key in keys}
    models = [MODELS[part.model] for part in source.measurements if part.key in needed]
    mined = MINING if dataset.mining and not dataset.mining.of else ()
    return tuple(dict.fromkeys((*source.citations, *dataset.citation, *benchmark, *models, *mined)))


def bibtex(key: str) -> str:
    """An entry of citations.bib.

    Raises ReleaseError for an unknown key, and for an entry with unbalanced braces.
    """
    text = CITATIONS.read_text("utf-8")
    if (start := re.search(rf"(?m)^@\w+\{{{re.escape(key)},", text)) is None:
        raise ReleaseError(
            f"no entry {key!r} to cite", where=str(CITATIONS), todo="add it, or correct the key in the builder"
        )
    if (end := _closing_brace(text, start.start())) is None:
        raise ReleaseError(f"unbalanced braces in the entry {key!r}", where=str(CITATIONS), todo="close its braces")
    return text[start.start() : end + 1]


def read_field(entry: str, name: str) -> str:
    """The value of a field without its outer braces, as BibTeX; empty where the entry lacks it."""
    start = re.search(rf"(?m)^\s*{name}\s*=\s*(?=\{{)", entry)
    end = _closing_brace(entry, start.end()) if start else None
    return entry[start.end() + 1 : end].strip() if start and end else ""


def arxiv_papers(entries: Iterable[str]) -> list[str]:
    """The addresses on arXiv of entries with an `eprint`. The Hub lists a dataset with each paper that its card links so."""
    identifiers = [read_field(entry, "eprint") for entry in entries]
    return [f"https://arxiv.org/abs/{identifier}" for identifier in identifiers if identifier]


def _closing_brace(text: str, start: int) -> int | None:
    """The position of the brace that closes the first one from `start` on; None where none does."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None


_ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - Markdown, not HTML
_compile = cache(_ENVIRONMENT.from_string)


def _size(task: str, split: str) -> str:
    """A figure of Table 1 of the ruMTEB paper, by the name that it prints."""
    [row] = [row for row in papers.sizes().values() if row.task == task]
    return markdown.number(int({"train": row.train, "validation": row.validation, "test": row.test}[split]))


def _pairs(name: str) -> str:
    """The pairs of a set in Table 6 of the ruMTEB paper."""
    [row] = [row for row in papers.training_sets() if row.set == name]
    return markdown.number(row.pairs)


_ENVIRONMENT.globals |= {"paper": papers.quotations(), "size": _size, "pairs": _pairs}


def release_numbers(
    task: tasks.Task, rows: Mapping[tuple[str, str], int], options: Mapping[str, Any], observed: Mapping[str, int]
) -> dict[str, Mapping[str, Any]]:
    """The values of the placeholders of a release, as text. rows: of each table, by config and split."""
    configs = [layout.config for layout in tasks.layouts(task)]
    counts = {
        config: {split: markdown.number(rows.get((config, split), 0)) for split in task.splits} for config in configs
    }
    return {
        "rows": counts if len(configs) > 1 else counts[configs[0]],
        "options": {name: _as_text(value) for name, value in options.items()},
        "observed": {name: markdown.number(value) for name, value in observed.items()},
    }


def fill_placeholders(text: str, numbers: Mapping[str, Mapping[str, Any]], where: str) -> str:
    """A text with each placeholder replaced. where: what the text is, for the error.

    Raises ValueError for a placeholder without a number, and for a malformed one.
    """
    if "{" not in text:  # most prose: not worth compiling a template
        return text
    try:
        return _compile(text).render(numbers)
    except jinja2.TemplateError as error:
        raise ValueError(f"{where}: {error.message}") from error


def _as_text(value: Any) -> str:
    return markdown.number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)
