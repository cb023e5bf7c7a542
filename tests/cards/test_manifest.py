"""Manifests: older ones are read, what was written reads back, and a broken one is an error that says where."""

import contextlib
import copy
import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import ReleaseError
from builders.limits import MAX_MANIFEST
from builders.spec import ConfigPrompts, Dropped, Prompts
from cards import manifest as manifests
from cards.manifest import FORMAT, decode, encode, schema
from pipelines.make import BuildResult
from tests.support.paths import ROOT

SUPPORT = ROOT / "tests" / "support"
# Written by commit 518e603, the last without a `format`, for golden samples: TERRa and alphaNLI as retrieval.
OLD = {
    "PairClassification": (SUPPORT / "manifest_518e603.json").read_bytes(),
    "Retrieval": (SUPPORT / "manifest_518e603_retrieval.json").read_bytes(),
}
VALUES: dict[str, Any] = json.loads(OLD["PairClassification"])
SCHEMA = ROOT / "docs" / "manifest.schema.json"

JsonPath = tuple[str | int, ...]  # keys and indices, from the top


def with_value(path: JsonPath, value: Any) -> dict[str, Any]:
    """The values of the TERRa manifest with one of them replaced."""
    changed = copy.deepcopy(VALUES)
    _parent(changed, path)[path[-1]] = value
    return changed


def without_key(path: JsonPath) -> dict[str, Any]:
    changed = copy.deepcopy(VALUES)
    del _parent(changed, path)[path[-1]]
    return changed


def with_json(path: JsonPath, text: bytes) -> bytes:
    """The TERRa manifest with one value replaced by JSON that Python would not write."""
    return json.dumps(with_value(path, "@")).encode().replace(b'"@"', text)


def _parent(values: Any, path: JsonPath) -> Any:
    for key in path[:-1]:
        values = values[key]
    return values


def error_of(data: bytes | dict[str, Any]) -> ReleaseError:
    """The error for a broken manifest, after checking that it names the file and what to do."""
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(ReleaseError) as caught:
        decode(data, "here/manifest.json")
    assert caught.value.where == "here/manifest.json"
    assert caught.value.found
    assert caught.value.todo
    return caught.value


@pytest.mark.parametrize("task_type", OLD)
def test_a_manifest_from_before_there_was_a_format_is_read_as_format_1(task_type: str) -> None:
    manifest = decode(OLD[task_type], "manifest.json")
    values = json.loads(OLD[task_type])
    assert "format" not in values
    assert (manifest.format, manifest.task, manifest.name) == (1, task_type, f"{values['dataset']}@1.0.0")
    assert manifest.rows == {f"{table['config']}/{table['split']}": table["rows"] for table in values["tables"]}
    assert [file.path for file in manifest.files] == [
        file["path"] for table in values["tables"] for file in table["files"]
    ]
    assert manifest.findings
    assert [finding.count for finding in manifest.findings] == [finding["count"] for finding in values["findings"]]


@pytest.mark.parametrize("task_type", OLD)
def test_an_old_manifest_is_written_back_with_the_same_keys_and_values_and_its_format(task_type: str) -> None:
    written = encode(decode(OLD[task_type], "manifest.json"))
    assert json.loads(written) == {"format": 1} | json.loads(OLD[task_type])
    assert list(json.loads(written)) == ["format", *json.loads(OLD[task_type])]


def test_the_manifest_of_a_build_reads_back_and_is_written_back_byte_for_byte(
    golden_release: Callable[[str], BuildResult],
) -> None:
    for name in ("terra-pairclassification", "cedr-classification", "rubq-reranking"):
        result = golden_release(name)
        data = (result.release_dir / "manifest.json").read_bytes()
        assert decode(data, name) == result.manifest
        assert encode(result.manifest) == data
        assert result.manifest.format == FORMAT


@pytest.mark.parametrize("path", ["data/README.md", "../README.md", "..", "", "a:b", "a\\b", "README.md\n"])
def test_a_document_outside_the_folder_of_the_release_is_an_error(path: str) -> None:
    document = {"path": path, "bytes": 1, "sha256": "0" * 64}
    error = error_of(VALUES | {"documents": [document]})
    assert "$.documents[0].path" in str(error.found)


def test_unknown_keys_are_ignored() -> None:
    values = VALUES | {"scores": {"e5": [0.5]}}
    values["tables"] = [table | {"more": None} for table in VALUES["tables"]]
    assert decode(json.dumps(values).encode(), "") == decode(OLD["PairClassification"], "")


