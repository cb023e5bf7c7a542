"""Yandex Q: questions on anything, with their answers, votes and views (its5Q, 2022)."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.choices import choose_answers
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.shaping.text import WHITE_SPACE
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "yandex_q"
QA, TITLE_BODY = "yandex-q-qa", "yandex-q-title-body"
QUESTION = {"id2": pl.Int64, "title": pl.String, "plainText": pl.String, "viewsCount": pl.Int64}
ANSWER = pl.Struct({"id": pl.String, "id2": pl.Int64, "plainText": pl.String, "votes": pl.Int64})
OPTIONAL = ("title", "plainText", "viewsCount")
TAG = "</?[a-zA-Z][^<>]*>"


def _read_questions(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the text of the question), views, question_votes (Int64)."""
    columns = QUESTION | {"votes": pl.Int64}
    for batch in json_lines(files["questions"], columns, optional=(*OPTIONAL, "votes")):
        yield batch.select(
            number="id2",
            query=_title(),
            positive=_unescape(batch["plainText"]),
            views="viewsCount",
            question_votes="votes",
        )


def _read_answers(files: Mapping[str, Raw], *, body: bool) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the chosen answer), answer_votes, views (Int64).

    body: the query is the title, a line feed and the text of the question.
    """
    columns = QUESTION | {"approvedAnswerId": pl.String} | {"answers": pl.List(ANSWER)}
    optional = (*OPTIONAL, "approvedAnswerId", "answers[].plainText", "answers[].votes")
    for batch in json_lines(files["questions"], columns, optional=optional, records=("answers",)):
        approved = pl.col("id") == pl.col("approvedAnswerId")
        chosen = choose_answers(batch, number="id2", text="plainText", votes="votes", accepted=approved)
        chosen = chosen.with_columns(title=_title(), text=_unescape(chosen["plainText"]).replace("", None))
        both = pl.concat_str("title", "text", separator="\n", ignore_nulls=True)
        yield chosen.select(
            "answer_votes",
            number="id2",
            query=both if body else pl.coalesce("title", "text"),
            positive=_unescape(chosen["answer"]),
            views="viewsCount",
        )


def _title() -> pl.Expr:
    """The title of a question, or null where it has none."""
    return pl.when(pl.col("title").str.strip_chars(WHITE_SPACE) != "").then("title")


def _unescape(texts: pl.Series) -> pl.Series:
    """Texts with characters instead of references like `&quot;`."""
    rows = texts.str.contains("&", literal=True).fill_null(value=False).arg_true()
    return texts.scatter(rows, pl.Series([html.unescape(text) for text in texts[rows]], dtype=pl.String))


def _pair_sets(qa_rows: int = 100_000, title_body_rows: int = 55_000, *, body: bool = False) -> tuple[PairSet, PairSet]:
    no_answer = {"no answer with a text": pl.col("positive").is_null()}
    return (
        PairSet(QA, qa_rows, partial(_read_answers, body=body), ("answer_votes", "views"), no_answer),
        PairSet(TITLE_BODY, title_body_rows, _read_questions, ("views", "question_votes")),
    )


SOURCE = Source(
    name=NAME,
    title="Yandex Q",
    license="cc0-1.0",
    license_note="The card on the Hub states this licence. The texts were written by users of yandex.ru/q.",
    homepage="https://huggingface.co/datasets/its5Q/yandex-q",
    citation="its5q2022yandexq",
    files={
        "questions": hub(
            "its5Q/yandex-q", "59c5209a15c125715c1019a77451de74d1330100", "full.jsonl.gz", about=1_580_000_000
        ),
        **training_files(NAME, (QA, TITLE_BODY)),
    },
    measurements=(
        measure_tokens(("questions",), partial(texts_to_measure, (*_pair_sets(), _pair_sets(body=True)[0]), NAME)),
    ),
)


@dataset(
    "yandex-q-contrastive",
    pretty_name="Yandex Q training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((QA, TITLE_BODY)),
    needs=("questions", "tokens", "index"),
    versions=training_versions(
        "The sets YandexQ QA and Title-Body of the ruMTEB paper's Table 6, as far as the paper says how they were made.",
        (QA, TITLE_BODY),
    ),
    mining=mining((QA, TITLE_BODY)),
    citation=("snegirev2025rumteb",),
    sample={"qa_rows": 5, "title_body_rows": 4, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    qa_rows: int = 100_000,
    title_body_rows: int = 55_000,
    body: bool = False,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which answer belongs to a question, and which text to a title?

    Config yandex-q-qa: the title of a question (its text where it has no title) and one answer: the approved one, else the one
    with the most votes (of equal ones the smallest id2; answers without text are passed over). body: the text of the question
    follows its title. Ranked by the votes of the answer and the views of the question. Config yandex-q-title-body: the title of a
    question and its text, ranked by views and votes. Texts are the plain texts of the source without white space at their ends;
    references like `&quot;` in texts of questions and answers are replaced, tags are counted and stay.
    builders.shaping.popularity.select_pool drops what is too long (`max_tokens`) or repeated and takes the most popular `times` *
    `qa_rows` or `title_body_rows` rows; as many as that are drawn of these in hash order, independently for each config. `clean`
    also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `yandex_q:<config>:<id2 of the question>`); query (String); positives (List(String), one each); negatives, negative_kinds
    (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    sets = _pair_sets(qa_rows, title_body_rows, body=body)
    tables = build_sets(raw, NAME, sets, times=times, limit=max_tokens, clean=clean)
    with_tags = {
        f"positives of {config} with HTML tags": splits["train"]
        .lazy()
        .select(pl.col("positives").list.first().str.contains(TAG).sum())
        .collect()
        .item()
        for config, splits in tables.frames.items()
    }
    answers = tables.frames[QA]["train"].lazy().select(pl.col("positives").list.first()).collect().to_series()
    shared = {f"positives of {QA} that another question has too": int(answers.is_duplicated().sum())}
    return replace(tables, observed={**tables.observed, **with_tags, **shared})
