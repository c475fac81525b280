"""What requests and replies have in common: bodies, ids, waiting (Prefer, RFC 7240), and idempotency keys."""

import json
from collections.abc import Callable, Coroutine
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

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

    settings: SettingsByName = Field(default={}, examples=[{"retrieval.min_word_count": 0}])
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


async def responds_at_once(
    prefer: Annotated[
        list[str] | None,
        # OpenAPI describes a header as one string, however often it may be sent.
        WithJsonSchema({"type": "string", "examples": ["respond-async"]}),
        Header(
            description="`respond-async` answers 202 at once (RFC 7240). Without it the reply comes when the step is "
            "done."
        ),
    ] = None,
) -> bool:
    """Whether a client prefers not to wait. Other preferences are ignored, as RFC 7240 requires."""
    asked = ",".join(prefer or []).split(",")
    return any(one.partition(";")[0].strip().lower() == "respond-async" for one in asked)


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


def base_name(name: str) -> str:
    """The name of a file without its folders, of either kind of system.

    >>> base_name("C:\\\\works\\\\tea.md"), base_name("works/tea.md")
    ('tea.md', 'tea.md')
    """
    return PurePosixPath(name.replace("\\", "/")).name
