"""Authentication: by an API token, by the session of a browser, or by neither on loopback while no token exists.

A middleware checks every request before its body is read, for every address, those that do not exist included.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

import asyncpg
from fastapi import Depends, HTTPException, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.security.headers import host_name, is_cross_origin
from schemas.errors import StackError
from schemas.settings.process import ProcessSettings
from stack.ports import is_loopback, literal
from stages.reports.tables import UI
from store import access
from store.database import DATABASE_ERRORS, Database

SESSION_COOKIE: Final = "ragq_session"
LOGIN: Final = f"{UI}/login"
LOGOUT: Final = f"{UI}/logout"
MCP: Final = "/mcp"

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: A read-only token may end its own session, and call the tools that change nothing.
_NO_CHANGES: Final = frozenset({LOGOUT, MCP})
PUBLIC_PATHS: Final = frozenset({"/health", "/healthz", "/readyz"})
#: Public paths answer without the principal after this long.
_TIMEOUT_SECONDS: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Who sent a request."""

    name: str
    """`token:7`, for its sessions too; `open` where no authentication is needed."""
    can_write: bool
    token_in_request: bool = False
    """The request carries the token in a header, which no browser adds by itself."""
    has_session: bool = False


class Authentication:
    """Refuses requests without a principal, changes with a read-only token, and changes from other sites."""

    def __init__(self, app: ASGIApp, *, database: Database, settings: ProcessSettings) -> None:
        self.app = app
        self.database = database
        self.on_loopback = is_loopback(settings.ragq_api_host)
        self.allowed_origins = frozenset(settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application. Raises HTTPException where a problem is the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        changes = request.method not in SAFE_METHODS
        may_be_forged = changes and "authorization" not in request.headers
        if may_be_forged and is_cross_origin(request.headers, self.allowed_origins):
            raise HTTPException(
                403,
                "The request comes from a page of another site. Calls from there need an API token, and its origin has "
                "to be listed in RAGQ_API_CORS_ORIGINS.",
            )
        if _is_public(request):
            request.state.authenticate = self.authenticate
        else:
            principal = await self.authenticate(request)
            if principal is None:
                if (redirect := _redirect_to_login(request)) is not None:
                    await redirect(scope, receive, send)
                    return
                raise _unauthenticated(request)
            if changes and not principal.can_write and request.scope["path"] not in _NO_CHANGES:
                raise HTTPException(403, "The token is read-only. `ragq token create NAME` makes one that can write.")
            request.state.principal = principal
        await self.app(scope, receive, send)

    async def authenticate(self, connection: HTTPConnection) -> Principal | None:
        """The principal; None without one. At most one SQL statement. Raises StackError where tables are missing."""
        in_header = "authorization" in connection.headers
        secret = _bearer(connection) if in_header else connection.cookies.get(SESSION_COOKIE)
        may_be_open = not in_header and self.on_loopback and _is_local(connection)
        if secret is None and not may_be_open:
            return None
        try:
            token_id, scope, any_live = await self.database.once(access.recognise, secret)
        except asyncpg.UndefinedTableError:
            raise StackError("The database has no tables of ragq's API yet. `ragq db migrate` makes them.") from None
        if token_id is None:
            return Principal(name="open", can_write=True) if may_be_open and not any_live else None
        return Principal(
            name=f"token:{token_id}",
            can_write=scope is access.Scope.WRITE,
            token_in_request=in_header,
            has_session=not in_header,
        )


def _bearer(connection: HTTPConnection) -> str | None:
    """The token in the header Authorization; None without one."""
    scheme, _, bearer = connection.headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else None


async def current_principal(request: Request) -> Principal:
    """Who sent the request. Not for public paths."""
    principal: Principal = request.state.principal
    return principal


async def optional_principal(request: Request) -> Principal | None:
    """Who sent a request to a public path; None without authentication, and while the database is unavailable."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            found: Principal | None = await request.state.authenticate(request)
            return found
    except StackError:
        return None
    except DATABASE_ERRORS:
        return None


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]
OptionalPrincipal = Annotated[Principal | None, Depends(optional_principal)]


def shows_pages(request: Request) -> bool:
    """Whether an address answers with a page: those under UI always; those of questions, the first and `/docs` to
    clients that accept `text/html` by name, which `*/*` does not, and to htmx."""
    path = f"{request.scope['path']}/"
    if path.startswith(f"{UI}/"):
        return True
    wants_html = "text/html" in request.headers.get("accept", "") or request.headers.get("hx-request") == "true"
    return wants_html and (path in ("//", "/docs/") or path.startswith("/rag/"))


def _is_local(connection: HTTPConnection) -> bool:
    """Both the client's address and the Host are of this machine: a proxy would send another Host."""
    client = connection.client
    address = None if client is None else literal(client.host)
    name = host_name(connection.headers.get("host", "")) or ""
    is_own_name = name == "localhost" or (literal(name) is not None and is_loopback(name))
    return is_own_name and address is not None and is_loopback(str(address))


def _is_public(request: Request) -> bool:
    path = request.scope["path"]
    is_read = request.method in SAFE_METHODS
    return path == LOGIN or path.startswith("/static/") or (path in PUBLIC_PATHS and is_read)


def _redirect_to_login(request: Request) -> RedirectResponse | None:
    """A redirect to the login page for a browser without a token; None for other clients."""
    if not shows_pages(request) or "authorization" in request.headers or "hx-request" in request.headers:
        return None
    # A form cannot be sent again after the login, and the query of an address may hold text of a question.
    return RedirectResponse(_login_address(request.scope["path"] if request.method in SAFE_METHODS else None), 303)


def _unauthenticated(request: Request) -> HTTPException:
    headers = {"WWW-Authenticate": 'Bearer realm="ragq"'}
    if "hx-request" in request.headers:
        headers["HX-Redirect"] = _login_address(urlsplit(request.headers.get("hx-current-url", "")).path or None)
    return HTTPException(
        401,
        "A live token is needed: `ragq token create NAME` makes one. Send `Authorization: Bearer TOKEN`, or log in.",
        headers=headers,
    )


def _login_address(next_path: str | None) -> str:
    return LOGIN if next_path is None else f"{LOGIN}?next={quote(next_path)}"
