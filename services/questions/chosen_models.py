"""The models of new questions that were chosen for everybody, where no setting names others."""

from typing import Final

from schemas.errors import Refused
from schemas.settings.layers import BELOW_CHOSEN
from schemas.settings.resolve import EffectiveSettings
from store.database import Connection
from store.questions import chosen_settings

_FULL: Final = "RAGQ_QUERY_MODEL"
_LIGHT: Final = "RAGQ_QUERY_LIGHT_MODEL"


async def with_chosen_models(connection: Connection, settings: EffectiveSettings) -> EffectiveSettings:
    """The settings with the chosen models, where the environment, a .env file or the request names no others."""
    return settings.with_chosen(await chosen_settings.chosen(connection))


async def choose_models(
    connection: Connection, settings: EffectiveSettings, *, full: str | None, light: str | None
) -> EffectiveSettings:
    """Choose the models of new questions; None leaves one as it is, and an empty text removes the choice.

    Raises Refused, and stores nothing, when the environment or a .env file sets one of them to another.
    """
    known = await chosen_settings.chosen(connection)
    values = {}
    if full is not None and full != settings.with_chosen(known).run.query_model:
        values[_FULL] = full
    if light is not None and light != settings.with_chosen(known | values).run.query_light_model:
        values[_LIGHT] = light
    fixed = [f"{name} ({settings.sources[name]})" for name in values if settings.sources[name] not in BELOW_CHOSEN]
    if fixed:
        raise Refused(
            f"The settings of the server name other models: {', '.join(fixed)}. Change these variables, or remove them "
            "to choose models here."
        )
    await chosen_settings.choose(connection, values)
    return await with_chosen_models(connection, settings)
