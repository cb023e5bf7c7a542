"""Measure the audit: plant defects of every kind, and compare the rows that it reports with those that were planted.

    python benchmarks/audit_quality.py                            2,000 generated rows, 1 % of them with each defect
    python benchmarks/audit_quality.py --rows 20000 --rate 0.05   other sizes
    python benchmarks/audit_quality.py --release outputs/cedr-classification/1.0.0   on the texts of a release
    python benchmarks/audit_quality.py --only near                only the comparison with brute force

First every kind by itself: one defect is planted into tables without any, and the audit runs as `check` runs it. Precision and
recall are of rows; a kind that counts labels, columns or tables counts as one row. Cost is that of the whole audit, per text,
because one reading of the tables serves many kinds.

Then near-duplicates and near-leaks, against the comparison of all pairs by the definition (docs/findings.md): in random text, in
texts of one template with a slot, and in texts around 60 words, where words take the place of letters. Cost is that of the search
for near-duplicates alone, per text.
"""

import argparse
import random
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.planted_defects import PLANTERS, TASKS, Row, clean_dataset, russian_words  # noqa: E402
from builders.shaping.folding import fold_text_1  # noqa: E402
from cards.kinds import KINDS, LONG_TEXT_WORDS, SHINGLE_CHARACTERS, SHINGLE_WORDS  # noqa: E402
from pipelines.audit.copies.near_duplicates import find_near_duplicates  # noqa: E402
from pipelines.audit.findings import FindingRows  # noqa: E402
from pipelines.audit.integrity import audit_integrity  # noqa: E402
from pipelines.audit.quality import audit_tables  # noqa: E402


def main() -> None:
    """Run the measurements and print a table of each."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=2_000, help="rows of a split (default: 2000)")
    arguments.add_argument("--rate", type=float, default=0.01, help="share of the rows with a defect (default: 0.01)")
    arguments.add_argument("--seed", type=int, default=1, help="of the generator (default: 1)")
    arguments.add_argument("--release", type=Path, help="a release folder: its texts instead of generated ones")
    arguments.add_argument("--only", choices=("kinds", "near"), help="one of the two measurements")
    options = arguments.parse_args()
    texts = read_texts(options.release) if options.release else None
    if options.only != "near":
        print_table(measure_kinds(options.rows, options.rate, options.seed, texts), "kind")
    if options.only != "kinds":
        print()
        print_table(measure_near(options.seed), "texts")


@dataclass(frozen=True)
class Measurement:
    """What was planted and what was found. microseconds: per text."""

    name: str
    planted: int
    found: int
    correct: int
    microseconds: float

    @property
    def precision(self) -> float:
        """The share of the rows found that were planted; 1 where none was found."""
        return self.correct / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of the rows planted that were found; 1 where none was planted."""
        return self.correct / self.planted if self.planted else 1.0


def read_texts(release: Path) -> list[str]:
    """The different texts of the first table of a release, those without any finding of one text by itself."""
    files = sorted(release.glob("*/*.parquet"))
    frame = pl.concat([pl.scan_parquet(path) for path in files if "text" in pl.scan_parquet(path).collect_schema()])
    return frame.select("text").unique(maintain_order=True).collect()["text"].to_list()


def measure_kinds(rows: int, rate: float, seed: int, texts: list[str] | None) -> list[Measurement]:
    """Measure every kind."""
    missing = [name for name, kind in KINDS.items() if name not in PLANTERS and not kind.reported]
    if missing:
        print(f"not planted: {', '.join(missing)}", file=sys.stderr)
    return [measure_kind(kind, rows=rows, rate=rate, seed=seed, texts=texts) for kind in PLANTERS]


def measure_kind(kind: str, *, rows: int, rate: float, seed: int, texts: list[str] | None = None) -> Measurement:
    """Plant a kind into tables of its own, audit them, and compare."""
    planter, rng = PLANTERS[kind], random.Random(f"{seed} {kind}")
    task, tables = TASKS[planter.task_type], clean_dataset(planter.task_type, rows, rng, texts)
    planted = planter.plant(tables, max(1, round(rows * rate)), rng)
    frames = {config: {name: table.lazy() for name, table in splits.items()} for config, splits in tables.items()}
    start = time.perf_counter()
    found = audit_integrity(task, frames, task.splits)
    if not any(each.finding.severity == "error" for each in found):
        found += audit_tables(task, frames, task.splits, ("rus-Cyrl",))
    seconds = time.perf_counter() - start
    total = sum(table.height for splits in tables.values() for table in splits.values())
    rows_found = found_rows(kind, found, planted)
    correct = len(rows_found & planted)
    return Measurement(kind, len(planted), len(rows_found), correct, 1e6 * seconds / total)


def found_rows(kind: str, found: list[FindingRows], planted: set[Row]) -> set[Row]:
    """The rows that the findings of a kind name, as the planter names them."""
    rows, is_of_tables = set[Row](), {len(row) for row in planted} == {2}
    for finding_rows in found:
        if finding_rows.finding.kind != kind:
            continue
        location = (finding_rows.finding.config, finding_rows.finding.split)
        frame = finding_rows.rows.collect()
        if is_of_tables or frame.is_empty():
            rows.add(location)
        else:
            rows |= {(*location, row) for row in frame[frame.columns[0]]}
    return rows


