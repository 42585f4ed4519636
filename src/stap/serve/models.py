"""What comes in over HTTP and what goes out: every text and number with its bounds, as OpenAPI tells."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

MOST_EVENTS = 1000  # of one request
MOST_NAMED = 1000  # apps in one question
FIRST, LAST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)  # what a clock may be fast by
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+\Z")  # no control character, no half of a pair


def _printable(text: str) -> str:
    if not PRINTABLE.match(text):
        raise ValueError("it has control characters")
    return text


def _of_our_time(when: datetime) -> datetime:
    if not FIRST <= when <= LAST:
        raise ValueError(f"it lies outside the years {FIRST.year} to {LAST.year}")
    return when


Text = Annotated[str, AfterValidator(_printable)]
User = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$", description="one person or device")]
App = Annotated[Text, Field(min_length=1, max_length=256, description="the app's name, whatever it is")]
Time = Annotated[
    AwareDatetime,
    Field(description="ISO 8601 with an offset, which gives the local hour", examples=["2026-03-03T08:00:00+01:00"]),
    AfterValidator(_of_our_time),
]
Kind = Literal["opened", "closed", "notified"]
KINDS: tuple[Kind, ...] = ("closed", "opened", "notified")  # places are what the store holds


class Strict(BaseModel):
    """What comes in has these fields and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EventIn(Strict):
    """An app was opened, closed, or asked to be opened. The same id again is the same event, and changes nothing."""

    id: Annotated[Text, Field(min_length=1, max_length=64, description="chosen by the client")]
    kind: Kind
    app: App
    at: Time


class EventsIn(Strict):
    events: Annotated[list[EventIn], Field(min_length=1, max_length=MOST_EVENTS)]


class HiddenIn(Strict):
    app: App
    hidden: bool


class AppIn(Strict):
    app: App


class Taken(BaseModel):
    """What became of the events of a request: new ones, and those that were there already."""

    accepted: int
    known: int
    ranking: list[RankedApp] | None = None  # where the request asked for it


class RankedApp(BaseModel):
    app: str
    probability: float
    reasons: list[str] = []


class RankingOut(BaseModel):
    at: str
    ranking: list[RankedApp]
    unseen: float
    events: int
    row: list[str] | None = None


class WhyOut(BaseModel):
    app: str
    reasons: list[dict[str, Any]]


class UsageOut(BaseModel):
    app: str
    start: str
    end: str | None  # None: in front still, or nobody saw it go


class HistoryOut(BaseModel):
    usages: list[UsageOut]
    more: bool


class UserOut(BaseModel):
    user: str
    events: int
    apps: int
    first: str | None
    last: str | None


class UsersOut(BaseModel):
    users: list[UserOut]


class AppOut(BaseModel):
    app: str
    usages: int
    minutes: float
    hidden: bool


class FollowOut(BaseModel):
    before: Annotated[str, Field(alias="from")]
    to: str
    count: int


class DayOut(BaseModel):
    """Of how many launches the app was among the first guesses, by predictor: shares from 0 to 1."""

    day: str
    n: int
    stap: float
    again: float
    blend: float


class StatisticsOut(BaseModel):
    apps: list[AppOut]
    week: list[list[int]]  # 7 days from Monday, of 24 hours
    today: list[UsageOut]
    follow: list[FollowOut]
    hits: list[DayOut]
    hits3: list[DayOut]
    hits5: list[DayOut]


class HealthOut(BaseModel):
    status: str


class LatencyOut(BaseModel):
    p50: float
    p99: float


class FeedOut(BaseModel):
    name: str
    state: str
    last: str | None


class StatusOut(BaseModel):
    version: str
    model: str
    adapted: dict[str, Any] | None
    latency_ms: LatencyOut
    memory_mb: float
    users: int
    feeds: list[FeedOut]
    replaying: bool
    folder: str
    uptime_s: float


class Problem(BaseModel):
    """What was wrong, and what to do about it."""

    where: str
    why: str
    remedy: str


class ProblemOut(BaseModel):
    error: Problem


class BegunOut(BaseModel):
    number: Annotated[str, Field(alias="import")]


class ImportOut(BaseModel):
    state: Literal["reading", "learning", "done", "failed"]
    share: float
    events: int
    error: Problem | None
    notes: list[str]
    stranger: bool  # it failed for it is no log at all


def micros(when: datetime) -> int:
    """Since 1970, to the microsecond, without a float between."""
    return (when - EPOCH) // timedelta(microseconds=1)


def clock(at: int, offset: int) -> datetime:
    """The same moment as the person's clock showed it."""
    return (EPOCH + timedelta(microseconds=at)).astimezone(timezone(timedelta(seconds=offset)))


def offset_of(when: datetime) -> int:
    """Seconds east of Greenwich."""
    return round((when.utcoffset() or timedelta()).total_seconds())


def local_now() -> datetime:
    """On this machine's clock, with its offset."""
    return datetime.now().astimezone()


class AdaptationOut(BaseModel):
    """A model of one person's own. Before and after are first guesses that were right, in percent of the tail."""

    on: bool  # whether it is tried by itself
    adapted: bool
    tried: bool
    declined: bool  # the person went back
    before: float | None
    after: float | None
    tail: int | None  # launches that it had not seen
