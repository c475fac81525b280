"""Scores without a model: neighbours and baselines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from schemas.errors import FailureCategory
from schemas.values.participants import AssembledPrompt, EmbeddedEvidence, Neighbour, PHQ8Item, SimilarityStatistics
from schemas.values.scoring import ParticipantScores, ScoreBasis
from stages.participants.retrieve import never_used
from stages.participants.score import score_by_neighbours
from stages.participants.score_reply import baseline_record, median_score, modal_score
from tests.refusals import failing
from tests.stages.at_defaults import RUN
from tests.stages.participants.builders import evidence

SLEEP, TIRED = PHQ8Item.SLEEP, PHQ8Item.TIRED
NOTHING = SimilarityStatistics(count=0, mean=None, maximum=None)
PROMPT = AssembledPrompt(block="", messages=(), statistics=dict.fromkeys(PHQ8Item, NOTHING), entries=0)


def neighbours(*found: tuple[int, float]) -> tuple[Neighbour, ...]:
    """Neighbours by score and similarity; their numbers are 301, 302 ..."""
    return tuple(
        Neighbour(participant_id=number, score=score, similarity=similarity)
        for number, (score, similarity) in enumerate(found, start=301)
    )


@dataclass
class Found:
    nearest: tuple[Neighbour, ...] = ()
    scores: tuple[int, ...] = (0, 1, 1, 3)
    left_out: set[int] = field(default_factory=set)

    async def nearest_evidence(
        self, index_id: int, queries: Sequence[object], *, limit: int, exclude_participants: Collection[int]
    ) -> list[tuple[Neighbour, ...]]:
        self.left_out = set(exclude_participants)
        return [self.nearest[:limit]] * len(queries)

    async def item_scores(self, index_id: int, **_: object) -> dict[PHQ8Item, tuple[int, ...]]:
        return dict.fromkeys(PHQ8Item, self.scores)


async def scores(search: Found, *items: PHQ8Item) -> ParticipantScores:
    embedded = EmbeddedEvidence(model="tiny", model_digest="w", dimension=2, items=items, embedding_calls=1)
    return await score_by_neighbours(
        embedded,
        np.ones((len(items), 2), dtype=np.float32),
        extracted=evidence(dict.fromkeys(items, ("I lie awake",))),
        prompt=PROMPT,
        search=search,
        index_id=7,
        left_out=never_used(316, [319, 330]),
        settings=RUN,
    )


@pytest.mark.parametrize(
    ("found", "score"),
    [
        ([(2, 0.9), (1, 0.8)], 2),
        ([(0, 0.9), (1, 0.8)], 0),
        ([(0, 0.5), (1, 0.5)], 1),
        ([(3, 0.0)], 3),
        ([(0, 0.9)] * 5 + [(3, 0.9)] * 5, 0),
    ],
)
async def test_the_score_is_the_weighted_mean_of_the_nearest(found: list[tuple[int, float]], score: int) -> None:
    assert (await scores(Found(neighbours(*found)), SLEEP)).items[SLEEP].score == score


@pytest.mark.parametrize("items", [(), (SLEEP,)])
async def test_without_evidence_on_either_side_the_score_is_the_median_and_says_so(items: tuple[PHQ8Item, ...]) -> None:
    found = (await scores(Found(scores=(0, 0, 1, 3)), *items)).items[SLEEP]

    assert found.consistency is not None
    assert (found.score, found.basis, found.consistency.samples) == (1, ScoreBasis.MEDIAN, (0, 0, 1, 3))


async def test_nobody_of_the_own_split_is_a_neighbour() -> None:
    search = Found(neighbours((1, 0.9)))
    await scores(search, SLEEP)
    assert search.left_out == {316, 319, 330}

    leaking = Found((Neighbour(participant_id=330, similarity=0.9, score=1),))
    with failing(FailureCategory.REFERENCE_LEAK):
        await scores(leaking, SLEEP)


@pytest.mark.parametrize(
    ("scores", "median", "mode"), [([0, 1], 1, 0), ([0, 0, 3], 0, 0), ([1, 2, 3, 3], 3, 3), ([], None, None)]
)
def test_of_two_equally_near_scores_the_median_is_the_higher_and_the_mode_the_lower(
    scores: list[int], median: int | None, mode: int | None
) -> None:
    assert (median_score(scores), modal_score(scores)) == (median, mode)


def test_there_is_a_record_only_where_each_item_has_a_label() -> None:
    labels = {item.evidence_key: 2 for item in PHQ8Item}
    record = {"split": "paper-train", "participants": 1, "median": labels, "mode": labels}

    assert baseline_record("paper-train", [labels, None]) == record
    assert baseline_record("paper-train", [labels | {"PHQ8_Sleep": None}]) is None
