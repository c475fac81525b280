"""Bonuses for entities and intents, and a diverse selection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.values.queries import Intent
from stages.queries.ranking import Scores, entity_boost, intent_boost, passage_similarity
from tests.stages.at_defaults import select_diverse


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


_LEVELS = ["H1", "H2", "H3", "H4", "H5", "chunk", "sentence"]
_TABLE = {
    Intent.DEFINITION: (["H2", "H3"], 0.03, "short"),
    Intent.MECHANISM: (["H3", "H4", "chunk"], 0.02, "long"),
    Intent.COMPARISON: (["H2", "H3"], 0.02, "medium"),
    Intent.APPLICATION: (["H4", "chunk", "sentence"], 0.02, "medium"),
    Intent.STUDY_DETAIL: (["H4", "chunk"], 0.03, "long"),
    Intent.CRITIQUE: (["H3", "H4"], 0.02, "medium"),
}
_LENGTHS = [0, 399, 400, 499, 500, 800, 801, 900, 901]
_FITTING = {"short": [0, 399, 400, 499], "medium": [400, 499, 500, 800, 801, 900], "long": [801, 900, 901]}
_NO_LENGTH = {"short": 500, "medium": 901, "long": 800}


@pytest.mark.parametrize("intent", Intent)
def test_b3_each_intent_prefers_its_levels(intent: Intent) -> None:
    levels, boost, length = _TABLE[intent]

    boosts = {level: intent_boost(intent, level=level, chars=_NO_LENGTH[length]) for level in _LEVELS}

    assert boosts == {level: boost if level in levels else 0.0 for level in _LEVELS}


@pytest.mark.parametrize("intent", Intent)
def test_b3_each_intent_prefers_its_length(intent: Intent) -> None:
    *_, length = _TABLE[intent]

    fitting = [chars for chars in _LENGTHS if intent_boost(intent, level="H1", chars=chars) == 0.01]

    assert fitting == _FITTING[length]


def test_b3_content_under_a_heading_counts_as_its_level() -> None:
    assert intent_boost(Intent.CRITIQUE, level="H3-chunk", chars=0) == 0.02
    assert intent_boost(Intent.CRITIQUE, level="H2-chunk", chars=0) == 0.0


def test_b3_no_intent_no_bonus() -> None:
    assert intent_boost(None, level="H2", chars=100) == 0.0


#: 0 and 1 are alike, 2 is like neither.
TWINS: Scores = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])


def test_b3_candidates_up_to_the_limit_are_returned_unchanged() -> None:
    assert select_diverse([3.0, 2.0, 1.0], TWINS, count=3, mmr_lambda=0.0) == [0, 1, 2]
    assert select_diverse([], np.empty((0, 0)), count=3) == []


# Scores become 1, 0.95 and 0: 0.95 * l - 0.9 * (1 - l) against -0.1 * (1 - l) are equal at l = 0.8 / 1.75.
@pytest.mark.parametrize(("mmr_lambda", "selected"), [(1.0, [0, 1]), (0.46, [0, 1]), (0.45, [0, 2]), (0.0, [0, 2])])
def test_b3_lambda_weighs_the_order_of_the_scores_against_variety(mmr_lambda: float, selected: list[int]) -> None:
    assert select_diverse([3.0, 2.9, 1.0], TWINS, count=2, mmr_lambda=mmr_lambda) == selected


@pytest.mark.parametrize(
    ("one", "other", "shared"), [("black tea", "Tea black", 1.0), ("black tea", "green tea leaf", 0.25), ("", "", 0.0)]
)
def test_without_a_vector_the_shared_words_count(one: str, other: str, shared: float) -> None:
    vectors = {1: np.ones(2, dtype=np.float32)}

    assert passage_similarity([1, 2], [one, other], vectors)[0, 1] == shared


@given(st.lists(st.floats(-5, 5), max_size=8), st.integers(1, 8), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_each_candidate_is_selected_at_most_once_the_best_first(
    scores: list[float], count: int, mmr_lambda: float, seed: int
) -> None:
    similarity = np.random.default_rng(seed).random((len(scores), len(scores)))

    selected = select_diverse(sorted(scores, reverse=True), similarity, count=count, mmr_lambda=mmr_lambda)

    assert len(selected) == len(set(selected)) == min(count, len(scores))
    assert selected[:1] == [0][: len(scores)]
