"""Rules for all request bodies."""

import pytest
from pydantic import ValidationError

from api.rest.base import Body


class Numbers(Body):
    """A body with every kind of number."""

    one: int = 0
    some: list[int] | None = None
    weight: float = 0.0


def test_a_number_without_a_fraction_is_whole() -> None:
    read = Numbers.model_validate({"one": 14.0, "some": [2.0, 3], "weight": 1.0})
    assert read.model_dump_json() == '{"one":14,"some":[2,3],"weight":1.0}'


@pytest.mark.parametrize("given", [14.5, True, "14", None])
def test_nothing_else_is_accepted_as_a_whole_number(given: object) -> None:
    with pytest.raises(ValidationError):
        Numbers.model_validate({"one": given})
