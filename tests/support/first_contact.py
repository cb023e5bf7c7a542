"""Builds from golden raw files that a loopback server has at the real paths, as if they were the complete, published ones.

    upstream = published_files()             content by path: /raw.githubusercontent.com/<repo>/<commit>/<file>, ...
    with FaultyServer(upstream) as server:
        build(server, folder, "rumteb")      embedding-datasets build rumteb

There every source pins its golden file where it pins its real one, by the same kind of digest; a file that no
source pins is met for the first time. The numbers of the recipes are those of the golden samples. Folders, lock file and ledger
are below `folder`.
"""

import argparse
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import huggingface_hub
import pytest

from builders import catalogue
from builders.catalogue import Definition, Entry
from builders.raw_files import COMMIT, GitHub, Hub, Member, RawFile
from builders.spec import Source, Tables
from pipelines import build as build_command
from pipelines import command, make
from pipelines.build_report import first_look, records
from pipelines.build_report.first_look import Looks
from pipelines.build_report.records import BuildReport
from pipelines.raw import locations
from pipelines.raw.download import DownloadRequest, Patience
from pipelines.raw.locations import publisher_request
from pipelines.raw.requests import HUB, file_url
from pipelines.raw.settings import FileRequest, RawSettings, stored_file
from tests.support.faulty_server import FaultyServer
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.raw_files import TOKEN, git_blob, sha256

GOLDEN = ROOT / "tests" / "golden"
load = catalogue.load
download_file = locations.download_file
raw_settings = command.raw_settings


def server_path(url: str) -> str:
    """The path on the loopback server of what is published at a URL."""
    parts = urlsplit(url)
    return f"/{parts.hostname}{parts.path}"


def path_of(source: str, name: str) -> str:
    """The path on the loopback server of a raw file, or of the archive that contains it."""
    entry = next(entry for entry in catalogue.entries().values() if entry.source == source)
    file = next(file for file in load(entry).source.files.values() if file.name == name)
    return server_path(file_url(stored_file(file).location) or "")


@cache
def published_files() -> dict[str, bytes]:
    """The golden raw files by their path on the loopback server; archives contain their members."""
    files: dict[str, bytes] = {}
    archives: dict[str, dict[str, bytes]] = defaultdict(dict)
    for source in {entry.source: load(entry).source for entry in catalogue.entries().values()}.values():
        for file in source.files.values():
            url, golden = file_url(stored_file(file).location), GOLDEN / source.name / "raw" / file.name
            if url is None or not golden.is_file():
                continue
            if isinstance(file.location, Member):
                archives[server_path(url)][file.location.path] = golden.read_bytes()
            else:
                files[server_path(url)] = golden.read_bytes()
    return files | {path: _archive(path, members) for path, members in archives.items()}


def listings(files: dict[str, bytes] | None = None) -> dict[str, bytes]:
    """What the Hub and GitHub say of the repositories of all sources, by path on the loopback server. files: without, golden."""
    files = published_files() if files is None else files
    trees: dict[str, dict[str, bytes]] = defaultdict(dict)
    for source in {entry.source: load(entry).source for entry in catalogue.entries().values()}.values():
        for place in (stored_file(file).location for file in source.files.values()):
            content = files.get(server_path(file_url(place) or ""), b"")
            if isinstance(place, Hub):
                url = f"/huggingface.co/api/datasets/{place.repo}/revision/{quote(place.revision, safe='')}?blobs=true"
                trees[url][place.path] = content
            elif isinstance(place, GitHub):
                trees[f"/api.github.com/repos/{place.repo}/git/trees/{place.commit}?recursive=1"][place.path] = content
    return {url: json.dumps(_list_answer(url, tree)).encode() for url, tree in trees.items()}


def _list_answer(url: str, tree: dict[str, bytes]) -> dict[str, Any]:
    if url.startswith("/api"):
        return {"tree": [{"path": p, "type": "blob", "sha": git_blob(c), "size": len(c)} for p, c in tree.items()]}
    siblings = [
        {
            "rfilename": path,
            "size": len(content),
            "blobId": git_blob(b"the pointer"),
            "lfs": {"sha256": sha256(content)},
        }
        for path, content in tree.items()
    ]
    repo, _, revision = url.partition("?")[0].removeprefix("/huggingface.co/api/datasets/").partition("/revision/")
    commit = revision if COMMIT.fullmatch(revision) else "c" * 40
    return {"id": repo, "sha": commit, "gated": False, "disabled": False, "cardData": None, "siblings": siblings}


