"""The header Idempotency-Key: a request that is sent twice creates one thing, and gets the same reply."""

from hashlib import sha256
from typing import Annotated, Final

from fastapi import Depends, Header, Request

from api.security.authentication import CurrentPrincipal
from store.access.idempotency import RequestKey

#: Set on a reply to a repeated request.
REPLAYED: Final = {"Idempotency-Replayed": "true"}


async def request_key(
    request: Request,
    principal: CurrentPrincipal,
    idempotency_key: Annotated[
        str | None,
        Header(
            pattern=r"^[\x21-\x7e]{1,255}$",
            description="1 to 255 visible ASCII characters that the client chooses, such as a UUID. For 24 hours the "
            "same request with the same key creates nothing new, and its reply is about what was created first.",
            examples=["8e0f6a52-1b7c-4f7e-9d2b-5f3c1a60c9de"],
        ),
    ] = None,
) -> RequestKey | None:
    """The key of a request, with a hash of its method, address and body; None without the header."""
    if idempotency_key is None:
        return None
    target = f"{request.method} {request.scope['path']}".encode()
    hashed = sha256(b"\n".join((target, request.scope["query_string"], await request.body())))
    return RequestKey(principal=principal.name, key=idempotency_key, request_hash=hashed.hexdigest())


Keyed = Annotated[RequestKey | None, Depends(request_key)]
