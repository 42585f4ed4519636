"""One person's history up to a place, as a predictor and as counts; and how it is made from what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from secrets import token_hex

from stap.errors import BadInput
from stap.events import CLOSE, DAY, OPEN, Event
from stap.predictor import Predictor
from stap.serve.habits import NOTIFIED, OPENED, Habits
from stap.serve.models import clock
from stap.serve.snapshots import Snapshot, Snapshots
from stap.serve.store import Row, Store
from stap.terminal import Tick, quiet

BEGINNING = -(2**63)
MINUTE = 60_000_000  # microseconds


@dataclass
class Life:
    """What is known of a person. `seq` and `at` say up to where: all that had arrived, and its last time."""

    predictor: Predictor
    model: str  # which model the predictor has
    epoch: int  # how often events had left when it was made
    habits: Habits = field(default_factory=Habits)
    at: int = BEGINNING
    offset: int = 0  # of the clock that showed it
    seq: int = 0
    saved: int = 0  # events that the newest snapshot has

    def learn(self, rows: Sequence[Row]) -> None:
        """Events in the order of time. Where that fails, the life is of no more use: nobody knows how far it came."""
        for noticed, group in groupby(rows, lambda row: row.kind == NOTIFIED):
            if noticed:
                for row in group:
                    self.predictor.notified(row.app, clock(row.at, row.offset))
            else:
                self.predictor.observe_all([_event(row) for row in group])
        for row in rows:
            self.habits.observe(row)
        if rows:
            self.at, self.offset = rows[-1].at, rows[-1].offset

    @property
    def unsaved(self) -> int:
        return self.habits.events - self.saved

    def keep(self, user: int, snapshots: Snapshots) -> None:
        """As a snapshot on the disk."""
        file = f"{user}-{self.seq}-{token_hex(4)}.state"
        snapshot = Snapshot(user, self.at, self.offset, self.seq, self.model, file, self.habits.dumps())
        snapshots.keep(self.predictor, snapshot, self.epoch)
        self.saved = self.habits.events


def _event(row: Row) -> Event:
    local = row.at + 1_000_000 * row.offset
    return Event(row.app, OPEN if row.kind == OPENED else CLOSE, row.at / MINUTE, local / MINUTE % DAY / 60.0)


@dataclass(frozen=True)
class Making:
    """Where lives come from: the newest true snapshot, and the events after it."""

    store: Store
    snapshots: Snapshots

    def behind(self, user: int, model: str) -> int:
        """How many events would have to be learned."""
        snapshot = self.snapshots.newest(user, model)
        at, seq = (snapshot.at, snapshot.seq) if snapshot else (BEGINNING, 0)
        return self.store.count_after(user, at, seq)

    def made(self, user: int, fresh: Predictor, model: str, tick: Tick = quiet) -> Life:
        epoch, newest = self.store.epoch(user), self.store.newest(user)
        life = self._restored(user, fresh, model, epoch) or Life(fresh, model, epoch)
        for part in self.store.parts_after(user, life.at, life.seq, newest):
            life.learn(part)
            tick(len(part))
        life.seq = max(life.seq, newest)
        return life

    def caught_up(self, user: int, life: Life) -> bool:
        """Learns what has arrived since it was begun; False where that belongs before its end, or events left."""
        arrived = self.store.since(user, life.seq)
        if self.store.epoch(user) != life.epoch or (arrived and arrived[0].at < life.at):
            return False
        life.learn(arrived)
        life.seq = max((life.seq, *(row.seq for row in arrived)))
        return True

    def _restored(self, user: int, fresh: Predictor, model: str, epoch: int) -> Life | None:
        """From a snapshot; a damaged one is thrown away, and the one before it tried."""
        while (snapshot := self.snapshots.newest(user, model)) is not None:
            try:
                predictor, habits = fresh.restore(self.snapshots.path(snapshot)), Habits.loads(snapshot.habits)
                return Life(predictor, model, epoch, habits, snapshot.at, snapshot.offset, snapshot.seq, habits.events)
            except BadInput:
                self.snapshots.discard(snapshot)
        return None
