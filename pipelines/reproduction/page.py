"""A reproduction for people and for programs."""

from collections.abc import Mapping
from typing import Any

from cards import markdown
from pipelines.release import fingerprint
from pipelines.release.comparison import FirstDifference
from pipelines.report.failures import error_as_json
from pipelines.report.tables import fact, table, wrap
from pipelines.report.text import changes_page
from pipelines.reproduction.reproducing import Reproduction
from pipelines.reproduction.versions import COMMIT_KEY, how_to_install, known_tools

SHOWN = 200  # characters of a value
SHOWN_COLUMNS = 20
HIDDEN = "the text is not shown: the licence permits no derivatives"


def to_json(name: str, result: Reproduction) -> dict[str, Any]:
    """A reproduction as `--json` prints it. name: what the user calls the release."""
    release, rebuilt, first = result.release, result.rebuilt, result.first
    own = fingerprint.tools_and_commit()
    return {
        "name": name,
        "dataset": release.dataset,
        "version": release.version,
        "sample": release.sample,
        "partial": release.partial,
        "verdict": result.verdict,
        "content_sha256": {"release": release.content_sha256, "rebuilt": rebuilt and rebuilt.content_sha256},
        "same_recipe": result.same_recipe,
        "tables": [
            {
                "config": one.config, "split": one.split, "state": one.state, "before": one.before, "after": one.after,
                "added": one.added, "removed": one.removed, "changed": one.changed, "reordered": one.reordered,
                "columns": list(one.columns),
            }
            for one in result.changes
        ],
        "first_difference": first
        and {
            "config": first.config,
            "split": first.split,
            "row": first.position,
            "release": _few_columns(first.old),
            "rebuilt": _few_columns(first.new),
        },
        "differing_files": list(result.files),
        "documents": dict(result.documents),
        "tools": {"release": known_tools(release.tools), "here": own},
        "problems": [error_as_json(problem) for problem in result.problems],
        "install": how_to_install(release.tools, own) if result.needs_other_version else [],
    }  # fmt: skip


def page(name: str, result: Reproduction) -> list[str]:
    """A reproduction as lines of text. name: what the user calls the release."""
    release, rebuilt = result.release, result.rebuilt
    marks = [mark for mark in ("sample", "partial") if getattr(release, mark)]
    marked = f" ({', '.join(marks)})" if marks else ""
    lines = wrap(f"{_shown(release.dataset)} {release.version}{marked}: {result.verdict}")
    lines += wrap(name, "  release   ", break_words=False)
    rows = ", ".join(f"{location} {count:,}" for location, count in release.rows.items())
    lines += [*fact("rows", _shown(rows)), *fact("content", release.content_sha256)]
    if result.verdict == "rows differ" and rebuilt is not None:
        lines += fact("rebuilt", rebuilt.content_sha256)
    if result.same_recipe is False:
        lines += fact("recipe", "it changed since the release was built")
    if rebuilt is not None and result.verdict.startswith("rows") and result.verdict != "rows differ":
        lines += fact("files", _files(result))
    if others := [name for name, state in result.documents.items() if state != "equal"]:
        lines += fact("documents", f"not the same: {', '.join(others)} (only rows and data files are promised)")
    for problem in result.problems:
        lines += ["", *wrap(problem.what, "  ")]
        for label, text in problem.parts:
            lines += wrap(text, f"    {label:<10}", break_words=False) if text else []
    if result.changes:
        lines += ["", *changes_page(result.changes)]
    if result.first is not None:
        lines += ["", *_first_difference(result.first, shows_text=result.shows_text)]
    return [*lines, *_tools(result)]


def _shown(text: str) -> str:
    """A text of a manifest as it is shown: short, and without invisible characters."""
    return markdown.visible(str(markdown.shorten(text, SHOWN)))


def _files(result: Reproduction) -> str:
    assert result.rebuilt is not None
    count = len(result.rebuilt.files)
    several = f"{count} data file{'s' if count > 1 else ''}"
    if not result.files:
        return f"{several}, byte for byte"
    shown = ", ".join(_shown(path) for path in result.files[:5])
    more = f" and {len(result.files) - 5} more" if len(result.files) > 5 else ""
    return f"{len(result.files)} of {several} in other bytes: {shown}{more}"


def _first_difference(first: FirstDifference, *, shows_text: bool) -> list[str]:
    """The first row that differs: its columns that do, on both sides."""
    lines = wrap(f"the first row that differs: row {first.position + 1:,} of {first.config}/{first.split}")
    if not shows_text:
        return [*lines, *wrap(HIDDEN, "  ")]
    if first.old is None or first.new is None:
        side, row = ("release", first.old) if first.new is None else ("rebuilt", first.new)
        return [*lines, *_value(f"only {side}", _few_columns(row))]
    differing = [name for name, value in first.new.items() if name in first.old and first.old[name] != value]
    for column in differing[:SHOWN_COLUMNS]:
        lines += wrap(_shown(column), "  ")
        lines += [*_value("release", first.old[column]), *_value("rebuilt", first.new[column])]
    return lines


def _few_columns(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A row as it is shown: its first columns, with short values."""
    return None if row is None else markdown.shorten(dict(list(row.items())[:SHOWN_COLUMNS]), SHOWN)


def _value(label: str, value: Any) -> list[str]:
    return wrap(markdown.code(value, SHOWN).strip("`"), f"    {label}  ")


def _tools(result: Reproduction) -> list[str]:
    """The versions of both sides; what installs those of the release, where that could change the verdict."""
    own, theirs = fingerprint.tools_and_commit(), known_tools(result.release.tools)
    if own == theirs:
        return ["", *wrap("the same package and libraries made both")]
    rows = [["", "release", "here"]]
    rows += [[name, _short(theirs, name), _short(own, name)] for name in dict.fromkeys([*own, *theirs])]
    lines = ["", *table(rows).splitlines()]
    steps = how_to_install(result.release.tools, own) if result.needs_other_version else []
    if steps:
        lines += ["", *wrap("to build with what made the release, in a checkout of this package's repository:")]
        lines += [f"  {step}" for step in steps]
        if theirs.get(COMMIT_KEY, "").endswith("-dirty"):
            lines += wrap("its code had changes that were not committed, so that commit may give other rows", "  ")
    elif result.needs_other_version and not theirs:
        lines += ["", *wrap("the manifest does not say which version of the package made the release")]
    return lines


def _short(tools: Mapping[str, str], name: str) -> str:
    value = tools.get(name, "-")
    sha, _, mark = value.partition("-")
    return "-".join(filter(None, (sha[:12], mark))) if name == COMMIT_KEY and sha else value
