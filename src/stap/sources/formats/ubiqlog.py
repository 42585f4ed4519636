"""UbiqLog: the original daily files, a CSV of their raw process records, or the cleaned CSV of app sessions.

The cleaned CSV (user, start, end, seconds, app, is_launcher) has been judged by its maker: launchers are the rows that
say so, and nothing else is taken out.

The daily files are JSON lines of several sensors; only {"Application": {ProcessName, Start, End}} counts. Dates are
month-day-year, in Persian digits on some phones. The user is the folder the files lie in. The logger polled the
running processes every 10 seconds and wrote each again every 5 minutes, so records of different processes overlap and
most are no app in front. Cleaning: a process "app:remote" is its app, other "app:service" processes are background;
services, providers, widgets, keyboards and the like are dropped by name. A record without a process or a time, which
the logger wrote now and then, is no record. Home screens lie between apps; locks are not told from background.
"""

from __future__ import annotations

import json
import re

import polars as pl

from stap.errors import BadInput
from stap.sources.reading.base import Head, Log, Options, Records, bare_name
from stap.sources.reading.clock import ascii_digits, parse, take_spans
from stap.sources.reading.rows import ROW
from stap.sources.reading.system import LONGEST, Kind, set_aside, system_kind
from stap.sources.reading.tables import read_header, read_lines, read_table, split
from stap.sources.reading.text import clean, is_text
from stap.usage import BETWEEN

NAME = "ubiqlog"
SESSIONS = ["user", "start", "end", "seconds", "app", "is_launcher"]
RAW = ["user", "file", "process", "start", "end"]
DAILY = {"ProcessName": "process", "Start": "start", "End": "end"}  # what a daily file calls them
NOTHING = (None,) * len(DAILY)
LAYOUT = "%m-%d-%Y %H:%M:%S"
SENSORS = re.compile(
    r'\s*\{\s*"(Application|Call|SMS|Location|WiFi|Bluetooth|Activity|HardwareSensor|Sensor|RawAudio|Pedometer)"\s*:'
)
BACKGROUND = re.compile(
    r"""
    .*\.(\w*service\w*|\w*provider\w*|providers\..*|provider\..*|\w*widget\w*|\w*wallpaper\w*|inputmethod|server|push)
    | .*(widgetapp|appwidget|livewallpaper|daemonapp|\.advancedwidget|\.rosiewidgets|sizechangable|inputmethod).*
    | .*(keyguard|lockscreen|systemserver|keepscreenon|sysscope|thermalmanager|sysmon|fota|omadm|syncml|bootinfo).*
    | .*\.(bluetooth|bt|nfc|knox|avrcp|atci|gms|rcs|drm|daemon)(\..*)?
    | com\.google\.(process|android\.gms|android\.gsf|android\.syncadapters|android\.tts)(\..*)?
    | com\.google\.android\.(partnersetup|setupwizard|feedback|backup) | com\.android\.(systemui|nfc|phone|providers.*)
    | com\.android\.(htcdialer|server.*|exchange|bluetooth|smspush|stk|MtpApplication)
    | com\.sec\.(spp|knox|msc|pcw|smartcard)(\..*)?
    | com\.sec\.android\.(sCloud\w*|cloudagent|fotaclient|service)(\..*)?
    | com\.sec\.android\.app\.(twdvfs|sysscope|FlashBarService|snotebook) | com\.sec\.android\.pagebuddynotisvc
    | com\.samsung\.(android\.provider.*|scrc.*|klmsagent) | com\.lge\.(systemserver|keepscreenon|atservice|ime|sync)
    | com\.(sonyericsson|sonymobile)\.(customization|r2r|devicemonitor|smartcard|psm|illumination|provider)(\..*)?
    | com\.(qualcomm|redbend|wssyncmldm|fmm\.dm|visionobjects|broadcom|ti\.bluetooth)(\..*)?
    | com\.motorola\.(process|modemservice|motocare|context)(\..*)? | com\.htc\.(lockscreen|reportagent|bgp?|cs|flexnet)
    | com\.lmi\.vodafone\.rescue | org\.simalliance\..* | jp\.naver\.android\.npush | system | android
    """,
    re.VERBOSE | re.IGNORECASE,
)


