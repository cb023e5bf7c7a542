"""Pikabu: stories of the site with their titles and ratings (Gusev, 2023)."""

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from builders.errors import SourceError
from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "pikabu"
CONFIG = "pikabu-title-body"
COMMIT = "96466c289dfe2fd1ce8570f4d23c3c59737e2a76"
FILES = tuple(f"{number:02}.jsonl.zst" for number in range(20))  # _TRAIN_SPLITS of its loading script
BYTES = 20_196_853_689  # of all files, by the card
DIGESTS: Mapping[int, str] = {
    0: "7fff97738eaddbcdd902ebc4856b22994cb715c8b5620c422384e071896ee7c3",
    2: "0eb2b3e5dd953c7110767e89d5be7e5566551e575f01c2679a3ef52ca8020184",
    3: "3efa473dfdc7b63587fbf78a292cd396da91be3211c260fa6b4f001543d0a498",
    5: "07a820d01ec97c81e4ab0ddea0f7cef380f133dc223ad0405ecc3ba83cd10477",
    7: "13146a6b03b58e1c2938b77a067203de8c2c84b5700d0b8dda2ccc0ffe97f8c5",
    11: "13a7ecf874c444e39c8e59912d70c41b345083599bf17185d5618269934b5478",
    12: "a55e696725f90db00d912a624a517b744d171637b58b0ef74790269314e69eb5",
    14: "7169c612330ff96ab708d0d3163dcc7c4ff4f817b41dfb38f0924479a42c602b",
    15: "df5e62fd0128b32e04e9f3a1594b6294ce963c2f08d50dd3c6a10993eaf2fadd",
    16: "667205aa99208fa081d6662ce22d2c1b6efc63654436b076cf26553961b23889",
    17: "4312f762192e9583c6275891c71009b67e5e80db4257e93c1e02ed9b0f04918a",
    18: "2d54ec5dcbddebb52672d68cafcb15574746ac4604ea07dd55d7738b1176e524",
}
STORY = {"id": pl.Int64, "title": pl.String, "text_markdown": pl.String, "rating": pl.Int64, "pluses": pl.Int64}
OPTIONAL = ("title", "text_markdown", "rating", "pluses")
MIN_CHARACTERS = 100


def _read_stories(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the text of the story), rating, pluses (Int64)."""
    for name in filter(files.__contains__, FILES):
        for batch in json_lines(files[name], STORY, optional=OPTIONAL):
            yield batch.select("rating", "pluses", number="id", query="title", positive="text_markdown")


def _pair_set(rows: int = 100_000, characters: int = MIN_CHARACTERS) -> PairSet:
    text = pl.col("positive").fill_null("")
    checks = {
        "no text: images or videos alone": text == "",
        f"a text of fewer than {characters} characters": text.str.len_chars() < characters,
    }
    return PairSet(CONFIG, rows, _read_stories, ("rating", "pluses"), checks, parts=FILES)


SOURCE = Source(
    name=NAME,
    title="Pikabu",
    license="other",
    license_note="The card on the Hub states no licence. The texts were written by users of pikabu.ru. Only the recipe is"
    " published here.",
    homepage="https://huggingface.co/datasets/IlyaGusev/pikabu",
    citation="gusev2023pikabu",
    files={
        **{
            name: hub("IlyaGusev/pikabu", COMMIT, name, sha256=DIGESTS.get(number), about=BYTES // len(FILES))
            for number, name in enumerate(FILES)
        },
        **training_files(NAME, (CONFIG,)),
    },
    published_bytes=BYTES,
    measurements=(measure_tokens(FILES, partial(texts_to_measure, (_pair_set(characters=1),), NAME)),),
)


@dataset(
    "pikabu-contrastive",
    pretty_name="Pikabu training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((CONFIG,)),
    needs=(*FILES, "tokens", "index"),
    versions=training_versions(
        "The set Pikabu Title-Body of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    checkpoints=True,
    citation=("snegirev2025rumteb",),
    sample={"rows": 5, "records": 24, "characters": 20, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 100_000,
    characters: int = MIN_CHARACTERS,
    records: int = 6_907_622,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which story belongs to a title?

    All files of the source, which must have `records` records (unless only some are read). A row is the title of a story and its
    text, in the Markdown of the source without white space at its ends; stories of images or videos alone and those with a text
    of fewer than `characters` characters are dropped. Ranked by rating, then by pluses. builders.shaping.popularity.select_pool
    drops what is too long (`max_tokens`) or repeated and takes the most popular `times` * `rows` rows; `rows` are drawn of these
    in hash order. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has.
    Columns: id (String: `pikabu:pikabu-title-body:<id of the story>`); query (String); positives (List(String), one each);
    negatives, negative_kinds (List(String), empty).

    Raises SourceError for another number of records and for texts whose tokens were not counted.
    """
    tables = build_sets(raw, NAME, (_pair_set(rows, characters),), times=times, limit=max_tokens, clean=clean)
    found = tables.observed[f"rows of {CONFIG} in the source"]
    if found != records and all(raw[name].limit is None for name in FILES):
        raise SourceError(
            "Pikabu: the files have another number of records",
            where=f"{raw[FILES[0]].name} to {FILES[-1]}",
            found=f"{found:,} records",
            expected=f"{records:,}",
            todo=f"see whether {COMMIT[:12]} of the repository has files that FILES of builders/training/pikabu.py lacks",
        )
    return tables
