"""Raw files that a person gets, or that have no commit: what an error says to do, and what is pinned."""

from pathlib import Path

import pytest

from builders.errors import SourceError
from pipelines.raw.locations import GOLDEN, locate
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.releases import definition_of


def test_the_error_for_a_missing_table_says_what_to_write_and_where_to_put_it(
    hub: FaultyServer, tmp_path: Path
) -> None:
    settings = RawSettings(cache=tmp_path / "cache", lock=tmp_path / "raw.lock.json", hub=hub.url)
    with pytest.raises(SourceError, match=r"genie/ratings\.jsonl must be fetched by hand") as caught:
        locate(definition_of("genie-reranking").source, "ratings", settings)
    assert '{"task": "...", "prompt": "...", "response": "...", "system": "...", "rating": 4}' in str(caught.value)
    assert "put it at" in str(caught.value)
    assert not hub.log


def test_the_first_download_pins_a_file_that_has_no_commit(hub: FaultyServer, tmp_path: Path) -> None:
    source = definition_of("beavertails-helpful-reranking").source
    settings = RawSettings(cache=tmp_path / "cache", lock=tmp_path / "raw.lock.json", hub=hub.url)
    content = (GOLDEN / "pku_safe_rlhf" / "raw" / "test.parquet").read_bytes()
    path = "/datasets/PKU-Alignment/PKU-SafeRLHF-30K/resolve/refs%2Fconvert%2Fparquet/default/test/0000.parquet"
    hub.files[path] = content
    file = locate(source, "test", settings).raw.path
    assert file.read_bytes() == content
    assert "pku_safe_rlhf/test.parquet" in (tmp_path / "cache" / "raw.lock.json").read_text()
    assert not (tmp_path / "raw.lock.json").exists(), "only `accept` brings a moving file into the checkout"
    file.unlink()
    hub.files[path] = content[:-1] + b"?"
    with pytest.raises(SourceError, match="is not the pinned file"):
        locate(source, "test", settings)
