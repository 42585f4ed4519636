"""Every error as the client gets it: where, why, and what to do. What nobody expected tells nothing of the question."""

from __future__ import annotations

import errno
import sqlite3
import sys

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from stap.errors import BadInput
from stap.serve.core import NoSuchUser
from stap.serve.models import ProblemOut
from stap.serve.sessions import Learning
from stap.serve.writer import Unwritten

STATUS: dict[type[BadInput], int] = {NoSuchUser: 404, Learning: 503, Unwritten: 503}
ANSWERS: dict[int | str, dict[str, object]] = {
    code: {"model": ProblemOut, "description": what}
    for code, what in {
        400: "what was asked cannot be done",
        401: "the token is missing or wrong",
        403: "asked by a page of another origin",
        404: "nobody or nothing of that name",
        413: "too large",
        422: "a value is missing, malformed or out of range",
        429: "too often",
        503: "not now: the disk is full, or the session is being made",
    }.items()
}


def answer(status: int, where: str, why: str, remedy: str) -> JSONResponse:
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    headers |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"error": {"where": where, "why": why, "remedy": remedy}}, status, headers)


def install(app: FastAPI) -> None:
    @app.exception_handler(BadInput)
    async def bad_input(request: Request, error: BadInput) -> JSONResponse:
        where = error.where if error.row is None else f"{error.where}, row {error.row}"
        return answer(STATUS.get(type(error), 400), where, error.why, error.remedy)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return answer(422, where, str(first["msg"]), "GET /api/v1/openapi.json says what is taken")

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        response = answer(error.status_code, request.url.path, str(error.detail).lower(), "check the address")
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(sqlite3.Error)
    async def unreadable(request: Request, error: sqlite3.Error) -> JSONResponse:
        print(f"stap serve: store: {error}", file=sys.stderr, flush=True)
        return answer(503, "store", str(error), "check the disk; docs/security.md says how to salvage a damaged store")

    @app.exception_handler(OSError)
    async def unwritten(request: Request, error: OSError) -> JSONResponse:
        remedy = "free some room, then send it again" if error.errno == errno.ENOSPC else "check the disk"
        return answer(503, "disk", error.strerror or type(error).__name__, remedy)


def unexpected(error: Exception) -> JSONResponse:
    print(f"stap serve: unexpected {type(error).__name__}", file=sys.stderr, flush=True)
    return answer(500, "server", f"unexpected {type(error).__name__}", "please report it")
