"""`.partial.json`: what was skipped when an index was built."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from schemas.values.references import PartialBuild
from stages.failures import FailureCategory
from stages.files.records import Parsed
from stages.participants.artifacts.files import parse_sidecar

_REASONS: Final = {
    FailureCategory.EMBEDDING_NAN: "embedding_nan",
    FailureCategory.EMBEDDING_INF: "embedding_inf",
    FailureCategory.EMBEDDING_ZERO_VECTOR: "embedding_zero",
    FailureCategory.EMBEDDING_DIMENSION_MISMATCH: "dimension_mismatch",
}
"""The reasons of the original system; any other failure is an `embedding_error` there."""

REMEDY = "restore it, or remove the file if the index is complete"


class LeftOut(NamedTuple):
    """A participant whose job failed."""

    participant_id: int
    category: str
    """A FailureCategory."""
    chunks: int
    """The number of chunks of the transcript; 0 if it was not cut."""


def partial_build(left_out: Sequence[LeftOut], *, output_npz: str) -> PartialBuild:
    """What an index lacks: whole participants, and their chunks counted by the reason of the participant.

    >>> partial_build([LeftOut(304, "embedding_nan", 41), LeftOut(313, "transcript_empty", 0)], output_npz="x.npz")
    ... # doctest: +NORMALIZE_WHITESPACE
    PartialBuild(output_npz='x.npz', skipped_participants=(304, 313), skipped_participant_count=2, skipped_chunks=41,
                 chunk_skip_reason_counts={'embedding_nan': 41})
    """
    reasons: Counter[str] = Counter()
    for one in left_out:
        reasons[_REASONS.get(FailureCategory(one.category), "embedding_error")] += one.chunks
    return PartialBuild(
        output_npz=output_npz,
        skipped_participants=tuple(sorted(one.participant_id for one in left_out)),
        skipped_participant_count=len(left_out),
        skipped_chunks=reasons.total(),
        chunk_skip_reason_counts={reason: count for reason, count in sorted(reasons.items()) if count},
    )


def parse_partial(data: bytes, *, file: str) -> Parsed[PartialBuild | None]:
    """What was skipped when the files were made."""
    return parse_sidecar(PartialBuild, data, file=file, what_to_do=REMEDY)


def with_skipped(
    partial: PartialBuild | None, *, participants: Sequence[int], chunks: int, reasons: Mapping[str, int]
) -> PartialBuild | None:
    """What was skipped before and now; None if nothing was."""
    if not participants and not chunks:
        return partial
    before = partial or PartialBuild()
    counts = dict(before.chunk_skip_reason_counts)
    for reason, count in reasons.items():
        counts[reason] = counts.get(reason, 0) + count
    skipped = tuple(sorted({*before.skipped_participants, *participants}))
    return before.model_copy(
        update={
            "skipped_participants": skipped,
            "skipped_participant_count": len(skipped),
            "skipped_chunks": before.skipped_chunks + chunks,
            "chunk_skip_reason_counts": counts,
        }
    )
