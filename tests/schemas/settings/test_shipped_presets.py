"""The values of the presets that ragq comes with, which a list of presets shows without checking them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.settings.preset import PRESET_SETTINGS, Preset, preset_of
from schemas.settings.shipped_presets import BALANCED, ORIGINAL, as_shipped

MIXTURES = st.fixed_dictionaries(
    {name: st.sampled_from([value, ORIGINAL.get(name, value)]) for name, value in BALANCED.items()}
)


def kinds(values: dict[str, Any]) -> list[tuple[str, type, Any]]:
    return [(name, type(value), value) for name, value in values.items()]


def test_those_of_balanced_are_the_defaults_of_a_preset_in_its_order() -> None:
    assert kinds(BALANCED) == kinds(Preset().values())
    assert list(BALANCED) == list(PRESET_SETTINGS)


@given(MIXTURES)
def test_any_mixture_is_what_a_check_makes_of_it(values: dict[str, Any]) -> None:
    shipped = as_shipped(dict(reversed(values.items())))

    assert shipped is not None
    assert kinds(shipped) == kinds(preset_of(values, origin="test").values())


@pytest.mark.parametrize(
    "other",
    [
        {"retrieval.dense_limit": 25},
        {"retrieval.dense_limit": None},
        {"retrieval.bm25_k1": None},
        {"retrieval.late_weight": 0},
        {"expansion.enabled": 1},
        {"retrieval.telepathy": True},
    ],
)
def test_other_values_are_left_to_a_check(other: dict[str, Any]) -> None:
    assert as_shipped(BALANCED | other) is None


def test_values_of_an_older_version_are_left_to_a_check() -> None:
    assert as_shipped({name: value for name, value in BALANCED.items() if name != "retrieval.late_weight"}) is None
