"""The server about itself: health, status, figures for Prometheus, and the files of the page."""

from __future__ import annotations

import resource
from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, PlainTextResponse

from stap import __version__
from stap.serve.models import HealthOut, StatusOut
from stap.serve.routes.people import core

router = APIRouter(tags=["server"])
PAGE = Path(__file__).parents[1] / "page"
FIRST = "index.html"
TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


def page_files() -> dict[str, Path]:
    """The addresses that need no token: they are the same for everybody."""
    files = {f"/page/{path.name}": path for path in sorted(PAGE.iterdir()) if path.is_file()}
    return {"/": PAGE / FIRST} | files


def page_router() -> APIRouter:
    pages = APIRouter(include_in_schema=False)
    for address, path in page_files().items():
        pages.add_api_route(address, _sender(path), methods=["GET"])
    return pages


def _sender(path: Path) -> Any:
    async def send() -> FileResponse:
        return FileResponse(path, headers={"Cache-Control": "no-cache"})

    return send


@router.get("/health", response_model=HealthOut)
async def health() -> dict[str, str]:
    """Whether the server runs; needs no token."""
    return {"status": "ok"}


@router.get("/api/v1/status", response_model=StatusOut)
def status(request: Request) -> dict[str, Any]:
    """Version, model, speed, memory and feeds."""
    state = request.app.state
    return {
        "version": __version__,
        "model": core(request).brains.path.name,
        "adapted": state.adapting.told(),
        "latency_ms": state.meter.percentiles(),
        "memory_mb": _resident(),
        "users": len(core(request).store.people()),
        "feeds": state.feeding.told(),
        "replaying": state.feeding.replaying,
        "folder": str(core(request).settings.folder),
        "uptime_s": round(monotonic() - state.began, 1),
    }


@router.get("/metrics", response_class=PlainTextResponse, responses=TEXT)
def metrics(request: Request) -> str:
    """Counts for Prometheus, without names of people or apps."""
    server = core(request)
    people = server.store.people()
    gauges = {
        "users": ("People and devices known.", len(people)),
        "events": ("Events kept.", sum(person.events for person in people)),
        "sessions": ("Sessions in memory.", len(server.sessions)),
        "session_bytes": ("Memory of those sessions.", server.sessions.bytes),
        "resident_megabytes": ("Memory of the server.", _resident()),
        "watchers": ("Open lines of live updates.", len(server.hub)),
        "uptime_seconds": ("Since the start.", monotonic() - request.app.state.began),
    }
    text: str = request.app.state.meter.lines(gauges)
    return text


def _resident() -> float:
    """Megabytes of memory that the process holds now; where the system does not say, the most it has held."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return round(pages * resource.getpagesize() / 1e6, 1)
    except (OSError, ValueError, IndexError):
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)
