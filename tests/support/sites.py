"""Sites for tests: releases whose rows try to break out of the page, and the pages that show them."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cards.manifest import encode
from pipelines.catalogue_site.release_data import find_datasets
from pipelines.catalogue_site.site import write_site
from pipelines.make import GOLDEN, make
from pipelines.release.folder import MANIFEST, require_manifest
from tests.support.releases import definition_of, sample_settings

HOSTILE = (
    "</script><script>document.title = 'broken out'</script>",
    "<img src=x onerror=\"document.title='broken out'\">",
    '"><svg onload="document.title=\'broken out\'">',
    "{{ 7 * 7 }} {% raw %} <!-- <script> -->",
    "'); document.title = 'broken out'; ('\\",
    "\u202eturned around\u2066 and\u2028 parted",
    "a zero\0byte, a bell\u0007 and a soft\u00adhyphen",
    "[a link](javascript:document.title='broken') ![x](https://example.org/x.png)",
)
LEAK = "Это предложение есть и в обучающей части, и в проверочной."
NEAR = "Это предложение есть и в обучающей части, и в проверочной!"


def hostile_releases(folder: Path, versions: Sequence[str] = ("1.0.0", "2.0.0")) -> Path:
    """Build versions of CEDR whose golden sample holds HOSTILE texts and a text of both splits; returns the releases' folder."""
    golden = folder / "golden"
    shutil.copytree(GOLDEN / "cedr", golden / "cedr")
    for split, texts in (("train", [*HOSTILE, LEAK]), ("test", [LEAK])):
        path = golden / "cedr" / "raw" / "main" / f"{split}.jsonl"
        rows = [{"text": text, "labels": ["anger"], "source": "<b>lj</b>"} for text in texts]
        path.write_bytes(path.read_bytes() + "".join(json.dumps(row) + "\n" for row in rows).encode())
    settings = replace(sample_settings(folder), golden=golden)
    for version in versions:
        make(definition_of("cedr-classification"), version, settings)
    return settings.output


def copy_as_real(release_dir: Path, releases: Path) -> Path:
    """Copy a golden release below a folder as one of the first records of the real raw files; returns the copy."""
    copy = Path(shutil.copytree(release_dir, releases / release_dir.parent.name / release_dir.name))
    (copy / MANIFEST).write_bytes(encode(replace(require_manifest(copy), limit=100)))
    return copy


def build_site(releases: Path, output: Path, *names: str, rights: bool = False) -> Path:
    """Write the site of some datasets; returns its folder."""
    write_site(find_datasets(names, releases), output, rights=rights)
    return output


def read_records(page_dir: Path, folder: str) -> list[list[Any]]:
    """All records of a list of the site, as a browser reads them."""
    records = []
    for path in sorted((page_dir / folder).glob("rows-*.js")):
        call = re.fullmatch(r'rows_push\("([^"]+)",(\d+),(.*)\);\n', path.read_text("utf-8"))
        assert call, path
        assert call[1] == folder
        assert f"rows-{int(call[2]):04d}.js" == path.name
        records += json.loads(call[3])
    return records
