"""What `fetch --probe` prints: a line for each raw file, what is wrong, and what to do about it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from pipelines.raw.mirrors import VARIABLE
from pipelines.raw.probe import ProbedFile
from pipelines.raw.probe_answers import WRONG, State
from pipelines.report.tables import fact, table, wrap
from pipelines.terminal import format_size

KEEP = f"take the old file from a mirror ({VARIABLE})"
TODO: dict[State, str] = {
    "gone": f"{KEEP}; if it has moved, correct its address in the builder",
    "other size": f"{KEEP}; what is there now is another file, and belongs in a new version with a new pin",
    "other digest": f"{KEEP}; what is there now is another file, and belongs in a new version with a new pin",
    "changed": "fetch it with an empty --cache and compare the rows; if all is well, remove its entry in {memory}",
    "page": f"open the address in a browser: a sign-in or an error; {KEEP}",
    "redirect": f"open the address in a browser; if it has moved, correct it in the builder; or {KEEP}",
    "denied": f"open the address in a browser; or {KEEP}",
    "gated": "accept the terms at {page}, with the account of your token (HF_TOKEN, or hf auth login)",
    "unreachable": "run the command again later",
}
ALIKE = frozenset(
    {"gone", "denied", "gated", "unreachable"}
)  # files of one source in these states have one cause, as a rule
WORDS: dict[State, str] = {"gated": "needs access", "unknown": "there", "page": "a web page"}


def probe_page(files: Sequence[ProbedFile], memory: Path, *, width: int | None = None) -> list[str]:
    """The files as a table, those with something wrong with what to do, and how many are in each state."""
    rows = [["file", "state", "size", "compared"]]
    for file in files:
        size = "" if file.bytes is None else format_size(file.bytes)
        compared = ", ".join(file.judgement.compared) or ("nothing" if file.judgement.state == "unknown" else "")
        rows.append([file.name, _words(file.judgement.state), size, compared])
    lines = table(rows, width=width).splitlines() if len(rows) > 1 else []
    for (source, state, _), group in groupby(files, key=_paragraph):
        if state in TODO:
            lines += ["", *_problem(source, list(group), memory)]
    counts = Counter(_words(file.judgement.state) for file in files)
    return [
        *lines,
        "",
        *wrap(
            f"{len(files)} file{'s' * (len(files) != 1)}: "
            + ", ".join(f"{count} {words}" for words, count in counts.items())
        ),
    ]


def probe_as_json(file: ProbedFile) -> dict[str, Any]:
    """A file as `--json` prints it."""
    judgement = file.judgement
    return {
        "name": file.name,
        "url": file.url,
        "state": judgement.state,
        "wrong": judgement.state in WRONG,
        "bytes": file.bytes,
        **{key: value or None for key, value in asdict(judgement).items() if key in {"found", "expected"}},
        "compared": list(judgement.compared),
    }


def _paragraph(file: ProbedFile) -> tuple[str, State, str]:
    """What the files of one paragraph have in common: the source and the state, and the name where each differs."""
    state = file.judgement.state
    return file.source, state, "" if state in ALIKE else file.name


def _problem(source: str, files: Sequence[ProbedFile], memory: Path) -> list[str]:
    """What is wrong with files of one source that are in the same state, by the first of them, and what to do."""
    first, judgement = files[0], files[0].judgement
    state = judgement.state
    lines = wrap(
        f"{first.name}: {_words(state)}" if len(files) == 1 else f"{source}: {len(files)} files {_words(state)}"
    )
    lines += wrap(first.url or "", "  where     ", break_words=False)
    lines += fact("found", judgement.found)
    lines += fact("expected", judgement.expected) if judgement.expected else []
    return lines + fact("to do", TODO[state].format(memory=memory, page=first.page))


def _words(state: State) -> str:
    return WORDS.get(state, state)
