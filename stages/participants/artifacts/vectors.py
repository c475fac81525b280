"""`.npz`: the vectors of the chunks, read without unpickling."""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np

from schemas.values.participants import PartialBuild, ParticipantChunks
from stages.failures import FailureCategory
from stages.participants.artifacts.files import IndexFiles
from stages.participants.artifacts.names import ArtifactFile
from stages.ports import Vectors

REMEDY = "write one float32 array of shape (chunks, dimension) per participant with numpy.savez"

_ZERO = 1e-8
_SMALL = 16_000_000
_MOST_PER_BYTE = 20
"""Vectors hardly compress; what unpacks to more than this, and is not small, is refused before it is unpacked."""
_KEY = re.compile(r"emb_([1-9][0-9]{0,5})")
_UNREADABLE = (ValueError, EOFError, OSError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)


def read_vectors(files: IndexFiles) -> dict[int, Vectors]:
    """The arrays as written, ids ascending. Arrays with other names are ignored.

    An array of pickled objects, an array of numbers that are not exact in float32, and a file that is not an intact
    `.npz` are problems, and so is one that unpacks to more than 16 MB and 20 times its size.
    """
    try:
        arrays = _arrays(files.contents[ArtifactFile.VECTORS])
    except _UNREADABLE as error:
        unreadable = f"is not an .npz file that can be read without unpickling ({type(error).__name__})"
        files.refuse(ArtifactFile.VECTORS, unreadable, REMEDY)
        return {}
    wrong = [f"participant {key}: {found}" for key, array in arrays.items() if (found := _wrong(array))]
    for found in wrong:
        files.refuse(ArtifactFile.VECTORS, found, REMEDY)
    return {} if wrong else {key: array.astype(np.float32) for key, array in arrays.items()}


def write_vectors(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `read_vectors` reads, with the exact bits of the vectors."""
    file = BytesIO()
    arrays: Mapping[str, Any] = {f"emb_{person.participant_id}": person.vectors for person in participants}
    np.savez(file, **arrays)
    return file.getvalue()


def unsound_rows(rows: Vectors, dimension: int) -> dict[int, str]:
    """The rows that cannot be normalised once they are cut: position -> `NaN`, `infinity` or `only zeros`."""
    cut = rows[:, :dimension]
    found = {
        "only zeros": (np.abs(cut) <= _ZERO).all(axis=1),
        "infinity": np.isinf(cut).any(axis=1),
        "NaN": np.isnan(cut).any(axis=1),
    }
    return {int(row): what for what, rows_with in found.items() for row in np.flatnonzero(rows_with)}


def _arrays(data: bytes) -> dict[int, Any]:
    with zipfile.ZipFile(BytesIO(data)) as unread:
        unpacked = sum(member.file_size for member in unread.infolist())
    if unpacked > max(_SMALL, _MOST_PER_BYTE * len(data)):
        raise ValueError("an archive that fills the memory")
    with np.load(BytesIO(data), allow_pickle=False) as archive:
        names = {int(match[1]): name for name in archive.files if (match := _KEY.fullmatch(name))}
        return {participant_id: archive[names[participant_id]] for participant_id in sorted(names)}


def _wrong(array: Any) -> str | None:
    if not isinstance(array, np.ndarray):
        return "not an array"
    if array.dtype.kind != "f" or not np.can_cast(array.dtype, np.float32):
        return f"numbers of type {array.dtype}, which are not exact in float32"
    if array.ndim != 2:
        return f"an array of shape {array.shape}"
    return None


_REASONS: Final = {
    FailureCategory.EMBEDDING_NAN: "embedding_nan",
    FailureCategory.EMBEDDING_INF: "embedding_inf",
    FailureCategory.EMBEDDING_ZERO_VECTOR: "embedding_zero",
    FailureCategory.EMBEDDING_DIMENSION_MISMATCH: "dimension_mismatch",
}
"""The reasons of the original system; any other failure is an `embedding_error` there."""


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
