"""Settings whose feature is not built yet. Asking for one is refused; a feature that arrives takes its line away."""

from collections.abc import Mapping

from schemas.settings.layers import Given
from schemas.settings.run import RUN_SETTINGS

ABSENT = {
    "EMBEDDING_ENABLE_ITEM_TAG_FILTER": "the item tag filter",
    "EMBEDDING_REFERENCE_SCORE_SOURCE": "scoring by chunk",
}
"""What is missing, by the setting that would ask for it with any value but its default."""


def asked_for_absent(given: Mapping[str, Given]) -> list[str]:
    """One problem for every given value that asks for a feature which this version does not have."""
    problems = []
    for name, feature in ABSENT.items():
        setting = RUN_SETTINGS[name]
        if name in given and setting.differs_from_default(given[name].text):
            problems.append(
                f"{name} is {given[name].text!r} ({given[name].layer.origin}), but {feature} is not part of this "
                f"version; set it to {str(setting.default).lower()}."
            )
    return problems
