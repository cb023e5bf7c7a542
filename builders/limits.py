"""The limits of everything that reads: what exceeds one is refused with an error that names it.

A raw file, a card or a manifest may be damaged, or written to exhaust the reader. These numbers bound the time, the memory
and the depth that reading one takes. Each is far above what real datasets need; the comment says by how much.
"""

from pathlib import Path

# Raw files.
MAX_RECORD = 64 << 20  # bytes of a line, a row of CSV or an element of JSON; the longest known is 19 KB
MAX_XML = 64 << 20  # bytes of an XML file; the largest known is 3.7 MB
MAX_XML_ELEMENTS = 1_000_000  # the most known are 52,000
MAX_DEPTH = 100  # levels of nested values: YAML and XML; known are 6
MAX_ARCHIVE_MEMBERS = 100_000  # files and folders of an archive
MAX_MEMBER = 64 << 20  # bytes of a file that is read whole from an archive
MAX_EXPANSION = 200  # bytes of data for each compressed byte; text comes to 3 to 20
FREE_EXPANSION = 64 << 20  # bytes of data before MAX_EXPANSION applies
MAX_KEYS = 5_000_000  # rows of a file of keys of published rows; the largest published copy has 135,000
MAX_MEMO = 20_000_000  # values that a pickle refers to by number: it reserves 16 bytes for each up to the highest

MAX_COLUMNS = 20_000  # of a table of anybody; the widest that is known has hundreds

# Front matter and manifests.
MAX_CARD = 20_000_000  # bytes of a README.md
MAX_FRONT_MATTER = 2_000_000  # characters of its YAML; a thousand language pairs come to half of this
MAX_EXPANDED = 10_000_000  # characters of its values, and one for each value, with every alias expanded
MAX_VALUES = 500_000  # values as written; a thousand language pairs come to 80,000
MAX_DIGITS = 100  # of a number
MAX_PATTERNS = 20_000  # of the data files of a card; a thousand language pairs come to 3,000
MAX_PATTERN = 1_000  # characters of such a pattern
MAX_COMPARISONS = 20_000_000  # of such a pattern with the path of a file; a thousand language pairs come to 9,000,000
MAX_WILDCARDS = 3  # `**` of such a pattern, and `*` of a name beside another one; known is 1
MAX_MATCHING_STEPS = (
    3_000_000_000  # of such patterns, pipelines/release/resolution.py; a thousand language pairs: 700,000,000
)
MAX_MANIFEST = 64 << 20  # bytes of a manifest.json; 1 KB a table is usual


def read_at_most(path: Path, limit: int) -> bytes:
    """The first bytes of a file: one more than `limit` where it is longer, so that the caller can tell. Raises OSError."""
    with path.open("rb") as file:
        return file.read(limit + 1)
