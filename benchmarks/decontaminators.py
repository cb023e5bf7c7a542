"""Compare decontaminators: which variants of a leaked text they find, which innocent rows they list, and what they cost.

    python benchmarks/decontaminators.py                            generated texts
    python benchmarks/decontaminators.py --sources ../shared/sources --folder work    real texts; work keeps what was measured
    python benchmarks/decontaminators.py --tools ours 13-grams
    python benchmarks/decontaminators.py --sources ../shared/sources --judged       what readers say of matches in real texts

The sources are divided into five groups. The texts of a group, those of five words or more, are a benchmark; the texts of all
other groups are innocent rows of a corpus, so that each text is searched for in those of all other groups. Between these rows are
others that have a text of the benchmark in each variant of benchmarks/planted_leaks.py. Each tool has a process with one thread:

- ours: the search of `embedding-datasets contamination scan`, with the texts available;
- 13-grams: a row that shares a run of 13 words with a text, as for GPT-3; 8-grams: of eight words;
- 70 % of 8-grams: a row that has 70 % of the runs of eight words of a text, as for PaLM;
- datatrove: NGramsDecontFilter with its defaults, 12-grams and English. Its indexer needs lighteval, for that library's own list
  of tasks: its compute_hashes is called for each text instead;
- lm-eval: its Janitor, 13-grams. overlapy: n-grams of 8 to 13 words, by the length of the texts;
- toolkit-mmqa: check_contamination by all of its methods: equal texts, 13-grams, MinHash;
- MinHash LSH: of datasketch, for runs of three words, 128 permutations, similarity 0.7.

A listed row is a false alarm unless half of the words of a text, or of the row, are in both, in the same order and in runs of
three or more. Slow tools read every fifth innocent row. Tools that are not installed are named below the table; for all of them:

    python -m pip install datatrove spacy loguru regex "xxhash<4" orjson overlapy datasketch toolkit-mmqa
    python -m pip install --no-deps lm-eval
"""

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import SequenceMatcher
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]  # spaCy imports another `catalogue`
sys.path.insert(0, str(ROOT))

from benchmarks.contamination import ONE_THREAD  # noqa: E402
from benchmarks.planted_leaks import VARIANTS, fold, make_texts  # noqa: E402
from benchmarks.programs import peak_memory  # noqa: E402
from builders import tasks  # noqa: E402
from builders.errors import SourceError  # noqa: E402
from pipelines.checking.corpora import Corpus, open_corpus, read_partition  # noqa: E402
from pipelines.decontamination.indexing import IndexedDataset, index_tables, write_texts  # noqa: E402
from pipelines.decontamination.matching import KINDS  # noqa: E402
from pipelines.decontamination.scans import load_scan, scan_partition  # noqa: E402

GROUPS = 5
EACH = 5  # a slow tool reads one of so many innocent rows
LENGTHS = ((5, 7), (8, 15), (16, 59), (60, 500))  # words of the texts that are planted, as many of each length
Rows = Iterator[tuple[int, str]]


