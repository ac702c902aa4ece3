"""The command line."""

from gaussnet.cli.app import main

__all__ = ["main"]
