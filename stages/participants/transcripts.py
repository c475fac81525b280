"""Parser of transcript files in the DAIC-WOZ layout: separated by TABs, one utterance a row."""

import hashlib
import math
from collections.abc import Iterable, Iterator

from schemas.values.interviews import FileProblem, Transcript, Utterance
from stages.files.delimited import DelimitedRow, Separator, parse_rows
from stages.files.problems import Parsed

COLUMNS = ("start_time", "stop_time", "speaker", "value")


def parse_transcript(data: bytes, *, file: str, participant_id: int) -> Parsed[Transcript]:
    """Read the utterances in the order of the file.

    Rows whose speaker or value is blank are dropped; words such as `null` or `none` are speech. White space around a
    speaker is removed, a value is unchanged. Problems: those of `parse_rows`, times that are not seconds, and a file
    without any utterance.
    """
    rows, problems = parse_rows(data, file=file, separator=Separator.TAB, columns=COLUMNS)
    spoken = [row for row in rows if row.cells["speaker"].strip() and row.cells["value"].strip()]
    problems += tuple(problem for row in spoken for problem in _time_problems(row, file=file))
    if not spoken and not problems:
        what_to_do = "restore it, or remove its folder from the data set"
        empty = FileProblem(file=file, line=None, found="has no utterance with text", what_to_do=what_to_do)
        problems += (empty,)
    return Parsed(transcript_of(participant_id, (_utterance(row) for row in spoken)), problems)


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
    return Utterance(
        speaker=row.cells["speaker"].strip(),
        value=row.cells["value"],
        start_s=_seconds(row.cells["start_time"]),
        stop_s=_seconds(row.cells["stop_time"]),
    )


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
