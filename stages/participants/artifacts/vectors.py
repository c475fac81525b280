"""`.npz`: the vectors of the chunks, read without unpickling."""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np

from schemas.errors import EmbeddingDimensionMismatchError, ScoringSchemaError
from schemas.values.participants import FileProblem, ParticipantChunks, PHQ8Item
from schemas.values.references import ChunkScoresMeta, PartialBuild
from stages.failures import FailureCategory
from stages.files.records import Parsed
from stages.participants.artifacts.files import (
    Findings,
    LoadRules,
    parse_per_participant,
    parse_sidecar,
    to_bytes,
)
from stages.participants.artifacts.names import ArtifactFile
from stages.participants.chunking import PROMPT_HASH, chunk_scores_of
from stages.ports import Vectors
from stages.replies.strict import json_type

REMEDY = "write one float32 array of shape (chunks, dimension) per participant with numpy.savez"

#: The largest difference from length 1 of a normalised row: float32 rounds to about 6e-8.
UNIT_TOLERANCE = 1e-6

_ZERO = 1e-8
_SMALL = 16_000_000
_MOST_PER_BYTE = 20
"""Vectors hardly compress; what unpacks to more than this, and is not small, is refused before it is unpacked."""
_KEY = re.compile(r"emb_([1-9][0-9]{0,5})")
_UNREADABLE = (ValueError, EOFError, OSError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)


def parse_vectors(data: bytes, *, file: str) -> Parsed[dict[int, Vectors]]:
    """The arrays as written, ids ascending. Arrays with other names are ignored.

    An array of pickled objects, an array of numbers that are not exact in float32, and a file that is not an intact
    `.npz` are problems, and so is one that unpacks to more than 16 MB and 20 times its size.
    """
    try:
        arrays = _arrays(data)
    except _UNREADABLE as error:
        unreadable = f"is not an .npz file that can be read without unpickling ({type(error).__name__})"
        return Parsed({}, (FileProblem(file, None, unreadable, REMEDY),))
    problems = tuple(
        FileProblem(file, None, f"participant {participant_id}: {found}", REMEDY)
        for participant_id, array in arrays.items()
        if (found := _wrong(array))
    )
    return Parsed({} if problems else {key: array.astype(np.float32) for key, array in arrays.items()}, problems)


