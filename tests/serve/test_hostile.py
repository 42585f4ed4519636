"""Clients that mean harm neither get in nor stop the others: a real server, raw connections."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from serve.real import TOKEN, Real, running
from serve.world import day, event
from stap.serve import patience

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    with running(tmp_path_factory.mktemp("data")) as server:
        yield server


def well(server: Real) -> bool:
    """Somebody else is served as ever."""
    status, answer = server.ask("POST", "/api/v1/users/good/events", {"events": day()})
    assert (status, answer["accepted"] + answer["known"]) == (200, 40)
    return server.ask("GET", "/api/v1/users/good/ranking")[0] == 200


def said(server: Real, data: bytes) -> bytes:
    """All that a raw connection gets for these bytes, until it is closed or nothing comes for a second."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=1) as line:
        line.sendall(data)
        found = b""
        try:
            while piece := line.recv(65536):
                found += piece
        except TimeoutError:
            pass
        return found


HOST = b"Host: 127.0.0.1:%d\r\n"
CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
UPGRADE = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n"
RAW = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "bad UTF-8 in the path": b"GET /api/v1/users/\xff\xfe/ranking HTTP/1.1\r\n" + HOST + b"\r\n",
    "bad UTF-8, encoded": b"GET /api/v1/users/%FF%FE/ranking HTTP/1.1\r\n" + HOST + b"\r\n",
    "bad UTF-8 in the token": b"GET /api/v1/users HTTP/1.1\r\n" + HOST + b"Authorization: Bearer \xff\xfe\r\n\r\n",
    "two hosts": b"GET /health HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n",
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "a negative length": b"POST /api/v1/users/me/events HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "a length and chunks": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n" + CHUNKS,
    "an endless head": b"GET / HTTP/1.1\r\n" + b"X-A: " + b"a" * 300_000,
    "a websocket": b"GET /live HTTP/1.1\r\n" + HOST + UPGRADE,
}


@pytest.mark.parametrize("name", RAW)
def test_raw_bytes_do_not_get_in_and_stop_nobody(server: Real, name: str) -> None:
    answer = said(server, RAW[name].replace(b"%d", str(server.port).encode()))
    if answer:
        assert answer.split()[1][:1] == b"4", answer[:200]
    assert well(server)


def test_an_oversized_body_is_refused_before_it_is_sent(server: Real) -> None:
    head = f"POST /api/v1/users/me/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    whose = f"Authorization: Bearer {TOKEN}\r\nContent-Length: 9999999999\r\n\r\n"
    assert b" 413 " in said(server, (head + whose).encode())
    assert well(server)


def test_those_who_never_finish_a_request_are_cut_off_and_stop_nobody(server: Real) -> None:
    """Slow loris: more connections than may wait, each with half a head."""
    with ExitStack() as stack:
        lines = []
        for _ in range(patience.MOST_WAITING + 100):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            line.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
            lines.append(line)
        assert well(server)
        until = time.monotonic() + patience.HEAD + 20
        for line in lines:
            line.settimeout(max(0.1, until - time.monotonic()))
            with suppress(ConnectionError):
                assert line.recv(1) == b"", "cut off"
    assert well(server)


def test_ten_thousand_apps_are_taken_and_one_more_is_not(server: Real) -> None:
    for part in range(10):
        events = [event(number, f"app {number}", number / 10) for number in range(1000 * part, 1000 * part + 1000)]
        assert server.ask("POST", "/api/v1/users/wild/events", {"events": events})[0] == 200
        assert well(server)
    status, answer = server.ask("POST", "/api/v1/users/wild/events", {"events": [event(10_000, "one more", 1001)]})
    assert (status, answer["error"]["remedy"]) == (400, "forget some")
    for _ in range(600):
        status, answer = server.ask("GET", "/api/v1/users/wild/ranking?k=5&reasons=false")
        if status == 200 and answer["events"] == 10_000:
            break
        assert status in (200, 503)
        time.sleep(0.1)
    assert answer["events"] == 10_000
    assert well(server)