def build(server: FaultyServer, folder: Path, *arguments: str, defect: str = "") -> subprocess.CompletedProcess[str]:
    """Run a build to its end. defect: a dataset whose recipe raises an exception that no command expects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setenv("NO_PROXY", "*")
        publish_golden_files(patch, server.url, folder, defect)
        return run("build", *arguments, "--output", str(folder / "outputs"))


def start_build(server: FaultyServer, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a build in a separate process."""
    job = json.dumps({"server": server.url, "folder": str(folder), "arguments": arguments})
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment = inherited | {"HF_TOKEN": TOKEN, "HF_HOME": str(folder / "hf"), "NO_PROXY": "*"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.first_contact", job],
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def read_report(folder: Path) -> dict[str, Any]:
    """The build report; its datasets by name."""
    report = json.loads((folder / "outputs" / "build-report.json").read_text("utf-8"))
    return report | {"datasets": {entry["dataset"]: entry for entry in report["datasets"]}}


def typed_report(path: Path) -> BuildReport:
    """A build report that exists, as records."""
    report = records.read_report(path)
    assert report is not None
    return report


def _archive(path: str, members: dict[str, bytes]) -> bytes:
    """An archive with the same bytes at every call: without the time of day."""
    buffer = io.BytesIO()
    if path.endswith(".zip"):
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _load(defect: str, entry: Entry) -> Definition:
    """A dataset that is built from golden files as if they were complete."""
    definition = load(entry)
    dataset, source = definition.dataset, definition.source
    versions = {
        number: replace(version, known=(), options={**version.options, **dataset.sample})
        for number, version in dataset.versions.items()
    }
    files = {key: _pinned(source, file) for key, file in source.files.items()}
    dataset = replace(dataset, versions=versions)
    if dataset.name == defect:
        dataset = replace(dataset, recipe=_broken(dataset.recipe))
    return replace(definition, dataset=dataset, source=replace(source, files=files, published_bytes=None))


def _broken(recipe: Callable[..., Tables]) -> Callable[..., Tables]:
    @wraps(recipe)
    def raise_error(*_: object, **__: object) -> Tables:
        raise ZeroDivisionError("a row of data")

    return raise_error


def _pinned(source: Source, file: RawFile) -> RawFile:
    """A raw file with the digests of the golden one in place of its own."""
    location, golden = file.location, GOLDEN / source.name / "raw" / file.name
    if isinstance(location, Member):
        content = published_files().get(server_path(file_url(location.archive.location) or ""))
        location = replace(location, archive=_with_digests(location.archive, content))
    return replace(_with_digests(file, golden.read_bytes() if golden.is_file() else None), location=location)


def _with_digests(file: RawFile, content: bytes | None) -> RawFile:
    if content is None:
        return file
    return replace(
        file,
        sha256=file.sha256 and sha256(content),
        git_blob=file.git_blob and git_blob(content),
        bytes=file.bytes and len(content),
        about=file.about and len(content),
    )


def _settings(folder: Path, options: argparse.Namespace) -> RawSettings:
    return replace(
        raw_settings(options),
        cache=folder / "cache",
        lock=folder / "raw.lock.json",
        patience=Patience(sleep=lambda _: None),
        hub=HUB,  # the tests' own environment names another
    )


def look(
    patch: pytest.MonkeyPatch,
    server: FaultyServer,
    folder: Path,
    *names: str,
    patience: Patience | None = None,
    sizes: dict[str, int | None] | None = None,
    published: dict[str, Any] | None = None,
) -> Looks:
    """What a probe sees of the files of datasets, and of the datasets. sizes: as HEAD tells them. published: figures of each."""
    settings = RawSettings(
        cache=folder / "cache",
        lock=folder / "raw.lock.json",
        github_api=f"{server.url}/api.github.com",
        hub=f"{server.url}/huggingface.co",
        patience=patience or Patience(sleep=lambda _: None),
    )
    patch.setattr(catalogue, "load", partial(_load, ""))
    patch.setattr(huggingface_hub, "get_token", lambda: None)
    patch.setenv("NO_PROXY", "*")

    def request_of(request: FileRequest) -> DownloadRequest:
        download = publisher_request(replace(request, settings=replace(request.settings, hub=HUB)))
        return replace(download, url=server.url + server_path(download.url))

    patch.setattr(first_look, "publisher_request", request_of)
    patch.setattr(first_look, "read_published", lambda *_: published)  # the real ones are not of golden files
    datasets = catalogue.load_all(names)
    sources = {definition.source.name: definition.source for definition, _ in datasets}
    files = [(source, file) for source in sources.values() for file in source.files.values()]
    return first_look.look(files, datasets, settings, 2_000, lambda _: None, sizes=sizes)


def publish_golden_files(patch: pytest.MonkeyPatch, server: str, folder: Path, defect: str = "") -> None:
    """Make the commands of this process take golden files for published ones, and a loopback server for all others."""
    patch.setattr(catalogue, "load", partial(_load, defect))
    patch.setattr(command, "raw_settings", partial(_settings, folder))
    patch.setattr(make, "BuildSettings", partial(make.BuildSettings, ledger=folder / "ledger.json"))

    def download(request: DownloadRequest, target: Path, patience: Patience) -> Any:
        return download_file(replace(request, url=server + server_path(request.url)), target, patience)

    patch.setattr(locations, "download_file", download)


def main() -> None:
    job = json.loads(sys.argv[1])
    folder = Path(job["folder"])
    publish_golden_files(pytest.MonkeyPatch(), job["server"], folder)
    sys.argv = ["build", *job["arguments"], "--output", str(folder / "outputs")]
    command.run(build_command.main)


if __name__ == "__main__":
    main()
