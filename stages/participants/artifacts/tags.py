"""`.tags.json`: the items of each chunk (Spec 34)."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.values.interviews import FileProblem
from schemas.values.participants import ParticipantChunks
from schemas.values.phq8 import PHQ8Item
from stages.files.records import Parsed
from stages.participants.artifacts.files import misaligned, parse_per_participant, to_bytes
from stages.replies.strict import json_type

Tags = dict[int, tuple[tuple[PHQ8Item, ...], ...]]

REMEDY = "write the tags again for these chunks, or import without them (--no-tags)"

_ITEMS = {item.evidence_key: item for item in PHQ8Item}


def parse_tags(data: bytes, *, file: str, chunks: Mapping[int, int]) -> Parsed[Tags]:
    """The tags per participant and chunk; a chunk may have none. `chunks` counts the chunks of each participant."""
    entries, problems = parse_per_participant(data, file=file, what_to_do=REMEDY)
    wrong = [
        FileProblem(
            file=file, line=None, found=f"participant {participant_id}, chunk {ordinal}: {found}", what_to_do=REMEDY
        )
        for participant_id, tags_of_chunks in entries.items()
        for ordinal, tags in enumerate(tags_of_chunks)
        if (found := _wrong(tags))
    ]
    wrong += misaligned(entries, chunks, file=file, what_to_do=REMEDY)
    if problems or wrong:
        return Parsed({}, (*problems, *wrong))
    return Parsed({key: tuple(tuple(_ITEMS[tag] for tag in tags) for tags in entry) for key, entry in entries.items()})


def write_tags(participants: Sequence[ParticipantChunks]) -> bytes:
    """The file that `parse_tags` reads. Every participant has to have tags."""
    return to_bytes(
        {
            str(person.participant_id): [[tag.evidence_key for tag in tags] for tags in person.tags or ()]
            for person in participants
        }
    )


def _wrong(tags: Any) -> str | None:
    if not isinstance(tags, list):
        return f"expected an array of tags, found {json_type(tags)}"
    if not all(isinstance(tag, str) for tag in tags):
        return "a tag is not a string"
    if not all(tag in _ITEMS for tag in tags):
        return "a tag is unknown, tags look like PHQ8_Sleep"
    return None
