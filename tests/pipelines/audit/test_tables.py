"""pipelines.audit.tables: the texts that a model receives."""

import polars as pl

from pipelines.audit.tables import model_input


def test_a_document_is_stripped_of_exactly_the_white_space_of_python() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = [f"{character}bee{character}" for character in characters]
    documents = pl.DataFrame({"title": [""] * len(texts), "text": texts})
    stripped = documents.select(document=model_input("corpus", "text"))["document"]
    assert stripped.to_list() == [text.strip() for text in texts]


def test_a_document_is_its_title_and_text_and_other_texts_are_unchanged() -> None:
    documents = pl.DataFrame({"title": ["Bees", ""], "text": ["make honey\n", " ants "]})
    inputs = documents.select(document=model_input("corpus", "text"), query=model_input("queries", "text"))
    assert inputs.rows() == [("Bees make honey", "make honey\n"), ("ants", " ants ")]
