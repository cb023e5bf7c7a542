"""What an answer says of a raw file that was not downloaded: whether it is there, in its size, with its digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipelines.raw.partial_file import FileVersion
from pipelines.raw.pins import Pin
from pipelines.raw.responses import CONTENT_RANGE, UNSATISFIED_RANGE, file_version
from pipelines.safe_text import safe_text

if TYPE_CHECKING:
    import httpx

# gone: no such file. other size, other digest: than the pinned one. changed: since the last probe. page: a web page in its place.
# redirect: to an address that is not followed, or in a circle. denied: the server refuses. gated: to those who accept terms.
# unknown: it is there, and there is nothing to compare. unreachable: nothing is known of it.
State = Literal[
    "ok", "gone", "other size", "other digest", "changed", "page", "redirect", "denied", "gated", "by hand", "unknown",
    "unreachable",
]  # fmt: skip
WRONG = frozenset({"gone", "other size", "other digest", "changed", "page", "redirect", "denied"})
GONE = frozenset({404, 410, 451})
MAX_ETAG = 80  # characters that are shown, and more than servers send
HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SIZE = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class Remembered:
    """What an earlier probe saw at an address, of a file with this pin."""

    url: str
    pin: str
    bytes: int | None = None
    etag: str | None = None
    modified: str | None = None


@dataclass(frozen=True)
class Answer:
    """The parts of an answer that tell something. code: the Hub's name of an error. sha256, git_blob: as the Hub lists them."""

    status: int
    bytes: int | None = None
    sha256: str | None = None
    git_blob: str | None = None
    version: FileVersion | None = None
    is_page: bool = False
    code: str = ""


@dataclass(frozen=True)
class Judgement:
    """What an answer means. found, expected: in words; empty where that says nothing. compared: size, digest, ETag."""

    state: State
    found: str = ""
    expected: str = ""
    compared: tuple[str, ...] = ()


def read_answer(response: httpx.Response, *, on_hub: bool) -> Answer:
    """The parts of a response that tell something; its body is not read. on_hub: its ETag is a digest."""
    headers = response.headers
    digest = (headers.get("X-Linked-ETag") or headers.get("ETag") or "") if on_hub else ""
    digest = digest.removeprefix("W/").strip('"').lower()
    digest = digest if HEX.fullmatch(digest) else ""
    linked = headers.get("X-Linked-Size", "") if on_hub else ""
    size = int(linked) if SIZE.fullmatch(linked) else _size(response)
    page = headers.get("Content-Type", "").strip().lower().startswith(("text/html", "application/xhtml"))
    empty = response.status_code == 416 and size == 0  # no byte of an empty file can be asked for
    return Answer(
        200 if empty else response.status_code,
        size,
        digest if len(digest) == 64 else None,
        digest if len(digest) == 40 else None,
        file_version(response),
        page and "X-Linked-ETag" not in headers,
        headers.get("X-Error-Code", ""),
    )


def judge(name: str, answer: Answer, pin: Pin, before: Remembered | None = None) -> Judgement:
    """What an answer means for a file with this pin. before: what an earlier probe saw, of the same file at the same address."""
    if answer.status in GONE or answer.code in {"RepoNotFound", "EntryNotFound", "RevisionNotFound"}:
        return Judgement("gone", f"status {answer.status}")
    if answer.code == "GatedRepo":
        return Judgement("gated", f"status {answer.status}")
    if answer.status >= 300:
        return Judgement("denied", f"status {answer.status}")
    size_fits = pin.bytes is not None and answer.bytes == pin.bytes
    if answer.is_page and not size_fits and not name.lower().endswith((".html", ".htm")):
        return Judgement("page", "an HTML page")
    digests = [
        (kind, found, expected)
        for kind, found, expected in (
            ("sha256", answer.sha256, pin.sha256),
            ("git blob", answer.git_blob, pin.git_blob),
        )
        if found and expected
    ]
    for kind, found, expected in digests:
        if found != expected:
            return Judgement("other digest", f"{kind} {found}", f"{kind} {expected}", ("digest",))
    compared: tuple[str, ...] = ("digest",) if digests else ()
    if pin.bytes is not None and answer.bytes is not None:
        compared += ("size",)
        if not size_fits:
            return Judgement("other size", f"{answer.bytes:,} bytes", f"{pin.bytes:,} bytes", compared)
    if not digests and before is not None:
        changed = _find_change(answer, before)
        if changed is not None:
            return Judgement("changed", *changed, compared)
        compared += ("ETag",) if before.etag and answer.version and answer.version.etag else ()
    known = pin.bytes is not None or bool(digests)
    return Judgement("ok" if compared and known else "unknown", compared=compared)


def remember(url: str, answer: Answer, pin: Pin) -> Remembered:
    """What to compare the next probe with."""
    etag, modified = (answer.version.etag, answer.version.modified) if answer.version else (None, None)
    return Remembered(url, str(pin), answer.bytes, etag, modified)


def _find_change(answer: Answer, before: Remembered) -> tuple[str, str] | None:
    """What has changed since an earlier probe, as found and expected. Servers behind one name may differ in ETags alone."""
    if before.bytes is not None and answer.bytes is not None and before.bytes != answer.bytes:
        return f"{answer.bytes:,} bytes", f"{before.bytes:,} bytes, as at the first probe"
    etag, modified = (answer.version.etag, answer.version.modified) if answer.version else (None, None)
    same_date = modified is not None and modified == before.modified
    if etag and before.etag and etag != before.etag and not same_date:
        return f"ETag {_shown(etag)}", f"ETag {_shown(before.etag)}, as at the first probe"
    return None


def _shown(etag: str) -> str:
    """An ETag for reading: a server may send any text, of any length."""
    return safe_text(etag[:MAX_ETAG])


def _size(response: httpx.Response) -> int | None:
    """The size of the whole file, where the response says it."""
    content_range = response.headers.get("Content-Range", "")
    if response.status_code == 206:
        match = CONTENT_RANGE.fullmatch(content_range)
        return int(match[2]) if match and SIZE.fullmatch(match[2]) else None
    if response.status_code == 416:
        unsatisfied = UNSATISFIED_RANGE.fullmatch(content_range)
        return int(unsatisfied[1]) if unsatisfied and SIZE.fullmatch(unsatisfied[1]) else None
    length = response.headers.get("Content-Length", "")
    return int(length) if SIZE.fullmatch(length) else None
