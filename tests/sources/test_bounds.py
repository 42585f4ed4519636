"""What an import may take: memory, disk and time, whatever comes from outside. Bombs of every kind, each in a process.

Peak memory is at most 20 times the unpacked input or 512 MB, scratch at most twice the input or 1 GB.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from sources.made import ACTIVITYWATCH, DAILY, EVERY, LSAPP, PLAIN, load, write
from stap.errors import BadInput
from stap.sources import Options, read
from stap.sources.formats import dumpsys
from stap.sources.reading import opening, scratch
from stap.sources.reading.base import Head
from stap.sources.reading.system import system_kind

MB = 1 << 20
WATCHED = """
import json, resource, sys, time
from stap.errors import BadInput
from stap.sources import Options, read
from stap.sources.reading import scratch
most, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write = scratch.Spool.write
def watched(self, data):
    global most
    write(self, data)
    lies = sum(path.stat().st_size for path in self._scratch.folder.iterdir())
    most = max(most, lies, self._scratch.used + self.tell())
scratch.Spool.write = watched
begin = time.process_time()
try:
    said = f"{read(sys.argv[1:2], Options(zone='UTC', skip_bad_rows=sys.argv[2] == 'True')).records} records"
except BadInput as error:
    said = str(error)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak = max(peak - before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)  # of the process that decodes
