"""Errors for malformed raw files, worded the same way in every reader."""

from builders.errors import SourceError
from builders.spec import Raw

LONGEST = 2_000  # characters of a file that a message quotes


def malformed(raw: Raw, location: str, what: str, *, found: str, expected: str) -> SourceError:
    """The error for a malformed file; `location` is a line or record of it ("line 3"), or "" for the file as a whole."""
    return SourceError(
        f"{raw.name}: {what[:LONGEST]}",
        where=f"{raw.name}, {location[:LONGEST]}" if location else raw.name,
        found=found if len(found) <= LONGEST else f"{found[:LONGEST]}...",
        expected=expected,
        todo=f"if {raw.path} is not the published file, fetch it again; if it is, its format has changed",
    )


def not_utf8(raw: Raw, location: str, error: UnicodeDecodeError) -> SourceError:
    """The error for bytes that are not UTF-8; `location` is the line or record that holds them."""
    found = f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} ({error.reason})"
    return malformed(raw, location, "invalid UTF-8", found=found, expected="UTF-8")


def too_large(raw: Raw, location: str, what: str, limit: int) -> SourceError:
    """The error for a record that exceeds a limit in bytes; `what` is "a line" or "an element"."""
    return malformed(
        raw, location, f"{what} is too large", found=f"more than {limit:,} bytes", expected=f"at most {limit:,} bytes"
    )


def shorten(text: str, width: int = 60) -> str:
    """The beginning of a text, enough to recognise it: quoted, with control characters escaped."""
    return repr(text if len(text) <= width else text[:width] + "...")
