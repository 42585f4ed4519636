"""Everybody's live session: in memory while there is room, else as a snapshot on the disk, brought back on demand.

A session is made from the history alone. What arrives in order is learned when somebody asks, or soon after; what
arrives late is put in its place: the session goes back to a snapshot before it and learns on from there. Where that
takes longer than a client should wait it is done in the background, and the old session answers until then.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, RLock
from typing import TypeVar

from stap.errors import BadInput
from stap.serve.brains import Brains
from stap.serve.life import Life, Making
from stap.serve.store import ENDING, Row
from stap.terminal import Tick, quiet

AT_ONCE = 2_000  # events that are learned while a client waits: a quarter of a second
OFTEN = 5_000  # events after which a session is worth a new snapshot
NOW_AND_THEN = 64  # events
INBOX = 256  # events that wait for somebody to ask
T = TypeVar("T")


class Learning(BadInput):
    """The session is not there yet: it is being made from a long history."""


class Session:
    """A life, and what has arrived for it since."""

    def __init__(self, user: int, name: str) -> None:
        self.user, self.name = user, name
        self.life: Life | None = None
        self.lock = RLock()  # of the life
        self.arrived: deque[Row] = deque()  # the writer appends, in the order of commits
        self.making: Future[None] | None = None  # a new life, in the background
        self.learned, self.whole = 0, 0  # events of that, so far and in all
        self.gone = False  # no longer among the sessions
        self.outdated = False  # the history lost events
        self.bytes = 0
        self.measured = -1  # events it had when that was measured


class Sessions:
    """The sessions of all people. Any thread may ask; the writer tells what has arrived."""

    def __init__(self, making: Making, brains: Brains, room: int) -> None:
        self._making, self._brains, self._room = making, brains, room
        self._open: OrderedDict[int, Session] = OrderedDict()  # who was asked of least recently comes first
        self._lock = Lock()  # of the dictionary
        self._learning = ThreadPoolExecutor(1, "learning")  # one at a time: answers come first
        self._keeping = ThreadPoolExecutor(1, "keeping")
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    @property
    def bytes(self) -> int:
        with self._lock:
            return sum(session.bytes for session in self._open.values())

    def arrived(self, user: int, rows: Sequence[Row]) -> None:
        """Called after each commit. Who is not in memory reads it from the store when asked."""
        with self._lock:
            session = self._open.get(user)
        if session is not None:
            session.arrived.extend(rows)
            if len(session.arrived) >= INBOX:
                self._make_behind(session)

    def asked(self, user: int, name: str, question: Callable[[Life], T]) -> T:
        """An answer of the life with all that has arrived."""
        while True:
            session = self._session(user, name)
            with session.lock:
                if not session.gone:
                    return question(self._learned(session))

    def anew(self, user: int, name: str, tick: Tick = quiet) -> Future[None]:
        """Make a session anew, in the background: events left, many came, or the model is another."""
        session = self._session(user, name)
        session.outdated = True
        return self._make_behind(session, tick)

    def all_anew(self) -> None:
        """The model is another: everybody in memory is made anew, one after the other."""
        with self._lock:
            sessions = list(self._open.values())
        for session in sessions:
            self.anew(session.user, session.name)

    def drop(self, user: int) -> None:
        """Somebody was deleted."""
        with self._lock:
            session = self._open.pop(user, None)
        if session is not None:
            session.gone = True

    def close(self) -> None:
        """Everybody is kept, so that the next start is quick; nobody waits until a long history is learned."""
        self._closed = True
        self._learning.shutdown(cancel_futures=True)
        self._keeping.shutdown(cancel_futures=True)
        for session in list(self._open.values()):
            with session.lock:
                self._keep(session, 1)

    def _session(self, user: int, name: str) -> Session:
        with self._lock:
            if user not in self._open:
                self._open[user] = Session(user, name)
            self._open.move_to_end(user)
            return self._open[user]

    def _learned(self, session: Session) -> Life:
        """The life with all that has arrived, if that takes no longer than a client waits."""
        life = session.life
        if life is None or not self._taken(session, life):
            _, model = self._brains.of(session.user)
            if self._making.behind(session.user, model) <= AT_ONCE:
                return self._make(session)
            self._make_behind(session)
        if life is None:
            how_far = f"{session.learned:,} of {session.whole:,} events" if session.whole else "it waits its turn"
            raise Learning("history", f"is being learned: {how_far}", "ask again in some seconds")
        return life

    def _taken(self, session: Session, life: Life) -> bool:
        """Learns what has arrived, as far as it is in order; whether that was all."""
        rows, late, at, seq = list[Row](), False, life.at, life.seq
        while session.arrived:  # the writer may append meanwhile
            row = session.arrived[0]
            if row.seq > seq:
                if late := row.at < at:
                    break
                rows.append(row)
                at, seq = row.at, row.seq
            session.arrived.popleft()
        try:
            life.learn(rows)
        except BaseException:
            session.life = None  # it is made anew from the store
            raise
        life.seq = seq
        if late:
            return False
        self._after(session, life)
        return not session.outdated

    def _make_behind(self, session: Session, tick: Tick = quiet) -> Future[None]:
        if session.making is None or session.making.done():
            session.making = self._learning.submit(self._remake, session, tick)
        return session.making

    def _remake(self, session: Session, tick: Tick) -> None:
        """Until nothing late has come in between."""

        def learned(steps: int) -> None:
            if self._closed:
                raise BadInput("history", *ENDING)
            session.learned += steps
            tick(steps)

        while not session.gone:
            with session.lock:
                if session.life is not None and self._taken(session, session.life):
                    return
            session.outdated = False
            fresh, model = self._brains.of(session.user)
            session.learned, session.whole = 0, self._making.behind(session.user, model)
            life = self._making.made(session.user, fresh.fresh(session.name), model, learned)
            with session.lock:
                if self._making.caught_up(session.user, life):
                    session.life = life

    def _make(self, session: Session) -> Life:
        session.outdated = False
        fresh, model = self._brains.of(session.user)
        session.life = self._making.made(session.user, fresh.fresh(session.name), model)
        self._taken(session, session.life)
        return session.life

    def _after(self, session: Session, life: Life) -> None:
        """Now and then: how large it has become, a snapshot, room for others."""
        if session.measured >= 0 and life.habits.events - session.measured < NOW_AND_THEN:
            return
        session.bytes, session.measured = life.predictor.size, life.habits.events
        if life.unsaved >= OFTEN:
            self._keeping.submit(self._keep_locked, session)
        elif self.bytes > self._room:
            self._keeping.submit(self._make_room)

    def _keep_locked(self, session: Session) -> None:
        with session.lock:
            self._keep(session, OFTEN)

    def _keep(self, session: Session, least: int) -> bool:
        """On the disk, if so many events are new. Where the disk does not take it, it stays in memory."""
        life = session.life
        if life is not None and life.unsaved >= least:
            with suppress(BadInput):
                life.keep(session.user, self._making.snapshots)
        return life is None or life.unsaved < least

    def _make_room(self) -> None:
        """Whoever was asked of least recently goes to the disk."""
        while self.bytes > self._room and len(self) > 1:
            with self._lock:
                session = next(iter(self._open.values()))
            with session.lock:
                if not self._keep(session, 1):
                    return
                session.gone = True
                with self._lock:
                    self._open.pop(session.user, None)