print(json.dumps([said, peak * 1024, most, time.process_time() - begin]))
"""


def tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


def many(rows: int, app: str = "Mail") -> bytes:
    times = pl.repeat(1_714_550_400_000_000, rows, dtype=pl.Int64, eager=True).cast(pl.Datetime("us"))
    return parquet(user=pl.repeat("u", rows, eager=True), app=pl.repeat(app, rows, eager=True), start=times, end=times)


def wide(rows: int, app: bool = True) -> bytes:
    """Names of 4,000 letters, all different, each of which shrinks to a few bytes."""
    names = pl.select(pl.int_range(rows).cast(pl.String).str.zfill(9) + "x" * 4000).to_series()
    times = (pl.int_range(rows, eager=True) * 60_000_000 + 1_714_550_400_000_000).cast(pl.Datetime("us"))
    short = pl.repeat("u", rows, eager=True)
    return parquet(user=short if app else names, app=names if app else short, start=times, end=times)


def categories(rows: int) -> bytes:
    times = (pl.int_range(rows, eager=True) * 60_000_000 + 1_714_550_400_000_000).cast(pl.Datetime("us"))
    return parquet(
        app=pl.Series(["x" * 4000, "y" * 4000], dtype=pl.Categorical).gather([0, 1] * (rows // 2)), start=times
    )


EVENTS = '{"buckets":{"b":{"type":"currentwindow","events":['
BOMBS: dict[str, tuple[Callable[[], bytes], int, str]] = {  # what it is, its size unpacked, what is said of it
    "blank lines": (lambda: gzip.compress(PLAIN.encode() + b"\n" * 63 * MB), 63 * MB, "far too short for records"),
    "blank lines of a dumpsys": (lambda: gzip.compress(EVERY["dumpsys"].encode() + b"\n" * 63 * MB), 63 * MB, "short"),
    "lines of commas": (lambda: gzip.compress(PLAIN.encode() + b",,,\n" * 15 * MB), 60 * MB, "far too short"),
    "a row of commas": (lambda: PLAIN.encode() + b"," * 1_000_000 + b"\n", MB, "1000001 fields where 4 are expected"),
    "a row of commas first": (
        lambda: b"user,app,start,end\n" + b"," * 1_000_000 + b"\n" + PLAIN.encode().partition(b"\n")[2],
        MB, "1000001 fields where 4 are expected",
    ),
    "a header of commas": (lambda: b"app,start" + b"," * 1_000_000 + b"\nMail,2024-05-01 08:00\n", MB, "1,000,002"),
    "a row of quotes": (lambda: PLAIN.encode() + b'"' * 1_000_000 + b"\n", MB, "row 5: no app in it"),
    "quotes and commas": (lambda: PLAIN.encode() + b'"' * 1_000_000 + b",,,,\n", MB, "row 5: cannot be split"),
    "empty objects": (lambda: (EVENTS + "{}," * 20 * MB + "{}]}}}").encode(), 60 * MB, "far more parts"),
    "empty lists": (lambda: (EVENTS + "[]," * 20 * MB + "[]]}}}").encode(), 60 * MB, "far more parts"),
    "small objects": (lambda: (EVENTS + '{"":0},' * 9 * MB + "{}]}}}").encode(), 63 * MB, "far more parts"),
    "bare numbers": (lambda: (EVENTS + "0," * 30 * MB + "0]}}}").encode(), 60 * MB, "far more parts"),
    "a nest": (lambda: (EVENTS + "[" * 60 * MB).encode(), 60 * MB, "far more parts"),
    "wide letters": (lambda: (EVENTS + '"' + "a" * 60 * MB + "😀" + '"]}}}').encode(), 60 * MB, "without package"),
    "a tar of gzips": (
        lambda: tar(dict.fromkeys(map(str, range(40)), gzip.compress(PLAIN.encode() + b"u" * 60 * MB))), 2400 * MB,
        "a line of more than 1024 KB",
    ),
    "a gzip of gzips": (lambda: nested(40), MB, "packed more than 8 times over"),
    "a Parquet of one value": (lambda: many(20_000_000), 0, "20,000,000 rows in so small a file"),
    "a Parquet of one text": (lambda: parquet(app=["x" * (900 * MB), "y"], start=["", ""]), 0, "more than 400 MB"),
    "a Parquet of long names": (lambda: wide(300_000), 0, "more than 400 MB"),
    "a Parquet of long users": (lambda: wide(300_000, app=False), 0, "more than 400 MB"),
    "a Parquet of two long names": (lambda: categories(1_000_000), 0, "more than 400 MB"),
}  # fmt: skip


def nested(times: int) -> bytes:
    data = PLAIN.encode()
    for _ in range(times):
        data = gzip.compress(data)
    return data


def watched(path: Path, skip: bool) -> tuple[str, int, int, float]:
    command = [sys.executable, "-c", WATCHED, str(path), str(skip)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    said, memory, disk, seconds = json.loads(done.stdout)
    return said, memory, disk, seconds


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_and_gets_one_line(name: str, tmp_path: Path) -> None:
    made, unpacked, words = BOMBS[name]
    path = write(tmp_path, made(), "log")
    for skip in (False, True):
        said, memory, disk, seconds = watched(path, skip)
        assert words in said or (skip and any(end in said for end in (" records", "no app usage", "bomb"))), said
        assert "\n" not in said
        assert memory <= max(512 * MB, 20 * unpacked), f"{memory >> 20} MB"
        assert disk <= max(1024 * MB, 2 * path.stat().st_size)
        assert seconds < 20


@pytest.mark.slow
def test_an_honest_log_stays_within_the_bounds_too(tmp_path: Path) -> None:
    """LSApp's rows, half a million of them, packed: the pieces are read one after the other."""
    clock = "{:02d}:{:02d}:{:02d}"
    body = LSAPP + "".join(
        f"{n % 200}\t{n}\t2018-01-01 {clock.format(n // 90_000, n // 1500 % 60, n // 25 % 60)}\ta{n % 87}\tOpened\n"
        for n in range(500_000)
    )
    path = write(tmp_path, gzip.compress(tar({f"part{n}.tsv": body.encode() for n in range(3)})), "lsapp.tar.gz")
    said, memory, disk, _ = watched(path, False)
    assert said.endswith(" records")
    assert memory <= 20 * 3 * len(body)
    assert disk <= 4 * len(body) + 4 * MB, "the archive and one piece of it"


