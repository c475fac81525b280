"""Presets as JSON."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, Field, StringConstraints, create_model

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, with_example
from schemas.settings.base import descriptions
from schemas.settings.preset import Preset

Name = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9 _-]{1,100}$")]
PathName = Annotated[
    str, Path(pattern="^[A-Za-z0-9 _-]{1,100}$", description="In any case of letters", examples=["Balanced"])
]
Description = Annotated[Text, StringConstraints(max_length=1000)]


def _partial(model: type[BaseModel]) -> type[Body]:
    """A body with the fields of a model, all of them optional."""
    fields: dict[str, Any] = {}
    described = descriptions(model)
    for name, info in model.model_fields.items():
        accepted: Any = info.annotation
        if isinstance(accepted, type) and issubclass(accepted, BaseModel):
            accepted = _partial(accepted)
        elif accepted is str:
            accepted = Text
        default = info.default
        # OpenAPI shows no default that comes from a factory: an absent value is not changed.
        optional = Field(default_factory=lambda default=default: default, description=described.get(name))
        fields[name] = Annotated[(accepted, *info.metadata, optional)]
    return create_model(f"Some{model.__name__}", __base__=Body, __doc__=model.__doc__, **fields)


class PresetConfig(_partial(Preset)):  # type: ignore[misc]
    """Values of a preset by group and key; absent ones are not changed."""

    model_config = with_example(augmentation={"top_n_contexts": 3})

    def values(self) -> dict[str, Any]:
        """The given values, as `group.key`."""
        groups = self.model_dump(exclude_unset=True)
        return {f"{group}.{key}": value for group, keys in groups.items() for key, value in keys.items()}


class NewPresetBody(Body):
    """A new preset: a copy of another one with some values changed."""

    preset_name: Name = Field(examples=["Small"])
    """1 to 100 letters from A to Z, digits, spaces, `-` and `_`; surrounding spaces are removed."""
    description: Description | None = Field(default=None, examples=["Few sources"])
    is_default: bool = False
    """Make it the default preset."""
    copy_of: Name | None = Field(default=None, examples=["Original"])
    """The preset to copy; by default the default preset."""
    config: PresetConfig = Field(default_factory=PresetConfig)


class PresetBody(Body):
    """What to change about a preset."""

    description: Description | None = Field(default=None, examples=["Few sources"])
    """Absent or null does not change it."""
    config: PresetConfig = Field(default_factory=PresetConfig)


class PresetReply(Reply):
    """A preset with every value."""

    id: int = Field(examples=[1])
    preset_name: str = Field(examples=["Balanced"])
    is_default: bool
    description: str | None = Field(examples=["Few chunks, read closely"])
    config: Preset
    created_at: datetime
    updated_at: datetime
