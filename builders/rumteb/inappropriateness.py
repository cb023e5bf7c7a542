"""Inappropriate messages and sensitive topics: Russian messages, judged by a crowd (Babakov et al., 2021 and 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading import read_csv
from builders.reading.errors import malformed
from builders.shaping.cleaning import each_text_once
from builders.shaping.folding import fold_text
from builders.shaping.rows import drop
from builders.shaping.sampling import order, split, split_keeping_balance
from builders.spec import Prompts, RawFile, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Classification, MultilabelClassification

if TYPE_CHECKING:
    from builders.reading.values import Columns
    from builders.spec import Raw

LABELS = ("appropriate", "inappropriate")
TOPICS = (
    "offline_crime",
    "online_crime",
    "drugs",
    "gambling",
    "pornography",
    "prostitution",
    "slavery",
    "suicide",
    "terrorism",
    "weapons",
    "body_shaming",
    "health_shaming",
    "politics",
    "racism",
    "religion",
    "sexual_minorities",
    "sexism",
    "social_injustice",
)


def _file(path: str, git_blob: str) -> RawFile:
    commit = "c298b0ef3277ad4112e8af79b3f600821824ee68"
    return github("s-nlp/inappropriate-sensitive-topics", commit, path, name=path, git_blob=git_blob)


SOURCE = Source(
    name="inappropriateness",
    title="Inappropriate Messages and Sensitive Topics, version 3",
    license="cc-by-nc-sa-4.0",
    homepage="https://github.com/s-nlp/inappropriate-sensitive-topics",
    citation=("babakov2021detecting", "babakov2024beyond"),
    annotations=("crowdsourced", "machine-generated"),
    files={
        # The first name is spelt like this upstream.
        "messages": _file("Version3/Inappapropriate_messages.csv", "b9900e63be0a0f9aa651f85ae73d06ff57b2f41f"),
        "topics": _file("Version3/sensitive_topics.csv", "749bc49020900f1b5f269d619b6d26ce2bd5aa30"),
    },
)


@dataset(
    "inappropriateness-classification",
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("messages",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Drawn from messages whose texts differ in more than case, punctuation and white space: where they do not, the first"
            " is kept, or none where the labels differ. Texts of a single character are left out.",
            {"clean": True},
        ),
    },
    sample={"train_per_class": 3, "validation_per_class": 1, "test_per_class": 1},
    prompts=Prompts(
        "Classify the given message as either sensitive topic or not", rosberta=("clustering",), e5=("query",)
    ),
)
def classification(
    raw: RawFiles,
    *,
    train_per_class: int = 20_000,
    validation_per_class: int = 2_000,
    test_per_class: int = 5_000,
    threshold: float = 0.5,
    clean: bool = False,
) -> Tables:
    """Could a message harm the reputation of whoever says it?

    A message is inappropriate where its score is at least `threshold`. Duplicates are left out, exact or, to be `clean`, folded
    (builders.shaping.cleaning): a text with both labels altogether, others but for the first. As many messages of each class.
    Columns: id (String: the message's row in the raw file, 0-based); text (String); label (Int64: 0 appropriate,
    1 inappropriate); label_text (String).
    """
    label = (pl.col("inappropriate") >= threshold).cast(pl.Int64)
    rows = scored(raw["messages"], ("inappropriate",)).select("id", "text", label=label)
    rows = rows.with_columns(label_text=pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String))
    rows, repeated = each_text_once(rows, fold=clean)
    sizes = {"train": train_per_class, "validation": validation_per_class, "test": test_per_class}
    frames = split(rows, sizes, by="label", key="id", seed="inappropriateness-classification")
    return Tables({"default": {name: frames[name] for name in raw.splits}}, repeated)


@dataset(
    "sensitive-topics-classification",
    benchmark="rumteb",
    task=MultilabelClassification(labels=TOPICS),
    needs=("topics",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(
            "Drawn from messages whose texts differ in more than case, punctuation and white space: where they do not, those that"
            " people labelled count before others, then the first is kept, or none where the topics differ. Texts of a single"
            " character are left out.",
            {"clean": True},
        ),
    },
    sample={"test_rows": 6},
    prompts=Prompts("Given a sentence as query, find sensitive topics", rosberta=("clustering",), e5=("query",)),
)
def sensitive_topics(
    raw: RawFiles,
    *,
    test_rows: int = 2_048,
    threshold: float = 0.5,
    low: float = 0.1,
    high: float = 0.9,
    clean: bool = False,
) -> Tables:
    """Which of 18 sensitive topics does a message touch?

    A message touches a topic where its confidence is at least `threshold`. test: `test_rows` of the messages that people
    labelled, each list of topics in its share; train: the others of these, and of those labelled automatically the ones whose
    every confidence is at most `low` or at least `high`. A text that stands in several rows is kept once: one labelled by
    people before others, then the first; to be `clean`, texts are compared folded, and one whose rows differ in their topics,
    those of people aside from others, is left out (builders.shaping.cleaning). Columns: id (String: the message's row in the raw
    file, 0-based); text (String); label (List(Int64): the topics' numbers, ascending; empty for none).
    """
    scores = scored(raw["topics"], (*TOPICS, "human_labeled"))
    rows = scores.select("id", "text", "human_labeled", label=topics(threshold), certain=certain(low, high))
    by_people = pl.col("human_labeled") == 1
    doubtful = ~by_people & ~pl.col("certain")
    observed = {"messages": rows.height, "messages labelled by people": rows.filter(by_people).height}
    rows, unsure = drop(
        rows, doubtful, f"labelled automatically, with a confidence between {low} and {high}", split="all"
    )
    rows = rows.sort("human_labeled", descending=True, maintain_order=True)
    if clean:
        judged = by_people.any().over(fold_text(pl.col("text")))
        rows, other = drop(rows, judged & ~by_people, "people labelled the text in another row", split="all")
        rows, again = each_text_once(rows, fold=True)
    else:
        contradicts = pl.col("label") != pl.col("label").first().over("text")
        rows, other = drop(rows, contradicts, "another row of the same text, with other topics", split="all")
        repeats = ~pl.col("text").is_first_distinct()
        rows, again = drop(rows, repeats, "another row of the same text, with the same topics", split="all")
    seed = "sensitive-topics-classification"
    test = split_keeping_balance(rows.filter(by_people), {"test": test_rows}, by="label", key="id", seed=seed)["test"]
    train = order(rows.join(test, on="id", how="anti"), key="id", seed=seed)
    frames = {"train": train, "test": test}
    default = {name: frames[name].select("id", "text", "label") for name in raw.splits}
    return Tables({"default": default}, (*unsure, *other, *again), observed)


def scored(file: Raw, columns: tuple[str, ...]) -> pl.DataFrame:
    """id (String: the row, 0-based), text and the named columns of a table: scores between 0 and 1 (Float64).

    Raises SourceError for a score outside.
    """
    schema: Columns = {"text": pl.String()} | dict.fromkeys(columns, pl.Float64())
    rows = read_csv(file, schema).with_columns(id=pl.int_range(pl.len()).cast(pl.String))
    for column in columns:
        outside = rows.filter(~pl.col(column).is_between(0, 1))
        if outside.height:
            place, score = f"record {int(outside['id'][0]) + 1}, column {column}", str(outside[column][0])
            raise malformed(file, place, "a score out of range", found=score, expected="0 to 1")
    return rows


def topics(threshold: float) -> pl.Expr:
    """The numbers of the topics whose confidence reaches the threshold, ascending (List(Int64))."""
    numbers = [pl.when(pl.col(topic) >= threshold).then(pl.lit(number)) for number, topic in enumerate(TOPICS)]
    return pl.concat_list(numbers).list.drop_nulls().cast(pl.List(pl.Int64))


def certain(low: float, high: float) -> pl.Expr:
    """Whether every topic's confidence is at most `low` or at least `high`."""
    return pl.all_horizontal((pl.col(topic) <= low) | (pl.col(topic) >= high) for topic in TOPICS)
