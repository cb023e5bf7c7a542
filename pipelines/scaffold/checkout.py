"""The checkout that new datasets are written into: its folders, its names, and files that appear whole or not at all."""

import keyword
import re
from collections.abc import Mapping
from contextlib import suppress

from builders import catalogue
from builders.benchmarks import BENCHMARKS
from builders.catalogue import Entry
from builders.errors import UsageError
from pipelines.process import installation
from pipelines.process.files import write_atomically
from pipelines.scaffold.templates import Plan, citation_text, scaffold

ROOT = installation.ROOT
STEM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
MAX_NAME = 30  # characters: longer names make titles that the Hub cuts
RESERVED = {"all", *catalogue.FOLDERS, *BENCHMARKS}
CITATIONS = "cards/citations.bib"


def require_checkout() -> None:
    """Raise UsageError where this is an installed package."""
    if not installation.is_checkout(ROOT):
        raise UsageError(
            "a dataset can be added only in a checkout of the repository",
            where=str(ROOT),
            found="an installed package, which is never modified",
            todo="clone the repository, and run python -m pip install -e '.[test]' in it",
        )


def read_entries() -> dict[str, Entry]:
    """The catalogue of the checkout, as its files are now."""
    return catalogue.read_catalogue(ROOT / "builders")


def require_name(name: str) -> None:
    """Raise UsageError for a name that cannot be that of a source."""
    if not STEM.fullmatch(name) or len(name) > MAX_NAME or keyword.iskeyword(name) or name in RESERVED:
        raise UsageError(
            "not a name for a source",
            found=repr(name),
            expected=f"lower-case letters, digits and underscores, such as shop_questions; at most {MAX_NAME} characters, and "
            "not the name of a benchmark, a group or a word of Python",
            todo="choose a name, without folders and without an ending: it names the builder, the prose and the golden sample",
        )


def require_free(plan: Plan, entries: Mapping[str, Entry]) -> None:
    """Raise UsageError where another source has the name of the dataset."""
    if plan.dataset in entries:
        raise UsageError(
            f"a dataset is named {plan.dataset!r} already",
            where=str(entries[plan.dataset].path),
            todo="choose another name",
        )


def find_changed_beginnings(plan: Plan, entries: Mapping[str, Entry]) -> dict[str, str]:
    """What beginnings of names mean today and will no longer mean: `eu ... europarl` -> `europarl-bitext`."""
    known = {name for entry in entries.values() for name in (entry.dataset, entry.source, entry.group)} | {"all"}
    beginnings = {name[:end] for name in (plan.name, plan.dataset) for end in range(1, len(name) + 1)} - known
    changed: dict[str, list[str]] = {}
    for beginning in sorted(beginnings, key=lambda one: (len(one), one)):
        with suppress(UsageError):
            meant = [entry.dataset for entry, _ in catalogue.resolve([beginning])]
            changed.setdefault(", ".join(meant), []).append(beginning)
    return {" ... ".join(dict.fromkeys((some[0], some[-1]))): meaning for meaning, some in changed.items()}


def write_missing(plan: Plan, *, dry_run: bool) -> list[str]:
    """Write the files of a new dataset that are missing; returns their paths below the checkout, the citation's among them.

    What exists is left as it is. The builder is written last.
    """
    *others, builder = scaffold(plan).items()
    bibliography = ROOT / CITATIONS
    text, entry = bibliography.read_text("utf-8"), citation_text(plan)
    files = {name: content for name, content in others if not (ROOT / name).exists()}
    if f"{{{plan.citation}," not in text:
        files[CITATIONS] = f"{text.rstrip()}\n\n{entry}"
    files[builder[0]] = builder[1]
    for name, content in {} if dry_run else files.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(ROOT / name, content)
    return list(files)
