"""Stage `rerank`: the order of the references, and the filters that limit them (Spec 33)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from schemas.values.participants import (
    ExtractedEvidence,
    PHQ8Item,
    RankedReferences,
    Reference,
    RetrievedReferences,
    ValidatedReferences,
)
from stages.participants.assemble import text_of
from stages.participants.embed import evidence_text
from stages.ports import PairScorer

Repeats = Callable[[Reference, Reference], bool]
"""Whether two references are too similar to show both."""

MAX_SHARED = 0.5
"""The share of lines that two references may have in common; neighbours share 6 of 8."""


def by_place(*, size: int, step: int) -> Repeats:
    """Repetition by position alone: windows of `size` lines, each `step` lines after the one before, in one transcript.

    The last window of a transcript may share a few more lines with its neighbour than counted here.

    >>> first = Reference(
    ...     chunk_id=1, participant_id=302, ordinal=5, similarity=1.0, score=2, chunk_hash="", chunk_chars=0
    ... )
    >>> [by_place(size=8, step=2)(first, first.model_copy(update={"ordinal": at})) for at in (4, 6, 7, 8)]
    [True, True, False, False]
    """

    def repeats(better: Reference, reference: Reference) -> bool:
        shared = size - step * abs(better.ordinal - reference.ordinal)
        return better.participant_id == reference.participant_id and shared > MAX_SHARED * size

    return repeats


# The tag filter (Spec 34) is the only one that is not here: the search applies it before the limit on candidates.

TAGS = "tags"
"""The name of the tag filter in counts of dropped references."""

FILTERS = ("threshold", "duplicate", "top_k", "budget")
"""The names of the filters here, in order."""

Keep = Callable[[Sequence[Reference]], Iterable[Reference]]
"""Returns those of the references of one item that stay, in the same order."""


class ReferenceFilters(NamedTuple):
    """The filters of a run, in order, by their names in counts of dropped references."""

    before_ranking: Mapping[str, Keep]
    """These do not depend on the order; a ranker does not see what they drop."""
    after_ranking: Mapping[str, Keep]
    """These see the references best first."""


class Filtered(NamedTuple):
    """The kept references, in order, and the number that each filter dropped; filters that dropped none are absent."""

    kept: tuple[Reference, ...]
    dropped: dict[str, int]


def reference_filters(
    *, min_similarity: float, top_k: int, max_chars: int, repeats: Repeats | None
) -> ReferenceFilters:
    """Threshold, de-duplication, top-k and budget, in the order of Spec A.5; those that are off are left out.

    The threshold and the budget are off at 0, de-duplication at None.
    """
    return ReferenceFilters(
        before_ranking=_enabled({"threshold": reach(min_similarity) if min_similarity else None}),
        after_ranking=_enabled(
            {
                "duplicate": None if repeats is None else first_distinct(top_k, repeats=repeats),
                "top_k": first(top_k),
                "budget": fit_into(max_chars) if max_chars else None,
            }
        ),
    )


def apply_filters(filters: Mapping[str, Keep], before: Filtered) -> Filtered:
    """What is kept after all filters, with the counts of what came before them."""
    kept, dropped = before
    for name, keep in filters.items():
        count, kept = len(kept), tuple(keep(kept))
        if len(kept) < count:
            dropped = dropped | {name: count - len(kept)}
    return Filtered(kept, dropped)


def reach(min_similarity: float) -> Keep:
    """The references whose similarity reaches the threshold."""
    return lambda references: [reference for reference in references if reference.similarity >= min_similarity]


def first_distinct(limit: int, *, repeats: Repeats) -> Keep:
    """The first `limit` references that repeat none of those kept before them, and all that follow.

    A reference that repeats one is replaced by the next; those after the last place are not examined.
    """

    def keep(references: Sequence[Reference]) -> Iterable[Reference]:
        kept: list[Reference] = []
        for at, reference in enumerate(references):
            if len(kept) == limit:
                return [*kept, *references[at:]]
            if not any(repeats(better, reference) for better in kept):
                kept.append(reference)
        return kept

    return keep


def first(top_k: int) -> Keep:
    """The first references; those without a score count like all others."""
    return lambda references: references[:top_k]


def fit_into(max_chars: int) -> Keep:
    """Those before the first reference whose text exceeds the budget of characters, even if a later one would fit."""

    def keep(references: Sequence[Reference]) -> Iterable[Reference]:
        spent = accumulate(reference.chunk_chars for reference in references)
        return [reference for reference, chars in zip(references, spent, strict=True) if chars <= max_chars]

    return keep


def _enabled(filters: Mapping[str, Keep | None]) -> dict[str, Keep]:
    return {name: keep for name, keep in filters.items() if keep is not None}


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


CROSS_ENCODER = "cross_encoder"
"""The ranker; the name of its model follows."""


async def rerank_by_cross_encoder(
    retrieved: RetrievedReferences,
    *,
    extracted: ExtractedEvidence,
    chunk_texts: Mapping[int, str],
    scorer: PairScorer,
    timeout_s: float,
    batch_size: int,
    max_tokens: int,
    filters: ReferenceFilters,
) -> RankedReferences:
    """Score the references that pass the first filters, order them by score, and filter them as `rank_references` does.

    One call per item with such references, with all quotes of the item as the query; `timeout_s` applies to each.
    Without any, the scorer is not called, and the digest is empty. Raises ReferenceTextError when the text of a chunk
    differs from the one that was retrieved, and the errors of the scorer unchanged.
    """

    async def scored(item: PHQ8Item, references: tuple[Reference, ...]) -> tuple[Reference, ...]:
        scores = await scorer.score_pairs(
            evidence_text(extracted.quotes.get(item, ())),
            [text_of(reference, chunk_texts) for reference in references],
            timeout_s=timeout_s,
            batch_size=batch_size,
            max_tokens=max_tokens,
        )
        pairs = zip(references, scores, strict=True)
        return tuple(reference.model_copy(update={"rerank_score": score}) for reference, score in pairs)

    candidates = {
        item: found._replace(kept=await scored(item, found.kept))
        for item, found in rankable(retrieved, filters=filters).items()
    }
    was_asked = any(found.kept for found in candidates.values())
    return ranked_references(
        candidates,
        filters=filters,
        ranker=f"{CROSS_ENCODER} {scorer.name}",
        ranker_digest=await scorer.digest() if was_asked else "",
    )


RETRIEVED_REFERENCE = "retrieved_reference"
"""The name of the event."""

AuditFields = dict[str, str | int | float | None]


def retrieved_reference_events(validated: ValidatedReferences) -> list[AuditFields]:
    """The fields of one event per kept reference, by item in the questionnaire's order, then by rank from 1."""
    return [
        {
            "item": item.value,
            "evidence_key": item.evidence_key,
            "rank": rank,
            "similarity": reference.similarity,
            "participant_id": reference.participant_id,
            "reference_score": reference.score,
            "chunk_hash": reference.chunk_hash,
            "chunk_chars": reference.chunk_chars,
        }
        for item in PHQ8Item
        for rank, reference in enumerate(validated.items.get(item, ()), start=1)
    ]
