"""Whether each raw file is still where it is published, without downloading it: what `fetch --probe` asks, remembers, prints.

The first answer for each address is remembered in the cache, for files whose size or digest is not known otherwise.

    <cache>/probe.json   {"<source>/<name>": {"url": "...", "pin": "...", "bytes": 12, "etag": "...", "modified": "..."}, ...}
"""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx  # noqa: TID253 - only `fetch --probe` imports this module
import msgspec
from huggingface_hub import constants

from builders.errors import SourceError
from builders.raw_files import ByHand, Hub, RawFile
from builders.spec import Source
from cards.manifest import INVALID_JSON
from pipelines.process.files import locked, write_atomically
from pipelines.process.safe_text import safe_text
from pipelines.process.tables import facts, table, wrap
from pipelines.process.terminal import format_size
from pipelines.raw.download import (
    SIZE,
    Patience,
    file_version,
    is_gone,
    is_passing,
    is_unresolved,
    retry_after,
    stated_size,
)
from pipelines.raw.mirrors import VARIABLE
from pipelines.raw.partial_files import FileVersion
from pipelines.raw.pins import Pin, find_pin
from pipelines.raw.requests import HUB, file_url, https_check, hub_token, network_hint, seconds_before_retry, user_agent
from pipelines.raw.settings import RawSettings, stored_file

# gone: no such file. other size, other digest: than the pinned one. changed: since the last probe. page: a web page in its place.
# redirect: to an address that is not followed, or in a circle. denied: the server refuses. gated: to those who accept terms.
# unknown: it is there, and there is nothing to compare. unreachable: nothing is known of it.
State = Literal[
    "ok", "gone", "other size", "other digest", "changed", "page", "redirect", "denied", "gated", "by hand", "unknown",
    "unreachable",
]  # fmt: skip
WRONG = frozenset({"gone", "other size", "other digest", "changed", "page", "redirect", "denied"})
MAX_ETAG = 80  # characters that are shown, and more than servers send
HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Remembered:
    """What an earlier probe saw at an address, of a file with this pin."""

    url: str
    pin: str
    bytes: int | None = None
    etag: str | None = None
    modified: str | None = None


@dataclass(frozen=True)
class Answer:
    """What is read of a response. digest: sha256 or git blob id from the Hub, else empty. code: the Hub's name of an error."""

    status: int
    bytes: int | None
    digest: str
    version: FileVersion
    is_page: bool
    code: str

    @property
    def has_sha256(self) -> bool:
        """Whether the digest is a sha256: that of a large file on the Hub."""
        return len(self.digest) == 64


@dataclass(frozen=True)
class Judgement:
    """What an answer means. found, expected: in words, or empty. compared: which of size, digest and ETag."""

    state: State
    found: str = ""
    expected: str = ""
    compared: tuple[str, ...] = ()


def read_answer(response: httpx.Response, *, on_hub: bool) -> Answer:
    """The answer in a response, whose body is not read. on_hub: its ETag is a digest."""
    headers = response.headers
    digest = (headers.get("X-Linked-ETag") or headers.get("ETag") or "") if on_hub else ""
    digest = digest.removeprefix("W/").strip('"').lower()
    linked = headers.get("X-Linked-Size", "") if on_hub else ""
    size = int(linked) if SIZE.fullmatch(linked) else stated_size(response)
    page = headers.get("Content-Type", "").strip().lower().startswith(("text/html", "application/xhtml"))
    empty = response.status_code == 416 and size == 0  # no byte of an empty file can be asked for
    return Answer(
        200 if empty else response.status_code,
        size,
        digest if HEX.fullmatch(digest) else "",
        file_version(response),
        page and "X-Linked-ETag" not in headers,
        headers.get("X-Error-Code", ""),
    )


def judge(name: str, answer: Answer, pin: Pin, before: Remembered | None = None) -> Judgement:
    """What an answer means for a file with this pin. before: what an earlier probe saw, of the same file at the same address."""
    if is_gone(answer.status, answer.code):
        return Judgement("gone", f"status {answer.status} {safe_text(answer.code[:40])}".strip())
    if answer.code == "GatedRepo":
        return Judgement("gated", f"status {answer.status}")
    if answer.status >= 300:
        return Judgement("denied", f"status {answer.status}")
    size_fits = pin.bytes is not None and answer.bytes == pin.bytes
    if answer.is_page and not size_fits and not name.lower().endswith((".html", ".htm")):
        return Judgement("page", "an HTML page")
    if answer.bytes == 0 and pin.bytes != 0:
        wanted = "a file with content" if pin.bytes is None else f"{pin.bytes:,} bytes"
        return Judgement("other size", "an empty file", wanted, ("size",))
    kind, expected = ("sha256", pin.sha256) if answer.has_sha256 else ("git blob", pin.git_blob)
    comparable = bool(answer.digest and expected)
    if comparable and answer.digest != expected:
        return Judgement("other digest", f"{kind} {answer.digest}", f"{kind} {expected}", ("digest",))
    compared: tuple[str, ...] = ("digest",) if comparable else ()
    if pin.bytes is not None and answer.bytes is not None:
        compared += ("size",)
        if not size_fits:
            return Judgement("other size", f"{answer.bytes:,} bytes", f"{pin.bytes:,} bytes", compared)
    if not comparable and before is not None:
        if (changed := _find_change(answer, before)) is not None:
            return Judgement("changed", *changed, compared)
        compared += ("ETag",) if before.etag and answer.version.etag else ()
    known = pin.bytes is not None or comparable
    return Judgement("ok" if compared and known else "unknown", compared=compared)