def test_pieces_of_an_archive_are_gone_once_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, write_piece = set[int](), scratch.Spool.write

    def looked_at(self: scratch.Spool, data: bytes) -> None:
        write_piece(self, data)
        files.add(len(os.listdir(self.path.parent)))

    monkeypatch.setattr(scratch, "ROOM", 8 * len(PLAIN))
    monkeypatch.setattr(scratch.Spool, "write", looked_at)
    members = {f"{n}.csv": PLAIN.replace("u,", f"u{n},").encode() for n in range(50)}
    assert load(write(tmp_path, tar(members), "all.tar")).records == 150
    assert files == {1}


def test_what_unpacks_beyond_the_budget_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "ROOM", 1 << 16)
    path = write(tmp_path, gzip.compress(PLAIN.encode() * 2000), "log.gz")
    with pytest.raises(BadInput, match=r"log.gz: unpacks to more than 0 MB; if you trust it, unpack it yourself"):
        load(path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode() * 2000)))
    with pytest.raises(BadInput, match="row 5: not a possible time"):  # a stream is input itself, and may be spooled
        read(["-"])


def test_pieces_that_only_together_unpack_to_far_too_much_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "ROOM", 1 << 18)
    monkeypatch.setattr(opening, "MAX_RATIO", 10)
    header, _, rows = PLAIN.encode().partition(b"\n")
    piece = gzip.compress(header + b"\n" + rows * 500)
    path = write(tmp_path, tar({f"{n}.csv": piece for n in range(20)}), "all.tar")
    refuse(path, "shrinks like a decompression bomb")


def test_no_room_to_unpack_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = write(tmp_path, gzip.compress(PLAIN.encode()), "log.gz")
    monkeypatch.setattr(scratch.Spool, "write", full)
    with pytest.raises(BadInput, match=r"log.gz: cannot be unpacked in .* \(No space left on device\); make room"):
        load(path)


def test_an_import_leaves_others_some_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "RESERVE", 1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1999))
    with pytest.raises(BadInput, match="No space left on device: fewer than 0 MB are free"):
        load(write(tmp_path, gzip.compress(PLAIN.encode() * 100), "log.gz"))


def refuse(path: Path, words: str) -> None:
    for skip in (False, True):
        with pytest.raises(BadInput) as error:
            load(path, zone="UTC", skip_bad_rows=skip)
        assert words in str(error.value)
        assert "\n" not in str(error.value)


def edited(place: int, field: bytes) -> bytes:
    """A tar whose only header has other bytes somewhere, with its checksum mended."""
    data = bytearray(tar({"log.csv": PLAIN.encode()}))
    data[place : place + len(field)] = field
    data[148:156] = b" " * 8
    data[148:156] = f"{sum(data[:512]):06o}\0 ".encode()
    return bytes(data)


@pytest.mark.parametrize("kind", [b"0", b"5", b"x", b"L", b"g", b"K"], ids=str)
def test_a_size_below_0_in_a_tar(tmp_path: Path, kind: bytes) -> None:
    data = bytearray(edited(124, b"\xff" * 12))
    data[156:157] = kind
    data[148:156] = b" " * 8
    data[148:156] = f"{sum(data[:512]):06o}\0 ".encode()
    refuse(write(tmp_path, bytes(data), "x.tar"), "a damaged tar")


def test_a_tar_of_headers_about_headers(tmp_path: Path) -> None:
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    header[156:157] = b"x"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header[:512]):06o}\0 ".encode()
    refuse(write(tmp_path, bytes(header) * 5000, "x.tar"), "a damaged tar")


def test_a_name_without_an_end_in_a_tar(tmp_path: Path) -> None:
    refuse(write(tmp_path, tar({"a/" * 50_000 + "log.csv": PLAIN.encode()}), "x.tar"), "a name without an end")


def test_a_name_cut_inside_a_character_names_a_user_all_the_same(tmp_path: Path) -> None:
    plain = PLAIN.replace("user,", "").replace("u,", "")
    cut = "müller.csv".encode()[:2] + b".csv"
    inside = write(tmp_path, edited_name(cut, plain.encode()), "x.tar")
    assert load(inside).table["user"].unique().to_list() == ["m?"]
    outside = tmp_path / os.fsdecode(cut)
    outside.write_text(plain)
    assert load(outside).table["user"].unique().to_list() == ["m?"]


