"""What holds for the whole suite, and what it says at its end."""

import os
import signal

from hypothesis import HealthCheck, settings
from tests.browser.chromium import ABSENT, find_chromium

# Read when NumPy and SciPy are first imported, which is later. The workers of pytest fill the
# processors; on two busy ones a second thread of BLAS made tests of many small systems take more
# than twice the time.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# What a shell without job control runs in the background ignores Ctrl-C, as does what it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test depends on how busy the machine is.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_terminal_summary(terminalreporter):
    if find_chromium() is None:
        terminalreporter.section("BROWSER TESTS DID NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write_line(ABSENT)
