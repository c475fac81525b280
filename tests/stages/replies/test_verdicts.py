"""Verdicts on one candidate after another."""

from dataclasses import dataclass

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.participants import Decision
from stages.ports import Deferred
from stages.replies.asking import decide, decision_of

LATER = "later"


@dataclass(frozen=True)
class Candidate:
    chunk_id: int
    answer: str


async def decided(enough: int | None, *answers: str) -> tuple[list[Decision] | None, list[int]]:
    """The decisions, None if one comes later, and the ranks that were asked about."""
    asked = []

    async def ask(rank: int, candidate: Candidate) -> Decision:
        asked.append(rank)
        if candidate.answer == LATER:
            raise Deferred
        return Decision(candidate.answer)

    candidates = [Candidate(chunk_id, answer) for chunk_id, answer in enumerate(answers, start=11)]
    try:
        accepted, verdicts = await decide(candidates, ask=ask, enough=enough)
    except Deferred:
        return None, asked
    assert [verdict.rank for verdict in verdicts] == asked
    assert [verdict.chunk_id for verdict in verdicts] == [rank + 10 for rank in asked]
    assert [one.chunk_id for one in accepted] == [
        verdict.chunk_id for verdict in verdicts if verdict.decision is Decision.ACCEPT
    ]
    return [verdict.decision for verdict in verdicts], asked


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


@pytest.mark.parametrize(
    ("reply", "parse_error"),
    [
        ('The answer is {"decision": "accept"}', "Expecting value at line 1, column 1"),
        ("{}", "the object has no text 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": null}', "the object has no text 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": "maybe"}', "the object has another 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": "Accept"}', "the object has another 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": "reject", "decision": "accept"}', "a name occurs twice in one object"),
    ],
)
def test_a_reply_that_is_no_verdict_is_refused_and_not_repaired(reply: str, parse_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        decision_of(reply)

    assert (caught.value.raw_response, caught.value.parse_error) == (reply, parse_error)
