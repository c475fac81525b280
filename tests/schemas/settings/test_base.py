from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError, create_model
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import Setting, SettingsGroup, allowed_values, settings_of


class TeaSettings(SettingsGroup):
    """Settings of tea."""

    model_config = SettingsConfigDict(env_prefix="TEA_")

    cups: int = Field(default=2, ge=1, le=10)
    """Cups per pot."""
    secret_herb: str | None = Field(default=None, repr=False)
    """What nobody may read.
    Not even you."""


def test_a_setting_is_described_by_its_field() -> None:
    cups, herb = settings_of(TeaSettings)

    assert cups == Setting("TEA_CUPS", "cups", 2, is_secret=False, group=TeaSettings)
    assert (cups.allowed, cups.description) == ("a whole number from 1 to 10", "Cups per pot.")
    assert herb == Setting("TEA_SECRET_HERB", "secret_herb", None, is_secret=True, group=TeaSettings)
    assert (herb.allowed, herb.description) == ("a text", "What nobody may read.\nNot even you.")


def test_a_group_never_reads_the_environment_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEA_CUPS", "9")

    assert TeaSettings().cups == 2


def test_a_group_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TeaSettings().cups = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("annotation", "field", "words"),
    [
        (bool, Field(), "true or false"),
        (Literal["a", "b"], Field(), "a or b"),
        (int, Field(ge=0), "a whole number from 0 up"),
        (float, Field(gt=0), "a number above 0"),
        (float, Field(ge=0.5, le=1.0), "a number from 0.5 to 1"),
        (float, Field(), "a number"),
        (str, Field(json_schema_extra={"allowed": "a list"}), "a list"),
    ],
)
def test_allowed_values_are_described_in_words(annotation: Any, field: Any, words: str) -> None:
    group = create_model("Group", __base__=SettingsGroup, x=(annotation, field))

    assert allowed_values(group.model_json_schema()["properties"]["x"]) == words
