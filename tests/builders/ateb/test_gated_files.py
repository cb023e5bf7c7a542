"""Without a token, the error for a gated file says where to accept its terms."""

from pathlib import Path

import pytest

from builders.ateb.lmsys_arena import PATH
from builders.errors import SourceError
from pipelines.raw.locations import locate
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
