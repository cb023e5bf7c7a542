"""How any builder is run: raw bytes, release, Hub.

While `python -m pipelines.<command>` imports its modules, Ctrl-C ends it without a traceback: nothing has begun yet. Then
pipelines.command.run takes over. embedding_datasets.own_packages does the same for the command embedding-datasets.
"""

import os
import signal
import sys

DISTRIBUTION = "embedding-datasets"  # tells embedding_datasets.own_packages that this package is ours

# Python looks for the module to run, which is one of this package: it is not imported by another program.
if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].removeprefix("-m").partition(".")[0] == "pipelines":
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
