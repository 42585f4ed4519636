"""The short way for events, which come more often than all other requests together.

Finding the route and reading the body field by field costs the framework as much as everything that is done with the
events. So a request that is plainly right is taken here. Whatever is not, or could not be done, goes on to the route,
which answers it in full; what was taken already changes nothing when it comes there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stap.errors import BadInput
from stap.serve.core import Core
from stap.serve.models import EventsIn
from stap.serve.routes.people import EVENTS, MOST_RANKED, taken

PLACE = re.compile(r"/api/v1/users/([A-Za-z0-9._-]{1,64})/events\Z")
ASKED = re.compile(rb"(?:k=([1-9][0-9]{0,2}))?\Z")
JSON = (b"content-type", b"application/json")


class Named(NamedTuple):
    """What the meter wants to know of a route."""

    path: str


class Quick:
    """Stands before the application; takes events, and passes on everything else."""

    def __init__(self, app: ASGIApp, core: Core) -> None:
        self.app, self._core = app, core

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = PLACE.match(scope.get("path", "")) if scope.get("method") == "POST" else None
        asked = ASKED.match(scope["query_string"]) if place else None
        if place is None or asked is None or JSON not in scope["headers"]:
            await self.app(scope, receive, send)
            return
        k, came = None if asked[1] is None else int(asked[1]), Came(receive)
        try:
            if k is not None and k > MOST_RANKED:
                raise BadInput("k", "too many", "ask for fewer")
            events = EventsIn.model_validate_json(await came.body()).events
            response = JSONResponse(await taken(self._core, place[1], events, k))
        except (ValidationError, BadInput, HTTPException):
            await self.app(scope, came.again, send)
            return
        scope["route"] = Named(EVENTS)
        await response(scope, receive, send)


class Came:
    """A body as it comes, which can be received once more: also the refusal to receive all of it."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._messages = receive, list[Message]()
        self._refused: HTTPException | None = None

    async def body(self) -> bytes:
        try:
            while not self._messages or self._messages[-1].get("more_body"):
                self._messages.append(await self._receive())
        except HTTPException as refused:  # too large, or it does not come
            self._refused = refused
            raise
        return b"".join(message.get("body", b"") for message in self._messages)

    async def again(self) -> Message:
        if self._messages:
            return self._messages.pop(0)
        if self._refused is not None:
            raise self._refused
        return await self._receive()
