"""The base of every value."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Generic, NamedTuple, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

MAX_ID: Final = 2**53 - 1
"""The largest number of a thing: the largest integer that every reader of JSON keeps exact."""

Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
"""A text that can be stored: Postgres takes every character but NUL."""


def whole(given: Any) -> Any:
    """A number as JSON has it, which knows one kind: 14.0 is 14, in lists too."""
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return [whole(part) for part in given] if isinstance(given, list) else given


PLAIN_ID: Final = r"^[A-Za-z0-9._:-]{1,64}$"
"""An id that may appear in messages, logs and Flower, which no text of a subject may."""


def _digits(given: Any) -> Any:
    number = whole(given)
    return str(number) if type(number) is int else given


NumberAsText = BeforeValidator(_digits)
"""Has pydantic read a whole number as its digits, for ids."""


def can_be_stored(text: str) -> bool:
    """Whether the text is free of NUL characters and of halves of surrogate pairs, which JSON escapes can contain.

    >>> [can_be_stored(text) for text in ("up at three", "up at \\0 three", "\\ud83d")]
    [True, False, False]
    """
    return not any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in text)


def _stored(text: str) -> str:
    if not can_be_stored(text):
        raise PydanticCustomError("cannot_be_stored", "Text has a NUL character or half of a surrogate pair")
    return text


Storable = AfterValidator(_stored)
"""Has pydantic refuse text of which `can_be_stored` is not true."""


class Value(BaseModel):
    """A frozen value. Unknown fields are refused, so that a stored output of another version is never read in part.

    Errors about a value never quote the input, which may be text of a subject.
    """

    # A command uses few of the values that it imports: each is built when it is first used.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        defer_build=True,
    )


Row = TypeVar("Row")


class Listed(Value, Generic[Row]):
    """What is stored of a kind, or a page of it: what a command prints as JSON, and the API replies with."""

    items: tuple[Row, ...]
    total: int | None = None
    """How many there are with the same filters, on all pages; null where they are not counted."""
    next: dict[str, int] | None = Field(default=None, examples=[{"before": 17}])
    """The parameter that leads to the next page; null after the last."""

    @classmethod
    def whole(cls, items: Sequence[Row]) -> Self:
        """All that there is."""
        return cls(items=tuple(items), total=len(items))


class Embedded(Value):
    """The texts that a stage `embed` embedded. The vectors are stored separately, one per text, in order."""

    model: str
    model_digest: str
    dimension: int
    dtype: str = ""
    """The number format that the embedder computed in; empty without texts, or if its server reports none."""
    cut_texts: int = 0
    """Texts that are longer than the embedder reads, and were cut."""
    reused_texts: int = 0
    """Texts whose vectors were stored before, and were not computed again."""


class Request(Value):
    """What somebody asks for, in a command, a form or a body of the API, which takes none that is yet to be built."""

    model_config = ConfigDict(defer_build=False)


class Problem(NamedTuple):
    """What is wrong with a value that somebody typed."""

    field: str | None
    """None where several fields do not fit together."""
    words: str
    """A sentence."""


def first_problem(error: ValidationError) -> Problem:
    """The first of the problems of a value."""
    found = error.errors(include_input=False, include_url=False)[0]
    limits = found.get("ctx", {})
    match found["type"]:
        case "int_parsing" | "int_from_float":
            words = "write a whole number"
        case "float_parsing":
            words = "write a number"
        case "greater_than_equal":
            words = f"the smallest number is {limits['ge']}"
        case "greater_than":
            words = f"write a number above {limits['gt']}"
        case "less_than_equal":
            words = f"the largest number is {limits['le']}"
        case "less_than":
            words = f"write a number below {limits['lt']}"
        case "string_too_short" if limits["min_length"] == 1:
            words = "it cannot be empty"
        case "string_too_long":
            words = f"write at most {limits['max_length']} characters"
        case _:
            words = found["msg"].removeprefix("Value error, ")
    return Problem(str(found["loc"][0]) if found["loc"] else None, f"{words[:1].upper()}{words[1:]}.")
