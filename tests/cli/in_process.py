"""Commands as a user types them, but without a process for each: starting Python takes seconds."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest

from gaussnet.cli import main


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What ``gaussnet ...`` prints and with what status it ends."""
    words = ["gaussnet", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", words),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(words, stopped.value.code, *texts)
