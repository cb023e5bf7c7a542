"""Raw formats -> frames: what a builder reads its raw files with.

Every reader takes one `builders.spec.Raw`: a plain file, or a member of a zip, tar or tar.gz archive, read in place; what
is named `.gz` is decompressed on the way. Rows come in the file's order, texts byte for byte (no strip, no
normalisation); a UTF-8 byte order mark at the start of a file is no part of its text.

Malformed input is a SourceError that names file, line or record, what was found and what was expected. No row is
skipped. With `raw.limit` no more than that many records are read: what is broken after them may stay unnoticed.
"""

from builders.reading.archives import open_raw
from builders.reading.csv import read_csv
from builders.reading.json import json_batches, json_lines, json_members, read_json_array, read_json_lines
from builders.reading.lines import read_documents, read_lines
from builders.reading.pickle import read_pickle
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values

__all__ = [
    "json_batches",
    "json_lines",
    "json_members",
    "open_raw",
    "read_csv",
    "read_documents",
    "read_json_array",
    "read_json_lines",
    "read_lines",
    "read_pickle",
    "read_tskv",
    "read_xml_values",
]
