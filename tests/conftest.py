"""What holds for the whole suite, and what it says at its end."""

from hypothesis import HealthCheck, settings
from tests.browser.chromium import ABSENT, find_chromium

# No test depends on how busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_terminal_summary(terminalreporter):
    if find_chromium() is None:
        terminalreporter.section("BROWSER TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(ABSENT)
