"""STSb in Russian: SemEval's STS benchmark, machine-translated (May, 2021), without pairs that are not acceptable Russian."""

import polars as pl

from builders.raw_files import by_hand, github
from builders.rumteb.stsb_ru.decisions import (
    decision_line,
    find_acceptable,
    head_line,
    read_decisions,
    rejected_sentences,
)
from builders.rumteb.stsb_ru.pairs import distinct_sentences, read_pairs
from builders.shaping.cleaning import clean_rows
from builders.shaping.rows import drop_each
from builders.spec import Decisions, Dropped, Prompts, RawFiles, Source, Tables, Version, dataset
from builders.tasks import STS

COMMIT = "30de0dec4ee199b7f42351d3f1a0b19592955385"
MODEL = "RussianNLP/ruRoBERTa-large-rucola"
REVISION = "6c831fed5181698d68282387e331ea3e891eee91"
CLASSIFIER = f"{MODEL}@{REVISION}"
DECISIONS = "rucola-decisions.jsonl"
FILES = {"train": "train", "validation": "dev", "test": "test"}
SIDES = ("sentence1", "sentence2")
SAME = {"pair and score": ["sentence1", "sentence2", "score"], "pair": ["sentence1", "sentence2"]}

SOURCE = Source(
    name="stsb_ru",
    title="STSb Multi MT, the STS benchmark in Russian",
    license="cc-by-sa-4.0",
    license_note="This is the licence of the scores. The sentences come from several corpora with their own terms, and were "
    "translated with DeepL: see LICENSE upstream.",
    homepage="https://github.com/PhilipMay/stsb-multi-mt",
    citation=("may2021stsb", "cer2017semeval", "mikhailov2022rucola"),
    annotations=("crowdsourced",),
    files={
        "train": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-train.csv",
            sha256="9b2fa623b9a0fa827151a47f4713c5ebc56313c069ff47855e393d505951aa30",
            bytes=1_373_901,
        ),
        "dev": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-dev.csv",
            sha256="8e4de0dcb2d87c1a2adc7bfdbe8ce4a7e0a1e10e3deba947e26069490ab66abd",
            bytes=382_231,
        ),
        "test": github(
            "PhilipMay/stsb-multi-mt",
            COMMIT,
            "data/stsb-ru-test.csv",
            sha256="87a92ee27b26e724c4e4923d744d8198f9eef49698be7b514734118a755c4fce",
            bytes=295_513,
        ),
        "decisions": by_hand(
            DECISIONS,
            f"run the classifier {MODEL} once: pip install '.[acceptability]' and "
            "embedding-datasets decide stsb_ru --raw-dir DIR; or copy the file from somebody who has it",
        ),
    },
    decisions=Decisions(
        key="decisions",
        inputs=tuple(FILES.values()),
        model=MODEL,
        revision=REVISION,
        sentences=distinct_sentences,
        head=head_line,
        line=decision_line,
        rejected=rejected_sentences,
    ),
)


@dataset(
    "ru-stsbenchmark-sts",
    pretty_name="STS Benchmark (Russian)",
    benchmark="rumteb",
    task=STS(low=0.0, high=5.0, splits=("train", "validation", "test")),
    needs={
        "train": ("train", "dev", "test", "decisions"),
        "validation": ("dev", "test", "decisions"),
        "test": ("test", "decisions"),
    },
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Every pair once, in either order, ignoring case, punctuation and white space: drops rows whose pair has different"
            " scores, rows that duplicate an earlier pair, and rows whose pair is also in a later split. Drops pairs of two equal"
            " sentences with a score below 5. If the classifier accepted every sentence, that would be 166 train rows, 21"
            " validation rows and 15 test rows.",
            {"clean": True},
        ),
    },
    sample={"classifier": "made by hand for the golden sample"},
    prompts=Prompts("Retrieve semantically similar text", rosberta=("classification",), e5=("query",)),
)
def sts(raw: RawFiles, *, classifier: str = CLASSIFIER, same: str = "pair and score", clean: bool = False) -> Tables:
    """How close in meaning are two sentences?

    The source's three files, in their order, without the pairs that have a sentence judged unacceptable by the `classifier` and
    those that are the `same` as an earlier one of their split ("pair and score": both sentences and the score are equal;
    "pair": both sentences are equal). Instead of the latter, `clean` drops short, conflicting, repeated and leaked pairs, and
    pairs of two equal sentences with a score below 5 (builders.shaping.cleaning.clean_rows). Columns: id (String: `<split>-<row
    in the source's file, from 1>`); sentence1, sentence2 (String); score (Float64: 0 unrelated to 5 equivalent).
    """
    file = raw.whole("decisions")
    decisions = read_decisions(file, classifier)
    frames, dropped, observed = {}, list[Dropped](), dict[str, int]()
    for split in (split for split, key in FILES.items() if key in raw.files and (clean or split in raw.splits)):
        rows = read_pairs(raw[FILES[split]], split)
        observed |= {f"pairs read in {split}": rows.height}
        observed |= {f"distinct by {name} in {split}": rows.n_unique(columns) for name, columns in SAME.items()}
        first, second = (find_acceptable(rows[side], decisions, file) for side in ("sentence1", "sentence2"))
        exclusions = {"a sentence is not acceptable": pl.lit(~(first & second))}
        if not clean:
            exclusions[f"an earlier row has the same {same}"] = ~pl.struct(SAME[same]).is_first_distinct()
        frames[split], excluded = drop_each(rows, exclusions, split=split)
        dropped += excluded
    if clean:
        frames, more = clean_rows(frames, raw.splits, texts=SIDES, label="score", symmetric=True, top=5.0)
        dropped += more
    return Tables({"default": frames}, tuple(dropped), observed)
