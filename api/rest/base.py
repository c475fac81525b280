"""What bodies have in common."""

import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas.values.base import Text, whole
from stages.replies.parsing import strict_object


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
        """As in any route, with a StrictRequest."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
