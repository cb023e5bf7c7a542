"""Whether a dataset is complete: all that its builder, its prose and its citations still lack, in one list.

A build refuses what it cannot do without, `embedding-datasets new` shows the list, and a test holds it empty for every dataset.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from builders.catalogue import Definition
from builders.errors import ReleaseError
from builders.licenses import LICENSES
from builders.spec import AS_PUBLISHED, read_docstring
from cards import front_matter
from cards.texts import (
    CITATIONS,
    INCOMPLETE,
    MARK,
    NOT_WRITTEN,
    WRITE,
    Gap,
    Prose,
    bibtex,
    citation_keys,
    fill_placeholders,
    gaps_error,
    prose_gaps,
    prose_path,
    read_prose,
    release_numbers,
    split_sections,
)

UNWRITTEN = frozenset({NOT_WRITTEN, INCOMPLETE})  # gaps that a sample may have, and a complete release may not
MAX_TITLE = 50  # characters that the Hub shows of a title
NAMED_SOURCE = re.compile(r"README|et al\.,? \d{4}|card on the Hub|\d{4}, section|\.com|Koehn, 2005")


def require_complete(definition: Definition, version: str, *, sample: bool) -> tuple[str, ...]:
    """Check before a build that nothing is missing. sample: marks and a section that are still to be written are accepted.

    Returns a note about what is still to be written; empty for a finished dataset.

    Raises ReleaseError for all that is missing, UsageError where Python runs without docstrings.
    """
    dataset, source = definition.dataset.name, definition.source.name
    gaps = find_text_gaps(definition)
    missing = [gap for gap in gaps if gap.level == "build" or (gap.what in UNWRITTEN and not sample)]
    if missing:
        raise gaps_error(ReleaseError, f"{dataset}@{version}", source, missing)
    unfinished = any(gap.level == "finish" for gap in gaps)
    return (f"{dataset}: not finished: embedding-datasets new {source} lists what is left to do",) * unfinished


def find_text_gaps(definition: Definition) -> list[Gap]:
    """All that the texts of a dataset lack: docstring, citations, prose, marks of `new`, terms, names, versions, placeholders.

    Raises UsageError where Python runs without docstrings.
    """
    prose = list(prose_gaps(definition.source.name, definition.dataset.name))
    gaps = [*_citations(definition), *prose, *_marks(definition), *_terms(definition), *_declaration(definition)]
    if not prose:
        gaps += [*_placeholders(definition), *_prose(definition)]
    return gaps


def _citations(definition: Definition) -> Iterator[Gap]:
    """A missing docstring, and citations that are not in citations.bib."""
    if not read_docstring(definition.dataset.recipe):
        yield _gap(
            f"the recipe {definition.dataset.recipe.__name__}() has no docstring",
            str(definition.entry.path),
            "say in its first line what the dataset asks, then how its tables are made and their columns",
        )
    for key in citation_keys(definition):
        try:
            bibtex(key)
        except ReleaseError as error:
            yield Gap(error.what, str(error.where), str(error.todo))


def builder_files(definition: Definition) -> list[Path]:
    """The files of a builder: one, or all of its folder."""
    path = definition.entry.path
    return sorted(path.parent.glob("*.py")) if path.name == "__init__.py" else [path]


def _marks(definition: Definition) -> Iterator[Gap]:
    """What `embedding-datasets new` left to write in the builder, the prose and the citations."""
    for path in (*builder_files(definition), prose_path(definition.source.name)):
        if path.is_file():
            yield from marked_lines(path)
    bibliography = CITATIONS.read_text("utf-8")
    for key in citation_keys(definition):
        with suppress(ReleaseError):
            entry = bibtex(key)
            first = bibliography[: bibliography.index(entry)].count("\n") + 1
            yield from marked_lines(CITATIONS, first=first, text=entry)


def marked_lines(path: Path, *, first: int = 1, text: str | None = None) -> Iterator[Gap]:
    """The lines of a file that still have the mark. text: a part of the file, from the line `first` on; None for all of it."""
    whole = path.read_text("utf-8", errors="replace") if text is None else text
    for number, line in enumerate(whole.splitlines(), first):
        if MARK in line:
            words = line.split(MARK, 1)[1].strip(' :"},|')
            yield Gap(NOT_WRITTEN, f"{path}:{number}", WRITE, expected=words or None, level="finish")


def _terms(definition: Definition) -> Iterator[Gap]:
    """What is wrong with the homepage and the licence of the source."""
    source, where = definition.source, str(definition.entry.path)
    if not re.fullmatch(r"https?://\S+", source.homepage):
        yield _gap("no homepage", where, "give the page where the authors publish the data", found=source.homepage)
    if source.license not in LICENSES:
        yield _gap(
            "a licence that the Hub does not know",
            where,
            "choose an id of builders/licenses.py; `other`, with a license_note, for terms of their own",
            found=source.license,
        )


def _declaration(definition: Definition) -> Iterator[Gap]:
    """What is wrong with names, versions, languages and files of a dataset, and with its docstring."""
    dataset, where = definition.dataset, str(definition.entry.path)
    needs = [*dataset.needs.values(), *(version.needs for version in dataset.versions.values())]
    needs.append(tuple(dataset.training.values()))
    if unknown := {key for keys in needs for key in keys} - set(definition.source.files):
        yield Gap(
            f"{dataset.name} needs files that SOURCE lacks",
            where,
            "correct `needs`, or add the file to SOURCE",
            found=", ".join(sorted(unknown)),
        )
    try:
        names = "-".join(front_matter.language(code)[1] for code in dataset.languages)
    except ValueError as error:
        yield Gap(str(error), where, "give languages as mteb writes them: rus-Cyrl")
    else:
        if not dataset.pretty_name.endswith(f" ({names})") or len(dataset.pretty_name) > MAX_TITLE:
            yield _gap(
                "the pretty_name is not a title for the Hub",
                where,
                "shorten or correct it",
                f"at most {MAX_TITLE} characters that end with ({names})",
            )
    for number, version in dataset.versions.items():
        if not version.notes.endswith("."):
            yield _gap(
                f"{dataset.name}@{number} has no summary",
                where,
                "say in a sentence what this version is, or what changed, with a full stop",
                found=version.notes,
            )
    if dataset.first != "1.0.0":
        yield _gap(f"{dataset.name} has no version 1.0.0", where, "number the first version 1.0.0")
    docstring = read_docstring(dataset.recipe)
    if docstring and not dataset.summary.endswith(("?", ".")):
        yield _gap(
            "the first line of the docstring is not a sentence", where, "end it with ? or .", found=dataset.summary
        )
    if docstring and "Columns:" not in docstring and "corpus:" not in docstring:
        yield _gap(
            "the docstring does not list the columns",
            where,
            "list them with their types",
            "`Columns: ...`, or `corpus: ...; queries: ...` for several tables",
        )


def _placeholders(definition: Definition) -> Iterator[Gap]:
    """Placeholders in the prose that no release can fill."""
    dataset, source = definition.dataset, definition.source
    for version in dataset.versions:
        options = dataset.options(dataset.first if version == AS_PUBLISHED else version)
        numbers = release_numbers(dataset.task, {}, options, {})
        numbers["observed"] = defaultdict(lambda: "0")  # what a recipe observes is not known before it has run
        for text in dict.fromkeys(vars(read_prose(source.name, dataset.name, version)).values()):
            try:
                fill_placeholders(text, numbers, "the prose has a placeholder that no release can fill")
            except ValueError as error:
                yield Gap(
                    str(error),
                    str(prose_path(source.name)),
                    "name a split, a table or an option of the recipe: {{ rows.test }}, {{ options.per_class }}",
                )


def _prose(definition: Definition) -> Iterator[Gap]:
    """What is wrong with the prose of a dataset, section by section."""
    dataset, path = definition.dataset, prose_path(definition.source.name)
    where, text = str(path), path.read_text("utf-8")
    headings = re.findall(r"(?m)^# (.+)$", text)
    if headings[0] != path.stem or len(headings) != len(set(headings)):
        yield _gap("the headings do not agree", where, "each once, the source first", f"# {path.stem}", str(headings))
    sections = split_sections(split_sections(text, "# ")[dataset.name], "## ")
    numbers = {heading.rpartition(" ")[2] for heading in sections if re.search(r" \d+\.\d+\.\d+$", heading)}
    if unknown := numbers - set(dataset.versions):
        yield _gap(
            f"'# {dataset.name}' has sections of versions that do not exist",
            where,
            "rename or remove them",
            found=", ".join(sorted(unknown)),
        )
    found = [
        fault
        for version in dataset.versions
        for fault in _sentences(read_prose(path.stem, dataset.name, version), dataset.name)
    ]
    yield from (_gap(what, where, todo) for what, todo in dict.fromkeys(found))


def _sentences(prose: Prose, dataset: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the sentences of prose, each with what to do."""
    for name, part in (("Choices", prose.choices), ("Decided", prose.decisions), ("Limits", prose.limits)):
        if not all(line.startswith(("- ", "  ")) for line in part.splitlines()):
            yield f"'## {name}' in '# {dataset}' is not a list", "begin each item with '- ', and indent its other lines"
    for name, part in (("the source", prose.source), (dataset, prose.dataset)):
        if not part.endswith("."):
            yield f"the first paragraphs about {name} do not end with a full stop", "end with a sentence"
    provenance = " ".join(prose.provenance.split())
    if len(re.findall(r"[.:;] ", provenance)) < 2:
        yield (
            "the provenance is shorter than three sentences",
            "say who wrote the texts, who gave the labels, and who says so",
        )
    if not NAMED_SOURCE.search(provenance):
        yield (
            "the provenance does not name who says so",
            "name the README, the card on the Hub or the paper (Doe et al., 2020)",
        )
    if any(number >= 100 for number in typed_numbers(prose.dataset)):
        yield f"a number of rows is typed into the opening of {dataset}", "use a placeholder: {{ rows.test }}"


def typed_numbers(text: str) -> list[int]:
    """The numbers in a text, without placeholders, code and the years of papers and campaigns."""
    text = re.sub(r"\{\{.*?\}\}|`[^`]*`", "", text, flags=re.DOTALL)
    words = re.findall(r"(?<![\w.-])\d[\d,]*(?![\w.]\d)", text)
    return [int(word.replace(",", "")) for word in words if not re.fullmatch(r"(19|20)\d\d", word.rstrip(","))]


def _gap(what: str, where: str, todo: str, expected: str | None = None, found: str | None = None) -> Gap:
    """A gap that a sample can be built with."""
    return Gap(what, where, todo, expected, found or None, level="finish")
