"""The server without HTTP: what is kept and who is in memory, opened together. Routes, feeds and imports share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from stap import terminal
from stap.errors import BadInput
from stap.serve import store as kept
from stap.serve.brains import Brains
from stap.serve.life import Making
from stap.serve.live import Hub
from stap.serve.models import AHEAD, EventIn, local_now
from stap.serve.names import Names
from stap.serve.scores import Scores
from stap.serve.sessions import Sessions
from stap.serve.snapshots import Snapshots
from stap.serve.store import DAMAGED, Row, Store
from stap.serve.writer import Writer

ANSWERING = 2  # threads that rank what comes with events
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Settings:
    """What a person may decide about a server."""

    folder: Path
    model: Path | None = None
    memory: int = 256  # MB for the sessions
    adapt: bool = False  # to each person, at idle times


class NoSuchUser(BadInput):
    """Nobody of that name has sent anything."""


class Core:
    """One data folder, open. Any thread may call."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.store = Store(settings.folder)
        self.brains = Brains(settings.model, settings.folder)
        self.writer = Writer(self.store)
        self.names = Names(self.store)
        self.snapshots = Snapshots(self.store, self.writer, self.brains.fingerprints)
        self.sessions = Sessions(Making(self.store, self.snapshots), self.brains, settings.memory << 20)
        self.scores = Scores(self.store, self.writer, self.brains)
        self.answering = ThreadPoolExecutor(ANSWERING, "answering")
        self.hub = Hub()
        self.busy = monotonic()  # when events came last
        self.replayed: set[str] = set()  # users whose past is replayed: their now is their last event

    def close(self) -> None:
        self.hub.close()
        self.answering.shutdown(cancel_futures=True)
        self.scores.close()
        self.sessions.close()
        self.store.close()
        self.writer.close()

    def user(self, name: str) -> int:
        user = self.names.user(name)
        if user is None:
            raise NoSuchUser("user", f"no {name!r} here", "send an event first")
        return user

    def take(self, name: str, events: Sequence[EventIn], many: bool = False) -> Future[int]:
        """Keep events; done when they are on the disk, with how many were new.

        `many`: a part of a long log. The session does not learn it part by part; `sessions.anew` does in the end.
        """
        self.busy, latest = monotonic(), local_now() + AHEAD
        if ahead := [event for event in events if event.at > latest]:
            raise BadInput("at", f"{ahead[0].at.isoformat()} has not come yet", "check the clock and its time zone")

        def work(db: Any) -> tuple[int, list[Row]]:
            user = kept.user_of(db, name)
            if many:
                kept.outdate(db, user)
            return user, kept.append(db, user, events)

        def then(outcome: tuple[int, list[Row]]) -> None:
            self.names.came(name, outcome[0])
            if outcome[1] and not many:
                self.sessions.arrived(*outcome)
                self.hub.poke(name)

        done: Future[int] = Future()
        done.set_running_or_notify_cancel()  # a client that leaves ends nothing
        self.writer.submit(work, then).add_done_callback(lambda future: _pass_on(future, done))
        return done

    def after(self, first: Future[A], work: Callable[..., B], *args: Any) -> Future[tuple[A, B]]:
        """Both outcomes: once the first is there, the work is done by whoever answers, with no other thread between."""
        both: Future[tuple[A, B]] = Future()
        both.set_running_or_notify_cancel()  # a client that leaves ends nothing

        def then() -> None:
            try:
                both.set_result((first.result(), work(*args)))
            except BaseException as error:
                both.set_exception(error)

        def begin(_: Future[A]) -> None:
            try:
                self.answering.submit(then)
            except RuntimeError as error:  # the server ends
                both.set_exception(error)

        first.add_done_callback(begin)
        return both

    def hide(self, name: str, app: str, hidden: bool) -> Future[int]:
        """A hidden app is learned from, but not shown. Gives whether there is such an app."""
        user, change = self.user(name), "UPDATE apps SET hidden = ? WHERE user = ? AND name = ?"

        def then(changed: int) -> None:
            if changed:
                (self.names.hid if hidden else self.names.showed)(user, app)
            self.hub.poke(name)

        return self.writer.submit(lambda db: db.execute(change, (hidden, user, app)).rowcount, then)

    def forget(self, name: str, app: str) -> None:
        """The app's events leave the store, and the session is made anew without them.

        With a long history that takes a while. The old session answers meanwhile, and does not show the app.
        """
        user = self.user(name)
        gone = self.writer.submit(lambda db: kept.forget(db, user, app), lambda _: self.names.hid(user, app))
        try:
            if not gone.result():
                raise BadInput("app", "not seen yet", "name one that was opened")
            self.hub.poke(name)
            self.store.checkpoint()
            self.snapshots.tidy()
            self.sessions.anew(user, name).result()
        finally:
            self.names.showed(user, app)
        self.hub.poke(name)

    def delete(self, name: str) -> None:
        """Nothing of a user stays."""
        user = self.user(name)
        away = self.writer.submit(
            lambda db: db.execute("DELETE FROM users WHERE user = ?", (user,)), lambda _: self.names.left(name)
        )
        away.result()
        self.sessions.drop(user)
        self.scores.drop(user)
        self.brains.drop(user)
        self.store.checkpoint()
        self.snapshots.tidy()
        self.hub.poke(name)

    def reload(self) -> bool:
        """Read the model's file again. Where it is another, sessions are made anew while the old ones answer.

        That is so for those in memory; who comes later waits until theirs is made.
        """
        try:
            changed = self.brains.reload()
        except BadInput as error:
            terminal.note(f"stap serve: {error}: the model that was read before stays")
            return False
        if changed:
            self.sessions.all_anew()
        return changed

    def delete_everything(self) -> None:
        for person in self.store.people():
            self.delete(person.name)
        for damaged in self.settings.folder.glob(f"{DAMAGED}*"):
            damaged.unlink(missing_ok=True)


def _pass_on(future: Future[tuple[int, list[Row]]], done: Future[int]) -> None:
    error = future.exception()
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(len(future.result()[1]))
