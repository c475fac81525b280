"""The base of values that are read without pydantic, and may be part of those that it reads."""

from typing import Any, ClassVar


class PlainValue:
    """A dataclass that pydantic, where it reads one, reads as strictly as the value that it is a part of."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "allow_inf_nan": False}
