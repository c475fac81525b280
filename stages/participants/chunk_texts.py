"""The text behind a reference."""

from collections.abc import Mapping

from schemas.errors import InputChangedError
from schemas.values.participants import Reference
from stages.participants.hashes import short_hash


def text_of(reference: Reference, chunk_texts: Mapping[int, str]) -> str:
    """The chunk's text, from texts by chunk id.

    Raises InputChangedError when the text is not there or is no longer the one that was retrieved.
    """
    text = chunk_texts.get(reference.chunk_id)
    if text is None or short_hash(text) != reference.chunk_hash:
        found = "is gone" if text is None else "has another text now"
        raise InputChangedError(
            f"Chunk {reference.chunk_id} of participant {reference.participant_id} {found} since it was retrieved; "
            "retry the job from stage 'retrieve'."
        )
    return text
