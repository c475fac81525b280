"""Examples of fields for the description of the API, on values that are read without pydantic."""

from collections.abc import Callable
from typing import Any


class Example:
    """The example of a field, as in `stages: Annotated[int, Example(3)]`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get_pydantic_json_schema__(
        self, core_schema: dict[str, Any], handler: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        return handler(core_schema) | {"examples": [self.value]}
