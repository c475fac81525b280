"""Forms carry a mark that only a page of ours can know.

The mark is signed with what stands in a cookie of the browser that no script can read: its session, or, where nobody
logs in, random bits that the first form gives it. So there is no key to keep, every process of the API agrees, and a
form outlives a restart.
"""

import hashlib
import re
from typing import Annotated, Final

from fastapi import Depends, HTTPException, Request
from itsdangerous import Signer
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.security.authentication import SESSION_COOKIE, Principal
from store.access.api_tokens import new_secret

FIELD: Final = "csrf_token"
HEADER: Final = "X-CSRF-Token"
BROWSER_COOKIE: Final = "ragq_browser"

_PURPOSE: Final = b"form"
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")


async def csrf(request: Request) -> None:
    """Let a form in that carries the mark of its browser, in its field or in the header. For routes that pages post to.

    A request that shows a token itself was made by no stranger's page. Raises HTTPException.
    """
    principal = _principal(request)
    if principal is not None and principal.token_in_request:
        return
    in_header = request.headers.get(HEADER)
    shown = (await request.form()).get(FIELD) if in_header is None else in_header
    secret = _secret(request)
    if secret is None or not isinstance(shown, str) or not _signer(secret).verify_signature(_PURPOSE, shown):
        raise HTTPException(403, "The form is not one of this browser any more. Load the page again and send it anew.")


CheckedForm = Annotated[None, Depends(csrf)]


def csrf_token(request: Request) -> str:
    """What the forms of a page carry. A browser without a cookie to bind it to gets one with the reply."""
    secret = _secret(request)
    if secret is None:
        secret = request.state.new_browser = new_secret()
    return csrf_token_for(secret)


def csrf_token_for(secret: str) -> str:
    """The mark that belongs to what a cookie holds."""
    return _signer(secret).get_signature(_PURPOSE).decode()


@pass_context
def csrf_field(context: Context) -> Markup:
    """The hidden field for a form, in a template: `{{ csrf_field() }}`. Macros have to be imported `with context`."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, csrf_token(context["request"]))


class BrowserCookie:
    """Gives a browser the cookie that its first form is bound to."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As an ASGI application."""

        async def send_with_cookie(message: Message) -> None:
            secret = scope.get("state", {}).get("new_browser")
            if message["type"] == "http.response.start" and secret is not None:
                secure = "; Secure" if scope["scheme"] == "https" else ""
                cookie = f"{BROWSER_COOKIE}={secret}; HttpOnly; Path=/; SameSite=Strict{secure}"
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, send_with_cookie)


def _secret(request: Request) -> str | None:
    principal = _principal(request)
    if principal is not None and principal.has_session:
        return request.cookies[SESSION_COOKIE]
    found: str = getattr(request.state, "new_browser", request.cookies.get(BROWSER_COOKIE, ""))
    return found if _SECRET.fullmatch(found) else None


def _principal(request: Request) -> Principal | None:
    found: Principal | None = getattr(request.state, "principal", None)
    return found


def _signer(secret: str) -> Signer:
    return Signer(secret, salt="ragq.csrf", key_derivation="hmac", digest_method=hashlib.sha256)
