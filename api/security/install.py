"""The doors, put before an application."""

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware

from api.context import ApiContext
from api.security.access_log import AccessLog
from api.security.admission import Admission, Doors
from api.security.body_limit import BodyLimit
from api.security.csrf import HEADER, BrowserCookie
from api.security.headers import SecurityHeaders
from api.security.hosts import HostCheck
from api.security.login import LoginLimit, make_router
from api.security.openapi import describe
from stack.addresses import is_loopback


def install(app: FastAPI, ctx: ApiContext) -> None:
    """Guard every address of the application, and add login and logout. After the handlers of errors are installed."""
    settings = ctx.settings
    doors = Doors(database=ctx.database, on_loopback=is_loopback(settings.ragq_api_host))
    app.state.doors = doors
    app.include_router(make_router(LoginLimit()))
    describe(app)
    # From the inside out: what is added later stands before what was added earlier.
    app.add_middleware(Admission, doors=doors, settings=settings)
    app.add_middleware(BodyLimit, kilobytes=settings.ragq_api_max_body_kb)
    app.add_middleware(HostCheck, settings=settings)
    # The doors raise as routes do, and are answered alike. What nobody foresaw is answered here too, because
    # Starlette's last resort hands it on to the server, which would log its words.
    app.add_middleware(ExceptionMiddleware, handlers=app.exception_handlers)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Prefer", HEADER],
            expose_headers=["Location", "Retry-After"],
        )
    app.add_middleware(BrowserCookie)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(AccessLog)