def edited_name(name: bytes, data: bytes) -> bytes:
    made = bytearray(tar({"x" * len(name): data}))
    made[: len(name)] = name
    made[148:156] = b" " * 8
    made[148:156] = f"{sum(made[:512]):06o}\0 ".encode()
    return bytes(made)


def test_a_pipe_that_nobody_writes_to_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 0.2)
    os.mkfifo(tmp_path / "pipe")
    begin = time.monotonic()
    refuse(tmp_path / "pipe", "a pipe that nobody fed for 0.2 s; feed it, or name a file")
    assert time.monotonic() - begin < 5


def test_a_pipe_whose_writer_takes_time_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "PATIENCE", 2.0)
    os.mkfifo(tmp_path / "pipe")

    def feed() -> None:
        time.sleep(0.3)  # before it opens
        with open(tmp_path / "pipe", "wb") as pipe:
            time.sleep(2.5)  # before it writes
            pipe.write(PLAIN.encode())

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert load(tmp_path / "pipe").records == 3
    feeder.join()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63) + 1, 2**62, -(2**55)])
def test_times_at_the_end_of_their_numbers_in_a_parquet(
    tmp_path: Path, unit: Any, value: int, capfd: pytest.CaptureFixture[str]
) -> None:
    now = 1_714_550_400_000 * {"ms": 1, "us": 1000, "ns": 1_000_000}[unit]
    times = pl.Series([now, value, None]).cast(pl.Datetime(unit))
    path = write(tmp_path, parquet(app=["a", "b", "c"], start=times), "x.parquet")
    with pytest.raises(BadInput, match="row 2: not a possible time: '"):
        load(path)
    kept = load(path, skip_bad_rows=True)
    assert (kept.records, kept.skipped) == (1, 2)
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00"])
def test_times_with_a_zone_at_the_end_of_their_numbers(tmp_path: Path, zone: str) -> None:
    times = pl.Series([2**63 - 1]).cast(pl.Datetime("us", zone))
    path = write(tmp_path, parquet(app=["a"], start=times), "x.parquet")
    refuse(path, "")


@pytest.mark.parametrize("column", [[[1]], [{"a": 1}], [b"x"], [1.5], [None], [True]])
def test_a_parquet_s_names_are_text(tmp_path: Path, column: list[Any]) -> None:
    now = pl.Series([0]).cast(pl.Datetime("us"))
    refuse(write(tmp_path, parquet(app=column, start=now), "x.parquet"), "'app' holds ")


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff x", "a\\ud83d"])
def test_half_a_character_in_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match="row 1: an event without package or app"):
        load(write(tmp_path, ACTIVITYWATCH.replace("Editor", text)), zone="UTC")
    assert load(write(tmp_path, ACTIVITYWATCH.replace("Editor", text)), zone="UTC", skip_bad_rows=True).skipped == 1
    assert (
        load(write(tmp_path, ACTIVITYWATCH.replace('"pc"', f'"{text}"'), "my.json"), zone="UTC").table["user"][0]
        == "my"
    )
    with pytest.raises(BadInput, match="row 4: a broken line"):
        load(write(tmp_path, DAILY.replace("com.b", text)))
    assert load(write(tmp_path, DAILY.replace("com.b", text)), skip_bad_rows=True).skipped == 1


def test_an_integer_of_five_thousand_digits(tmp_path: Path) -> None:
    digits = "9" * 5000
    refuse(write(tmp_path, ACTIVITYWATCH.replace("60.5", digits)), "a number that no export holds")
    with pytest.raises(BadInput, match="row 4: a broken line"):
        load(write(tmp_path, DAILY.replace('"com.b"', digits)))
    for name, log in EVERY.items():
        for place in [place for place, char in enumerate(log) if char.isdigit()][::9]:
            with suppress(BadInput):
                load(write(tmp_path, log[:place] + digits + log[place + 1 :]), zone="UTC", format=name)


