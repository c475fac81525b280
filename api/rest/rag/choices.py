"""The passages of a context that a client keeps, and their order."""

from collections.abc import Sequence
from typing import Any, Final

from api.rest.bodies.rag_queries import Passage, PassageChoice
from schemas.errors import QueryValueError

_FIELD: Final = "clean_retrieval_context"
_NAMES: Final = ("chunk_ids", "work_id", "start_line", "end_line")


def places_of(choices: Sequence[PassageChoice], passages: Sequence[Passage]) -> list[int]:
    """The places of the chosen passages, in the order of the choices.

    A choice identifies a passage by its chunks, work and lines, or by its place. A place beside them counts only where
    several passages match them: a page that saves twice sends the places of before. Raises QueryValueError for a choice
    with none of them, for one that matches no passage or several, and for one that changes the content of a passage.
    """
    stored = [passage.model_dump(mode="json") for passage in passages]
    return [_place(number, choice, stored) for number, choice in enumerate(choices, start=1)]


def _place(number: int, choice: PassageChoice, passages: Sequence[dict[str, Any]]) -> int:
    given = choice.model_dump(exclude_none=True)
    at = given.pop("place", None)
    names = {name: given.pop(name) for name in _NAMES if name in given}
    if not names and at is None:
        raise QueryValueError(_FIELD, f"entry {number} identifies no passage; give its place, or its work and lines")
    fitting = [passage for passage in passages if all(passage[name] == value for name, value in names.items())]
    if len(fitting) > 1 and at is not None:
        fitting = [passage for passage in fitting if passage["place"] == at]
    if len(fitting) != 1:
        raise QueryValueError(
            _FIELD,
            f"entry {number} matches {len(fitting)} of {len(passages)} passages; read the question again and choose "
            "from its passages",
        )
    (passage,) = fitting
    changed = [name for name, value in given.items() if passage[name] != value]
    if changed:
        raise QueryValueError(_FIELD, f"entry {number} changes {', '.join(changed)}; the content of passages is fixed")
    place: int = passage["place"]
    return place
