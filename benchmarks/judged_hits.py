"""How many findings a careful reader calls right: rules measured on real texts that two readers judged.

The readers are language models that saw neither the rules nor what they find. `tests/judgements` has a line for each
judged text: where it is, a hash of it, and what each reader said, from the text and the definitions alone; never the
text itself. In `wrong_language.tsv` and `spacing.tsv` these are verdicts (`yes`, `no`, `unclear`); in `texts.tsv`, where every
text was judged for all of KINDS, the kinds that it has (`?`: unclear; `-`: none). The texts are read again from raw files and
releases. They were drawn by hash: of each kind all hits, or a part of hundreds; and of the others some of each
dataset, and some of each sort that could be mistaken (with angle brackets, numbers, mixed scripts, quotation marks
...). All have 900 characters at most.

    python benchmarks/judged_hits.py SOURCES RELEASES > benchmarks/judged_hits.md   # of `build all@1.0.0`
"""

import gzip
import hashlib
import io
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from cards.front_matter import language as language_of
from pipelines.audit.languages import foreign_languages, guess_languages, text_parts, text_prefix
from pipelines.audit.texts import TextForms, examine_texts, mark_suspects

JUDGEMENTS = Path(__file__).parents[1] / "tests" / "judgements"
PAGE = Path(__file__).with_name("judged_hits.md")
Tables = Callable[[str, str, str], pl.DataFrame]  # dataset, version, table -> its rows
# A reader calls text that was decoded wrongly one thing, whether it is `mojibake` or another `encoding_residue`.
KINDS = {
    "wrong_language": ("wrong_language",),
    "encoding_residue": ("encoding_residue", "mojibake"),
    **{
        kind: (kind,)
        for kind in (
            "csv_residue", "html_residue", "junk_text", "lookalike_word", "missing_value_text",
            "markup_residue", "number_text", "personal_data",
            "placeholder", "preprocessing_residue", "prompt_residue", "repeated_sentence", "spacing",
        )
    },
}  # fmt: skip
OWN_FILES = ("wrong_language", "spacing")  # of kinds with other texts than the rest


def read_raw(sources: Path, dataset: str, table: str) -> pl.DataFrame:
    """A raw file as a table, its rows in the order of the file."""
    path = sources / dataset / table
    if path.suffix in (".json", ".jsonl", ".gz"):
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        read = pl.read_json if content.lstrip().startswith(b"[") else pl.read_ndjson
        return read(io.BytesIO(content), infer_schema_length=None)
    if dataset == "stsb_ru":
        return pl.read_csv(path, has_header=False, new_columns=["sentence1", "sentence2", "score"])
    if path.suffix == ".tsv":
        names = ["sentence1", "sentence2", "label"]
        return pl.read_csv(path, separator="\t", has_header=False, quote_char=None, new_columns=names)
    return pl.read_csv(path, infer_schema_length=0, truncate_ragged_lines=True)


def read_judgements(name: str) -> pl.DataFrame:
    """The judged rows of a file."""
    return pl.read_csv(JUDGEMENTS / f"{name}.tsv", separator="\t", quote_char=None, infer_schema=False)


