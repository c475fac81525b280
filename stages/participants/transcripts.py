"""Parser of transcript files in the DAIC-WOZ layout: separated by TABs, one utterance a row."""

import hashlib
import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from schemas.errors import EmptyTranscriptError, Refused
from schemas.values.participants import FileProblem, Participant, TranscriptVariant, Utterance
from stages.records import Parsed, Row, parse_rows
from stages.texts.characters import listed

COLUMNS = ("start_time", "stop_time", "speaker", "value")

INTERVIEWER, PARTICIPANT = SPEAKERS = ("Ellie", "Participant")


def parse_transcript(
    data: bytes, *, file: str, participant_id: int, variant: TranscriptVariant = TranscriptVariant.UNKNOWN
) -> Parsed[Participant]:
    """Read the utterances in the order of the file. Rows whose speaker or value is blank are dropped; words such as
    `null` or `none` are speech. The speakers are `Ellie` and `Participant` however their letters are cased, and a value
    is unchanged. Rows of another speaker, and rows that stop before they start, are kept. Times that are not seconds,
    and a file without any utterance, are problems."""
    rows, problems = parse_rows(data, file=file, by_tabs=True, columns=COLUMNS)
    spoken = [(line, cells) for line, cells in rows if cells["speaker"].strip() and cells["value"].strip()]
    problems += tuple(problem for row in spoken for problem in _time_problems(row, file=file))
    if not spoken and not problems:
        what_to_do = "restore it, or remove its folder from the data set"
        problems = (FileProblem(file, None, "has no utterance with text", what_to_do),)
    transcript = transcript_of(participant_id, (_utterance(cells) for _, cells in spoken))
    return Parsed(transcript.model_copy(update={"variant": variant}), problems)


def transcript_of(participant_id: int, utterances: Iterable[Utterance]) -> Participant:
    """Somebody who said these utterances; the transcript is empty without any.

    >>> said = [Utterance(speaker="Ellie", value="hi"), Utterance(speaker="Participant", value="hey")]
    >>> transcript_of(7, said).transcript
    'Ellie: hi\\nParticipant: hey'
    """
    kept = tuple(utterances)
    text = "\n".join(f"{utterance.speaker}: {utterance.value}" for utterance in kept)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Participant(id=participant_id, transcript=text, transcript_hash=sha256, utterances=kept)


def _utterance(cells: Mapping[str, str]) -> Utterance:
    written = cells["speaker"].strip()
    return Utterance(
        speaker=next((speaker for speaker in SPEAKERS if speaker.casefold() == written.casefold()), written),
        value=cells["value"],
        start_s=_seconds(cells["start_time"]),
        stop_s=_seconds(cells["stop_time"]),
    )


def _time_problems(row: Row, *, file: str) -> Iterator[FileProblem]:
    line, cells = row
    for column in ("start_time", "stop_time"):
        if cells[column].strip() and _seconds(cells[column]) is None:
            found = f"{column} is not a number of seconds"
            yield FileProblem(file, line, found, "write it like 12.345, or leave it blank")


def _seconds(cell: str) -> float | None:
    try:
        seconds = float(cell)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def refuse_blank(transcript: str) -> None:
    """Raise EmptyTranscriptError for a blank transcript."""
    if not transcript.strip():
        raise EmptyTranscriptError("The transcript has no text; import the participant's interview again.")


def utterances_of(speaker: str, transcript: str) -> list[str]:
    """The utterances of a speaker, line by line, each text once, without the speaker's name.

    >>> utterances_of("Participant", "Ellie: how are you\\nParticipant: fine\\nParticipant: fine")
    ['fine']
    """
    start = f"{speaker}:"
    said = (line.removeprefix(start).strip() for line in transcript.split("\n") if line.startswith(start))
    return list(dict.fromkeys(text for text in said if text))


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


def vary(person: Participant, variant: TranscriptVariant) -> Participant:
    """The participant with the transcript in a variant. Raises Refused if its own lacks rows that this one has."""
    if person.variant not in (*_COMPLETE, variant):
        raise Refused(
            f"The transcript of participant {person.id} is of variant '{person.variant}', from "
            f"which '{variant}' cannot be made. Import the transcripts as the data set has them, or leave out "
            "--variant."
        )
    cleaned = clean(person.utterances, participant_id=person.id)
    kept = tuple(_VARIANTS[variant](cleaned))
    if not kept:
        raise EmptyTranscriptError(
            f"The transcript of participant {person.id} is empty in the variant '{variant}'. "
            "Check its speakers, or use another variant."
        )
    said = transcript_of(person.id, kept)
    update = {name: getattr(said, name) for name in ("transcript", "transcript_hash", "utterances")}
    return person.model_copy(update={**update, "variant": variant})


def clean(utterances: Sequence[Utterance], *, participant_id: int) -> tuple[Utterance, ...]:
    """The rows of the interview, in order: from the interviewer's first row, without sync markers and interruptions.
    Without any interviewer row, only sync markers and interruptions are removed. A row is an interruption if it
    overlaps one of INTERRUPTIONS_S; a row without times never is. Nonverbal tags are kept."""
    first = next((at for at, utterance in enumerate(utterances) if _is_interviewer(utterance)), 0)
    return tuple(
        utterance
        for utterance in utterances[first:]
        if not _SYNC_MARKER.fullmatch(utterance.value.strip()) and not _is_interrupted(utterance, participant_id)
    )


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


_VARIANTS: Mapping[TranscriptVariant, Callable[[Iterable[Utterance]], Iterator[Utterance]]] = {
    TranscriptVariant.BOTH_SPEAKERS_CLEAN: iter,
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


def refuse_wrong_variant(people: Iterable[Participant]) -> None:
    """Raise Refused for transcripts of variant participant_only in which the interviewer speaks."""
    wrong = [
        person.id
        for person in people
        if person.variant is TranscriptVariant.PARTICIPANT_ONLY and any(map(_is_interviewer, person.utterances))
    ]
    if wrong:
        raise Refused(
            f"{len(wrong)} of the transcripts of variant 'participant_only' have rows of {INTERVIEWER}: "
            f"{listed(wrong)}. Name the folder of these files by their variant, or `transcripts`."
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