def write_vectors(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_vectors` reads, with the exact bits of the vectors."""
    file = BytesIO()
    arrays: Mapping[str, Any] = {f"emb_{person.participant_id}": person.vectors for person in participants}
    np.savez(file, **arrays)
    return file.getvalue()


def unit_length(rows: Vectors, dimension: int) -> Vectors:
    """The rows cut to `dimension`; those that are then not of length 1 are normalised.

    A row of length 1, up to UNIT_TOLERANCE, is unchanged, so that written vectors are read back bit for bit. No row may
    be one of `unsound_rows`. Raises EmbeddingDimensionMismatchError when the rows are shorter.
    """
    if not len(rows):
        return np.empty((0, dimension), dtype=np.float32)
    if rows.shape[1] < dimension:
        raise EmbeddingDimensionMismatchError(expected=dimension, actual=rows.shape[1])
    cut = np.array(rows[:, :dimension])
    # Squares of large float32 numbers overflow float32.
    lengths = np.linalg.norm(cut.astype(np.float64), axis=1)
    other = np.abs(lengths - 1) > UNIT_TOLERANCE
    cut[other] = cut[other] / lengths[other, np.newaxis]
    return cut


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


Tags = dict[int, tuple[tuple[PHQ8Item, ...], ...]]

TAGS_REMEDY = "write the tags again for these chunks, or import without them (--no-tags)"

_ITEMS = {item.evidence_key: item for item in PHQ8Item}


def parse_tags(data: bytes, *, file: str, chunks: Mapping[int, int]) -> Parsed[Tags]:
    """The tags per participant and chunk; a chunk may have none. `chunks` counts the chunks of each participant."""
    entries, problems = parse_per_participant(data, file=file, what_to_do=TAGS_REMEDY, wrong=_tags_wrong, chunks=chunks)
    if problems:
        return Parsed({}, problems)
    return Parsed({key: tuple(tuple(_ITEMS[tag] for tag in tags) for tags in entry) for key, entry in entries.items()})


def write_tags(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_tags` reads. Every participant has to have tags."""
    return to_bytes(
        {
            str(person.participant_id): [[tag.evidence_key for tag in tags] for tags in person.tags or ()]
            for person in participants
        }
    )


def _tags_wrong(tags: Any) -> str | None:
    if not isinstance(tags, list):
        return f"expected an array of tags, found {json_type(tags)}"
    if not all(isinstance(tag, str) for tag in tags):
        return "a tag is not a string"
    if not all(tag in _ITEMS for tag in tags):
        return "a tag is unknown, tags look like PHQ8_Sleep"
    return None


Scores = dict[int, tuple[dict[PHQ8Item, int | None], ...]]

CHUNK_SCORES_REMEDY = "score these chunks again, or import without them (--no-chunk-scores)"
PROMPT_REMEDY = (
    "score the chunks again (`ragq index chunk-scores`), or import them with `ragq references import NAME.npz "
    "--chunk-scores --other-prompt`, which records their prompt and shows it with every run"
)


def parse_chunk_scores(data: bytes, *, file: str, chunks: Mapping[int, int]) -> Parsed[Scores]:
    """The scores per participant and chunk. `chunks` counts the chunks of each participant."""
    entries, problems = parse_per_participant(
        data, file=file, what_to_do=CHUNK_SCORES_REMEDY, wrong=_chunk_scores_wrong, chunks=chunks
    )
    if problems:
        return Parsed({}, problems)
    return Parsed({key: tuple(map(chunk_scores_of, entry)) for key, entry in entries.items()})


def other_prompt(meta: ChunkScoresMeta) -> str | None:
    """A message if the scores were made with another prompt than the current one; else None."""
    if meta.prompt_hash == PROMPT_HASH:
        return None
    return f"prompt_hash: the scores were made with the prompt {meta.prompt_hash}, now it is {PROMPT_HASH}"


def write_chunk_scores(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_chunk_scores` reads. Every participant has to have scores."""
    return to_bytes(
        {
            str(person.participant_id): [
                {item.evidence_key: score for item, score in scores.items()} for scores in person.scores or ()
            ]
            for person in participants
        }
    )


def _chunk_scores_wrong(scores: Any) -> str | None:
    if not isinstance(scores, dict):
        return f"expected an object of scores, found {json_type(scores)}"
    try:
        chunk_scores_of(scores)
    except ScoringSchemaError as error:
        return "; ".join(f"{key}: {violation}" for key, violation in error.violations.items())
    return None


TEXTS_REMEDY = "write an object: participant id -> list of texts, in the order of the vectors"


def parse_texts(data: bytes, *, file: str) -> Parsed[dict[int, tuple[str, ...]]]:
    """The texts per participant, ids ascending."""
    entries, problems = parse_per_participant(data, file=file, what_to_do=TEXTS_REMEDY, wrong=_text_wrong)
    return Parsed({key: tuple(texts) for key, texts in entries.items()}, problems)


def _text_wrong(text: Any) -> str | None:
    return None if isinstance(text, str) else f"expected a string, found {json_type(text)}"


def write_texts(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_texts` reads."""
    return to_bytes({str(person.participant_id): person.texts for person in participants})


_ABSENT = "was requested and is missing"


def load_tags(files: Mapping[ArtifactFile, bytes], *, name: str, chunks: Mapping[int, int], findings: Findings) -> Tags:
    """The tags; a missing file is a problem. `chunks` counts the chunks of each participant."""
    file = f"{name}{ArtifactFile.TAGS}"
    if ArtifactFile.TAGS not in files:
        findings.refuse(file, _ABSENT, TAGS_REMEDY)
        return {}
    return findings.take(parse_tags(files[ArtifactFile.TAGS], file=file, chunks=chunks))


def load_chunk_scores(
    files: Mapping[ArtifactFile, bytes],
    *,
    name: str,
    chunks: Mapping[int, int],
    rules: LoadRules,
    findings: Findings,
) -> tuple[Scores, ChunkScoresMeta | None]:
    """The scores, and their scorer, whose prompt must be the current one; a missing file is a problem.

    Another prompt is only a warning if the rules accept it, which the description of the scores then records. With
    EMBEDDING_ALLOW_CHUNK_SCORES_PROMPT_HASH_MISMATCH another or an unknown prompt is only a warning as well.
    """
    file = f"{name}{ArtifactFile.CHUNK_SCORES}"
    scores: Scores = {}
    if ArtifactFile.CHUNK_SCORES in files:
        scores = findings.take(parse_chunk_scores(files[ArtifactFile.CHUNK_SCORES], file=file, chunks=chunks))
    else:
        findings.refuse(file, _ABSENT, CHUNK_SCORES_REMEDY)
    return scores, _load_meta(files, name=name, rules=rules, findings=findings)


def _load_meta(
    files: Mapping[ArtifactFile, bytes], *, name: str, rules: LoadRules, findings: Findings
) -> ChunkScoresMeta | None:
    file = f"{name}{ArtifactFile.CHUNK_SCORES_META}"
    if ArtifactFile.CHUNK_SCORES_META in files:
        data = files[ArtifactFile.CHUNK_SCORES_META]
        meta = findings.take(parse_sidecar(ChunkScoresMeta, data, file=file, what_to_do=CHUNK_SCORES_REMEDY))
        other = None if meta is None else other_prompt(meta)
    else:
        meta, other = None, _ABSENT
    if other and meta is not None and rules.accept_other_prompt:
        findings.warn(file, f"{other}; their prompt is recorded and shown with every run that uses the scores")
        meta = meta.model_copy(update={"other_prompt": True})
    elif other and rules.settings.embedding.allow_chunk_scores_prompt_hash_mismatch:
        findings.warn(file, f"{other}; the scores are used anyway")
    elif other:
        findings.refuse(file, other, PROMPT_REMEDY)
    if meta is not None and meta.source_embeddings not in (None, f"{name}{ArtifactFile.VECTORS}"):
        findings.warn(file, "the scores were made for an artifact of another name; check that it had the same chunks")
    return meta


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
