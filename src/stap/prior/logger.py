"""What a logger makes of what happened: a coarse clock, lost closes, missed glances, processes that nobody opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stap.events import DAY, Usages
from stap.prior.person import Draw, Random, by, pick, whole

STRETCH = 3  # days
CLOSES = {"kept": 0.75, "instants": 0.12, "next start": 0.13}  # as it was; none at all; where the next app begins
TICKS = {0.001: 0.15, 1.0: 0.4, 5.0: 0.1, 10.0: 0.27, 60.0: 0.08}  # seconds


def one_of(shares: dict[Any, float]) -> Draw:
    return lambda rng: rng.choice(list(shares), p=list(shares.values())).item()


def flaw(chance: float, low: float, high: float) -> Any:
    """A share that is 0 in most loggers."""
    return by(lambda rng: float(rng.uniform(low, high)) if rng.random() < chance else 0.0, 0.0)


@dataclass(frozen=True)
class Logger:
    """Without a flaw by default; as drawn, each flaw is absent more often than not."""

    closes: str = by(one_of(CLOSES), "kept")
    tick: float = by(one_of(TICKS), 0.001)  # all times are whole multiples, rounded down
    generous: bool = by(lambda rng: bool(rng.random() < 0.35), False)  # ends are rounded up: all that is seen lasts
    lost: float = flaw(0.3, 0.0, 0.6)  # share of closes that are missing: the usage ends where it started
    overrun: float = flaw(0.4, 0.0, 1.0)  # share of closes that come late, when the next app is open already
    missed: float = flaw(0.3, 0.2, 1.0)  # share of usages shorter than a tick that are not seen
    off: float = flaw(0.4, 0.02, 0.7)  # share of the days on which nothing is recorded, a stretch at a time
    background: float = flaw(0.35, 0.02, 0.8)  # opens by processes of their own, per usage
    processes: int = by(whole(1, 6), 1)  # how many apps do that
    launcher: float = flaw(0.07, 0.3, 1.0)  # share of usages after which the launcher shows up


PLAIN = Logger()


def record(usages: Usages, logger: Logger, rng: Random) -> Usages:
    """The records; merging and clipping them is left to `tidy`."""
    usages = _unseen(usages, logger, rng)
    usages = _closes(usages, logger, rng)
    if logger.launcher:
        usages = _with_launcher(usages, logger.launcher, rng)
    if logger.background:
        usages = _with_background(usages, logger, rng)
    tick, round_end = logger.tick / 60, np.ceil if logger.generous else np.floor
    return Usages(usages.app, np.floor(usages.start / tick) * tick, round_end(usages.end / tick) * tick)


def _unseen(usages: Usages, logger: Logger, rng: Random) -> Usages:
    """Whole days without the logger, and usages too short for it."""
    day = (usages.start // DAY).astype(np.int64)
    day -= day.min()
    off = np.repeat(rng.random(int(day.max()) // STRETCH + 1) < logger.off, STRETCH)
    short = (usages.end - usages.start) * 60 < logger.tick
    seen = ~off[day] & ~(short & (rng.random(len(day)) < logger.missed))
    return usages.take(seen) if seen.any() else usages


def _closes(usages: Usages, logger: Logger, rng: Random) -> Usages:
    app, start, end, _ = usages
    if logger.closes == "instants":
        return Usages(app, start, start)
    following = np.append(start[1:], end[-1])
    if logger.closes == "next start":
        return Usages(app, start, following)
    end = np.where(rng.random(len(app)) < logger.lost, start, end)
    late = rng.random(len(app)) < logger.overrun
    return Usages(app, start, np.where(late & (following - end < 1.0), following, end))


def _with_launcher(usages: Usages, share: float, rng: Random) -> Usages:
    """An app of its own that comes between, for a moment."""
    shown = np.flatnonzero(rng.random(len(usages.app)) < share)
    launcher = np.full(len(shown), usages.app.max() + 1, np.int32)
    return usages.together(Usages(launcher, usages.end[shown], usages.end[shown] + 1 / 60))


def _with_background(usages: Usages, logger: Logger, rng: Random) -> Usages:
    """Processes that come up by themselves while the device is in use: some all day, some on a beat of their own."""
    count = int(logger.background * len(usages.app))
    beat = usages.start[np.sort(rng.integers(0, len(usages.app), count))] + rng.uniform(0, 3, count)
    weight = rng.dirichlet(np.full(logger.processes, 0.7))
    known = rng.random(logger.processes) < 0.5  # an app that the person opens as well
    new = usages.app.max() + 1 + np.arange(logger.processes)
    process = np.where(known, rng.choice(usages.app, logger.processes), new)
    app = process[pick(weight, rng.random(count))]
    return usages.together(Usages(app.astype(np.int32), beat, beat + rng.exponential(0.3, count)))
