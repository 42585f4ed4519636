"""`stap bench year`: how long a server takes to know a heavy user again, from a snapshot and from the events alone.

200,000 events of a year lie in the store. The snapshot is as old as it gets: almost so many events came after it as
make a new one. The peer is reading the same events from the store, which no way can spare.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from stap.prior.person import power_law
from stap.serve.core import Core, Settings
from stap.serve.models import EventIn, Kind
from stap.serve.sessions import OFTEN
from stap.serve.snapshots import FOLDER
from stap.verdict import Figure, publish

LAUNCHES, APPS, DAYS = 100_000, 150, 365
LATE: dict[Kind, float] = {"opened": 0.0, "closed": 0.5}  # of the way to the next launch
PART = 1000  # launches of one commit
FROM_SNAPSHOT, WITHOUT = 5, 60  # seconds at most


def run(launches: int = LAUNCHES) -> dict[str, Any]:
    with TemporaryDirectory() as place:
        folder, late = Path(place), min(launches // 10, OFTEN // 2 - 1)
        lived(folder, launches, APPS, end=launches - late)
        lived(folder, launches, APPS, begin=launches - late, learn=False)
        known = _until_known(folder)
        for snapshot in (folder / FOLDER).glob("*.state"):
            snapshot.unlink()
        anew = _until_known(folder)
        read = _until_read(folder)
    return publish(
        f"a year of {2 * launches:,} events, {APPS} apps",
        [
            Figure.at_most(f"from a snapshot {2 * late:,} events old", known, "s", FROM_SNAPSHOT),
            Figure.at_most("from the events alone", anew, "s", WITHOUT),
            Figure("reading the events", read, "s"),
            Figure("from the events / reading them", anew / read, "times"),
        ],
    )


def lived(folder: Path, launches: int, apps: int, begin: int = 0, end: int | None = None, learn: bool = True) -> None:
    """A year on disk, from one of its launches to another; learned once, as it is on any later day."""
    rng = np.random.default_rng(0)
    app = rng.choice(apps, launches, p=power_law(apps, 1.0)).tolist()
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first, step, end = midnight - timedelta(days=DAYS), timedelta(days=DAYS) / launches, end or launches
    core = Core(Settings(folder))
    for at in range(begin, end, PART):
        events = [
            EventIn(id=f"{kind}{number}", kind=kind, app=f"App {app[number]}", at=first + (number + late) * step)
            for number in range(at, min(at + PART, end))
            for kind, late in LATE.items()
        ]
        core.take("me", events, many=learn).result()
    if learn:
        core.sessions.anew(core.user("me"), "me").result()
    core.close()


def _until_known(folder: Path) -> float:
    began = perf_counter()
    core = Core(Settings(folder))
    core.sessions.anew(core.user("me"), "me").result()
    took = perf_counter() - began
    core.close()
    return took


def _until_read(folder: Path) -> float:
    core = Core(Settings(folder))
    user, began = core.user("me"), perf_counter()
    for _ in core.store.after(user, -(2**62), 0, core.store.newest(user)):
        pass
    took = perf_counter() - began
    core.close()
    return took
