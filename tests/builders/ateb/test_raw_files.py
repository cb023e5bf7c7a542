"""Raw files that are gated, that a person gets, or that have no commit: what an error says to do, and what is pinned."""

from pathlib import Path

import pytest

from builders.ateb.lmsys_arena import PATH
from builders.errors import SourceError
from pipelines.raw.locations import GOLDEN, locate
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.releases import definition_of


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("name", "key", "repo", "path"),
    [
        ("lmsys-reranking", "battles", "lmsys/chatbot_arena_conversations",
         f"1b6335d42a1d2c7e34870c905d03ab964f7f2bd8/{PATH}"),
        ("instrusum-reranking", "human_eval", "Salesforce/InstruSum", "main/human_eval.json"),
    ],
)  # fmt: skip
def test_without_a_token_the_error_names_the_page_where_the_terms_are_accepted(
    name: str, key: str, repo: str, path: str, status: int, hub: FaultyServer, tmp_path: Path
) -> None:
    hub.always[f"/datasets/{repo}/resolve/{path}"] = Fault(status=status)
    settings = RawSettings(cache=tmp_path / "cache", lock=tmp_path / "raw.lock.json", hub=hub.url)
    with pytest.raises(SourceError) as caught:
        locate(definition_of(name).source, key, settings)
    assert f"accept the terms at https://huggingface.co/datasets/{repo}" in str(caught.value)
    assert "no token was found" in str(caught.value)
    assert "HF_TOKEN" in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix in {".json", ".parquet"}]


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
