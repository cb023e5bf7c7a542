"""The libraries that a benchmark compares with. The package does not need them; its extra `benchmarks` installs them."""

import importlib
import sys
from pathlib import Path


def require_modules(*names: str, otherwise: str = "") -> None:
    """Leave with exit code 2, and say what to install, if a module cannot be imported.

    Call it before anything that takes long. otherwise: what to do instead of installing.
    """
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        install = "install the extra `benchmarks`: python -m pip install -e '.[benchmarks]'"
        lines = [
            f"error: {Path(sys.argv[0]).name} compares with {', '.join(missing)}, which cannot be imported",
            f"  to do:    {install}{f'; or {otherwise}' if otherwise else ''}",
        ]
        print("\n".join(lines), file=sys.stderr)
        sys.exit(2)
