"""Stage `score` without a language model: the mean of the scores of those who said nearly the same about an item."""

from collections.abc import Collection
from statistics import fmean

from schemas.settings.run import RunSettings
from schemas.values.participants import (
    AssembledPrompt,
    EmbeddedEvidence,
    ExtractedEvidence,
    Neighbour,
    PHQ8Item,
)
from schemas.values.scoring import ItemScore, ParticipantScores, ScoreBasis
from stages.participants.embed import evidence_text
from stages.participants.retrieve import never_used, refuse_leaks
from stages.participants.score import consistency_of, recorded
from stages.participants.score_reply import median_score, rounded, totals_of
from stages.ports import EvidenceSearch, Vectors

SCORER = "neighbours"
"""The name of this scorer where that of a language model would be."""


async def score_by_neighbours(
    embedded: EmbeddedEvidence,
    vectors: Vectors,
    *,
    extracted: ExtractedEvidence,
    prompt: AssembledPrompt,
    search: EvidenceSearch,
    index_id: int,
    participant_id: int | None,
    excluded: Collection[int],
    settings: RunSettings,
) -> ParticipantScores:
    """For each item the mean of the scores of the participants of the index with the nearest evidence, weighted by
    similarity and rounded.

    An item without evidence, or for which nobody of the index has any, has the median of the scores of the index, and
    its basis says so; one for which nobody of the index has a score is N/A. `consistency` has the scores that a score
    comes from, whose spread is its confidence. `excluded` are the participants of the run's own split: with the tested
    one they are never neighbours, and not in the median; see `never_used`.

    Raises ReferenceLeakError when one of them is found nevertheless, ValueError when vectors and items differ in
    number, and the errors of the search.
    """
    left_out = never_used(participant_id, excluded)
    queries = list(zip(embedded.items, vectors, strict=True))
    nearest = await search.nearest_evidence(
        index_id, queries, limit=settings.ragq.neighbours, exclude_participants=left_out
    )
    refuse_leaks((one.participant_id for of_item in nearest for one in of_item), left_out, index_id)
    found = dict(zip(embedded.items, nearest, strict=True))
    everybody = await search.item_scores(index_id, exclude_participants=left_out)
    items = {}
    for item in PHQ8Item:
        scored = _by_mean(found[item]) if found.get(item) else _by_median(everybody[item])
        said = scored.model_copy(update={"evidence": evidence_text(extracted.quotes.get(item, ()))})
        items[item] = recorded(item, said, prompt=prompt, extracted=extracted, settings=settings)
    return ParticipantScores(
        model=SCORER,
        model_digest=embedded.model_digest,
        items=items,
        totals=totals_of(item.score for item in items.values()),
    )


def _by_mean(found: Collection[Neighbour]) -> ItemScore:
    # A weight of 0 for all, where all are opposite, would leave no mean.
    mean = fmean([one.score for one in found], weights=[max(one.similarity, 1e-9) for one in found])
    named = ", ".join(f"{one.participant_id} ({one.score}, {one.similarity:.2f})" for one in found)
    return ItemScore(
        score=rounded(mean),
        reason=f"Mean {mean:.2f} of the nearest evidence: participant (score, similarity) {named}.",
        basis=ScoreBasis.NEIGHBOURS,
        consistency=consistency_of([one.score for one in found]),
    )


def _by_median(scores: Collection[int]) -> ItemScore:
    if not scores:
        return ItemScore(reason="Nobody of the reference index has a score for the item.")
    return ItemScore(
        score=median_score(scores),
        reason=f"No evidence to compare: the median of {len(scores)} participants of the reference index.",
        basis=ScoreBasis.MEDIAN,
        consistency=consistency_of(sorted(scores)),
    )
