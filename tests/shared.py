"""Real logs lie beside the project and never in it; where they are not, the tests that need them say so."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[1] / "../shared/data"


def shared_log(name: str) -> Path:
    """A real log, or the test is skipped and says what it lacked."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no real logs: {name} is not in ../shared/data")
    return path
