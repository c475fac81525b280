"""The application, put together; a server runs `uvicorn --factory api.app:app`."""

import os
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from api import mcp, problems
from api.context import ApiContext
from api.metrics import RequestLog
from api.pages import PAGES
from api.problems import MEDIA_TYPE, Problem
from api.rest import ROUTERS, TAGS
from api.security.authentication import PUBLIC_PATHS, Authentication
from api.security.csrf import HEADER, set_browser_cookie
from api.security.headers import CONTENT_SECURITY_POLICY, BodyLimit, HostCheck, ResponseHeaders, add_security_headers
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack.connections import connections
from store.database import Database
from workers.app import make_app as make_broker


def app() -> FastAPI:
    """The application on the servers of the environment, the .env file, or the running stack."""
    return make_app(context())


def context() -> ApiContext:
    """What the application uses. Raises StackError where there are no servers."""
    settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
    servers = connections(merged(os.environ, ENV_FILE))
    return ApiContext(
        settings=settings,
        database=Database(
            servers.database_url,
            pool_size=settings.ragq_database_pool,
            application_name="ragq-api",
            pooler_url=settings.ragq_database_pooler_url,
        ),
        broker=make_broker(servers.redis_url),
        flower_url=servers.flower_url,
        environment=os.environ,
        env_file=ENV_FILE,
    )


_FILES: Final = "/static/docs"
"""Where the files of Swagger UI are served."""

_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)

_reference = APIRouter(include_in_schema=False)


@_reference.get("/docs")
async def show_reference(request: Request) -> Response:
    """Every address with its parameters, bodies and replies, which can be tried; its one inline script is allowed."""
    shown = get_swagger_ui_html(
        openapi_url=str(request.app.openapi_url),
        title="API reference · ragq",
        swagger_js_url=f"{_FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{_FILES}/swagger-ui.css",
        swagger_favicon_url="/static/icon.svg",
    )
    (script,) = _INLINE.findall(bytes(shown.body))
    allowed = f"'sha256-{b64encode(sha256(script).digest()).decode()}'"
    policy = CONTENT_SECURITY_POLICY.replace("script-src 'self'", f"script-src 'self' {allowed}")
    shown.headers["Content-Security-Policy"] = policy
    return shown


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
    _guard(app, ctx.settings, ctx.database)
    app.add_middleware(RequestLog, metrics=ctx.metrics)
    _describe(app)
    for router in (*PAGES, _reference, *ROUTERS):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            route.operation_id = route.name
            route.responses = _PROBLEMS | route.responses
            # As they are declared: `include_router` analyses each again at the first request, which takes .4 s.
            app.router.routes.append(route)
    app.mount(_FILES, StaticFiles(packages=[("fastapi_offline", "static")]), name="reference")
    app.mount("/static", StaticFiles(directory=str(files("api") / "static")), name="static")
    tools = mcp.serve(app)
    return app


def _guard(app: FastAPI, settings: ProcessSettings, database: Database) -> None:
    """Guard every address of the application. Call it after the handlers of errors are installed."""
    # Middleware that is added later runs earlier.
    app.add_middleware(Authentication, database=database, settings=settings)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(HostCheck, settings=settings)
    # The middleware added above raises HTTPException as routes do, and gets the same handlers here. So do unexpected
    # errors: Starlette's own last handler re-raises them to uvicorn, which would log their messages.
    app.add_middleware(ExceptionMiddleware, handlers=app.exception_handlers)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Prefer", HEADER],
            expose_headers=["Location", "Retry-After", "Idempotency-Replayed", "WWW-Authenticate"],
        )
    app.add_middleware(ResponseHeaders, change=set_browser_cookie)
    app.add_middleware(ResponseHeaders, change=add_security_headers)


SCHEME: Final = "token"

_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `ragq token create NAME`. While none exists, requests on loopback need none.",
}

#: Every status that a route does not name.
_PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "A problem; its type names the reason, and its detail what to do",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def _describe(app: FastAPI) -> None:
    described = app.openapi
    _, models = models_json_schema([(Problem, "serialization")], ref_template="#/components/schemas/{model}")

    def openapi() -> dict[str, Any]:
        schema = described()
        schema["components"]["schemas"].update(models["$defs"])
        schema["components"]["securitySchemes"] = {SCHEME: _BEARER}
        # `{}` means no token: on loopback, while none exists.
        schema["security"] = [{SCHEME: []}, {}]
        for path, item in schema["paths"].items():
            if path in PUBLIC_PATHS:
                for operation in item.values():
                    operation["security"] = []
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
