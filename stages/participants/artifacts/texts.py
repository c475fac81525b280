"""`.json`: the texts of the chunks."""

from collections.abc import Sequence

from schemas.values.interviews import FileProblem
from schemas.values.participants import ParticipantChunks
from stages.files.records import Parsed
from stages.participants.artifacts.files import parse_per_participant, to_bytes
from stages.replies.strict import json_type

REMEDY = "write an object: participant id -> list of texts, in the order of the vectors"


def parse_texts(data: bytes, *, file: str) -> Parsed[dict[int, tuple[str, ...]]]:
    """The texts per participant, ids ascending."""
    entries, problems = parse_per_participant(data, file=file, what_to_do=REMEDY)
    wrong = (
        FileProblem(
            file=file,
            line=None,
            found=f"participant {participant_id}, chunk {ordinal}: expected a string, found {json_type(text)}",
            what_to_do=REMEDY,
        )
        for participant_id, texts in entries.items()
        for ordinal, text in enumerate(texts)
        if not isinstance(text, str)
    )
    return Parsed({key: tuple(texts) for key, texts in entries.items()}, (*problems, *wrong))


def write_texts(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_texts` reads."""
    return to_bytes({str(person.participant_id): person.texts for person in participants})
