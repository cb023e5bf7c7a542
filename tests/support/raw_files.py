"""Raw files for tests: small contents with their digests, archives, and where they are put."""

import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from builders.errors import SourceError
from builders.raw_files import RawFile, https
from builders.spec import Source
from pipelines.raw.locations import LocatedFile, locate
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer

COMMIT = "8ed84aef" * 5
CONTENT = b'{"text": "\xd0\xb4\xd0\xb0"}\n' * 1000
OTHER = b'{"text": "no"}\n' * 1000
TOKEN = "hf_notARealTokenOnlyForThisTest"
GIT_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 378730064\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


PIN: dict[str, Any] = {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}


def source_of(file: RawFile) -> Source:
    """A source named `demo` with one raw file, whose key is `file`."""
    return Source("demo", "Demo", "mit", "https://example.org", "demo2020", {"file": file})


def locate_file(file: RawFile, raw_settings: RawSettings, **options: Any) -> LocatedFile:
    """The only file of the source `demo`, located."""
    return locate(source_of(file), "file", raw_settings, **options)


def error_of(function: Callable[..., object], *arguments: object, **options: object) -> SourceError:
    """The SourceError that a call raises."""
    with pytest.raises(SourceError) as caught:
        function(*arguments, **options)
    return caught.value


def serve(server: FaultyServer, content: bytes = CONTENT, name: str = "file.jsonl", **digest: Any) -> RawFile:
    """A raw file that the server has."""
    server.files[f"/{name}"] = content
    return https(f"{server.url}/{name}", **digest)


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def write_local(raw_settings: RawSettings, content: bytes = CONTENT, name: str = "file.jsonl") -> Path:
    """Write a file of the source `demo` below --raw-dir."""
    return write(local_path(raw_settings, name), content)


def with_old_timestamp(path: Path) -> Path:
    """The file, last changed in 2001: the digest of a file changed just now is not cached."""
    os.utime(path, ns=(10**18, 10**18))
    return path


def local_path(raw_settings: RawSettings, name: str = "file.jsonl") -> Path:
    """The path of a file of the source `demo` below --raw-dir."""
    assert raw_settings.raw_dir is not None
    return raw_settings.raw_dir / "demo" / name


def suggested_path(text: str | None) -> Path:
    """The path in "put it at PATH, or ..."."""
    assert text is not None
    return Path(text.split("put it at ")[1].split(", or")[0])


def make_zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_tar(members: dict[str, bytes], mode: Literal["w", "w:gz"]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


MEMBERS = {"a/readme.txt": b"hello", "a/test.jsonl": CONTENT}
ARCHIVES = {
    "files.zip": make_zip(MEMBERS),
    "files.tar": make_tar(MEMBERS, "w"),
    "files.tar.gz": make_tar(MEMBERS, "w:gz"),
    "files.tgz": make_tar({"./" + name: content for name, content in MEMBERS.items()}, "w:gz"),
}


def files_in(directory: Path) -> dict[str, bytes]:
    """The content of every file below a directory, by relative path."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def cached_names(raw_settings: RawSettings) -> set[str]:
    """The names of the raw files in the cache."""
    names = [name for name in files_in(raw_settings.cache) if name.startswith("raw/") and not name.endswith(".lock")]
    return {Path(name).name for name in names}
