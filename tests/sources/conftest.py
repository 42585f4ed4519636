"""Real logs lie beside the project and never in it; where they are not, the tests that need them say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture
def shared() -> Callable[[str], Path]:
    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"no real logs: {name} is not in ../shared/data")
        return path

    return find
