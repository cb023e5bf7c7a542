"""Builds: a release is complete or absent, up to date or rebuilt, and never replaced silently."""

import errno
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.catalogue import Definition
from builders.errors import FindingsError, RecipeError, ReleaseError, SourceError, UsageError
from builders.spec import Dataset, RawFiles, Tables, Version
from cards.kinds import SAMPLE
from cards.manifest import encode
from pipelines.checking.checks import check_release
from pipelines.make import BuildResult, BuildSettings, make, plan_build
from pipelines.release import parquet, staging
from pipelines.release.folder import read_manifest
from tests.support.killed_builds import run_killed
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import as_full, definition_of, other_golden, sample_settings, tree

NAME = "terra-pairclassification"


def build(settings: BuildSettings, name: str = NAME) -> BuildResult:
    return make(definition_of(name), "1.0.0", settings)


def test_a_release_holds_only_data_manifest_and_documents(settings: BuildSettings) -> None:
    outcome = build(settings)
    assert outcome.release_dir == settings.output / NAME / "1.0.0"
    files = {"README.md", "manifest.json", "statistics.json", "croissant.json"}
    assert set(tree(outcome.release_dir)) == files | {"data", "data/dev-00000-of-00001.parquet"}
    assert sorted(path.name for path in settings.output.rglob("*") if path.name.startswith(".")) == []


def test_a_second_build_is_up_to_date_and_writes_nothing_unless_forced(settings: BuildSettings) -> None:
    first = build(settings)
    before = {path: path.stat().st_mtime_ns for path in first.release_dir.rglob("*")}
    assert build(settings).state == "up to date"
    assert {path: path.stat().st_mtime_ns for path in first.release_dir.rglob("*")} == before
    second = build(replace(settings, force=True))
    assert second.state == "built"
    assert second.manifest.content_sha256 == first.manifest.content_sha256


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("README.md", []),
        ("statistics.json", []),
        ("croissant.json", []),
        (
            "data/dev-00000-of-00001.parquet",
            ["README.md: load_dataset would fail: no files match the config 'default' (none for the split dev)"],
        ),
    ],
)
def test_a_missing_file_of_a_release_is_a_problem_and_a_build_writes_it_again(
    settings: BuildSettings, name: str, more: list[str]
) -> None:
    release_dir = build(settings).release_dir
    (release_dir / name).unlink()
    assert check_release(release_dir, language_sample=SAMPLE).report["problems"] == [f"{name} is missing", *more]
    assert build(settings).state == "built"
    assert not check_release(release_dir, language_sample=SAMPLE).report["problems"]


def test_changed_raw_files_cause_a_rebuild(settings: BuildSettings, tmp_path: Path) -> None:
    first = build(settings)
    second = build(replace(settings, golden=other_golden(tmp_path / "golden")))
    assert second.state == "built"
    assert second.manifest.content_sha256 != first.manifest.content_sha256


def with_recipe(name: str, recipe: Callable[..., Tables], version: str = "1.0.0") -> Definition:
    """Return a catalogue dataset with its recipe replaced."""
    dataset: Dataset = replace(definition_of(name).dataset, recipe=recipe, versions={version: Version("A test.")})
    return replace(definition_of(name), dataset=dataset)


def test_a_recipe_may_keep_rows_in_a_scratch_folder_that_is_not_in_the_release(settings: BuildSettings) -> None:
    original = definition_of(NAME).dataset.recipe

    def recipe(raw: RawFiles) -> Tables:
        assert list(raw.scratch.iterdir()) == []
        tables = original(raw)
        tables.frames["default"]["dev"].lazy().collect().write_parquet(raw.scratch / "dev.parquet")
        return replace(tables, frames={"default": {"dev": pl.scan_parquet(raw.scratch / "dev.parquet")}})

    outcome = make(with_recipe(NAME, recipe), "1.0.0", settings)
    assert outcome.manifest.content_sha256 == build(replace(settings, force=True)).manifest.content_sha256
    assert not [path for path in tree(outcome.release_dir) if path.endswith("dev.parquet")]


