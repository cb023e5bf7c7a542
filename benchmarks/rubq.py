"""How fast rubq-reranking and rubq-retrieval are built from raw files of true size and form, against the obvious script.

    python benchmarks/rubq.py                      2,330 questions, 56,952 paragraphs
    python benchmarks/rubq.py 23300 569520         other numbers
    python benchmarks/rubq.py --folder made        keep what is made

The two JSON files are made in the form of RuBQ 2.0: all keys, lists of paragraphs of the lengths of the real dev file, texts of
recombined words in the lengths of the published corpus. The number of duplicate paragraphs is planted, and the number of
rows that each table must get follows from what was planted, not from the recipe. Then, each in a process of its own:

- build: what `python -m pipelines.build rubq` does from raw files to two finished releases, all checks included;
- recipe: that part of it that the script does too, raw files to frames, twice: once a dataset;
- script: what one would write in an hour, with json, pandas and `to_parquet`. It makes the same rows, and that they are the
  same is checked; it checks nothing itself, and refuses nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders.spec import Tables

ROOT = Path(__file__).parents[1]
RAW = Path("raw", "rubq")
QUESTIONS, PARAGRAPHS = "RuBQ_2.0_test.json", "RuBQ_2.0_paragraphs.json"
DATASETS = ("rubq-reranking", "rubq-retrieval")
MIN_NEGATIVES = 9

# Of the 580 questions of the real dev file: how many have so many paragraphs with the answer, so many related ones; how many
# answers are of each form; how many questions have each tag.
WITH_ANSWER = {0: 136, 1: 228, 2: 124, 3: 57, 4: 32, 5: 2, 6: 1}
RELATED = {
    0: 18, 1: 3, 2: 2, 4: 3, 5: 51, 10: 3, 15: 4, 16: 2, 17: 3, 18: 5, 19: 3, 20: 14, 21: 20, 22: 23, 23: 33, 24: 29, 25: 359,
    26: 3, 28: 2,
}  # fmt: skip
ANSWERS = {"uri": 602, "datatype": 132, "xml:lang": 6, "literal": 3}
TAGS = {"1-hop": 372, "no-answer": 100, "multi-constraint": 67, "multi-hop": 14, "duration": 7, "0-hop": 3}
RUN = 5  # related paragraphs come in runs of so many neighbours
PAGES = (1, 2, 5, 8, 12, 20, 35, 60)  # paragraphs of a page
# Characters of a paragraph: about the published 1 / 449 / 11,010.
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
SMALL = (
    "в", "на", "и", "из", "от", "до", "при", "под", "над", "без", "для", "после", "между", "который", "однако",
    "также",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """What was made, and so what the recipes must find: rows by their names in `observed`, or by table."""

    observed: dict[str, int]
    reranking: dict[str, int]
    retrieval: dict[str, int]


def main() -> None:
    """Make the raw files, run the three, print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("questions", nargs="?", type=int, default=2_330, help="how many (2330)")
    arguments.add_argument("paragraphs", nargs="?", type=int, default=56_952, help="how many (56952)")
    arguments.add_argument("--folder", type=Path, help="work here, and keep what is made (default: a temporary folder)")
    arguments.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        RUNS[options.run](options.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        planted = make_raw(folder / RAW, options.questions, options.paragraphs)
        sizes = ", ".join(
            f"{name} {(folder / RAW / name).stat().st_size / 1e6:,.1f} MB" for name in (QUESTIONS, PARAGRAPHS)
        )
        print(f"raw: {sizes}")
        measured = {name: measure(name, folder) for name in RUNS}
        print(rows(folder, planted))
        print(table(measured))


# --- the raw files


def make_raw(
    folder: Path, questions: int = 2_330, paragraphs: int = 56_952, copies: int = 126, twins: int = 53
) -> Planted:
    """Write both raw files, the same bytes every time.

    copies: paragraphs with page and text of an earlier one. twins: with the text of one of another page. Up to two fifths of
    the copies answer a question, half of them together with the paragraph whose copy they are.
    """
    choose = random.Random(2021)
    folder.mkdir(parents=True, exist_ok=True)
    corpus, first = make_paragraphs(choose, paragraphs, copies, twins)
    moved = [uid for uid, earlier in first.items() if uid != earlier][: 2 * copies // 5]
    asked = [make_question(choose, 3 * number + number % 3 + 1, paragraphs) for number in range(questions)]
    for number, uid in enumerate(moved[:questions]):
        links = asked[number * questions // len(moved)]["paragraphs_uids"]
        both = [uid, first[uid]] if number % 2 else [uid]
        links["with_answer"] += [one for one in both if one not in links["with_answer"]]
        links["all_related"] += [one for one in both if one not in links["all_related"]]
    for name, records in ((QUESTIONS, asked), (PARAGRAPHS, corpus)):
        (folder / name).write_text(json.dumps(records, ensure_ascii=False, indent=4), "utf-8", newline="\n")
    links = [question["paragraphs_uids"] for question in asked]
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
    choose: random.Random, count: int, copies: int, twins: int
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """The paragraphs, page by page, and for each uid the first one with its page and text."""
    pages = [page for page in range(count) for _ in range(choose.choice(PAGES))][:count]
    inside = [uid for uid in range(1, count) if pages[uid] == pages[uid - 1]]
    copied = set(choose.sample(inside, copies))
    later = [uid for uid in range(count) if pages[uid] and uid not in copied]
    twinned = set(choose.sample(later, twins))
    words = [stem + ending for stem in STEMS for ending in ENDINGS] + [*SMALL] * 20
    texts: list[str] = []
    first: dict[int, int] = {}
    known: dict[tuple[int, str], int] = {}
    seen: set[str] = set()
    for uid, page in enumerate(pages):
        if uid in copied:
            text = texts[choose.randrange(pages.index(page), uid)]
        elif uid in twinned:
            text = choose.choice([one for one in texts[: pages.index(page)] if (page, one) not in known])
        else:
            length = {1: SHORTEST, count - 1: LONGEST}.get(uid) or choose.choice(LENGTHS)
            while (text := make_text(choose, words, length)) in seen:
                pass
        seen.add(text)
        texts.append(text)
        first[uid] = known.setdefault((page, text), uid)
    corpus = [
        {"uid": uid, "ru_wiki_pageid": 700_000 + 37 * page, "text": text}
        for uid, (page, text) in enumerate(zip(pages, texts, strict=True))
    ]
    return corpus, first


def make_text(choose: random.Random, words: list[str], length: int) -> str:
    """So many characters of sentences."""
    text = ""
    while len(text) < length:
        sentence = " ".join(choose.choices(words, k=choose.choice((5, 8, 12, 17))))
        text += sentence.capitalize() + choose.choice((". ", ". ", ", 1957. ", "! ", " — это так.\n"))
    return text[: length - 1].strip() + choose.choice("абвгдежзик") if length > 1 else text[0]


def make_question(choose: random.Random, uid: int, paragraphs: int) -> dict[str, Any]:
    """A question with all of its keys; its answer lies among paragraphs that come in runs of neighbours."""
    wanted = choose.choices(list(RELATED), list(RELATED.values()))[0]
    related: dict[int, None] = {}
    while len(related) < wanted:
        start = choose.randrange(paragraphs - RUN)
        related |= dict.fromkeys(range(start, start + min(RUN, wanted - len(related))))
    gold = choose.choices(list(WITH_ANSWER), list(WITH_ANSWER.values()))[0]
    tag = choose.choices(list(TAGS), list(TAGS.values()))[0]
    known = tag != "no-answer"
    entity, answer = choose.randrange(10**9, 2 * 10**9), choose.choice(STEMS).capitalize() + "ск"
    return {
        "uid": uid,
        "question_text": f"Где находится {' '.join(choose.choices(STEMS, k=4))}?",
        "query": f"SELECT ?answer \nWHERE {{\n  wd:Q{entity} wdt:P17 ?answer\n}}" if known else None,
        "answer_text": answer,
        "question_uris": [f"http://www.wikidata.org/entity/Q{entity + 1}"] if known else None,
        "question_props": ["wdt:P17"] if known else None,
        "answers": [make_answer(choose, answer, entity)] if known else [],
        "paragraphs_uids": {
            "with_answer": choose.sample(list(related), min(gold, len(related))),
            "all_related": list(related),
        },
        "tags": [tag],
        "RuBQ_version": choose.choice(("1.0", "2.0")),
        "question_eng": f"Where is it, number {uid}?",
    }


def make_answer(choose: random.Random, label: str, entity: int) -> dict[str, Any]:
    """An answer in one of its four forms."""
    form = choose.choices(list(ANSWERS), list(ANSWERS.values()))[0]
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


# --- the three


def build(folder: Path) -> None:
    """Both builds; the raw files are not the pinned ones, so their digests are left out."""
    sys.path.insert(0, str(ROOT))
    from dataclasses import replace

    from builders import catalogue
    from pipelines.make import BuildSettings, make
    from pipelines.raw.settings import RawSettings

    places = RawSettings(folder / "raw", folder / "cache", offline=True, lock=folder / "raw.lock.json")
    settings = BuildSettings(folder / "outputs", places, force=True, ledger=folder / "ledger.json")
    for name in DATASETS:
        known = catalogue.load(catalogue.entries()[name])
        files = {key: replace(file, git_blob=None) for key, file in known.source.files.items()}
        make(replace(known, source=replace(known.source, files=files)), "1.0.0", settings)


def recipe(folder: Path) -> None:
    """Both recipes, without writing or checking anything."""
    for name in DATASETS:
        made(folder / RAW, name)


def made(folder: Path, name: str, limit: int | None = None, **options: Any) -> Tables:
    """The tables of one dataset from a folder with both raw files."""
    sys.path.insert(0, str(ROOT))
    from builders import catalogue
    from builders.spec import Raw, RawFiles

    files = {
        key: Raw(f"rubq/{file}", folder / file, limit=limit)
        for key, file in (("questions", QUESTIONS), ("paragraphs", PARAGRAPHS))
    }
    return catalogue.load(catalogue.entries()[name]).dataset.recipe(RawFiles(("test",), files, folder), **options)


def script(folder: Path) -> None:
    """The obvious script."""
    import pandas as pd

    questions = json.loads((folder / RAW / QUESTIONS).read_text("utf-8"))
    paragraphs = pd.DataFrame(json.loads((folder / RAW / PARAGRAPHS).read_text("utf-8")))
    paragraphs["id"], paragraphs["title"] = paragraphs["uid"].astype(str), ""
    paragraphs["first"] = paragraphs.groupby(["ru_wiki_pageid", "text"])["id"].transform("first")
    first = dict(zip(paragraphs["uid"], paragraphs["first"], strict=True))
    asked, judged, ranked, candidates, answered, relevant = [], [], [], set(), [], []
    for question in questions:
        uid, links = str(question["uid"]), question["paragraphs_uids"]
        gold = set(links["with_answer"])
        if not gold:
            continue
        answered.append((uid, question["question_text"]))
        relevant += [(uid, first[one], 1) for one in links["with_answer"]]
        if len(set(links["all_related"]) - gold) >= MIN_NEGATIVES:
            asked.append((uid, question["question_text"]))
            judged += [(uid, str(one), int(one in gold)) for one in links["all_related"]]
            ranked.append((uid, sorted(map(str, links["all_related"]))))
            candidates.update(links["all_related"])
    queries, qrels, columns = ["id", "text"], ["query-id", "corpus-id", "score"], ["id", "title", "text"]
    tables = {
        "rubq-reranking": {
            "corpus": paragraphs[paragraphs["uid"].isin(candidates)][columns],
            "queries": pd.DataFrame(asked, columns=queries),
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
            place = folder / "script" / name / f"{config}.parquet"
            place.parent.mkdir(parents=True, exist_ok=True)
            frame.to_parquet(place, index=False)


RUNS: dict[str, Callable[[Path], None]] = {"script": script, "recipe": recipe, "build": build}


# --- what comes of it


@dataclass(frozen=True)
class Measured:
    """seconds by the clock, processor: by all cores together; memory: the most that was resident, in bytes."""

    seconds: float
    processor: float
    memory: int


def measure(name: str, folder: Path) -> Measured:
    """Run one of the three in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, "--run", name, "--folder", str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{name} failed")
    return Measured(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def rows(folder: Path, planted: Planted) -> str:
    """How many rows each table has, beside what was planted, and whether the script's rows are the same."""
    import polars as pl

    lines = ["| dataset | table | rows | planted | script's rows |", "| --- | --- | ---: | ---: | --- |"]
    for name in DATASETS:
        release = folder / "outputs" / name / "1.0.0"
        for config, wanted in (planted.reranking if name == "rubq-reranking" else planted.retrieval).items():
            ours = pl.read_parquet(release / config / "*.parquet")
            theirs = pl.read_parquet(folder / "script" / name / f"{config}.parquet").cast(ours.schema)
            if config == "top_ranked":  # in hash order with us
                ours = ours.with_columns(pl.col("corpus-ids").list.sort())
            if config == "qrels":  # the positives of a question come in another order
                ours, theirs = (frame.sort("query-id", "corpus-id") for frame in (ours, theirs))
            same = "the same" if ours.equals(theirs) else "DIFFERENT"
            lines.append(f"| {name} | {config} | {ours.height:,} | {wanted:,} | {same} |")
    observed = json.loads((folder / "outputs" / "rubq-retrieval" / "1.0.0" / "manifest.json").read_bytes())["observed"]
    lines += [
        f"| rubq-retrieval | {what} | {observed[what]:,} | {wanted:,} | |" for what, wanted in planted.observed.items()
    ]
    return "\n".join(["", *lines, ""])


def table(measured: dict[str, Measured]) -> str:
    """What was measured, as a Markdown table."""
    lines = [
        "| | seconds | processor seconds | peak memory | times the script |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in measured.items():
        figures = (f"{one.seconds:.1f}", f"{one.processor:.1f}", f"{one.memory / 1e6:,.0f} MB")
        lines.append(f"| {name} | {' | '.join(figures)} | {one.seconds / measured['script'].seconds:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
