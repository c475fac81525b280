"""`/login` and `/logout`: a session of a browser, opened by an API token."""

import math
import re
import time
from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import RedirectResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.responses import Response

from api.context import Context
from api.rendering import page
from api.security.authentication import LOGIN, LOGOUT, SESSION_COOKIE, CurrentPrincipal
from api.security.csrf import CheckedForm
from store.access.api_sessions import end_session, open_session

START: Final = "/rag"
TRIES: Final = RateLimitItemPerMinute(10)

# A path on this server: browsers read two slashes, or a backslash, as another site, and drop line ends.
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


class LoginLimit:
    """Limits the login attempts of an address to 10 in any minute.

    Each process counts for itself. A token of 256 bits cannot be guessed at any rate, and a count that all processes
    share would make login depend on one more server.
    """

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def note(self, address: str) -> None:
        """Count an attempt. Raises HTTPException for one too many."""
        if not self._limiter.hit(TRIES, address):
            opens_at = self._limiter.get_window_stats(TRIES, address).reset_time
            wait_s = max(1, math.ceil(opens_at - time.time()))
            raise HTTPException(
                429, f"Too many login attempts. Try again in {wait_s} s.", headers={"Retry-After": str(wait_s)}
            )


def make_router(limit: LoginLimit) -> APIRouter:
    """The routes of login and logout."""
    router = APIRouter(include_in_schema=False)

    @router.get(LOGIN)
    async def login_page(request: Request, next: str = START) -> Response:
        return _login_page(request, next)

    @router.post(LOGIN)
    async def login(
        request: Request,
        ctx: Context,
        _form: CheckedForm,
        token: Annotated[str, Form(max_length=200)],
        next: Annotated[str, Form()] = START,
    ) -> Response:
        limit.note("" if request.client is None else request.client.host)
        lifetime = timedelta(hours=ctx.settings.ragq_api_session_hours)
        async with ctx.database.connection() as connection:
            session = await open_session(connection, token.strip(), lifetime=lifetime)
        if session is None:
            return _login_page(request, next, status=401, failed=True)
        reply = RedirectResponse(_local(next), 303)
        _set_cookie(request, reply, session, int(lifetime.total_seconds()))
        return reply

    @router.post(LOGOUT)
    async def logout(request: Request, ctx: Context, principal: CurrentPrincipal, _form: CheckedForm) -> Response:
        if principal.has_session:
            async with ctx.database.connection() as connection:
                await end_session(connection, request.cookies[SESSION_COOKIE])
        reply = RedirectResponse(LOGIN, 303)
        _set_cookie(request, reply, "", 0)
        return reply

    return router


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