@pytest.mark.parametrize(
    ("path", "value", "location"),
    [
        (("sample",), "no", "$.sample"),
        (("splits",), "dev", "$.splits"),
        (("limit",), 1.5, "$.limit"),
        (("observed",), {"rows": "3"}, "$.observed[...]"),
        (("prompts",), {"instruction": None}, "$.prompts.instruction"),
        (("recipe", "options"), [], "$.recipe.options"),
        (("raw", 0, "url"), 3, "$.raw[0].url"),
        (("tables", 0, "rows"), "14", "$.tables[0].rows"),
        (("tables", 0, "rows"), 14.5, "$.tables[0].rows"),
        (("tables", 0, "rows"), True, "$.tables[0].rows"),
        (("tables", 0, "rows"), -1, "$.tables[0].rows"),
        (("tables", 0, "rows"), 2**63, "$.tables[0].rows"),
        (("findings", 0, "count"), -1, "$.findings[0].count"),
        (("tables", 0, "files", 0, "bytes"), -1, "$.tables[0].files[0].bytes"),
        (("tables", 0, "files", 0), None, "$.tables[0].files[0]"),
        (("tables", 0, "columns", 0, "type"), "int8", "$.tables[0].columns[0].type"),
        (("tables", 0, "columns", 0, "type"), ["string"], "$.tables[0].columns[0].type"),
        (("findings", 0, "severity"), "fatal", "$.findings[0].severity"),
        (("findings", 0, "examples"), [1], "$.findings[0].examples[0]"),
        (("content_sha256",), "abc", "$.content_sha256"),
        (("content_sha256",), "a" * 64 + "\n", "$.content_sha256"),
        (("format",), "1", "$.format"),
        *(
            (("version",), version, "$.version")
            for version in ("1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0\n", "1.0.0/..", "1.0.١", "", 1)
        ),
    ],
)
def test_a_value_of_another_type_or_range_is_an_error_with_its_json_path(
    path: JsonPath, value: Any, location: str
) -> None:
    assert str(error_of(with_value(path, value)).found).endswith(f"at `{location}`")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (("task",), None),
        (("tables",), None),
        (("tables", 0, "rows"), "$.tables[0]"),
        (("tables", 0, "files", 0, "sha256"), "$.tables[0].files[0]"),
        (("findings", 0, "kind"), "$.findings[0]"),
        (("recipe", "module"), "$.recipe"),
    ],
)
def test_a_missing_key_is_an_error_with_the_json_path_of_its_record(path: JsonPath, location: str | None) -> None:
    found = str(error_of(without_key(path)).found)
    assert f"missing required field `{path[-1]}`" in found
    assert found.endswith(f"at `{location}`") == (location is not None)


@pytest.mark.parametrize(
    "path",
    [
        "../x", "/x", "x", "", "a/b/c", "a/../b", "a/..", "./x", "a/.", "a//b", "a/", "C:\\x", "C:/x", "a\\b", "a/b\\..\\c",
        "a\0/b", "a/b\0", "a/b\n", "a\n/b", "a/..\n",
    ],
)  # fmt: skip
def test_a_data_file_outside_the_folders_of_the_release_is_an_error(path: str) -> None:
    error = error_of(with_value(("tables", 0, "files", 0, "path"), path))
    assert str(error.found).endswith("at `$.tables[0].files[0].path`")


@pytest.mark.parametrize("number", [FORMAT + 1, 10**30])
def test_a_later_format_is_an_error_that_asks_for_an_update(number: int) -> None:
    for data in (with_value(("format",), number), {"format": number}):
        error = error_of(data)
        assert error.what == "a later version of this package wrote the manifest"
        assert error.found == f"format {number}"
        assert error.todo == "update this package"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        OLD["Retrieval"][:-3],
        OLD["Retrieval"] + b"}",
        b"not JSON",
        b"[]",
        b"null",
        b'"manifest"',
        b'{"dataset": "\xff"}',
        b"\xef\xbb\xbf" + OLD["Retrieval"],
        OLD["Retrieval"].decode().encode("utf-16"),
        json.dumps({**VALUES, "dataset": "\ud800"}).encode(),
        with_json(("dataset",), b'"\xed\xa0\x80"'),
        json.dumps(with_value(("recipe", "options"), {"\ud800": 1})).encode(),
        with_json(("findings", 0, "share"), b"NaN"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        with_json(("unknown",), b"[" * 100_000 + b"]" * 100_000),
        with_json(("recipe", "options"), b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        with_json(("tables",), b"[" * 100_000 + b"]" * 100_000),
    ],
    ids=[
        "empty", "truncated", "truncated late", "trailing characters", "text", "array", "null", "string", "not UTF-8", "BOM",
        "UTF-16", "lone surrogate", "encoded surrogate", "surrogate in a key", "NaN", "nested arrays", "nested objects",
        "nested unknown value", "nested options", "nested tables",
    ],
)  # fmt: skip
def test_anything_but_a_json_object_that_can_be_read_is_an_error(data: bytes) -> None:
    assert error_of(data).what == "invalid manifest"


@pytest.mark.parametrize("location", ["tables[0].rows", "recipe.options", "limit", "format"])
def test_an_integer_of_6000_digits_is_an_error_with_its_json_path(location: str) -> None:
    path = tuple(int(key) if key.isdigit() else key for key in re.findall(r"\w+", location))
    assert str(error_of(with_json(path, b"1" * 6000)).found).endswith(f"at `$.{location}`")