def main() -> None:
    """Write the texts, run the tools, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = arguments.add_argument
    add("--sources", type=Path, help="a folder with a folder of texts for each source (default: generated texts)")
    add("--texts", type=int, default=10_000, help="texts of each of five generated sources (default: 10000)")
    add("--planted", type=int, default=50, help="texts of each length planted for each group and variant (default: 50)")
    add("--tools", nargs="+", choices=TOOLS, default=list(TOOLS), help="tools to run (default: all)")
    add("--folder", type=Path, help="work in this folder and keep it (default: a temporary folder)")
    add("--judged", action="store_true", help="compare with tests/judgements/leaks.tsv what is found in --sources")
    add("--pairs", type=Path, help="with --judged: write 200 pairs of texts and rows to read to this file")
    add("--run", choices=TOOLS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.judged and not options.sources:
        arguments.error("--judged needs --sources")
    if options.run:
        run_tool(options.run, options.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        if options.judged:
            print(judge(options.sources.resolve(), folder, options.pairs))
            return
        if not (folder / f"{GROUPS - 1}").exists():
            write_groups(folder, read_sources(options.sources, options.texts), options.planted)
        for name in options.tools:
            if all(map(find_spec, TOOLS[name][1])) and not (folder / f"{name}.json").exists():
                command = [sys.executable, __file__, "--folder", str(folder), "--run", name]
                subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=True, env=os.environ | ONE_THREAD)
        print(table(folder))


def read_sources(folder: Path | None, texts: int) -> list[list[str]]:
    """The different texts of five words or more of each folder in a folder that has texts; without one, generated texts."""
    if not folder:
        return [make_texts(np.random.default_rng(number), texts, 5, 90) for number in range(GROUPS)]
    sources = []
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        with suppress(SourceError):  # a folder without texts that can be read as a corpus
            found = dict.fromkeys(read_texts(open_corpus([str(path)]))[0]["text"])
            sources.append(list(filter(is_searched, found)))
    return sources


def is_searched(text: str) -> bool:
    """Whether a text is looked for: one of five words or more."""
    return len(text.split()) >= LENGTHS[0][0]


def read_texts(corpus: Corpus) -> tuple[pl.DataFrame, int]:
    """The texts of a corpus (file, row, column, text), and how many rows it has."""
    batches = [batch for partition in corpus.partitions for batch in read_partition(partition)]
    texts = pl.concat(batch.texts.select(pl.lit(batch.file).alias("file"), pl.all()) for batch in batches)
    return texts, sum(batch.count for batch in batches)


def write_groups(folder: Path, sources: list[list[str]], planted: int) -> None:
    """Write what each group searches for, and in which rows: `<group>/texts.parquet` and `<group>/corpus.parquet`.

    Columns of the corpus: text; variant and words (of the text that is planted), null for an innocent row.
    """
    groups = [list(chain.from_iterable(sources[number::GROUPS])) for number in range(GROUPS)]
    for number, texts in enumerate(groups):
        innocent = list(chain.from_iterable(groups[:number] + groups[number + 1 :]))
        source, rows = random.Random(number), [(text, None, None) for text in innocent]
        for low, high in LENGTHS:
            fitting = [text for text in texts if low <= len(text.split()) <= high]
            rows += [
                (write(source, text, innocent), variant, len(text.split()))
                for text in source.sample(fitting, min(planted, len(fitting)))
                for variant, write in VARIANTS.items()
            ]
        path = folder / str(number)
        path.mkdir(parents=True)
        labelled = {"id": [f"t{place}" for place in range(len(texts))], "text": texts, "label": [0] * len(texts)}
        pl.DataFrame(labelled).write_parquet(path / "texts.parquet")
        schema = {"text": pl.String, "variant": pl.String, "words": pl.Int64}
        pl.DataFrame(rows, schema, orient="row").write_parquet(path / "corpus.parquet")


def run_tool(name: str, folder: Path) -> None:
    """Run a tool on all groups, and write `<tool>.json`: what it lists, and what it needed.

    listed: numbers of rows, by group. texts, rows: how many it read. index, search: seconds of the processor. memory: the
    highest, in bytes.
    """
    tool, _, each = TOOLS[name]
    listed, texts, rows, times = list[list[int]](), 0, 0, list[float]()
    for number in range(GROUPS):
        corpus = pl.read_parquet(folder / f"{number}/corpus.parquet").with_row_index("row")
        corpus = corpus.filter((pl.col("row") % each == 0) | pl.col("variant").is_not_null())
        searched = pl.read_parquet(folder / f"{number}/texts.parquet")["text"].to_list()
        texts, rows = texts + len(searched), rows + corpus.height
        times.append(time.process_time())
        listed.append(sorted({int(row) for row in tool(folder / str(number), searched, _timed(corpus, times))}))
        times.append(time.process_time())
    laps = np.reshape(times, (-1, 3))
    index, search = (laps[:, 1:] - laps[:, :-1]).sum(axis=0).tolist()
    measured = {"index": index, "search": search, "memory": peak_memory()}
    measured |= {"texts": texts, "rows": rows, "listed": listed}
    (folder / f"{name}.json").write_text(json.dumps(measured), "utf-8")


def _timed(corpus: pl.DataFrame, times: list[float]) -> Rows:
    times.append(time.process_time())  # the first row is asked for: the index is ready
    yield from corpus.select("row", "text").iter_rows()


def search_ours(path: Path, _texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows of all matches of a scan."""
    index, stored = path / "index.parquet", path / "texts.arrow"
    frames = {"default": {"test": pl.scan_parquet(path / "texts.parquet")}}
    datasets = [IndexedDataset("texts", "1.0.0", tasks.Classification(("all",), ("test",)), frames)]
    write_texts(index_tables(datasets, index), datasets, stored)
    load_scan(index, stored)
    next(rows)
    for partition in open_corpus([str(path / "corpus.parquet")], columns=("text",)).partitions:
        result = scan_partition(partition, index=index, texts=stored, threads=1)
        yield from result["matches"][0].struct.field("corpus_row")


