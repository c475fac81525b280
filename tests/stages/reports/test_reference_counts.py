"""What filters dropped, summed over participants."""

from schemas.values.participants import (
    Decision,
    PHQ8Item,
    RankedReferences,
    Reference,
    SimilarityStatistics,
    ValidatedReferences,
    Verdict,
)
from schemas.values.reports import ReferenceCounts
from schemas.values.scoring import ItemScore
from stages.participants.validate import keep_all
from stages.reports.report import over_all_items, reference_counts
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import scores

SLEEP, TIRED = PHQ8Item.SLEEP, PHQ8Item.TIRED
ONE, TWO, THREE, UNSCORED = (reference(chunk_id=at, score=score) for at, score in ((1, 2), (2, 0), (3, 1), (4, None)))


def ranking(dropped: dict[PHQ8Item, dict[str, int]], **items: tuple[Reference, ...]) -> RankedReferences:
    return ranked({PHQ8Item[name]: references for name, references in items.items()}).model_copy(
        update={"dropped": dropped}
    )


def verdicts(*decisions: Decision) -> tuple[Verdict, ...]:
    return tuple(Verdict(rank=rank, chunk_id=rank, decision=decision) for rank, decision in enumerate(decisions, 1))


def test_every_retrieved_reference_is_dropped_by_one_filter_or_shown() -> None:
    first = ranking({SLEEP: {"tags": 90, "threshold": 5, "budget": 1}, TIRED: {"budget": 2}}, SLEEP=(ONE, TWO, THREE))
    judged = ValidatedReferences(
        validator="judge",
        items=first.items | {SLEEP: (TWO,)},
        verdicts={SLEEP: verdicts(Decision.UNSURE, Decision.ACCEPT)},
    )
    second = ranking({SLEEP: {"threshold": 1, "top_k": 7}}, SLEEP=(ONE, UNSCORED), TIRED=(THREE,))

    counts = reference_counts([(first, judged, None), (second, keep_all(second), None)])

    # Of the three of the first, one is not accepted, one is, and the third is not judged.
    assert counts[SLEEP] == ReferenceCounts(
        untagged=90,
        retrieved=5 + 1 + 3 + 1 + 7 + 2,
        dropped={
            "threshold": 6,
            "duplicate": 0,
            "top_k": 7,
            "budget": 1,
            "rejected": 1,
            "validation_limit": 1,
            "unscored": 1,
            "context": 0,
        },
        shown=2,
    )
    assert (counts[TIRED].dropped["budget"], counts[TIRED].retrieved, counts[TIRED].shown) == (2, 3, 1)
    assert list(counts) == list(PHQ8Item)
    total = over_all_items(counts.values())
    assert (total.untagged, total.retrieved, total.shown, total.dropped["budget"]) == (90, 22, 3, 3)


def test_references_that_the_context_had_no_room_for_are_not_shown() -> None:
    one = ranking({}, SLEEP=(ONE, TWO, THREE))
    of_sleep = {PHQ8Item.SLEEP: ItemScore(retrieval=SimilarityStatistics(count=1, mean=0.9, maximum=0.9))}
    scored = scores("2").model_copy(update={"items": scores("2").items | of_sleep})

    counts = reference_counts([(one, keep_all(one), scored)])

    assert (counts[SLEEP].dropped["context"], counts[SLEEP].shown, counts[SLEEP].retrieved) == (2, 1, 3)