def test_a_version_never_gets_different_rows_without_force(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    first = build(full)
    before = tree(settings.output)
    changed = as_full(replace(full, golden=other_golden(tmp_path / "golden")), tmp_path, monkeypatch)
    with pytest.raises(ReleaseError, match=r"(?s)would get other rows than before.*default/dev: other rows.*--force"):
        build(changed)
    assert tree(settings.output) == before
    assert build(replace(changed, force=True)).manifest.content_sha256 != first.manifest.content_sha256


def test_the_ledger_protects_a_version_deleted_from_the_output_folder(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    outcome = build(full)
    assert outcome.notes == (f"{NAME}@1.0.0: content hash recorded in ledger.json: commit it",)
    entry = json.loads(settings.ledger.read_text())[NAME]["1.0.0"]
    assert entry["content_sha256"] == outcome.manifest.content_sha256
    shutil.rmtree(settings.output)
    changed = as_full(replace(full, golden=other_golden(tmp_path / "golden")), tmp_path, monkeypatch)
    with pytest.raises(ReleaseError, match=r"(?s)would get other rows.*ledger\.json"):
        build(changed)
    assert list(settings.output.iterdir()) == []


def test_an_installed_package_says_that_a_new_version_is_not_in_its_ledger(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.release.ledger.LEDGER", settings.ledger)
    monkeypatch.setattr("pipelines.release.ledger.is_checkout", lambda: False)
    full = as_full(settings, tmp_path, monkeypatch)
    [note] = build(full).notes
    assert note.endswith("content hash not recorded: the ledger changes only in a checkout of the repository")
    assert not settings.ledger.exists()
    monkeypatch.setattr("pipelines.release.ledger.is_checkout", lambda: True)
    build(replace(full, force=True))
    monkeypatch.setattr("pipelines.release.ledger.is_checkout", lambda: False)
    assert build(replace(full, force=True)).notes == (), "the version is in the ledger already"


def test_a_full_release_replaces_a_sample_which_is_in_no_ledger_and_is_never_replaced_by_one(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(settings)
    assert not settings.ledger.exists()
    full = as_full(settings, tmp_path, monkeypatch)
    assert build(full).state == "built"
    with pytest.raises(ReleaseError, match=r"(?s)a sample would replace the complete release.*--output"):
        build(settings)
    assert build(full).state == "up to date"


def test_a_build_with_a_limit_is_marked_as_sample_and_partial(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = build(replace(as_full(settings, tmp_path, monkeypatch), limit=4)).manifest
    assert (manifest.sample, manifest.partial) == (True, True)
    assert manifest.tables[0].rows == 4
    assert not settings.ledger.exists()


def test_a_build_from_another_file_than_the_pinned_one_is_a_sample_with_its_numbers_and_recorded_nowhere(
    settings: BuildSettings, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(ROOT / "tests" / "golden" / "geo_reviews" / "raw", raw / "geo_reviews")
    name, file = "georeview-classification", "geo-reviews-dataset-2023.tskv"
    real = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=raw, offline=True))
    with pytest.raises(SourceError, match="is not the pinned file"):
        build(real, name)
    unpinned = replace(real, raw=replace(real.raw, unpinned=(f"geo_reviews/{file}",)))
    outcome = build(unpinned, name)
    manifest = outcome.manifest
    assert (manifest.sample, manifest.partial, manifest.unpinned) == (True, False, (file,))
    assert manifest.recipe.options["train_per_class"] == 2, "10,000 of each class would be too many of a part"
    assert [entry.verified for entry in manifest.raw] == [False]
    assert outcome.notes == ()
    assert not settings.ledger.exists()
    assert not settings.raw.lock.exists()
    card = (outcome.release_dir / "README.md").read_text("utf-8")
    assert f"Built from `{file}`, not as published" in card
    assert f"build {name}@1.0.0 --unpinned geo_reviews/{file}\n" in card
    with pytest.raises(SourceError, match="--unpinned takes a file below --raw-dir"):
        build(replace(unpinned, raw=replace(unpinned.raw, raw_dir=None)), name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--raw-dir", ".", "--unpinned", "terra/val.json"], "found:    terra/val.json\n  expected: terra/val.jsonl"),
        (["--unpinned", "terra/val.jsonl"], "--unpinned takes a file below --raw-dir DIR"),
        (["--raw-dir", ".", "--unpinned", "terra/val.jsonl", "--push", "org"], "--push publishes whole datasets"),
    ],
)
def test_a_file_that_is_not_the_pinned_one_is_named_as_its_source_names_it(options: list[str], words: str) -> None:
    done = run("build", "terra", *options)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_build_of_some_splits_is_marked_as_partial_and_an_unknown_one_is_an_error(settings: BuildSettings) -> None:
    outcome = build(replace(settings, splits=("test",)), "cedr-classification")
    assert outcome.manifest.partial is True
    assert [table.split for table in outcome.manifest.tables] == ["test"]
    assert [file.name for file in outcome.manifest.raw] == ["main/test.jsonl"]
    assert "**Partial.** Without the split `train`" in (outcome.release_dir / "README.md").read_text("utf-8")
    with pytest.raises(UsageError, match="has no split 'tset'"):
        build(replace(settings, splits=("tset",)))


def test_a_blocking_defect_stops_the_build(settings: BuildSettings) -> None:
    frame = pl.DataFrame({"sentence1": ["a", None], "sentence2": ["b", "c"], "labels": [1, 0]})
    before = tree(settings.output)
    with pytest.raises(
        FindingsError, match=r"(?s)blocking defect.*null_text in default/dev\.sentence1: 1 \("
    ) as caught:
        make(with_recipe(NAME, lambda _: Tables({"default": {"dev": frame}})), "1.0.0", settings)
    assert caught.value.exit_code == 4
    assert tree(settings.output) == before


def test_missing_prose_is_an_error_before_the_build_starts(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cards"
    shutil.copytree(ROOT / "cards", folder)
    path = folder / "prose" / "terra.md"
    path.unlink()
    monkeypatch.setattr("cards.texts.CARDS", folder)

    def read(*_: object, **__: object) -> None:
        pytest.fail("a raw file was looked for")

    monkeypatch.setattr("pipelines.make.golden_input", read)
    for command in (make, plan_build):
        with pytest.raises(ReleaseError, match="no prose for the card") as caught:
            command(definition_of(NAME), "1.0.0", settings)
        assert caught.value.where == str(path)
        assert "docs/adding-a-dataset.md" in str(caught.value)
    assert not settings.output.exists()


def test_the_card_of_a_sample_says_that_its_prose_is_not_written_yet(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prose").mkdir()
    text = (ROOT / "cards" / "prose" / "terra.md").read_text("utf-8")
    (tmp_path / "prose" / "terra.md").write_text(text.split(f"# {NAME}")[0], "utf-8")
    monkeypatch.setattr("cards.texts.CARDS", tmp_path)
    built = make(definition_of(NAME), "1.0.0", settings)
    assert f"{NAME}: not finished: embedding-datasets new terra lists what is left to do" in built.notes
    assert "Not written yet." in (built.release_dir / "README.md").read_text("utf-8")


def test_a_missing_golden_file_is_an_error_that_knows_whether_this_is_a_checkout(
    settings: BuildSettings, tmp_path: Path
) -> None:
    (tmp_path / "golden").mkdir()
    with pytest.raises(SourceError, match="the golden sample of terra lacks a file") as caught:
        build(replace(settings, golden=tmp_path / "golden"))
    assert caught.value.where == str(tmp_path / "golden" / "terra" / "raw" / "val.jsonl")
    assert "leave out --sample" in str(caught.value.todo)
    with pytest.raises(
        SourceError, match=r"(?s)the golden samples of this package are missing.*run this in a checkout"
    ):
        build(replace(settings, golden=tmp_path / "nothing"))


@pytest.mark.parametrize("command", [["build", "terra", "--sample"], ["show", "terra"]], ids=lambda value: value[0])
def test_python_without_docstrings_is_refused_and_leaves_a_release_as_it_is(
    command: list[str], settings: BuildSettings
) -> None:
    card = (build(settings).release_dir / "README.md").read_bytes()
    process = subprocess.run(
        [sys.executable, "-OO", "-m", f"pipelines.{command[0]}", *command[1:], "--output", str(settings.output)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (2, "")
    assert "-OO removes the docstrings" in process.stderr
    assert "Traceback" not in process.stderr
    assert (settings.output / NAME / "1.0.0" / "README.md").read_bytes() == card


def test_a_failed_build_keeps_the_existing_release(settings: BuildSettings) -> None:
    build(settings)
    before = tree(settings.output)

    def fail(_: object) -> Tables:
        raise RecipeError("too few rows")

    with pytest.raises(RecipeError):
        make(with_recipe(NAME, fail), "1.0.0", replace(settings, force=True))
    assert tree(settings.output) == before


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EROFS, os.strerror(errno.EROFS)),
        pl.exceptions.ComputeError(f"parquet: underlying IO error: {os.strerror(errno.ENOSPC)} (os error 28)"),
    ],
    ids=["full", "read-only", "full, as polars says it"],
)
def test_a_disk_that_cannot_take_the_release_is_an_error_that_names_the_place(
    error: Exception, settings: BuildSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    build(settings)
    before = tree(settings.output)
    monkeypatch.setattr(parquet, "_open_writer", fail)
    with pytest.raises(ReleaseError, match="cannot be written") as caught:
        build(replace(settings, force=True))
    assert caught.value.where == str(settings.output / NAME)
    assert caught.value.found in str(error)
    assert tree(settings.output) == before


@pytest.mark.parametrize("exchange", [True, False])
def test_a_version_that_is_a_symbolic_link_is_rebuilt_where_it_leads_to(
    exchange: bool, settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(staging, "_exchange", lambda *_: False)
    first = build(settings)
    elsewhere = tmp_path / "elsewhere" / "1.0.0"
    elsewhere.parent.mkdir()
    first.release_dir.rename(elsewhere)
    first.release_dir.symlink_to(elsewhere)
    for _ in range(3):
        (elsewhere / "README.md").unlink()
        assert build(replace(settings, force=True)).state == "built"
        assert first.release_dir.readlink() == elsewhere
        assert (elsewhere / "README.md").is_file()
        assert list(elsewhere.parent.iterdir()) == [elsewhere]
        assert list(first.release_dir.parent.iterdir()) == [first.release_dir]


def test_a_link_that_an_older_build_left_in_the_way_is_removed(settings: BuildSettings, tmp_path: Path) -> None:
    release_dir = build(settings).release_dir
    release_dir.with_name(".1.0.0.new").symlink_to(tmp_path)
    build(replace(settings, force=True))
    assert list(release_dir.parent.iterdir()) == [release_dir]
    assert tmp_path.is_dir()


def test_a_folder_without_a_release_is_never_replaced(settings: BuildSettings) -> None:
    release_dir = settings.output / NAME / "1.0.0"
    release_dir.mkdir(parents=True)
    (release_dir / "notes.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="not a release directory"):
        build(replace(settings, force=True))
    assert (release_dir / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["README.md", "statistics.json", "croissant.json"])
def test_check_finds_an_edited_document_and_a_build_writes_it_again(name: str, settings: BuildSettings) -> None:
    release_dir = build(settings).release_dir
    written = (release_dir / name).read_bytes()
    (release_dir / name).write_bytes(written + b"\n")
    report = check_release(release_dir, language_sample=SAMPLE).report
    [problem] = report["problems"]
    assert problem.startswith(f"{name} was edited after the build: {len(written) + 1:,} bytes, sha256 ")
    assert report["verdict"]["state"] == "damaged"
    assert report["tables"][0]["rows"], "the rows are audited all the same"
    assert report["findings"]
    assert build(settings).state == "built"
    assert (release_dir / name).read_bytes() == written


def test_a_release_without_digests_of_its_documents_is_not_called_edited(settings: BuildSettings) -> None:
    outcome = build(settings)
    old = encode(replace(outcome.manifest, documents=()))
    assert b'"documents"' not in old
    (outcome.release_dir / "manifest.json").write_bytes(old)
    (outcome.release_dir / "README.md").write_text("An old card.")
    assert check_release(outcome.release_dir, language_sample=SAMPLE).report["problems"] == []
    assert build(settings).state == "up to date"


def test_a_release_from_before_croissant_passes_and_the_next_build_adds_it(settings: BuildSettings) -> None:
    outcome = build(settings)
    written = (outcome.release_dir / "croissant.json").read_bytes()
    documents = tuple(document for document in outcome.manifest.documents if document.path != "croissant.json")
    old = replace(outcome.manifest, documents=documents, report_sha256="0" * 64)  # other code made its report
    (outcome.release_dir / "manifest.json").write_bytes(encode(old))
    (outcome.release_dir / "croissant.json").unlink()
    assert check_release(outcome.release_dir, language_sample=SAMPLE).report["problems"] == []
    again = build(settings)
    assert again.state == "built"
    assert again.manifest.content_sha256 == outcome.manifest.content_sha256
    assert (outcome.release_dir / "croissant.json").read_bytes() == written


@pytest.mark.parametrize(
    ("every", "exchange"),
    [
        pytest.param(9, True, id="atomic exchange, every ninth step"),
        pytest.param(1, True, id="atomic exchange", marks=pytest.mark.slow),
        pytest.param(1, False, id="two renames", marks=pytest.mark.slow),
    ],
)
def test_a_build_killed_at_any_step_leaves_the_old_release_or_the_new_one(
    every: int, tmp_path: Path, *, exchange: bool
) -> None:
    settings = sample_settings(tmp_path)
    old = build(settings).manifest.content_sha256
    golden = other_golden(tmp_path / "golden")
    job = {"golden": str(golden), "old": str(settings.output), "most": 400, "exchange": exchange, "every": every}
    folders = run_killed(tmp_path, NAME, **job)[:-1]
    assert len(folders) * every > 20
    hashes = []
    for folder in folders:
        output = folder / "outputs"
        release_dir = output / NAME / "1.0.0"
        if (
            not exchange and not release_dir.exists()
        ):  # killed between the two renames: the next command finishes the move
            staging.recover_release(release_dir)
        report = check_release(release_dir, language_sample=SAMPLE).report
        assert report["problems"] == [], f"killed at step {folder.name}"
        hashes.append(report["content_sha256"])
        rebuilt = build(replace(settings, output=output, golden=golden, force=False))
        assert rebuilt.manifest.content_sha256 != old
        assert {path.name for path in (output / NAME).iterdir()} == {"1.0.0"}, f"leftovers of step {folder.name}"
    new = rebuilt.manifest.content_sha256
    assert set(hashes) == {old, new}
    assert hashes == sorted(hashes, key=[old, new].index), (
        "after the exchange, every later kill should leave the new release"
    )


def test_a_concurrent_build_of_the_same_dataset_waits_and_logs_it(
    settings: BuildSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with staging.dataset_lock(settings.output, NAME):
        thread = threading.Thread(target=make, args=(definition_of(NAME), "1.0.0", settings))
        thread.start()
        thread.join(0.7)
        assert thread.is_alive()
        assert not (settings.output / NAME).exists()
    thread.join(60)
    assert caplog.messages == [f"{NAME}: waiting for another command that is writing it"]
    assert not check_release(settings.output / NAME / "1.0.0", language_sample=SAMPLE).report["problems"]


def test_the_rows_of_findings_are_written_whether_the_release_is_built_up_to_date_or_refused(
    settings: BuildSettings, tmp_path: Path
) -> None:
    wanted = replace(settings, findings=tmp_path / "rows")
    assert make(definition_of("cedr-classification"), "1.0.0", wanted).state == "built"
    folder = tmp_path / "rows" / "cedr-classification-1.0.0"
    built = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.parquet")}
    assert "duplicate_text/default-train.parquet" in {path.as_posix() for path in built}
    shutil.rmtree(folder)
    assert make(definition_of("cedr-classification"), "1.0.0", wanted).state == "up to date"
    assert {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.parquet")} == built
    frame = pl.DataFrame({"sentence1": ["a", None], "sentence2": ["b", "c"], "labels": [1, 0]})
    with pytest.raises(FindingsError):
        make(with_recipe(NAME, lambda _: Tables({"default": {"dev": frame}})), "1.0.0", wanted)
    refused = pl.read_parquet(tmp_path / "rows" / f"{NAME}-1.0.0" / "null_text" / "default-dev.parquet")
    assert refused["sentence2"].to_list() == ["c"]


def test_the_manifest_has_the_documented_keys(settings: BuildSettings) -> None:
    outcome = build(settings)
    manifest = json.loads((outcome.release_dir / "manifest.json").read_bytes())
    assert {
        "dataset", "version", "source", "task", "content_sha256", "tables", "raw", "recipe", "dropped", "findings", "sample",
        "partial", "tools", "built_at",
    } <= set(manifest)  # fmt: skip
    [table] = manifest["tables"]
    assert {"config", "split", "rows", "columns", "content_sha256", "files"} <= set(table)
    assert {"path", "bytes", "sha256"} <= set(table["files"][0])
    assert {"name", "url", "sha256", "bytes"} <= set(manifest["raw"][0])
    assert {"module", "options", "sha256"} <= set(manifest["recipe"])
    assert manifest["documents"] == [
        {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name in ("README.md", "statistics.json", "croissant.json")
        for content in [(outcome.release_dir / name).read_bytes()]
    ]
    assert read_manifest(outcome.release_dir) == outcome.manifest


def test_concurrent_builds_of_one_dataset_all_succeed(tmp_path: Path) -> None:
    arguments = [
        sys.executable,
        "-m",
        "pipelines.build",
        NAME,
        "--sample",
        "--force",
        "--output",
        str(tmp_path / "outputs"),
    ]
    processes = [
        subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = [(process.communicate()[1], process.returncode) for process in processes]
    assert [code for _, code in results] == [0, 0], results
    assert not check_release(tmp_path / "outputs" / NAME / "1.0.0", language_sample=SAMPLE).report["problems"]
    assert {path.name for path in (tmp_path / "outputs").iterdir()} == {NAME}
