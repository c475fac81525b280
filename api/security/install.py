"""The doors, put before an application."""

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware

from api.security.access_log import AccessLog
from api.security.authentication import Authentication, Authenticator
from api.security.body_limit import BodyLimit
from api.security.csrf import HEADER, BrowserCookie
from api.security.headers import SecurityHeaders
from api.security.hosts import HostCheck
from schemas.settings.process import ProcessSettings
from stack.addresses import is_loopback
from store.database import Database


def install(app: FastAPI, settings: ProcessSettings, database: Database) -> None:
    """Guard every address of the application. After the handlers of errors are installed."""
    authenticator = Authenticator(database=database, on_loopback=is_loopback(settings.ragq_api_host))
    app.state.authenticator = authenticator
    # From the inside out: what is added later stands before what was added earlier.
    app.add_middleware(Authentication, authenticator=authenticator, settings=settings)
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
