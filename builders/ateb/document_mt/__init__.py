"""English-German documents of Europarl, TED talks and news articles, aligned line by line (Maruf et al., 2019)."""

from builders.ateb.document_mt.documents import pair_documents
from builders.raw_files import RawFile, github
from builders.spec import RawFiles, Source, Tables, dataset
from builders.tasks import BitextMining

COMMIT = "b30c31c8b1014f9cb1ec190658fc2369a6fd015c"
PAIR = "en-de"
LANGUAGES = ("eng-Latn", "deu-Latn")
FIRST = "The recipe of the ATEB paper, as far as the paper describes it: every document of the test set with its translation."


def _file(corpus: str, language: str, sha256: str) -> RawFile:
    path = f"{corpus}/concatenated_en2de_test_{language}.txt"
    return github("sameenmaruf/selective-attn", COMMIT, f"data/{path}", name=path, sha256=sha256)


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
        "europarl_en": _file("Europarl7", "en", "a82dd0099a1a786b9af99eeb2444bf0ad935d0a534cd883c5d560980fd07859c"),
        "europarl_de": _file("Europarl7", "de", "60bd6552032d82bfd0fb9597bad8aec4f6cf333918cb56a5cf215003d983850a"),
        "iwslt17_en": _file("IWSLT2017", "en", "f8414019291f264368570a60cbc662ea2ac00f07d079624823f6553fa632e3d3"),
        "iwslt17_de": _file("IWSLT2017", "de", "9a6bb0f3f79879a6af26b3012d584853ba0d53700972ccdb799bb92aeb7d6912"),
        "nc2016_en": _file("NC-2016", "en", "9edec9fe1259b7b4802a6e451cc2a8c0d1bc4851dcad24c91f30b79998f801be"),
        "nc2016_de": _file("NC-2016", "de", "11f7dd3ba475ce6d4fa4b33bb949ed61fa847d46ff2bfbb81ef39d83f30fa110"),
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
