"""The base of values that are read without pydantic, and may be part of those that it reads."""

from typing import Any, ClassVar


class PlainValue:
    """A dataclass in which pydantic, where it reads one, refuses unknown fields, as in every other value."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
