"""`.partial.json`: what was left out of an index."""

from collections.abc import Mapping, Sequence

from schemas.values.artifacts import PartialBuild
from stages.participants.artifacts.documents import parse_sidecar
from stages.participants.problems import Parsed

REMEDY = "restore it, or take the file away if the index is complete"


def parse_partial(data: bytes, *, file: str) -> Parsed[PartialBuild | None]:
    """What was left out when the files were made."""
    return parse_sidecar(PartialBuild, data, file=file, what_to_do=REMEDY)


def with_skipped(
    partial: PartialBuild | None, *, participants: Sequence[int], chunks: int, reasons: Mapping[str, int]
) -> PartialBuild | None:
    """What was left out before and now; None when that is nothing."""
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
