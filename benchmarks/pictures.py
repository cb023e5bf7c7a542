"""The pictures of README and of previews of links: the page of findings of golden samples, as a browser shows it.

    embedding-datasets build all training --sample --output samples
    embedding-datasets site --releases samples --output site && python benchmarks/pictures.py site

No text of a dataset is on that page; its counts are those of cards/results.json.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = {  # width, height, colours
    "docs/images/findings-light.png": (1280, 900, "light"),
    "docs/images/findings-dark.png": (1280, 900, "dark"),
    "cards/site/preview.png": (1200, 630, "light"),
}


def main(site: Path) -> None:
    """Take the pictures with the Chromium of the system."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium")
        for name, (width, height, colours) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
            page.goto((site / "index.html").absolute().as_uri())
            (ROOT / name).parent.mkdir(exist_ok=True)
            page.screenshot(path=ROOT / name)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