def verdicts_of(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with two verdicts on one kind in place of the kinds that each text has."""
    return rows.with_columns(
        pl.when(said.list.contains(kind))
        .then(pl.lit("yes"))
        .when(said.list.contains(f"{kind}?"))
        .then(pl.lit("unclear"))
        .otherwise(pl.lit("no"))
        .alias(name)
        for name, said in ((name, pl.col(name).str.split(",")) for name in ("first", "second"))
    )


def with_texts(judged: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """The judged rows with their texts.

    Raises ValueError for a text that is not the one that was judged.
    """
    parts = []
    for (dataset, version, table, column), rows in judged.group_by(
        "dataset", "version", "table", "column", maintain_order=True
    ):
        frame = tables(dataset, version, table)
        name = "line" if version == "raw" else "row"
        key = (
            pl.col("id")
            if "id" in frame.columns and version != "raw"
            else pl.format(f"{name} {{}}", pl.int_range(pl.len()) + (version == "raw"))
        )
        texts = frame.select(row=key, text=pl.col(column).cast(pl.String))
        parts.append(rows.join(texts, on="row", how="left", maintain_order="left"))
    read = pl.concat(parts)
    for row, text, digest in read.select("row", "text", "sha256").iter_rows():
        if text is None or hashlib.sha256(text.encode()).hexdigest()[:16] != digest:
            raise ValueError(f"{row} is not the text that was judged")
    return read


def find_hits(kind: str, rows: pl.DataFrame) -> pl.Series:
    """Whether a rule calls each text a finding. rows: text, language."""
    if kind != "wrong_language":
        text = pl.col("text")
        numbered = rows.select("text").with_row_index("position")
        survey = numbered.with_columns(**examine_texts(TextForms(received=text, own=text)))
        marked = mark_suspects(survey, numbered.lazy())
        return marked.select(pl.any_horizontal(f"^(?:{'|'.join(KINDS[kind])}) .*$")).to_series()
    hits = pl.repeat(False, rows.height, dtype=pl.Boolean, eager=True)
    for code in rows["language"].unique():
        own = rows.with_row_index("place").filter(language=code)
        texts = own.select("place", prefix=text_prefix(pl.col("text")), parts=text_parts(pl.col("text")))
        foreign = foreign_languages(
            texts["prefix"], guess_languages(texts["prefix"]), texts["parts"], {language_of(code)[0]}
        )
        hits = hits.scatter(texts["place"], foreign.is_not_null())
    return hits


def measure(kind: str, rows: pl.DataFrame) -> Mapping[str, int]:
    """Counts of judged texts: hits, right (hits that nobody called wrong), true (that both call findings), found, agreed, all."""
    verdicts = rows.with_columns(hit=find_hits(kind, rows))
    both = (pl.col("first") == "yes") & (pl.col("second") == "yes")
    none = (pl.col("first") == "no") | (pl.col("second") == "no")
    counts = verdicts.select(
        hits=pl.col("hit").sum(),
        right=(pl.col("hit") & ~none).sum(),
        true=both.sum(),
        found=(both & pl.col("hit")).sum(),
        agreed=(pl.col("first") == pl.col("second")).sum(),
        all=pl.len(),
    )
    return counts.row(0, named=True)


def wilson(right: int, all_: int) -> str:
    """A share with its 95 % interval: `.95 (.85 to .99)`."""
    if not all_:
        return "–"
    share, z = right / all_, 1.96
    middle = (share + z * z / (2 * all_)) / (1 + z * z / all_)
    half = z * math.sqrt(share * (1 - share) / all_ + z * z / (4 * all_ * all_)) / (1 + z * z / all_)
    return f"{share:.2f} ({max(middle - half, 0):.2f} to {min(middle + half, 1):.2f})"


def measure_all(read: Callable[[str], pl.DataFrame]) -> dict[str, Mapping[str, int]]:
    """The counts of every kind. read: the judged rows of a file, by its name, with their texts."""
    texts = read("texts")
    own = {kind: read(kind) for kind in OWN_FILES}
    return {kind: measure(kind, own[kind] if kind in own else verdicts_of(kind, texts)) for kind in KINDS}


def render(counts: Mapping[str, Mapping[str, int]]) -> str:
    """The table."""
    lines = ["| finding | judged | agreed | hits | precision | recall |", "| --- | ---: | ---: | ---: | --- | --- |"]
    for kind, of in counts.items():
        shares = wilson(of["right"], of["hits"]), wilson(of["found"], of["true"])
        cells = (
            " and ".join(f"`{one}`" for one in KINDS[kind]),
            *(f"{of[name]:,}" for name in ("all", "agreed", "hits")),
        )
        lines.append(f"| {' | '.join((*cells, *shares))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sources, releases = map(Path, sys.argv[1:])

    def tables(dataset: str, version: str, table: str) -> pl.DataFrame:
        if version == "raw":
            return read_raw(sources, dataset, table)
        config, split = table.split("/")
        folder = "data" if config == "default" else config
        return pl.read_parquet(releases / dataset / version / folder / f"{split}-*.parquet")

    print(render(measure_all(lambda name: with_texts(read_judgements(name), tables))), end="")
