"""Raw files that are missing: what the error tells the user to do."""

from dataclasses import replace

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand, https, member
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import CONTENT, OTHER, PIN, local_path, locate_file, serve, sha256, suggested_path, write


def test_the_error_for_a_file_fetched_by_hand_says_how_and_where_to_put_it(raw_settings: RawSettings) -> None:
    file = by_hand("file.jsonl", "Ask the authors at https://example.org/ask.", **PIN)
    with pytest.raises(SourceError) as caught:
        locate_file(file, raw_settings)
    error = caught.value
    assert error.what == "demo/file.jsonl must be fetched by hand"
    path = local_path(raw_settings)
    assert error.todo == f"Ask the authors at https://example.org/ask; put it at {path}"
    assert str(path) in str(error.found)
    assert str(error.expected).startswith(f"sha256 {sha256(CONTENT)}")
    assert error.exit_code == 3


def test_without_a_raw_dir_a_file_fetched_by_hand_goes_into_the_cache(raw_settings: RawSettings) -> None:
    without_raw_dir = replace(raw_settings, raw_dir=None)
    file = by_hand("file.jsonl", "Ask.", **PIN)
    with pytest.raises(SourceError) as caught:
        locate_file(file, without_raw_dir)
    path = suggested_path(caught.value.todo)
    assert path.is_relative_to(raw_settings.cache)
    write(path, CONTENT)
    assert (locate_file(file, without_raw_dir).origin, locate_file(file, without_raw_dir).verified) == ("cache", True)
    write(path, OTHER)
    with pytest.raises(SourceError, match="is not the pinned file"):
        locate_file(file, without_raw_dir)


def test_a_file_put_by_hand_is_still_found_after_its_instructions_change(raw_settings: RawSettings) -> None:
    without_raw_dir = replace(raw_settings, raw_dir=None)
    with pytest.raises(SourceError) as caught:
        locate_file(by_hand("file.jsonl", "Ask."), without_raw_dir)
    write(suggested_path(caught.value.todo), CONTENT)
    assert locate_file(by_hand("file.jsonl", "Please ask."), without_raw_dir).origin == "cache"


def test_an_archive_fetched_by_hand_may_be_put_whole_or_extracted(raw_settings: RawSettings) -> None:
    file = member(by_hand("files.zip", "Ask."), "a/test.jsonl", **PIN)
    with pytest.raises(SourceError, match=r"demo/files\.zip must be fetched by hand") as caught:
        locate_file(file, raw_settings)
    archive, extracted = local_path(raw_settings, "files.zip"), local_path(raw_settings, "a/test.jsonl")
    assert caught.value.todo == f"Ask; put it at {archive} (or the extracted member at {extracted})"


def test_the_error_for_a_file_missing_offline_lists_the_paths_searched(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    with pytest.raises(SourceError) as caught:
        locate_file(serve(server, **PIN), replace(raw_settings, offline=True))
    error = caught.value
    assert error.what == "demo/file.jsonl not found, and --offline is set"
    assert str(local_path(raw_settings)) in str(error.found)
    assert str(raw_settings.cache) in str(error.found)
    assert "or run without --offline" in str(error.todo)
    assert error.exit_code == 3
    assert server.log == []


def test_a_cached_file_is_used_offline(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = serve(server, **PIN)
    locate_file(file, raw_settings)
    assert locate_file(file, replace(raw_settings, offline=True)).origin == "cache"


def test_the_error_for_a_server_that_is_down_says_where_to_put_the_file(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    server.always["/file.jsonl"] = Fault(status=500)
    file = https(f"{server.url}/file.jsonl", **PIN)
    with pytest.raises(SourceError, match="fetch it by hand and put it at") as caught:
        locate_file(file, raw_settings)
    assert str(local_path(raw_settings)) in str(caught.value.todo)
