"""Notifications: apps that ask to be opened, beside the events of a person."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import polars as pl

from stap.events import Event, hour_of_day, minutes_of


class Notice(NamedTuple):
    """A notification: an app asked to be opened."""

    app: str
    minutes: float
    hour: float


def notices(table: pl.DataFrame) -> dict[str, list[Notice]]:
    """Each user's notifications (user, app, time) in the order of time."""
    table = table.sort("user", "time", maintain_order=True)
    minutes = table.select(minutes_of("time")).to_series().to_numpy()
    found: dict[str, list[Notice]] = {}
    rows = zip(table["user"], table["app"], minutes.tolist(), hour_of_day(minutes).tolist(), strict=True)
    for user, app, when, hour in rows:
        found.setdefault(user, []).append(Notice(app, when, hour))
    return found


def interleaved(events: Iterable[Event], posted: Iterable[Notice]) -> Iterator[Event | Notice]:
    """In the order of time; of two at once the event comes first, for an app that opens may post at once."""
    return heapq.merge(events, posted, key=lambda each: each.minutes)
