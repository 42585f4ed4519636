"""The short way of `stap top`: a person waits for the menu, and has no time for what parses and prints so nicely.

It does what `stap.cli.using.top` does, with the standard library alone. What it does not understand, and what goes
wrong, is left to the long way, whose words a person reads.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stap.errors import BadInput, harmless
from stap.serve.top import lines

OPTIONS = {"-k": "k", "--list": "listed", "--user": "user", "--data": "data"}
K, MOST = "10", 100


def answered(words: Sequence[str]) -> bool:
    """Whether that was all."""
    given = _options(words)
    encoding = getattr(sys.stdout, "encoding", None) or ""
    if given is None or encoding.lower().replace("-", "") != "utf8":
        return False
    data = Path(given["data"]) if "data" in given else None
    try:
        found = lines(int(given.get("k", K)), given.get("listed"), given.get("user", "me"), data, _note)
        sys.stdout.write("".join(f"{harmless(line)}\n" for line in found))
        sys.stdout.flush()
    except (BadInput, OSError):
        return False
    return True


def _options(words: Sequence[str]) -> dict[str, str] | None:
    """Names and values; None where it is not `top`, or not as plain as this."""
    if words[:1] != ["top"] or len(words) % 2 == 0:
        return None
    found = {OPTIONS.get(name, ""): value for name, value in zip(words[1::2], words[2::2], strict=True)}
    k, odd = found.get("k", K), [value for value in found.values() if value.startswith("-") and value != "-"]
    number = k.isascii() and k.isdecimal() and len(k) <= len(str(MOST)) and 1 <= int(k) <= MOST
    return found if number and not odd and "" not in found else None


def _note(text: str) -> None:
    print(harmless(text), file=sys.stderr)
