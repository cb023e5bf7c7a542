"""How any builder is run: raw bytes, release, Hub.

While `python -m pipelines.<command>` imports its modules, Ctrl-C ends it without a traceback: nothing has begun yet. Then
pipelines.command.run takes over.
"""

import os
import signal
import sys

if sys.argv[:1] == ["-m"]:  # Python looks for the module to run; the package is not imported by another program
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
