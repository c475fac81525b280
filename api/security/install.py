"""The middleware that guards an application."""

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware

from api.security.authentication import Authentication, Authenticator
from api.security.csrf import HEADER, set_browser_cookie
from api.security.headers import BodyLimit, HostCheck, ResponseHeaders, add_security_headers
from schemas.settings.process import ProcessSettings
from stack.ports import is_loopback
from store.database import Database


def install(app: FastAPI, settings: ProcessSettings, database: Database) -> None:
    """Guard every address of the application. Call it after the handlers of errors are installed."""
    authenticator = Authenticator(database=database, on_loopback=is_loopback(settings.ragq_api_host))
    app.state.authenticator = authenticator
    # Middleware that is added later runs earlier.
    app.add_middleware(Authentication, authenticator=authenticator, settings=settings)
    app.add_middleware(
        BodyLimit,
        kilobytes=settings.ragq_api_max_body_kb,
        upload_kilobytes=settings.ragq_api_max_upload_kb,
        seconds=settings.ragq_api_body_seconds,
    )
    app.add_middleware(HostCheck, settings=settings)
    # The middleware added above raises HTTPException as routes do, and gets the same handlers here. So do unexpected
    # errors: Starlette's own last handler re-raises them to uvicorn, which would log their messages.
    app.add_middleware(ExceptionMiddleware, handlers=app.exception_handlers)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Prefer", HEADER],
            expose_headers=[
                *("Location", "Retry-After", "Preference-Applied", "Idempotency-Replayed", "WWW-Authenticate"),
            ],
        )
    app.add_middleware(ResponseHeaders, change=set_browser_cookie)
    app.add_middleware(ResponseHeaders, change=add_security_headers)
