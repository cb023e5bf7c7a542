"""Paraphrases: lists of short Russian texts that say the same, as in talk (Koziev, 2022)."""

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import read_json_array
from builders.shaping.contrastive import make_short_pairs, measure_rows
from builders.shaping.rows import drop, join_tables
from builders.shaping.sampling import hash_order
from builders.shaping.text import WHITE_SPACE
from builders.spec import Dropped, Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

CONFIG = "paraphrases"
SEED = "paraphrases query"
LISTS = ("paraphrases", "distractors")


def _read_rows(raw: Raw) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """A row for each item with two different texts or more, in the order of the source; its distractors are negatives."""
    read = read_json_array(raw, dict.fromkeys(LISTS, pl.List(pl.String())), optional=("distractors",))
    stripped = pl.element().str.strip_chars(WHITE_SPACE)
    lists = {name: pl.col(name).fill_null([]).list.eval(stripped.filter(stripped != "")) for name in LISTS}
    items = read.with_columns(**lists).select(
        id=pl.format(f"paraphrases:{CONFIG}:{{}}", pl.int_range(pl.len())),
        texts=pl.col("paraphrases").list.unique(maintain_order=True),
        negatives="distractors",
    )
    count = pl.col("texts").list.len()
    items, dropped = drop(items, count < 2, "fewer than two different texts", split="train")
    chosen = hash_order(items["id"], SEED).rename("chosen")
    rows = items.with_columns(number=(pl.lit(chosen) % count).cast(pl.Int64)).select(
        "id",
        "negatives",
        query=pl.col("texts").list.get(pl.col("number")),
        positives=pl.concat_list(
            pl.col("texts").list.head(pl.col("number")), pl.col("texts").list.slice(pl.col("number") + 1)
        ),
    )
    return rows, dropped


SOURCE = Source(
    name="paraphrases",
    title="Paraphrases of short Russian texts",
    license="cc-by-nc-4.0",
    license_note="The card on the Hub states this licence.",
    homepage="https://huggingface.co/datasets/inkoziev/paraphrases",
    citation="koziev2022paraphrases",
    files={
        "items": hub("inkoziev/paraphrases", "07ac45f", "paraphrases.json", moving=True),
        **training_files("paraphrases", (CONFIG,)),
    },
    measurements=(measure_rows("items", lambda raw: _read_rows(raw)[0]),),
)


@dataset(
    "paraphrases-contrastive",
    pretty_name="Paraphrases training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("items", "tokens", "index"),
    versions=training_versions(
        "The set Paraphrases of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 8, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 15_000, distractors: bool = False, clean: bool = False) -> Tables:
    """Which short texts say the same?

    The items of the source: of the different `paraphrases` of an item one is the query, drawn by the hash of the row's id, and
    the others are the positives, in the order of the source. White space at the ends of texts is removed, and empty texts and
    items with one text are dropped. Then texts of more than 500 tokens are dropped (builders.shaping.measurements), of rows with
    equal query the first is kept, and of more than `rows` rows as many are drawn in hash order. distractors: those of an item
    become its negatives. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks
    has. Columns: id (String: `paraphrases:paraphrases:<item in the source's file, from 0>`); query (String); positives, negatives
    (List(String)); negative_kinds (List(String): provided, where there are negatives).

    Raises SourceError for texts whose lengths were not measured.
    """
    read, dropped = _read_rows(raw["items"])
    counts = {
        f"rows of {CONFIG} in the source": read.height + sum(drop.count for drop in dropped),
        "items with two different texts or more": read.height,
        "pairs of a query and a positive": int(read["positives"].list.len().sum()),
        "items with distractors": read.filter(pl.col("negatives").list.len() > 0).height,
    }
    if not distractors:
        read = read.with_columns(negatives=pl.lit([], pl.List(pl.String)))
    made = make_short_pairs(raw, read, CONFIG, size=rows, clean=clean)
    return join_tables(Tables({}, dropped), made, Tables({}, observed=counts))
