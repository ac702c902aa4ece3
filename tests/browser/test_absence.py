"""Without Chromium the tests say so, and fail where it is required."""

import os
import subprocess
import sys

import pytest
from tests.browser.chromium import ABSENT


def run_without(tmp_path, **environment):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser"]
    return subprocess.run(
        [*command, "-k", "page_of_a_run"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": str(tmp_path), **environment},
    )


@pytest.mark.parametrize(("required", "code", "word"), [("", 0, "skipped"), ("1", 1, "Failed")])
def test_absence_is_told_at_the_end_and_fails_where_it_must_not_be(tmp_path, required, code, word):
    done = run_without(tmp_path, GAUSSNET_REQUIRE_BROWSER=required)
    assert done.returncode == code
    words = " ".join(done.stdout.split())
    assert "BROWSER TESTS DID NOT RUN" in words
    assert ABSENT in words
    assert word in words
