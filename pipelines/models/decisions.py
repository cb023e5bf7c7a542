"""A classifier's decisions on the sentences of a source: made once, written as a raw file, so that no build needs the classifier.

The source says what is decided, and how its file looks (builders.spec.Decisions). Loading a classifier needs transformers and
torch, the extra `acceptability` of this package.
"""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from builders.errors import SourceError, UsageError
from builders.spec import Decisions
from pipelines.process.files import file_sha256

Classify = Callable[[list[str]], list[bool]]

BATCH = 32
ACCEPTED = 1  # the label of a sentence that is accepted; 0 is rejected
MAX_TOKENS = 512  # of a longer sentence the beginning is judged
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in the order in which transformers looks for them


def write_decisions(
    decisions: Decisions, sentences: list[str], classify: Classify, classifier: str, target: Path
) -> None:
    """Write the decisions on sentences into a file, completely or not at all.

    Each batch is written to a file beside the target, from which the next call with the same sentences resumes. classifier: the
    name that goes into the file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    done = _resume(decisions, part, classifier, sentences)
    bar = tqdm(desc="deciding", total=len(sentences), initial=done, unit=" sentences", file=sys.stderr, disable=None)
    with bar, part.open("a", encoding="utf-8", newline="\n") as file:
        for start in range(done, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            for sentence, accepted in zip(batch, classify(batch), strict=True):
                file.write(decisions.line(sentence, accepted) + "\n")
            file.flush()
            bar.update(len(batch))
        os.fsync(file.fileno())
    part.replace(target)


def load_classifier(model: str, revision: str | None, *, offline: bool = False) -> Classify:
    """A binary classifier from the Hub or from a folder, as a function: whether it accepts each sentence.

    offline: take it from the Hub's cache on this machine only.

    Raises UsageError where transformers or torch are not installed, SourceError where the model cannot be loaded or lacks
    two labels.
    """
    try:  # by name: the type checker need not know what is optional
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    except ImportError as error:
        todo = "pip install '.[acceptability]'"
        raise UsageError("deciding needs transformers and torch", found=str(error), todo=todo) from error
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    where = model if revision is None else f"{model}, revision {revision}"
    which = {"revision": revision, "local_files_only": offline}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model, **which)
        network = transformers.AutoModelForSequenceClassification.from_pretrained(model, **which).eval()
    except (OSError, ValueError) as error:
        todo = "check the connection to the Hub, or put the model into its cache on this machine"
        found = str(error).strip().split("\n", 1)[0]
        raise SourceError("the classifier cannot be loaded", where=where, found=found, todo=todo) from error
    labels = network.config.num_labels
    if labels != 2:
        found, expected = f"{labels} labels", "two labels: rejected, accepted"
        raise SourceError("not a binary classifier", where=where, found=found, expected=expected)
    network.to("cuda" if torch.cuda.is_available() else "cpu")

    def classify(sentences: list[str]) -> list[bool]:
        tokens = tokenizer(sentences, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            scores = network(**tokens.to(network.device)).logits
        return [label == ACCEPTED for label in scores.argmax(dim=1).tolist()]

    return classify


def local_classifier_name(model_dir: Path) -> str:
    """The name of a model in a folder: the folder's, and the digest of the weights.

    Raises UsageError for a folder without weights.
    """
    for weights in (model_dir / name for name in WEIGHTS):
        if weights.is_file():
            return f"{model_dir.resolve().name}@sha256:{file_sha256(weights)}"
    raise UsageError("no model found", where=str(model_dir), expected=" or ".join(WEIGHTS), todo="correct --model")


def _resume(decisions: Decisions, part: Path, classifier: str, sentences: list[str]) -> int:
    """The number of sentences that an earlier call decided; its file is cut to the complete lines that still apply."""
    lines = part.read_bytes().split(b"\n")[:-1] if part.exists() else []
    valid = [decisions.head(classifier).encode()]
    if lines[:1] == valid:
        for line, sentence in zip(lines[1:], sentences, strict=False):
            if line not in {decisions.line(sentence, accepted).encode() for accepted in (True, False)}:
                break
            valid.append(line)
    part.write_bytes(b"".join(line + b"\n" for line in valid))
    return len(valid) - 1
