"""Small logs of every format, made by hand, and what they come to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from stap.sources import Imported, Options, read
from stap.usage import SCHEMA

PLAIN = (
    "user,app,start,end\n"
    "u,Mail,2024-05-01 08:00:00,2024-05-01 08:01:00\n"
    "u,Mail,2024-05-01 08:01:30,2024-05-01 08:02:00\n"
    "u,Chat,2024-05-01 08:03:00,2024-05-01 08:04:00\n"
)
LSAPP = (
    "user_id\tsession_id\ttimestamp\tapp_name\tevent_type\n"
    "7\t1\t2018-01-16 06:01:05\tChess\tOpened\n"
    "7\t1\t2018-01-16 06:01:09\tChess\tUser Interaction\n"
    "7\t1\t2018-01-16 06:02:20\tMail\tOpened\n"
    "7\t2\t2018-01-16 09:00:00\tMail\tOpened\n"
    "8\t3\t2018-01-16 07:00:00\tMail\tBroken\n"
)
TSINGHUA = "4 20160420080933 4093 2 7674\n4 20160420080940 4093 2 12\n4 20160420081000 4093 9 1\n"
SESSIONS = (
    "user,start,end,seconds,app,is_launcher\n"
    "1_F,2013-11-29 07:00:00,2013-11-29 07:01:00,60,com.a,0\n"
    "1_F,2013-11-29 07:01:00,2013-11-29 07:01:10,10,com.miui.home,1\n"
    "1_F,2013-11-29 07:02:00,2013-11-29 07:03:00,60,com.a,0\n"
    "1_F,2013-11-29 07:03:00,2013-11-29 07:04:00,60,com.android.packageinstaller,0\n"
)
DAILY = (
    '{"Application":{"ProcessName":"com.a:remote","Start":"11-22-2013 10:00:00","End":"11-22-2013 10:05:00"}}\n'
    '{"WiFi":{"SSID":"x"}}\n'
    '{"Application":{"ProcessName":"com.lge.launcher2","Start":"11-22-2013 10:05:00","End":"11-22-2013 10:05:10"}}\n'
    '{"Application":{"ProcessName":"com.b","Start":"۱۱-۲۲-۲۰۱۳ ۱۰:۰۶:۰۰","End":"۱۱-۲۲-۲۰۱۳ ۱۰:۰۷:۰۰"}}\n'
)
APP_USAGE = (
    '"App name","Date","Time","Duration"\n'
    '"Chess","1/13/24","9:00:05 PM","0:00:10"\n'
    '"Notification posted (Mail)","1/13/24","9:00:00 PM","0:00:00"\n'
    '"Mail","1/13/24","8:59:00 PM","0:00:30"\n'
    '"Screen on (unlocked)","1/13/24","8:58:59 PM","0:00:01"\n'
    '"Chess","1/12/24","12:10:00 AM","0:01:00"\n'
    '""\n'
    '"Created by App Usage on Saturday, January 13, 2024"\n'
)
DUMPSYS = (
    "user=0 \n"
    '  Eventos de las últimas 24 horas (timeRange="3/5/2026, 6:30 p. m." )\n'
    '    time="2026-05-03 19:18:20" type=ACTIVITY_RESUMED package=com.a class=com.a.Main instanceId=1 flags=0x0 \n'
    '    time="2026-05-03 19:18:25" type=ACTIVITY_RESUMED package=com.b class=com.b.Main instanceId=2 flags=0x0 \n'
    '    time="2026-05-03 19:18:26" type=ACTIVITY_STOPPED package=com.a class=com.a.Main instanceId=1 flags=0x0 \n'
    '    time="2026-05-03 19:18:40" type=SCREEN_NON_INTERACTIVE package=android flags=0x0 \n'
    '    time="2026-05-03 19:20:00" type=ACTIVITY_RESUMED package=com.miui.home class=x instanceId=3 flags=0x0 \n'
    '    time="2026-05-03 19:20:10" type=ACTIVITY_PAUSED package=com.miui.home class=x instanceId=3 flags=0x0 \n'
    '    time="2026-05-03 19:20:10" type=ACTIVITY_RESUMED package=com.a class=com.a.Main instanceId=4 flags=0x0 \n'
    '    time="2026-05-03 19:20:30" type=ACTIVITY_PAUSED package=com.a class=com.a.Main instanceId=4 flags=0x0 \n'
    "  In-memory daily stats\n"
    '    package=com.a totalTimeUsed="00:25" lastTimeUsed="2026-05-03 19:20:30"\n'
    '    time="2026-05-03 19:18:20" type=ACTIVITY_RESUMED package=com.a class=com.a.Main instanceId=1 flags=0x0 \n'
)
ACTIVITYWATCH = """{"buckets": {"aw-watcher-window_pc": {"id": "aw-watcher-window_pc", "type": "currentwindow",
 "hostname": "pc", "events": [
  {"timestamp": "2024-07-01T10:05:00.000000+00:00", "duration": 60.5, "data": {"app": "Editor", "title": ""}},
  {"timestamp": "2024-07-01T12:00:00.123456789+02:00", "duration": 30, "data": {"app": "Browser", "title": ""}}
 ]}}}"""
AWARE = (
    '"package_name","timestamp","device_id","is_system_app"\n'
    '"com.android.chrome",1583481040385,"d1",1\n'
    '"com.android.systemui",1583481041385,"d1",1\n'
    '"com.tinder",1583481042385.0,"d1",0\n'
)
SERVED = (
    '{"user": "me", "version": "0.1.0", "at": "2026-03-02T20:00:00+01:00"}\n'
    '{"hidden": "Diary"}\n'
    '{"id": "e1", "kind": "opened", "app": "Mail", "at": "2026-03-02T08:00:00+01:00"}\n'
    '{"id": "e2", "kind": "closed", "app": "Mail", "at": "2026-03-02T08:02:00.500000+01:00"}\n'
    '{"id": "e5", "kind": "opened", "app": "Maps", "at": "2026-03-02T09:30:00+01:00"}\n'
    '{"id": "e3", "kind": "opened", "app": "Chat", "at": "2026-03-02T08:10:00+01:00"}\n'
    '{"id": "e4", "kind": "notified", "app": "Mail", "at": "2026-03-02T08:15:00+01:00"}\n'
)
EVERY = {
    "plain": PLAIN,
    "lsapp": LSAPP,
    "tsinghua": TSINGHUA,
    "ubiqlog": SESSIONS,
    "app-usage": APP_USAGE,
    "dumpsys": DUMPSYS,
    "activitywatch": ACTIVITYWATCH,
    "aware": AWARE,
    "serve": SERVED,
}


def write(folder: Path, text: str | bytes, name: str = "log.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(path: Path, **options: object) -> Imported:
    return read([path], Options(**options))  # type: ignore[arg-type]


def short(imported: Imported) -> list[tuple[str, str, str, str]]:
    """Usages with times to the second."""
    rows = imported.table.select(list(SCHEMA)).iter_rows()
    return [(user, app, _time(start), _time(end)) for user, app, start, end in rows]


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
