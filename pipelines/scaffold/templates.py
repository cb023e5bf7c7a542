"""The files of a new dataset, from templates: builder, example records, golden sample, prose, citation. Every gap is marked."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders.benchmarks import BENCHMARKS
from builders.errors import UsageError
from builders.spec import LANGUAGES, OTHER
from cards.completeness import MAX_TITLE
from cards.render import card_template

Record = dict[str, Any]
# A question, another wording of it, its answer, and the question in the other language. The first half is about delivery, the
# second about payment.
TEXTS = (
    ("Where is the parcel that I ordered?", "When will my order get here?", "You find your parcel in the list of orders.",
     "Где посылка, которую я заказал?", "Когда мне привезут мой заказ?", "Посылку видно в списке ваших заказов."),
    ("Do you also deliver on Sundays?", "Is there a delivery at the weekend?", "Couriers work every day of the week.",
     "Вы доставляете заказы по воскресеньям?", "Есть ли доставка в выходные дни?", "Курьеры работают каждый день недели."),
    ("Can a neighbour take the box for me?", "May somebody else receive my order?", "Anyone with the code may receive it.",
     "Может ли сосед получить коробку?", "Можно ли отдать заказ другому человеку?", "Заказ получит любой, кто знает код."),
    ("Can I pay with my bank card?", "Which cards does the shop accept?", "The shop takes all cards, also by telephone.",
     "Можно ли оплатить покупку картой?", "Какие карты принимает магазин?", "Магазин принимает любые карты, даже по телефону."),
    ("Why did you charge me twice?", "My bill was paid two times, why?", "A second payment is returned within three days.",
     "Почему деньги списали дважды?", "Мой счёт оплачен два раза, почему?", "Второй платёж вернут в течение трёх дней."),
    ("How do I get my money back?", "Who returns the price of a broken lamp?", "Send the goods back, then we pay you.",
     "Как мне вернуть свои деньги?", "Кто вернёт цену сломанной лампы?", "Пришлите товар обратно, и мы вернём деньги."),
)  # fmt: skip


def _records(task: str, languages: tuple[str, str]) -> Iterator[Record]:
    """The records of a task type. languages: of the texts and of their translations, `en` and `ru` or the reverse."""
    first = 0 if languages[0] == "en" else 3
    texts = [row[first : first + 3] for row in TEXTS]
    topics = ["delivery"] * 3 + ["payment"] * 3
    others = texts[1:] + texts[:1]
    questions = [(text, topic, "train") for (text, _, _), topic in zip(texts, topics, strict=True)]
    questions += [(text, topic, "test") for (_, text, _), topic in zip(texts, topics, strict=True)]
    for number, (text, topic, split) in enumerate(questions, 1):
        if task == "Classification":
            yield {"id": str(number), "text": text, "topic": topic, "split": split}
        elif task == "MultilabelClassification":
            both = [topic] if number % 3 else ["delivery", "payment"]
            yield {"id": str(number), "text": text, "topics": both, "split": split}
        elif task == "Clustering":
            yield {"id": str(number), "text": text, "topic": topic}
    for number, ((question, wording, answer), other) in enumerate(zip(texts, others, strict=True), 1):
        if task == "PairClassification":
            yield {"id": f"{number}a", "first": question, "second": wording, "meaning": "same"}
            yield {"id": f"{number}b", "first": question, "second": other[1], "meaning": "different"}
        elif task == "STS":
            yield {"id": f"{number}a", "first": question, "second": wording, "score": 5.0 - number / 4}
            yield {"id": f"{number}b", "first": question, "second": other[1], "score": number / 4}
        elif task == "Retrieval":
            yield {"id": str(number), "question": question, "answer": answer}
        elif task == "Reranking":
            yield {"id": str(number), "question": question, "answers": [answer], "others": [other[2], other[1]]}
        elif task == "BitextMining":
            row = TEXTS[number - 1]
            pair = {"en": row[0], "ru": row[3]}
            yield {"id": str(number), **{code: pair[code] for code in languages}}


HERE = Path(__file__).parent
# The ending of a dataset's name, and the prefix that ru-en-RoSBERTa has for the task type.
ENDINGS = {
    "Classification": ("classification", "classification"),
    "MultilabelClassification": ("classification", "classification"),
    "PairClassification": ("pairclassification", "classification"),
    "STS": ("sts", "classification"),
    "Clustering": ("clustering", "clustering"),
    "Retrieval": ("retrieval", "search_query"),
    "Reranking": ("reranking", "search_query"),
    "BitextMining": ("bitext", "classification"),
}
READERS = {".jsonl": ("json", "read_json_lines"), ".csv": ("csv", "read_csv")}  # each in its module of builders/reading
LISTS = ("MultilabelClassification", "Reranking")  # records with lists, which no CSV holds
FUNCTIONS = {
    "PairClassification": "pair_classification",
    "BitextMining": "bitext",
    "MultilabelClassification": "classification",
}
SIDES = {"en": "English", "ru": "Russian"}


@dataclass(frozen=True)
class Plan:
    """A dataset to begin: name is its source, task a name in builders.tasks.EVALUATED, file the name of its raw file."""

    name: str
    task: str
    benchmark: str | None
    file: str

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return f"{self.name.replace('_', '-')}-{ENDINGS[self.task][0]}"

    @property
    def folder(self) -> str:
        """The folder of the builder below builders/."""
        return {"rumteb": "rumteb", "ateb": "ateb", "rarb": "ateb"}.get(self.benchmark or "", OTHER)

    @property
    def codes(self) -> tuple[str, str]:
        """The language of the examples, and that of their translations."""
        return ("ru", "en") if self.folder == "rumteb" else ("en", "ru")

    @property
    def citation(self) -> str:
        """The key of the citation."""
        return f"author0000{self.name.replace('_', '')}"


def scaffold(plan: Plan) -> dict[str, str]:
    """The new files by their path below the checkout, in the order in which they are written.

    The builder comes last: without it the dataset is not in the catalogue, and the same command begins again.

    Raises UsageError for a raw format that has no example, and for one that cannot hold the records of the task.
    """
    values = _values(plan)
    golden = f"tests/golden/{plan.name}"
    return {
        f"{golden}/raw/{plan.file}": _raw_text(plan),
        f"{golden}/README.md": card_template("golden.md.jinja", HERE).render(values),
        f"cards/prose/{plan.name}.md": card_template("prose.md.jinja", HERE).render(values),
        f"builders/{plan.folder}/{plan.name}.py": card_template(f"recipes/{plan.task}.py.jinja", HERE).render(values),
    }


def citation_text(plan: Plan) -> str:
    """The entry for cards/citations.bib."""
    return card_template("citation.bib.jinja", HERE).render(_values(plan))


def _values(plan: Plan) -> dict[str, object]:
    suffix = Path(plan.file).suffix
    if suffix not in READERS or (suffix == ".csv" and plan.task in LISTS):
        raise UsageError(
            f"no example of {plan.task} in the format of {plan.file!r}",
            expected=".jsonl" if plan.task in LISTS else " or ".join(READERS),
            todo="begin with --file NAME.jsonl, then change the reader and the golden sample",
        )
    codes = plan.codes
    written = tuple({"en": "eng-Latn", "ru": "rus-Cyrl"}[code] for code in codes)
    bitext = plan.task == "BitextMining"
    languages = written if bitext else written[:1]
    title = plan.name.replace("_", " ").capitalize()
    ending, rosberta = ENDINGS[plan.task]
    spoken = "-".join(SIDES[code] for code in (codes if bitext else codes[:1]))
    long_name = f"{title} {FUNCTIONS.get(plan.task, ending).replace('_', ' ')} ({spoken})"
    splits = ("train", "test") if plan.task in ("Classification", "MultilabelClassification") else ("test",)
    return {
        "name": plan.name,
        "title": title,
        "file": plan.file,
        "dataset": plan.dataset,
        "task": plan.task,
        "benchmark": plan.benchmark,
        "citation": plan.citation,
        "format": READERS[suffix][0],
        "reader": READERS[suffix][1],
        "unit": ', unit="record"' if suffix == ".csv" else "",
        "prompts": plan.benchmark is not None and BENCHMARKS[plan.benchmark].needs_prompts,
        "rosberta": rosberta,
        "declared_languages": None if languages == LANGUAGES.get(plan.folder) else str(languages).replace("'", '"'),
        "pretty_name": long_name if len(long_name) <= MAX_TITLE else f"{title} ({spoken})",
        "function": FUNCTIONS.get(plan.task, ending),
        "codes": codes,
        "sides": tuple(SIDES[code] for code in codes),
        "pair": "-".join(codes),
        "size": _size(plan.task, splits),
    }


def _size(task: str, splits: tuple[str, ...]) -> str:
    """The number of rows in words, with placeholders that the card fills."""
    if task in ("Retrieval", "Reranking"):
        return "{{ rows.queries.test }} queries and {{ rows.corpus.test }} documents"
    return " and ".join(f"{{{{ rows.{split} }}}} rows in {split}" for split in splits)


def _raw_text(plan: Plan) -> str:
    records = list(_records(plan.task, plan.codes))
    if plan.file.endswith(".jsonl"):
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