def sniff(head: Head) -> float:
    if split(head.first_line, ",") in (SESSIONS, RAW):
        return 1.0
    return 0.95 if any(SENSORS.match(line) for line in head.lines) else 0.0


def read(log: Log, options: Options) -> Records:
    log = clean(log)
    if log.head().text.lstrip().startswith("{"):
        read = _processes(log, _daily(log), options)
    else:
        names, row = read_header(log, ",")
        if names == SESSIONS:
            read = _sessions(log, row, options)
        elif names == RAW:
            read = _processes(log, log.sieve.require(read_table(log, ",", RAW, skip=row), "user"), options)
        else:
            raise BadInput(log.name, "not the columns of UbiqLog", f"they are {', '.join(SESSIONS)} (cleaned)", row)
    table, dropped = read
    return Records(table, judged=True, dropped=dropped, dataset=True)


def _sessions(log: Log, header: int, options: Options) -> tuple[pl.DataFrame, int]:
    """All records, those of launchers between; and how many these are."""
    frame = log.sieve.require(read_table(log, ",", SESSIONS, skip=header), "user", "app")
    frame = take_spans(log.sieve, frame, **{name: parse(name, "%Y-%m-%d %H:%M:%S") for name in ("start", "end")})
    frame = log.sieve.reject(frame, ~pl.col("is_launcher").is_in(["0", "1"]), "is_launcher is neither 0 nor 1")
    if options.keep_system:
        return frame, 0
    launcher = pl.col("is_launcher") == "1"
    between = pl.when(launcher).then(pl.lit("home", BETWEEN)).alias("between")
    return frame.with_columns(between), frame.select(launcher.sum()).item()


def _daily(log: Log) -> pl.DataFrame:
    """One day's lines: the app records, with the columns of RAW that matter."""
    frame = read_lines(log).filter(pl.col("line").str.contains('"Application"', literal=True))
    records = [_record(line) for line in frame["line"]]
    broken = pl.Series([record is None for record in records], dtype=pl.Boolean)
    fields = pl.DataFrame(
        [record or NOTHING for record in records], dict.fromkeys(DAILY.values(), pl.String), orient="row"
    )
    user = pl.lit(bare_name(log.origin.parent) or log.stem).alias("user")
    frame = log.sieve.reject(frame.hstack(fields), pl.lit(broken), "a broken line:", show="line")
    return frame.select(ROW, user, *DAILY.values())


def _record(line: str) -> tuple[str | None, ...] | None:
    """A line's texts if it is one flat record of them; a phone that ran empty left half lines behind."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    app = record.get("Application") if isinstance(record, dict) else None
    if not isinstance(app, dict) or not all(value is None or is_text(value) for value in app.values()):
        return None
    return tuple(app.get(name) for name in DAILY)


def _processes(log: Log, frame: pl.DataFrame, options: Options) -> tuple[pl.DataFrame, int]:
    """The records of apps in front and of home screens, and how many others there are."""
    frame = log.sieve.bounded(frame.drop_nulls(["process", "start", "end"]), "process")
    frame = frame.with_columns(ascii_digits("start"), ascii_digits("end"))
    frame = take_spans(log.sieve, frame, **{name: parse(name, LAYOUT) for name in ("start", "end")})
    frame = frame.with_columns(app=pl.col("process").str.strip_suffix(":remote"))
    return (frame, 0) if options.keep_system else set_aside(frame, _background)


def _background(app: str) -> Kind | None:
    """Home screens are seen when nothing is over them; whatever else is no app may run at any time."""
    kind = system_kind(app)
    if kind == "home":
        return kind
    return "other" if kind or ":" in app or (len(app) <= LONGEST and BACKGROUND.fullmatch(app)) else None
