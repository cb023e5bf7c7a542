"""The files of a new dataset, from templates: builder, golden sample, prose, citation. Every gap has the mark of cards.gaps."""

import csv
import io
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from builders.benchmarks import BENCHMARKS
from builders.errors import UsageError
from builders.spec import LANGUAGES, OTHER
from cards.completeness import MAX_TITLE
from pipelines.scaffold.examples import example_records

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
READERS = {".jsonl": "read_json_lines", ".csv": "read_csv"}
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
        f"{golden}/README.md": _render("golden.md.jinja", values),
        f"cards/prose/{plan.name}.md": _render("prose.md.jinja", values),
        f"builders/{plan.folder}/{plan.name}.py": _render(f"recipes/{plan.task}.py.jinja", values),
    }


def citation_text(plan: Plan) -> str:
    """The entry for cards/citations.bib."""
    return _render("citation.bib.jinja", _values(plan))


def _values(plan: Plan) -> dict[str, object]:
    """The values of all templates."""
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
    splits = ("train", "test") if "train" in _split_names(plan.task) else ("test",)
    return {
        "name": plan.name,
        "title": title,
        "file": plan.file,
        "dataset": plan.dataset,
        "task": plan.task,
        "benchmark": plan.benchmark,
        "citation": plan.citation,
        "reader": READERS[suffix],
        "unit": ', unit="record"' if suffix == ".csv" else "",
        "prompts": plan.benchmark is not None and BENCHMARKS[plan.benchmark].needs_prompts,
        "rosberta": rosberta,
        "declared_languages": None if languages == LANGUAGES.get(plan.folder) else _tuple(languages),
        "pretty_name": long_name if len(long_name) <= MAX_TITLE else f"{title} ({spoken})",
        "function": FUNCTIONS.get(plan.task, ending),
        "codes": codes,
        "sides": tuple(SIDES[code] for code in codes),
        "pair": "-".join(codes),
        "size": _size(plan.task, splits),
    }


def _split_names(task: str) -> tuple[str, ...]:
    return ("train", "test") if task in ("Classification", "MultilabelClassification") else ("test",)


def _size(task: str, splits: tuple[str, ...]) -> str:
    """The number of rows in words, with placeholders that the card fills."""
    if task in ("Retrieval", "Reranking"):
        return "{{ rows.queries.test }} queries and {{ rows.corpus.test }} documents"
    return " and ".join(f"{{{{ rows.{split} }}}} rows in {split}" for split in splits)


def _tuple(words: tuple[str, ...]) -> str:
    """A tuple of strings as the formatter writes it."""
    return "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"


def _raw_text(plan: Plan) -> str:
    records = example_records(plan.task, plan.codes)
    if plan.file.endswith(".jsonl"):
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _render(template: str, values: dict[str, object]) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Python, Markdown and BibTeX
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
