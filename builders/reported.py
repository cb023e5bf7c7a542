"""Rows that a recipe reports as a finding, because the rows alone do not tell."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Reported:
    """Rows of a table, by their ids, that follow from a raw file: whether an index of benchmarks has their texts, for example.

    kind, config, split, column, detail: of the finding (pipelines.audit.kinds).
    """

    kind: str
    config: str
    split: str
    column: str
    ids: tuple[str, ...]
    detail: str = ""
