"""The fine-tuning data of BGE-M3: questions in Russian and English of MIRACL and Mr. TyDi with passages (Chen et al., 2024)."""

import re

import polars as pl

from builders.errors import SourceError
from builders.raw_files import hub
from builders.reading.archives import TarMember, take_members
from builders.reading.json import read_json_lines
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import CLEANED, make_pairs
from builders.shaping.rows import join_tables
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive

MIRACL, MR_TYDI = "miracl", "mr-tydi"
LANGUAGES = ("english", "russian")
LANGUAGE = pl.col("id").str.extract(":([a-z]+)-[0-9-]+$")
# The files of two sets and two languages, each in parts by the tokens of the longest text: `miracl_en_len-0-500.jsonl`.
MEMBER = re.compile(
    r"(?:.*/)?(?:miracl_(?P<miracl>en|ru)|mr-tydi_(?P<mr_tydi>english|russian))_len-(?P<low>[0-9]+)-(?:[0-9]+|inf)\.jsonl"
)
LISTS = ("pos", "neg")
EXAMPLE = {"query": pl.String(), **dict.fromkeys(LISTS, pl.List(pl.String()))}

SOURCE = Source(
    name="bge_m3_data",
    title="bge-m3-data, the fine-tuning data of BGE-M3",
    license="other",
    license_note="The card on the Hub stated MIT once, and now states no licence. MIRACL and Mr. TyDi are under Apache-2.0, their"
    " passages are of Wikipedia (CC BY-SA). Only the recipe is published here.",
    homepage="https://huggingface.co/datasets/Shitao/bge-m3-data",
    citation=("chen2024bgem3", "zhang2023miracl", "zhang2021mrtydi"),
    annotations=("found",),
    files={
        "archive": hub(
            "Shitao/bge-m3-data", "a69db8b86e9c1767d193ee0de95e5c4001a71eae", "bge-m3-data.tar.gz", about=24_000_000_000
        ),
        "index": INDEX_FILE,
    },
)


@dataset(
    "bge-m3-contrastive",
    pretty_name="BGE-M3 training pairs (Russian-English)",
    languages=("rus-Cyrl", "eng-Latn"),
    task=Contrastive((MIRACL, MR_TYDI)),
    needs=("archive", "index"),
    versions={
        "1.0.0": "The sets MIRACL and Mr. TyDi of the ruMTEB paper's Table 6, as far as the paper says how they were made.",
        "2.0.0": Version(CLEANED, {"clean": True}),
    },
    citation=("snegirev2025rumteb",),
    sample={"miracl_rows": 6},
)
def contrastive(
    raw: RawFiles,
    *,
    miracl_rows: int = 11_000,
    mr_tydi_rows: int = 9_000,
    negatives: int = 7,
    row_per: str = "query",
    clean: bool = False,
) -> Tables:
    """Which passages of Wikipedia answer a question?

    The files of both sets in English and Russian of the source's archive, English first, by the smallest length of a file. A
    row is a question with its passages (`pos`) and negatives (`neg`); other keys, such as scores, are not used. row_per:
    "query" for that, "pair" for one row a positive. Of more than `negatives` as many are kept
    (builders.shaping.contrastive.limit_negatives); random ones fill up the others (builders.shaping.contrastive.fill_negatives;
    the pool is all documents of the config in that language). Of rows with equal query and positives the first is kept, and of
    more than `miracl_rows` or `mr_tydi_rows` rows as many are drawn in hash order. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `bge_m3_data:<config>:<language>-<smallest length of the file>-<line in it, from 0>`, with row_per "pair" and the number of
    the positive, from 0); query (String); positives, negatives (List(String)); negative_kinds (List(String): provided or
    random).

    Raises SourceError for an archive without files of some set and language, ValueError for another `row_per`.
    """
    if row_per not in ("query", "pair"):
        raise ValueError(f"row_per is 'query' or 'pair', not {row_per!r}")
    members = _sort_members(raw["archive"], take_members(raw["archive"], MEMBER, raw.scratch / "members"))
    index = read_benchmark_index(raw.whole("index"))
    built: list[Tables] = []
    for config, size in ((MIRACL, miracl_rows), (MR_TYDI, mr_tydi_rows)):
        rows = pl.concat([_read_member(member, config, of[1]) for of, member in members if of[0] == config])
        for language in LANGUAGES:
            files = sum(of == (config, language) for of, _ in members)
            of_language = rows.filter(language=language)
            counts = {
                f"files of {config}, {language}": files,
                f"rows of {config}, {language}": of_language.height,
                f"pairs of a query and a positive of {config}, {language}": int(
                    of_language["positives"].list.len().sum()
                ),
                f"rows of {config}, {language}, with fewer than {negatives} negatives": of_language.filter(
                    pl.col("negatives").list.len() < negatives
                ).height,
            }
            built.append(Tables({}, observed=counts))
        if row_per == "pair":
            rows = _split_positives(rows)
        built.append(
            make_pairs(rows, config, index, size=size, most=negatives, negatives=negatives, alike=LANGUAGE, clean=clean)
        )
    return join_tables(*built)


def _sort_members(raw: Raw, members: list[TarMember]) -> list[tuple[tuple[str, str], TarMember]]:
    """The files with set and language, in the order of these and of their smallest lengths; none may be missing or repeated."""
    found: dict[tuple[str, str, int], TarMember] = {}
    for member in members:
        miracl, mr_tydi = member.match["miracl"], member.match["mr_tydi"]
        language = mr_tydi or {"en": "english", "ru": "russian"}[miracl]
        key = (MIRACL if miracl else MR_TYDI, language, int(member.match["low"]))
        if key in found:
            names = f"{found[key].match.string!r} and {member.match.string!r}"
            raise _refused(raw, "two files of one part", names, "one of each set, language and smallest length")
        found[key] = member
    wanted = [(config, language) for config in (MIRACL, MR_TYDI) for language in LANGUAGES]
    if missing := [
        f"{config}, {language}"
        for config, language in wanted
        if not any(key[:2] == (config, language) for key in found)
    ]:
        names = ", ".join(repr(member.match.string) for member in members[:5])
        raise _refused(raw, f"no file of {'; '.join(missing)}", names, "a file of each set in each language")
    return [
        ((config, language), member)
        for (config, language, _), member in sorted(found.items(), key=lambda item: item[0])
    ]


def _refused(raw: Raw, what: str, found: str, expected: str) -> SourceError:
    return SourceError(
        f"{raw.name}: {what}",
        where=str(raw.path),
        found=found,
        expected=expected,
        todo="correct MEMBER of builders/training/bge_m3_data.py by the names in the archive",
    )


def _read_member(member: TarMember, config: str, language: str) -> pl.DataFrame:
    """The rows of a file: id, language, query, positives, negatives."""
    read = read_json_lines(member.raw, EXAMPLE, optional=("neg",))
    line = pl.int_range(pl.len())
    return read.select(
        "query",
        id=pl.format(f"bge_m3_data:{config}:{language}-{int(member.match['low'])}-{{}}", line),
        language=pl.lit(language),
        positives="pos",
        negatives=pl.col("neg").fill_null([]),
    )


def _split_positives(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each positive."""
    numbers = pl.int_ranges(pl.col("positives").list.len()).alias("number")
    exploded = rows.filter(pl.col("positives").list.len() > 0).with_columns(numbers).explode("positives", "number")
    return exploded.with_columns(pl.concat_list("positives"), id=pl.format("{}-{}", "id", "number")).drop("number")
