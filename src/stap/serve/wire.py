"""A few lines of HTTP with the standard library: one question, one answer of a bounded size, or one clear error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from stap.errors import BadInput, first_line

PATIENCE = 30.0  # seconds without a byte
LARGEST = 64 << 20  # bytes of an answer


class Away(BadInput):
    """Nobody answers, or nobody who could: it may be there later."""


class Busy(Away):
    """Not now, it says; soon."""


class Place(NamedTuple):
    """A server, by its address."""

    host: str
    port: int
    path: str  # in front of every path asked for

    @classmethod
    def of(cls, url: str) -> Self:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or parts.scheme != "http" or parts.query or parts.username is not None:
            raise BadInput(url, "no address of a server", "give one like http://127.0.0.1:5600")
        return cls(host, port or 80, parts.path.rstrip("/"))

    def __str__(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}{self.path}"

    def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
        """The whole answer. Raises Away, or BadInput with what the server says against it."""
        with Exchange(self, method, path, headers, body) as answer:
            found = answer.read(LARGEST + 1)
        if len(found) > LARGEST:
            raise BadInput(str(self), f"an answer of more than {LARGEST >> 20} MB", "check the address")
        return found

    def get_json(self, path: str) -> Any:
        try:
            return json.loads(self.ask("GET", path, {}))
        except (ValueError, RecursionError):
            raise BadInput(str(self), "an answer that is no JSON", "check the address") from None


class Exchange:
    """One question and its answer, read as it comes; whatever goes wrong on the way is an error of ours."""

    def __init__(
        self, place: Place, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> None:
        self._place = place
        self._line = HTTPConnection(place.host, place.port, timeout=PATIENCE)
        self._question = (method, place.path + path, body, dict(headers))

    def __enter__(self) -> HTTPResponse:
        try:
            self._line.request(*self._question)
            answer = self._line.getresponse()
            if answer.status >= 300:
                raise self._refusal(answer)
        except BaseException as error:
            self._line.close()
            if isinstance(error, OSError | HTTPException):
                raise self._away(error) from None
            raise
        return answer

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._line.close()
        if isinstance(error, OSError | HTTPException) and not isinstance(error, BadInput):
            raise self._away(error) from None

    def _away(self, error: Exception) -> Away:
        why = getattr(error, "strerror", None) or first_line(error)
        return Away(str(self._place), f"does not answer ({why})", "start it, or check the address")

    def _refusal(self, answer: HTTPResponse) -> BadInput:
        """In the server's own words, if it has any that we know."""
        kind = Busy if answer.status == 503 else Away if answer.status >= 500 else BadInput
        try:
            said = json.loads(answer.read(1 << 16))["error"]
            where, why, remedy = (str(said[name])[:500] for name in ("where", "why", "remedy"))
            return kind(where, why, remedy)
        except (ValueError, KeyError, TypeError, RecursionError):
            return kind(str(self._place), f"answers {answer.status} {answer.reason[:80]}", "check the address")


def sent_events(answer: HTTPResponse) -> Iterator[tuple[str, str]]:
    """(event, data) of a stream of server-sent events, one after the other."""
    event, data = "message", list[str]()
    while line := answer.readline(LARGEST):
        name, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
        elif not name and not value and data:
            yield event, "\n".join(data)
        if not name and not value:
            event, data = "message", []
