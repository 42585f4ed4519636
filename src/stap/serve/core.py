"""The server without HTTP: what is asked of it, answered from the store and the sessions. Feeds and routes share it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from stap.errors import BadInput
from stap.serve import store as kept
from stap.serve.brains import Brains
from stap.serve.habits import Usage, usages
from stap.serve.life import Life, Making
from stap.serve.live import Hub
from stap.serve.models import AHEAD, EventIn, clock, local_now, micros
from stap.serve.sessions import Sessions
from stap.serve.snapshots import Snapshots
from stap.serve.store import Row, Store
from stap.serve.writer import Writer
from stap.why import Reason

MOST_APPS_SHOWN = 500
MOST_PAIRS_SHOWN = 60
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What a person may decide about a server."""

    folder: Path
    model: Path | None = None
    memory: int = 256  # MB for the sessions


class NoSuchUser(BadInput):
    """Nobody of that name has sent anything."""


class Core:
    """One data folder, open. Any thread may call."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.store = Store(settings.folder)
        self.brains = Brains(settings.model)
        self.writer = Writer(self.store)
        making = Making(self.store, Snapshots(self.store, self.writer))
        self.sessions = Sessions(making, self.brains, settings.memory << 20)
        self.hub = Hub()
        self.replayed: set[str] = set()  # users whose feed replays the past: their now is their last event

    def close(self) -> None:
        self.hub.close()
        self.sessions.close()
        self.writer.close()

    def take(self, name: str, events: Sequence[EventIn]) -> Future[int]:
        """Keep events; done when they are on the disk, with how many of them were new."""
        if ahead := [event for event in events if event.at > local_now() + AHEAD]:
            raise BadInput("at", f"{ahead[0].at.isoformat()} has not come yet", "check the clock and its time zone")

        def work(db: Any) -> tuple[int, list[Row]]:
            user = kept.user_of(db, name)
            return user, kept.append(db, user, events)

        def then(outcome: tuple[int, list[Row]]) -> None:
            if outcome[1]:
                self.sessions.arrived(*outcome)
                self.hub.poke(name)

        done: Future[int] = Future()
        self.writer.submit(work, then).add_done_callback(lambda future: _pass_on(future, done))
        return done

    def user(self, name: str) -> int:
        user = self.store.user(name)
        if user is None:
            raise NoSuchUser("user", f"no {name!r} here", "send an event first")
        return user

    def now(self, name: str, life: Life) -> datetime:
        return clock(life.at, 0).astimezone() if name in self.replayed and life.habits.events else local_now()

    def ranking(
        self,
        name: str,
        k: int,
        at: datetime | None = None,
        among: Sequence[str] | None = None,
        without: Sequence[str] = (),
        steady: Sequence[str] | None = None,
        reasons: bool = True,
    ) -> dict[str, Any]:
        """What is launched next, as the page and programs get it."""
        user = self.user(name)
        never = {*without, *self.store.hidden(user)}

        def question(life: Life) -> dict[str, Any]:
            when, predictor = at or self.now(name, life), life.predictor
            ranked = predictor.rank(k, when, among or None, never)
            row = None if steady is None else predictor.steady(steady, k, when, among or None, never)
            told = [[reason.sentence for reason in predictor.why(app, when)] if reasons else [] for app, _ in ranked]
            return {
                "at": when.isoformat(),
                "ranking": [
                    {"app": app, "probability": probability, "reasons": why}
                    for (app, probability), why in zip(ranked, told, strict=True)
                ],
                "unseen": predictor.unseen(when),
                "events": life.habits.events,
                **({} if row is None else {"row": row}),
            }

        return self.sessions.asked(user, name, question)

    def why(self, name: str, app: str, at: datetime | None) -> dict[str, Any]:
        def question(life: Life) -> list[Reason]:
            return life.predictor.why(app, at or self.now(name, life), 5)

        found = self.sessions.asked(self.user(name), name, question)
        return {"app": app, "reasons": [asdict(reason) | {"sentence": reason.sentence} for reason in found]}

    def history(self, name: str, since: datetime | None, until: datetime | None, limit: int) -> dict[str, Any]:
        """Usages that began in a time, the newest first."""
        low = -(2**62) if since is None else micros(since)
        high = 2**62 if until is None else micros(until)
        rows = self.store.around(self.user(name), low, high, most := 2 * limit + 2)
        found = [usage for usage in usages(rows) if usage.start < high][::-1]
        return {"usages": [_told(usage) for usage in found[:limit]], "more": len(found) > limit or len(rows) >= most}

    def statistics(self, name: str) -> dict[str, Any]:
        user = self.user(name)
        hidden = set(self.store.hidden(user))

        def question(life: Life) -> dict[str, Any]:
            habits = life.habits
            return {
                "apps": [
                    {
                        "app": app,
                        "usages": times,
                        "minutes": round(habits.minutes.get(app, 0.0), 1),
                        "hidden": app in hidden,
                    }
                    for app, times in habits.times.most_common(MOST_APPS_SHOWN)
                ],
                "week": [list(day) for day in habits.week],
                "follow": [
                    {"from": before, "to": app, "count": count}
                    for (before, app), count in habits.pairs.most_common(MOST_PAIRS_SHOWN)
                ],
                "midnight": self.now(name, life).replace(hour=0, minute=0, second=0, microsecond=0),
            }

        answer = self.sessions.asked(user, name, question)
        midnight = answer.pop("midnight")
        today = self.history(name, midnight, midnight + timedelta(days=1), 2000)["usages"][::-1]
        return answer | {"today": today, "hits": [], "hits3": [], "hits5": []}

    def hide(self, name: str, app: str, hidden: bool) -> Future[int]:
        user = self.user(name)
        change = "UPDATE apps SET hidden = ? WHERE user = ? AND name = ?"
        return self.writer.submit(
            lambda db: db.execute(change, (hidden, user, app)).rowcount, lambda _: self.hub.poke(name)
        )

    def forget(self, name: str, app: str) -> None:
        """The app's events leave the store at once, and the session is made anew without them."""
        user = self.user(name)

        def work(db: Any) -> int:
            return kept.forget(db, user, app)

        if not self.writer.submit(work).result():
            raise BadInput("app", "not seen yet", "name one that was opened")
        self.sessions.anew(user, name).result()
        self.hub.poke(name)


def _told(usage: Usage) -> dict[str, Any]:
    end = None if usage.end is None else clock(usage.end, usage.offset).isoformat()
    return {"app": usage.app, "start": clock(usage.start, usage.offset).isoformat(), "end": end}


def _pass_on(future: Future[tuple[int, list[Row]]], done: Future[int]) -> None:
    error = future.exception()
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(len(future.result()[1]))
