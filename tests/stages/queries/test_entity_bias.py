"""The bonus for entities (row B 3)."""

import pytest

from stages.queries.ranking import entity_boost


@pytest.mark.parametrize(
    ("entities", "boost"),
    [
        (("oxidation",), 0.05),
        (("Oxidation", "BLACK TEA"), 0.10),
        (("oxid",), 0.05),  # parts of words count
        (("oolong",), 0.0),
        (("tea", "Tea", " tea "), 0.05),  # named several times
        (("", " "), 0.0),
        ((), 0.0),
    ],
)
def test_b3_each_entity_counts_once_in_any_case(entities: tuple[str, ...], boost: float) -> None:
    assert entity_boost(entities, "The OXIDATION of black Tea.", boost=0.05) == pytest.approx(boost)


def test_b3_an_entity_boost_of_0_switches_the_bonus_off() -> None:
    assert entity_boost(["tea"], "tea", boost=0.0) == 0.0
