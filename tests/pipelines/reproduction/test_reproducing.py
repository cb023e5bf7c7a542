"""A release is built again from the catalogue's own recipe and compared: rows, bytes, and what is missing."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import DatasetError, ReleaseError, SourceError, UsageError
from cards.manifest import Dropped, Manifest, Recipe
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.raw.settings import RawSettings
from pipelines.release import folder
from pipelines.release.statements import verification
from pipelines.reproduction import clean_process, reproducing
from pipelines.reproduction.clean_process import Job
from pipelines.reproduction.reproducing import EXIT_CODES, Reproduction, reproduce, require_sound
from tests.support.altered_releases import copy_release, recompress, with_manifest, with_rows
from tests.support.faulty_server import FaultyServer
from tests.support.releases import as_full, definition_of, tree

TERRA, CEDR = "terra-pairclassification", "cedr-classification"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def raw(tmp_path: Path) -> RawSettings:
    return RawSettings(cache=tmp_path / "cache", offline=True, lock=tmp_path / "raw.lock.json")


@pytest.fixture
def terra(golden_release: Callable[..., BuildResult], tmp_path: Path) -> Path:
    """A copy of the golden release of TERRa."""
    return copy_release(golden_release(TERRA).release_dir, tmp_path / "release")


def again(release_dir: Path, raw: RawSettings, **options: Any) -> Reproduction:
    """Reproduce a release in this process."""
    return reproduce(release_dir, require_sound(release_dir), raw, **{"build": clean_process.build} | options)


def never(_: Job) -> None:
    pytest.fail("a build has begun")


def shown(result: Reproduction) -> str:
    return " ".join(" ".join(reproducing.page("release", result)).split())


def test_an_untouched_release_has_equal_rows_and_bytes_and_nothing_stays_behind(terra: Path, raw: RawSettings) -> None:
    before = tree(terra)
    result = again(terra, raw)
    assert result.verdict == "rows and bytes equal"
    assert EXIT_CODES[result.verdict] == 0
    assert result.same_recipe
    assert set(result.documents.values()) == {"equal"}
    assert "1 data file, byte for byte" in shown(result)
    assert tree(terra) == before
    assert [path for path in raw.cache.rglob("*") if path.is_file()] == []


def test_other_bytes_of_the_same_rows_are_a_reproduction_with_the_versions_of_both_sides(
    terra: Path, raw: RawSettings
) -> None:
    manifest = folder.require_manifest(recompress(terra))
    with_manifest(terra, tools=manifest.tools | {"polars": "2.0.99"})
    result = again(terra, raw)
    assert result.verdict == "rows equal, bytes not"
    assert EXIT_CODES[result.verdict] == 0
    assert result.files == ("data/dev-00000-of-00001.parquet",)
    assert "polars 2.0.99" in shown(result)
    assert reproducing.to_json("release", result)["tools"]["release"]["polars"] == "2.0.99"


FORGED: dict[str, Callable[[Manifest], dict[str, Any]]] = {  # each value of it, by the field
    "findings": lambda manifest: {"findings": ()},
    "dropped": lambda manifest: {"dropped": (Dropped("an invention", 3, "dev"),)},
    "raw": lambda manifest: {
        "raw": (replace(manifest.raw[0], url="https://example.org/other.jsonl"), *manifest.raw[1:])
    },
    "observed": lambda manifest: {"observed": manifest.observed | {"rows in all": 1}},
    "recipe": lambda manifest: {"recipe": replace(manifest.recipe, options={"clean": True})},
}


@pytest.mark.parametrize("field", [*FORGED])
def test_a_forged_manifest_of_true_rows_is_said(field: str, terra: Path, raw: RawSettings) -> None:
    manifest = folder.require_manifest(terra)
    changes = FORGED[field](manifest)
    assert changes[field] != getattr(manifest, field)
    with_manifest(terra, **changes)
    result = again(terra, raw)
    assert (result.verdict, result.claims, result.unchecked) == ("manifest differs", (field,), ())
    assert EXIT_CODES[result.verdict] == 1
    assert f"says other things than the rebuilt release: {field}" in shown(result)
    assert reproducing.to_json("release", result)["manifest"] == {"differing": [field], "not_compared": []}
    assert result.rebuilt is not None
    rebuild = (result.rebuilt, result.verdict)
    statement = verification(terra, result.release, rebuild, "", datetime(2026, 1, 2, tzinfo=UTC))
    assert (statement["predicate"]["verificationResult"], statement["predicate"]["verifiedLevels"]) == (
        "FAILED",
        ["FAILED"],
    )


def test_what_another_auditor_may_find_is_not_compared_and_named(terra: Path, raw: RawSettings) -> None:
    with_manifest(terra, findings=(), report_sha256="0" * 64)
    result = again(terra, raw)
    assert (result.verdict, result.claims, result.unchecked) == ("rows and bytes equal", (), ("findings",))
    assert "not compared, because recipe or auditor changed: findings" in shown(result)


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01T00:00:00+00:00", "\x1b[31m"])
def test_a_time_that_is_none_is_an_error(time: str, terra: Path) -> None:
    with_manifest(terra, built_at=time)
    with pytest.raises(ReleaseError, match="does not say when the release was built") as error:
        require_sound(terra)
    assert "\x1b" not in str(error.value)


def test_a_changed_row_is_found_and_both_sides_are_shown(terra: Path, raw: RawSettings) -> None:
    changed = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("Other\x1b[31m words")).otherwise(pl.col("sentence1"))
    result = again(with_rows(terra, lambda frame: frame.with_columns(sentence1=changed)), raw)
    assert result.verdict == "rows differ"
    assert EXIT_CODES[result.verdict] == 1
    assert result.first is not None
    assert (result.first.split, result.first.position) == ("dev", 3)
    [change] = result.changes
    assert (change.before, change.after, change.changed) == (14, 14, 1)
    text = "\n".join(reproducing.page("release", result))
    assert "row 4 of default/dev" in text
    assert "Other\\u001b[31m words" in text
    assert str(result.first.new and result.first.new["sentence1"])[:20] in text
    assert reproducing.to_json("release", result)["first_difference"]["row"] == 3


def test_a_missing_last_row_is_a_difference_too(terra: Path, raw: RawSettings) -> None:
    result = again(with_rows(terra, lambda frame: frame.head(-1)), raw)
    assert result.verdict == "rows differ"
    assert result.first is not None
    assert (result.first.position, result.first.old) == (13, None)
    assert "only rebuilt" in shown(result)


def test_a_row_of_many_columns_and_long_texts_is_shown_in_part(terra: Path, raw: RawSettings) -> None:
    columns = {f"column{number}": pl.lit("x" * 10_000) for number in range(50)}
    with_rows(terra, lambda frame: pl.concat([frame, frame.tail(1)]).with_columns(**columns))
    result = again(terra, raw)
    assert result.first is not None
    assert result.first.new is None
    assert len(shown(result)) < 20_000
    assert len(json.dumps(reproducing.to_json("release", result)["first_difference"])) < 10_000


def test_a_missing_column_is_named(terra: Path, raw: RawSettings) -> None:
    result = again(with_rows(terra, lambda frame: frame.drop("sentence2")), raw)
    assert result.verdict == "rows differ"
    assert result.first is None
    assert "columns +sentence2 (string)" in shown(result)


def test_the_texts_of_a_licence_without_derivatives_are_not_shown(
    golden_release: Callable[..., BuildResult], raw: RawSettings, tmp_path: Path
) -> None:
    name = "ria-news-retrieval"
    release_dir = copy_release(golden_release(name).release_dir, tmp_path / "release")
    result = again(with_rows(release_dir, lambda frame: frame.with_columns(text=pl.lit("secret")), 0), raw)
    assert result.verdict == "rows differ"
    assert result.first is not None
    assert result.first.old is None
    assert "the licence permits no derivatives" in shown(result)
    assert "secret" not in json.dumps(reproducing.to_json("release", result))


def test_another_recipe_that_gives_the_same_rows_is_a_reproduction(terra: Path, raw: RawSettings) -> None:
    with_manifest(terra, recipe=Recipe("os", {"system": "rm"}, "0" * 64))
    result = again(terra, raw)
    assert result.verdict == "rows and bytes equal"
    assert result.same_recipe is False
    assert "it changed since the release was built" in shown(result)


def test_other_rows_of_another_recipe_come_with_how_to_install_the_one_that_made_them(
    terra: Path, raw: RawSettings
) -> None:
    with_rows(terra, lambda frame: frame.reverse())
    recipe = Recipe("builders.rumteb.terra", {}, "0" * 64)
    with_manifest(terra, recipe=recipe, tools={"embedding-datasets": "0.1.0", "commit": COMMIT, "numpy": "1; rm -r"})
    result = again(terra, raw)
    assert result.verdict == "rows differ"
    steps = reproducing.to_json("release", result)["install"]
    assert steps[0] == f"git worktree add ../embedding-datasets-{COMMIT[:12]} {COMMIT}"
    assert "rm -r" not in shown(result)


def test_a_commit_that_is_not_hexadecimal_gets_into_no_command(terra: Path, raw: RawSettings) -> None:
    with_manifest(terra, version="9.9.9", tools={"commit": "$(reboot)", "embedding-datasets": "0.1 --index-url x"})
    result = again(terra, raw, build=never)
    assert reproducing.to_json("release", result)["install"] == []
    assert "the manifest does not say which version" in shown(result)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"dataset": "no-such-dataset"}, "no such dataset"),
        ({"dataset": "../../escape"}, "no such dataset"),
        ({"version": "9.9.9"}, "no such version of terra-pairclassification"),
        ({"splits": ("train",)}, "other splits of terra-pairclassification"),
        ({"limit": 2**40}, "no build has such a limit"),
    ],
    ids=["dataset", "path", "version", "split", "limit"],
)
def test_what_the_catalogue_does_not_have_cannot_be_said_and_the_commit_that_had_it_is_named(
    changes: dict[str, Any], what: str, terra: Path, raw: RawSettings
) -> None:
    with_manifest(terra, tools={"embedding-datasets": "0.9.0", "commit": COMMIT}, **changes)
    result = again(terra, raw, build=never)
    assert result.verdict == "cannot say"
    assert EXIT_CODES[result.verdict] == 3
    assert what in result.problems[0].what
    assert f"git worktree add ../embedding-datasets-{COMMIT[:12]} {COMMIT}" in shown(result)


def test_a_golden_file_of_another_digest_is_named_with_both_digests(terra: Path, raw: RawSettings) -> None:
    [entry] = folder.require_manifest(terra).raw
    with_manifest(terra, raw=(replace(entry, sha256="f" * 64),))
    result = again(terra, raw, build=never)
    assert result.verdict == "cannot say"
    [problem] = result.problems
    assert problem.what.startswith("terra/val.jsonl is not the file")
    assert problem.found == f"sha256 {entry.sha256}"
    assert "f" * 64 in str(problem.expected)


def test_a_manifest_with_other_digests_than_the_catalogue_pins_needs_the_version_that_made_it(
    golden_release: Callable[..., BuildResult], raw: RawSettings, tmp_path: Path
) -> None:
    release_dir = copy_release(golden_release(CEDR).release_dir, tmp_path / "release", sample=False)
    result = again(release_dir, raw, build=never)
    assert result.verdict == "cannot say"
    assert result.needs_other_version
    pinned = definition_of(CEDR).source.files["train"].sha256
    assert [problem.what for problem in result.problems] == [
        f"cedr/main/{name}.jsonl is not the file that the release was built from" for name in ("train", "test")
    ]
    assert result.problems[0].found == f"sha256 {pinned}"


def test_every_missing_raw_file_is_named_with_its_digest_and_where_to_put_it(
    golden_release: Callable[..., BuildResult], raw: RawSettings, tmp_path: Path
) -> None:
    release_dir = copy_release(golden_release(CEDR).release_dir, tmp_path / "release", sample=False)
    files = definition_of(CEDR).source.files
    entries = folder.require_manifest(release_dir).raw
    pins = {file.name: file.sha256 for file in files.values()}
    with_manifest(release_dir, raw=tuple(replace(entry, sha256=pins[entry.name]) for entry in entries))
    result = again(release_dir, raw, build=never)
    assert result.verdict == "cannot say"
    [problem] = result.problems  # both are in one archive
    assert problem.what == "cedr/main.zip not found, and --offline is set"
    for name in ("train", "test"):
        assert f"cedr/main/{name}.jsonl with sha256 {pins[f'main/{name}.jsonl']}" in str(problem.expected)
    assert str(raw.cache) in str(problem.todo)
    assert reproducing.to_json("release", result)["install"] == [], "another version of the package would not help"


def test_the_addresses_and_names_of_a_manifest_are_neither_asked_nor_opened(terra: Path, raw: RawSettings) -> None:
    with FaultyServer({}) as server:
        [entry] = folder.require_manifest(terra).raw
        stranger = replace(entry, name="../../../etc/passwd", url=f"{server.url}/val.jsonl")
        with_manifest(terra, raw=(replace(entry, url=f"{server.url}/val.jsonl"), stranger))
        result = again(terra, replace(raw, offline=False))
        assert (result.verdict, result.claims) == ("manifest differs", ("raw",))
        assert server.log == []


def test_other_rows_of_other_raw_files_say_nothing_about_a_release(terra: Path, raw: RawSettings) -> None:
    [entry] = folder.require_manifest(terra).raw
    with_rows(terra, lambda frame: frame.reverse())
    with_manifest(terra, raw=(entry, replace(entry, name="more.jsonl")))
    result = again(terra, raw)
    assert result.verdict == "cannot say"
    assert "other raw files" in result.problems[0].what
    assert result.problems[0].found == "more.jsonl"


def flip_last_byte(release_dir: Path) -> None:
    path = release_dir / "data" / "dev-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def truncate(release_dir: Path) -> None:
    path = release_dir / "data" / "dev-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:100])
    [table] = folder.require_manifest(release_dir).tables
    from pipelines.release.parquet import describe_file

    with_manifest(release_dir, tables=(replace(table, files=(describe_file(path, release_dir),)),))


def claim_another_hash(release_dir: Path) -> None:
    with_manifest(release_dir, content_sha256="0" * 64)


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (flip_last_byte, "dev-00000-of-00001.parquet has changed"),
        (truncate, "dev-00000-of-00001.parquet"),
        (claim_another_hash, "content_sha256 is not that of the tables"),
    ],
    ids=["a byte of a file", "a truncated file", "the manifest"],
)
def test_a_release_that_contradicts_its_own_manifest_is_an_error(
    damage: Callable[[Path], None], found: str, terra: Path
) -> None:
    damage(terra)
    with pytest.raises(ReleaseError, match="the release is damaged") as caught:
        require_sound(terra)
    assert found in str(caught.value.found)
    assert caught.value.exit_code == 1


def test_an_interrupted_build_leaves_nothing_behind(terra: Path, raw: RawSettings) -> None:
    def interrupt(job: Job) -> None:
        Path(job.folder, "half").write_text("half", "utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(terra, raw, build=interrupt)
    assert [path for path in raw.cache.rglob("*") if path.is_file()] == []


def test_what_a_killed_command_left_is_removed_by_the_next(terra: Path, raw: RawSettings) -> None:
    leftover = raw.cache / "reproductions" / f"{TERRA}-1.0.0-killed" / "lock"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    assert again(terra, raw).verdict == "rows and bytes equal"
    assert not leftover.parent.exists()


def test_a_build_that_fails_cannot_say_and_quotes_the_error(terra: Path, raw: RawSettings) -> None:
    def fail(_: Job) -> None:
        raise DatasetError("no rows of class 3", where="terra/val.jsonl")

    result = again(terra, raw, build=fail)
    assert result.verdict == "cannot say"
    assert "the build failed: no rows of class 3" in shown(result)


def test_real_raw_files_are_found_by_digest_and_the_build_sees_only_links_to_them(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    release_dir = make(definition_of(TERRA), "1.0.0", full).release_dir
    seen: list[list[str]] = []

    def build(job: Job) -> None:
        links = [path for path in Path(job.folder, "raw").rglob("*") if path.is_symlink()]
        seen.append([path.relative_to(job.folder).as_posix() for path in links])
        clean_process.build(job)

    assert again(release_dir, full.raw, build=build).verdict == "rows and bytes equal"
    assert seen == [["raw/terra/val.jsonl"]]
    raw_file = tmp_path / "raw" / "terra" / "val.jsonl"
    raw_file.write_bytes(raw_file.read_bytes() + b"\n")
    flipped = again(release_dir, full.raw, build=never)
    assert flipped.verdict == "cannot say"
    assert isinstance(flipped.problems[0], SourceError)
    assert str(raw_file) in shown(flipped)


def test_a_source_whose_file_was_pinned_anew_is_not_downloaded(
    settings: BuildSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_full(settings, tmp_path, monkeypatch)
    release_dir = make(definition_of(TERRA), "1.0.0", full).release_dir
    from builders.rumteb import terra as builder

    pinned = replace(builder.SOURCE.files["val"], sha256="a" * 64)
    monkeypatch.setattr(builder, "SOURCE", replace(builder.SOURCE, files={"val": pinned}))
    result = again(release_dir, replace(full.raw, raw_dir=None, offline=False), build=never)
    assert result.verdict == "cannot say"
    assert result.problems[0].found == f"sha256 {'a' * 64}"
    assert "version of the package" in str(result.problems[0].todo)


def test_a_raw_dir_that_does_not_exist_is_a_usage_error(
    golden_release: Callable[..., BuildResult], raw: RawSettings, tmp_path: Path
) -> None:
    release_dir = copy_release(golden_release(TERRA).release_dir, tmp_path / "release", sample=False, raw=())
    with pytest.raises(UsageError, match="raw files does not exist"):
        again(release_dir, replace(raw, raw_dir=tmp_path / "nowhere"), build=never)
