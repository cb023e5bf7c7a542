"""Whether each raw file is still where it is published, without downloading it: what `fetch --probe` asks and remembers.

The first answer for each address is remembered in the cache, for files whose size or digest is not known otherwise.

    <cache>/probe.json   {"<source>/<name>": {"url": "...", "pin": "...", "bytes": 12, "etag": "...", "modified": "..."}, ...}
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
from huggingface_hub import constants

from builders.raw_files import ByHand, Hub, RawFile
from builders.spec import Source
from cards.manifest import INVALID_JSON
from pipelines.files import locked, write_atomically
from pipelines.raw.file_request import stored_file
from pipelines.raw.pins import find_pin
from pipelines.raw.probe_answers import Answer, Judgement, Remembered, remember
from pipelines.raw.probing import ProbePatience, Question, probe
from pipelines.raw.settings import RawSettings
from pipelines.raw.urls import HUB, file_url, hub_token

MEMORY = "probe.json"


@dataclass(frozen=True)
class ProbedFile:
    """A raw file, or a whole archive, and what its publisher says of it.

    name: `<source>/<name>`. url: where it was asked for; None for one that is fetched by hand. page: with the terms, of a gated
    file. instructions: of one that is fetched by hand. bytes: as the publisher says.
    """

    name: str
    url: str | None
    judgement: Judgement
    bytes: int | None = None
    page: str | None = None
    instructions: str | None = None

    @property
    def source(self) -> str:
        """The name of its source."""
        return self.name.partition("/")[0]


def probe_files(
    files: Iterable[tuple[Source, RawFile]],
    settings: RawSettings,
    advance: Callable[[int], None],
    patience: ProbePatience | None = None,
) -> list[ProbedFile]:
    """Ask for files, each archive once, in their order. advance: called with the number of files that are done.

    Raises SourceError for an invalid lock file, and for a token that cannot be sent.
    """
    stored = {f"{source.name}/{stored_file(file).name}": (source, stored_file(file)) for source, file in files}
    memory_path = settings.cache / MEMORY
    memory = _read_memory(memory_path)
    questions = {
        name: _question(name, source, file, settings, memory)
        for name, (source, file) in stored.items()
        if not isinstance(file.location, ByHand)
    }
    results = probe(list(questions.values()), patience or ProbePatience(), advance)
    answered = dict(zip(questions, results, strict=True))
    _write_memory(memory_path, memory, questions, answered)
    return [_probed(name, file, questions.get(name), answered.get(name)) for name, (_, file) in stored.items()]


def count_asked(files: Iterable[tuple[Source, RawFile]]) -> int:
    """The number of files that are asked for: those that a program may fetch."""
    stored = {(source.name, stored_file(file).name): stored_file(file) for source, file in files}
    return sum(not isinstance(file.location, ByHand) for file in stored.values())


def _question(
    name: str, source: Source, file: RawFile, settings: RawSettings, memory: Mapping[str, Remembered]
) -> Question:
    hub = settings.hub or constants.ENDPOINT
    url = file_url(file.location, github_raw=settings.github_raw, github_media=settings.github_media, hub=hub)
    assert url is not None, "files that are fetched by hand are not asked for"
    pin = find_pin(source.name, file, settings.lock_files)
    before = memory.get(name)
    if before is not None and (before.url, before.pin) != (url, str(pin)):
        before = None
    on_hub = isinstance(file.location, Hub)
    return Question(name, url, pin, on_hub, hub_token() if on_hub else None, before)


def _probed(
    name: str, file: RawFile, question: Question | None, answered: tuple[Answer | None, Judgement] | None
) -> ProbedFile:
    location = file.location
    if question is None or answered is None:
        instructions = location.instructions if isinstance(location, ByHand) else None
        return ProbedFile(name, None, Judgement("by hand"), instructions=instructions)
    answer, judgement = answered
    page = f"{HUB}/datasets/{location.repo}" if isinstance(location, Hub) else None
    if isinstance(location, Hub) and location.gated and answer and answer.status in {401, 403}:
        judgement = Judgement("gated", f"status {answer.status}")
    return ProbedFile(name, question.url, judgement, answer.bytes if answer else None, page)


def _read_memory(path: Path) -> dict[str, Remembered]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Remembered])
    except (OSError, *INVALID_JSON):
        return {}


def _write_memory(
    path: Path,
    memory: dict[str, Remembered],
    questions: Mapping[str, Question],
    answered: Mapping[str, tuple[Answer | None, Judgement]],
) -> None:
    """Remember the files that are seen for the first time, and are what they should be as far as that is known."""
    new = {
        name: remember(questions[name].url, answer, questions[name].pin)
        for name, (answer, judgement) in answered.items()
        if answer is not None and judgement.state in {"ok", "unknown"} and questions[name].before is None
    }
    if not new:
        return
    try:
        with locked(path.with_name(f"{path.name}.lock"), path.name):
            content = {key: asdict(one) for key, one in sorted((memory | _read_memory(path) | new).items())}
            write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    except OSError:
        pass  # the next probe sees them for the first time
