"""The server about itself: health, status, and the files of the page."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import FileResponse

from stap import __version__
from stap.serve.models import HealthOut, StatusOut

router = APIRouter(tags=["server"])
PAGE = Path(__file__).parents[1] / "page"
FIRST = "index.html"


def page_files() -> dict[str, Path]:
    """The addresses that need no token: they are the same for everybody."""
    files = {f"/page/{path.name}": path for path in sorted(PAGE.glob("*")) if path.is_file()}
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
        "model": state.core.brains.path.name,
        "adapted": None,
        "latency_ms": {"p50": 0.0, "p99": 0.0},
        "memory_mb": round(state.core.sessions.bytes / 1e6, 1),
        "users": len(state.core.store.people()),
        "feeds": [],
        "uptime_s": round(monotonic() - state.began, 1),
    }
