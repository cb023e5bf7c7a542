"""Golden samples and the releases built from them."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders import catalogue
from builders.catalogue import Definition
from builders.published import published_files
from builders.spec import AS_PUBLISHED, Version, published_key
from pipelines.make import GOLDEN, BuildSettings
from pipelines.raw.settings import RawSettings
from tests.support.tables import Tables

NAMES = list(catalogue.entries())


def definition_of(name: str) -> Definition:
    """Load the definition of a dataset from the catalogue."""
    return catalogue.load(catalogue.entries()[name])


FIRST_OF_EACH_TASK_TYPE = list({definition_of(name).dataset.task.type.name: name for name in reversed(NAMES)}.values())


def with_published_version(definition: Definition, digest: str | None) -> Definition:
    """The same dataset with a version of the published rows, which waits for `decide` where the digest of its keys is None."""
    name, source = definition.dataset.name, definition.source
    versions = {AS_PUBLISHED: Version("As published."), **definition.dataset.versions}
    files = {**source.files, published_key(name): replace(published_files(name)[published_key(name)], sha256=digest)}
    dataset = replace(definition.dataset, versions=versions)
    return replace(definition, dataset=dataset, source=replace(source, files=files))


def sample_settings(folder: Path) -> BuildSettings:
    """Build settings for golden samples, with all output in `folder`."""
    raw = RawSettings(cache=folder / "cache", offline=True, lock=folder / "raw.lock.json")
    return BuildSettings(folder / "outputs", raw, sample=True, ledger=folder / "ledger.json", golden=GOLDEN)


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file and folder below `folder`, including hidden ones, with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"<folder>"
        for path in sorted(folder.rglob("*"))
    }


def other_golden(folder: Path, source: str = "terra") -> Path:
    """Copy the golden sample of a source; in the sample of TERRa, change one text."""
    shutil.copytree(GOLDEN / source / "raw", folder / source / "raw")
    if source == "terra":
        path = folder / "terra" / "raw" / "val.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        record = json.loads(lines[0])
        record["hypothesis"] = "Совсем другая гипотеза."
        path.write_bytes(json.dumps(record, ensure_ascii=False).encode() + b"\n" + b"".join(lines[1:]))
    return folder


def as_full(settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildSettings:
    """Return settings under which the golden sample of TERRa passes for complete, verified raw files in a --raw-dir."""
    from builders.rumteb import terra

    raw = tmp_path / "raw" / "terra" / "val.jsonl"
    raw.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(settings.golden / "terra" / "raw" / "val.jsonl", raw)
    data = raw.read_bytes()
    pinned = replace(terra.SOURCE.files["val"], sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    monkeypatch.setattr(terra, "SOURCE", replace(terra.SOURCE, files=terra.SOURCE.files | {"val": pinned}))
    dataset = terra.pair_classification  # the known findings of the real files do not apply to the golden sample
    versions = {number: replace(version, known=()) for number, version in dataset.versions.items()}
    monkeypatch.setattr(terra, "pair_classification", replace(dataset, versions=versions))
    return replace(settings, sample=False, raw=replace(settings.raw, raw_dir=tmp_path / "raw"))


def write_dataset(folder: Path, tables: Tables) -> Path:
    """Write the tables to a folder as `datasets` does, without a card."""
    for config, splits in tables.items():
        for split, frame in splits.items():
            path = folder / ("data" if config == "default" else config) / f"{split}-00000-of-00001.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            frame.write_parquet(path)
    return folder
