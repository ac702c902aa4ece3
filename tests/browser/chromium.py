"""Where Chromium is, and what to say if it is not there."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ABSENT = (
    "There is no Chromium, so the pages were not opened in a browser: install it, for instance "
    "with 'apt-get install chromium', and run the tests again."
)


def find_chromium():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def is_required():
    return os.environ.get("GAUSSNET_REQUIRE_BROWSER", "") not in ("", "0")
