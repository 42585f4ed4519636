"""`stap bench serve`: many users at once on a real server; is an event ever lost, and how long does an answer take?

Each of 50 users sends batches of events at a steady pace, and with each asks for the ranking after it. The time counts
from when a batch was due. The peer is a bare fastapi application that sends back what it gets, under the same load.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from stap.bench.invented import events
from stap.bench.wire import Line
from stap.verdict import Figure, publish

USERS, A_SECOND, SECONDS = 50, 2_000, 60  # events of all users together
BATCH = 4  # events of one request
BUDGET = 256  # MB for the sessions
MOST_MS = 20
PAST = timedelta(days=300)
ECHO = """
import sys, uvicorn
from fastapi import FastAPI, Request
from stap.serve.run import bound
app = FastAPI()
@app.post("/api/v1/users/{user}/events")
async def echo(user: str, body: dict, k: int = 5):
    return body
with bound(0) as listener:
    print(f"at http://127.0.0.1:{listener.getsockname()[1]}/?token=none", flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run(sockets=[listener])
"""


class Server(NamedTuple):
    port: int
    token: str
    process: int

    @property
    def processor(self) -> float:
        """Seconds of a processor that it has used."""
        used = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


class Load(NamedTuple):
    """What came of it: milliseconds of every request, events acknowledged a second, processor seconds of the server."""

    took: np.ndarray[Any, np.dtype[np.float64]]
    rate: float
    processor: float


def run(seconds: float = SECONDS, batch: int = BATCH) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = ("-m", "stap", "serve", "--data", folder, "--port", "0", "--memory", str(BUDGET))
        with started(*command) as server:
            ours = asyncio.run(_load(server, seconds, batch))
            wrong, sessions = asyncio.run(_looked_through(server, seconds, batch))
    with started("-c", ECHO) as server:
        echo = asyncio.run(_load(server, seconds, batch))
    (p50, p99), (echo50, echo99) = (np.percentile(load.took, [50, 99]) for load in (ours, echo))
    return publish(
        f"{USERS} users, {A_SECOND:,} events/s for {seconds:g} s in requests of {batch}, {os.cpu_count()} processors",
        [
            Figure.at_least("events acknowledged", ours.rate, "a second", 0.99 * A_SECOND),
            Figure.at_most("lost or reordered", wrong, "events", 0),
            Figure("observe + rank, p50", p50, "ms"),
            Figure.at_most("observe + rank, p99", p99, "ms", MOST_MS),
            Figure.at_most("sessions in memory", sessions, "MB", BUDGET),
            Figure("processor", 1e6 * ours.processor / len(ours.took) / batch, "us an event"),
            Figure("bare fastapi echo, p50", echo50, "ms"),
            Figure("bare fastapi echo, p99", echo99, "ms"),
            Figure("bare fastapi echo, events", echo.rate, "a second"),
            Figure("p50 / echo's", p50 / echo50, "times"),
            Figure("p99 / echo's", p99 / echo99, "times"),
            Figure("processor / echo's", ours.processor / echo.processor, "times"),
        ],
    )


@contextmanager
def started(*command: str) -> Iterator[Server]:
    """A server in a process of its own, which says where it is."""
    process = subprocess.Popen((sys.executable, *command), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = next(line for line in process.stdout if "http://" in line)
        found = urlsplit(address[address.index("http://") :].split()[0])
        yield Server(found.port or 0, found.query.removeprefix("token="), process.pid)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def _load(server: Server, seconds: float, batch: int) -> Load:
    bodies = _bodies(seconds, batch)
    began, used = perf_counter() + 1.0, server.processor
    users = [_user(server, number, bodies, began, batch) for number in range(USERS)]
    took = np.concatenate(await asyncio.gather(*users))
    return Load(1e3 * took, batch * len(took) / (perf_counter() - began), server.processor - used)


def _bodies(seconds: float, batch: int) -> list[str]:
    """What each user sends, written before the clock runs: both processors are the server's to use."""
    history = events(round(A_SECOND / USERS * seconds), apps=40)
    steps = range(0, len(history) // batch * batch, batch)
    return [json.dumps({"events": [_event(step + each, history) for each in range(batch)]}) for step in steps]


async def _user(server: Server, number: int, bodies: list[str], began: float, batch: int) -> list[float]:
    """One after the other, each when it is due; who is late hurries."""
    line, pace, took = await Line.to(server.port, server.token), batch * USERS / A_SECOND, []
    for step, body in enumerate(bodies):
        due = began + pace * (step + number / USERS)
        await asyncio.sleep(max(0.0, due - perf_counter()))
        status, _ = await line.ask("POST", f"/api/v1/users/user{number}/events?k=5", body)
        if status != 200:
            raise RuntimeError(f"the server answered {status}")
        took.append(perf_counter() - due)
    await line.close()
    return took


def _event(place: int, history: list[Any]) -> dict[str, Any]:
    event = history[place]
    begin = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - PAST
    at = begin + timedelta(minutes=round(event.minutes - history[0].minutes, 3))
    return {"id": f"e{place}", "kind": "opened" if event.action else "closed", "app": event.app, "at": at.isoformat()}


async def _looked_through(server: Server, seconds: float, batch: int) -> tuple[int, float]:
    """How many events are not where they belong, and megabytes of the sessions."""
    line = await Line.to(server.port, server.token)
    sent = round(A_SECOND / USERS * seconds) // batch * batch
    wrong = 0
    for number in range(USERS):
        _, text = await line.ask("GET", f"/api/v1/users/user{number}/export")
        ids = [json.loads(row).get("id") for row in text.splitlines()[1:]]
        wrong += sum(id != f"e{place}" for place, id in enumerate(ids)) + abs(sent - len(ids))
    _, text = await line.ask("GET", "/metrics")
    await line.close()
    held = next(row for row in text.splitlines() if row.startswith("stap_session_bytes "))
    return wrong, float(held.split()[1]) / (1 << 20)
