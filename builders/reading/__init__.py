"""Readers: one per raw format, from a raw file to a frame.

Every reader takes one `builders.spec.Raw`: a plain file, or a member of a zip, tar or tar.gz archive, which is read in place. A
name that ends in `.gz` or `.zst` is decompressed. Rows come in the order of the file and texts byte for byte (no strip, no
normalisation); a UTF-8 byte order mark at the start of a file is not part of its text.

Malformed input raises SourceError, which names the file, the line or record, what was found and what was expected. No row is
skipped. With `raw.limit`, at most that many records are read; errors after them may go unnoticed.
"""

from builders.reading.archives import open_raw, read_members
from builders.reading.csv import read_csv, read_loose_csv
from builders.reading.json import json_batches, json_lines, json_members, json_objects, read_json_array, read_json_lines
from builders.reading.lines import moses_batches, read_documents, read_lines
from builders.reading.parquet import read_parquet
from builders.reading.pickle import pickle_members, read_pickle
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values

__all__ = [
    "json_batches",
    "json_lines",
    "json_members",
    "json_objects",
    "moses_batches",
    "open_raw",
    "pickle_members",
    "read_csv",
    "read_documents",
    "read_json_array",
    "read_json_lines",
    "read_lines",
    "read_loose_csv",
    "read_members",
    "read_parquet",
    "read_pickle",
    "read_tskv",
    "read_xml_values",
]
