"""Where the repository is, and the real raw files and the texts of the papers beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT.parent / "shared" / "sources"
REFERENCE = ROOT.parent / "shared" / "reference"
