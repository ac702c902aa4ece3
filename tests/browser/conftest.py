"""A browser for the tests, and pages that watch what they do."""

import pytest
from playwright.sync_api import sync_playwright
from tests.browser.chromium import ABSENT, FLAGS, find_chromium, is_required


@pytest.fixture(scope="session")
def browser():
    executable = find_chromium()
    if executable is None:
        (pytest.fail if is_required() else pytest.skip)(ABSENT)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield chromium
        chromium.close()


class Watched:
    """An open page and whatever it should not have done."""

    def __init__(self, page, path):
        self.page, self.path = page, path
        self.requests, self.complaints = [], []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        page.on("dialog", self._dismiss)
        page.goto(path.as_uri())

    def _dismiss(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check(self):
        assert self.complaints == []
        assert self.requests == [self.path.as_uri()]


@pytest.fixture
def look(browser):
    """Open a file; at the end it must have asked for nothing else and complained of nothing."""
    opened = []

    def open_page(path, **options):
        page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | options))
        page.set_default_timeout(15_000)
        opened.append(Watched(page, path))
        return page

    yield open_page
    for watched in opened:
        watched.page.mouse.move(5, 5)
        watched.check()
        watched.page.close()
