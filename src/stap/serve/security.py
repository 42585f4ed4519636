"""Who gets in: from this machine, to this address, from no foreign page, with the token, in bounds.

A web page that a person visits can send requests to 127.0.0.1 too. So the Host has to be ours (else a foreign name was
bound to our address), the Origin, where there is one, as well, and nothing is answered without the token.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from time import perf_counter
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stap.errors import BadInput
from stap.files import PRIVATE, read_bytes, replacing
from stap.serve.limits import Limits
from stap.serve.meter import Meter
from stap.serve.places import TOKEN_FILE
from stap.serve.problems import answer, unexpected

COOKIE = "stap_token"
NAMES = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def token_of(folder: Path) -> str:
    """The secret of a data folder, which its owner alone can read; made when there is none."""
    path = folder / TOKEN_FILE
    if not path.exists():
        with replacing(path, private=True) as draft:
            draft.write_text(secrets.token_urlsafe(32) + "\n")
    os.chmod(path, PRIVATE)
    token = read_bytes(path, 1024).decode(errors="replace").strip()
    if len(token) < 32 or not token.isascii():
        raise BadInput(str(path), "no token that is safe", "remove it: a new one is made")
    return token


class Guard:
    """Stands before the application and lets through what may pass."""

    def __init__(self, app: ASGIApp, token: str, limits: Limits, open_paths: Mapping[str, Path], meter: Meter) -> None:
        self.app, self._token, self._limits, self._open = app, token, limits, {"/health", *open_paths}
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets here
        status, began = 0, perf_counter()

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in RAW if each[0] not in there)]
            await send(message)

        refusal = self._refusal(scope)
        try:
            if refusal is not None:
                await refusal(scope, receive, with_headers)
            else:
                await self.app(scope, self._measured(scope["path"], receive), with_headers)
        except Exception as error:  # its trace may hold names of apps
            response = unexpected(error)
            if not status:
                await response(scope, receive, with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "refused" if refusal else "unknown")
            self._meter.note(scope["method"], route, status, perf_counter() - began)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to what may not pass."""
        headers, path = Headers(scope=scope), scope["path"]
        hosts = _hosts(scope)
        if len(headers.getlist("host")) != 1 or headers["host"].lower() not in hosts:
            return answer(421, "Host", "this server answers under its own name only", f"use {hosts[0]}")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in [f"http://{host}" for host in hosts]:
            return answer(403, "Origin", "another origin", "ask from the page of this server")
        if headers.get("sec-fetch-site") == "cross-site" and path not in self._open:
            return answer(403, "Sec-Fetch-Site", "another site", "ask from the page of this server")
        if path == "/" and b"token=" in scope["query_string"]:
            return self._welcome(scope)
        known = self._knows(headers)
        if path not in self._open and not known:
            if not self._limits.strangers.take():
                return answer(429, "token", "wrong too often", "wait a minute")
            return answer(401, "token", "missing or wrong", "open the address that `stap serve` printed")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > self._limits.body(path):
            return answer(413, "body", "too large", "send less at once")
        if not self._limits.may(path, known):
            return answer(429, "requests", "too many a second", "send several events in one request")
        return None

    def _knows(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._same(given.strip())
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return found is not None and self._same(found.value)

    def _same(self, given: str) -> bool:
        return compare_digest(given.encode(errors="replace"), self._token.encode())

    def _welcome(self, scope: Scope) -> Response:
        """A first visit with the token: it becomes a cookie, and leaves the address line."""
        given = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [""])[0]
        if not self._same(given):
            if not self._limits.strangers.take():
                return answer(429, "token", "wrong too often", "wait a minute")
            return answer(401, "token", "missing or wrong", "open the address that `stap serve` printed")
        response = RedirectResponse("/", 303)
        response.set_cookie(COOKIE, self._token, max_age=400 * 86400, path="/", httponly=True, samesite="strict")
        return response

    def _measured(self, path: str, receive: Receive) -> Receive:
        """A body of bounded size, whose pieces come in time."""
        most, came, whole = self._limits.body(path), 0, False

        async def measured() -> Message:
            nonlocal came, whole
            if whole:
                return await receive()
            try:
                async with asyncio.timeout(self._limits.patience):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body does not come", {"Connection": "close"}) from None
            came += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if came > most:
                raise HTTPException(413, "the body is too large", {"Connection": "close"})
            return message

        return measured


def _hosts(scope: Scope) -> list[str]:
    port = (scope.get("server") or ("", 80))[1]
    return [f"{name}:{port}" for name in NAMES] + (list(NAMES) if port == 80 else [])
