"""The JSON object of a model's reply, read strictly."""

from typing import Any, NamedTuple

from stages.replies.strict import Pairs, strict_object
from stages.texts.zero_width import without_zero_width


class RepeatedNameError(ValueError):
    """A name occurs twice in one object, with different values."""

    def __init__(self) -> None:
        super().__init__("a name occurs twice in one object")


class ReplyObject(NamedTuple):
    """An object, and whether zero-width characters were removed from any of its names."""

    value: dict[str, Any]
    had_zero_width_names: bool


def reply_object(text: str) -> ReplyObject:
    """The JSON object in `text`; names of members have no zero-width characters.

    Raises ValueError as `strict_object` does, and RepeatedNameError for a name that is repeated with another value,
    because either value would be a guess.
    """
    members = _Members()
    value = strict_object(text, members=members)
    return ReplyObject(value, members.had_zero_width_names)


class _Members:
    """Builds each object of a text from its names and values."""

    def __init__(self) -> None:
        self.had_zero_width_names = False

    def __call__(self, pairs: Pairs) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            visible = without_zero_width(name)
            self.had_zero_width_names |= visible != name
            if members.setdefault(visible, value) != value:
                raise RepeatedNameError
        return members
