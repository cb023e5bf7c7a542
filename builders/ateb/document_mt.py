"""English-German documents of Europarl, TED talks and news articles, aligned line by line (Maruf et al., 2019)."""

import polars as pl

from builders.errors import SourceError
from builders.raw_files import RawFile, github
from builders.reading.lines import read_documents
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import BitextMining


def pair_documents(first: Raw, second: Raw, *, prefix: str, pair: str, split: str) -> Tables:
    """The bitext of two files that hold the same documents in two languages, segment by segment.

    Both files are in the `<d>` format of builders.reading.read_documents. A document's text is its segments without trailing
    white space, joined by a newline.

    Returns one table (config `pair`): id `<prefix>-<n>` (n from 0, in file order), sentence1 (from `first`), sentence2 (from
    `second`), all String. Observed: the numbers of documents and of segments per language.

    Raises SourceError if the numbers of documents differ, or the numbers of segments in a document.
    """
    one, other = (read_documents(raw).with_columns(count=pl.col("segments").list.len()) for raw in (first, second))
    _check_alignment(first, second, one, other)
    frame = pl.DataFrame(
        {
            "id": f"{prefix}-" + pl.int_range(one.height, eager=True).cast(pl.String),
            "sentence1": _join_segments(one),
            "sentence2": _join_segments(other),
        }
    )
    observed = {"documents": frame.height, "segments": int(one["count"].sum())}
    return Tables({pair: {split: frame}}, observed=observed)


def _join_segments(documents: pl.DataFrame) -> pl.Series:
    return documents["segments"].list.eval(pl.element().str.strip_chars_end()).list.join("\n")


def _check_alignment(first: Raw, second: Raw, one: pl.DataFrame, other: pl.DataFrame) -> None:
    documents = zip(one.iter_rows(named=True), other.iter_rows(named=True), strict=False)
    for number, (left, right) in enumerate(documents, 1):
        if left["count"] != right["count"]:
            raise SourceError(
                f"document {number} has different numbers of segments in the two languages",
                where=f"{first.name}, line {left['line']}; {second.name}, line {right['line']}",
                found=f"{left['count']} segments and {right['count']} segments",
                expected="equal numbers: documents are aligned line by line",
                todo="fetch both files again, from the same commit",
            )
    if one.height != other.height:
        longer, rows = (first, one) if one.height > other.height else (second, other)
        shared = min(one.height, other.height)
        raise SourceError(
            "the two languages have different numbers of documents",
            where=f"{longer.name}, line {rows['line'][shared]}: document {shared + 1} has no counterpart",
            found=f"{one.height} documents in {first.name}, {other.height} in {second.name}",
            expected="equal numbers",
            todo="fetch both files again, from the same commit",
        )


COMMIT = "b30c31c8b1014f9cb1ec190658fc2369a6fd015c"
PAIR = "en-de"
LANGUAGES = ("eng-Latn", "deu-Latn")
FIRST = "The recipe of the ATEB paper, as far as the paper describes it: every document of the test set with its translation."


def _file(corpus: str, language: str, size: int, sha256: str) -> RawFile:
    path = f"{corpus}/concatenated_en2de_test_{language}.txt"
    return github("sameenmaruf/selective-attn", COMMIT, f"data/{path}", name=path, sha256=sha256, bytes=size)


SOURCE = Source(
    name="document_mt",
    title="Test documents of the selective-attention experiments in document-level translation",
    license="other",
    license_note=(
        "The repository is under the MIT licence; each corpus keeps its own terms. Europarl: its website knows of no copyright"
        " restrictions on the proceedings. IWSLT 2017: TED publishes its talks under CC BY-NC-ND 4.0. newstest2016: the articles"
        " belong to the newspapers, and WMT releases its test sets for research."
    ),
    homepage="https://github.com/sameenmaruf/selective-attn",
    citation="maruf2019selective",
    files={
        "europarl_en": _file(
            "Europarl7", "en", 779_181, "a82dd0099a1a786b9af99eeb2444bf0ad935d0a534cd883c5d560980fd07859c"
        ),
        "europarl_de": _file(
            "Europarl7", "de", 889_184, "60bd6552032d82bfd0fb9597bad8aec4f6cf333918cb56a5cf215003d983850a"
        ),
        "iwslt17_en": _file(
            "IWSLT2017", "en", 221_146, "f8414019291f264368570a60cbc662ea2ac00f07d079624823f6553fa632e3d3"
        ),
        "iwslt17_de": _file(
            "IWSLT2017", "de", 230_683, "9a6bb0f3f79879a6af26b3012d584853ba0d53700972ccdb799bb92aeb7d6912"
        ),
        "nc2016_en": _file(
            "NC-2016", "en", 341_485, "9edec9fe1259b7b4802a6e451cc2a8c0d1bc4851dcad24c91f30b79998f801be"
        ),
        "nc2016_de": _file(
            "NC-2016", "de", 383_577, "11f7dd3ba475ce6d4fa4b33bb949ed61fa847d46ff2bfbb81ef39d83f30fa110"
        ),
    },
)


@dataset(
    "europarl-bitext",
    pretty_name="Europarl bitext mining (English-German)",
    benchmark="ateb",
    task=BitextMining(PAIR),
    languages=LANGUAGES,
    needs=("europarl_en", "europarl_de"),
    versions={"1.0.0": FIRST},
    citation=("koehn2005europarl",),
)
def europarl(raw: RawFiles) -> Tables:
    """Find the German translation of an English document: debates of the European Parliament.

    Columns: id (String); sentence1 (String: the English document), sentence2 (String: the German one). A document is its segments
    without trailing white space, joined by newlines.
    """
    return pair_documents(raw["europarl_en"], raw["europarl_de"], prefix="europarl", pair=PAIR, split="test")


@dataset(
    "iwslt17-bitext",
    pretty_name="IWSLT 2017 bitext mining (English-German)",
    benchmark="ateb",
    task=BitextMining(PAIR),
    languages=LANGUAGES,
    needs=("iwslt17_en", "iwslt17_de"),
    versions={"1.0.0": FIRST},
    citation=("cettolo2017iwslt",),
    license="cc-by-nc-nd-4.0",  # of the talks
)
def iwslt17(raw: RawFiles) -> Tables:
    """Find the German translation of an English document: TED talks of IWSLT 2017.

    Columns: id (String); sentence1 (String: the English document), sentence2 (String: the German one). A document is its segments
    without trailing white space, joined by newlines.
    """
    return pair_documents(raw["iwslt17_en"], raw["iwslt17_de"], prefix="iwslt17", pair=PAIR, split="test")


@dataset(
    "nc2016-bitext",
    pretty_name="WMT 2016 news bitext mining (English-German)",
    benchmark="ateb",
    task=BitextMining(PAIR),
    languages=LANGUAGES,
    needs=("nc2016_en", "nc2016_de"),
    versions={"1.0.0": FIRST},
    citation=("bojar2016wmt",),
)
def nc2016(raw: RawFiles) -> Tables:
    """Find the German translation of an English document: news articles of WMT's test set of 2016.

    Columns: id (String); sentence1 (String: the English document), sentence2 (String: the German one). A document is its segments
    without trailing white space, joined by newlines.
    """
    return pair_documents(raw["nc2016_en"], raw["nc2016_de"], prefix="nc2016", pair=PAIR, split="test")
