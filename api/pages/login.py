"""`/ui/login` and `/ui/logout`: a session of a browser, opened by an API token."""

import re
from datetime import timedelta
from typing import Annotated, Final

from fastapi import Form, HTTPException, Request
from fastapi.responses import RedirectResponse
from limits import RateLimitItemPerMinute
from starlette.responses import Response

from api.context import Context
from api.pages.forms import page_router
from api.rendering import page
from api.security.authentication import LOGIN, LOGOUT, SESSION_COOKIE, CurrentPrincipal
from store.access import end_session, open_session

START: Final = "/rag"

# A path on this server: browsers read two slashes, or a backslash, as another site, and drop line ends.
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")

#: Login attempts of an address. Each process counts for itself: a token of 256 bits cannot be guessed at any rate, and
#: a count that all processes share would make login depend on one more server.
TRIES: Final = RateLimitItemPerMinute(10)

router = page_router()


@router.get(LOGIN)
async def login_page(request: Request, next: str = START) -> Response:
    """The form for a token."""
    return _login_page(request, next)


@router.post(LOGIN)
async def login(
    request: Request, ctx: Context, token: Annotated[str, Form(max_length=200)], next: Annotated[str, Form()] = START
) -> Response:
    """Open a session by a token, and continue where the browser wanted to go."""
    if not ctx.logins.hit(TRIES, "" if request.client is None else request.client.host):
        again = {"Retry-After": str(TRIES.get_expiry())}
        raise HTTPException(429, "Too many login attempts. Try again in a minute.", headers=again)
    lifetime = timedelta(hours=ctx.settings.ragq_api_session_hours)
    session = await ctx.database.once(open_session, token.strip(), lifetime=lifetime)
    if session is None:
        return _login_page(request, next, status=401, failed=True)
    reply = RedirectResponse(_local(next), 303)
    _set_cookie(request, reply, session, int(lifetime.total_seconds()))
    return reply


@router.post(LOGOUT)
async def logout(request: Request, ctx: Context, principal: CurrentPrincipal) -> Response:
    """End the session."""
    if principal.has_session:
        await ctx.database.once(end_session, request.cookies[SESSION_COOKIE])
    reply = RedirectResponse(LOGIN, 303)
    _set_cookie(request, reply, "", 0)
    return reply


def _login_page(request: Request, next_path: str, *, status: int = 200, failed: bool = False) -> Response:
    return page(request, "login.html.j2", status=status, next_path=_local(next_path), failed=failed)


def _local(path: str) -> str:
    return path if _LOCAL_PATH.fullmatch(path) else START


def _set_cookie(request: Request, reply: Response, session: str, seconds: int) -> None:
    reply.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