def _find_change(answer: Answer, before: Remembered) -> tuple[str, str] | None:
    """What has changed since an earlier probe, as found and expected. Servers behind one name may differ in ETags alone."""
    if before.bytes is not None and answer.bytes is not None and before.bytes != answer.bytes:
        return f"{answer.bytes:,} bytes", f"{before.bytes:,} bytes, as at the first probe"
    etag, modified = answer.version.etag, answer.version.modified
    same_date = modified is not None and modified == before.modified
    if etag and before.etag and etag != before.etag and not same_date:
        return f"ETag {safe_text(etag[:MAX_ETAG])}", f"ETag {safe_text(before.etag[:MAX_ETAG])}, as at the first probe"
    return None


AT_ONCE = 4  # requests
MAX_REDIRECTS = 10
MAX_SILENT = 2  # files that one server does not answer for before it is asked for no other
MAX_WORDS = 200  # characters of an error of the HTTP library, which may quote what a server sent
HEAD_REFUSED = frozenset({400, 403, 405, 501})
# An answer is one with its redirects; a server that asks to wait longer than `longest_wait` is not asked again.
PATIENCE = Patience(retries=2, answer=30, sleep=asyncio.sleep)


@dataclass(frozen=True)
class Question:
    """A file to ask for. token: sent to the server of the URL alone. on_hub: the server is the Hub. before: an earlier answer."""

    name: str
    url: str
    pin: Pin
    on_hub: bool = False
    token: str | None = field(default=None, repr=False)
    before: Remembered | None = None


class _BadRedirectError(Exception):
    """A redirect that is not followed."""


async def _probe_all(
    questions: Iterable[Question], patience: Patience, advance: Callable[[int], None]
) -> list[tuple[Answer | None, Judgement]]:
    """The answer to each question, and what it means; None where there is none. advance: called for each file that is done."""
    servers: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
    requests = asyncio.Semaphore(AT_ONCE)
    headers = {"Accept-Encoding": "identity", "User-Agent": user_agent()}
    silent: Counter[str] = Counter()  # files in a row that a server did not answer for
    async with httpx.AsyncClient(timeout=2 * patience.answer, headers=headers) as client:

        async def ask(question: Question) -> tuple[Answer | None, Judgement]:
            server = httpx.URL(question.url).netloc.decode("ascii", "replace")
            async with servers[server]:
                result: tuple[Answer | None, Judgement]
                if silent[server] >= MAX_SILENT:
                    result = None, Judgement("unreachable", f"not asked: no answer for {MAX_SILENT} other files")
                else:
                    result = await _ask_patiently(client, question, patience, requests)
                    silent[server] = silent[server] + 1 if result[1].state == "unreachable" else 0
            advance(1)
            return result

        return await asyncio.gather(*map(ask, questions))


async def _ask_patiently(
    client: httpx.AsyncClient, question: Question, patience: Patience, requests: asyncio.Semaphore
) -> tuple[Answer | None, Judgement]:
    failures = 0
    while True:
        wait: float | None = None
        try:
            async with requests, asyncio.timeout(patience.answer):
                answer, wait = await _ask(client, question)
            if not is_passing(answer.status):
                return answer, judge(question.name, answer, question.pin, question.before)
            failure = f"status {answer.status}"
        except _BadRedirectError as error:
            return None, Judgement("redirect", str(error))
        except TimeoutError:
            failure = f"no answer within {patience.answer:g} s"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failures += patience.retries * is_unresolved(error)  # another attempt would not change that
            failure = safe_text(f"{type(error).__name__}: {error}".removesuffix(": "))[:MAX_WORDS]
        failures += 1
        seconds = seconds_before_retry(failures, patience.first_wait, patience.longest_wait, wait)
        if seconds > patience.longest_wait:
            return None, Judgement("unreachable", f"{failure}; it asks to wait {seconds:,.0f} s")
        if failures > patience.retries:
            return None, Judgement("unreachable", failure)
        await patience.sleep(seconds)


async def _ask(client: httpx.AsyncClient, question: Question) -> tuple[Answer, float | None]:
    """The answer to HEAD, or to GET of one byte where HEAD does not tell; and the seconds that the server asks to wait."""
    answer, wait = await _request(client, question, "HEAD")
    unsized = answer.status < 300 and (answer.bytes == 0 or answer.bytes != (question.pin.bytes or answer.bytes))
    if (answer.status in HEAD_REFUSED and answer.code == "") or (unsized and not answer.has_sha256):
        return await _request(client, question, "GET")
    return answer, wait


