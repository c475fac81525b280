"""Cleaned variants of a transcript, which improve retrieval."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemas.errors import EmptyTranscriptError
from schemas.values.interviews import Transcript, TranscriptVariant, Utterance
from stages.participants.transcripts import transcript_of

INTERRUPTIONS_S: Mapping[int, tuple[float, float]] = {373: (395.0, 428.0), 444: (286.0, 387.0)}
"""Interruptions of the interview: participant -> start and end in seconds from the start of the recording."""

_SYNC_MARKER = re.compile(r"(<\s*sync\w*\s*>|\[\s*sync\w*\s*\])[\s.,;:!?]*", re.IGNORECASE)


def vary(transcript: Transcript, variant: TranscriptVariant) -> Transcript:
    """The transcript in a variant. Raises EmptyTranscriptError if the result is empty."""
    cleaned = clean(transcript.utterances, participant_id=transcript.participant_id)
    kept = tuple(_VARIANTS[variant](cleaned))
    if not kept:
        raise EmptyTranscriptError(
            f"The transcript of participant {transcript.participant_id} is empty in the variant '{variant}'. "
            "Check its speakers, or use another variant."
        )
    return transcript_of(transcript.participant_id, kept)


def clean(utterances: Sequence[Utterance], *, participant_id: int) -> tuple[Utterance, ...]:
    """The rows of the interview, in order: from the interviewer's first row, without sync markers and interruptions.

    Without any interviewer row, only sync markers and interruptions are removed. A row is an interruption if it
    overlaps one of INTERRUPTIONS_S; a row without times never is. Nonverbal tags are kept.
    """
    first = next((at for at, utterance in enumerate(utterances) if _is_interviewer(utterance)), 0)
    return tuple(
        utterance
        for utterance in utterances[first:]
        if not _SYNC_MARKER.fullmatch(utterance.value.strip()) and not _is_interrupted(utterance, participant_id)
    )


def both_speakers(utterances: Iterable[Utterance]) -> Iterator[Utterance]:
    """Every row."""
    yield from utterances


def participant_only(utterances: Iterable[Utterance]) -> Iterator[Utterance]:
    """Every row that is not the interviewer's."""
    return (utterance for utterance in utterances if not _is_interviewer(utterance))


def participant_qa(utterances: Iterable[Utterance]) -> Iterator[Utterance]:
    """The participant's rows, each block after the one interviewer row directly before it."""
    question = None
    for utterance in utterances:
        if _is_interviewer(utterance):
            question = utterance
            continue
        if question is not None:
            yield question
            question = None
        yield utterance


_VARIANTS = {
    TranscriptVariant.BOTH_SPEAKERS_CLEAN: both_speakers,
    TranscriptVariant.PARTICIPANT_ONLY: participant_only,
    TranscriptVariant.PARTICIPANT_QA: participant_qa,
}


def _is_interviewer(utterance: Utterance) -> bool:
    return utterance.speaker.casefold() == "ellie"


def _is_interrupted(utterance: Utterance, participant_id: int) -> bool:
    window = INTERRUPTIONS_S.get(participant_id)
    if window is None or utterance.start_s is None or utterance.stop_s is None:
        return False
    start_s, stop_s = window
    return utterance.start_s < stop_s and utterance.stop_s > start_s
