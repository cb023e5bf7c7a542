"""MEDI: the pairs that INSTRUCTOR was trained on, here 30 of its 330 tasks, without instructions (Su et al., 2023)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from builders import papers
from builders.errors import SourceError
from builders.ranking.mined_negatives import mined_files, mining, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.benchmark_index import INDEX_FILE, read_benchmark_index
from builders.shaping.contrastive import make_pairs
from builders.shaping.rows import join_tables, number_rows
from builders.spec import RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

COMMIT = "0db897b54a91d6bfaa1aae83763a890872122a0b"
FIRST_SHARD = "4a449b99cc858bb8d3faf04212636a8b216ea9c4497b37eb4fc39581cda76e2b"
SHARDS = tuple(f"data/train-{number:05}-of-00006.parquet" for number in range(6))
# The task_name in the file of each config. They are inferred from the scripts of MEDI2 (github.com/ContextualAI/gritlm): a file
# with others is refused, with all of its names.
SETS: Mapping[str, str] = {
    "agnews": "agnews",
    "amazonqa": "amazon-qa",
    "amazonreviews": "amazon_review_2018",
    "ccnews": "ccnews_title_text",
    "codesearchnet": "codesearchnet",
    "eli5": "eli5_question_answer",
    "fever": "fever",
    "flickr30k": "flickr30k_captions",
    "gooaq": "gooaq_pairs",
    "hotpotqa": "hotpotqa",
    "medmcqa": "medmcqa",
    "msmarco": "msmarco-triplets",
    "allnli": "AllNLI",
    "npr": "npr",
    "nq": "nq",
    "paq": "PAQ_pairs",
    "pubmed": "pubmedqa",
    "s2orc-title-abstract": "S2ORC_title_abstract",
    "simplewiki": "SimpleWiki",
    "specter": "specter_train_triples",
    "squad": "squad_pairs",
    "stackexchange-duplicates": "stackexchange_duplicate_questions_title_title",
    "trex": "trex",
    "triviaqa": "triviaqa",
    "wikianswers": "WikiAnswers",
    "wikihow": "wikihow",
    "wow": "wow",
    "xsum": "xsum",
    "yahoo-title-answer": "yahoo_answers_title_answer",
    "zeroshotre": "zero_shot_re",
}
CONFIG_OF = {name: config for config, name in SETS.items()}

SOURCE = Source(
    name="medi",
    title="MEDI, Multitask Embeddings Data with Instructions",
    license="other",
    license_note="Neither the upstream nor the pinned copy states a licence for the data. They come from many sources with"
    " their own terms, and some permit no commercial use. Only the recipe is published here.",
    homepage="https://github.com/xlang-ai/instructor-embedding",
    citation="su2023instructor",
    files={
        **{
            shard: hub("avsolatorio/medi-data", COMMIT, shard, sha256=None if number else FIRST_SHARD)
            for number, shard in enumerate(SHARDS)
        },
        "index": INDEX_FILE,
        **mined_files("medi-contrastive", tuple(SETS)),
    },
)


@dataset(
    "medi-contrastive",
    pretty_name="MEDI training pairs (English)",
    languages=("eng-Latn",),
    by_design={"too_few_negatives": "The source has one negative for each query."},
    task=Contrastive(tuple(SETS)),
    needs=(*SHARDS, "index"),
    versions=training_versions(
        "The 30 English sets of the ruMTEB paper's Table 6, as far as the paper says how they were made.", tuple(SETS)
    ),
    mining=mining(tuple(SETS)),
    citation=("snegirev2025rumteb",),
    sample={
        "rows": 70,
        "sizes": dict.fromkeys(SETS, 2) | {"agnews": 6, "fever": 4},
        "other_tasks": 2,
        "other_rows": 2,
        "mined_ranks": (2, 4),
    },
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 1_435_000,
    sizes: Mapping[str, int] | None = None,
    other_tasks: int = 300,
    other_rows: int = 600,
    accept_counts: bool = False,
    clean: bool = False,
) -> Tables:
    """Which text belongs to a query, and which only looks like it?

    30 tasks of MEDI, each a config, in the order of the file; instructions and the tasks of Super-NI are left out. A row of the
    file is a row here, with its positive and its negative. The file must have `rows` rows; each task must have the rows of
    `sizes` (by config; without it, those of Table 6), and what is left must be `other_tasks` tasks of `other_rows` rows.
    `accept_counts` accepts other counts of tasks, but not another total. `clean` drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `medi:<config>:<row in the whole file, from 0>`); query (String); positives, negatives (List(String), one each);
    negative_kinds (List(String): provided).

    Raises SourceError for another number of rows, other tasks or other counts, with every task_name and its count.
    """
    counts: dict[str, int] = {}
    parts: dict[str, list[Path]] = {config: [] for config in SETS}
    columns = dict.fromkeys(("query", "pos", "neg", "task_name"), pl.String())
    for number, rows_of_shard in enumerate(number_rows(read_parquet(raw[shard], columns) for shard in SHARDS)):
        for (name,), frame in rows_of_shard.group_by("task_name", maintain_order=True):
            counts[str(name)] = counts.get(str(name), 0) + frame.height
            if config := CONFIG_OF.get(str(name)):
                part = raw.scratch / f"{config}-{number}.parquet"
                frame.drop("task_name").write_parquet(part)
                parts[config].append(part)
    expected = sizes or {config: row.pairs for config, row in papers.sets_of("medi-contrastive").items()}
    _check_counts(raw, counts, rows, expected, (other_tasks, other_rows), accept=accept_counts)
    index = read_benchmark_index(raw.whole("index"))
    total = sum(counts.values())
    left_out = total - sum(_of_sets(counts).values())
    built = [Tables({}, observed={"rows in the file": total, "rows of tasks that are left out": left_out})]
    for config in SETS:
        of_set = pl.concat([pl.read_parquet(part) for part in parts[config]]).select(
            "query",
            id=pl.format(f"medi:{config}:{{}}", "number"),
            positives=pl.concat_list("pos"),
            negatives=pl.concat_list("neg"),
        )
        made = make_pairs(of_set, config, index, size=of_set.height, clean=clean, deduplicate=False)
        path = raw.scratch / f"{config}.parquet"
        made.frames[config]["train"].lazy().collect().write_parquet(path)
        built.append(
            replace(
                made,
                frames={config: {"train": pl.scan_parquet(path)}},
                observed={f"rows of {config} in the source": of_set.height},
            )
        )
    return join_tables(*built)


def _of_sets(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of the tasks that are sets here, by config."""
    return {CONFIG_OF[name]: count for name, count in counts.items() if name in CONFIG_OF}


