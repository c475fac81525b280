"""The chains."""

import pytest

from schemas.chains import PIPELINES, in_order


def test_stages_of_both_modes_stand_in_the_order_of_the_chain_that_has_them_all() -> None:
    met = ["assemble", "extract", "score", "validate", "embed"]

    assert in_order("participant", met) == ["extract", "embed", "validate", "assemble", "score"]


@pytest.mark.parametrize(("kind", "mode"), PIPELINES)
def test_a_whole_chain_is_in_order(kind: str, mode: str) -> None:
    assert in_order(kind, set(PIPELINES[kind, mode])) == list(PIPELINES[kind, mode])


def test_no_stages_are_none() -> None:
    assert in_order("query", ()) == []
