"""The application, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.staticfiles import StaticFiles

from api import mcp, openapi, problems
from api.context import ApiContext
from api.pages import login, participants
from api.pages.routers import PAGES
from api.request_log import RequestLog
from api.rest.routers import ROUTERS, TAGS
from api.security.install import install


def make_app(ctx: ApiContext) -> FastAPI:
    """The API and the pages over a context, which the application closes at its end."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with tools.run():
            yield
        await ctx.close()

    app = FastAPI(
        title="ragq",
        version=version("ragq"),
        openapi_tags=TAGS,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = ctx
    problems.install(app)
    install(app, ctx.settings, ctx.database)
    app.add_middleware(RequestLog, metrics=ctx.metrics)
    openapi.complete(app)
    # Pages first: a browser gets the page of an address, other clients get its resource.
    for router in (login.router, *PAGES, *ROUTERS):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            route.operation_id = route.name
            route.responses = openapi.PROBLEMS | route.responses
            # As they are declared: `include_router` analyses each again at the first request, which takes .4 s.
            app.router.routes.append(route)
    app.mount(participants.FILES, StaticFiles(packages=[("fastapi_offline", "static")]), name="reference")
    app.mount("/static", StaticFiles(directory=str(files("api") / "static")), name="static")
    tools = mcp.serve(app)
    return app
