"""Parameters of requests: ids and texts, how long a request waits (Prefer, RFC 7240), and its idempotency key."""

import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BeforeValidator, WithJsonSchema

from api.context import Context
from api.security.authentication import CurrentPrincipal
from schemas.values.base import MAX_ID, Text
from services.new_runs import Submitted
from store.access import RequestKey


def _digits(text: Any) -> Any:
    if isinstance(text, str) and not (text.isascii() and text.isdecimal()):
        raise ValueError("a number has only digits")
    return text


PathId = Annotated[int, BeforeValidator(_digits), Path(ge=1, le=MAX_ID, examples=[12])]
"""The number of a thing, in its address."""

SearchWords = Annotated[Text, Query(max_length=200, examples=["baseline failed"])]
"""The words of a search."""


_WAIT: Final = re.compile(r"[0-9]{1,6}")


async def _stays() -> bool:
    return False


class WaitPreference(NamedTuple):
    """How long a request waits."""

    seconds: float | None
    """None waits until the job is done."""
    applied: str | None
    """The preference that was applied, for Preference-Applied; None without one."""
    has_left: Callable[[], Awaitable[bool]] = _stays
    """Whether the client has closed its connection."""

    @property
    def headers(self) -> dict[str, str]:
        """The header of the reply."""
        return {"Preference-Applied": self.applied} if self.applied else {}


def wait_preference_of(prefer: list[str] | None, *, longest_s: float) -> WaitPreference:
    """The wait that Prefer asks for: without a preference until the job is done, otherwise at most `longest_s` seconds.

    `respond-async` does not wait, `wait=N` waits N seconds, both together are `wait=N`. Other preferences and invalid
    ones are ignored, as RFC 7240 requires.

    >>> wait_preference_of(None, longest_s=25)[:2], wait_preference_of(["respond-async"], longest_s=25)[:2]
    ((None, None), (0.0, 'respond-async'))
    >>> wait_preference_of(["return=minimal, wait=3"], longest_s=25)[:2]
    (3.0, 'wait=3')
    """
    asked: dict[str, str] = {}
    for preference in ",".join(prefer or []).split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        asked.setdefault(name.strip().lower(), value.strip().strip('"'))
    wait = asked.get("wait", "")
    if _WAIT.fullmatch(wait):
        is_longer = float(wait) > longest_s
        return WaitPreference(longest_s, None) if is_longer else WaitPreference(float(wait), f"wait={int(wait)}")
    return WaitPreference(0.0, "respond-async") if "respond-async" in asked else WaitPreference(None, None)


async def wait(
    request: Request,
    ctx: Context,
    prefer: Annotated[
        list[str] | None,
        # OpenAPI describes a header as one string, however often it may be sent.
        WithJsonSchema({"type": "string", "examples": ["respond-async", "wait=5"]}),
        Header(
            description="`respond-async` answers 202 at once; `wait=N` waits at most N seconds (RFC 7240). Without it "
            "the reply comes when the step is done."
        ),
    ] = None,
) -> WaitPreference:
    """How long a request waits for its job: as it prefers up to the limit of the settings, or until the job is done."""
    preferred = wait_preference_of(prefer, longest_s=ctx.settings.ragq_api_wait_seconds)
    return preferred._replace(has_left=request.is_disconnected)


Wait = Annotated[WaitPreference, Depends(wait)]

#: Set on a reply to a repeated request.
REPLAYED: Final = {"Idempotency-Replayed": "true"}


def announce(response: Response, submitted: Submitted) -> None:
    """Make a reply 201 with a new run under Location, or 200 with the run of the same work."""
    response.status_code = 201 if submitted.is_new else 200
    response.headers["Location"] = f"/runs/{submitted.run_id}"
    response.headers.update(REPLAYED if submitted.is_replay else {})


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
