"""Small made-up streams for the predictors' tests."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from stap.events import Event
from stap.predictors import Predictor


def usages(apps: Iterable[str], start: float = 0.0, length: float = 1.0, gap: float = 1.0) -> list[Event]:
    """An open and a close for every app, `length` minutes apart, `gap` minutes between usages."""
    events, now = [], start
    for app in apps:
        events += [at(app, 1, now), at(app, 0, now + length)]
        now += length + gap
    return events


def at(app: str, action: int, minutes: float) -> Event:
    return Event(app, action, minutes, minutes % 1440.0 / 60.0)


def fed(predictor: Predictor, events: Iterable[Event]) -> Predictor:
    for event in events:
        predictor.observe(event)
    return predictor


@st.composite
def any_events(draw: st.DrawFn) -> list[Event]:
    """Anything a careless caller may send: repeated opens, closes out of the blue, a clock that jumps back."""
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0, 1, 1]), st.floats(-600.0, 3000.0)), max_size=60
        )
    )
    events, now = [], 23_000_000.0
    for app, action, elapsed in steps:
        now += elapsed
        events.append(at(app, action, now))
    return events


def merged_apps(most: int = 50) -> st.SearchStrategy[str]:
    """App sequences in which neighbours differ."""
    return st.text("abcdef", max_size=most).map(
        lambda text: "".join(a for i, a in enumerate(text) if text[i - 1 : i] != a)
    )
