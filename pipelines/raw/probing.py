"""Asks for raw files without downloading them: at most four requests at a time, and one at a time of each server."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import httpx  # noqa: TID253 - only `fetch --probe` imports this module

from builders.errors import SourceError
from pipelines.raw.pins import Pin
from pipelines.raw.probe_answers import Answer, Judgement, Remembered, judge, read_answer
from pipelines.raw.responses import is_passing, retry_after
from pipelines.raw.urls import https_check
from pipelines.raw.user_agent import user_agent
from pipelines.raw.waiting import seconds_before_retry
from pipelines.safe_text import safe_text

AT_ONCE = 4  # requests
MAX_REDIRECTS = 10
MAX_SILENT = 2  # files that one server does not answer for before it is asked for no other
MAX_WORDS = 200  # characters of an error of the HTTP library, which may quote what a server sent
HEAD_REFUSED = frozenset({400, 403, 405, 501})


@dataclass(frozen=True)
class Question:
    """A file to ask for. token: sent to the server of the URL alone. on_hub: the server is the Hub. before: an earlier answer."""

    name: str
    url: str
    pin: Pin
    on_hub: bool = False
    token: str | None = field(default=None, repr=False)
    before: Remembered | None = None


@dataclass(frozen=True)
class ProbePatience:
    """How long to wait; all times in seconds.

    limit: for one answer with its redirects, whatever the server sends in the meantime. retries: of an answer that may be another
    one in a while. longest_wait: a server that asks for more is not asked again.
    """

    limit: float = 30
    retries: int = 2
    first_wait: float = 1
    longest_wait: float = 60
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


class _BadRedirectError(Exception):
    """A redirect that is not followed."""


def probe(
    questions: Sequence[Question], patience: ProbePatience, advance: Callable[[int], None]
) -> list[tuple[Answer | None, Judgement]]:
    """The answer to each question, and what it means; None where there is none. advance: called for each file that is done."""
    return asyncio.run(_probe_all(questions, patience, advance))


async def _probe_all(
    questions: Sequence[Question], patience: ProbePatience, advance: Callable[[int], None]
) -> list[tuple[Answer | None, Judgement]]:
    servers: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
    requests = asyncio.Semaphore(AT_ONCE)
    headers = {"Accept-Encoding": "identity", "User-Agent": user_agent()}
    silent: Counter[str] = Counter()  # files in a row that a server did not answer for
    async with httpx.AsyncClient(timeout=2 * patience.limit, headers=headers) as client:

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
    client: httpx.AsyncClient, question: Question, patience: ProbePatience, requests: asyncio.Semaphore
) -> tuple[Answer | None, Judgement]:
    failures = 0
    while True:
        wait: float | None = None
        try:
            async with requests, asyncio.timeout(patience.limit):
                answer, wait = await _ask(client, question)
            if not is_passing(answer.status):
                return answer, judge(question.name, answer, question.pin, question.before)
            failure = f"status {answer.status}"
        except _BadRedirectError as error:
            return None, Judgement("redirect", str(error))
        except TimeoutError:
            failure = f"no answer within {patience.limit:g} s"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
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
    unsized = answer.status < 300 and question.pin.bytes is not None and answer.bytes != question.pin.bytes
    if (answer.status in HEAD_REFUSED and answer.code == "") or (unsized and answer.sha256 is None):
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
            if answer.sha256 is not None and answer.bytes is not None and "X-Linked-Size" in response.headers:
                return replace(answer, status=200), None  # the Hub has told all, and the file is elsewhere
        finally:
            await response.aclose()
        url = url.join(location)  # httpx has refused an invalid one already
    raise _BadRedirectError(f"redirected more than {MAX_REDIRECTS} times")
