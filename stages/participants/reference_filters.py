"""The filters of references: small pure functions in a list, each of which reports how many it dropped (Spec 33).

The tag filter (Spec 34) is the only one that is not here: the search applies it before the limit on candidates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

from schemas.values.participants import Reference
from stages.participants.deduplicate import Repeats

TAGS = "tags"
"""The name of the tag filter in counts of dropped references."""

FILTERS = ("threshold", "duplicate", "top_k", "budget")
"""The names of the filters here, in order."""

Keep = Callable[[Sequence[Reference]], Iterable[Reference]]
"""Returns those of the references of one item that stay, in the same order."""


class ReferenceFilter(NamedTuple):
    """One filter, under its name in counts of dropped references."""

    name: str
    keep: Keep


class ReferenceFilters(NamedTuple):
    """The filters of a run, in order."""

    before_ranking: tuple[ReferenceFilter, ...]
    """These do not depend on the order; a ranker does not see what they drop."""
    after_ranking: tuple[ReferenceFilter, ...]
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


def apply_filters(filters: Iterable[ReferenceFilter], before: Filtered) -> Filtered:
    """What is kept after all filters, with the counts of what came before them."""
    return reduce(_apply, filters, before)


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


def _enabled(filters: Mapping[str, Keep | None]) -> tuple[ReferenceFilter, ...]:
    return tuple(ReferenceFilter(name, keep) for name, keep in filters.items() if keep is not None)


def _apply(before: Filtered, one: ReferenceFilter) -> Filtered:
    kept = tuple(one.keep(before.kept))
    count = len(before.kept) - len(kept)
    return Filtered(kept, before.dropped | {one.name: count} if count else before.dropped)
