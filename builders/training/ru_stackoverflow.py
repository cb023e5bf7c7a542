"""StackOverflow in Russian: questions with their answers and votes (Gusev, 2023)."""

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import hub
from builders.reading.json import json_lines
from builders.shaping.choices import choose_answers
from builders.shaping.measurements import LIMIT, measure_tokens
from builders.shaping.popularity import TIMES, PairSet, build_sets, texts_to_measure
from builders.spec import Raw, RawFiles, Source, Tables, dataset
from builders.tasks import Contrastive

NAME = "ru_stackoverflow"
QA, TITLE_BODY = "ru-stackoverflow-qa", "ru-stackoverflow-title-body"
ANSWER = pl.Struct({"answer_id": pl.Int64, "is_accepted": pl.Int64, "text_markdown": pl.String, "score": pl.Int64})
QUESTION = {
    "question_id": pl.Int64,
    "title": pl.String,
    "text_markdown": pl.String,
    "score": pl.Int64,
    "views": pl.Int64,
}
OPTIONAL = ("title", "text_markdown", "score", "views", "answers[].text_markdown", "answers[].score")


def _read_questions(files: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the text of the question), question_score, views (Int64)."""
    for batch in json_lines(files["questions"], QUESTION, optional=OPTIONAL[:4]):
        yield batch.select(
            "views", number="question_id", query="title", positive="text_markdown", question_score="score"
        )


def _read_answers(files: Mapping[str, Raw], *, body: bool) -> Iterator[pl.DataFrame]:
    """Batches: number (Int64), query, positive (String: the chosen answer), answer_score, question_score, views (Int64).

    body: the query is the title, a line feed and the text of the question.
    """
    columns = QUESTION | {"answers": pl.List(ANSWER)}
    for batch in json_lines(files["questions"], columns, optional=OPTIONAL, records=("answers",)):
        title, accepted = pl.col("title"), pl.col("is_accepted") == 1
        chosen = choose_answers(batch, number="answer_id", text="text_markdown", votes="score", accepted=accepted)
        yield chosen.select(
            "views",
            number="question_id",
            query=pl.concat_str(title, "text_markdown", separator="\n") if body else title,
            positive="answer",
            answer_score="answer_votes",
            question_score="score",
        )


def _pair_sets(qa_rows: int = 100_000, title_body_rows: int = 75_000, *, body: bool = False) -> tuple[PairSet, PairSet]:
    no_answer = {"no answer with a text": pl.col("positive").is_null()}
    of_answers = ("answer_score", "question_score", "views")
    return (
        PairSet(QA, qa_rows, partial(_read_answers, body=body), of_answers, no_answer),
        PairSet(TITLE_BODY, title_body_rows, _read_questions, ("question_score", "views")),
    )


SOURCE = Source(
    name=NAME,
    title="Russian StackOverflow",
    license="other",
    license_note='The card on the Hub says "other"; others who use the data name CC BY-SA 2.5. The texts are of users of'
    " ru.stackoverflow.com, which publishes them under CC BY-SA; the version of that licence depends on the date of a text.",
    homepage="https://huggingface.co/datasets/IlyaGusev/ru_stackoverflow",
    citation="gusev2023rustackoverflow",
    files={
        "questions": hub(
            "IlyaGusev/ru_stackoverflow",
            "3bfd79e598eaab49b8b5ec7397d5c12b0f22416a",
            "ru_stackoverflow.jsonl.zst",
            sha256="e3f6eda2b3df7de1d3cc4a45ce2e69bb1e439b7736cd8d81e911129bd512dab9",
            bytes=670_468_664,
        ),
        **training_files(NAME, (QA, TITLE_BODY)),
    },
    measurements=(
        measure_tokens(("questions",), partial(texts_to_measure, (*_pair_sets(), _pair_sets(body=True)[0]), NAME)),
    ),
)


@dataset(
    "ru-stackoverflow-contrastive",
    pretty_name="StackOverflow training pairs (Russian)",
    languages=("rus-Cyrl",),
    task=Contrastive((QA, TITLE_BODY)),
    needs=("questions", "tokens", "index"),
    versions=training_versions(
        "The sets StackOverflow QA and Title-Body of the ruMTEB paper's Table 6, as far as the paper says how they were made.",
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
    title_body_rows: int = 75_000,
    body: bool = False,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which answer belongs to a question, and which text to a title?

    Config ru-stackoverflow-qa: the title of a question and one answer: the accepted one, else the one with the most votes (of
    equal ones the smallest id; answers without text are passed over). body: the text of the question follows its title. Ranked by
    the votes of the answer, the votes of the question and its views. Config ru-stackoverflow-title-body: the title of a question
    and its text, ranked by votes and views. Texts are the Markdown of the source without white space at their ends.
    builders.shaping.popularity.select_pool drops what is too long (`max_tokens`) or repeated and takes the most popular `times` *
    `qa_rows` or `title_body_rows` rows; as many as that are drawn of these in hash order, independently for each config. `clean`
    also drops what builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `ru_stackoverflow:<config>:<question_id>`); query (String); positives (List(String), one each); negatives, negative_kinds
    (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    return build_sets(
        raw, NAME, _pair_sets(qa_rows, title_body_rows, body=body), times=times, limit=max_tokens, clean=clean
    )