LONG = "x" * 4097
NAMED = {"plain": "Chat", "lsapp": "Chess", "ubiqlog": "com.a", "app-usage": "Chess", "dumpsys": "com.b",
         "activitywatch": "Browser", "aware": "com.tinder", "serve": "Chat", "tsinghua": " 9 "}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_an_app_s_name_of_more_than_4096_bytes_is_a_bad_row(tmp_path: Path, name: str) -> None:
    log = EVERY[name].replace(NAMED[name], f" {'1' * 4097} " if name == "tsinghua" else LONG, 1)
    with pytest.raises(BadInput, match=r"row \d+: \w+ is longer than 4,096 bytes"):
        load(write(tmp_path, log), zone="UTC", format=name)
    assert load(write(tmp_path, log), zone="UTC", format=name, skip_bad_rows=True).skipped == 1
    fits = EVERY[name].replace(NAMED[name], f" {'1' * 4096} " if name == "tsinghua" else LONG[1:], 1)
    assert load(write(tmp_path, fits), zone="UTC", format=name).skipped == 0


def test_a_process_of_more_than_4096_bytes_is_a_bad_row_of_a_daily_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="row 4: process is longer than 4,096 bytes"):
        load(write(tmp_path, DAILY.replace("com.b", LONG)))


@pytest.mark.parametrize(
    "work",
    [
        lambda: dumpsys.sniff(Head(b"\n" * 65_536)),
        lambda: dumpsys.sniff(Head(b"time=" * 13_000)),
        lambda: [system_kind("a." * n + "a" * n) for n in range(1000, 1300)],
        lambda: [system_kind("a" * 4096 + str(n)) for n in range(300)],
    ],
)
def test_patterns_take_no_more_time_than_there_is_to_read(work: Callable[[], object]) -> None:
    begin = time.process_time()
    work()
    assert time.process_time() - begin < 1.0


def test_many_long_names_with_brackets_are_soon_read(tmp_path: Path) -> None:
    rows = "".join(f'"{"(" * 4000}{n}","1/13/24","9:00:05 PM","0:00:10"\n' for n in range(100))
    begin = time.process_time()
    load(write(tmp_path, '"App name","Date","Time","Duration"\n' + rows))
    assert time.process_time() - begin < 3.0


def test_here_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, PLAIN, "log.csv")
    monkeypatch.chdir(tmp_path)
    assert read(["."]).records == read([""]).records == 3
    with pytest.raises(BadInput, match="no possible file name"):
        read(["a\0b"])


@pytest.mark.parametrize(
    ("paths", "options", "words"),
    [
        ([], {}, "logs: none is named"),
        ([None], {}, "None: no path"),
        ([b"x"], {}, "b'x': no path"),
        (["LOG"], {"merge_gap": float("nan")}, "nan is no number of seconds"),
        (["LOG"], {"merge_gap": 1e300}, "1e+300 is no number of seconds"),
        (["LOG"], {"merge_gap": -1.0}, "-1.0 is no number of seconds"),
        (["LOG"], {"as_user": "\ud800"}, r"'\ud800' is no name"),
        (["JSON"], {"zone": "\ud800"}, "no such time zone"),
        (["JSON"], {"zone": "a\0b"}, "no such time zone"),
        (["JSON"], {"zone": "../../etc/passwd"}, "no such time zone"),
    ],
)
def test_what_a_caller_of_read_gets_wrong_is_one_line(
    tmp_path: Path, paths: list[Any], options: dict[str, Any], words: str
) -> None:
    files = {"LOG": write(tmp_path, PLAIN, "log.csv"), "JSON": write(tmp_path, ACTIVITYWATCH, "log.json")}
    with pytest.raises(BadInput) as error:
        read([files.get(path, path) for path in paths], Options(**options))
    assert words in str(error.value)
    assert "\n" not in str(error.value)
