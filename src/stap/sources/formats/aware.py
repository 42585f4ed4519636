"""AWARE `applications_foreground`: a row whenever an app comes to the front, in UTC milliseconds; instants.

Columns may stand in any order and more may be there. The user is the device_id and the app its package. is_system_app
is not heeded: Chrome has it too.
"""

from __future__ import annotations

from stap.sources.reading.base import Head, Log, Options, Records
from stap.sources.reading.clock import Zone, epoch_utc, take_time
from stap.sources.reading.tables import read_columns, separator_of
from stap.sources.reading.text import clean

NAME = "aware"
NEEDED = ("timestamp", "device_id", "package_name")


def sniff(head: Head) -> float:
    return 1.0 if separator_of(head.first_line, NEEDED) else 0.0


def read(log: Log, options: Options) -> Records:
    log, zone = clean(log), Zone(options.zone)
    frame = read_columns(log, NEEDED, NEEDED, "export AWARE's applications_foreground with its header")
    frame = log.sieve.require(frame, "device_id", "package_name")
    frame = take_time(log.sieve, frame, "timestamp", zone.wall(epoch_utc("timestamp")))
    table = frame.select(user="device_id", app="package_name", start="timestamp", end="timestamp")
    return Records(table, (zone.note,), dataset=True)
