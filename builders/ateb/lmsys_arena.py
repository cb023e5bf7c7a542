"""Chatbot Arena conversations: a message to two chatbots, and the answer its author voted for (Zheng et al., 2023)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.parquet import read_parquet
from builders.shaping.preferences import CLEAN_NOTES, parse_preferences, rerank_pairs
from builders.shaping.rows import drop_each, refuse
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking

REVISION = "1b6335d42a1d2c7e34870c905d03ab964f7f2bd8"
PATH = "data/train-00000-of-00001-cced8514c7ed782a.parquet"
A_PREFERRED = {"model_a": True, "model_b": False, "tie": None, "tie (bothbad)": None}
ROLES = ["user", "assistant"]
TAGGERS = ("roberta-large", "t5-large")
CONVERSATION = pl.List(pl.Struct({"content": pl.String(), "role": pl.String()}))
FLAG = pl.Struct({"flagged": pl.Boolean()})
COLUMNS = {
    "question_id": pl.String(),
    "winner": pl.String(),
    "conversation_a": CONVERSATION,
    "conversation_b": CONVERSATION,
    "turn": pl.Int64(),
    "language": pl.String(),
    "openai_moderation": FLAG,
    "toxic_chat_tag": pl.Struct(dict.fromkeys(TAGGERS, FLAG)),
}

SOURCE = Source(
    name="lmsys_arena",
    title="Chatbot Arena conversations",
    license="cc-by-nc-4.0",
    license_note=(
        "The users' messages are under CC BY 4.0 and the models' answers under CC BY-NC 4.0; the models' own terms apply to the"
        " answers as well. Upstream shares the data only with those who accept its terms, which forbid attempts to identify the"
        " users: ask the same of anyone you share this dataset with."
    ),
    homepage="https://huggingface.co/datasets/lmsys/chatbot_arena_conversations",
    citation="zheng2023judging",
    annotations=("crowdsourced",),
    files={
        "battles": hub(
            "lmsys/chatbot_arena_conversations",
            REVISION,
            PATH,
            gated=True,
            sha256="3726a6352e9bfc34e206460646f6e5e99bb837751966a671ddd30c7f64e5b06e",
        ),
    },
)


@dataset(
    "lmsys-reranking",
    pretty_name="Chatbot Arena reranking (English)",
    benchmark="ateb",
    task=Reranking(),
    needs=("battles",),
    versions={
        "1.0.0": "Unflagged battles with a single message: a rule of ours, as the ATEB paper describes no filter.",
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}),
    },
    citation=("chiang2024chatbot",),
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank first the answer that a chatbot's user voted for.

    Every battle is a query with its own two documents, in source order. corpus: id (String: `<battle>-0` and `<battle>-1`,
    numbered by hash), title (""), text: the answers; queries: id (String: the battle, i.e. its 0-based record number), text
    (String: the user's message), question_id (String: upstream's, not unique), language (String: its English name, as upstream
    detected it); qrels: query-id, corpus-id, score (Int64: 1 voted for, 0 not); top_ranked: query-id, corpus-ids (List(String):
    the two answers). clean: drop pairs that would distort scores (builders.shaping.preferences).

    Raises SourceError for an unknown winner, and for a message that is not by a user followed by an answer of an assistant.
    """
    battles = read_parquet(raw["battles"], COLUMNS).with_row_index("record")
    a, b = pl.col("conversation_a"), pl.col("conversation_b")
    exclusions = {
        "more than one message": (pl.col("turn") != 1) | (a.list.len() != 2) | (b.list.len() != 2),
        "flagged by OpenAI's moderation": pl.col("openai_moderation").struct.field("flagged"),
        "tagged as toxic": pl.any_horizontal(
            pl.col("toxic_chat_tag").struct.field(tagger).struct.field("flagged") for tagger in TAGGERS
        ),
        "the two models were given different messages": _content(a, 0) != _content(b, 0),
    }
    rows = battles.with_columns(
        id=pl.col("record").cast(pl.String),
        a_preferred=parse_preferences(battles["winner"], A_PREFERRED, raw["battles"], unit="record"),
    )
    rows, dropped = drop_each(rows, exclusions, split="test")
    for side in ("conversation_a", "conversation_b"):
        refuse(
            rows.with_columns(roles=pl.col(side).list.eval(pl.element().struct.field("role"))),
            pl.col("roles") != ROLES,
            raw["battles"],
            f"a message of an unexpected role in {side!r}",
            found=pl.col("roles").list.join(" and "),
            expected=" and ".join(ROLES),
            location=pl.format("record {}", pl.col("record") + 1),
        )
    pairs = rows.select(
        "id", "question_id", "language", "a_preferred", query=_content(a, 0), a=_content(a, 1), b=_content(b, 1)
    )
    tables = rerank_pairs(pairs, split="test", clean=clean)
    return Tables(tables.frames, dropped + tables.dropped, {"battles": battles.height, **tables.observed})


def _content(conversation: pl.Expr, index: int) -> pl.Expr:
    return conversation.list.get(index, null_on_oob=True).struct.field("content")
