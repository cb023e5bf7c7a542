"""python -m pipelines.diff A B : what differs between two releases, on disk or on the Hub."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from builders.errors import ReleaseError
from pipelines import command
from pipelines.check import resolve_release
from pipelines.release import comparison
from pipelines.release.verification import verify_release

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  python -m pipelines.diff outputs/cedr-classification/1.0.0 outputs/cedr-classification/2.0.0
  python -m pipelines.diff ORG/cedr-classification@v1.0.0 ORG/cedr-classification@v2.0.0
  python -m pipelines.diff ORG/cedr-classification@v1.0.0 outputs/cedr-classification   what was published, and what is here

0 means the same rows, 1 other rows (or, with an error on stderr, a release that cannot be read)."""


def main() -> int:
    """Compare the two releases that the command line names; returns 0 for the same rows, 1 for others."""
    options = _parse()
    result = diff(options.a, options.b)
    print(
        json.dumps(result, ensure_ascii=False, default=asdict) if options.json else "\n".join(_page(result)), flush=True
    )
    return 0 if result["same"] else 1


def diff(old: str, new: str) -> dict[str, Any]:
    """What differs between two releases.

    Returns same (whether their rows are), a and b (name, dataset, version, content_sha256), tables (see compare.Change), figures
    (statistics and others that differ, as [a, b]) and equal_figures (how many do not).

    Raises UsageError, SourceError or ReleaseError where one cannot be had, and ReleaseError where its rows are not those of
    its manifest.
    """
    places, heads = [], []
    for name in (old, new):
        place = resolve_release(name)
        manifest = comparison.manifest_of(place)
        problems = verify_release(place, manifest)
        if problems:
            raise ReleaseError(
                "the release is damaged", where=name, found=problems[0], todo=f"remove {place}, get it anew"
            )
        places.append(place)
        heads.append({"name": name, **{key: manifest[key] for key in ("dataset", "version", "content_sha256")}})
    figures, equal = comparison.compare_figures(*places)
    return {
        "same": heads[0]["content_sha256"] == heads[1]["content_sha256"],
        "a": heads[0],
        "b": heads[1],
        "tables": comparison.compare_tables(*places),
        "figures": figures,
        "equal_figures": equal,
    }


def _parse() -> argparse.Namespace:
    arguments = command.parser("diff", "Say what differs between two releases: rows, statistics, findings.", EXAMPLES)
    kinds = "a release, a folder of releases of one dataset (the newest), or one on the Hub"
    for name in ("a", "b"):
        arguments.add_argument(name, metavar=name.upper(), help=f"PATH or ORG/NAME@TAG: {kinds}")
    arguments.add_argument("--json", action="store_true", help="one JSON object on stdout, for programs")
    return arguments.parse_args()


def _page(result: dict[str, Any]) -> list[str]:
    a, b = result["a"], result["b"]
    lines = ["the same rows" if result["same"] else "other rows"]
    lines += [
        f"  {label}  {one['dataset']} {one['version']}  {one['content_sha256'][:16]}  {one['name']}"
        for label, one in (("A", a), ("B", b))
    ]
    lines += ["", *comparison.page(result["tables"])]
    equal = f"{result['equal_figures']} figures are equal"
    if result["figures"]:
        rows = [[name, *(_figure(value) for value in pair)] for name, pair in result["figures"].items()]
        lines += ["", *command.table([["figure", "A", "B"], *rows]).splitlines(), f"({equal})"]
    else:
        lines += ["", f"statistics, options, findings: all {equal}"]
    return lines


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-" if value is None else str(value)[:60]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


if __name__ == "__main__":
    command.run(main)
