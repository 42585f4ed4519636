"""What a person hands over, takes away, or has deleted."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Header, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from stap.errors import BadInput
from stap.serve import answers
from stap.serve.models import AdaptationOut, BegunOut, ImportOut
from stap.serve.routes.people import Somebody, core

router = APIRouter(prefix="/api/v1", tags=["data"])
FILE = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@router.post("/users/{user}/imports", status_code=202, response_model=BegunOut, openapi_extra=FILE)
async def begin(
    request: Request,
    user: Somebody,
    x_file_name: Annotated[str, Header(max_length=1000, description="percent-encoded")] = "log",
    x_time_zone: Annotated[str | None, Header(max_length=64, description="of a log kept in UTC")] = None,
) -> JSONResponse:
    """Hand over a log of any format that `stap import` reads: the body is the file."""
    imports, name = request.app.state.imports, unquote(x_file_name)[:200]
    job, path = imports.place(user, name)
    try:
        with open(path, "xb") as file:
            async for piece in request.stream():
                await run_in_threadpool(file.write, piece)
        if not path.stat().st_size:
            raise BadInput(name, "nothing in it", "hand over a log")
    except BaseException:  # a full disk, or a client that hung up
        imports.abandon(job, path)
        raise
    return JSONResponse({"import": imports.begin(job, path, x_time_zone)}, 202)


@router.get("/users/{user}/imports/{number}", response_model=ImportOut)
async def follow(
    request: Request, user: Somebody, number: Annotated[str, Path(max_length=64, description="of the import")]
) -> JSONResponse:
    """How far an import is."""
    return JSONResponse(request.app.state.imports.told(user, number))


@router.post("/users/{user}/demo", status_code=202, response_model=BegunOut)
async def demo(request: Request, user: Somebody) -> JSONResponse:
    """The bundled person is imported, as if their four weeks had ended now."""
    return JSONResponse({"import": request.app.state.imports.demo(user)}, 202)


@router.get("/users/{user}/export", response_class=StreamingResponse, responses=LINES)
def export(request: Request, user: Somebody) -> StreamingResponse:
    """Everything of a user as JSON lines."""
    core(request).user(user)
    named = {"Content-Disposition": f'attachment; filename="stap-{user}.jsonl"'}
    return StreamingResponse(answers.export(core(request), user), media_type="application/x-ndjson", headers=named)


@router.delete("/users/{user}", status_code=204)
def delete(request: Request, user: Somebody) -> None:
    """Nothing of the user stays."""
    request.app.state.imports.withdraw(user)
    request.app.state.feeding.delete(user)
    request.app.state.adapting.tidy()


@router.get("/users/{user}/adaptation", response_model=AdaptationOut)
def adaptation(request: Request, user: Somebody) -> JSONResponse:
    """Whether a model of the user's own answers, and what it gained."""
    return JSONResponse(request.app.state.adapting.told_of(user))


@router.post("/users/{user}/adaptation", status_code=204)
def again(request: Request, user: Somebody) -> None:
    """Who went back allows it again: it is tried at the next idle time."""
    request.app.state.adapting.again(user)


@router.delete("/users/{user}/adaptation", status_code=204)
def back(request: Request, user: Somebody) -> None:
    """Go back to the model that all share, and stay there."""
    if not request.app.state.adapting.back(user):
        raise BadInput("adaptation", "there is none", "the shared model answers already")


@router.get("/everything", response_class=StreamingResponse, responses=LINES)
def export_everything(request: Request) -> StreamingResponse:
    """Everything of everybody as JSON lines; a line with the user's name comes before what is theirs."""
    named = {"Content-Disposition": 'attachment; filename="stap.jsonl"'}
    return StreamingResponse(answers.everything(core(request)), media_type="application/x-ndjson", headers=named)


@router.delete("/everything", status_code=204)
def delete_everything(request: Request) -> None:
    """Nothing of anybody stays."""
    request.app.state.imports.withdraw()
    request.app.state.feeding.delete_everything()
    request.app.state.adapting.tidy()
