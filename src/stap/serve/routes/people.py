"""Events in; rankings, reasons, history and statistics out: what concerns one person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from stap.errors import BadInput
from stap.serve import answers
from stap.serve.core import Core
from stap.serve.live import SILENCE, message
from stap.serve.models import (
    MOST_NAMED,
    App,
    AppIn,
    EventIn,
    EventsIn,
    HiddenIn,
    HistoryOut,
    RankingOut,
    StatisticsOut,
    Taken,
    Time,
    User,
    UsersOut,
    WhyOut,
    clock,
)

router = APIRouter(prefix="/api/v1/users", tags=["people"])
Somebody = Annotated[User, Path()]
MOST_RANKED = 100
EVENTS = f"{router.prefix}/{{user}}/events"
Count = Annotated[int, Query(ge=1, le=MOST_RANKED, description="how many apps")]
Named = Annotated[list[App] | None, Query(max_length=MOST_NAMED)]
At = Annotated[Time | None, Query(description="when somebody looks at the screen; now, where it is left out")]
CALM = 0.2  # seconds between two rankings on one line


def core(request: Request) -> Core:
    found: Core = request.app.state.core
    return found


@router.get("", response_model=UsersOut)
def users(request: Request) -> dict[str, Any]:
    """Everybody who has sent something."""
    return {
        "users": [
            {
                "user": person.name,
                "events": person.events,
                "apps": person.apps,
                "first": None if person.first is None else clock(person.first, 0).isoformat(),
                "last": None if person.last is None else clock(person.last, 0).isoformat(),
            }
            for person in core(request).store.people()
        ]
    }


@router.post("/{user}/events", response_model=Taken)
async def take(
    request: Request,
    user: Somebody,
    body: EventsIn,
    k: Annotated[int | None, Query(ge=1, le=MOST_RANKED, description="rank so many apps as well, no reasons")] = None,
) -> JSONResponse:
    """Keep events. Answered when they are on the disk; sent again, they change nothing."""
    return JSONResponse(await taken(core(request), user, body.events, k))


async def taken(server: Core, user: str, events: Sequence[EventIn], k: int | None) -> dict[str, Any]:
    """What became of the events, once they are on the disk; and the ranking after them, where it was asked for."""
    kept = server.take(user, events)
    if k is None:
        new, ranked = await asyncio.wrap_future(kept), {}
    else:
        new, best = await asyncio.wrap_future(server.after(kept, answers.best, server, user, k))
        ranked = {"ranking": best}
    return {"accepted": new, "known": len(events) - new, **ranked}


@router.get("/{user}/ranking", response_model=RankingOut)
def ranking(
    request: Request,
    user: Somebody,
    k: Count = 5,
    at: At = None,
    among: Named = None,
    without: Named = None,
    steady: Named = None,
    reasons: Annotated[bool, Query(description="whether to say why; costs a millisecond an app")] = True,
) -> JSONResponse:
    """The apps launched next, best first. `steady`: the row that is shown now; then `row` is the adapted one."""
    return JSONResponse(answers.ranking(core(request), user, k, at, among, without or (), steady, reasons))


@router.get("/{user}/why", response_model=WhyOut)
def why(request: Request, user: Somebody, app: Annotated[App, Query()], at: At = None) -> JSONResponse:
    """The reasons for an app's place, the strongest first."""
    return JSONResponse(answers.why(core(request), user, app, at))


@router.get("/{user}/history", response_model=HistoryOut)
def history(
    request: Request,
    user: Somebody,
    since: Annotated[Time | None, Query()] = None,
    until: Annotated[Time | None, Query()] = None,
    before: Annotated[Time | None, Query(description="the start of the last one that is known: the next page")] = None,
    limit: Annotated[int, Query(ge=1, le=2000)] = 100,
) -> JSONResponse:
    """Usages, the newest first."""
    ends = [end for end in (until, before) if end is not None]
    return JSONResponse(answers.history(core(request), user, since, min(ends, default=None), limit))


@router.get("/{user}/statistics", response_model=StatisticsOut)
def statistics(request: Request, user: Somebody) -> JSONResponse:
    """Apps, the week, today, what follows what, and how often the first guess was right."""
    return JSONResponse(answers.statistics(core(request), user))


@router.put("/{user}/apps/hidden", status_code=204)
async def hide(request: Request, user: Somebody, body: HiddenIn) -> None:
    """A hidden app is learned from, but not shown."""
    if not await asyncio.wrap_future(core(request).hide(user, body.app, body.hidden)):
        raise BadInput("app", "not seen yet", "name one that was opened")


@router.post("/{user}/apps/forget", status_code=204)
async def forget(request: Request, user: Somebody, body: AppIn) -> None:
    """The app's events leave the store, and its name every session."""
    await run_in_threadpool(request.app.state.feeding.forget, user, body.app)


@router.get("/{user}/live", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def live(request: Request, user: Somebody, k: Count = 5) -> StreamingResponse:
    """Server-sent events: `ranking` after every change, `import` when one ends; a comment while nothing happens."""
    server = core(request)
    watching = server.hub.watching(user)
    watcher = watching.__enter__()

    async def lines() -> AsyncIterator[str]:
        try:
            fresh = True
            while not server.hub.closed:
                told = await run_in_threadpool(_told, server, user, k) if fresh else ": still here\n\n"
                yield watcher.heard() + told
                await asyncio.sleep(CALM)
                fresh = await watcher.changed(SILENCE)
        finally:
            watching.__exit__(None, None, None)

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _told(server: Core, user: str, k: int) -> str:
    try:
        return message("ranking", answers.ranking(server, user, k))
    except BadInput as error:
        return message("problem", {"where": error.where, "why": error.why, "remedy": error.remedy})
