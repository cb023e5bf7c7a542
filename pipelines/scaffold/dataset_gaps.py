"""All that a source lacks before its datasets are finished: texts, golden sample, rows that build, digests, names."""

import importlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from builders import catalogue
from builders.catalogue import Definition, Entry
from builders.errors import DatasetError, error_line
from builders.spec import Source
from cards.columns import describe_columns
from cards.completeness import find_text_gaps, marked_lines
from cards.manifest import Manifest
from cards.texts import Gap, prose_path, read_prose
from pipelines.catalogue_pages.sources import render_page
from pipelines.make import BuildSettings, make
from pipelines.process import interrupts
from pipelines.raw.locations import missing_golden_files
from pipelines.raw.pins import LOCK_FILE, find_pin
from pipelines.raw.settings import RawSettings
from pipelines.scaffold import checkout


def find_gaps(entries: Sequence[Entry], *, build: bool) -> list[Gap]:
    """All that the datasets of one source lack, each gap once. entries: its datasets. build: also build all samples."""
    golden = checkout.ROOT / "tests" / "golden"
    try:
        importlib.invalidate_caches()
        definitions = [catalogue.load(entry) for entry in entries]
    except Exception as error:  # noqa: BLE001 - a builder is code that somebody writes right now
        todo = "correct the builder, and run the same command again"
        return [Gap("the builder cannot be imported", _line(error, entries[0].path), todo, found=_words(error))]
    source = definitions[0].source
    gaps = [gap for definition in definitions for gap in find_text_gaps(definition)]
    gaps += [*_golden_gaps(source, {entry.dataset for entry in entries}, golden), *_names(source.name)]
    if build and not any(gap.level == "build" for gap in gaps):
        gaps += [gap for definition in definitions for gap in _build_gaps(definition, golden)]
    gaps += [gap for definition in definitions for gap in _missing_rows(definition, golden)]
    gaps += [*_digest_gaps(source), *_page_gaps()]
    return list(dict.fromkeys(gaps))


def _golden_gaps(source: Source, datasets: set[str], golden: Path) -> Iterator[Gap]:
    """What the golden sample lacks, and files in it that belong to nothing."""
    yield from missing_golden_files(source, source.files, golden)
    folder = golden / source.name
    readme = folder / "README.md"
    if not readme.is_file():
        todo = "write it: which record exercises which quirk or branch of the recipe"
        yield Gap("the golden sample has no README", str(readme), todo, level="finish")
    else:
        yield from marked_lines(readme)
    raw, names = folder / "raw", {file.name for file in source.files.values()}
    for path in sorted(raw.rglob("*")):
        if path.is_file() and path.relative_to(raw).as_posix() not in names:
            todo = f"delete it, or name it in SOURCE; the builder names {', '.join(sorted(names))}"
            yield Gap("no raw file of the builder has this name", str(path), todo, level="finish")
    for path in sorted(folder.glob("*/")):
        if path.name not in {*datasets, "raw"}:
            todo = f"delete it, or correct its name; the builder declares {', '.join(sorted(datasets))}"
            yield Gap("no dataset of the builder has this name", str(path), todo, level="finish")


def _names(source: str) -> Iterator[Gap]:
    """Prose and golden samples that nearly have the name of the source."""
    folders = (checkout.ROOT / "cards" / "prose", checkout.ROOT / "tests" / "golden")
    sources = {entry.source for entry in checkout.read_entries().values()}
    for path in sorted(path for folder in folders for path in folder.iterdir() if not path.name.startswith(".")):
        if path.stem not in sources and path.stem.replace("-", "_").startswith(source[:4]):
            todo = f"rename it: builder, prose and golden sample have one name, such as {source}"
            yield Gap("no builder has this name", str(path), todo, level="finish")


def _missing_rows(definition: Definition, golden: Path) -> Iterator[Gap]:
    """Versions without expected rows."""
    name = definition.dataset.name
    for version in definition.dataset.versions:
        folder = golden / definition.source.name / name / version
        if not any(folder.glob("*.jsonl")):
            todo = f"python -m pytest tests/test_golden.py --update-golden -k {name}; then read the rows that it writes"
            yield Gap(f"{name}@{version} has no expected rows", str(folder), todo, level="finish")


def _digest_gaps(source: Source) -> Iterator[Gap]:
    """Raw files that nothing pins."""
    for file in source.files.values():
        if not find_pin(source.name, file, [LOCK_FILE]).has_digest:
            todo = "give its sha256 in the builder; or the first download records it in pipelines/raw.lock.json"
            yield Gap("no digest is known", f"{source.name}/{file.name}", todo, level="later")


def _page_gaps() -> Iterator[Gap]:
    """Pages that are generated from all builders, and were not since they changed."""
    path = checkout.ROOT / "docs" / "sources.md"
    if path.is_file() and path.read_text("utf-8") != render_page():
        todo = "python -m pipelines.catalogue_pages.sources > docs/sources.md"
        yield Gap("the page of all sources is out of date", str(path), todo, level="finish")


def _build_gaps(definition: Definition, golden: Path) -> Iterator[Gap]:
    """Why a version cannot be built from its golden sample, and versions whose samples have the same rows."""
    name, contents = definition.dataset.name, dict[str, str]()
    where = str(definition.entry.path)
    with tempfile.TemporaryDirectory() as folder:
        raw = RawSettings(cache=Path(folder) / "cache", offline=True)
        settings = BuildSettings(Path(folder), raw, sample=True, golden=golden, ledger=Path(folder) / "ledger.json")
        for version in definition.dataset.versions:
            try:
                with interrupts.stop_at_any_error():
                    manifest = make(definition, version, settings).manifest
            except DatasetError as error:
                what = f"the sample of {name}@{version} does not build: {error.what}"
                yield Gap(what, error.where or where, error.todo or "correct the recipe", error.expected, error.found)
                continue
            except Exception as error:  # noqa: BLE001 - a recipe is code that somebody writes right now
                what = f"the recipe of {name}@{version} fails"
                yield Gap(what, _line(error, definition.entry.path), "correct it", found=_words(error))
                continue
            content = manifest.content_sha256
            yield from _column_gaps(definition, manifest)
            if content in contents:
                what = f"the samples of versions {contents[content]} and {version} have the same rows"
                todo = "add records on which the versions differ"
                yield Gap(what, str(golden / definition.source.name / "raw"), todo, level="finish")
            contents.setdefault(content, version)


def _column_gaps(definition: Definition, manifest: Manifest) -> Iterator[Gap]:
    """Columns that neither the task nor the prose explains."""
    source, name = definition.source.name, manifest.dataset
    prose = read_prose(source, name, manifest.version, sample=True).columns
    for column in describe_columns(definition.dataset.task, manifest.tables, prose):
        if not column.meaning:
            todo = f"say what it means in the section '## Columns' of '# {name}': - `{column.name}`: ..."
            what = f"nobody says what the column {column.name} of {name} means"
            yield Gap(what, str(prose_path(source)), todo, level="finish")


def _line(error: Exception, path: Path) -> str:
    """The line of a builder that an error passed through."""
    return error_line(error, path.parent) or str(path)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
