"""The builds of rubq-reranking and rubq-retrieval beside a simple script, at real size: python benchmarks/all.py rubq

The two JSON files are generated in the format of RuBQ 2.0: all keys, paragraph lists with the lengths of the real dev file, texts
of recombined words with the lengths of the published corpus. The number of duplicate paragraphs is planted, and the expected
number of rows per table follows from it, not from the recipe.

- floor: the lower bound: parse both files and write the paragraphs to Parquet;
- build: what `embedding-datasets build rubq` does, from raw files to two releases, including all checks;
- recipe: only the part that the script does too, from raw files to frames, once per dataset;
- script: a simple script with json, pandas and `to_parquet`. It writes the same rows (which the benchmark verifies), without
  any checks.
"""

import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.programs import Task, run_recipe, without_digests
from benchmarks.programs import build as build_release

RAW = Path("raw", "rubq")
QUESTIONS, PARAGRAPHS = "RuBQ_2.0_test.json", "RuBQ_2.0_paragraphs.json"
DATASETS = ("rubq-reranking", "rubq-retrieval")
MIN_NEGATIVES = 9

# Counts in the 580 questions of the real dev file: questions by number of paragraphs with the answer, questions by number of
# related paragraphs, answers by form, questions by tag.
WITH_ANSWER = {0: 136, 1: 228, 2: 124, 3: 57, 4: 32, 5: 2, 6: 1}
RELATED = {
    0: 18, 1: 3, 2: 2, 4: 3, 5: 51, 10: 3, 15: 4, 16: 2, 17: 3, 18: 5, 19: 3, 20: 14, 21: 20, 22: 23, 23: 33, 24: 29, 25: 359,
    26: 3, 28: 2,
}  # fmt: skip
ANSWERS = {"uri": 602, "datatype": 132, "xml:lang": 6, "literal": 3}
TAGS = {"1-hop": 372, "no-answer": 100, "multi-constraint": 67, "multi-hop": 14, "duration": 7, "0-hop": 3}
RUN = 5  # related paragraphs come in runs of 5 neighbours
PAGES = (1, 2, 5, 8, 12, 20, 35, 60)  # paragraphs per page
# Characters per paragraph: close to the published minimum, mean and maximum of 1 / 449 / 11,010.
SHORTEST, LENGTHS, LONGEST = 1, (60, 110, 160, 210, 250, 300, 360, 430, 540, 680, 900, 1_390), 11_010

