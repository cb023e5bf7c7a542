"""Releases whose manifest and files disagree: each disagreement is a problem or an error, never a traceback."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from builders.errors import ReleaseError
from cards.manifest import Manifest, Table
from pipelines.make import BuildResult
from pipelines.release.folder import verify_release

OTHER_TYPES = ("int64", "float64", "bool", "list<string>", "list<int64>")


def with_table(manifest: Manifest, table: Table) -> Manifest:
    return replace(manifest, tables=(table, *manifest.tables[1:]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *(({"type": other}, "another type of column than its manifest") for other in OTHER_TYPES),
        ({"name": "other"}, "cannot be read"),
    ],
    ids=[*OTHER_TYPES, "missing"],
)
def test_a_column_of_another_type_or_name_than_in_the_manifest_is_an_error(
    change: dict[str, Any], words: str, golden_release: Callable[..., BuildResult]
) -> None:
    release = golden_release("cedr-classification")
    table = release.manifest.tables[0]
    columns = tuple(replace(column, **change) if column.type == "string" else column for column in table.columns)
    manifest = with_table(release.manifest, replace(table, columns=columns))
    with pytest.raises(ReleaseError, match=words) as caught:
        verify_release(release.release_dir, manifest)
    assert str(caught.value.where).startswith(table.files[0].path)


def test_another_number_of_rows_than_in_the_manifest_is_a_problem(golden_release: Callable[..., BuildResult]) -> None:
    release = golden_release("cedr-classification")
    table = release.manifest.tables[0]
    manifest = with_table(release.manifest, replace(table, rows=table.rows + 1000))
    assert verify_release(release.release_dir, release.manifest) == []
    assert verify_release(release.release_dir, manifest) == [
        f"{table.location}: {table.rows} rows, {table.rows + 1000:,} in the manifest"
    ]
