"""`/docs`: the reference of the REST API, by Swagger UI, whose files the package fastapi-offline has."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Final

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import Response

from api.security.headers import CONTENT_SECURITY_POLICY

FILES: Final = "/static/docs"
"""Where the files of Swagger UI are served."""

_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def show_reference(request: Request) -> Response:
    """Every address with its parameters, bodies and replies, which can be tried; its one inline script is allowed."""
    shown = get_swagger_ui_html(
        openapi_url=str(request.app.openapi_url),
        title="API reference · ragq",
        swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{FILES}/swagger-ui.css",
        swagger_favicon_url="/static/icon.svg",
    )
    (script,) = _INLINE.findall(bytes(shown.body))
    allowed = f"'sha256-{b64encode(sha256(script).digest()).decode()}'"
    policy = CONTENT_SECURITY_POLICY.replace("script-src 'self'", f"script-src 'self' {allowed}")
    shown.headers["Content-Security-Policy"] = policy
    return shown
