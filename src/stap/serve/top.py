"""The likeliest apps of a running server, for menus: with the standard library alone, since nobody waits for a menu."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from stap.errors import BadInput
from stap.files import read_bytes
from stap.serve.client import Client

LARGEST_LIST = 16 << 20  # bytes


def lines(k: int, listed: str | None, user: str, data: Path | None, note: Callable[[str], None]) -> list[str]:
    """The k likeliest apps; or all lines of a list, likely apps first, also when no server runs."""
    if listed is None:
        return _ranked(k, user, data)
    given = sys.stdin.buffer.read(LARGEST_LIST) if listed == "-" else read_bytes(Path(listed), LARGEST_LIST)
    text = given.decode("utf-8", "replace")
    try:
        return _likely_first(text.splitlines(), _ranked(k, user, data))
    except BadInput as error:
        note(f"note: in the order given: {error}")
        return text.splitlines()


def _ranked(k: int, user: str, data: Path | None) -> list[str]:
    return [app for app, _ in Client(user, data=data).rank(k)]


def _likely_first(lines: Sequence[str], apps: Sequence[str]) -> list[str]:
    """Capitals do not matter: a logger's Firefox is a menu's firefox."""
    place = {app.casefold(): number for number, app in enumerate(apps)}
    return sorted(lines, key=lambda line: place.get(line.casefold(), len(place)))
