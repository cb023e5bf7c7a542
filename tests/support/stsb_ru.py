"""Shared by the tests of stsb_ru: the real files, files of decisions, and the recipe."""

from pathlib import Path

from builders.rumteb import stsb_ru
from builders.rumteb.stsb_ru import decision_line, head_line
from builders.spec import Raw, RawFiles, Tables

CLASSIFIER = "this test@1"
# The rows of the real files.
ROWS = {"train": 5749, "validation": 1500, "test": 1379}


def write_decisions(path: Path, verdicts: dict[str, bool], classifier: str = CLASSIFIER) -> Raw:
    lines = [head_line(classifier), *(decision_line(text, acceptable=verdict) for text, verdict in verdicts.items())]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return Raw("stsb_ru/rucola-decisions.jsonl", path)


def csv_files(folder: Path) -> dict[str, Raw]:
    return {key: Raw(f"stsb_ru/{key}", folder / f"stsb-ru-{key}.csv") for key in stsb_ru.FILES.values()}


def build_tables(files: dict[str, Raw], folder: Path, **options: str | bool) -> Tables:
    return stsb_ru.sts.recipe(RawFiles(tuple(stsb_ru.FILES), files, folder), **options)
