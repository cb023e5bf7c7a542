"""The pictures of README and of previews of links: the page of findings of golden samples, as a browser shows it.

    embedding-datasets build all training --sample --output samples
    embedding-datasets site --releases samples --output site && python benchmarks/pictures.py site

No text of a dataset is on that page; its counts are those of cards/results.json.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURES = {  # size, and Chromium's number for dark and light
    "docs/images/findings-light.png": ("1280,900", 1),
    "docs/images/findings-dark.png": ("1280,900", 0),
    "cards/site/preview.png": ("1200,630", 1),
}


def main(site: Path) -> None:
    """Take the pictures with the Chromium of the system."""
    for name, (size, scheme) in PICTURES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        options = (f"--screenshot={ROOT / name}", f"--window-size={size}", "--hide-scrollbars", "--no-sandbox")
        options += (f"--blink-settings=preferredColorScheme={scheme}", (site / "index.html").absolute().as_uri())
        subprocess.run(["chromium", "--headless", *options], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
