"""Parser of transcript files in the DAIC-WOZ layout: separated by TABs, one utterance a row."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator

from schemas.values.interviews import FileProblem, RowIrregularity, Transcript, Utterance
from schemas.values.transcript_variants import TranscriptVariant
from stages.files.delimited import DelimitedRow, Separator, parse_rows
from stages.files.problems import Parsed

COLUMNS = ("start_time", "stop_time", "speaker", "value")

INTERVIEWER, PARTICIPANT = SPEAKERS = ("Ellie", "Participant")


def parse_transcript(
    data: bytes, *, file: str, participant_id: int, variant: TranscriptVariant = TranscriptVariant.UNKNOWN
) -> Parsed[Transcript]:
    """Read the utterances in the order of the file.

    Rows whose speaker or value is blank are dropped; words such as `null` or `none` are speech. White space around a
    speaker is removed, the speakers are `Ellie` and `Participant` however their letters are cased, and a value is
    unchanged, also after a sync marker. Rows of another speaker, and rows that stop before they start, are kept and
    counted. Problems: those of `parse_rows`, times that are not seconds, and a file
    without any utterance.
    """
    rows, problems = parse_rows(data, file=file, separator=Separator.TAB, columns=COLUMNS)
    spoken = [row for row in rows if row.cells["speaker"].strip() and row.cells["value"].strip()]
    problems += tuple(problem for row in spoken for problem in _time_problems(row, file=file))
    if not spoken and not problems:
        what_to_do = "restore it, or remove its folder from the data set"
        empty = FileProblem(file=file, line=None, found="has no utterance with text", what_to_do=what_to_do)
        problems += (empty,)
    transcript = transcript_of(participant_id, (_utterance(row) for row in spoken))
    recorded = {"variant": variant, "irregular_rows": _irregular_rows(transcript.utterances)}
    return Parsed(transcript.model_copy(update=recorded), problems)


def transcript_of(participant_id: int, utterances: Iterable[Utterance]) -> Transcript:
    """The transcript of these utterances; the text is empty without any.

    >>> transcript_of(7, [Utterance(speaker="Ellie", value="hi"), Utterance(speaker="Participant", value="hey")]).text
    'Ellie: hi\\nParticipant: hey'
    """
    kept = tuple(utterances)
    text = "\n".join(f"{utterance.speaker}: {utterance.value}" for utterance in kept)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Transcript(participant_id=participant_id, text=text, sha256=sha256, utterances=kept)


def _utterance(row: DelimitedRow) -> Utterance:
    written = row.cells["speaker"].strip()
    return Utterance(
        speaker=next((speaker for speaker in SPEAKERS if speaker.casefold() == written.casefold()), written),
        value=row.cells["value"],
        start_s=_seconds(row.cells["start_time"]),
        stop_s=_seconds(row.cells["stop_time"]),
    )


def _irregular_rows(utterances: Iterable[Utterance]) -> dict[RowIrregularity, int]:
    return dict(Counter(found for utterance in utterances for found in _irregularities(utterance)))


def _irregularities(utterance: Utterance) -> Iterator[RowIrregularity]:
    if utterance.speaker not in SPEAKERS:
        yield RowIrregularity.UNKNOWN_SPEAKER
    if utterance.start_s is not None and utterance.stop_s is not None and utterance.stop_s < utterance.start_s:
        yield RowIrregularity.STOP_BEFORE_START


def _time_problems(row: DelimitedRow, *, file: str) -> Iterator[FileProblem]:
    for column in ("start_time", "stop_time"):
        if row.cells[column].strip() and _seconds(row.cells[column]) is None:
            found = f"{column} is not a number of seconds"
            yield FileProblem(
                file=file, line=row.line, found=found, what_to_do="write it like 12.345, or leave it blank"
            )


def _seconds(cell: str) -> float | None:
    try:
        seconds = float(cell)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None
