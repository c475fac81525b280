from dataclasses import FrozenInstanceError, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import TypeAdapter

from schemas.settings.allowed_values import allowed, allowed_values
from schemas.settings.base import Allowed, Setting, SettingsGroup, settings_of


@dataclass(frozen=True, kw_only=True, slots=True)
class TeaSettings(SettingsGroup):
    """Settings of tea."""

    prefix: ClassVar = "TEA_"

    cups: Annotated[int, Ge(1), Le(10)] = 2
    """Cups per pot."""
    secret_herb: str | None = field(default=None, repr=False)
    """What nobody may read.
    Not even you."""


def test_a_setting_is_described_by_its_field() -> None:
    cups, herb = settings_of(TeaSettings)

    assert cups == Setting("TEA_CUPS", "cups", 2, is_secret=False, group=TeaSettings)
    assert (allowed(cups), cups.description) == ("a whole number from 1 to 10", "Cups per pot.")
    assert herb == Setting("TEA_SECRET_HERB", "secret_herb", None, is_secret=True, group=TeaSettings)
    assert (allowed(herb), herb.description) == ("a text", "What nobody may read.\nNot even you.")


def test_a_group_never_reads_the_environment_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_CUPS", "9")

    assert TeaSettings().cups == 2


def test_a_group_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        TeaSettings().cups = 3  # type: ignore[misc]


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
