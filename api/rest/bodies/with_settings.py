"""Values of settings in the body of a request."""

from typing import Annotated

from pydantic import Field

from api.parameters import Text
from api.rest.bodies.base import Body

SettingValue = bool | int | float | Annotated[Text, Field(max_length=1000)]
SettingsByName = Annotated[dict[Annotated[Text, Field(max_length=100)], SettingValue], Field(max_length=200)]


class WithSettings(Body):
    """A body that may have values of settings."""

    settings: SettingsByName = Field(default={})
    """Values by name, as with `--set`."""

    @property
    def values(self) -> dict[str, str]:
        """The settings as texts, as --set takes them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in self.settings.items()
        }
