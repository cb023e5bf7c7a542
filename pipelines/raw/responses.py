"""What the headers of a response say: which part of the file follows, in which version, and when to retry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from pipelines.raw.partial_file import FileVersion, PartialFile

if TYPE_CHECKING:
    import httpx

BUSY = frozenset({408, 425, 429})
CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
UNSATISFIED_RANGE = re.compile(r"bytes \*/(\d+)")


def is_passing(status: int) -> bool:
    """Whether an answer with this status may be another one in a while: the server is busy, or in trouble."""
    return status in BUSY or status >= 500


def file_version(response: httpx.Response) -> FileVersion:
    """The version of the file; a weak ETag is ignored, as files with equal ones may differ in their bytes."""
    etag = response.headers.get("ETag", "")
    return FileVersion(etag if etag.startswith('"') else None, response.headers.get("Last-Modified") or None)


def total_size(response: httpx.Response, pinned_size: int | None) -> int | None:
    """The size in bytes that the whole file should have; None where neither the response nor the pin says.

    A body that is neither chunked nor of known length ends where the connection does, and may have been cut off: only the pinned
    size can tell.
    """
    if response.status_code == 206:
        content_range = CONTENT_RANGE.fullmatch(response.headers["Content-Range"])
        return int(content_range[2]) if content_range and content_range[2] != "*" else pinned_size
    length = response.headers.get("Content-Length")
    if length is not None:
        return int(length)
    return None if "Transfer-Encoding" in response.headers else pinned_size


def is_continuation(response: httpx.Response, part: PartialFile) -> bool:
    """Whether a 206 response starts where the partial file ends, in the same version of the file."""
    content_range = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if content_range is None or not part.size or int(content_range[1]) != part.size:
        return False
    if part.pin.bytes is not None and content_range[2] not in {"*", str(part.pin.bytes)}:
        return False
    return not file_version(response).contradicts(part.version)


def confirms_complete(response: httpx.Response, part: PartialFile) -> bool:
    """Whether a 416 response says that the partial file has all bytes of the file already.

    A server that lost the rest of the file would say so too. It is believed only where a digest will be compared, or where the
    response that began the file gave the same size.
    """
    unsatisfied = UNSATISFIED_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if unsatisfied is None or int(unsatisfied[1]) != part.size:
        return False
    return part.pin.has_digest or part.total == part.size


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header, which holds a number or a date; a date is compared with the server's clock."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    date = _parse_date(text)
    if date is None:
        return None
    now = _parse_date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (date - now).total_seconds())


def _parse_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
