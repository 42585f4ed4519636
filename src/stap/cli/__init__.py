"""The command line. `main` tries the short way first; everything else is in commands.py, imported when it is needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from stap.cli import quick


def main() -> None:
    """The entry point."""
    if not quick.answered(sys.argv[1:]):
        import_module("stap.cli.commands").main()


def __getattr__(name: str) -> Any:
    """`app`, the whole of it, and what else commands.py has."""
    if name.startswith("_"):
        raise AttributeError(f"module 'stap.cli' has no attribute {name!r}")
    return getattr(import_module("stap.cli.commands"), name)
