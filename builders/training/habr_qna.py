"""Habr Q&A: questions of programmers with their answers and votes, in HTML (its5Q, 2023)."""

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.choices import choose_answers
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.shaping.text import html_to_lines
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "habr_qna"
QA, TITLE_BODY = "habr-qna-qa", "habr-qna-title-body"
QUESTION = {"id": pl.Int64, "title": pl.String, "description": pl.String, "view_count": pl.Int64}
ANSWER = pl.Struct({"id": pl.Int64, "body": pl.String, "accepted": pl.Boolean, "upvote_count": pl.Int64})
OPTIONAL = ("title", "description", "view_count")


def _read_questions(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the text of the question), view_count, subscribers_count (Int64)."""
    columns = QUESTION | {"subscribers_count": pl.Int64}
    for batch in json_lines(files["questions"], columns, optional=(*OPTIONAL, "subscribers_count")):
        yield batch.select(
            "view_count",
            "subscribers_count",
            number="id",
            query="title",
            positive=html_to_lines(batch["description"].fill_null("")),
        )


def _read_answers(files: Mapping[str, Raw], *, body: bool) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the chosen answer), accepted, upvote_count, view_count (Int64), answered.

    answered (Boolean): whether there is an answer. body: the query is the title, a line feed and the text of the question.
    """
    columns = QUESTION | {"answers": pl.List(ANSWER)}
    optional = (*OPTIONAL, "answers[].body", "answers[].accepted", "answers[].upvote_count")
    for batch in json_lines(files["questions"], columns, optional=optional, records=("answers",)):
        chosen = choose_answers(batch, number="id", text="body", votes="upvote_count", accepted=pl.col("accepted"))
        title = pl.col("title")
        yield chosen.select(
            "accepted",
            "view_count",
            number="id",
            query=pl.concat_str(title, html_to_lines(chosen["description"].fill_null("")), separator="\n")
            if body
            else title,
            positive=html_to_lines(chosen["answer"].fill_null("")),
            upvote_count="answer_votes",
            answered=pl.col("answer").is_not_null(),
        )


def _pair_sets(
    qa_rows: int = 100_000, title_body_rows: int = 100_000, *, body: bool = False
) -> tuple[PairSet, PairSet]:
    unreadable = {"HTML that cannot be read": pl.col("positive").is_null()}
    no_answer = {"no answer with a text": ~pl.col("answered")} | unreadable
    of_answers = ("accepted", "upvote_count", "view_count")
    return (
        PairSet(QA, qa_rows, partial(_read_answers, body=body), of_answers, no_answer),
        PairSet(TITLE_BODY, title_body_rows, _read_questions, ("view_count", "subscribers_count"), unreadable),
    )


SOURCE = Source(
    name=NAME,
    title="Habr Q&A",
    license="cc0-1.0",
    license_note="The card on the Hub states this licence. The texts were written by users of qna.habr.com.",
    homepage="https://huggingface.co/datasets/its5Q/habr_qna",
    citation="its5q2023habrqna",
    files={
        "questions": hub(
            "its5Q/habr_qna", "b0875a6944533b8011fccfc0a712df06959ad055", "questions.jsonl.zst", about=499_000_000
        ),
        **training_files(NAME, (QA, TITLE_BODY)),
    },
    measurements=(
        measure_tokens(("questions",), partial(texts_to_measure, (*_pair_sets(), _pair_sets(body=True)[0]), NAME)),
    ),
)


@dataset(
    "habr-qna-contrastive",
    pretty_name="Habr Q&A training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((QA, TITLE_BODY)),
    needs=("questions", "tokens", "index"),
    versions=training_versions(
        "The sets HabrQnA QA and Title-Body of the ruMTEB paper's Table 6, as far as the paper says how they were made.",
        (QA, TITLE_BODY),
    ),
    mining=mining((QA, TITLE_BODY)),
    citation=("snegirev2025rumteb",),
    sample={"qa_rows": 5, "title_body_rows": 5, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    qa_rows: int = 100_000,
    title_body_rows: int = 100_000,
    body: bool = False,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which answer belongs to a question, and which text to a title?

    Config habr-qna-qa: the title of a question and one answer: the accepted one, else the one with the most votes (of equal ones
    the smallest id; answers without text are passed over). body: the text of the question follows its title. Ranked by whether
    the answer was accepted, its votes, and the views of the question. Config habr-qna-title-body: the title of a question and its
    text, ranked by views and subscribers. Texts other than titles are HTML in the source, and converted by
    builders.shaping.text.html_to_lines. builders.shaping.popularity.select_pool drops what is too long (`max_tokens`) or
    repeated and takes the most popular `times` * `qa_rows` or `title_body_rows` rows; as many as that are drawn of these in hash
    order, independently for each config. `clean` also drops what builders.shaping.contrastive.clean_pairs does and what the index
    of benchmarks has. Columns: id (String: `habr_qna:<config>:<id of the question>`); query (String); positives (List(String),
    one each); negatives, negative_kinds (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    return build_sets(
        raw, NAME, _pair_sets(qa_rows, title_body_rows, body=body), times=times, limit=max_tokens, clean=clean
    )
