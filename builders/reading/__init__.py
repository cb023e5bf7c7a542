"""Readers: one per raw format, from a raw file to a frame.

Every reader takes one `builders.spec.Raw`: a plain file, or a member of a zip, tar or tar.gz archive, which is read in place. A
name that ends in `.gz` or `.zst` is decompressed. Rows come in the order of the file and texts byte for byte (no strip, no
normalisation); a UTF-8 byte order mark at the start of a file is not part of its text.

Malformed input raises SourceError, which names the file, the line or record, what was found and what was expected. No row is
skipped. With `raw.limit`, at most that many records are read; errors after them may go unnoticed.
"""
