"""A dataset that failed, as `--json` prints it: the same keys for every command."""

from typing import Any

from builders.errors import DatasetError


def error_as_json(error: DatasetError) -> dict[str, Any]:
    """The parts of an error, null where it lacks one, and its exit code."""
    parts = {part: getattr(error, part) for part in ("what", "where", "found", "expected", "todo")}
    return {**parts, "exit_code": error.exit_code}


def failure_as_json(dataset: str, version: str | None, error: DatasetError) -> dict[str, Any]:
    """The object for a dataset that could not be built, checked or published. version: None where it has none."""
    return {"dataset": dataset, "version": version, "state": "failed", "error": error_as_json(error)}
