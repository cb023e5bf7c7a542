"""A card says who built a release again; what is recorded agrees with the ledger. What a card says of the texts that other
datasets have too.
"""

import base64
import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from builders.errors import ReleaseError
from cards.evidence import FOLDER, Comparison, Evidence, SharedTexts, decode_rebuild, describe_comparison, read_rebuilds
from cards.render import render
from pipelines.make import BuildResult
from pipelines.release.ledger import read_ledger
from tests.support.paths import ROOT
from tests.support.releases import definition_of

ROWS, OTHER = "a" * 64, "b" * 64
RECORDED = sorted(FOLDER.glob("*/*.json"))


def statement(**changes: Any) -> bytes:
    values = {
        "dataset": "toy", "version": "1.0.0", "content_sha256": ROWS, "rebuilt_content_sha256": ROWS,
        "verdict": "rows and bytes equal", "by": "Ann", "date": "2026-01-31", "raw": {"toy/a": OTHER}, "tools": {},
    } | changes  # fmt: skip
    return json.dumps({"predicate": {"embedding_datasets_reproduction": values}}).encode()


def record(folder: Path, name: str, content: bytes) -> None:
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / f"toy-1.0.0-{name}.json").write_bytes(content)


def names(folder: Path) -> list[tuple[str, str]]:
    return [(rebuild.by, rebuild.date) for rebuild in read_rebuilds("toy", "toy", "1.0.0", ROWS, folder)]


SIGNED = json.dumps({"payload": base64.b64encode(statement()).decode(), "payloadType": "x", "signatures": []}).encode()


@pytest.mark.parametrize(
    ("statements", "listed"),
    [
        (
            [statement(by="Bob", date="2026-03-01"), statement(date="2026-02-01"), statement(date="2026-01-01")],
            [("Ann", "2026-02-01"), ("Bob", "2026-03-01")],
        ),
        ([SIGNED], [("Ann", "2026-01-31")]),
        ([statement(content_sha256=OTHER, rebuilt_content_sha256=OTHER)], []),
        ([statement(rebuilt_content_sha256=OTHER)], []),
        ([statement(dataset="other")], []),
        ([statement(version="2.0.0")], []),
    ],
    ids=[
        "by date, each once with the latest",
        "signed",
        "other rows",
        "not reproduced",
        "another dataset",
        "another version",
    ],
)
def test_the_rebuilders_of_a_release_are_listed(
    statements: list[bytes], listed: list[tuple[str, str]], tmp_path: Path
) -> None:
    for number, content in enumerate(statements):
        record(tmp_path, str(number), content)
    assert names(tmp_path) == listed


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"payload": "!"}',
        b'{"payload": 1}',
        statement(by=""),
        statement(date="today"),
        statement(by="x" * 101),
    ],
    ids=["empty", "list", "no base64", "number", "no name", "no date", "long name"],
)
def test_anything_but_a_statement_is_an_error_that_names_the_file(content: bytes, tmp_path: Path) -> None:
    record(tmp_path, "x", content)
    with pytest.raises(ReleaseError, match="not the statement of a rebuild") as caught:
        names(tmp_path)
    assert caught.value.where is not None
    assert caught.value.where.endswith("toy-1.0.0-x.json")


def test_a_card_names_who_built_the_release_again(
    golden_release: Callable[..., BuildResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = golden_release("terra-pairclassification")
    manifest, evidence = result.manifest, Evidence()
    values = {"content_sha256": manifest.content_sha256, "rebuilt_content_sha256": manifest.content_sha256}
    (tmp_path / "terra").mkdir()
    content = statement(dataset=manifest.dataset, by="Ann | <Lab>", **values)
    (tmp_path / "terra" / f"{manifest.dataset}-1.0.0-x.json").write_bytes(content)

    def card() -> str:
        statistics = json.loads((result.release_dir / "statistics.json").read_bytes())
        return render(definition_of(manifest.dataset), manifest, statistics, evidence)

    assert "Reproduced by" not in card(), "the golden sample has other rows than the recorded rebuild"
    monkeypatch.setattr("cards.render.read_rebuilds", partial(read_rebuilds, folder=tmp_path))
    [row] = [line for line in card().splitlines() if line.startswith("| Reproduced by")]
    assert "(2026-01-31, rows and bytes equal) |" in row
    assert "Ann | <Lab>" not in row, "a name is text, not Markdown"
    own = statement(dataset=manifest.dataset, by="maintainers", **values)
    (tmp_path / "terra" / f"{manifest.dataset}-1.0.0-x.json").write_bytes(own)
    assert "Reproduced by" not in card(), "who made a release can make it again"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_rebuild_has_the_rows_of_the_ledger_and_its_raw_files(path: Path) -> None:
    rebuild = decode_rebuild(path.read_bytes(), str(path))
    assert path.name.startswith(f"{rebuild.dataset}-{rebuild.version}-")
    definition = definition_of(rebuild.dataset)
    assert path.parent.name == definition.source.name
    entry = read_ledger()[rebuild.dataset][rebuild.version]
    assert rebuild.content_sha256 == rebuild.rebuilt_content_sha256
    assert rebuild.content_sha256 == entry.content_sha256
    assert rebuild.raw == {f"{definition.source.name}/{name}": digest for name, digest in entry.raw.items()}
    assert not rebuild.tools["commit"].endswith("-dirty"), "nobody else can check out its code"


@pytest.mark.history
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_rebuild_names_a_commit_of_this_repository(path: Path) -> None:
    commit = decode_rebuild(path.read_bytes(), str(path)).tools["commit"]
    subprocess.run(["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=ROOT, check=True)


def test_every_recorded_file_is_read_and_none_holds_text_of_a_dataset() -> None:
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == set(RECORDED)
    for path in RECORDED:
        assert path.stat().st_size < 20_000


def test_shared_texts_are_listed_with_both_tables_and_kinds() -> None:
    one = SharedTexts("train.sentence2", "reviews-classification", "1.0.0", "test.text", {"exact": 1_000, "folded": 2})
    raw = SharedTexts("test.sentence1", "stsb_ru", "", "train.sentence1", {"near": 1})
    assert describe_comparison(Comparison(14, (one, raw))) == [
        "Compared with 14 other datasets built here; these share texts with it (paraphrases were not looked for):",
        "",
        "- 1,002 rows of `train.sentence2` are in `reviews-classification` 1.0.0, `test.text` (1,000 exact, 2 folded)",
        "- 1 row of `test.sentence1` is in `stsb_ru`, `train.sentence1` (1 near)",
    ]


def test_a_dataset_that_shares_nothing_says_so_and_one_that_was_not_compared_says_nothing() -> None:
    [said] = describe_comparison(Comparison(14))
    assert said.startswith("None of its texts was found in 14 other datasets")
    assert describe_comparison(None) == []
