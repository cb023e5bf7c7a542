"""python -m pipelines.decide stsb_ru --raw-dir DIR : let a classifier decide which sentences of a source are acceptable.

The decisions become a raw file of the source, so that no build needs the classifier: builders.rumteb.stsb_ru.decisions says what
the file holds. Needs transformers and torch, the extra `acceptability` of this package.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import SourceError, UsageError
from pipelines import command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from builders.spec import Raw

    Classify = Callable[[list[str]], list[bool]]

EXAMPLES = """\
  python -m pipelines.decide stsb_ru --raw-dir DIR               by the pinned classifier of the Hub (1.4 GB)
  python -m pipelines.decide stsb_ru --raw-dir DIR --offline     by the same one, which is in the Hub's cache here
  python -m pipelines.decide stsb_ru --raw-dir DIR --model PATH  by another one, for a trial: no version is built from that"""
BATCH = 32
ACCEPTABLE = 1  # RuCoLA's labels: 0 not acceptable, 1 acceptable
LONGEST = 512  # tokens; of a longer sentence the beginning is judged
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in the order in which transformers looks for them


def main() -> int:
    """Decide what the command line asks for; an interrupted command goes on where it stopped. Returns the exit code."""
    from builders.reading.errors import shorten
    from builders.rumteb import stsb_ru
    from builders.spec import Raw
    from pipelines.raw.cache import lock_cached_file
    from pipelines.raw.locations import locate

    options = _parse()
    places = command.raw_settings(options)
    sentences = stsb_ru.sentences(locate(stsb_ru.SOURCE, key, places).raw for key in stsb_ru.FILES.values())
    target = options.raw_dir / stsb_ru.SOURCE.name / stsb_ru.DECISIONS
    classifier = stsb_ru.CLASSIFIER if options.model is None else _name(options.model)
    raw = Raw(f"{stsb_ru.SOURCE.name}/{stsb_ru.DECISIONS}", target)
    with lock_cached_file(places.cache / raw.name, raw.name, activity="writing"):
        if not target.exists():
            model, revision = (stsb_ru.MODEL, stsb_ru.REVISION) if options.model is None else (str(options.model), None)
            decide(sentences, load(model, revision, offline=options.offline), classifier, target)
        bad = _refused(raw, classifier, sentences)
    print(f"{target}: {len(sentences):,} sentences, {len(bad):,} of them not acceptable")
    for sentence in bad[:5]:
        print(f"  {shorten(sentence, 100)}")
    return 0


def decide(sentences: list[str], classify: Classify, classifier: str, target: Path) -> None:
    """Write the decisions on sentences into a file that is whole or not there.

    What is decided is kept beside the file from batch to batch, and taken up by the next call with the same sentences.
    """
    from tqdm import tqdm

    from builders.rumteb.stsb_ru.decisions import decision_line

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    done = _take_up(part, classifier, sentences)
    bar = tqdm(desc="deciding", total=len(sentences), initial=done, unit=" sentences", file=sys.stderr, disable=None)
    with bar, part.open("a", encoding="utf-8", newline="\n") as file:
        for start in range(done, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            for sentence, verdict in zip(batch, classify(batch), strict=True):
                file.write(decision_line(sentence, acceptable=verdict) + "\n")
            file.flush()
            bar.update(len(batch))
        os.fsync(file.fileno())
    part.replace(target)


def load(model: str, revision: str | None, *, offline: bool = False) -> Classify:
    """A classifier of the Hub, or of a folder, as a function of sentences: which of them are acceptable.

    offline: take it from the Hub's cache on this machine, or not at all.

    Raises UsageError where transformers or torch are not installed, SourceError where the model cannot be had or is no classifier
    with two labels.
    """
    try:  # by name: the type checker need not know what is optional
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    except ImportError as error:
        raise UsageError(
            "deciding needs transformers and torch", found=str(error), todo="pip install '.[acceptability]'"
        ) from error
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    where = model if revision is None else f"{model}, revision {revision}"
    which = {"revision": revision, "local_files_only": offline}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, **which)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(model, **which).eval()
    except (OSError, ValueError) as error:
        todo = "see that the Hub can be reached, or that the model is in its cache here"
        found = str(error).strip().split("\n", 1)[0]
        raise SourceError("the classifier cannot be loaded", where=where, found=found, todo=todo) from error
    labels = network.config.num_labels
    if labels != 2:
        found, expected = f"{labels} labels", "two: not acceptable, acceptable"
        raise SourceError("no classifier of acceptability", where=where, found=found, expected=expected)
    network.to("cuda" if torch.cuda.is_available() else "cpu")

    def classify(sentences: list[str]) -> list[bool]:
        tokens = tokenizer(sentences, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        with torch.inference_mode():
            scores = network(**tokens.to(network.device)).logits
        return [label == ACCEPTABLE for label in scores.argmax(dim=1).tolist()]

    return classify


def _parse() -> argparse.Namespace:
    arguments = command.parser("decide", "Let a classifier decide which sentences are acceptable.", EXAMPLES)
    arguments.add_argument("source", choices=["stsb_ru"], help="the source whose sentences are decided on")
    command.add_raw_options(arguments)
    arguments.add_argument("--model", type=Path, metavar="PATH", help="another model and its tokenizer, in a folder")
    options = arguments.parse_args()
    if options.raw_dir is None:
        arguments.error("--raw-dir is needed: the decisions are written to DIR/<source>/")
    return options


def _name(folder: Path) -> str:
    """What the decisions call a model of a folder. Raises UsageError for a folder without weights."""
    for weights in (folder / name for name in WEIGHTS):
        if weights.is_file():
            with weights.open("rb") as stream:
                return f"{folder.resolve().name}@sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    raise UsageError("there is no model", where=str(folder), expected=" or ".join(WEIGHTS), todo="correct --model")


def _take_up(part: Path, classifier: str, sentences: list[str]) -> int:
    """How many sentences an earlier call decided; what it left is cut to the whole lines that still hold."""
    from builders.rumteb.stsb_ru.decisions import decision_line, head_line

    lines = part.read_bytes().split(b"\n")[:-1] if part.exists() else []
    kept = [head_line(classifier).encode()]
    if lines[:1] == kept:
        for line, sentence in zip(lines[1:], sentences, strict=False):
            if line not in {decision_line(sentence, acceptable=verdict).encode() for verdict in (True, False)}:
                break
            kept.append(line)
    part.write_bytes(b"".join(line + b"\n" for line in kept))
    return len(kept) - 1


def _refused(raw: Raw, classifier: str, sentences: list[str]) -> list[str]:
    """The sentences that are not acceptable. Raises SourceError for a file that is not the decisions on these sentences."""
    import polars as pl

    from builders.rumteb.stsb_ru.decisions import find_acceptable, read_decisions

    each = pl.Series("sentence", sentences, pl.String)
    verdicts = find_acceptable(each, read_decisions(raw, classifier), raw)
    return each.filter(~verdicts).to_list()


if __name__ == "__main__":
    command.run(main)
