"""Who a run assesses, as the search of its references has to know them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from schemas.values.transcript_variants import TranscriptVariant


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """The people whom no reference of a run may come from, and the variants of the transcripts that are assessed."""

    data_set: str
    excluded: tuple[int, ...]
    """The whole split, also beyond its limit, or the named participants; ids ascending."""
    where: str
    """Where they come from, in words: `in split 'paper-test'`."""
    variants: Mapping[TranscriptVariant, int]

    @classmethod
    def of(
        cls, data_set: str, split: str | None, excluded: Iterable[int], variants: Iterable[TranscriptVariant]
    ) -> Self:
        """The participants of a split of a data set or, without one, those that were named."""
        return cls(
            data_set=data_set,
            excluded=tuple(sorted(set(excluded))),
            where="among the participants of this run" if split is None else f"in split '{split}'",
            variants=dict(sorted(Counter(variants).items())),
        )

    def variant_record(self) -> dict[str, Any]:
        """Part of a run's request: how many transcripts have each variant."""
        return {"transcripts": {str(variant): count for variant, count in self.variants.items()}}
