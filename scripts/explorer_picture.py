"""Draw docs/images/what-if.png: the what-if page of a published network in use.

Run as ``python scripts/explorer_picture.py``; it needs Chromium and playwright.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import gaussnet as gn

TARGET = Path(__file__).parents[1] / "docs" / "images" / "what-if.png"
WIDTH, HEIGHT = 1380, 1130
FIXED = (("sucA", "seen", "1.65"), ("eutG", "set", "-1.26"))


def main() -> None:
    """Write a page, observe one node, set another, and take its picture."""
    page_file = Path(tempfile.mkdtemp(), "what-if.html")
    gn.write_explorer(gn.networks.load("ecoli70"), page_file, title="ecoli70: what if?")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.as_uri())
        for name, mode, value in FIXED:
            page.locator("#find").fill(name)
            page.locator(f"[name=mode][value={mode}]").check(force=True)
            page.locator("#value").fill(value)
        page.locator("#find").fill("")
        page.locator("[data-zoom=all]").click()
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
