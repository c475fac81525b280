"""Stage `retrieve`: the nearest chunks of the reference index per item."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError, ReferenceLeakError
from schemas.values.participants import EmbeddedEvidence, PHQ8Item, RetrievedReferences
from stages.participants.rerank import TAGS
from stages.ports import ReferenceSearch, ScoreSource, Vectors


async def retrieve_references(
    embedded: EmbeddedEvidence,
    vectors: Vectors,
    *,
    search: ReferenceSearch,
    index_id: int,
    participant_id: int | None,
    excluded: Collection[int],
    candidates: int,
    tagged_only: bool,
    score_source: ScoreSource,
) -> RetrievedReferences:
    """The `candidates` nearest chunks for each embedded item, in one round trip; other items have none.

    `excluded` are the participants of the run's own split: together with the tested one (None in an index of another
    data set, where the number is another person's) they are never references.
    Without embedded items the index is not searched. With the tag filter, another round trip counts the chunks that it
    leaves out. Raises ReferenceLeakError when an excluded participant is among the references nevertheless, ValueError
    when vectors and items differ in number, and the errors of the search.
    """
    left_out = {*excluded} if participant_id is None else {participant_id, *excluded}
    queries = list(zip(embedded.items, vectors, strict=True))
    found = (
        await search.nearest(
            index_id,
            queries,
            limit=candidates,
            exclude_participants=left_out,
            tagged_only=tagged_only,
            score_source=score_source,
        )
        if queries
        else []
    )
    for reference in (reference for references in found for reference in references):
        if reference.participant_id in left_out:
            raise ReferenceLeakError(reference.participant_id, index_id)
    nearest = dict(zip(embedded.items, found, strict=True))
    untagged = (
        await search.count_untagged(index_id, embedded.items, exclude_participants=left_out)
        if queries and tagged_only
        else [0] * len(queries)
    )
    return RetrievedReferences(
        index_id=index_id,
        excluded_participant=participant_id,
        excluded_participants=tuple(sorted(left_out)),
        items={item: nearest.get(item, ()) for item in PHQ8Item},
        dropped={item: {TAGS: count} for item, count in zip(embedded.items, untagged, strict=True) if count},
    )


def similarities(unit_rows: Vectors, unit_query: NDArray[np.float32]) -> NDArray[np.float64]:
    """(1 + cosine) / 2 of each row with the query, all of length 1.

    1 is the same direction, 0.5 a right angle, 0 the opposite; results are clipped to 0..1. The database's search is
    tested against this function. Raises EmbeddingDimensionMismatchError when
    the query has another length than the rows, EmbeddingValidationError when a cosine is not finite.
    """
    if unit_query.shape != unit_rows.shape[1:]:
        raise EmbeddingDimensionMismatchError(expected=unit_rows.shape[1], actual=unit_query.shape[-1])
    cosines = unit_rows.astype(np.float64) @ unit_query.astype(np.float64)
    if not np.isfinite(cosines).all():
        raise EmbeddingValidationError("A cosine is not a finite number; check the vectors with `unit_rows` first.")
    return np.clip((1 + cosines) / 2, 0.0, 1.0)
