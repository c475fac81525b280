"""What tests of adapters close."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

Closing = Callable[[Any], Any]


@pytest.fixture
async def closing() -> AsyncIterator[Closing]:
    """Gives back what it is given, and closes it at the end of the test."""
    made: list[Any] = []

    def keep(one: Any) -> Any:
        made.append(one)
        return one

    yield keep
    for each in made:
        await each.close()
