"""The HTTP application: routes over one Core, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic

from fastapi import FastAPI

from stap import __version__
from stap.serve import problems
from stap.serve.adapting import Adapting
from stap.serve.core import Core
from stap.serve.feeding import Feed, Feeding
from stap.serve.imports import Imports
from stap.serve.limits import Limits
from stap.serve.meter import Meter
from stap.serve.quick import Quick
from stap.serve.routes import data, people, system
from stap.serve.security import Guard

SCHEMA = "/api/v1/openapi.json"


def make_app(core: Core, token: str, limits: Limits | None = None, feeds: Sequence[Feed] = ()) -> Guard:
    """An application over an open Core, which it closes in the end."""
    meter, feeding, imports = Meter(), Feeding(core, feeds), Imports(core)
    adapting = Adapting(core, core.settings.adapt)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        feeding.start()
        adapting.start()
        yield
        for each in (feeding, imports, adapting, core):
            each.close()

    app = FastAPI(
        title="stap serve",
        version=__version__,
        summary="Which app a person opens next, on their own machine.",
        openapi_url=SCHEMA,
        docs_url=None,  # these would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=problems.ANSWERS,
    )
    app.state.core, app.state.began, app.state.meter = core, monotonic(), meter
    app.state.feeding, app.state.imports, app.state.adapting = feeding, imports, adapting
    for router in (people.router, data.router, system.router, system.page_router()):
        app.include_router(router)
    problems.install(app)
    return Guard(Quick(app, core), token, limits or Limits(), system.page_files(), meter)
