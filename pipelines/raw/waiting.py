"""How long to wait before another attempt, in seconds and in words."""

import math
from datetime import UTC, datetime

SHORT = 120  # seconds that a message gives as such
YEAR = 366 * 86_400  # seconds; a server may send any number


def seconds_before_retry(failures: int, first: float, longest: float, retry_after: float | None) -> float:
    """The seconds before the next attempt: what the server asks for, else `first`, doubled by each failure up to `longest`."""
    return min(first * 2 ** (failures - 1), longest) if retry_after is None else retry_after


def describe_wait(seconds: float, now: float) -> str:
    """A waiting time in words: `7 s`, or `20 min, until 14:05 UTC`. now: the time, in seconds since 1970."""
    if seconds <= SHORT:
        return f"{seconds:g} s"
    return f"{math.ceil(seconds / 60)} min, until {datetime.fromtimestamp(now + seconds, UTC):%H:%M} UTC"


def describe_end(seconds: float, now: float) -> str:
    """When a waiting time is over: `after 2026-03-04 14:05 UTC`. now: the time, in seconds since 1970."""
    if seconds > YEAR:
        return "in more than a year"
    return f"after {datetime.fromtimestamp(now + seconds, UTC):%Y-%m-%d %H:%M} UTC"
