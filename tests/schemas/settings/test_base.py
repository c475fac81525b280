from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import TypeAdapter

from schemas.settings.base import Allowed, allowed_values


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool, "true or false"),
        (Literal["a", "b"], "a or b"),
        (Annotated[int, Ge(0)], "a whole number from 0 up"),
        (Annotated[float, Gt(0)], "a number above 0"),
        (Annotated[float, Ge(0.5), Le(1.0)], "a number from 0.5 to 1"),
        (float, "a number"),
        (Annotated[str, Allowed("a list")], "a list"),
    ],
)
def test_allowed_values_are_described_in_words(annotation: Any, words: str) -> None:
    assert allowed_values(TypeAdapter(annotation).json_schema()) == words
