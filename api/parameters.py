"""What requests and replies have in common: bodies, ids, waiting (Prefer, RFC 7240), and idempotency keys."""

import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from hashlib import sha256
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from api.context import Context
from api.security.authentication import CurrentPrincipal
from schemas.values.base import MAX_ID, Text, whole
from services.new_runs import Submitted
from stages.replies.parsing import strict_object
from store.access import RequestKey


def with_example(**fields: Any) -> ConfigDict:
    """The configuration of a body with an example in its OpenAPI description."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Body(BaseModel):
    """The body of a request: unknown fields and values of another type are refused."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _a_number_without_a_fraction_is_whole(cls, given: Any) -> Any:
        return {name: whole(value) for name, value in given.items()} if isinstance(given, dict) else given


class Reply(BaseModel):
    """The body of a reply, read from the attributes of stored values."""

    model_config = ConfigDict(from_attributes=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


SettingValue = bool | int | float | Annotated[Text, Field(max_length=1000)]
SettingsByName = Annotated[dict[Annotated[Text, Field(max_length=100)], SettingValue], Field(max_length=200)]


class WithSettings(Body):
    """A body that may have values of settings."""

    settings: SettingsByName = Field(default={})
    """Values by name, as with `--set`."""

    @property
    def values(self) -> dict[str, str]:
        """The settings as texts, as --set takes them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.settings.items()
        }


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The object in the body, or None for `null`, which is as good as no body.

        Raises JSONDecodeError, which becomes a problem as any invalid part does.
        """
        body = await self.body()
        try:
            return None if body.strip() == b"null" else strict_object(body.decode())
        except ValueError as error:
            found = "not UTF-8" if isinstance(error, UnicodeError) else str(error)
            raise json.JSONDecodeError(found, "", 0) from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


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
