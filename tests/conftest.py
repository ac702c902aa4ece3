"""What the whole suite says at its end."""

from tests.browser.chromium import ABSENT, find_chromium


def pytest_terminal_summary(terminalreporter):
    if find_chromium() is None:
        terminalreporter.section("BROWSER TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(ABSENT)
