"""The bonus for level and length by intent (row B 3)."""

import pytest

from schemas.values.queries import Intent
from stages.queries.ranking import intent_boost

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
