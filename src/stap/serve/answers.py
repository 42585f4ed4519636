"""What is asked of one person, answered as JSON has it: ranking, reasons, history, statistics, everything kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from stap import __version__
from stap.serve.core import Core
from stap.serve.habits import Usage, usages
from stap.serve.life import Life
from stap.serve.models import KINDS, clock, local_now, micros
from stap.why import Reason

MOST_APPS_SHOWN = 500
MOST_PAIRS_SHOWN = 60
MOST_TODAY = 2000
MOST_REASONS = 5


def now(core: Core, name: str, life: Life) -> datetime:
    """This machine's time; of somebody whose past is replayed, that of the last event."""
    return clock(life.at, life.offset) if name in core.replayed and life.habits.events else local_now()


def ranking(
    core: Core,
    name: str,
    k: int,
    at: datetime | None = None,
    among: Sequence[str] | None = None,
    without: Sequence[str] = (),
    steady: Sequence[str] | None = None,
    reasons: bool = True,
) -> dict[str, Any]:
    """What is launched next. Hidden apps are left out."""
    user = core.user(name)
    never = {*without, *core.names.hidden(user)}

    def question(life: Life) -> dict[str, Any]:
        when, predictor = at or now(core, name, life), life.predictor
        ranked = predictor.rank(k, when, among or None, never)
        row = {} if steady is None else {"row": predictor.steady(steady, k, when, among or None, never)}
        told = [[reason.sentence for reason in predictor.why(app, when)] if reasons else [] for app, _ in ranked]
        found = [
            {"app": app, "probability": probability, "reasons": why}
            for (app, probability), why in zip(ranked, told, strict=True)
        ]
        unseen = predictor.unseen(when)
        return {"at": when.isoformat(), "ranking": found, "unseen": unseen, "events": life.habits.events, **row}

    return core.sessions.asked(user, name, question)


def best(core: Core, name: str, k: int) -> list[dict[str, Any]]:
    """The ranking now and nothing else, for whoever sends events and wants to know what comes next."""
    user = core.user(name)

    def question(life: Life) -> list[tuple[str, float]]:
        return life.predictor.rank(k, now(core, name, life), None, core.names.hidden(user))

    return [
        {"app": app, "probability": share, "reasons": []} for app, share in core.sessions.asked(user, name, question)
    ]


def why(core: Core, name: str, app: str, at: datetime | None) -> dict[str, Any]:
    def question(life: Life) -> list[Reason]:
        return life.predictor.why(app, at or now(core, name, life), MOST_REASONS)

    found = core.sessions.asked(core.user(name), name, question)
    return {"app": app, "reasons": [asdict(reason) | {"sentence": reason.sentence} for reason in found]}


def history(core: Core, name: str, since: datetime | None, until: datetime | None, limit: int) -> dict[str, Any]:
    """Usages that began in a time, the newest first."""
    low = -(2**62) if since is None else micros(since)
    high = 2**62 if until is None else micros(until)
    rows = core.store.around(core.user(name), low, high, most := 2 * limit + 2)
    found = [usage for usage in usages(rows) if usage.start < high][::-1]
    return {"usages": [_told(usage) for usage in found[:limit]], "more": len(found) > limit or len(rows) >= most}


def statistics(core: Core, name: str) -> dict[str, Any]:
    user = core.user(name)
    hidden = core.names.hidden(user)

    def question(life: Life) -> tuple[dict[str, Any], datetime]:
        habits = life.habits
        apps = [
            {"app": app, "usages": times, "minutes": round(habits.minutes.get(app, 0.0), 1), "hidden": app in hidden}
            for app, times in habits.times.most_common(MOST_APPS_SHOWN)
        ]
        follow = [
            {"from": before, "to": app, "count": count}
            for (before, app), count in habits.pairs.most_common(MOST_PAIRS_SHOWN)
        ]
        return {"apps": apps, "week": [list(day) for day in habits.week], "follow": follow}, now(core, name, life)

    told, today = core.sessions.asked(user, name, question)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    usages_today = history(core, name, midnight, midnight + timedelta(days=1), MOST_TODAY)["usages"][::-1]
    return told | {"today": usages_today, **core.scores.told(user, name)}


def export(core: Core, name: str) -> Iterator[str]:
    """Everything of a user as JSON lines; those of events can be sent again as they are."""
    user = core.user(name)
    yield _line({"user": name, "version": __version__, "at": local_now().isoformat()})
    for app in sorted(core.names.hidden(user)):
        yield _line({"hidden": app})
    for id, kind, app, at, offset in core.store.everything(user):
        yield _line({"id": id, "kind": KINDS[kind], "app": app, "at": clock(at, offset).isoformat()})


def everything(core: Core) -> Iterator[str]:
    """The same of everybody, one after the other."""
    for person in core.store.people():
        if core.names.user(person.name) == person.user:  # and was not deleted meanwhile
            yield from export(core, person.name)


def _line(what: dict[str, str]) -> str:
    return json.dumps(what, ensure_ascii=False) + "\n"


def _told(usage: Usage) -> dict[str, Any]:
    end = None if usage.end is None else clock(usage.end, usage.offset).isoformat()
    return {"app": usage.app, "start": clock(usage.start, usage.offset).isoformat(), "end": end}
