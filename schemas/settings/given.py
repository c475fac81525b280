"""The effective texts of settings, read from layers as pydantic-settings reads the environment."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_settings import EnvSettingsSource

from schemas.settings.base import SettingsGroup, settings_of
from schemas.settings.layers import Layer


class Given(NamedTuple):
    """The effective text of a setting, and its layer."""

    text: str
    layer: Layer


def given_in(layers: Sequence[Layer], group: type[SettingsGroup]) -> dict[str, Given]:
    """The values of a group in the layers, lowest first, by environment name."""
    given: dict[str, Given] = {}
    for layer in layers:
        reader = EnvSettingsSource(group)
        reader.env_vars = {name.lower(): text for name, text in layer.variables.items()}
        texts = reader()
        given |= {
            setting.name: Given(texts[setting.field], layer) for setting in settings_of(group) if setting.field in texts
        }
    return given
