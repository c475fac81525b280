"""Stage `retrieve`: the nearest chunks of the reference index per item."""

from collections.abc import Collection, Iterable

from schemas.errors import DomainError, FailureCategory
from schemas.settings.run import RunSettings
from schemas.values.participants import EmbeddedEvidence, PHQ8Item, Reference, RetrievedReferences
from stages.participants.rerank import TAGS
from stages.ports import ReferenceSearch, Vectors


async def retrieve_references(
    embedded: EmbeddedEvidence,
    vectors: Vectors,
    *,
    search: ReferenceSearch,
    index_id: int,
    left_out: Collection[int],
    settings: RunSettings,
) -> RetrievedReferences:
    """The nearest chunks for each embedded item, in one round trip; other items have none. `left_out` are those whom
    `never_used` names; DomainError is raised when one of them is found nevertheless. With the tag filter, another round
    trip counts the chunks that it leaves out."""
    queries = list(zip(embedded.items, vectors, strict=True))
    tagged_only = settings.embedding.enable_item_tag_filter
    nearest: dict[PHQ8Item, tuple[Reference, ...]] = dict.fromkeys(PHQ8Item, ())
    untagged: list[int] = []
    if queries:
        found = await search.nearest(
            index_id,
            queries,
            limit=settings.ragq.retrieve_candidates,
            exclude_participants=left_out,
            tagged_only=tagged_only,
            score_source=settings.embedding.reference_score_source,
        )
        nearest |= zip(embedded.items, found, strict=True)
        refuse_leaks((one.participant_id for of_item in found for one in of_item), left_out, index_id)
    if queries and tagged_only:
        untagged = await search.count_untagged(index_id, embedded.items, exclude_participants=left_out)
    return RetrievedReferences(
        index_id=index_id,
        excluded_participants=tuple(sorted(left_out)),
        items=nearest,
        dropped={item: {TAGS: count} for item, count in zip(embedded.items, untagged, strict=False) if count},
    )


def never_used(participant_id: int | None, excluded: Collection[int]) -> set[int]:
    """Whom a participant is never compared with: themselves, and the participants of the run's own split. The number is
    None in an index of another data set, where it is another person's."""
    return {*excluded} if participant_id is None else {participant_id, *excluded}


def refuse_leaks(found: Iterable[int], left_out: Collection[int], index_id: int) -> None:
    """Raise DomainError when a search gave somebody who was left out of it."""
    for participant_id in found:
        if participant_id in left_out:
            raise DomainError(
                f"Reference index {index_id} returned chunks of participant {participant_id}, whom the run excludes; "
                "the search must exclude the participants of the run's own split.",
                FailureCategory.REFERENCE_LEAK,
            )
