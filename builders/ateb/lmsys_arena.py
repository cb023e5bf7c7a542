"""Chatbot Arena conversations: one message to two chatbots, and which answer its author voted for (Zheng et al., 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading.errors import malformed, shorten
from builders.reading.parquet import read_parquet
from builders.shaping.preferences import parse_preferences, rerank_pairs
from builders.shaping.rows import drop
from builders.spec import Dropped, RawFiles, Source, Tables, Version, dataset, hub
from builders.tasks import Reranking

if TYPE_CHECKING:
    from builders.spec import Raw

REVISION = "1b6335d42a1d2c7e34870c905d03ab964f7f2bd8"
A_PREFERRED = {"model_a": True, "model_b": False, "tie": None, "tie (bothbad)": None}
ROLES = ["user", "assistant"]
CONVERSATION = pl.List(pl.Struct({"content": pl.String(), "role": pl.String()}))
CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)
MODERATION = pl.Struct(
    {
        "categories": pl.Struct(dict.fromkeys(CATEGORIES, pl.Boolean())),
        "category_scores": pl.Struct(dict.fromkeys(CATEGORIES, pl.Float64())),
        "flagged": pl.Boolean(),
    }
)
TAGS = pl.Struct(
    {
        "roberta-large": pl.Struct({"flagged": pl.Boolean(), "probability": pl.Float64()}),
        "t5-large": pl.Struct({"flagged": pl.Boolean(), "score": pl.Float64()}),
    }
)
BATTLE = {
    "question_id": pl.String(),
    "winner": pl.String(),
    "conversation_a": CONVERSATION,
    "conversation_b": CONVERSATION,
    "turn": pl.Int64(),
    "language": pl.String(),
    "openai_moderation": MODERATION,
    "toxic_chat_tag": TAGS,
}

SOURCE = Source(
    name="lmsys_arena",
    title="Chatbot Arena conversations",
    license="cc-by-nc-4.0",
    license_note=(
        "The users' messages are under CC BY 4.0, the models' answers under CC BY-NC 4.0, and the models' own terms hold for"
        " these. Upstream hands the data out to those alone who accept its terms, which forbid any attempt to find out who the"
        " users are: whoever passes this dataset on should ask the same."
    ),
    homepage="https://huggingface.co/datasets/lmsys/chatbot_arena_conversations",
    citation="zheng2023judging",
    annotations=("crowdsourced",),
    files={
        "battles": hub(
            "lmsys/chatbot_arena_conversations",
            REVISION,
            "data/train-00000-of-00001-cced8514c7ed782a.parquet",
            gated=True,
            sha256="3726a6352e9bfc34e206460646f6e5e99bb837751966a671ddd30c7f64e5b06e",
        ),
    },
)


@dataset(
    "lmsys-reranking",
    benchmark="ateb",
    task=Reranking(),
    needs=("battles",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says; battles of one message, none of them flagged.",
        "2.0.0": Version(
            "Left out: pairs of answers that are equal but for case and white space, pairs that repeat another, and all that"
            " contradict each other.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the answer that a chatbot's user voted for first.

    Every battle is a query with two documents of its own, in the order of the source. corpus: id (String: `<battle>-0` and
    `<battle>-1`, in hash order), title (""), text: the answers; queries: id (String: the battle, its record's number from 0),
    text (String: the user's message), question_id (String: upstream's, not unique), language (String: its English name, as
    upstream detected it); qrels: query-id, corpus-id, score (Int64: 1 voted for, 0 not); top_ranked: query-id, corpus-ids
    (List(String): the two answers). clean: pairs that bend a score are left out (builders.shaping.preferences).
    """
    file = raw["battles"]
    battles = read_parquet(file, BATTLE).with_row_index("record", offset=1)
    pairs, dropped = _pairs(battles, file)
    made = rerank_pairs(pairs, split="test", clean=clean)
    return Tables(made.frames, (*dropped, *made.dropped), {"battles": battles.height} | dict(made.observed))


def _pairs(battles: pl.DataFrame, file: Raw) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The battles of one message that nothing flags, as builders.shaping.preferences takes them, and what became of the rest.

    Raises SourceError for an unknown winner, and for a message that is not a user's, or an answer that is not an assistant's.
    """
    rows = battles.with_columns(
        id=(pl.col("record") - 1).cast(pl.String),
        a_preferred=parse_preferences(battles["winner"], A_PREFERRED, file, unit="record"),
    )
    a, b = pl.col("conversation_a"), pl.col("conversation_b")
    tags = [pl.col("toxic_chat_tag").struct.field(tagger).struct.field("flagged") for tagger in TAGS.to_schema()]
    reasons = {
        "more than one message": (pl.col("turn") != 1) | (a.list.len() != 2) | (b.list.len() != 2),
        "flagged by OpenAI's moderation": pl.col("openai_moderation").struct.field("flagged"),
        "tagged as toxic": pl.any_horizontal(tags),
        "the two models were given different messages": _content(a, 0) != _content(b, 0),
    }
    dropped: list[Dropped] = []
    for reason, met in reasons.items():
        rows, gone = drop(rows, met, reason, split="test")
        dropped += gone
    _check_roles(rows, file)
    pairs = rows.select(
        "id", "question_id", "language", "a_preferred", query=_content(a, 0), a=_content(a, 1), b=_content(b, 1)
    )
    return pairs, tuple(dropped)


def _content(conversation: pl.Expr, place: int) -> pl.Expr:
    return conversation.list.get(place, null_on_oob=True).struct.field("content")


def _check_roles(rows: pl.DataFrame, file: Raw) -> None:
    for side in ("conversation_a", "conversation_b"):
        roles = rows.select("record", roles=pl.col(side).list.eval(pl.element().struct.field("role")))
        strays = roles.filter(pl.col("roles") != ROLES)
        if strays.height:
            record, found = strays.row(0)
            what, expected = f"a message of an unexpected role in {side!r}", " and ".join(ROLES)
            raise malformed(file, f"record {record}", what, found=shorten(" and ".join(found)), expected=expected)
