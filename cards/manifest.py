"""The manifest of a release: what it is made of, as frozen records, read and validated in one place.

`manifest.json` is to programs what the card is to people, and the card is rendered from it; that is why the records are defined
here and not in pipelines, which writes and reads the files. A manifest may come from the Hub: until `decode` has validated it, it
is data, and its paths are not followed.

docs/manifest.schema.json is generated from these records (cards.manifest).
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from inspect import cleandoc
from typing import Annotated, Any, Literal, get_args

import msgspec

from builders import limits
from builders.errors import ReleaseError
from builders.spec import VERSION, Dropped, Prompts
from builders.tasks import ColumnType

FORMAT = 2  # 1: manifests from before there was a `format`; they hold all that is read today

LONGEST_REASON = 500  # characters: what msgspec says quotes keys of the file
END = r"$(?!\n)"  # in Python, `$` alone also matches before a final newline
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Sha256 = Annotated[str, msgspec.Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
# A file in a folder of the release, under this name on every system: nothing that leaves the release's folder.
DataPath = Annotated[str, msgspec.Meta(pattern=r"^(?!\.\.?/)[^/\\:\x00-\x1f]+/(?!\.\.?$)[^/\\:\x00-\x1f]+" + END)]
# A file in the folder of the release itself.
DocumentName = Annotated[str, msgspec.Meta(pattern=r"^(?!\.\.?$)[^/\\:\x00-\x1f]+" + END)]
VersionNumber = Annotated[str, msgspec.Meta(pattern=f"^{VERSION.pattern}{END}".replace(r"\d", "[0-9]"))]
Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # the worst first
# What msgspec raises for bytes that are not the JSON that was asked for; RecursionError where they are nested too deeply.
INVALID_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: ColumnType


@dataclass(frozen=True)
class File:
    """A data file of a release: POSIX path below its folder, size in bytes, sha256 in hex."""

    path: DataPath
    bytes: Count
    sha256: Sha256


@dataclass(frozen=True)
class Document:
    """A file that describes a release, such as `README.md`: its name, size in bytes, sha256 in hex."""

    path: DocumentName
    bytes: Count
    sha256: Sha256


@dataclass(frozen=True)
class Table:
    """A table, one config and split. num_bytes: the size of its values (texts in UTF-8, numbers in 8 bytes)."""

    config: str
    split: str
    rows: Count
    columns: tuple[Column, ...]
    content_sha256: Sha256
    num_bytes: Count
    files: tuple[File, ...]

    @property
    def location(self) -> str:
        """What messages call it: `corpus/test`."""
        return f"{self.config}/{self.split}"


def tables_by_config(tables: Iterable[Table]) -> dict[str, dict[str, Table]]:
    """Tables by config and split, in their order."""
    configs: dict[str, dict[str, Table]] = {}
    for table in tables:
        configs.setdefault(table.config, {})[table.split] = table
    return configs


@dataclass(frozen=True)
class RawEntry:
    """A raw file as the build read it. verified: whether its digest was known before. url: None for a file fetched by hand."""

    name: str
    url: str | None
    sha256: Sha256
    bytes: Count
    verified: bool


@dataclass(frozen=True)
class Recipe:
    """The recipe of a release. sha256: over the builder and every module of builders/ that it imports."""

    module: str
    options: dict[str, Any]
    sha256: Sha256


# The kinds that count labels, each with words in the detail of a finding that does; two count rows or pairs elsewhere.
OF_LABELS = {
    "few_rows_of_label": "",
    "label_imbalance": "",
    "label_leaking_column": "",
    "label_by_length": ": of two texts ",
    "label_by_token": " of its texts",
}


@dataclass(frozen=True)
class Finding:
    """A problem of the data.

    kind: one of cards.kinds. severity: `error` (no release is written), `warning` or `info`. config, split, column:
    where; empty for all. count: rows concerned. share: of the rows examined, 0 to 1. examples: up to five row names. detail: what
    tells it from other findings of its kind. why: why it stays, where a maintainer declared that (KnownFinding). texts_checked:
    of how many texts the count is, where not every text was checked; null, or missing in the file, where all were. twins: for
    each example, the row that makes it a finding, as `<split>: <name>`; empty where a row is a finding by itself. by_design:
    whether the design of the dataset implies it, as `why` says; such a finding is for information.
    """

    kind: str
    severity: Severity
    config: str
    split: str
    column: str
    count: Count
    share: float
    examples: tuple[str, ...] = ()
    detail: str = ""
    why: str = ""
    texts_checked: int | None = None
    twins: tuple[str, ...] = ()
    by_design: bool = False

    @property
    def count_text(self) -> str:
        """The count as it is shown: `1,234`, `2 of 1,741 looked at` where not every text was checked, `1 of 6 labels`."""
        if self.counts_labels:
            return f"{self.count:,} of {round(self.count / self.share):,} labels"
        return f"{self.count:,}" + (f" of {self.texts_checked:,} looked at" if self.texts_checked is not None else "")

    @property
    def counts_labels(self) -> bool:
        """Whether it counts labels, not rows or texts."""
        return self.kind in OF_LABELS and OF_LABELS[self.kind] in self.detail and self.share > 0

    @property
    def location(self) -> str:
        """What messages call it: `default/test.text`."""
        table = "/".join(part for part in (self.config, self.split) if part)
        return f"{table}.{self.column}" if self.column else table


# What the rows and the card of a release follow from: known before the build, equal where there is nothing to build.
IDENTITY = (
    "dataset", "version", "source", "task", "splits", "sample", "partial", "limit", "unpinned", "raw", "recipe",
    "report_sha256", "prompts",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that is known of a release. Of one that is not built yet, only the fields of IDENTITY say anything.

    content_sha256: identity of all rows (pipelines.release.content_hash). documents: card, statistics, croissant.json and
    scores.json; some lack the last two, the oldest all. limit: the number of raw records read of each file, None for all.
    unpinned: raw files that the command line took in place of the pinned ones. report_sha256: over what gives the same rows
    another card. observed: numbers that the recipe counted. tools, built_at: versions of libraries and the time (ISO 8601, UTC),
    outside every hash.
    """

    format: int = 1
    dataset: str
    version: VersionNumber
    source: str
    task: str
    content_sha256: Sha256
    tables: tuple[Table, ...]
    documents: tuple[Document, ...] = ()
    splits: tuple[str, ...]
    sample: bool
    partial: bool
    limit: int | None = None
    unpinned: tuple[str, ...] = ()
    raw: tuple[RawEntry, ...]
    recipe: Recipe
    report_sha256: str = ""
    prompts: Prompts | None = None
    dropped: tuple[Dropped, ...]
    observed: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...]
    tools: dict[str, str] = field(default_factory=dict)
    built_at: str = ""

    @property
    def name(self) -> str:
        """The dataset and its version, as on the command line: `rubq-retrieval@1.0.0`."""
        return f"{self.dataset}@{self.version}"

    @property
    def complete(self) -> bool:
        """Whether it is the whole dataset, neither a sample nor a part."""
        return not (self.sample or self.partial)

    @property
    def made_up(self) -> bool:
        """Whether its texts are those of a golden sample, which this project made up: no licence of the source holds for them."""
        return self.sample and self.limit is None and not self.unpinned

    @property
    def files(self) -> tuple[File, ...]:
        """The data files of all tables."""
        return tuple(file for table in self.tables for file in table.files)

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each table, by its location."""
        return {table.location: table.rows for table in self.tables}


def decode(data: bytes, where: str) -> Manifest:
    """A manifest from the bytes of a manifest.json; keys that are not known are ignored.

    where: the file or repository, for the error.

    Raises ReleaseError for more bytes than limits.MAX_MANIFEST, for invalid JSON, for a manifest of a later format, for two
    tables of one config and split, and, with the path of the first value that is wrong (`$.tables[0].rows`), for anything else.
    """
    if len(data) > limits.MAX_MANIFEST:
        raise _invalid(where, f"more than {limits.MAX_MANIFEST:,} bytes")
    try:
        written = msgspec.json.decode(data, type=_Format).format
        if written <= FORMAT:
            manifest = msgspec.json.decode(data, type=Manifest)
            if len(manifest.rows) < len(manifest.tables):
                raise _invalid(where, "two tables of one config and split")
            return manifest
    except INVALID_JSON as error:
        raise _invalid(where, str(error)) from None
    raise ReleaseError(
        "a later version of this package wrote the manifest",
        where=where,
        found=f"format {written}",
        expected=f"format {FORMAT} or lower",
        todo="update this package",
    )


def _invalid(where: str, found: str) -> ReleaseError:
    return ReleaseError(
        "invalid manifest",
        where=where,
        found=found if len(found) <= LONGEST_REASON else f"...{found[-LONGEST_REASON:]}",  # a path ends in what matters
        expected="a manifest of this package (docs/manifest.schema.json)",
        todo="build the release again, or fetch it again",
    )


def encode(manifest: Manifest) -> bytes:
    """The bytes of a manifest.json: indented, UTF-8, keys in the order of the records, with a final newline.

    `documents`, `unpinned`, `configs` of the prompts, and `texts_checked`, `twins` and `by_design` of a finding, are left out
    where there are none: older manifests do not have them.
    """
    values = asdict(manifest)
    for key in ("documents", "unpinned"):
        if not values[key]:
            del values[key]
    if manifest.prompts and not manifest.prompts.configs:
        del values["prompts"]["configs"]
    for finding in values["findings"]:
        if finding["texts_checked"] is None:
            del finding["texts_checked"]
        for name in ("twins", "by_design"):
            if not finding[name]:
                del finding[name]
    return msgspec.json.format(msgspec.json.encode(values), indent=2) + b"\n"


def options_as_read(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a recipe as a manifest gives them back: tuples become lists."""
    return dict(msgspec.to_builtins(options))


@dataclass(frozen=True)
class _Format:
    format: int = 1


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    return describe_record(Manifest, "manifest.json of a release")


def describe_record(record: type, title: str) -> dict[str, Any]:
    """The JSON Schema of a file that holds a record, with the docstrings as descriptions."""
    generated = msgspec.json.schema(record)
    for definition in generated["$defs"].values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | generated


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
