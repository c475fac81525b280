"""The effective texts of settings, read from layers."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.settings.layers import Layer


class Given(NamedTuple):
    """The effective text of a setting, and its layer."""

    text: str
    layer: Layer


def given_in(layers: Sequence[Layer], names: Iterable[str]) -> dict[str, Given]:
    """The texts of settings in the layers, lowest first, by environment name."""
    return {name: Given(layer.variables[name], layer) for layer in layers for name in names if name in layer.variables}
