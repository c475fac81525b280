"""Sessions of clients that keep no token, such as a page of another origin: opened by a token, sent as a bearer."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request
from pydantic import Field, StringConstraints

from api.context import Context
from api.parameters import Body, Reply, StrictRoute, with_example
from api.security.authentication import CURRENT_SESSION, SESSIONS, bearer_of
from store.access import end_session, open_session

router = APIRouter(tags=["sessions"], route_class=StrictRoute)


class TokenBody(Body):
    """The token that opens a session."""

    model_config = with_example(token="ragq_3q2-7wWv...")

    token: Annotated[str, StringConstraints(max_length=200)] = Field(repr=False)


class SessionReply(Reply):
    """A session."""

    session: str = Field(repr=False)
    """Send it as `Authorization: Bearer SESSION`. It may do what its token may."""
    expires_in: int
    """Seconds until it ends (RAGQ_API_SESSION_HOURS); it ends earlier with its token."""


@router.post(SESSIONS, status_code=201)
async def create_session(body: TokenBody, request: Request, ctx: Context) -> SessionReply:
    """Exchange a token for a session that ends by itself, so that a page of another origin does not keep the token.

    Pages of origins that RAGQ_API_CORS_ORIGINS does not list get 403. An address may try 10 tokens a minute.
    """
    ctx.login_limit.note(request)
    lifetime = timedelta(hours=ctx.settings.ragq_api_session_hours)
    session = await ctx.database.once(open_session, body.token.strip(), lifetime=lifetime)
    if session is None:
        raise HTTPException(
            401, "The token is not valid. `ragq token list` lists those that are, `ragq token create NAME` makes one."
        )
    return SessionReply(session=session, expires_in=int(lifetime.total_seconds()))


@router.delete(CURRENT_SESSION, status_code=204)
async def delete_session(request: Request, ctx: Context) -> None:
    """End the session that the request sends. A token that is sent instead stays valid."""
    await ctx.database.once(end_session, bearer_of(request) or "")
