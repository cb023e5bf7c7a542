"""pipelines.audit.quality: a clean dataset of each task type has no finding, and every planted one is reported."""

import hashlib
import unicodedata
from collections import defaultdict
from itertools import combinations

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import tasks
from cards.kinds import FOLDED_DETAIL, KINDS, MEANING_DETAIL
from cards.manifest import Finding
from tests.pipelines.audit.test_integrity import PLANTED as DEFECTS
from tests.support.tables import (
    COLOURS,
    TASKS,
    Change,
    PlantedFinding,
    Tables,
    audit_rows,
    clean_tables,
    combine,
    integrity_findings,
    quality_findings,
    resolve_names,
    with_edit,
    with_rows,
    with_value,
)

SIX = [f"1 text against question {other}" for other in range(6)]
WORDS = ("cells", "combs", "frames", "queens", "larvae", "swarms", "hives")
MORE = (*WORDS, "smokers", "flowers", "nectar", "pollen", "drones", "winter", "honey")
ORDERS = [" ".join(words) for words in combinations(MORE, 6)][::37]  # texts of different words


def letters(number: int) -> str:
    """Twelve words of five letters that no other number gives."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()[:60].translate(str.maketrans("0123456789", "ghijklmnop"))
    return " ".join(digest[start : start + 5] for start in range(0, 60, 5))


SHIFTED = [n if n % 2 else (n + 30) % 60 for n in range(60)]
TOPICS = ("bees make honey", "ants bite birds")
MOSTLY_THE_LABEL = pl.when(pl.int_range(pl.len()) % 10 == 0).then(pl.lit("honey")).otherwise("labels")
SENTENCE = (
    "When the hive wakes in March, the bees that wintered in it fly out to look for willow and hazel in the valley."
)


def with_query_id(query: str, new: str) -> Change:
    """Give a query of the test split another id, in all tables."""

    def change(tables: Tables) -> Tables:
        for config, column in (("queries", "id"), ("qrels", "query-id"), ("top_ranked", "query-id")):
            if config in tables:
                tables = with_edit(
                    config, "test", lambda frame, name=column: frame.with_columns(pl.col(name).replace(query, new))
                )(tables)
        return tables

    return change


PLANTED = [
    PlantedFinding(
        "split_leak", "Classification", with_value("default", "test", "text", 5, "5 train sentence number 5"),
        "default/test.text", 1, 1 / 24, ("row 5",), detail="in train", twins=("train: row 5",),
    ),
    PlantedFinding(
        "split_leak", "Classification",
        with_value("default", "test", "text", 5, " \u2464 «Validation\u00a0 sentence»,\nnumber \u2464…"), "default/test.text",
        1, 1 / 24, ("row 5",), other_kinds=("surrounding_whitespace",), detail=f"in validation, {FOLDED_DETAIL}",
        twins=("validation: row 5",),
    ),
    PlantedFinding(
        "split_leak", "STS",
        combine(
            with_value("default", "test", "sentence1", 2, "2 train sentence number 2"),
            with_value("default", "test", "sentence2", 2, "2 train Satz Nummer 2"),
        ),
        "default/test", 1, 1 / 4, ("c",), detail="in train", twins=("train: c",),
    ),
    PlantedFinding(
        "split_leak", "Reranking", with_value("queries", "test", "text", 0, "who makes honey (validation)"),
        "queries/test.text", 1, 1 / 2, ("q1",), detail="in validation", twins=("validation: q1",),
    ),
    PlantedFinding(
        "near_leak", "Classification",
        combine(
            with_value("default", "train", "text", 7, SENTENCE),
            with_value("default", "test", "text", 3, SENTENCE.replace("hive", "hives").upper()),
        ),
        "default/test.text", 1, 1 / 24, ("row 3",), detail="in train, 1 with another label than the text that they resemble",
        twins=("train: row 7",),
    ),
    PlantedFinding(
        "near_leak", "Reranking",
        combine(
            with_value("queries", "validation", "text", 1, SENTENCE),
            with_value("queries", "test", "text", 0, f"{SENTENCE}!? So"),
        ),
        "queries/test.text", 1, 1 / 2, ("q1",), detail="in validation", twins=("validation: q2",),
    ),
    PlantedFinding(
        "near_leak", "STS",
        combine(
            with_value("default", "train", "sentence1", 0, SENTENCE),
            with_value("default", "train", "sentence2", 0, "Honig."),
            with_value("default", "test", "sentence1", 2, SENTENCE.replace("hive", "hives")),
            with_value("default", "test", "sentence2", 2, "HONIG"),
        ),
        "default/test", 1, 1 / 4, ("c",), detail="in train, 1 with another label than the text that they resemble",
        twins=("train: a",),
    ),
    PlantedFinding(
        "swapped_pair", "PairClassification",
        with_rows("default", "test", ("e", "1 test Satz Nummer 1", "1 test sentence number 1", 1)), "default/test", 1, 1 / 5,
        ("e",), twins=("test: b",),
    ),
    PlantedFinding(
        "swapped_pair", "STS", with_rows("default", "test", ("e", "1 train Satz Nummer 1", "1 train sentence number 1", 2.5)),
        "default/test", 1, 1 / 5, ("e",), detail="in train", twins=("train: b",),
    ),
    PlantedFinding(
        "conflicting_label", "Clustering", with_value("default", "test", "sentences", 1, "0 test sentence number 0"),
        "default/test.labels", 1, 1 / 3, ("row 0",), other_kinds=("duplicate_text",), twins=("test: row 1",),
    ),
    PlantedFinding(
        "conflicting_label", "MultilabelClassification",
        combine(with_value("default", "test", "text", 3, "Same."), with_value("default", "test", "text", 5, "Same.")),
        "default/test.label", 1, 1 / 23, ("row 3",), other_kinds=("duplicate_text",), twins=("test: row 5",),
    ),
    PlantedFinding(
        "conflicting_label", "STS",
        with_rows("default", "test", ("e", "3 test sentence number 3", "3 test Satz Nummer 3", 1.5)), "default/test.score", 1,
        1 / 4, ("d",), other_kinds=("duplicate_pair", "duplicate_text"), twins=("test: e",),
        detail="scores differ by 0.5 or less in 1, by more in 0",
    ),
    PlantedFinding(
        "conflicting_label", "Reranking", with_value("corpus", "test", "text", 2, "Wax They build with it."),
        "qrels/test.score", 1, 1 / 2, ("q2 d2",), other_kinds=("duplicate_text",), twins=("test: q2 d3",),
    ),
    PlantedFinding(
        "identical_pair", "STS", with_value("default", "test", "sentence2", 1, "1 test sentence number 1"),
        "default/test.score", 1, 1 / 4, ("b",), detail="score 2.5, the highest is 5",
    ),
    PlantedFinding(
        "identical_pair", "PairClassification", with_value("default", "test", "sentence2", 2, "2 TEST sentence, number 2!"),
        "default/test.labels", 1, 1 / 4, ("c",), detail=f"{FOLDED_DETAIL}; labelled 0 (no)",
    ),
    PlantedFinding(
        "unjudged_twin", "Retrieval",
        with_rows("corpus", "test", ("d4", "", "Wax They build with it."), ("d5", "Wax They", "build with it.")),
        "qrels/test", 2, 2 / 4, ("q2 d4", "q2 d5"), other_kinds=("duplicate_text",),
    ),
    PlantedFinding(
        "unjudged_twin", "Reranking",
        combine(
            with_rows("corpus", "test", ("d4", "", "Bees make honey."), ("d5", "", "Bees make honey.")),
            with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d1", "d5"]),
        ),
        "qrels/test", 1, 1 / 3, ("q1 d5",), other_kinds=("duplicate_text",),
    ),
    PlantedFinding(
        "query_in_corpus", "Retrieval",
        combine(with_value("queries", "test", "text", 0, " Wax"), with_value("queries", "test", "text", 1, "Ants bite.")),
        "queries/test.text", 2, 2 / 2, ("q1", "q2"), other_kinds=("surrounding_whitespace",),
    ),
    PlantedFinding(
        "query_in_corpus", "Reranking", with_value("queries", "test", "text", 1, "They build with it."), "queries/test.text",
        1, 1 / 2, ("q2",),
    ),
    PlantedFinding(
        "shared_ids", "Retrieval", combine(with_query_id("q1", "d3"), with_query_id("q2", "d2")), "queries/test.id", 2, 2 / 2,
        ("d3", "d2"), detail="1 of them judged relevant to the document with their id",
    ),
    PlantedFinding("shared_ids", "Reranking", with_query_id("q1", "d3"), "queries/test.id", 1, 1 / 2, ("d3",)),
    PlantedFinding(
        "duplicate_pair", "BitextMining",
        with_rows("en-de", "test", ("e", "3 test sentence number 3", "3 test Satz Nummer 3")), "en-de/test", 1, 1 / 5, ("e",),
        other_kinds=("duplicate_text",), twins=("test: d",),
    ),
    PlantedFinding(
        "duplicate_text", "Classification",
        combine(*(with_value("default", "train", "text", row, "Again.") for row in (20, 8, 2))), "default/train.text", 2,
        2 / 24, ("row 8", "row 20"), twins=("train: row 2", "train: row 2"),
    ),
    PlantedFinding(
        "duplicate_text", "Retrieval", with_rows("corpus", "test", ("d4", "", "Ants bite.")), "corpus/test.text", 1, 1 / 4,
        ("d4",), twins=("test: d3",),
    ),
    PlantedFinding(
        "empty_text", "Clustering",
        combine(
            with_value("default", "test", "sentences", 1, ""), with_value("default", "test", "sentences", 3, " \u3000\n"),
        ),
        "default/test.sentences", 2, 2 / 4, ("row 1", "row 3"),
    ),
    PlantedFinding(
        "empty_text", "Retrieval",
        combine(
            with_rows("corpus", "test", ("d4", " ", "\n"), ("d5", "Swarm", " ")), with_value("corpus", "test", "text", 1, ""),
        ),
        "corpus/test.text", 3, 3 / 5, ("d2", "d4", "d5"), detail="beside a title 2",
    ),
    PlantedFinding(
        "mojibake", "BitextMining", with_value("en-de", "test", "sentence2", 1, "ZwÃ¶lf BlÃ¼ten"), "en-de/test.sentence2", 1,
        1 / 4, ("b",),
    ),
    PlantedFinding(
        "encoding_residue", "PairClassification",
        with_value("default", "train", "sentence2", 1, "Gr\ufffd\ufffde aus Berlin"), "default/train.sentence2", 1, 1 / 4,
        ("b",), detail="lost characters 1",
    ),
    PlantedFinding(
        "html_residue", "BitextMining", with_value("en-de", "test", "sentence1", 0, "bees &amp; ants <br/>"),
        "en-de/test.sentence1", 1, 1 / 4, ("a",),
    ),
    PlantedFinding(
        "preprocessing_residue", "STS",
        combine(
            with_value("default", "test", "sentence1", 1, "Wax -LRB- and honey -RRB- from tts://"),
            with_value("default", "test", "sentence1", 3, "a link: ttp://honey.example"),
        ),
        "default/test.sentence1", 2, 2 / 4, ("b", "d"), detail="treebank brackets 1, link stumps 2",
    ),
    PlantedFinding(
        "invisible_character", "Clustering", with_value("default", "test", "sentences", 1, "ho\u00adney"),
        "default/test.sentences", 1, 1 / 4, ("row 1",),
    ),
    PlantedFinding(
        "lookalike_word", "Reranking", with_value("corpus", "test", "title", 1, "сaхар"), "corpus/test.text", 1, 1 / 3,
        ("d2",),
    ),
    PlantedFinding(
        "wrong_language", "BitextMining",
        with_value("en-de", "test", "sentence2", 1, "The bees that live behind the mill make no honey in winter."),
        "en-de/test.sentence2", 1, 1 / 1, ("b",), detail="en 1", texts_checked=1,
    ),
    PlantedFinding(
        "wrong_script", "BitextMining", with_value("en-de", "test", "sentence2", 1, "Пчёлы."), "en-de/test.sentence2", 1,
        1 / 4, ("b",),
    ),
    PlantedFinding(
        "short_text", "Retrieval", with_value("corpus", "test", "text", 0, " \x1c!\x85"), "corpus/test.text", 1, 1 / 3,
        ("d1",),
    ),
    PlantedFinding(
        "surrounding_whitespace", "Classification",
        combine(with_value("default", "test", "text", 1, "\u00a0wax"), with_value("default", "test", "text", 4, "honey\u3000")),
        "default/test.text", 2, 2 / 24, ("row 1", "row 4"),
    ),
    PlantedFinding(
        "double_full_stop", "Retrieval", with_value("queries", "test", "text", 1, "They made honey.."), "queries/test.text",
        1, 1 / 2, ("q2",),
    ),
    PlantedFinding(
        "repeated_sentence", "Reranking",
        with_value("corpus", "test", "text", 0, "The hive hums all night. The hive hums all night."), "corpus/test.text", 1,
        1 / 3, ("d1",),
    ),
    PlantedFinding(
        "personal_data", "Clustering",
        combine(
            with_value("default", "test", "sentences", 1, "Write to bee@hive.example or call (555) 010-0199."),
            with_value("default", "test", "sentences", 2, "Call 555-010-0199 before noon."),
        ),
        "default/test.sentences", 2, 2 / 4, ("row 1", "row 2"), detail="e-mail addresses 1, phone numbers 2",
    ),
    PlantedFinding(
        "prompt_residue", "Retrieval", with_value("corpus", "test", "text", 2, "Ants bite.\n\nHuman: Do they?"),
        "corpus/test.text", 1, 1 / 3, ("d3",), detail="turns of a dialogue 1",
    ),
    PlantedFinding(
        "near_duplicate", "Retrieval",
        with_rows(
            "corpus", "test",
            *((f"d{n}", "Hives", text) for n, text in ((4, SENTENCE), (5, f"{SENTENCE} So"), (6, "Hive."))),
        ),
        "corpus/test.text", 1, 1 / 6, ("d5",), twins=("test: d4",),
    ),
    PlantedFinding(
        "near_duplicate", "BitextMining",
        with_rows("en-de", "test", ("e", SENTENCE, "Honig."), ("f", f"So {SENTENCE}", "HONIG")), "en-de/test", 1, 1 / 6,
        ("f",), twins=("test: e",),
    ),
    PlantedFinding(
        "length_outlier", "Retrieval", with_value("corpus", "test", "text", 0, "b" * 231), "corpus/test.text", 1, 1 / 3,
        ("d1",), detail="median 23 characters, longest 231", other_kinds=("junk_text",),
    ),
    PlantedFinding(
        "label_leaking_column", "Clustering",
        combine(
            with_rows("default", "test", *((f"Of it, the {n}th.", "wax") for n in range(28))),
            with_rows("default", "test", *((f"Of it, the {n + 28}th.", "honey") for n in range(28))),
            with_edit("default", "test", lambda frame: frame.with_columns(source=MOSTLY_THE_LABEL)),
        ),
        "default/test.source", 2, 2 / 2, ("honey: 88% of honey, 0% of wax", "wax: 100% of wax, 12% of honey"),
        detail="honey: guessed right for 93% of the rows from this column, for 50% without it; Cramér's V 0.87",
    ),
    PlantedFinding(
        "label_by_length", "PairClassification",
        with_rows(
            "default", "test",
            *((f"e{n}", f"claim {n:02}", " ".join(["Satz", *[f"{n:02}"] * (1 + 2 * (n % 2))]), n % 2) for n in range(60)),
        ),
        "default/test", 64, 1.0, ("yes: median 5 characters, others 1 characters",), other_kinds=("label_by_length",),
        detail="of two pairs with different labels, the one with the larger difference in length has the label yes in 99"
        " of 100 cases (AUC 0.998)",
    ),
    PlantedFinding(
        "label_by_overlap", "PairClassification",
        with_rows(
            "default", "test",
            *(
                (f"e{n}", f"{TOPICS[n // 2 % 2]} {n:02}", f"{SHIFTED[n]:02} {TOPICS[(n // 2 + n + 1) % 2]}", n % 2)
                for n in range(60)
            ),
        ),
        "default/test", 64, 1.0, ("yes: median 100% of the words in both texts, others 0% of the words in both texts",),
        detail="of two pairs with different labels, the one with more shared words has the label yes in 99 of 100 cases"
        " (AUC 0.998)",
    ),
    PlantedFinding(
        "label_by_position", "Reranking",
        combine(
            with_rows("queries", "test", *((f"r{n}", f"{n:02} swarm {n:02}") for n in range(60))),
            with_rows("corpus", "test", *((f"e{n}", "", f"{n:03} {WORDS[n % 7]} and drones {n:03}") for n in range(120))),
            with_rows("qrels", "test", *((f"r{n}", f"e{n if n < 48 else n + 60}", 1) for n in range(60))),
            with_rows("top_ranked", "test", *((f"r{n}", [f"e{n}", f"e{n + 60}"]) for n in range(60))),
        ),
        "top_ranked/test.corpus-ids", 62, 1.0, ("relevant: median place 1, others place 2",),
        detail="of two candidates of a query, the one listed first is the relevant one in 78 of 100 cases"
        " (AUC 0.782); 62 queries",
    ),
    PlantedFinding(
        "label_sorted", "PairClassification",
        with_rows("default", "test", *((f"e{n}", f"{WORDS[n % 7]} {n}", f"{n} {WORDS[n % 5]}", n // 48) for n in range(96))),
        "default/test.labels", 94, 94 / 100, detail="94% of the rows have the label of the row before, 50% in a random order",
    ),
    PlantedFinding(
        "label_imbalance", "Clustering",
        with_rows("default", "test", *((f"Of wax, the {number}th.", "wax") for number in range(19))), "default/test.labels",
        1, 1 / 2, ("honey: 2",), detail="the most frequent label has 21 rows",
    ),
    PlantedFinding(
        "label_imbalance", "MultilabelClassification",
        with_edit("default", "test", lambda frame: frame.with_columns(label=pl.col("label").list.set_intersection([1]))),
        "default/test.label", 2, 2 / 3, ("red: 0", "blue: 0"), detail="the most frequent label has 12 rows",
    ),
    PlantedFinding(
        "label_imbalance", "PairClassification",
        with_rows("default", "test", *((f"e{n}", f"claim {n}", f"Behauptung {n}", 0) for n in range(19))),
        "default/test.labels", 1, 1 / 2, ("yes: 2",), detail="the most frequent label has 21 rows",
    ),
    PlantedFinding(
        "duplicate_text", "Classification", with_value("default", "test", "text", 4, "1: TEST sentence; number 1…"),
        "default/test.text", 1, 1 / 24, ("row 4",), detail=MEANING_DETAIL, twins=("test: row 1",), other_kinds=(),
    ),
    PlantedFinding(
        "duplicate_pair", "BitextMining",
        with_rows("en-de", "test", ("e", "3 Test -- sentence number 3", "3 TEST: Satz Nummer 3.")), "en-de/test", 1, 1 / 5,
        ("e",), detail=FOLDED_DETAIL, twins=("test: d",),
    ),
    PlantedFinding(
        "conflicting_label", "Classification", with_value("default", "test", "text", 6, "5: Test sentence number 5;"),
        "default/test.label", 1, 1 / 23, ("row 5",), detail=MEANING_DETAIL, twins=("test: row 6",),
        other_kinds=("duplicate_text",),
    ),
    PlantedFinding(
        "side_leak", "STS", with_value("default", "test", "sentence2", 1, "2 train sentence number 2"), "default/test", 1,
        1 / 4, ("b",), detail="in train, one text", twins=("train: c",),
    ),
    PlantedFinding(
        "side_leak", "PairClassification",
        combine(
            with_value("default", "test", "sentence1", 3, "2 train sentence number 2"),
            with_value("default", "test", "sentence2", 3, "0 train Satz Nummer 0"),
        ),
        "default/test", 1, 1 / 4, ("d",), detail="in train, both texts, in different pairs", twins=("train: c",),
    ),
    *(
        PlantedFinding(
            kind, "Contrastive", with_value("faq", "train", column, 1, value),
            f"faq/train.{column}", 1, 1 / 4, ("question:1",), detail=detail,
        )
        for kind, column, value, detail in (
            ("negative_is_positive", "negatives", [*SIX, "1 other text for question 1"], ""),
            ("negative_is_positive", "negatives", [*SIX, "1 TEXT for question 1."], FOLDED_DETAIL),
            ("positive_is_query", "positives", ["1 text for question 1", "1 question number 1"], ""),
            ("positive_is_query", "positives", ["1 text for question 1", "1 Question - number 1"], FOLDED_DETAIL),
            ("duplicate_negative", "negatives", [*SIX, SIX[0]], ""),
            ("duplicate_negative", "negatives", [*SIX, SIX[0].upper()], FOLDED_DETAIL),
            ("number_text", "negatives", [*SIX, "451"], ""),
            ("number_text", "positives", ["1 text for question 1", "3,5 %"], "in a later positive"),
            ("html_residue", "negatives", [*SIX, "a <br/> b"], ""),
            ("html_residue", "positives", ["1 text for question 1", "a <br/> b"], "in a later positive"),
            ("html_residue", "positives", ["a <br/> b", "1 text for question 1"], ""),
            ("empty_text", "negatives", [*SIX, ""], ""),
        )
    ),
    PlantedFinding(
        "contained_text", "Classification",
        combine(
            with_value("default", "train", "text", 7, f"It was late. {SENTENCE} Nobody saw them come back."),
            with_value("default", "test", "text", 3, SENTENCE.upper()),
        ),
        "default/test.text", 1, 1 / 24, ("row 3",), detail="in train, 1 whole", twins=("train: row 7",),
    ),
    PlantedFinding(
        "qrels_at_chance", "Retrieval",
        combine(
            with_rows("queries", "test", *((f"r{n}", f"{n:02} {WORDS[n % 7]} left {n:02}") for n in range(100))),
            with_rows("corpus", "test", *((f"e{n}", "", f"{(n - 51) % 100:02} {WORDS[n % 7]}") for n in range(100))),
            with_rows("qrels", "test", *((f"r{n}", f"e{n}", 1) for n in range(100))),
        ),
        "qrels/test", 102, 1.0, detail="2% share a rare word, 48% of the texts of different rows",
    ),
    PlantedFinding(
        "pairs_at_chance", "PairClassification",
        with_rows(
            "default", "test",
            *((f"e{n}", f"{WORDS[n % 7]} {n:02}", f"{WORDS[n % 7 - 3]} und {(n - 52) % 100:02}", n % 2) for n in range(100))
        ),
        "default/test", 104, 1.0, detail="4% share a rare word, 46% of the texts of different rows",
    ),
    PlantedFinding(
        "shifted_pairs", "PairClassification",
        with_rows(
            "default", "test",
            *((f"e{n}", f"{WORDS[n % 7]} {n:02}", f"{WORDS[n % 7 - 3]} und {(n - 1) % 100:02}", n % 2) for n in range(100))
        ),
        "default/test", 104, 1.0,
        detail="98% share a rare word with the second text of the next row, 4% with their own",
    ),
    PlantedFinding(
        "frequent_positive", "Retrieval",
        combine(
            with_rows("queries", "test", *((f"r{n}", f"{n:02} swarms left {n:02}") for n in range(58))),
            with_rows("corpus", "test", *((f"e{n}", "", f"{n:03} drones and cells {n:03}") for n in range(90))),
            with_rows("qrels", "test", *((f"r{n}", "e89" if n < 12 else f"e{n}", 1) for n in range(58))),
        ),
        "qrels/test.corpus-id", 12, 12 / 60, tuple(f"r{n} e89" for n in range(5)),
        detail="one of them for 12 of 60 queries",
    ),
    PlantedFinding(
        "too_few_negatives", "Contrastive",
        combine(
            with_value("faq", "train", "negatives", 0, ["0 text against question 0", "0 text against question 1"]),
            with_value("faq", "train", "negative_kinds", 0, ["provided", "random"]),
        ),
        "faq/train.negatives", 1, 1 / 4, ("question:0",), detail="2 to 7 in a row",
    ),
    PlantedFinding(
        "number_text", "Classification", with_value("default", "test", "text", 3, "1984"), "default/test.text", 1, 1 / 24,
        ("row 3",),
    ),
    PlantedFinding(
        "missing_value_text", "STS", with_value("default", "test", "sentence1", 3, "#REF!"), "default/test.sentence1", 1, 1 / 4,
        ("d",),
    ),
    PlantedFinding(
        "decomposed_letter", "Retrieval", with_value("queries", "test", "text", 1, "cafe\u0301"), "queries/test.text", 1, 1 / 2,
        ("q2",),
    ),
    PlantedFinding(
        "junk_text", "Clustering",
        combine(
            with_value("default", "test", "sentences", 1, "wax" + " wax" * 9),
            with_value("default", "test", "sentences", 3, "====="),
        ),
        "default/test.sentences", 2, 2 / 4, ("row 1", "row 3"), detail="symbols 1, loops 1",
    ),
    PlantedFinding(
        "markup_residue", "PairClassification", with_value("default", "test", "sentence2", 0, "[b]wax[/b] in **all hives**"),
        "default/test.sentence2", 1, 1 / 4, ("a",), detail="BBCode 1, Markdown 1",
    ),
    PlantedFinding(
        "placeholder", "BitextMining", with_value("en-de", "test", "sentence1", 2, "Dear {name}, your %s."),
        "en-de/test.sentence1", 1, 1 / 4, ("c",), detail="variables 1, formats 1",
    ),
    PlantedFinding(
        "spacing", "STS", with_value("default", "test", "sentence2", 1, "Bees , wax  and honey ."), "default/test.sentence2", 1,
        1 / 4, ("b",), detail="several spaces in a sentence 1, punctuation set apart 1",
    ),
    PlantedFinding(
        "absent_characters", "Clustering",
        with_rows("default", "test", *((letters(n), ("wax", "honey")[n % 2]) for n in range(250))),
        "default/test.sentences", 254, 1.0, detail="no text has a comma or punctuation or a capital letter",
    ),
    PlantedFinding(
        "swapped_texts", "BitextMining",
        with_rows(
            "en-de", "test",
            *((f"a{n}", f"{WORDS[n % 7]} {n}?", f"{n} {WORDS[n % 5]}.") for n in range(90)),
            *((f"b{n}", f"{n} {WORDS[n % 5]}.", f"{WORDS[n % 7]} {n}?") for n in range(90, 100)),
        ),
        "en-de/test", 10, 10 / 104, (),
        detail="a question mark at the end: 87% of the first texts, 10% of the second, and the reverse in these pairs",
    ),
    PlantedFinding(
        "cut_text", "Classification",
        with_rows("default", "test", *((f"{'a ' * (n % 2)}{ORDERS[n]}"[:30], n % 3, COLOURS[n % 3]) for n in range(25))),
        "default/test.text", 25, 25 / 49, tuple(f"row {n}" for n in range(24, 29)),
        detail="30 characters; 100% of them do not end a sentence",
    ),
    PlantedFinding(
        "boilerplate", "Classification",
        with_rows(
            "default", "test",
            *((f"{ORDERS[n]}.{' Read more about it on our page.' * (n < 20)}", n % 3, COLOURS[n % 3]) for n in range(80)),
        ),
        "default/test.text", 20, 20 / 104, tuple(f"row {n}" for n in range(24, 29)),
        other_kinds=("boilerplate",), detail="texts contain 'Read more about it on our page.'",
    ),
    PlantedFinding(
        "csv_residue", "Classification", with_value("default", "test", "text", 3, 'The ""hive"" is empty.'),
        "default/test.text", 1, 1 / 24, ("row 3",), detail="doubled quotation marks 1",
    ),
    PlantedFinding(
        "csv_residue", "Classification", with_value("default", "test", "text", 4, 'Bees,0\n5,"Wax, too",1\n'),
        "default/test.text", 1, 1 / 24, ("row 4",), other_kinds=("surrounding_whitespace",), detail="several records 1",
    ),
    PlantedFinding(
        "csv_residue", "Clustering", with_value("default", "test", "sentences", 2, "Sentences"), "default/test.sentences", 1,
        1 / 4, ("row 2",), detail="headers",
    ),
    PlantedFinding(
        "missing_label", "STS",
        with_rows("default", "test", *((f"e{n}", f"{n:02} wax", f"{n + 30} pot", n % 5 / 4) for n in range(30))),
        "default/test.score", 1, 1 / 34, ("c",), detail="5, where all others are 0 to 2.5",
    ),
    PlantedFinding(
        "label_by_token", "Clustering",
        with_rows(
            "default", "test",
            *((f"{n:02} {WORDS[n % 7]} {'x~' if n < 24 else 'xy'}", "wax") for n in range(30)),
            *((f"{n + 30:02} {WORDS[n % 7]} xy", "honey") for n in range(30)),
        ),
        "default/test.sentences", 2, 2 / 2,
        (
            "honey: the character '~' in 0% of its texts, in 75% of all others",
            "wax: the character '~' in 75% of its texts, in 0% of all others",
        ),
        detail="honey: the character '~' in 0% of its texts, in 75% of all others (AUC 0.875)",
    ),
    PlantedFinding(
        "split_differs", "Classification",
        combine(
            with_rows("default", "train", *((ORDERS[n], n % 3, COLOURS[n % 3]) for n in range(30))),
            with_rows(
                "default", "test",
                *((ORDERS[40 + n].capitalize() if n < 27 else ORDERS[40 + n], n % 3, COLOURS[n % 3]) for n in range(30)),
            ),
        ),
        "default/test.text", 54, 1.0, detail="texts with a capital letter: 50%, in train 0%",
    ),
    PlantedFinding(
        "binary_score", "STS",
        combine(
            with_rows("default", "test", *((f"e{n}", f"{WORDS[n % 7]} {n}", f"{n} {WORDS[n % 5]}", n % 5) for n in range(30))),
            with_edit("default", "test", lambda frame: frame.with_columns(score=(pl.col("score") > 1).cast(pl.Float64))),
        ),
        "default/test.score", 34, 1.0,
    ),
]  # fmt: skip
# Changes with the kinds of all findings that they cause.
CHANGES = {
    "a text of a pair recurs in train": (
        "STS", with_value("default", "test", "sentence1", 0, "0 train sentence number 0"), ["side_leak"],
    ),
    "a pair is swapped": (
        "STS", with_rows("default", "test", ("e", "1 train Satz Nummer 1", "1 train sentence number 1", 2.5)), ["swapped_pair"],
    ),
    "equal sides with the highest score": (
        "STS", with_rows("default", "test", ("e", "Bees.", "Bees.", 5.0), ("f", "Ants bite.", "ants bite", 5.0)), [],
    ),
    "equal sides with the label 1": (
        "PairClassification", with_rows("default", "test", ("e", "Bees.", "Bees.", 1), ("f", "Ants bite.", "ants bite", 1)), [],
    ),
    "sides that differ in a letter": ("STS", with_rows("default", "test", ("e", "Bees sting.", "Bee sting.", 0.0)), []),
    "equal sides of a bitext": ("BitextMining", with_value("en-de", "test", "sentence2", 0, "0 test sentence number 0"), []),
    "a judged twin": (
        "Retrieval",
        combine(with_rows("corpus", "test", ("d4", "", "Bees make honey.")), with_rows("qrels", "test", ("q1", "d4", 1))),
        ["duplicate_text"],
    ),
    "a tenth of the most frequent label": (
        "Clustering", with_rows("default", "test", *((f"Of wax, the {number}th.", "wax") for number in range(18))), [],
    ),
    "a repeated sentence in a document of retrieval": (
        "Retrieval",
        with_value("corpus", "test", "text", 0, "The queen lays two thousand eggs. The queen lays two thousand eggs."), [],
    ),
    "a sentence that two texts share": (
        "Clustering",
        combine(*(with_value("default", "test", "sentences", row, f"The queen lays two thousand eggs. {row}") for row in (0, 3))),
        ["near_duplicate"],
    ),
    "ten times the median length": (
        "Retrieval",
        combine(
            with_value("corpus", "test", "text", 0, "b" * 70), with_value("corpus", "test", "text", 2, "c" * 7),
            with_value("corpus", "test", "title", 1, ""), with_value("corpus", "test", "text", 1, "a" * 7),
        ),
        ["junk_text"],
    ),
    "empty texts beside the median length": (
        "Clustering", combine(*(with_value("default", "test", "sentences", row, "") for row in (0, 1, 2))),
        ["conflicting_label", "duplicate_text", "empty_text"],
    ),
    "an empty query and an empty document": (
        "Retrieval",
        combine(with_value("queries", "test", "text", 0, " "), with_value("corpus", "test", "text", 0, "")),
        ["empty_text", "empty_text"],
    ),
    "a training pair that recurs": (
        "Contrastive",
        combine(
            with_value("faq", "train", "query", 3, "0 question number 0"),
            with_value("faq", "train", "positives", 3, ["0 text for question 0", "another text"]),
        ),
        ["duplicate_pair", "duplicate_text"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("task_type", TASKS)
def test_a_clean_dataset_has_no_findings(task_type: str) -> None:
    assert quality_findings(task_type, clean_tables(task_type)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_finding_is_reported_with_all_its_fields(planted: PlantedFinding) -> None:
    tables = planted.change(clean_tables(planted.task_type))
    assert integrity_findings(planted.task_type, tables) == []
    first, *others = quality_findings(planted.task_type, tables)
    location = first.config, first.split
    assert first == Finding(
        planted.kind,
        planted.severity or KINDS[planted.kind].severity,
        *location,
        first.column,
        planted.count,
        pytest.approx(planted.share),
        resolve_names(tables, *location, planted.examples),
        planted.detail,
        texts_checked=planted.texts_checked,
        twins=first.twins,
    )
    twins = [twin.split(": ") for twin in planted.twins]
    resolved = [(split, *resolve_names(tables, first.config, split, (name,))) for split, name in twins]
    assert first.twins == tuple(": ".join(twin) for twin in resolved)
    assert first.location == planted.location
    assert tuple(other.kind for other in others) == planted.other_kinds
    assert {other.kind for other in others if other.severity != KINDS[other.kind].severity} <= {"duplicate_text"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_causes_exactly_these_kinds_of_findings(change: str) -> None:
    task_type, plant, kinds = CHANGES[change]
    assert [finding.kind for finding in quality_findings(task_type, plant(clean_tables(task_type)))] == kinds


def test_every_kind_is_planted() -> None:
    """Each of these is found by a test, with the severity of its kind and together with no kind that is not named here."""
    named = {kind for planted in (*DEFECTS, *PLANTED) for kind in (planted.kind, *planted.other_kinds)}
    assert named == {name for name, kind in KINDS.items() if not (kind.reported or kind.learned)}


def test_findings_are_sorted_by_severity_then_kind_then_location() -> None:
    tables = combine(
        with_value("queries", "validation", "text", 0, "?"),
        with_value("corpus", "test", "text", 0, "!"),
        with_value("corpus", "validation", "text", 0, "<p>Bees make honey."),
        with_value("corpus", "validation", "text", 2, "\x80 bites"),
        with_value("queries", "test", "text", 0, "  "),
        with_value("queries", "test", "text", 1, "."),
    )(clean_tables("Reranking"))
    findings = quality_findings("Reranking", tables)
    assert [(finding.severity, finding.kind, finding.location) for finding in findings] == [
        ("warning", "empty_text", "queries/test.text"),
        ("warning", "encoding_residue", "corpus/validation.text"),
        ("warning", "html_residue", "corpus/validation.text"),
        ("info", "short_text", "corpus/test.text"),
        ("info", "short_text", "queries/validation.text"),
        ("info", "short_text", "queries/test.text"),
    ]


def test_only_the_requested_splits_are_audited() -> None:
    tables = with_value("default", "test", "text", 0, "0 train sentence number 0")(clean_tables("Classification"))
    part = {"default": {split: tables["default"][split].lazy() for split in ("validation", "test")}}
    assert audit_rows(TASKS["Classification"], part, ("test", "validation")) == []


TEXT = st.sampled_from(
    [
        *(
            "",
            " ",
            "a",
            "A",
            "a ",
            "a!",
            "b",
            "B b",
            "b  b",
            "b\tb",
            "b-b",
            "«b, b»",
            "Ä",
            "ä",
            "a\u0308",
            "\x1c",
            "ß",
            "SS",
        ),
        *("!", "?", " ! ", "...", "\u2026", "ﬁ", "fi", "№", "no", "+", "ＡＢ", "ab"),
    ]
)


def fold(text: str) -> str:
    """Folding as builders.shaping.folding defines it, in plain Python."""
    lower = unicodedata.normalize("NFKC", text).lower()
    words = "".join(" " if unicodedata.category(char).startswith("P") else char for char in lower)
    return " ".join(words.split()) or " ".join(lower.split())


@given(*[st.lists(st.tuples(TEXT, st.integers(0, 2)), min_size=1, max_size=8)] * 2)
@example([("a", 0)], [("A", 1), ("a ", 1)])
def test_duplicates_leaks_and_conflicts_are_those_that_plain_python_finds(
    train: list[tuple[str, int]], test: list[tuple[str, int]]
) -> None:
    task = tasks.MultilabelClassification(labels=("red", "green", "blue"))
    rows_by_split = {"train": train, "test": test}
    frames = {
        split: pl.LazyFrame({"text": [text for text, _ in rows], "label": [[label] for _, label in rows]})
        for split, rows in rows_by_split.items()
    }
    findings = {
        (finding.kind, finding.split, finding.detail): finding
        for finding in audit_rows(task, {"default": frames}, ("train", "test"))
    }

    def count(kind: str, split: str, detail: str = "") -> int:
        return findings[kind, split, detail].count if (kind, split, detail) in findings else 0

    for split, rows in rows_by_split.items():
        texts, labels = [text for text, _ in rows], defaultdict(set)
        for text, label in rows:
            labels[text].add(label)
        assert count("duplicate_text", split) == len(texts) - len(set(texts))
        assert count("conflicting_label", split) == sum(len(several) > 1 for several in labels.values())
        assert count("empty_text", split) == sum(not text.strip() for text in texts)
        assert count("short_text", split) == sum(len(text.strip()) == 1 for text in texts)
    in_train, in_test = {text for text, _ in train}, {text for text, _ in test}
    folded = {text for text in in_test - in_train if fold(text) in {fold(text) for text in in_train}}
    assert count("split_leak", "test", "in train") == len(in_test & in_train)
    assert count("split_leak", "test", f"in train, {FOLDED_DETAIL}") == len(folded)


def test_the_chunks_of_a_frame_change_nothing() -> None:
    tables = combine(*(with_value("default", "test", "text", row, f"Again {row % 3}.") for row in range(0, 24, 2)))(
        clean_tables("Classification")
    )
    whole = tables["default"]["test"]
    tables["default"]["test"] = pl.concat([whole.slice(start, 5) for start in range(0, 24, 5)], rechunk=False)
    findings_of_chunks = quality_findings("Classification", tables)
    tables["default"]["test"] = whole
    assert findings_of_chunks == quality_findings("Classification", tables) != []


def test_texts_with_colliding_hashes_are_not_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed else expr.str.len_chars().cast(pl.UInt64),
    )
    for task_type in TASKS:
        assert quality_findings(task_type, clean_tables(task_type)) == []
