"""XNLI: premises of MultiNLI with hypotheses that follow, contradict or do neither, put into Russian by a machine (2018)."""

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.contrastive import make_short_pairs, measure_rows
from builders.shaping.rows import drop, join_tables, refuse
from builders.spec import Dropped, Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

CONFIG = "xnli"
ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2


def _read_rows(raw: Raw) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """A row for each entailed hypothesis, in the order of the source, with all contradictory ones of its premise."""
    read = read_parquet(raw, {"premise": pl.String(), "hypothesis": pl.String(), "label": pl.Int64()})
    label, hypothesis = pl.col("label"), pl.col("hypothesis")
    refuse(
        read,
        ~label.is_between(0, 2),
        raw,
        "unknown label",
        found="label",
        expected="0 (entailment), 1 (neutral) or 2 (contradiction)",
        unit="record",
    )
    numbered = read.with_row_index("number")
    contradictory = (
        numbered.filter(label == CONTRADICTION).group_by("premise", maintain_order=True).agg(negatives=hypothesis)
    )
    joined = numbered.join(contradictory, on="premise", how="left", maintain_order="left")
    entailed, of_neutral = drop(joined, label == NEUTRAL, "a neutral hypothesis", split="train", key="number")
    with_entailment = entailed.filter(label == ENTAILMENT)["premise"].implode()
    entailed, dropped = drop(
        entailed,
        (label == CONTRADICTION) & ~pl.col("premise").is_in(with_entailment),
        "a contradictory hypothesis of a premise without entailment",
        split="train",
        key="number",
    )
    rows = entailed.filter(label == ENTAILMENT).select(
        id=pl.format(f"xnli:{CONFIG}:{{}}", "number"),
        query="premise",
        positives=pl.concat_list("hypothesis"),
        negatives=pl.col("negatives").fill_null(pl.lit([], pl.List(pl.String))),
    )
    return rows, (*of_neutral, *dropped)


SOURCE = Source(
    name="xnli",
    title="XNLI, cross-lingual natural language inference: the training part in Russian",
    license="cc-by-nc-4.0",
    license_note="The authors' repository on GitHub has this licence. The English texts are of MultiNLI, which has terms of its"
    " own.",
    homepage="https://github.com/facebookresearch/XNLI",
    citation=("conneau2018xnli", "williams2018multinli"),
    annotations=("crowdsourced", "machine-generated"),
    files={
        "train": hub(
            "facebook/xnli",
            "b8dd5d7af51114dbda02c0e3f6133f332186418e",
            "ru/train-00000-of-00001.parquet",
            sha256="5db75fb1e1646d7a39dda45cdcd9b7ba95cfa1f2af0009151e8db34c22ca6f5a",
        ),
        **training_files("xnli", (CONFIG,)),
    },
    measurements=(measure_rows("train", lambda raw: _read_rows(raw)[0]),),
)


@dataset(
    "xnli-contrastive",
    pretty_name="XNLI training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=("train", "tokens", "index"),
    versions=training_versions(
        "The set XNLI of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 9, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(raw: RawFiles, *, rows: int = 125_000, clean: bool = False) -> Tables:
    """Which hypotheses follow from a premise, and which contradict it?

    The Russian train file of the source. A row is a hypothesis with the label `entailment`: its premise, compared exactly, is the
    query, and all hypotheses with the label `contradiction` of the same premise are the negatives, perhaps none. White space at
    the ends of texts is removed (builders.shaping.contrastive), texts of more than 500 tokens are dropped
    (builders.shaping.measurements), of rows with equal query and positive the first is kept, and of more than `rows` rows as
    many are drawn in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of
    benchmarks has. Columns: id (String: `xnli:xnli:<row of the positive in the source's file, from 0>`); query (String);
    positives, negatives (List(String), of one and of any number); negative_kinds (List(String): provided).

    Raises SourceError for another label, and for texts whose lengths were not measured.
    """
    read, dropped = _read_rows(raw["train"])
    counts = {"rows with a contradiction in the source": read.filter(pl.col("negatives").list.len() > 0).height}
    made = make_short_pairs(raw, read, CONFIG, size=rows, clean=clean, unique_queries=False)
    return join_tables(Tables({}, dropped), made, Tables({}, observed=counts))
