"""A phone on a cable or in the network: asks `adb shell dumpsys usagestats` again and again.

A dump holds the last day and more, so what happened while the phone was away comes with the next one. Its times are the
phone's wall clock in the zone that the phone is in now, for old events too.
"""

from __future__ import annotations

import subprocess
from shutil import which
from tempfile import TemporaryFile
from threading import Event
from zoneinfo import ZoneInfo

from stap.errors import BadInput
from stap.serve.feeds.base import Outbox, Polled, user_named, zone_now
from stap.serve.feeds.following import Followed
from stap.serve.feeds.marks import Marks
from stap.serve.feeds.saying import Clock, told
from stap.sources import Options, read_piece

EVERY = 15.0  # seconds
PATIENCE = 60.0  # seconds that a dump may take
LARGEST = 64 << 20  # bytes of a dump
DUMP = ("dumpsys", "usagestats")
ZONE = ("getprop", "persist.sys.timezone")


class Phone(Polled):
    def __init__(
        self, user: str, marks: Marks, serial: str | None = None, zone: str | None = None, every: float = EVERY
    ) -> None:
        super().__init__("adb", every, marks)
        adb = which("adb")
        if adb is None:
            raise BadInput("--feed adb", "no adb on this machine", "install Android's platform tools")
        if serial is not None and serial.startswith("-"):
            raise BadInput(f"--feed adb:{serial}", "no serial number of a phone", "`adb devices` lists them")
        self._adb = [adb, *(["-s", serial] if serial else []), "shell"]
        self._user, self._zone, self._followed = user, zone, Followed(marks)
        zone_now(zone)

    def look(self, out: Outbox, stop: Event) -> None:
        zone = self._phone_zone()
        clock, now = Clock(zone, zone), self.now()
        options = Options(zone=zone.key, skip_bad_rows=True, until=clock.shows(now))
        read = read_piece(self._ask(DUMP), self._user, "dumpsys", options)
        for each in told(read, clock, now):
            user = user_named(each.user)
            self._followed.tell(out, user, each._replace(user=user), now)

    def _phone_zone(self) -> ZoneInfo:
        """The zone asked for, else the phone's, else this machine's."""
        if self._zone is None:
            said = self._ask(ZONE)[:100].decode("ascii", "replace").strip()
            try:
                return ZoneInfo(said)
            except (ValueError, OSError, LookupError):
                pass
        return zone_now(self._zone)

    def _ask(self, question: tuple[str, ...]) -> bytes:
        with TemporaryFile() as answer, TemporaryFile() as complaint:
            command = [*self._adb, *question]
            try:
                done = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=answer, stderr=complaint, timeout=PATIENCE, check=False
                )
            except subprocess.TimeoutExpired:
                raise BadInput("adb", f"no answer within {PATIENCE:g} s", "look at the phone") from None
            answer.seek(0)
            complaint.seek(0)
            found, why = answer.read(LARGEST + 1), complaint.read(200).decode("utf-8", "replace").strip()
        if done.returncode:
            raise BadInput("adb", why.partition("\n")[0] or f"exit code {done.returncode}", "look at `adb devices`")
        if len(found) > LARGEST:
            raise BadInput("adb", f"a dump of more than {LARGEST >> 20} MB", "import it with stap import instead")
        return found
