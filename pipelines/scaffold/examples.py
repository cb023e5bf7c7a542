"""Example records for a new dataset: a few lines in an invented raw format, for each task type, in English and Russian."""

from collections.abc import Iterator
from typing import Any

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


def example_records(task: str, languages: tuple[str, str]) -> list[Record]:
    """The records of a task type. languages: of the texts and of their translations, `en` and `ru` or the reverse."""
    return list(_records(task, languages))


def _records(task: str, languages: tuple[str, str]) -> Iterator[Record]:
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
