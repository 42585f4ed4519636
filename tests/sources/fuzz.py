"""Importers against inputs that nobody would write: kept logs, changed at random, again and again.

    python -m sources.fuzz SECONDS [--keep]  # in tests/; --keep grows the corpus, of which a few of each answer stay

An input is read, or refused in one line; anything else (another exception, a panic, a crash, ten seconds) is a finding,
and its file is kept beside the corpus. Whatever gets an answer that no input got before joins the pool of inputs to
change, so the fuzzer finds its way inwards; with --keep it also joins the corpus.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from sources.made import DAILY, EVERY
from stap.errors import BadInput
from stap.sources import Options, read

CORPUS, FOUND = Path(__file__).parent / "corpus", Path(__file__).parent / "found"
SECONDS = 10  # that one input may take
MEMORY = 12 << 30  # bytes of address space
LARGEST = 1 << 16
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


def answer(path: Path, rng: random.Random) -> str:
    """What an import says of it, without what differs from file to file; Finding where it is no answer."""
    options = Options(
        format=None if rng.random() < 0.9 else rng.choice(list(EVERY)),
        zone=rng.choice((None, "UTC", "Europe/Berlin")),
        skip_bad_rows=rng.random() < 0.7,
        keep_system=rng.random() < 0.2,
        in_front=rng.random() < 0.2,
        merge_gap=rng.choice((None, 60.0)),
    )
    try:
        made = read([path], options)
    except BadInput as error:
        if "\n" in str(error) or len(str(error)) > 1000:
            raise Finding(f"no line: {str(error)[:200]!r}") from None
        return re.sub(r"'[^']*'|\"[^\"]*\"|\(.*\)|[\d,.]+", "#", error.why)[:80]
    table = made.table
    if (
        table.is_empty()
        or not (table["end"] >= table["start"]).all()
        or table.null_count().select("user", "app").row(0) != (0, 0)
    ):
        raise Finding("a table that breaks its contract")
    return f"{made.format}, {bool(made.skipped)}, {bool(made.dropped)}, {min(len(table), 9)}, {len(made.notes)}"


def run(seconds: float, seed: int, keep: bool, status: Path) -> None:
    """Until the time is over, or something must not happen; the input at hand lies in `status`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, pool, known, count = random.Random(seed), list(seeds()), set[str](), 0
    path, end = status / "input", time.monotonic() + seconds
    for data in pool:
        path.write_bytes(data)
        known.add(answer(path, random.Random(0)))
    while time.monotonic() < end:
        data = mutated(rng, rng.choice(pool), pool)
        path.write_bytes(data)
        signal.alarm(SECONDS)
        said = answer(path, rng)
        signal.alarm(0)
        count += 1
        if count % 100 == 0:
            (status / "count").write_text(str(count))
        if said not in known:
            known.add(said)
            pool.append(data)
            if keep and len(data) < 2000:
                (CORPUS / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    (status / "count").write_text(str(count))


def fuzz(seconds: float, seed: int, keep: bool = False, findings: int = 1) -> tuple[int, list[str]]:
    """In processes of their own, one after the other: how many inputs, and what was found."""
    count, found, end = 0, list[str](), time.monotonic() + seconds
    while time.monotonic() < end - 1 and len(found) < findings:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            status = Path(folder)
            code, said = _child(end - time.monotonic(), seed + len(found), keep, status)
            count += int((status / "count").read_text()) if (status / "count").exists() else 0
            if code or "panicked" in said:
                FOUND.mkdir(exist_ok=True)
                data = (status / "input").read_bytes()
                kept = FOUND / hashlib.sha256(data).hexdigest()[:12]
                kept.write_bytes(data)
                found.append(f"{kept}: exit {code}: {said[-1500:]}")
    return count, found


def _child(seconds: float, seed: int, keep: bool, status: Path) -> tuple[int, str]:
    pid = os.fork()
    if not pid:
        with open(status / "said", "wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        keeping = ["--keep"] if keep else []
        child = [sys.executable, "-m", "sources.fuzz", str(seconds), *keeping, "--child", str(seed), str(status)]
        os.environ |= {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        os.environ |= {"POLARS_MAX_THREADS": "1", "TMPDIR": str(status), "RUST_BACKTRACE": "0"}
        os.execv(sys.executable, child)
    _, code = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(code), (status / "said").read_text(errors="replace")


if __name__ == "__main__":
    grows = "--keep" in sys.argv
    if "--child" in sys.argv:
        run(float(sys.argv[1]), int(sys.argv[-2]), grows, Path(sys.argv[-1]))
    else:
        inputs, findings = fuzz(float(sys.argv[1]), time.time_ns() % 2**32, grows, findings=20)
        print(f"{inputs:,} inputs, {len(findings)} findings", *findings, sep="\n")
        sys.exit(bool(findings))
