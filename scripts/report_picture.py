"""Draw docs/images/report.png: the top of the report of a published network.

Run as ``python scripts/report_picture.py``; it needs Chromium and playwright.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import gaussnet as gn

TARGET = Path(__file__).parents[1] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1180, 1130


def main() -> None:
    """Write a report, open it, and take its picture."""
    truth = gn.networks.load("ecoli70")
    rows = truth.sample(2_000, seed=1)
    page_file = Path(tempfile.mkdtemp(), "report.html")
    gn.write_report(gn.fit(rows, truth.dag), page_file, title="ecoli70, learnt from 2,000 rows")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.screenshot(path=TARGET)
        browser.close()


if __name__ == "__main__":
    main()
