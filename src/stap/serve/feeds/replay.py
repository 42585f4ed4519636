"""A log once more, at a speed of one's choice: what the page looks like in use, without waiting for weeks.

Times are moved by whole weeks, so that hours and weekdays stay and the log ends in the week before its replay does. Ids
are those of the log as it is: a replay that is started again goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

from stap.errors import BadInput
from stap.serve.feeds.base import Outbox, Send, Streamed, user_named, zone_now
from stap.serve.feeds.saying import Clock, told
from stap.serve.models import EventIn
from stap.sources import Options, read

SPEED = 3600.0  # an hour a second
FASTEST = 1e9
TOGETHER = 0.05  # seconds of the replay whose events are sent at once
WEEK = timedelta(weeks=1)
Turn = tuple[datetime, str, EventIn]  # when it happened, whose, and what is sent


class Replay(Streamed):
    def __init__(
        self,
        user: str,
        logs: Sequence[str | Path],
        speed: float = SPEED,
        options: Options = Options(),  # noqa: B008
        live: timedelta = timedelta.max,
    ) -> None:
        """`live`: only so much of the log's end is played, and what came before is there at once."""
        super().__init__("replay")
        if not 0 < speed <= FASTEST:
            raise BadInput(f"--speed {speed:g}", "no speed", "give a factor above 0, e.g. 60 for a minute a second")
        found = read(logs, options)
        zone = zone_now(options.zone)
        long_after = self.now() + timedelta(days=1)
        everybody = list(told(found, Clock(zone, zone), long_after))
        names = {each.user: user if len(everybody) == 1 else user_named(each.user) for each in everybody}
        turns = [(event.at, names[each.user], event) for each in everybody for event in each.events]
        self._turns = sorted(turns, key=lambda turn: turn[0])
        self._speed, self._live = speed, live

    def run(self, send: Send, stop: Event) -> None:
        self.state = "running"
        out, begin = Outbox(send), time.monotonic()
        turns = moved(self._turns, self.now(), self._speed)
        first, done = self._first(), 0
        while done < len(turns) and not stop.is_set():
            wait = (turns[done][0] - first).total_seconds() / self._speed - (time.monotonic() - begin)
            if stop.wait(max(0.0, wait)):
                break
            until = first + timedelta(seconds=(time.monotonic() - begin + TOGETHER) * self._speed)
            due = done
            while due < len(turns) and turns[due][0] <= until:
                due += 1
            self.insist(out, [(user, event) for _, user, event in turns[done:due]], stop)
            done = due
        self.state = "stopped" if stop.is_set() else "finished"

    def _first(self) -> datetime:
        """Where the replay sets in, by the log's own time."""
        if not self._turns:
            return self.now()
        whole = self._turns[-1][0] - self._turns[0][0]
        return self._turns[-1][0] - min(whole, self._live)


def moved(turns: Sequence[Turn], begin: datetime, speed: float) -> list[Turn]:
    """The turns in the weeks up to the end of a replay that begins now; ids stay."""
    if not turns:
        return []
    end = begin + (turns[-1][0] - turns[0][0]) / max(1.0, speed)  # slower than life, nothing may come before its time
    by = (end - turns[-1][0]) // WEEK * WEEK
    return [(at, user, event.model_copy(update={"at": event.at + by})) for at, user, event in turns]
