"""The examples of docs/python.md run, from the first to the last. tests/test_mteb_built_in.py runs the one with mteb."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

GUIDE = (ROOT / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", GUIDE)


def test_the_examples_of_the_guide_run_on_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    names: dict[str, Any] = {}
    for block in BLOCKS:
        if "import mteb" not in block:
            exec(block, names)
    printed = capfd.readouterr()
    assert printed.err == "", "a notebook shows nothing that was not asked for"
    [shown] = re.findall(r"(?ms)^```\n(<Release.*?)\n  /home.*?^```$", GUIDE)
    assert shown in printed.out
    assert not any((tmp_path / "outputs").glob("*"))
