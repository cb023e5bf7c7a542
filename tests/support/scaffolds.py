"""Run in a copy of the packages: begin many datasets with `new`, build their samples, and print all as JSON."""

import contextlib
import io
import json
import sys

from builders import catalogue
from pipelines import build, new
from pipelines.scaffold import checkout
from pipelines.scaffold.dataset_gaps import find_gaps


def run(main: object, *arguments: str) -> str:
    """What a command prints; its exit code must be 0."""
    sys.argv = ["embedding-datasets", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main() == 0, printed.getvalue()  # type: ignore[operator]
    return printed.getvalue()


if __name__ == "__main__":
    jobs: dict[str, list[str]] = json.loads(sys.argv[1])
    for name, arguments in jobs.items():
        run(new.main, name, *arguments)
    catalogue.entries.cache_clear()  # which `new` has read before the builders were written
    built = run(build.main, *jobs, "--sample", "--json")
    entries = checkout.read_entries().values()
    gaps = {name: find_gaps([entry for entry in entries if entry.source == name], build=False) for name in jobs}
    print(json.dumps({"built": built, "gaps": {name: [(gap.level, gap.what) for gap in gaps[name]] for name in gaps}}))
