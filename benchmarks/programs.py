"""Measures a program for a benchmark, in a separate process."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """seconds: wall time; processor: CPU seconds of all cores; memory: peak resident memory in bytes."""

    seconds: float
    processor: float
    memory: int


def measure(script: str, *options: str, show: bool = True) -> Measurement:
    """Run a script with options and measure it. show: its output, and how long it took.

    Ends this program if that one fails.
    """
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, script, *options], stdout=None if show else subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(options)} failed")
    if show:
        print(f"{' '.join(options)}: {seconds:.1f} s", flush=True)
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
