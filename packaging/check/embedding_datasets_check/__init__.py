"""The commands check and diff alone: the command embedding-datasets-check.

The wheel has the modules of builders, cards and pipelines that they need in this folder: it replaces no file of the package
embedding-datasets, which may be installed too.
"""

import sys
from pathlib import Path


def run() -> None:
    """Run the command line and leave with its exit code."""
    sys.path.insert(0, str(Path(__file__).parent))  # before other packages with these names
    from pipelines import command_line

    command_line.run()
