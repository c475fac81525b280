"""A small bonus for passages whose heading level and length suit the intent of the query."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from schemas.values.queries import Intent

_LENGTH_BOOST = 0.01


class IntentPreference(NamedTuple):
    """The heading levels and the length that answers to queries of one intent tend to have."""

    levels: frozenset[str]
    level_boost: float
    has_length: Callable[[int], bool]


def _short(chars: int) -> bool:
    return chars < 500


def _medium(chars: int) -> bool:
    return 400 <= chars <= 900


def _long(chars: int) -> bool:
    return chars > 800


PREFERENCES: Final[Mapping[str, IntentPreference]] = {
    Intent.DEFINITION: IntentPreference(frozenset({"H2", "H3"}), 0.03, _short),
    Intent.MECHANISM: IntentPreference(frozenset({"H3", "H4", "chunk"}), 0.02, _long),
    Intent.COMPARISON: IntentPreference(frozenset({"H2", "H3"}), 0.02, _medium),
    Intent.APPLICATION: IntentPreference(frozenset({"H4", "chunk", "sentence"}), 0.02, _medium),
    Intent.STUDY_DETAIL: IntentPreference(frozenset({"H4", "chunk"}), 0.03, _long),
    Intent.CRITIQUE: IntentPreference(frozenset({"H3", "H4"}), 0.02, _medium),
}


def intent_boost(intent: str | None, *, level: str, chars: int) -> float:
    """The bonus for the level of the chunk's heading, plus the one for the length of the ranked text; 0 without one of
    these intents.

    `H2-chunk`, content under a heading of level 2, counts as `H2`.

    >>> intent_boost(Intent.DEFINITION, level="H2-chunk", chars=499)
    0.04
    """
    preference = PREFERENCES.get(intent or "")
    if preference is None:
        return 0.0
    level_boost = preference.level_boost if level.removesuffix("-chunk") in preference.levels else 0.0
    return level_boost + (_LENGTH_BOOST if preference.has_length(chars) else 0.0)
