"""CSRF tokens of forms.

A token is a signature whose key is the value of an HttpOnly cookie of the browser: its session, or, without a login,
random bits that are set with the first form. So the server keeps no key, every process of the API accepts the same
tokens, and forms stay valid across a restart.
"""

import hashlib
import re
from typing import Final

from fastapi import HTTPException, Request
from itsdangerous import Signer
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.datastructures import MutableHeaders
from starlette.types import Scope

from api.security.authentication import SAFE_METHODS, SESSION_COOKIE, Principal
from store.access import new_secret

FIELD: Final = "csrf_token"
HEADER: Final = "X-CSRF-Token"
BROWSER_COOKIE: Final = "ragq_browser"

_PURPOSE: Final = b"form"
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")


async def csrf(request: Request) -> None:
    """Check the CSRF token of a form, in its field or in the header. For routers of pages, and where these post to.

    A request with an API token of its own needs none: no browser adds that by itself. Raises HTTPException.
    """
    principal: Principal | None = getattr(request.state, "principal", None)
    if request.method in SAFE_METHODS or (principal is not None and principal.token_in_request):
        return
    in_header = request.headers.get(HEADER)
    shown = (await request.form()).get(FIELD) if in_header is None else in_header
    secret = _secret(request)
    if secret is None or not isinstance(shown, str) or not _signer(secret).verify_signature(_PURPOSE, shown):
        raise HTTPException(
            403, "The form's CSRF token is not valid in this browser. Reload the page and send it again."
        )


def csrf_token(request: Request) -> str:
    """The token for the forms of a page. A browser without a cookie to sign it with gets one with the reply."""
    secret = _secret(request)
    if secret is None:
        secret = request.state.new_browser = new_secret()
    return _signer(secret).get_signature(_PURPOSE).decode()


@pass_context
def csrf_field(context: Context) -> Markup:
    """The hidden field for a form, in a template: `{{ csrf_field() }}`. Macros have to be imported `with context`."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, csrf_token(context["request"]))


def set_browser_cookie(scope: Scope, headers: MutableHeaders) -> None:
    """Set the cookie that a new browser's first form is bound to, where the request rendered one."""
    secret = scope.get("state", {}).get("new_browser")
    if secret is not None:
        secure = "; Secure" if scope["scheme"] == "https" else ""
        headers.append("Set-Cookie", f"{BROWSER_COOKIE}={secret}; HttpOnly; Path=/; SameSite=Strict{secure}")


def _secret(request: Request) -> str | None:
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is not None and principal.has_session:
        return request.cookies[SESSION_COOKIE]
    found: str = getattr(request.state, "new_browser", request.cookies.get(BROWSER_COOKIE, ""))
    return found if _SECRET.fullmatch(found) else None


def _signer(secret: str) -> Signer:
    return Signer(secret, salt="ragq.csrf", key_derivation="hmac", digest_method=hashlib.sha256)
