"""The values that a step is to be taken with: a preset, and values that win over it, in the query or in the body."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, Query
from pydantic import StringConstraints

from api.rest.bodies.rag_steps import StepOptions
from schemas.errors import QueryValueError

Given = TypeVar("Given")

ConfigPreset = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=100,
        pattern=r"^[^\x00]*$",
        description="Continue with this preset. A run keeps its settings: the question moves to a new run, unless its "
        "run has these values, and stages whose values differ run again.",
        examples=["Original"],
    ),
]

Settings = Annotated[
    list[Annotated[str, StringConstraints(max_length=300, pattern=r"^[a-z_.0-9]{1,100}=[^\x00]*$")]] | None,
    Query(
        max_length=100,
        description="Values that win over those of the preset, as `NAME=VALUE`; repeatable.",
        examples=[["retrieval.min_word_count=0"]],
    ),
]


class StepValues(NamedTuple):
    """Arguments of `run_stages` and `take_step`."""

    preset: str | None
    values: Mapping[str, Any]

    def with_body(self, body: StepOptions) -> "StepValues":
        """These and those of the body. Raises QueryValueError for a value that both have, differently."""
        preset = either("config_preset", self.preset, body.config_preset)
        in_body = body.settings or {}
        for name in self.values.keys() & in_body.keys():
            either("settings", self.values[name], str(in_body[name]))
        return StepValues(preset, {**self.values, **in_body})


def _in_query(config_preset: ConfigPreset = None, settings: Settings = None) -> StepValues:
    pairs = (text.partition("=") for text in settings or ())
    return StepValues(config_preset, {name: value for name, _, value in pairs})


InQuery = Annotated[StepValues, Depends(_in_query)]
"""The values in the query of a request."""


def either(name: str, in_query: Given | None, in_body: Given | None) -> Given | None:
    """The one that is given. Raises QueryValueError when both are and differ."""
    if in_query is not None and in_body is not None and in_query != in_body:
        raise QueryValueError(name, "differs between the query and the body; give it once")
    return in_body if in_query is None else in_query
