"""Where the repository is, and the real raw files beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT.parent / "shared" / "sources"
