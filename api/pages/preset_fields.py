"""The form fields of a preset: one for each value, with the control that suits its range."""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from schemas.settings.allowed_values import allowed, field_schemas
from schemas.settings.preset_groups import PRESET_GROUPS, PRESET_SETTINGS

#: A slider of a wider range could not be set to one value.
_WIDEST_SLIDER: Final = 5000


class Control(StrEnum):
    """What a value is edited with."""

    SWITCH = "switch"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"


class PresetField(NamedTuple):
    """A value of a preset."""

    name: str
    """`retrieval.dense_limit`."""
    key: str
    """`dense_limit`."""
    description: str
    allowed: str
    control: Control
    choices: tuple[str, ...]
    least: int | float | None
    most: int | float | None
    is_whole: bool

    @property
    def step(self) -> int | float | None:
        """The step of a slider; None for a field without one."""
        if self.least is None or self.most is None or self.most - self.least > _WIDEST_SLIDER:
            return None
        return 1 if self.is_whole else (self.most - self.least) / 100


class FieldGroup(NamedTuple):
    """The values of one group."""

    name: str
    description: str
    fields: tuple[PresetField, ...]


def _field(name: str, schema: dict[str, Any]) -> PresetField:
    setting = PRESET_SETTINGS[name]
    kinds = {"boolean": Control.SWITCH, "integer": Control.NUMBER, "number": Control.NUMBER}
    return PresetField(
        name=name,
        key=setting.field,
        description=setting.description,
        allowed=allowed(setting),
        control=Control.CHOICE if "enum" in schema else kinds.get(schema["type"], Control.TEXT),
        choices=tuple(schema.get("enum", ())),
        least=schema.get("minimum"),
        most=schema.get("maximum"),
        is_whole=schema["type"] == "integer",
    )


def _groups() -> tuple[FieldGroup, ...]:
    return tuple(
        FieldGroup(
            name,
            group.__doc__ or "",
            tuple(_field(f"{name}.{key}", schema) for key, schema in field_schemas(group).items()),
        )
        for name, group in PRESET_GROUPS.items()
    )


GROUPS: Final = _groups()