def word_runs(text: str, length: int) -> list[str]:
    """The runs of so many words of a text."""
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[start : start + length]) for start in range(len(words) - length + 1)]


def search_runs(_path: Path, texts: list[str], rows: Rows, length: int, share: float = 0) -> Iterator[int]:
    """The rows with a run of so many words of a text, or with so large a share of its runs."""
    runs = [set(word_runs(text, length)) for text in texts]
    owners = find_owners(runs)
    for row, text in rows:
        counts = Counter(chain.from_iterable(owners.get(run, ()) for run in set(word_runs(text, length))))
        if any(count >= share * len(runs[number]) for number, count in counts.items()):
            yield row


def find_owners(runs: Iterable[set[str]]) -> dict[str, list[int]]:
    """The numbers of the texts that have a run, by the run."""
    owners = defaultdict[str, list[int]](list)
    for number, of_text in enumerate(runs):
        for run in of_text:
            owners[run].append(number)
    return owners


def search_datatrove(path: Path, texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows that the filter of datatrove drops."""
    import_module("loguru").logger.remove()
    n_grams, documents = map(import_module, ("datatrove.pipeline.decont.n_grams", "datatrove.data"))
    indexer = object.__new__(n_grams.NGramsDecontIndexer)  # its __new__ wants lighteval, which texts do not need
    indexer.__init__(str(path))
    hashes = {number for text in texts for number in indexer.compute_hashes(text, "")}
    np.array(list(hashes), indexer.config.hash_config.np_dtype).tofile(path / "texts.index.hashes")
    decont = n_grams.NGramsDecontFilter(str(path))
    decont.load_index_hashes()
    return (row for row, text in rows if decont.filter(documents.Document(text, str(row))) is not True)


def search_janitor(_path: Path, texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows that lm-eval's Janitor would change, if it did not leave out pieces of fewer than 200 characters."""
    janitor = import_module("lm_eval.decontamination.janitor").Janitor(minimum_slice_length=-1)
    for text in texts:
        janitor.register_contaminant_python(text)
    return (row for row, text in rows if janitor.clean_python(text) != [text])


def search_overlapy(_path: Path, texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows with an n-gram of overlapy's set."""
    overlapy = import_module("overlapy")
    grams = overlapy.OverlapyTestSet("texts", examples=[word_runs(text, 1) for text in texts]).ngrams()
    find = overlapy.OverlapyNgramMatcher(set(map(tuple, grams)))
    return (row for row, text in rows if find([word_runs(text, 1)]))


def search_mmqa(_path: Path, texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows in which toolkit-mmqa finds a text by one of its methods."""
    mmqa, record = import_module("toolkit_mmqa.contamination"), import_module("toolkit_mmqa.records").Record
    target, corpus = mmqa.Target("texts", [record(*item) for item in enumerate(texts)]), (record(*row) for row in rows)
    found = mmqa.check_contamination(
        [("corpus", corpus)], [target], methods=mmqa.METHODS, max_train_matches=sys.maxsize
    )
    return (match["index"] for text in found.records for match in text["train_matches"])


def search_minhash(_path: Path, texts: list[str], rows: Rows) -> Iterator[int]:
    """The rows with a near-duplicate by MinHash."""
    datasketch = import_module("datasketch")
    near = datasketch.MinHashLSH(threshold=0.7, num_perm=128)

    def sketch(text: str) -> Any:
        hashes = datasketch.MinHash(128)
        hashes.update_batch([run.encode() for run in word_runs(text, 3) or [text]])
        return hashes

    for number, text in enumerate(texts):
        near.insert(number, sketch(text))
    return (row for row, text in rows if near.query(sketch(text)))


# Of each: the rows that it lists, of a group's folder, texts and corpus; the modules that it needs; it reads one of so many rows.
TOOLS: dict[str, tuple[Callable[[Path, list[str], Rows], Iterable[int]], tuple[str, ...], int]] = {
    "ours": (search_ours, (), 1),
    "13-grams": (partial(search_runs, length=13), (), 1),
    "8-grams": (partial(search_runs, length=8), (), 1),
    "70 % of 8-grams": (partial(search_runs, length=8, share=0.7), (), 1),
    "datatrove": (search_datatrove, ("datatrove", "spacy", "loguru", "regex", "xxhash"), EACH),
    "lm-eval": (search_janitor, ("lm_eval",), 1),
    "overlapy": (search_overlapy, ("overlapy",), 1),
    "toolkit-mmqa": (search_mmqa, ("toolkit_mmqa",), EACH),
    "MinHash LSH": (search_minhash, ("datasketch",), EACH),
}


def find_leaks(texts: list[str], rows: dict[int, str]) -> set[int]:
    """Those of some rows that have a text, or are a part of one.

    Compared are a row and a text that share a fifth of the runs of four words of the shorter one, of those that at most 1,000
    texts have.
    """
    runs = {row: set(word_runs(text, 4)) for row, text in rows.items()}
    of_texts, wanted = [word_runs(text, 4) for text in texts], set(chain.from_iterable(runs.values()))
    owners = find_owners(wanted.intersection(of_text) for of_text in of_texts)
    shared = {run: numbers for run, numbers in owners.items() if len(numbers) <= 1_000}
    return {
        row
        for row, of_row in runs.items()
        for number, count in Counter(chain.from_iterable(shared.get(run, ()) for run in of_row)).items()
        if count >= min(len(of_row), len(of_texts[number])) / 5 and is_part(rows[row], texts[number])
    }


def is_part(row: str, text: str) -> bool:
    """Whether half of the words of the shorter one are in both, in the same order and in runs of three or more."""
    words = fold(row).split(), fold(text).split()
    blocks = SequenceMatcher(None, *words, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size >= 3) >= min(map(len, words)) / 2


def unpack(source: Path, folder: Path) -> Path:
    """A folder with what no corpus may have as what it may: the files of ZIP, the texts of XML as lines, an object as a row."""
    folder.mkdir(exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".zip":
            zipfile.ZipFile(path).extractall(folder)
        elif path.suffix == ".xml":
            texts = filter(is_searched, ET.fromstring(path.read_text("utf-8")).itertext())
            (folder / f"{path.stem}.txt").write_text("\n".join(texts), "utf-8")
        elif path.suffix == ".json":
            (folder / path.name).write_text(f"[{path.read_text('utf-8')}]", "utf-8")
    return folder


def find_pairs(sources: Path, folder: Path, *, estimated: bool = False) -> tuple[pl.DataFrame, int]:
    """The texts of each source that rows of other sources have, once each, and how many rows all of them have.

    All texts of five words or more make one index, the rows of all sources are the corpus. folder: to work in. estimated:
    search without the texts. Columns: PAIR; text; held: what the row has in the fields of the match.
    """
    frames, corpora, rows = list[pl.DataFrame](), dict[str, Corpus](), 0
    for path in sorted(path for path in sources.iterdir() if path.is_dir()):
        with suppress(SourceError):
            try:
                corpora[path.name] = open_corpus([str(path)])
            except SourceError:
                corpora[path.name] = open_corpus([str(unpack(path, folder / path.name))])
            frame, count = read_texts(corpora[path.name])
            frames, rows = [*frames, frame.with_columns(source=pl.lit(path.name))], rows + count
    print(f"read: {', '.join(corpora)}", file=sys.stderr)
    texts = pl.concat(frames).with_row_index("id").with_columns(pl.col("id").cast(pl.String), label=0)
    wanted = texts.filter(pl.Series(map(is_searched, texts["text"]))).unique(
        ["source", "text"], keep="first", maintain_order=True
    )
    datasets = [
        IndexedDataset(str(name), "", tasks.Classification(("all",), ("test",)), {"default": {"test": frame.lazy()}})
        for [name], frame in wanted.group_by("source", maintain_order=True)
    ]
    index, stored = folder / "index.parquet", folder / "texts.arrow"
    write_texts(index_tables(datasets, index), datasets, stored)
    matches = pl.concat(
        scan_partition(partition, index=index, texts=None if estimated else stored)["matches"][0]
        .struct.unnest()
        .filter(pl.col("dataset") != name)
        for name, corpus in corpora.items()
        for partition in corpus.partitions
    )
    every = texts.select("file", "row", "column", "text").rows()
    places, pairs = {(file, row, column): at for at, (file, row, column, _) in enumerate(every)}, []
    columns = ["corpus_file", "corpus_row", "corpus_column", "row", "kind"]
    for file, row, fields, number, kind in matches.select(columns).iter_rows():
        first, last = (places[file, row, fields.split("+")[end]] for end in (0, -1))
        text_file, text_row, _, text = every[int(number)]
        held = " ".join(text for _, _, _, text in every[first : last + 1])
        names = [name.removeprefix(f"{sources}/").removeprefix(f"{folder}/") for name in (text_file, file)]
        pairs.append((names[0], text_row, names[1], row, digest(text), digest(held), kind, text, held))
    order = pl.col("kind").replace_strict({kind: number for number, kind in enumerate(KINDS)})
    found = pl.DataFrame(pairs, [*PAIR, "text", "held"], orient="row").sort(order, *PAIR)
    return found.unique(KEY, keep="first", maintain_order=True), rows


def digest(text: str) -> str:
    """The first 16 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def draw_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """The 200 pairs that a reader judges, by hash: up to 120 passages, then near and contained ones."""
    drawn = pairs.with_columns(order=pl.concat_str(KEY).map_elements(digest, pl.String)).sort("order").drop("order")
    passages = drawn.filter(pl.col("kind") == KINDS[-1])[:120]
    return pl.concat([passages, drawn.filter(pl.col("kind").is_in(KINDS[2:-1]))[: 200 - len(passages)]])


def show_place(row: str, text: str) -> str:
    """The words of a row from the first to the last that a text has in runs of three, with 40 words before and behind."""
    words, wanted = row.split(), list(map(fold, text.split()))
    blocks = SequenceMatcher(None, list(map(fold, words)), wanted, autojunk=False).get_matching_blocks()
    places = [place for block in blocks if block.size >= 3 for place in (block.a, block.a + block.size)] or [0]
    first, last = max(places[0] - 40, 0), places[-1] + 40
    return " ".join(["..."] * (first > 0) + words[first:last] + ["..."] * (last < len(words)))


def judged_table(judged: pl.DataFrame, pairs: pl.DataFrame, rows: int) -> str:
    """The Markdown table of what readers say of those pairs that are listed, with 95 % intervals of Wilson.

    judged: PAIR, first, second (verdicts of two readers: VERDICTS). pairs, rows: of find_pairs.
    """
    found = judged.join(pairs.select(*KEY, now="kind"), on=KEY)
    lines = [
        f"| kind | listed | judged | {' | '.join(VERDICTS)} | leaks, % | false in 100,000 rows | or unsure |",
        f"| --- |{' ---: |' * 8}",
    ]
    for kind in KINDS[2:]:
        listed, read = pairs.filter(kind=kind).height, found.filter(now=kind)["first"]
        counts = [read.eq(verdict).sum() for verdict in VERDICTS]
        wrong = [
            interval(count, len(read), listed / rows * 1e5, 2) for count in (counts[1], counts[1] + counts[2])
        ]  # of the pairs judged, as of all that are listed
        cells = (kind, listed, len(read), *counts, interval(counts[0], len(read), 100, 1), *wrong)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    both = judged.filter(pl.col("second").fill_null("") != "")
    agree = interval((both["first"] == both["second"]).sum(), len(both), 100, 1)
    return "\n".join([*lines, "", f"{rows:,} rows; both readers agree on {agree} % of {len(both)} pairs"])


def interval(count: int, total: int, factor: float, decimals: int) -> str:
    """A share of a total with the interval of Wilson at 95 %, all times a factor; a dash for a total of 0."""
    if not total:
        return "-"
    share, z = count / total, 1.96
    middle, spread = share + z**2 / 2 / total, z * (share * (1 - share) / total + z**2 / 4 / total**2) ** 0.5
    low, high = ((middle + sign * spread) / (1 + z**2 / total) for sign in (-1, 1))
    return f"{factor * share:.{decimals}f} ({max(factor * low, 0):.{decimals}f} to {factor * high:.{decimals}f})"


def judge(sources: Path, folder: Path, pairs_file: Path | None) -> str:
    """Search each source in all others; write the pairs to read, or compare with the verdicts on those that were read."""
    pairs, rows = find_pairs(sources, folder)
    if pairs_file:
        drawn = draw_pairs(pairs)
        held = pl.Series([show_place(*texts) for texts in drawn.select("held", "text").iter_rows()], dtype=pl.String)
        text = pl.col("text").str.replace_all(r"\s+", " ")
        drawn.with_columns(text, held=held).write_csv(pairs_file, separator="\t")
        return f"{len(drawn)} of {len(pairs)} pairs are in {pairs_file}"
    judged = pl.read_csv(LEAKS, separator="\t", infer_schema=False).with_columns(pl.col("row").cast(pl.Int64))
    leaks, place = judged.filter(first="leak"), ["text_sha256", "file", "row"]  # an estimate may name another field
    lines = [f"{len(pairs.filter(kind=kind))} {kind}" for kind in KINDS[:2]]
    lines = [judged_table(judged, pairs, rows), f"not judged: {', '.join(lines)}"]
    for name, found in (("with", pairs), ("without", find_pairs(sources, folder, estimated=True)[0])):
        others = found.join(pairs, on=place, how="anti").group_by("kind").len().sort("kind").rows()
        listed = leaks.join(found, on=place, how="semi").height
        lines.append(f"{name} the texts {listed} of {len(leaks)} judged leaks are listed; others: {dict(others)}")
    return "\n".join(lines)


LEAKS = ROOT / "tests/judgements/leaks.tsv"
VERDICTS = ("leak", "not", "unsure")
KEY = ["text_sha256", "row_sha256"]
PAIR = ["text_file", "text_row", "file", "row", *KEY, "kind"]


def table(folder: Path) -> str:
    """The Markdown table of all tools that were measured. Which innocent rows they list is kept in `listed.parquet`."""
    ran = {name: json.loads(path.read_text("utf-8")) for name in TOOLS if (path := folder / f"{name}.json").exists()}
    frames = []
    for number in range(GROUPS):
        corpus = pl.read_parquet(folder / f"{number}/corpus.parquet").with_row_index("row")
        corpus = corpus.with_columns(
            pl.col("row").is_in(tool["listed"][number]).alias(name) for name, tool in ran.items()
        )
        corpus = corpus.filter(pl.col("variant").is_not_null() | pl.any_horizontal(*ran))
        innocent = dict(corpus.filter(pl.col("variant").is_null()).select("row", "text").rows())
        leaks = find_leaks(pl.read_parquet(folder / f"{number}/texts.parquet")["text"].to_list(), innocent)
        frames.append(corpus.with_columns(is_leak=pl.col("row").is_in(leaks), group=number))
    every = pl.concat(frames)
    every.filter(pl.col("variant").is_null()).write_parquet(folder / "listed.parquet")
    planted = every.filter(pl.col("variant").is_not_null())
    counts = {name: tool["rows"] - planted.height for name, tool in ran.items()}
    lengths = pl.col("words") < LENGTHS[2][0], pl.col("words") >= LENGTHS[2][0]
    recall = {
        variant: [rows.filter(length).select(pl.col(*ran).mean() * 100) for length in lengths]
        for [variant], rows in planted.group_by("variant", maintain_order=True)
    }
    lines = [
        (str(variant), lambda name, shares=shares: " / ".join(f"{of_length[name].item():.0f}" for of_length in shares))
        for variant, shares in recall.items()
    ]
    wrong = every.filter(pl.col("variant").is_null() & ~pl.col("is_leak")).select(pl.col(*ran).sum())
    base = next(iter(ran.values()))
    lines += [
        ("innocent rows", lambda name: f"{counts[name]:,}"),
        ("false alarms in 100,000 of them", lambda name: f"{1e5 * wrong[name].item() / counts[name]:.1f}"),
        ("search: processor, µs a row", lambda name: f"{1e6 * ran[name]['search'] / ran[name]['rows']:.0f}"),
        (
            "search, ours = 1",
            lambda name: f"{ran[name]['search'] / ran[name]['rows'] / base['search'] * base['rows']:.1f}",
        ),
        ("index: processor, µs a text", lambda name: f"{1e6 * ran[name]['index'] / ran[name]['texts']:.0f}"),
        ("all: seconds of the processor", lambda name: f"{ran[name]['index'] + ran[name]['search']:.0f}"),
        ("peak memory, MB", lambda name: f"{ran[name]['memory'] / 1e6:,.0f}"),
    ]
    cells = [f"| {title} | {' | '.join(map(cell, ran))} |" for title, cell in lines]
    missing = [f"\nnot measured: {', '.join(name for name in TOOLS if name not in ran)}"] * (len(ran) < len(TOOLS))
    return "\n".join([f"| planted | {' | '.join(ran)} |", f"| --- |{' ---: |' * len(ran)}", *cells, *missing])


if __name__ == "__main__":
    main()
