"""The base of every value."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value. Unknown fields are refused, so that a stored output of another version is never read in part.

    Errors about a value never quote the input, which may be text of a subject.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, use_attribute_docstrings=True
    )


class PlainValue:
    """A dataclass that pydantic, where it reads one, reads as strictly as the value that it is a part of."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}
