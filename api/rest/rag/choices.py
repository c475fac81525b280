"""Which passages of a context a client wants to keep, and in which order."""

from collections.abc import Sequence
from typing import Any, Final

from api.rest.bodies.rag_queries import Passage, PassageChoice
from schemas.errors import QueryValueError

_FIELD: Final = "clean_retrieval_context"
_NAMES: Final = ("place", "chunk_ids", "work_id", "start_line", "end_line")


def places_of(choices: Sequence[PassageChoice], passages: Sequence[Passage]) -> list[int]:
    """The places of the passages that are chosen, in the order of the choices.

    A passage is recognised by those of its place, chunks, work and lines that a choice names. Raises QueryValueError
    for a choice that names none of them, that fits no passage or several, and that changes the text of a passage.
    """
    stored = [passage.model_dump() for passage in passages]
    return [_place(number, choice, stored) for number, choice in enumerate(choices, start=1)]


def _place(number: int, choice: PassageChoice, passages: Sequence[dict[str, Any]]) -> int:
    given = choice.model_dump(exclude_none=True)
    names = {name: given.pop(name) for name in _NAMES if name in given}
    if not names:
        raise QueryValueError(_FIELD, f"entry {number} names no passage; give its place, or its work and lines")
    fitting = [passage for passage in passages if all(passage[name] == value for name, value in names.items())]
    if len(fitting) != 1:
        raise QueryValueError(
            _FIELD,
            f"entry {number} fits {len(fitting)} of {len(passages)} passages; read the question again and name "
            "passages that are there",
        )
    (passage,) = fitting
    changed = [name for name, value in given.items() if passage[name] != value]
    if changed:
        raise QueryValueError(
            _FIELD,
            f"entry {number} has another {', '.join(changed)}; the lines of a work cannot be changed",
        )
    place: int = passage["place"]
    return place
