"""Stage `retrieve`: the nearest chunks of the reference index per item."""

from schemas.errors import ReferenceLeakError
from schemas.values.participants import EmbeddedEvidence, RetrievedReferences
from schemas.values.phq8 import PHQ8Item
from stages.participants.reference_filters import TAGS
from stages.ports import ReferenceSearch, ScoreSource, Vectors


async def retrieve_references(
    embedded: EmbeddedEvidence,
    vectors: Vectors,
    *,
    search: ReferenceSearch,
    index_id: int,
    participant_id: int,
    candidates: int,
    tagged_only: bool,
    score_source: ScoreSource,
) -> RetrievedReferences:
    """The `candidates` nearest chunks for each embedded item, in one round trip; other items have none.

    Without embedded items the index is not searched. With the tag filter, another round trip counts the chunks that it
    leaves out. Raises ReferenceLeakError when the tested participant is among the references, ValueError when vectors
    and items differ in number, and the errors of the search.
    """
    queries = list(zip(embedded.items, vectors, strict=True))
    found = (
        await search.nearest(
            index_id,
            queries,
            limit=candidates,
            exclude_participant=participant_id,
            tagged_only=tagged_only,
            score_source=score_source,
        )
        if queries
        else []
    )
    if any(reference.participant_id == participant_id for references in found for reference in references):
        raise ReferenceLeakError(participant_id, index_id)
    nearest = dict(zip(embedded.items, found, strict=True))
    untagged = (
        await search.count_untagged(index_id, embedded.items, exclude_participant=participant_id)
        if queries and tagged_only
        else [0] * len(queries)
    )
    return RetrievedReferences(
        index_id=index_id,
        excluded_participant=participant_id,
        items={item: nearest.get(item, ()) for item in PHQ8Item},
        dropped={item: {TAGS: count} for item, count in zip(embedded.items, untagged, strict=True) if count},
    )
