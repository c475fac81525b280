"""Messages for problems with settings: all at once, each with its name, its origin and the allowed values."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from reprlib import Repr
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from schemas.settings.allowed_values import allowed
from schemas.settings.base import Setting
from schemas.settings.layers import Layer

Model = TypeVar("Model", bound=BaseModel)

_SHORT = Repr()
_SHORT.maxstring = 80


def disagreement(message: str, *names: str) -> PydanticCustomError:
    """The error of a validator for valid values that conflict; `names` are environment names."""
    return PydanticCustomError("disagreement", "{message}", {"message": message, "names": names})


def unusable_value(setting: Setting, value: object, origin: str) -> str:
    """A value that the setting does not accept. The value of a secret is omitted."""
    found = "has a value" if setting.is_secret else f"is {_SHORT.repr(value)}"
    return f"{setting.name} {found} ({origin}); allowed is {allowed(setting)}."


def unknown_name(name: str, origin: str, known: Iterable[str]) -> str:
    """A name that no setting has. Its value is omitted: it may be a secret under a misspelt name."""
    nearest = get_close_matches(name.upper(), list(known), n=1)
    return misspelt_name(name, origin, nearest[0]) if nearest else f"{name} ({origin}) is not a setting; remove it."


def unknown_names(layer: Layer, *, prefixes: tuple[str, ...], known: Collection[str]) -> list[str]:
    """One problem for every unknown name of the layer that starts with one of the prefixes."""
    return [
        unknown_name(name, layer.origin, known)
        for name in layer.variables
        if name.startswith(prefixes) and name not in known
    ]


def misspelt_name(name: str, origin: str, meant: str) -> str:
    """A name that is near the name of a setting."""
    return f"{name} ({origin}) is not a setting; did you mean {meant}?"


def without_effect(name: str, origin: str, instead: str) -> str:
    """A name that ragq knows and has no use for. Its value is omitted: it may be a secret."""
    return f"{name} ({origin}) has no effect: {instead}."


def checked(
    model: type[Model],
    values: Mapping[str, Any],
    *,
    settings: Mapping[Any, Setting],
    origins: Mapping[str, str],
) -> tuple[Model | None, list[str]]:
    """The model with these values, or None and every problem with them.

    `settings` are keyed by pydantic's error location, a tuple of names; `origins` has the source of the value for every
    environment name.
    """
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        # A value that fits no kind of several is reported once per kind.
        return None, list(dict.fromkeys(_message(found, settings, origins) for found in error.errors()))


def _message(found: ErrorDetails, settings: Mapping[Any, Setting], origins: Mapping[str, str]) -> str:
    if found["type"] == "disagreement":
        where = "; ".join(f"{name}: {origins[name]}" for name in found["ctx"]["names"])
        return f"{found['msg']} ({where})."
    location = found["loc"]
    setting = settings[location] if location in settings else settings[location[:-1]]
    return unusable_value(setting, found["input"], origins[setting.name])
