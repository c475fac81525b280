"""`.chunk_scores.json` and its `.meta.json`: the item scores that each chunk supports by itself (Spec 35)."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.errors import ScoringSchemaError
from schemas.values.interviews import FileProblem
from schemas.values.participants import ParticipantChunks
from schemas.values.phq8 import PHQ8Item
from schemas.values.references import ChunkScoresMeta
from stages.files.records import Parsed
from stages.participants.artifacts.files import misaligned, parse_per_participant, to_bytes
from stages.participants.chunk_scores import PROMPT_HASH, chunk_scores_of
from stages.replies.strict import json_type

Scores = dict[int, tuple[dict[PHQ8Item, int | None], ...]]

REMEDY = "score these chunks again, or import without them (--no-chunk-scores)"
PROMPT_REMEDY = (
    "score the chunks again (`ragq index chunk-scores`), or import them with `ragq references import NAME.npz "
    "--chunk-scores --other-prompt`, which records their prompt and shows it with every run"
)


def parse_chunk_scores(data: bytes, *, file: str, chunks: Mapping[int, int]) -> Parsed[Scores]:
    """The scores per participant and chunk. `chunks` counts the chunks of each participant."""
    entries, problems = parse_per_participant(data, file=file, what_to_do=REMEDY)
    wrong = [
        FileProblem(
            file=file, line=None, found=f"participant {participant_id}, chunk {ordinal}: {found}", what_to_do=REMEDY
        )
        for participant_id, scores_of_chunks in entries.items()
        for ordinal, scores in enumerate(scores_of_chunks)
        if (found := _wrong(scores))
    ]
    wrong += misaligned(entries, chunks, file=file, what_to_do=REMEDY)
    if problems or wrong:
        return Parsed({}, (*problems, *wrong))
    return Parsed(
        {
            participant_id: tuple(chunk_scores_of(scores) for scores in entry)
            for participant_id, entry in entries.items()
        }
    )


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


def _wrong(scores: Any) -> str | None:
    if not isinstance(scores, dict):
        return f"expected an object of scores, found {json_type(scores)}"
    try:
        chunk_scores_of(scores)
    except ScoringSchemaError as error:
        return "; ".join(f"{key}: {violation}" for key, violation in error.violations.items())
    return None
