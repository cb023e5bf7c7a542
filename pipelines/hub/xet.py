"""Xet, where the Hub keeps large files: how long its client retries in silence, and what its errors mean.

hf_xet sends and fetches files in threads of its own. It raises built-in exceptions, and only their text says what failed.
"""

import os
import re
from http import HTTPStatus
from typing import NamedTuple

from pipelines.raw.responses import is_passing

# How the texts of hf_xet begin; `Task error` comes before the others where a thread failed.
BEGINNINGS = (
    "Authentication error: ", "Network error: ", "Rate limited: ", "Server error: ", "Timeout: ", "Not found: ", "Task error: ",
    "Previous task error: ", "Data integrity error: ", "I/O error: ", "Internal error: ", "Operation cancelled: ",
)  # fmt: skip
STATUS = re.compile(r"HTTP status (?:client|server) error \((\d{3})\b", re.ASCII)
LOCAL = re.compile(r"[^:]*\(os error \d+\)", re.ASCII)  # of this machine: a full disk, a file without permission
ADDRESS = re.compile(r"(?:,? (?:domain:|for url) )?\(?\bhttps?://[^\s)]*\)?", re.ASCII)
SENDING = "error sending request"  # no answer: refused, dropped or silent for too long


class XetTrouble(NamedTuple):
    """Why Xet failed. status: of its answer, if there was one. passing: whether a retry may succeed."""

    words: str
    status: int | None
    passing: bool


def limit_silence(connect: float, read: float) -> None:
    """Make hf_xet report a failure within seconds: it retries five times by itself, for up to six minutes, and says nothing.

    One retry is left to it, because a call that fails as a whole starts a download from the beginning. What the user has set is
    kept. hf_xet reads the settings when it is first used. connect, read: its timeouts, in seconds.
    """
    settings = {
        "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1",
        "HF_XET_CLIENT_RETRY_BASE_DELAY": "1s",
        "HF_XET_CLIENT_CONNECT_TIMEOUT": f"{connect * 1000:.0f}ms",
        "HF_XET_CLIENT_READ_TIMEOUT": f"{read * 1000:.0f}ms",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def explain_xet_error(error: BaseException) -> XetTrouble | None:
    """Why Xet failed; None for an error that is not from hf_xet.

    Addresses are left out of the words: those of the storage are signed.
    """
    text = " ".join(str(error).split())
    if not isinstance(error, (OSError, RuntimeError)) or not text.startswith(BEGINNINGS):
        return None
    answered = STATUS.search(text)
    if answered is not None:
        status = int(answered[1])
        names = {known.value: known.phrase for known in HTTPStatus}
        words = f"the Hub's Xet storage answered {status} {names.get(status, '')}".rstrip()
        return XetTrouble(words, status, passing=is_passing(status))
    local = LOCAL.search(text)
    if local is not None:
        return XetTrouble(local[0].strip(), None, passing=False)
    if SENDING in text:
        return XetTrouble("the Hub's Xet storage does not answer, or the connection broke", None, passing=True)
    words = " ".join(ADDRESS.sub("", text.removeprefix("Task error: ")).split())
    return XetTrouble(f"the Hub's Xet storage: {words}", None, passing=not text.startswith("Authentication error: "))
