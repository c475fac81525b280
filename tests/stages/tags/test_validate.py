"""Stage `validate`: each clause of the contract is checked separately."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import FailureCategory
from schemas.values.tags import RankedTags, ValidatedTags, Vocabulary
from stages.tags.validate import validate_tags
from tests.refusals import failing
from tests.stages.at_defaults import rank_tags
from tests.stages.tags.builders import retrieved, tags_of

FOUND = retrieved({"one": {"a": 0.9, "b": 0.8}, "two": {"b": 0.5, "c": 0.4}}, required=("b",))
RANKED = rank_tags(FOUND, context=None, rows={}, per_phrase_final_k=2)
KNOWN = Vocabulary(tags=tuple(tags_of({"a": 1, "b": 1, "c": 1}, {"c": 0.99}).values()), aliases={})


def validated(ranked: RankedTags = RANKED, **values: Any) -> ValidatedTags:
    usual: dict[str, Any] = {
        "retrieved": FOUND,
        "vocabulary": KNOWN,
        "allow_nsfw_tags": True,
        "min_tag_count": 0,
        "global_k": 300,
    }
    return validate_tags(ranked, **usual | values)


def with_first(**update: object) -> RankedTags:
    """The candidates, the first one changed without the checks of a value."""
    first, *others = RANKED.candidates
    return RANKED.model_copy(update={"candidates": (first.model_copy(update=update), *others)})


def test_candidates_that_keep_the_contract_are_unchanged() -> None:
    passed = validated()

    assert passed.candidates == RANKED.candidates
    assert passed.phrase_rank_by_tag == {"a": 1, "b": 1, "c": 2}


BROKEN: dict[str, Callable[[], object]] = {
    "1 of 3 are not in the vocabulary": lambda: validated(vocabulary=Vocabulary(tags=KNOWN.tags[:2], aliases={})),
    "1 of 3 are not permitted": lambda: validated(allow_nsfw_tags=False),
    "3 of 3 were used less than 2 times": lambda: validated(min_tag_count=2),
    "there are 3, and 2 are allowed": lambda: validated(global_k=2),
    "they are not in order": lambda: validated(RANKED.model_copy(update={"candidates": RANKED.candidates[::-1]})),
    "1 of 3 have a score that is not a number from -1 to 1": lambda: validated(with_first(score_combined=1.5)),
    "1 of 3 name no phrase of the request": lambda: validated(with_first(sources=("three",))),
    "their ranks are those of other tags": lambda: validated(RANKED.model_copy(update={"phrase_rank_by_tag": {}})),
    "1 of 1 required tags are absent": lambda: validated(
        RankedTags(candidates=(), phrase_reports=(), phrase_rank_by_tag={})
    ),
}


@pytest.mark.parametrize("violation", BROKEN)
def test_each_broken_clause_is_named_alone(violation: str) -> None:
    with failing(FailureCategory.TAG_CONTRACT_BROKEN) as broken:
        BROKEN[violation]()

    assert str(broken.value) == f"The candidates break their contract: {violation}."


def test_a_required_tag_may_be_cut_off_by_a_full_list() -> None:
    cut = rank_tags(FOUND, context=None, rows={}, per_phrase_final_k=2, global_k=1)

    assert validated(cut, global_k=1).candidates == RANKED.candidates[:1]
