"""What the first bytes of a file say about its type, for error messages about a file that is not the expected one."""

from pathlib import Path

from pipelines.terminal import format_size

HEAD = 512  # bytes; enough to recognise an HTML page, a git-lfs pointer or a tar archive
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
SIGNATURES = (
    (LFS_POINTER, "a git-lfs pointer"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"PAR1", "a Parquet file"),
    (b"%PDF", "a PDF document"),
)


def read_head(path: Path) -> bytes:
    """The first bytes of a file. Raises OSError."""
    with path.open("rb") as stream:
        return stream.read(HEAD)


def describe_content(head: bytes, size: int) -> str:
    """The type and size of a file in words, from its first bytes: "an HTML page of 2 KB"."""
    return f"{_content_type(head)} of {format_size(size)}"


def is_html(head: bytes) -> bool:
    """Whether a file begins like an HTML page."""
    return _text_start(head).lower().startswith((b"<!doctype html", b"<html"))


def is_lfs_pointer(head: bytes) -> bool:
    """Whether a file is the pointer that a git repository holds in place of a file in git-lfs."""
    return head.startswith(LFS_POINTER)


def _content_type(head: bytes) -> str:
    for signature, content_type in SIGNATURES:
        if head.startswith(signature):
            return content_type
    if head[257:262] == b"ustar":
        return "a tar archive"
    if is_html(head):
        return "an HTML page"
    if _text_start(head).startswith((b"{", b"[")):
        return "JSON"
    if _text_start(head).startswith(b"<?xml"):
        return "an XML document"
    if not head:
        return "an empty file"
    return "binary data" if b"\0" in head else "text"


def _text_start(head: bytes) -> bytes:
    """The first bytes without a byte order mark and leading whitespace."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()
