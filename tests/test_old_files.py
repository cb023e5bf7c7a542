"""What version 0.2.0 wrote is still read: tests/golden/old, made at commit 540a361 from golden samples."""

import json
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import embedding_datasets
from cards import manifest as manifests
from cards.evidence import decode_rebuild
from pipelines.build_report.entries import new_entries
from pipelines.build_report.records import read_report
from pipelines.raw.locations import GOLDEN
from pipelines.release import fingerprint, writing
from tests.support.processes import run

OLD = GOLDEN / "old"
TERRA, DINO = "terra-pairclassification/1.0.0", "dino-sts-contrastive/1.0.0"
OF_TERRA = "data/dev-00000-of-00001.parquet"


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A copy of the old releases."""
    shutil.copytree(OLD / "outputs", tmp_path / "outputs")
    return tmp_path / "outputs"


def test_a_release_is_checked_loaded_and_compared(outputs: Path) -> None:
    for name in (TERRA, DINO):
        checked = run("check", str(outputs / name))
        assert (checked.returncode, checked.stderr) == (0, "")
        assert checked.stdout.splitlines()[0].startswith(name.replace("/", " "))
    verdict = embedding_datasets.check(outputs / TERRA).verdict
    assert verdict.summary == "2 warnings: traces of a table read wrongly (5)", "which 0.2.0 did not look for"
    run("build", "terra", "--sample", "--output", str(outputs.parent / "new"))
    compared = run("diff", str(outputs / TERRA), str(outputs.parent / "new" / TERRA))
    assert (compared.returncode, compared.stdout.splitlines()[0]) == (0, "the same rows")


def test_an_untouched_release_keeps_its_data_files_and_gets_a_new_card_and_manifest(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: manifests.decode((outputs / name / "manifest.json").read_bytes(), name) for name in (TERRA, DINO)}
    inode = (outputs / TERRA / OF_TERRA).stat().st_ino
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_run_recipe", lambda *_: pytest.fail("the recipe was run"))
        built = run("build", "terra", "dino-sts-contrastive@1.0.0", "--sample", "--output", str(outputs))
    assert built.returncode == 0, built.stderr
    assert "terra-pairclassification@1.0.0: rows unchanged, card and manifest rewritten" in built.stderr
    assert (outputs / TERRA / OF_TERRA).stat().st_ino == inode
    for name, old in before.items():
        new = manifests.decode((outputs / name / "manifest.json").read_bytes(), name)
        assert (new.content_sha256, new.tables, new.dropped) == (old.content_sha256, old.tables, old.dropped)
        kinds, old_kinds = ({finding.kind for finding in manifest.findings} for manifest in (new, old))
        assert kinds == old_kinds | ({"csv_residue"} if name == TERRA else set()), "which 0.2.0 did not look for"
        assert new.recipe.sha256 == fingerprint.recipe_sha256(new.recipe.module) != old.recipe.sha256
        assert run("check", str(outputs / name)).returncode == 0
    assert "query_in_benchmark_test" in {finding.kind for finding in before[DINO].findings}, (
        "a finding of a recipe stays"
    )
    again = run("build", "terra", "--sample", "--output", str(outputs))
    assert "up to date" in again.stdout + again.stderr


def test_a_release_whose_rows_were_changed_is_built_from_its_raw_files(outputs: Path) -> None:
    path = outputs / TERRA / OF_TERRA
    right = path.read_bytes()
    path.write_bytes(right[:40] + bytes([right[40] ^ 1]) + right[41:])
    built = run("build", "terra", "--sample", "--output", str(outputs))
    assert built.returncode == 0, built.stderr
    assert "card and manifest rewritten" not in built.stderr
    assert path.read_bytes() == right


def test_an_index_finds_its_texts_and_is_written_again_with_the_same_columns(outputs: Path, tmp_path: Path) -> None:
    texts = pl.read_parquet(OLD / "outputs" / TERRA / OF_TERRA)["sentence1"].to_list()
    lines = [
        json.dumps({"text": text}, ensure_ascii=False)
        for text in (*texts[:5], "Текст, которого нет ни в одном наборе.")
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    scanned = run(
        "contamination", "scan", str(tmp_path / "corpus.jsonl"), "--index", str(OLD / "terra.index"),
        "--cache", str(tmp_path / "cache"), "--releases", str(outputs), "--matches", str(tmp_path / "matches.parquet"),
    )  # fmt: skip
    assert scanned.returncode == 0, scanned.stderr
    matches = pl.read_parquet(tmp_path / "matches.parquet")
    assert set(matches["corpus_row"]) == {0, 1, 2, 3, 4}
    indexed = run(
        "contamination", "index", "terra", "--releases", str(outputs), "--output", str(tmp_path / "new.index")
    )
    assert indexed.returncode == 0, indexed.stderr
    new, old = (
        pq.read_table(path).replace_schema_metadata(None) for path in (tmp_path / "new.index", OLD / "terra.index")
    )
    assert new.select(old.column_names).equals(old)


def test_a_build_resumes_from_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {"python": "3.11.7", "polars": "2.1.0", "pyarrow": "26.0.1", "orjson": "3.13.0", "numpy": "2.4.6"}
    monkeypatch.setattr(fingerprint, "tools", lambda: {"embedding-datasets": "0.3.0", **tools})
    shutil.copytree(OLD / "checkpoints", tmp_path / "cache" / "checkpoints")
    options = ("--sample", "--output", str(tmp_path / "outputs"), "--cache", str(tmp_path / "cache"))
    built = run("build", "miracl-reranking-ru", *options, "--verbose")
    assert built.returncode == 0, built.stderr
    assert "miracl-reranking-ru: resuming from the checkpoints in" in built.stderr


def test_a_report_brings_its_version_into_the_ledger(tmp_path: Path) -> None:
    report = read_report(OLD / "build-report.json")
    assert report is not None
    found = new_entries(report, None, tmp_path / "raw.lock.json", tmp_path / "ledger.json")
    assert found.left_out == ()
    assert found.ledger["terra-pairclassification", "1.0.0"].content_sha256.startswith("a406e76cef4fbdb5")


def test_an_export_is_replaced_by_the_same_files(outputs: Path, tmp_path: Path) -> None:
    shutil.copytree(OLD / "export", tmp_path / "export")
    written = run(
        "export",
        "dino_sts",
        "--as",
        "sentence-transformers",
        "--to",
        str(tmp_path / "export"),
        "--releases",
        str(outputs),
    )
    assert written.returncode == 0, written.stderr
    old, new = (
        pl.read_parquet(folder / "data" / "dino-sts.parquet") for folder in (OLD / "export", tmp_path / "export")
    )
    assert old.equals(new)


def test_a_statement_is_read() -> None:
    rebuild = decode_rebuild((OLD / "statement.json").read_bytes(), "statement.json")
    assert (rebuild.dataset, rebuild.version, rebuild.by) == ("terra-pairclassification", "1.0.0", "maintainers")
