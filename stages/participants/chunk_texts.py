"""The text of a reference."""

from collections.abc import Mapping

from schemas.errors import ReferenceTextError
from schemas.values.participants import Reference
from stages.texts.hashes import short_hash


def text_of(reference: Reference, chunk_texts: Mapping[int, str]) -> str:
    """The chunk's text, from texts by chunk id.

    Raises ReferenceTextError when the text is missing or differs from the one that was retrieved.
    """
    text = chunk_texts.get(reference.chunk_id)
    if text is None or short_hash(text) != reference.chunk_hash:
        raise ReferenceTextError(reference.chunk_id, reference.participant_id, is_gone=text is None)
    return text
