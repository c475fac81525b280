"""What bodies have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


def with_example(**fields: Any) -> ConfigDict:
    """The configuration of a body with an example in its OpenAPI description."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Body(BaseModel):
    """The body of a request: unknown fields and values of another type are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _a_number_without_a_fraction_is_whole(cls, given: Any) -> Any:
        # JSON has one kind of number: 14.0 is 14.
        return {name: _whole(value) for name, value in given.items()} if isinstance(given, dict) else given


class Reply(BaseModel):
    """The body of a reply, read from the attributes of stored values."""

    model_config = ConfigDict(from_attributes=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return [_whole(part) for part in value] if isinstance(value, list) else value
