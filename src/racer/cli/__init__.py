"""The command line: it reads options, calls the library, and says what happened. No logic of its own."""

from racer.cli.main import main as main

__all__ = ["main"]