def _check_counts(
    raw: RawFiles,
    counts: Mapping[str, int],
    rows: int,
    sizes: Mapping[str, int],
    others: tuple[int, int],
    *,
    accept: bool,
) -> None:
    """Refuse another total, a set without rows and, unless accepted, other counts."""
    total, found, (tasks, of_task) = sum(counts.values()), _of_sets(counts), others
    listed = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
    rest = {name: count for name, count in counts.items() if name not in CONFIG_OF}
    wrong = [
        f"{SETS[config]} {found.get(config, 0):,} rows, not {size:,}"
        for config, size in sizes.items()
        if found.get(config, 0) != size
    ]
    if len(rest) != tasks or set(rest.values()) - {of_task}:
        wrong.append(f"{len(rest):,} other tasks with {sum(rest.values()):,} rows, not {tasks:,} of {of_task:,} each")
    missing = [SETS[config] for config in SETS if config not in found]
    if total == rows and not missing and (accept or not wrong):
        return
    if total != rows:
        what, why, todo = (
            "the file has another number of rows",
            f"{total:,} rows",
            "take the version with 1,435,000 rows",
        )
    elif missing:
        what, why = "the file lacks tasks", ", ".join(missing)
        todo = "correct the names in SETS of builders/training/medi.py by those of the file"
    else:
        what, why = "the tasks of the file have other counts than the paper", "; ".join(wrong)
        todo = "compare them with Table 6; the option accept_counts=True of the recipe accepts them"
    raise SourceError(
        f"MEDI: {what}",
        where=raw[SHARDS[0]].name,
        found=f"{why}. All tasks: {listed}",
        expected=f"{rows:,} rows: {len(SETS)} sets and {tasks:,} other tasks of {of_task:,} rows",
        todo=todo,
    )
