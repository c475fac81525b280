"""Cleaned variants of a transcript, which improve retrieval."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemas.errors import EmptyTranscriptError, Refused
from schemas.values.interviews import Transcript, Utterance
from schemas.values.transcript_variants import TranscriptVariant
from stages.participants.transcripts import INTERVIEWER, transcript_of
from stages.texts.listed import listed

INTERRUPTIONS_S: Mapping[int, tuple[float, float]] = {373: (395.0, 428.0), 444: (286.0, 387.0)}
"""Interruptions of the interview: participant -> start and end in seconds from the start of the recording."""

_SYNC_MARKER = re.compile(r"(<\s*sync\w*\s*>|\[\s*sync\w*\s*\])[\s.,;:!?]*", re.IGNORECASE)


def import_command(data_set: str | None, variant: TranscriptVariant | None = None) -> str:
    """The command that imports interviews into a data set; in a variant, in the place of those that it has.

    >>> import_command("clinic"), import_command(None, TranscriptVariant.PARTICIPANT_QA)
    ('ragq import participants DIR --name clinic', 'ragq import participants DIR --variant participant_qa --replace')
    """
    words = ["ragq import participants DIR"]
    words += [] if data_set is None else [f"--name {shlex.quote(data_set)}"]
    words += [f"--variant {variant}"] if variant in CLEANED else []
    return " ".join([*words, *([] if variant is None else ["--replace"])])


def vary(transcript: Transcript, variant: TranscriptVariant) -> Transcript:
    """The transcript in a variant, made from its rows.

    Raises Refused if its own variant lacks rows that this one has, and EmptyTranscriptError if the result is empty.
    """
    if transcript.variant not in (*_COMPLETE, variant):
        raise Refused(
            f"The transcript of participant {transcript.participant_id} is of variant '{transcript.variant}', from "
            f"which '{variant}' cannot be made. Import the transcripts as the data set has them, or leave out "
            "--variant."
        )
    cleaned = clean(transcript.utterances, participant_id=transcript.participant_id)
    kept = tuple(_VARIANTS[variant](cleaned))
    if not kept:
        raise EmptyTranscriptError(
            f"The transcript of participant {transcript.participant_id} is empty in the variant '{variant}'. "
            "Check its speakers, or use another variant."
        )
    varied = transcript_of(transcript.participant_id, kept)
    return varied.model_copy(update={"variant": variant, "irregular_rows": transcript.irregular_rows})


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


CLEANED = tuple(_VARIANTS)
"""The variants that can be made."""

_COMPLETE = (TranscriptVariant.UNKNOWN, TranscriptVariant.RAW, TranscriptVariant.BOTH_SPEAKERS_CLEAN)
"""Those with the rows of both speakers, as far as is known."""


def variant_of_folder(name: str) -> TranscriptVariant:
    """The variant that a folder of transcripts has by its name.

    >>> variant_of_folder("transcripts").value, variant_of_folder("transcripts_participant_qa").value
    ('raw', 'participant_qa')
    >>> variant_of_folder("interviews").value
    'unknown'
    """
    if name == "transcripts":
        return TranscriptVariant.RAW
    return next((variant for variant in CLEANED if name == f"transcripts_{variant}"), TranscriptVariant.UNKNOWN)


def refuse_wrong_variant(transcripts: Iterable[Transcript]) -> None:
    """Raise Refused for transcripts of variant participant_only in which the interviewer speaks."""
    wrong = [
        str(transcript.participant_id)
        for transcript in transcripts
        if transcript.variant is TranscriptVariant.PARTICIPANT_ONLY and any(map(_is_interviewer, transcript.utterances))
    ]
    if wrong:
        raise Refused(
            f"{len(wrong)} of the transcripts of variant 'participant_only' have rows of {INTERVIEWER}: "
            f"{listed(wrong)}. Name the variant of these files with --transcripts-variant."
        )


def _is_interviewer(utterance: Utterance) -> bool:
    return utterance.speaker == INTERVIEWER


def _is_interrupted(utterance: Utterance, participant_id: int) -> bool:
    window = INTERRUPTIONS_S.get(participant_id)
    if window is None or utterance.start_s is None or utterance.stop_s is None:
        return False
    start_s, stop_s = window
    first, last = sorted((utterance.start_s, utterance.stop_s))
    return first < stop_s and last > start_s
