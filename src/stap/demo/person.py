"""The person behind the bundled log: invented, four weeks of one phone, drawn from habits a reader can check below.

`python -m stap.demo.person` writes src/stap/demo/phone.csv again, byte for byte.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import polars as pl

from stap.usage import SCHEMA, launches, save

LOG = Path(__file__).with_name("phone.csv")
FIRST_DAY = datetime(2025, 3, 3)  # a Monday
DAYS = 28

# What the phone is taken out for, by part of the day: app -> how often it starts a session then.
MORNING = {"Alarm clock": 6, "Weather": 5, "Chat": 8, "Mail": 4, "News": 6, "Transit": 5, "Podcasts": 3}
WORKDAY = {"Chat": 9, "Mail": 8, "Calendar": 4, "Browser": 6, "Notes": 2, "Phone": 2, "Authenticator": 2, "Bank": 1}
EVENING = {"Chat": 10, "Photo feed": 8, "Videos": 6, "Browser": 5, "Recipes": 2, "Shop": 2, "Music": 3, "Game": 3}
NIGHT = {"Photo feed": 6, "Videos": 5, "Chat": 4, "Reader": 4, "Alarm clock": 5}
WEEKEND = {
    "Chat": 9,
    "Maps": 4,
    "Camera": 5,
    "Photo feed": 7,
    "Music": 4,
    "Browser": 5,
    "Shop": 3,
    "Game": 4,
    "Phone": 2,
}
PARTS = ((6.5, 9.0, MORNING, 11), (9.0, 18.0, WORKDAY, 22), (18.0, 22.0, EVENING, 15), (22.0, 23.8, NIGHT, 5))

# Where one goes from an app, besides back: app -> followers.
FOLLOWS = {
    "Camera": {"Gallery": 5, "Chat": 4, "Photo feed": 2},
    "Gallery": {"Chat": 5, "Photo feed": 3},
    "Chat": {"Photo feed": 3, "Browser": 2, "Gallery": 1, "Maps": 1, "Videos": 1},
    "Mail": {"Calendar": 3, "Browser": 3, "Chat": 2, "Files": 1},
    "Bank": {"Authenticator": 6, "Shop": 1},
    "Authenticator": {"Bank": 4, "Browser": 2, "Mail": 1},
    "Shop": {"Bank": 3, "Browser": 3},
    "Transit": {"Maps": 3, "Podcasts": 4, "News": 2},
    "Alarm clock": {"Weather": 4, "Chat": 4, "News": 2},
    "Weather": {"Chat": 3, "News": 3, "Transit": 3},
    "Browser": {"Chat": 3, "Notes": 1, "Shop": 1, "Videos": 1},
    "Photo feed": {"Chat": 4, "Videos": 3, "Browser": 1},
    "Videos": {"Chat": 4, "Photo feed": 3},
}
MINUTES = {"Videos": 9.0, "Game": 8.0, "Reader": 12.0, "Photo feed": 4.0, "Podcasts": 2.0, "Maps": 3.0, "News": 4.0}
RARE = ("Calculator", "Settings", "Torch", "Translator", "Health", "Tickets", "Parking", "App store", "Voice recorder")
NEW_INSTALL = (17, "Language course")  # from this day on it takes hold
BACK = 0.3  # how often the phone is taken out for the app that was in front


def write_log(path: Path = LOG) -> None:
    """The whole log as a plain CSV usage table."""
    rng = Random(20250303)
    rows = [row for day in range(DAYS) for row in _day(rng, day)]
    frame = pl.DataFrame(rows, schema=["app", "start", "end"], orient="row")
    save(launches(frame.select(pl.lit("me").alias("user"), "app", "start", "end")).select(list(SCHEMA)), path)


def _day(rng: Random, day: int) -> list[tuple[str, datetime, datetime]]:
    rows: list[tuple[str, datetime, datetime]] = []
    for begin, finish, habit, sessions in PARTS:
        if day % 7 >= 5 and habit is WORKDAY:
            habit = WEEKEND
        for hour in sorted(rng.uniform(begin, finish) for _ in range(round(rng.gauss(sessions, 2)))):
            now = FIRST_DAY + timedelta(days=day, seconds=round(hour * 3600))
            if not rows or now > rows[-1][2]:
                back = rows[-1][0] if rows and rng.random() < BACK else None
                rows += _session(rng, day, habit, now, back)
    return rows


def _session(
    rng: Random, day: int, habit: dict[str, int], now: datetime, back: str | None
) -> list[tuple[str, datetime, datetime]]:
    """The app that was in front, or one by the part of the day; then back and forth or on to a follower, until the
    phone goes away.
    """
    rows: list[tuple[str, datetime, datetime]] = []
    app, before = back or _pick(rng, habit), None
    if day >= NEW_INSTALL[0] and rng.random() < 0.06:
        app = NEW_INSTALL[1]
    while True:
        seconds = max(2.0, rng.lognormvariate(0.0, 0.9) * 45 * MINUTES.get(app, 1.0))
        end = now + timedelta(seconds=round(seconds))
        rows.append((app, now, end))
        if rng.random() < 0.36:
            return rows
        now = end + timedelta(seconds=rng.randint(1, 6))
        if before is not None and rng.random() < 0.5:
            app, before = before, app
        elif rng.random() < 0.03:
            app, before = rng.choice(RARE), app
        else:
            app, before = _pick(rng, FOLLOWS.get(app, habit)), app


def _pick(rng: Random, weights: dict[str, int]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


if __name__ == "__main__":
    write_log()
