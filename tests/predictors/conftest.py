"""A shared machine stalls now and then: no example fails for being slow once."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
