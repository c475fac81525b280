"""Examples of fields that need no pydantic until somebody describes them."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import TypeAdapter

from schemas.example import Example


@dataclass(frozen=True)
class Counted:
    """A value of one field."""

    stages: Annotated[int | None, Example(3)]


def test_an_example_is_part_of_the_description_of_its_field() -> None:
    described = TypeAdapter(Counted).json_schema()["properties"]["stages"]

    assert described["examples"] == [3]
    assert [part["type"] for part in described["anyOf"]] == ["integer", "null"]
