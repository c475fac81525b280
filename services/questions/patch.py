"""Several things about a question changed at once, without anything running for it: the chain ends at what was edited.

What was computed from the old state is no longer in the chain, so that the question says what it needs next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from schemas.errors import QueryValueError
from schemas.values.queries import Expansion, Intent, Origin
from services.questions.edits import reorder_context
from services.questions.lookup import lock_query
from services.questions.text import MAX_ANSWER_CHARS, phrases, plain, question_text
from stages.queries.expand import no_expansion
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts, edits


class Unchanged(Enum):
    """The value of what a patch leaves as it is."""

    UNCHANGED = auto()


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, kw_only=True)
class QueryPatch:
    """New values. None empties what may be empty: an expansion's parts, and its intent."""

    original_query: str | Unchanged = UNCHANGED
    expanded_queries: Sequence[str] | Unchanged | None = UNCHANGED
    hyde_answer: str | Unchanged | None = UNCHANGED
    intent: str | Unchanged | None = UNCHANGED
    """In any case of letters; an empty one is none."""
    entities: Sequence[str] | Unchanged | None = UNCHANGED
    context: Sequence[int] | Unchanged = UNCHANGED
    """Places, from 1, of the passages that stay, in their new order."""


async def patch(connection: Connection, query: StoredQuery, changes: QueryPatch) -> None:
    """Change a question: all that is given, or nothing.

    A new text or expansion ends the chain with the expansion, which is then edited: a question without one is searched
    for as it stands. New passages end it with the context. Values that are there already change nothing.

    Raises QueryValueError for a value that cannot be taken, and for passages chosen together with an expansion that
    did not find them; StageRunningError, QueryMissingError, and Refused for passages of a context that is not there.
    """
    async with connection.transaction():
        query = await lock_query(connection, query.id)
        await edits.stage_states(connection, query.job_id)
        stored = await attempts.output(connection, query.job_id, "expand")
        old = no_expansion() if stored is None else Expansion.model_validate(stored.value)
        new = old.model_copy(update=_new_parts(changes))
        text = query.original_query
        if not isinstance(changes.original_query, Unchanged):
            text = question_text(changes.original_query)
        places = await _new_places(connection, query, changes)
        if text != query.original_query:
            await queries.rewrite(connection, query.id, text)
        if text != query.original_query or new != old:
            if places is not None:
                raise QueryValueError(
                    "context", "was found by the question as it was; choose passages without changing the question too"
                )
            edited = new.model_copy(update={"origin": Origin.EDITED})
            await edits.set_output(connection, query.job_id, "expand", edited.model_dump(mode="json"))
            await edits.truncate_after(connection, query.job_id, "expand")
        elif places is not None:
            await reorder_context(connection, query, places, pause=False)
            await edits.truncate_after(connection, query.job_id, "consolidate")


def _new_parts(changes: QueryPatch) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if not isinstance(changes.expanded_queries, Unchanged):
        parts["queries"] = phrases("expanded_queries", changes.expanded_queries or ())
    if not isinstance(changes.hyde_answer, Unchanged):
        parts["hyde_answer"] = plain("hyde_answer", changes.hyde_answer or "", MAX_ANSWER_CHARS)
    if not isinstance(changes.intent, Unchanged):
        parts["intent"] = _intent(changes.intent or "")
    if not isinstance(changes.entities, Unchanged):
        parts["entities"] = phrases("entities", changes.entities or ())
    return parts


def _intent(text: str) -> Intent | None:
    name = text.strip().upper()
    if name and name not in set(Intent):
        raise QueryValueError("intent", f"is none of {', '.join(Intent)}; leave it empty for none")
    return Intent(name) if name else None


async def _new_places(connection: Connection, query: StoredQuery, changes: QueryPatch) -> Sequence[int] | None:
    """The passages that were chosen; None when none were, or all of them in the order they have."""
    if isinstance(changes.context, Unchanged):
        return None
    stored = await attempts.output(connection, query.job_id, "consolidate")
    there = 0 if stored is None else len(stored.value["groups"])
    return None if there and list(changes.context) == list(range(1, there + 1)) else changes.context
