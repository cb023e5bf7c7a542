"""Inappropriate messages and sensitive topics: Russian messages with crowdsourced labels (Babakov et al., 2021 and 2024)."""

import polars as pl

from builders.published import published_files
from builders.raw_files import RawFile, github
from builders.reading.csv import read_csv
from builders.reading.values import Columns
from builders.shaping.cleaning import DEDUPLICATED, deduplicate_texts, keep_first_texts
from builders.shaping.folding import fold_text_1
from builders.shaping.rows import drop, refuse
from builders.shaping.sampling import draw_splits, sample_stratified, sort_by_hash
from builders.spec import OWN_DRAW, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification, MultilabelClassification

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
        # Upstream's spelling.
        "messages": _file("Version3/Inappapropriate_messages.csv", "b9900e63be0a0f9aa651f85ae73d06ff57b2f41f"),
        "topics": _file("Version3/sensitive_topics.csv", "749bc49020900f1b5f269d619b6d26ce2bd5aa30"),
        **published_files("inappropriateness-classification", "sensitive-topics-classification"),
    },
)


def read_messages(raw: RawFiles, threshold: float = 0.5) -> pl.DataFrame:
    """All messages: id (String: the row in the raw file, from 0), text (String), label (Int64) and label_text (String)."""
    label = (pl.col("inappropriate") >= threshold).cast(pl.Int64)
    return read_scores(raw["messages"], ("inappropriate",)).select(
        "id", "text", label=label, label_text=label.replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String)
    )


def read_topics(raw: RawFiles) -> pl.DataFrame:
    """All messages with their topics, as those of 1.0.0: id (String: the row, from 0), text (String) and label (List(Int64))."""
    return read_scores(raw["topics"], TOPICS).select("id", "text", label=find_topics(0.5))


@dataset(
    "inappropriateness-classification",
    pretty_name="Inappropriateness classification (Russian)",
    benchmark="rumteb",
    task=Classification(labels=LABELS),
    needs=("messages",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper.",
        "2.0.0": Version(DEDUPLICATED, {"clean": True}),
    },
    sample={"train_per_class": 3, "validation_per_class": 1, "test_per_class": 1},
    own_rows=OWN_DRAW,
    published=read_messages,
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
    """Is a message inappropriate: could it harm the reputation of a company whose chat bot says it?

    A message is inappropriate if its score is at least `threshold`. Balanced splits of the messages without duplicates: of equal
    texts, the first is kept, or none if their labels differ. `clean` compares texts ignoring case, punctuation and white space
    (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the message's row in the raw file, from 0); text (String);
    label (Int64: 0 appropriate, 1 inappropriate); label_text (String).
    """
    rows, dropped = deduplicate_texts(read_messages(raw, threshold), fold=clean)
    return draw_splits(
        rows,
        raw.splits,
        seed="inappropriateness-classification",
        dropped=dropped,
        train=train_per_class,
        validation=validation_per_class,
        test=test_per_class,
    )


@dataset(
    "sensitive-topics-classification",
    pretty_name="Sensitive topics classification (Russian)",
    task_ids=("topic-classification",),
    benchmark="rumteb",
    task=MultilabelClassification(labels=TOPICS),
    needs=("topics",),
    versions={
        "1.0.0": "The recipe of the ruMTEB paper, which does not state the confidences that count: they are this recipe's.",
        "2.0.0": Version(
            "Drawn from messages whose texts differ in more than case, punctuation and white space. Of texts that differ in"
            " nothing else, those labelled by people take precedence; then the first is kept, or none if their topics differ."
            " Texts of a single character are dropped.",
            {"clean": True},
        ),
    },
    sample={"test_rows": 6},
    own_rows=OWN_DRAW,
    published=read_topics,
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

    A message touches a topic if its confidence is at least `threshold`. test: `test_rows` messages labelled by people, stratified
    by their lists of topics. train: all other messages labelled by people, and those labelled automatically with every confidence
    at most `low` or at least `high`. Of equal texts, one labelled by people takes precedence; then the first is kept. `clean`
    compares texts ignoring case, punctuation and white space, and drops those with different topics
    (builders.shaping.cleaning.deduplicate_texts). Columns: id (String: the message's row in the raw file, from 0); text (String);
    label (List(Int64): the topics' numbers, ascending; empty for none).
    """
    scores = read_scores(raw["topics"], (*TOPICS, "human_labeled"))
    rows = scores.select("id", "text", "human_labeled", label=find_topics(threshold), certain=is_certain(low, high))
    by_people = pl.col("human_labeled") == 1
    observed = {"messages": rows.height, "messages labelled by people": rows.filter(by_people).height}
    doubtful = f"labelled automatically, with a confidence between {low} and {high}"
    rows, uncertain = drop(rows, ~by_people & ~pl.col("certain"), doubtful, split="all")
    rows = rows.sort("human_labeled", descending=True, maintain_order=True)
    if clean:
        other = by_people.any().over(fold_text_1(pl.col("text"))) & ~by_people
        rows, superseded = drop(rows, other, "duplicate of a text labelled by people", split="all")
        rows, repeated = deduplicate_texts(rows, fold=True)
    else:
        rows, repeated = keep_first_texts(rows, of="another row", named="set of topics")
        superseded = ()
    seed = "sensitive-topics-classification"
    test = sample_stratified(rows.filter(by_people), test_rows, by="label", key="id", seed=seed)
    train = sort_by_hash(rows.join(test, on="id", how="anti"), key="id", seed=seed)
    frames = {"train": train, "test": test}
    default = {name: frames[name].select("id", "text", "label") for name in raw.splits}
    return Tables({"default": default}, uncertain + superseded + repeated, observed)


def read_scores(file: Raw, columns: tuple[str, ...]) -> pl.DataFrame:
    """A table of scores from 0 to 1: id (String: the row, from 0), text (String) and the named columns (Float64).

    Raises SourceError for a score out of range.
    """
    schema: Columns = {"text": pl.String()} | dict.fromkeys(columns, pl.Float64())
    rows = read_csv(file, schema)
    for column in columns:
        outside = ~pl.col(column).is_between(0, 1)
        refuse(
            rows,
            outside,
            file,
            f"score out of range in column {column!r}",
            found=column,
            expected="0 to 1",
            unit="record",
        )
    return rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String))


def find_topics(threshold: float) -> pl.Expr:
    """The numbers of the topics whose confidence is at least the threshold, ascending (List(Int64))."""
    numbers = [pl.when(pl.col(topic) >= threshold).then(pl.lit(number)) for number, topic in enumerate(TOPICS)]
    return pl.concat_list(numbers).list.drop_nulls().cast(pl.List(pl.Int64))


def is_certain(low: float, high: float) -> pl.Expr:
    """Whether the confidence of every topic is at most `low` or at least `high`."""
    return pl.all_horizontal((pl.col(topic) <= low) | (pl.col(topic) >= high) for topic in TOPICS)
