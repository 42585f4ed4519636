"""Being here puts this folder on the path, so that tests in every folder below can say `from shared import ...`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For a module's tests only: while it is open this thread has an event loop of its own."""
    from browsing import opened  # half a second that other tests need not wait for

    with opened() as browser:
        yield browser