def measure_near(seed: int) -> list[Measurement]:
    """Compare the near-duplicates and near-leaks of several kinds of text with those of all pairs."""
    measurements = []
    for name, texts in near_texts(random.Random(seed)).items():
        splits = np.arange(len(texts)) * 2 // len(texts)
        frame = pl.LazyFrame({"text": texts})
        start = time.process_time()
        found = find_near_duplicates(
            [frame], {"text": pl.col("text")}, pl.Series(splits, dtype=pl.UInt32), pl.Series([True] * len(texts))
        )
        seconds = time.process_time() - start
        pairs = all_pairs(texts, splits)
        wrong = [row for *row, _ in found.rows() if tuple(row[:2]) not in pairs or row[2] not in pairs[tuple(row[:2])]]
        measurements.append(
            Measurement(name, len(pairs), found.height, found.height - len(wrong), 1e6 * seconds / len(texts))
        )
    plain = measurements[0].microseconds
    return [
        replace(measurement, name=f"{measurement.name}; {measurement.microseconds / plain:.1f} times")
        for measurement in measurements
    ]


def near_texts(rng: random.Random) -> dict[str, list[str]]:
    """The texts to compare; the second half of each is another split. The first is what the cost of the others is measured by."""
    words = russian_words()

    def sentence(length: int) -> str:
        return " ".join(rng.choice(words) for _ in range(length))

    def edited(text: str) -> str:
        parts = text.split(" ")
        for _ in range(rng.randrange(1, 4)):
            position = rng.randrange(len(parts))
            parts[position] = rng.choice([parts[position][:-1] or "я", parts[position].upper(), rng.choice(words)])
        return " ".join(parts)

    def with_copies(length: int, count: int = 3_000) -> list[str]:
        texts = [sentence(length) for _ in range(count)]
        return texts + [edited(rng.choice(texts)) if rng.random() < 0.2 else sentence(length) for _ in range(count)]

    prompt, short = sentence(36), sentence(16)
    templates = {
        f"template of {len(template)} characters, {count:,} + {count:,}": [
            f"{template} {number:06d} {template[:40]}" for number in rng.sample(range(10**6), 2 * count)
        ]
        for template in (prompt, short)
        for count in (300, 3_000)
    }
    lengths = range(LONG_TEXT_WORDS - 4, LONG_TEXT_WORDS + 5)
    around = [sentence(rng.choice(lengths)) for _ in range(1_000)]
    around += [text.rpartition(" ")[0] if rng.random() < 0.5 else edited(text) for text in around]
    return {
        "random, 33 words, 3,000 + 3,000": with_copies(33),
        "random, 200 words, 1,000 + 1,000": with_copies(200, 1_000),
        **templates,
        "around 60 words, 1,000 + 1,000": around,
    }


def all_pairs(texts: list[str], splits: np.ndarray[Any, Any]) -> dict[tuple[int, int], set[int]]:
    """For each row and split: the earlier rows in that split that are near-duplicates of it, from all pairs."""
    folded = pl.DataFrame({"text": texts}).select(fold_text_1(pl.col("text")))["text"].to_list()
    long = np.array([len(text.split(" ")) >= LONG_TEXT_WORDS for text in folded])
    near = {}
    for by_words in (False, True):
        units = [text.split(" ") if by_words else text for text in folded]
        size = SHINGLE_WORDS if by_words else SHINGLE_CHARACTERS
        sets = [{unit[start : start + size] if isinstance(unit, str) else tuple(unit[start : start + size])
                 for start in range(max(1, len(unit) - size + 1))} for unit in units]  # fmt: skip
        sizes = np.array([len(elements) for elements in sets])
        for later, earlier, shared in _shared(sets):
            is_near = 10 * shared >= 9 * (sizes[later] + sizes[earlier] - shared)
            is_near &= (long[later] & long[earlier]) == by_words
            for row, other in zip(later[is_near].tolist(), earlier[is_near].tolist(), strict=True):
                near.setdefault((row, int(splits[other])), set()).add(other)
    return near


def _shared(sets: list[set[Any]]) -> Any:
    """All pairs of sets, a block at a time: later, earlier, and the number of elements that they share."""
    counts: dict[Any, int] = {}
    for elements in sets:
        for element in elements:
            counts[element] = counts.get(element, 0) + 1
    numbers = {
        element: number for number, element in enumerate(element for element, count in counts.items() if count > 1)
    }
    matrix = np.zeros((len(sets), len(numbers)), np.float32)
    for row, one in enumerate(sets):
        matrix[row, [numbers[element] for element in one if element in numbers]] = 1
    for start in range(0, len(sets), 1_000):
        block = matrix[start : start + 1_000] @ matrix[: start + 1_000].T
        later, earlier = np.nonzero(block)
        keep = earlier < later + start
        later, earlier = later[keep], earlier[keep]
        yield later + start, earlier, block[later, earlier].astype(np.int64)


def print_table(measurements: list[Measurement], heading: str) -> None:
    """Print a Markdown table, as it is in docs/findings.md."""
    print(f"| {heading} | planted | found | precision | recall | µs a text |\n|---|---:|---:|---:|---:|---:|")
    for measurement in measurements:
        print(
            f"| {measurement.name} | {measurement.planted:,} | {measurement.found:,} | {measurement.precision:.3f} |"
            f" {measurement.recall:.3f} | {measurement.microseconds:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
