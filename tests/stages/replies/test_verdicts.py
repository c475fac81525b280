"""Verdicts on one candidate after another."""

import pytest

from schemas.values.participants import Decision
from stages.ports import Deferred
from stages.replies.verdicts import decide

LATER = "later"


async def decided(enough: int | None, *answers: str) -> tuple[list[Decision] | None, list[int]]:
    """The decisions, None if one comes later, and the ranks that were asked about."""
    asked = []

    async def ask(rank: int, answer: str) -> Decision:
        asked.append(rank)
        if answer == LATER:
            raise Deferred
        return Decision(answer)

    try:
        return await decide(answers, ask=ask, enough=enough), asked
    except Deferred:
        return None, asked


@pytest.mark.parametrize(
    ("enough", "answers", "asked"),
    [
        (3, ["accept", "unsure", "accept"], [1, 2, 3]),
        (1, ["reject", "accept", "accept"], [1, 2]),
        (None, ["accept", "accept", "accept"], [1, 2, 3]),
    ],
)
async def test_asking_goes_by_rank_and_ends_when_enough_accept(
    enough: int | None, answers: list[str], asked: list[int]
) -> None:
    assert await decided(enough, *answers) == ([Decision(answer) for answer in answers[: len(asked)]], asked)


@pytest.mark.parametrize(
    ("enough", "answers", "asked"),
    [
        (1, [LATER, LATER, LATER], [1]),  # the second is needed only if the first does not accept
        (2, [LATER, LATER, LATER], [1, 2]),
        (2, ["reject", LATER, LATER], [1, 2, 3]),
        (2, ["accept", LATER, LATER], [1, 2]),
        (2, [LATER, "accept", LATER], [1, 2]),
        (None, [LATER, LATER, LATER], [1, 2, 3]),
    ],
)
async def test_verdicts_that_come_later_are_asked_for_together_and_none_in_vain(
    enough: int | None, answers: list[str], asked: list[int]
) -> None:
    assert await decided(enough, *answers) == (None, asked)
