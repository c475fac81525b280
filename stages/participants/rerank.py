"""Stage `rerank`: the order of the references, and the filters that limit them (Spec 33)."""

from collections.abc import Mapping

from schemas.values.participants import RankedReferences, Reference, RetrievedReferences
from schemas.values.phq8 import PHQ8Item
from stages.participants.reference_filters import Filtered, ReferenceFilters, apply_filters

SIMILARITY = "similarity"
"""The ranker that orders references by similarity alone."""


def fit(reference: Reference) -> float:
    """The sort value of a reference, higher first: the score of the cross-encoder if there is one, else similarity."""
    return reference.similarity if reference.rerank_score is None else reference.rerank_score


def rank_references(retrieved: RetrievedReferences, *, filters: ReferenceFilters) -> RankedReferences:
    """Order the references of each item by similarity, and filter them."""
    return ranked_references(rankable(retrieved, filters=filters), filters=filters, ranker=SIMILARITY)


def rankable(retrieved: RetrievedReferences, *, filters: ReferenceFilters) -> dict[PHQ8Item, Filtered]:
    """The references that a ranker sees, with the counts of those that the search and the first filters dropped."""
    return {
        item: apply_filters(filters.before_ranking, Filtered(references, retrieved.dropped.get(item, {})))
        for item, references in retrieved.items.items()
    }


def ranked_references(
    candidates: Mapping[PHQ8Item, Filtered], *, filters: ReferenceFilters, ranker: str, ranker_digest: str = ""
) -> RankedReferences:
    """The candidates best first, filtered. Equal ones are ordered by participant, then by position."""
    filtered = {
        item: apply_filters(
            filters.after_ranking,
            found._replace(
                kept=tuple(sorted(found.kept, key=lambda ref: (-fit(ref), ref.participant_id, ref.ordinal)))
            ),
        )
        for item, found in candidates.items()
    }
    return RankedReferences(
        ranker=ranker,
        ranker_digest=ranker_digest,
        items={item: found.kept for item, found in filtered.items()},
        dropped={item: found.dropped for item, found in filtered.items() if found.dropped},
    )