STEMS = (
    "берег", "волн", "город", "горн", "деревн", "дерев", "дорог", "залив", "звезд", "земл", "камен", "корабл",
    "корол", "круг", "лес", "лист", "лодк", "луг", "мастер", "мел", "мор", "мост", "мыс", "овраг", "озер", "окн",
    "остров", "песн", "письм", "пол", "порог", "пристан", "пруд", "птиц", "путь", "реч", "сад", "свет", "север",
    "собор", "солн", "степ", "стен", "столиц", "театр", "тракт", "трав", "улиц", "утр", "холм", "храм", "цвет",
    "час", "ярмарк",
)  # fmt: skip
ENDINGS = (
    "а", "у", "е", "ы", "ом", "ами", "ах", "ной", "ному", "ский", "ская", "ских", "ение", "ении", "ить", "ил", "ила",
    "или", "ался", "ется", "ого", "ый", "ая", "ие",
)  # fmt: skip
FUNCTION_WORDS = (
    "в", "на", "и", "из", "от", "до", "при", "под", "над", "без", "для", "после", "между", "который", "однако",
    "также",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """The row counts that the recipes must produce: by name in `observed`, and by table of each dataset."""

    observed: dict[str, int]
    reranking: dict[str, int]
    retrieval: dict[str, int]


def prepare(folder: Path, questions: int) -> None:
    """Write raw files with as many paragraphs a question as the real ones have, and the planted counts."""
    planted = make_raw(folder / RAW, questions, questions * 56_952 // 2_330)
    (folder / "planted.json").write_text(json.dumps(asdict(planted)), "utf-8")


# --- raw files


def make_raw(
    folder: Path, questions: int = 2_330, paragraphs: int = 56_952, copies: int = 126, twins: int = 53
) -> Planted:
    """Write both raw files, the same bytes every time.

    copies: the number of paragraphs with the page and text of an earlier one. twins: the number with the text of a paragraph on
    another page. Up to two fifths of the copies answer a question, half of them together with the original paragraph.
    """
    rng = random.Random(2021)
    folder.mkdir(parents=True, exist_ok=True)
    corpus, first = make_paragraphs(rng, paragraphs, copies, twins)
    answering = [uid for uid, earlier in first.items() if uid != earlier][: 2 * copies // 5]
    records = [make_question(rng, 3 * number + number % 3 + 1, paragraphs) for number in range(questions)]
    for number, uid in enumerate(answering[:questions]):
        links = records[number * questions // len(answering)]["paragraphs_uids"]
        both = [uid, first[uid]] if number % 2 else [uid]
        links["with_answer"] += [uid for uid in both if uid not in links["with_answer"]]
        links["all_related"] += [uid for uid in both if uid not in links["all_related"]]
    for name, content in ((QUESTIONS, records), (PARAGRAPHS, corpus)):
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=4), "utf-8", newline="\n")
    links = [question["paragraphs_uids"] for question in records]
    answered = [link for link in links if link["with_answer"]]
    ranked = [link for link in answered if len(link["all_related"]) - len(link["with_answer"]) >= MIN_NEGATIVES]
    candidates = [uid for link in ranked for uid in link["all_related"]]
    distinct = paragraphs - copies
    return Planted(
        {
            "paragraphs": paragraphs,
            "paragraphs distinct by page and text": distinct,
            "paragraphs distinct by text": distinct - twins,
        },
        {"corpus": len(set(candidates)), "queries": len(ranked), "qrels": len(candidates), "top_ranked": len(ranked)},
        {
            "corpus": distinct,
            "queries": len(answered),
            "qrels": sum(len({first[uid] for uid in link["with_answer"]}) for link in answered),
        },
    )


def make_paragraphs(
    rng: random.Random, count: int, copies: int, twins: int
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Generate paragraphs page by page; also map each uid to the first uid with the same page and text."""
    pages = [page for page in range(count) for _ in range(rng.choice(PAGES))][:count]
    inside = [uid for uid in range(1, count) if pages[uid] == pages[uid - 1]]
    copy_uids = set(rng.sample(inside, copies))
    later = [uid for uid in range(count) if pages[uid] and uid not in copy_uids]
    twin_uids = set(rng.sample(later, twins))
    words = [stem + ending for stem in STEMS for ending in ENDINGS] + [*FUNCTION_WORDS] * 20
    texts: list[str] = []
    first: dict[int, int] = {}
    first_uids: dict[tuple[int, str], int] = {}
    seen: set[str] = set()
    for uid, page in enumerate(pages):
        if uid in copy_uids:
            text = texts[rng.randrange(pages.index(page), uid)]
        elif uid in twin_uids:
            text = rng.choice([earlier for earlier in texts[: pages.index(page)] if (page, earlier) not in first_uids])
        else:
            length = {1: SHORTEST, count - 1: LONGEST}.get(uid) or rng.choice(LENGTHS)
            while (text := make_text(rng, words, length)) in seen:
                pass
        seen.add(text)
        texts.append(text)
        first[uid] = first_uids.setdefault((page, text), uid)
    corpus = [
        {"uid": uid, "ru_wiki_pageid": 700_000 + 37 * page, "text": text}
        for uid, (page, text) in enumerate(zip(pages, texts, strict=True))
    ]
    return corpus, first


def make_text(rng: random.Random, words: list[str], length: int) -> str:
    """Generate sentences with `length` characters in total."""
    text = ""
    while len(text) < length:
        sentence = " ".join(rng.choices(words, k=rng.choice((5, 8, 12, 17))))
        text += sentence.capitalize() + rng.choice((". ", ". ", ", 1957. ", "! ", " — это так.\n"))
    return text[: length - 1].strip() + rng.choice("абвгдежзик") if length > 1 else text[0]


def make_question(rng: random.Random, uid: int, paragraphs: int) -> dict[str, Any]:
    """Generate a question with all keys; its related paragraphs come in runs of neighbours."""
    related_count = rng.choices(list(RELATED), list(RELATED.values()))[0]
    related: dict[int, None] = {}
    while len(related) < related_count:
        start = rng.randrange(paragraphs - RUN)
        related |= dict.fromkeys(range(start, start + min(RUN, related_count - len(related))))
    gold = rng.choices(list(WITH_ANSWER), list(WITH_ANSWER.values()))[0]
    tag = rng.choices(list(TAGS), list(TAGS.values()))[0]
    has_answer = tag != "no-answer"
    entity, answer = rng.randrange(10**9, 2 * 10**9), rng.choice(STEMS).capitalize() + "ск"
    return {
        "uid": uid,
        "question_text": f"Где находится {' '.join(rng.choices(STEMS, k=4))}?",
        "query": f"SELECT ?answer \nWHERE {{\n  wd:Q{entity} wdt:P17 ?answer\n}}" if has_answer else None,
        "answer_text": answer,
        "question_uris": [f"http://www.wikidata.org/entity/Q{entity + 1}"] if has_answer else None,
        "question_props": ["wdt:P17"] if has_answer else None,
        "answers": [make_answer(rng, answer, entity)] if has_answer else [],
        "paragraphs_uids": {
            "with_answer": rng.sample(list(related), min(gold, len(related))),
            "all_related": list(related),
        },
        "tags": [tag],
        "RuBQ_version": rng.choice(("1.0", "2.0")),
        "question_eng": f"Where is it, number {uid}?",
    }


def make_answer(rng: random.Random, label: str, entity: int) -> dict[str, Any]:
    """Generate an answer in one of the four forms."""
    form = rng.choices(list(ANSWERS), list(ANSWERS.values()))[0]
    names = {"wd_names": {"ru": [label, f"город {label}"], "en": [f"Answer {entity}"]}, "wp_names": [f"{label}а"]}
    if form == "uri":
        return {"type": "uri", "label": label, "value": f"http://www.wikidata.org/entity/Q{entity}", **names}
    typed = {"datatype": "http://www.w3.org/2001/XMLSchema#dateTime", "xml:lang": "ru"}
    return {
        **({form: typed[form]} if form in typed else {}),
        "type": "literal",
        "value": label,
        "label": label,
        **names,
    }


# --- programs


def floor(folder: Path) -> None:
    """Convert the paragraphs to Parquet without any other work."""
    import orjson
    import polars as pl

    orjson.loads((folder / RAW / QUESTIONS).read_bytes())
    paragraphs = orjson.loads((folder / RAW / PARAGRAPHS).read_bytes())
    pl.DataFrame(paragraphs).write_parquet(folder / "floor.parquet")


def build(folder: Path) -> None:
    """Run both builds."""
    for name in DATASETS:
        build_release(folder, without_digests(name), "1.0.0")


def recipe(folder: Path) -> None:
    """Run both recipes, without checks or output files."""
    for name in DATASETS:
        run_recipe(folder / RAW, folder, name)


def script(folder: Path) -> None:
    """Run the simple script."""
    import pandas as pd

    questions = json.loads((folder / RAW / QUESTIONS).read_text("utf-8"))
    paragraphs = pd.DataFrame(json.loads((folder / RAW / PARAGRAPHS).read_text("utf-8")))
    paragraphs["id"], paragraphs["title"] = paragraphs["uid"].astype(str), ""
    paragraphs["first"] = paragraphs.groupby(["ru_wiki_pageid", "text"])["id"].transform("first")
    first = dict(zip(paragraphs["uid"], paragraphs["first"], strict=True))
    reranking_queries, judged, ranked, candidates, answered, relevant = [], [], [], set(), [], []
    for question in questions:
        uid, links = str(question["uid"]), question["paragraphs_uids"]
        gold = set(links["with_answer"])
        if not gold:
            continue
        answered.append((uid, question["question_text"]))
        relevant += [(uid, first[paragraph], 1) for paragraph in links["with_answer"]]
        if len(set(links["all_related"]) - gold) >= MIN_NEGATIVES:
            reranking_queries.append((uid, question["question_text"]))
            judged += [(uid, str(paragraph), int(paragraph in gold)) for paragraph in links["all_related"]]
            ranked.append((uid, sorted(map(str, links["all_related"]))))
            candidates.update(links["all_related"])
    queries, qrels, columns = ["id", "text"], ["query-id", "corpus-id", "score"], ["id", "title", "text"]
    tables = {
        "rubq-reranking": {
            "corpus": paragraphs[paragraphs["uid"].isin(candidates)][columns],
            "queries": pd.DataFrame(reranking_queries, columns=queries),
            "qrels": pd.DataFrame(judged, columns=qrels),
            "top_ranked": pd.DataFrame(ranked, columns=["query-id", "corpus-ids"]),
        },
        "rubq-retrieval": {
            "corpus": paragraphs[paragraphs["id"] == paragraphs["first"]][columns],
            "queries": pd.DataFrame(answered, columns=queries),
            "qrels": pd.DataFrame(relevant, columns=qrels).drop_duplicates(),
        },
    }
    for name, frames in tables.items():
        for config, frame in frames.items():
            path = folder / "script" / name / f"{config}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            frame.to_parquet(path, index=False)


# --- results


def compare(folder: Path) -> str:
    """Exit unless each table has the planted number of rows, and the script wrote the same rows."""
    import polars as pl

    planted, wrong = json.loads((folder / "planted.json").read_bytes()), []
    for name in DATASETS:
        release = folder / "outputs" / name / "1.0.0"
        for config, expected in planted[name.removeprefix("rubq-")].items():
            ours = pl.read_parquet(release / config / "*.parquet")
            theirs = pl.read_parquet(folder / "script" / name / f"{config}.parquet").cast(ours.schema)
            if config == "top_ranked":  # our lists are in hash order
                ours = ours.with_columns(pl.col("corpus-ids").list.sort())
            if config == "qrels":  # the order of positives differs
                ours, theirs = (frame.sort("query-id", "corpus-id") for frame in (ours, theirs))
            wrong += [f"{name} {config}"] * (ours.height != expected or not ours.equals(theirs))
    observed = json.loads((folder / "outputs" / "rubq-retrieval" / "1.0.0" / "manifest.json").read_bytes())["observed"]
    wrong += [count for count, expected in planted["observed"].items() if observed[count] != expected]
    if wrong:
        sys.exit(f"not as planted, or not what the script wrote: {', '.join(wrong)}")
    return "build and script wrote the same rows, as many as were planted"


TASKS = {
    "rubq": Task(
        "questions",
        (2_330,),
        (2_330,),
        prepare,
        {"floor": floor, "build": build, "recipe": recipe, "script": script},
        check=compare,
    )
}
