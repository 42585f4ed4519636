"""Importers against inputs that nobody would write: kept logs, changed at random, again and again.

    python -m sources.fuzz SECONDS [--keep]     # in tests/; --keep grows the corpus, of which a few of each answer stay
    python -m sources.fuzz --long INPUTS COUNT  # so many in all; COUNT is a file, with which it goes on if stopped

An input is read, or refused in one line; anything else (another exception, a panic, a crash, ten seconds) is a finding,
and its file is kept beside the corpus. Logs that could be read are then joined, one to thirty-two at a time, which
costs about as much for many as for one; a finding there is a tar of them. Whatever gets an answer that no input got
before joins the pool of inputs to change, so the fuzzer finds its way inwards; with --keep it also joins the corpus.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import io
import os
import random
import re
import resource
import signal
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from sources.made import DAILY, EVERY
from stap.errors import BadInput
from stap.sources import Options, join_parts, read_parts
from stap.sources.people import Part
from stap.sources.reading.scratch import Scratch
from stap.usage import validate

CORPUS, FOUND = Path(__file__).parent / "corpus", Path(__file__).parent / "found"
SECONDS = 10  # that one input may take
MEMORY = 12 << 30  # bytes of address space
LARGEST = 1 << 16
TOGETHER = (1, 2, 4, 16, 32)  # logs that are joined
STRETCH = 50_000  # inputs of one process in a long run
TOKENS = [
    *(b"\0", b"\xff", b"\xc3", b"\n", b"\r", b"\n\n\n", b'"', b"'", b",", b";", b"\t", b"-", b"{", b"}", b"[]"),
    *(b"+99:99", b"1e400", b"NaN", b"null", b"true", b"0001-01-01", b"9999-12-31", b"24:60:60", b"9" * 30, b"9" * 5000),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b\x08", b"PAR1", b"PK\x03\x04", b"ustar", b"\x80\xff\xff\xff"),
    *("۱۲".encode(), "\u202e".encode(), b"\\ud800", b"[" * 2000, b"x" * 4097, b"\x7f" + b"\xff" * 7),
    *(b"time=", b"user=10\n", b"buckets", b"currentwindow", b"app,start"),
]


class Finding(Exception):  # noqa: N818
    """Something that must not happen."""


def seeds() -> Iterator[bytes]:
    """Every format, packed and unpacked; Parquet of several kinds; and the corpus."""
    for log in (*EVERY.values(), DAILY):
        data = log.encode()
        yield from (
            data,
            gzip.compress(data, mtime=0),
            log.encode("utf-16"),
            tar(data),
            gzip.compress(tar(data), mtime=0),
        )
    start = pl.Series([1_714_550_400_000_000 + 60_000_000 * n for n in range(20)]).cast(pl.Datetime("us"))
    table = pl.DataFrame({"user": ["u"] * 20, "app": ["Mail", "Chat"] * 10, "start": start, "end": start})
    for kind in (
        table,
        table.with_columns(home=True),
        table.with_columns(pl.col("start").cast(pl.Datetime("ns", "UTC"))),
    ):
        for packing in ("uncompressed", "zstd", "snappy"):
            out = io.BytesIO()
            kind.write_parquet(out, compression=packing)
            yield out.getvalue()
    yield from (path.read_bytes() for path in sorted(CORPUS.iterdir()))


def tar(*members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number, data in enumerate(members):
            info = tarfile.TarInfo(f"é/{number}.csv")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue().rstrip(b"\0") + bytes(512)


def mutated(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """One to six changes, inside a gzip as well as outside."""
    if data[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        try:
            return gzip.compress(mutated(rng, gzip.decompress(data), pool), mtime=0)[:LARGEST]
        except (OSError, EOFError, zlib.error):
            pass
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        _change(rng, made, pool)
    if made[257:262] == b"ustar" and rng.random() < 0.8:
        made[148:156] = b" " * 8
        made[148:156] = f"{sum(made[:512]):06o}\0 ".encode()
    return bytes(made[:LARGEST])


def _change(rng: random.Random, made: bytearray, pool: list[bytes]) -> None:
    at, length = rng.randrange(len(made) + 1), rng.choice((1, 1, 2, 4, 8, 16, rng.randint(1, 200)))
    kind = rng.randrange(8)
    if kind == 0 and at < len(made):
        made[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        made[at : at + length] = rng.randbytes(min(length, 8))
    elif kind == 2:
        del made[at : at + length]
    elif kind == 3:
        made[at:at] = made[at : at + length] * rng.choice((1, 2, 50))
    elif kind == 4:
        made[at : at + rng.choice((0, length))] = rng.choice(TOKENS)
    elif kind == 5:
        other = rng.choice(pool)
        begin = rng.randrange(len(other) + 1)
        made[at : at + rng.choice((0, length))] = other[begin : begin + rng.choice((length, 100 * length))]
    elif kind == 6:
        digits = [place for place in range(at, min(at + 100, len(made))) if 48 <= made[place] <= 57]
        for place in digits[: rng.randint(1, 4)]:
            made[place] = 48 + rng.randrange(10)
    elif at:
        del made[at:]


@dataclass
class Importer:
    """Reads log after log; those that hold anything wait until they are joined."""

    folder: Path
    rng: random.Random
    parts: list[Part] = field(default_factory=list)  # that wait
    logs: list[bytes] = field(default_factory=list)  # from which they came
    together: int = 1  # logs that the next table will be of
    number: int = 0

    def __post_init__(self) -> None:
        for name in ("scratch", *map(str, range(max(TOGETHER)))):
            (self.folder / name).mkdir(exist_ok=True)

    def answer(self, data: bytes) -> str:
        """What an import says of it, without what differs from file to file; Finding where it is no answer."""
        path = self.folder / str(self.number % max(TOGETHER)) / "input"
        self.number += 1
        path.write_bytes(data)
        try:
            parts, notes = read_parts([path], Scratch(self.folder / "scratch"), self._options())
        except BadInput as error:
            return _words(error)
        self.parts += parts
        self.logs.append(data)
        if len(self.logs) >= self.together:
            self._join()
        first, skipped = parts[0], any(part.log.sieve.skipped for part in parts)
        return f"{first.format}, {skipped}, {bool(first.dropped)}, {min(len(first.table), 9)}, {len(notes)}"

    def _join(self) -> None:
        """What waits as one import; meanwhile it lies in a tar."""
        (self.folder / "joined").write_bytes(tar(*self.logs))
        try:
            table = validate(join_parts(self.parts, [], self._options()).table, "several logs")
        except BadInput as error:
            _words(error)
        else:
            nobody = table.null_count().row(0)[:2] != (0, 0)
            if table.is_empty() or nobody or not (table["end"] >= table["start"]).all():
                raise Finding("a table that breaks its contract")
        (self.folder / "joined").unlink()
        self.parts, self.logs, self.together = [], [], self.rng.choice(TOGETHER)

    def _options(self) -> Options:
        rng = self.rng
        return Options(
            format=None if rng.random() < 0.9 else rng.choice(list(EVERY)),
            zone=rng.choice((None, "UTC", "Europe/Berlin")),
            skip_bad_rows=rng.random() < 0.7,
            keep_system=rng.random() < 0.2,
            in_front=rng.random() < 0.2,
            as_user="me" if rng.random() < 0.05 else None,
            same_users=rng.random() < 0.2,
            merge_gap=rng.choice((None, 60.0)),
        )


def _words(error: BadInput) -> str:
    """What a refusal says, without names and numbers."""
    if "\n" in str(error) or len(str(error)) > 1000:
        raise Finding(f"no line: {str(error)[:200]!r}") from None
    return re.sub(r"'[^']*'|\"[^\"]*\"|\(.*\)|[\d,.]+", "#", error.why)[:80]


def run(seconds: float, most: int, seed: int, keep: bool, status: Path) -> None:
    """Until there is no time or no input left, or something must not happen; the input at hand lies in `status`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, pool, count = random.Random(seed), list(seeds()), 0
    importer, end = Importer(status, rng), time.monotonic() + seconds
    gc.freeze()  # modules need no looking through
    known = {importer.answer(data) for data in pool}
    while count < most and time.monotonic() < end:
        data = mutated(rng, rng.choice(pool), pool)
        signal.alarm(SECONDS)
        said = importer.answer(data)
        count += 1
        if count % 100 == 0:
            (status / "count").write_text(str(count))
        if said not in known:
            known.add(said)
            pool.append(data)
            if keep and len(data) < 2000:
                (CORPUS / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    (status / "count").write_text(str(count))


def _in_the_pool(work: Callable[[], None]) -> None:
    """On polars' only thread: elsewhere each call of polars would change threads there and back, half of the time."""

    def column(it: pl.Series) -> pl.Series:
        work()
        return it

    both = pl.col("a").map_batches(column, return_dtype=pl.Int64), pl.col("a").abs().alias("b")  # one alone stays here
    pl.DataFrame({"a": [0]}).select(both)


def fuzz(seconds: float, seed: int, keep: bool = False, findings: int = 1, most: int = 10**9) -> tuple[int, list[str]]:
    """In processes of their own, one after the other: how many inputs, and what was found."""
    count, found, end = 0, list[str](), time.monotonic() + seconds
    while time.monotonic() < end - 1 and len(found) < findings and count < most:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            status = Path(folder)
            job = (end - time.monotonic(), min(STRETCH, most - count), seed + count + len(found))
            code, said = _child([*map(str, job), str(status), *(["--keep"] if keep else [])], status)
            count += int((status / "count").read_text()) if (status / "count").exists() else 0
            if code or "panicked" in said:
                FOUND.mkdir(exist_ok=True)
                data = _at_hand(status).read_bytes()
                kept = FOUND / hashlib.sha256(data).hexdigest()[:12]
                kept.write_bytes(data)
                found.append(f"{kept}: exit {code}: {said[-1500:]}")
    return count, found


def _at_hand(status: Path) -> Path:
    """The logs that were being joined, or else the last one written."""
    joined = status / "joined"
    return joined if joined.exists() else max(status.glob("*/input"), key=lambda path: path.stat().st_mtime_ns)


def _child(arguments: list[str], status: Path) -> tuple[int, str]:
    pid = os.fork()
    if not pid:
        with open(status / "said", "wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        os.environ |= {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        os.environ |= {"POLARS_MAX_THREADS": "1", "TMPDIR": str(status), "RUST_BACKTRACE": "0"}
        os.execv(sys.executable, [sys.executable, "-m", "sources.fuzz", "--child", *arguments])
    _, code = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(code), (status / "said").read_text(errors="replace")


def many(inputs: int, counted: Path) -> tuple[int, list[str]]:
    """So many in all, process after process; what is whole is counted in a file."""
    count, found = int(counted.read_text()) if counted.exists() else 0, list[str]()
    while count < inputs and not found:
        more, found = fuzz(1e6, seed=count, most=min(STRETCH, inputs - count))
        count += more
        counted.write_text(str(count))
    return count, found


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--child", seconds, most, seed, status, *keep]:
            _in_the_pool(lambda: run(float(seconds), int(most), int(seed), bool(keep), Path(status)))
            sys.exit()
        case ["--long", inputs, counted]:
            count, findings = many(int(inputs), Path(counted))
        case [seconds, *keep]:
            count, findings = fuzz(float(seconds), time.time_ns() % 2**32, bool(keep), findings=20)
    print(f"{count:,} inputs, {len(findings)} findings", *findings, sep="\n")
    sys.exit(bool(findings))
