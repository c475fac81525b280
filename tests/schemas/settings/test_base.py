from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import TypeAdapter

from schemas.settings.base import Allowed, SettingsGroup, allowed_values


@dataclass(frozen=True, kw_only=True, slots=True)
class TeaSettings(SettingsGroup):
    """Settings of tea."""

    prefix: ClassVar = "TEA_"

    cups: Annotated[int, Ge(1), Le(10)] = 2
    """Cups per pot."""
    secret_herb: str | None = field(default=None, repr=False)
    """What nobody may read.
    Not even you."""


def test_a_group_never_reads_the_environment_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_CUPS", "9")

    assert TeaSettings().cups == 2


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
