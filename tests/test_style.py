"""Phrases that read like a translation are not used, in code, documents or prose; each has a plain one."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.processes import tracked_files

# What is not written (a regular expression, case ignored) and what to write instead.
PHRASES = {
    r"this is no\b": "not a ...",
    r"(?<!there )\bis no (?!longer\b)": "is not a ..., has no ..., invalid ...",
    r"(?<!there )\bare no (?!longer\b)": "are not ..., have no ...",
    r"\bmend(s|ed|ing)?\b": "fix, correct",
    r"\bno (json|yaml|xml|parquet|utf-8|whole)\b": "invalid JSON, truncated or corrupt ...",
    r"is not here, and": "not found, and",
    r"forbids? (it )?to\b": "does not permit ...ing",
    r"expected: perhaps": "did you mean ...?",
    r"defects that no release": "blocking defects",
    r"so many .* at once": "N ... in parallel",
    r"\b(is|are) told\b": "is listed, is unknown, ...",
    r"\blooked (for|at|up) afresh|\bafresh\b|\banew\b": "again, re-audited, rebuilt",
    r"\bstands?\b": "is, occurs, lies",
    r"what became of": "the ... dropped, the result of",
    r"(?<!one )(?<!\d )\bof which\b": "whose, and ... of them",
    r"bends? a score": "distorts scores",
    r"shingles of both": "share ... of their shingles",
    r"many a sound": "common in good ...",
    r"counts otherwise": "if the count changes",
    r"gives? way": "is dropped",
    r"\bbut for (case|punctuation|white)": "ignoring case, ...",
    r"that tells what is wrong": "that lists the known problems",
    r"\bwent? unheard\b|\bis heard\b|\bare heard\b": "is asked, decides",
    r"can(not|'t)? be had\b": "is missing, cannot be recovered",
    r"anyone can see how|writes? into itself|derivatives too\b": "traced to its bytes, modifies itself, also ...",
    r"\bthe house\b|\brooms\b|\bthe walk of\b": "package, module, layer, pipeline",
}
# Words of the data and of other people: titles, quotations, the raw samples and their rows.
ALLOWED = {
    "tests/test_style.py",
    "cards/citations.bib",
    "LICENSE",
    "benchmarks/damage_described.py",  # frozen: benchmarks/damage.sha256
    "benchmarks/damage_reported.py",
    "benchmarks/damage_third.py",
    "benchmarks/ria_paragraphs.txt",
}
TEXT = {".py", ".md", ".jinja", ".toml", ".json"}


def files() -> list[str]:
    """The tracked and new text files that people write; golden rows, raw samples and the words of the papers excepted."""
    try:
        names = tracked_files()
    except (OSError, subprocess.CalledProcessError):  # a copy of the files alone, or a machine without git
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    written = [name for name in names if Path(name).suffix in TEXT and name not in ALLOWED]
    others = re.compile(r"tests/golden/[^/]+/.*/|tests/golden/.*\.json|builders/papers/.*\.json")
    return [name for name in written if not others.match(name)]


@pytest.mark.parametrize("phrase", PHRASES, ids=[str(number) for number in range(len(PHRASES))])
def test_no_sentence_reads_like_a_translation(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name in files()
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, f"write instead: {PHRASES[phrase]}\n" + "\n".join(found)


def test_every_phrase_has_an_alternative_and_files_are_found() -> None:
    assert all(PHRASES.values())
    assert {"README.md", "pipelines/make.py", "cards/prose/cedr.md", "docs/architecture.md"} <= set(files())