async def _request(client: httpx.AsyncClient, question: Question, method: str) -> tuple[Answer, float | None]:
    """Send a request and follow its redirects; no body is read, however long. Raises _BadRedirectError and what httpx raises."""
    start = url = httpx.URL(question.url)
    check = https_check(question.name, question.url, "")
    for _ in range(MAX_REDIRECTS + 1):
        at_home = (url.scheme, url.host, url.port) == (start.scheme, start.host, start.port)
        headers = {"Range": "bytes=0-0"} if method == "GET" else {}
        if question.token is not None and at_home:
            headers["Authorization"] = f"Bearer {question.token}"
        request = client.build_request(method, url, headers=headers)
        try:
            check(request)
        except SourceError:
            raise _BadRedirectError(f"redirected to {url.host or 'an address'}, not by https") from None
        response = await client.send(request, stream=True)
        try:
            answer = read_answer(response, on_hub=question.on_hub and at_home)
            location = response.headers.get("Location") if response.is_redirect else None
            if location is None:
                return answer, retry_after(response.headers)
            if answer.has_sha256 and answer.bytes is not None and "X-Linked-Size" in response.headers:
                return replace(answer, status=200), None  # the Hub has told all, and the file is elsewhere
        finally:
            await response.aclose()
        url = url.join(location)  # httpx has refused an invalid one already
    raise _BadRedirectError(f"redirected more than {MAX_REDIRECTS} times")


MEMORY = "probe.json"


@dataclass(frozen=True)
class ProbedFile:
    """A raw file, or a whole archive, and what its publisher says of it.

    name: `<source>/<name>`. url: where it was asked for; None for one that is fetched by hand. page: with the terms, of a gated
    file. bytes: as the publisher says.
    """

    name: str
    url: str | None
    judgement: Judgement
    bytes: int | None = None
    page: str | None = None


def probe_files(
    files: Iterable[tuple[Source, RawFile]],
    settings: RawSettings,
    advance: Callable[[int], None],
    patience: Patience | None = None,
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
    results = asyncio.run(_probe_all(questions.values(), patience or PATIENCE, advance))
    answered = dict(zip(questions, results, strict=True))
    _write_memory(memory_path, memory, questions, answered)
    by_hand = Judgement("by hand")
    return [
        _probed(file, questions[name], *answered[name]) if name in questions else ProbedFile(name, None, by_hand)
        for name, (_, file) in stored.items()
    ]


def count_asked(files: Iterable[tuple[Source, RawFile]]) -> int:
    """The number of files that are asked for: those that a program may fetch."""
    stored = [(source.name, stored_file(file)) for source, file in files]
    return len({(source, file.name) for source, file in stored if not isinstance(file.location, ByHand)})


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


def _probed(file: RawFile, question: Question, answer: Answer | None, judgement: Judgement) -> ProbedFile:
    location = file.location
    page = f"{HUB}/datasets/{location.repo}" if isinstance(location, Hub) else None
    if isinstance(location, Hub) and location.gated and answer and answer.status in {401, 403}:
        judgement = Judgement("gated", f"status {answer.status}")
    return ProbedFile(question.name, question.url, judgement, answer.bytes if answer else None, page)


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
    new = {}
    for name, question in questions.items():
        answer, judgement = answered[name]
        if answer is not None and judgement.state in {"ok", "unknown"} and question.before is None:
            version = answer.version
            new[name] = Remembered(question.url, str(question.pin), answer.bytes, version.etag, version.modified)
    if not new:
        return
    # Where it cannot be written, the next probe sees them for the first time.
    with suppress(OSError), locked(path.with_name(f"{path.name}.lock"), path.name):
        content = {key: asdict(entry) for key, entry in sorted((memory | _read_memory(path) | new).items())}
        write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


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
CERTIFICATE = (
    f"open the address in a browser: the server's certificate, or this machine's list of them, is out of date; {KEEP}"
)
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


def to_json(file: ProbedFile) -> dict[str, Any]:
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
    return file.name.partition("/")[0], state, "" if state in ALIKE else file.name


def _problem(source: str, files: Sequence[ProbedFile], memory: Path) -> list[str]:
    """What is wrong with files of one source that are in the same state, by the first of them, and what to do."""
    first, judgement = files[0], files[0].judgement
    state = judgement.state
    lines = wrap(
        f"{first.name}: {_words(state)}" if len(files) == 1 else f"{source}: {len(files)} files {_words(state)}"
    )
    lines += wrap(first.url or "", "  where     ", break_words=False)
    todo = CERTIFICATE if "CERTIFICATE_VERIFY" in judgement.found else TODO[state]
    if state == "unreachable" and "ConnectError" in judgement.found:
        todo += f"; {network_hint(urlsplit(first.url or '').hostname or '')}"
    todo = todo.format(memory=memory, page=first.page)
    return lines + facts([("found", judgement.found), ("expected", judgement.expected), ("to do", todo)])


def _words(state: State) -> str:
    return WORDS.get(state, state)