def all_paths(values: Any, path: JsonPath = ()) -> list[JsonPath]:
    items = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return [path, *(inner for key, value in items for inner in all_paths(value, (*path, key)))]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(all_paths(VALUES)[1:]), JSON_VALUES)
def test_a_manifest_with_any_other_value_is_read_or_is_an_error(path: JsonPath, value: Any) -> None:
    data = json.dumps(with_value(path, value)).encode("utf-8", "surrogatepass")
    try:
        manifest = decode(data, "")
    except ReleaseError:
        return
    assert decode(encode(manifest), "") == manifest


@given(st.integers(0, len(OLD["Retrieval"]) - 1), st.binary(min_size=1, max_size=3))
def test_a_manifest_with_any_damaged_bytes_is_read_or_is_an_error(offset: int, damage: bytes) -> None:
    data = OLD["Retrieval"]
    with contextlib.suppress(ReleaseError):
        decode(data[:offset] + damage + data[offset + len(damage) :], "")


def test_an_error_quotes_only_the_end_of_a_long_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "LONGEST_REASON", 10)
    assert error_of(with_value(("sample",), "no")).found == "...`$.sample`"


def test_a_manifest_that_is_too_large_is_an_error() -> None:
    error = error_of(OLD["Retrieval"] + b" " * MAX_MANIFEST)
    assert error.found == "more than 67,108,864 bytes"


def test_two_tables_of_one_config_and_split_are_an_error() -> None:
    assert error_of(with_value(("tables",), VALUES["tables"] * 2)).found == "two tables of one config and split"


def test_the_schema_in_the_documentation_is_generated_from_the_records() -> None:
    generated = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    assert SCHEMA.read_text("utf-8") == generated, "run: python -m cards.manifest > docs/manifest.schema.json"


RECORDS: dict[str, Any] = {
    name: getattr(manifests, name)
    for name in ("Manifest", "Table", "Document", "Column", "File", "RawEntry", "Recipe", "Finding")
} | {"Prompts": Prompts, "ConfigPrompts": ConfigPrompts, "Dropped": Dropped}


def test_the_schema_has_the_fields_of_each_record_and_requires_those_without_a_default() -> None:
    defined, missing = schema()["$defs"], dataclasses.MISSING
    assert defined.keys() == RECORDS.keys()
    for name, record in RECORDS.items():
        fields = dataclasses.fields(record)
        assert set(defined[name]["properties"]) == {field.name for field in fields}
        assert set(defined[name]["required"]) == {
            field.name for field in fields if field.default is missing and field.default_factory is missing
        }


def violations(value: Any, rules: dict[str, Any], path: str = "$") -> list[str]:
    """Where a value violates a JSON Schema, for the keywords that the schema of manifests uses."""
    if "$ref" in rules:
        rules = schema()["$defs"][rules["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in rules:
        return [] if any(not violations(value, one, path) for one in rules["anyOf"]) else [path]
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    if "type" in rules:
        expected = types[rules["type"]] if rules["type"] != "null" else type(None)
        if not isinstance(value, expected) or (isinstance(value, bool) and rules["type"] != "boolean"):
            return [path]
    found = [] if value in rules.get("enum", [value]) else [path]
    if isinstance(value, str) and "pattern" in rules and not re.search(rules["pattern"], value):
        found.append(path)
    if isinstance(value, int | float) and value < rules.get("minimum", value):
        found.append(path)
    if isinstance(value, dict):
        found += [f"{path}.{key}" for key in rules.get("required", []) if key not in value]
        properties, others = rules.get("properties", {}), rules.get("additionalProperties", {})
        for key, one in value.items():
            found += violations(one, properties.get(key, others), f"{path}.{key}")
    if isinstance(value, list):
        found += [
            each for index, one in enumerate(value) for each in violations(one, rules["items"], f"{path}[{index}]")
        ]
    return found


def test_manifests_agree_with_the_schema_and_broken_ones_do_not(golden_release: Callable[[str], BuildResult]) -> None:
    release_dir = golden_release("rubq-reranking").release_dir
    for data in (*OLD.values(), (release_dir / "manifest.json").read_bytes()):
        assert violations(json.loads(data), schema()) == []
    for path, value, location in (
        (("tables", 0, "rows"), -1, "$.tables[0].rows"),
        (("tables", 0, "files", 0, "path"), "../x", "$.tables[0].files[0].path"),
        (("tables", 0, "columns", 0, "type"), "int8", "$.tables[0].columns[0].type"),
        (("findings", 0, "severity"), None, "$.findings[0].severity"),
        (("version",), "1", "$.version"),
    ):
        assert violations(with_value(path, value), schema()) == [location]
    assert violations(without_key(("tables", 0, "rows")), schema()) == ["$.tables[0].rows"]
