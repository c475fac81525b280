"""A query edited: its text, its expansion, or the passages of its context. What was computed from the old is stale."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from schemas.errors import QueryValueError
from schemas.values.queries import ConsolidatedContext, Expansion, Origin
from services.questions.lookup import lock_query, not_ready
from services.questions.steps import Step
from stages.queries.expand import intent_of, no_expansion, pasted_expansion
from stages.queries.query_files import MAX_CHARS
from stages.queries.retrieve import query_texts
from stages.texts.characters import can_be_stored
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts, backlog
from store.runs.edits import carry_over, set_output, stage_states, truncate_after

#: A hypothetical answer (HyDE) is a paragraph.
MAX_ANSWER_CHARS: Final = 10_000
MAX_INTENT_CHARS: Final = 50
#: A search phrase, or an entity.
MAX_PHRASE_CHARS: Final = 500
MAX_PHRASES: Final = 50


def query_text(text: str) -> str:
    """The text of a query without blanks around it. Raises QueryValueError for an empty one and one too long."""
    return filled("original_query", text, MAX_CHARS)


def phrases(field: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Search phrases or entities without blanks around them; blank ones are left out.

    Raises QueryValueError for one that cannot be used.
    """
    if len(texts) > MAX_PHRASES:
        raise QueryValueError(field, f"has {len(texts)} entries; at most {MAX_PHRASES} are allowed")
    cleaned = (plain(f"{field}, entry {place}", text, MAX_PHRASE_CHARS) for place, text in enumerate(texts, start=1))
    return tuple(text for text in cleaned if text)


def filled(field: str, text: str, longest: int) -> str:
    """A text of 1 to `longest` characters, without blanks around it. Raises QueryValueError."""
    text = plain(field, text, longest)
    if not text:
        raise QueryValueError(field, "is blank; write something")
    return text


def plain(field: str, text: str, longest: int) -> str:
    """A text of at most `longest` characters, without blanks around it. Raises QueryValueError."""
    text = text.strip()
    if len(text) > longest:
        raise QueryValueError(field, f"has {len(text)} characters; at most {longest} are allowed")
    if not can_be_stored(text):
        raise QueryValueError(field, "holds characters that cannot be stored: NUL, or half of a surrogate pair")
    return text


class Unchanged(Enum):
    """The value of what an edit leaves as it is."""

    UNCHANGED = auto()


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, kw_only=True)
class QueryEdit:
    """New values. None empties what may be empty: an expansion's parts, and its intent."""

    original_query: str | Unchanged = UNCHANGED
    expansion_reply: str | Unchanged = UNCHANGED
    """The reply of an external model, which replaces the whole expansion; parts given with it replace those of it."""
    expanded_queries: Sequence[str] | Unchanged | None = UNCHANGED
    hyde_answer: str | Unchanged | None = UNCHANGED
    intent: str | Unchanged | None = UNCHANGED
    """One of `Intent` in upper or lower case, or another text, which has no effect on the ranking; empty for none."""
    entities: Sequence[str] | Unchanged | None = UNCHANGED
    context: Sequence[int] | Unchanged = UNCHANGED
    """Places, from 1, of the passages to keep, in their new order."""


async def edit(connection: Connection, query: StoredQuery, changes: QueryEdit, *, run: bool) -> bool:
    """Change a query: everything that is given, or nothing. Returns whether stages run again.

    A new text keeps the expansion; a query without one is searched for by its text alone. After a new text, phrase
    or hypothetical answer every later stage is stale; after another intent or entity, which are not embedded, the
    search and what follows it; after new passages the prompt and the answer. With `run` the stale stages of the chain
    run again, up to the stage it ends with. Without, the chain ends with what was edited, and the query
    shows what it needs next. Values that are stored already change nothing.

    Raises QueryValueError for a value that cannot be used, and for passages chosen together with another text or
    expansion; LLMResponseParseError for a reply that cannot be used; StageRunningError, QueryMissingError, and
    Refused for passages before there is a context.
    """
    async with connection.transaction():
        query = await lock_query(connection, query.id)
        chain = await stage_states(connection, query.job_id)
        old = await attempts.stored(connection, query.job_id, "expand", Expansion) or no_expansion()
        expansion = _new_expansion(old, changes)
        text = query.original_query
        if not isinstance(changes.original_query, Unchanged):
            text = query_text(changes.original_query)
        context = await _new_context(connection, query, changes)
        output: Expansion | ConsolidatedContext
        embedded = None
        if text != query.original_query or expansion.model_copy(update={"origin": old.origin}) != old:
            if context is not None:
                raise QueryValueError(
                    "context", "was found by the query as it was; choose passages without changing the query too"
                )
            if text != query.original_query:
                await queries.rewrite(connection, query.id, text)
            stage, output = "expand", expansion
            is_embedded = text == query.original_query and query_texts(text, old) == query_texts(text, expansion)
            embedded = await attempts.output(connection, query.job_id, "embed") if is_embedded else None
        elif context is not None:
            stage, output = "consolidate", context
        else:
            return False
        await set_output(connection, query.job_id, stage, output.model_dump(mode="json"))
        if embedded is not None:
            await carry_over(connection, embedded.attempt_id, query.job_id)
            stage = "embed"
        if not run:
            await truncate_after(connection, query.job_id, stage)
        is_due = run and stage != chain[-1].stage
        if is_due:
            await backlog.hasten(connection, [query.job_id])
        return is_due


async def stored_context(connection: Connection, query: StoredQuery) -> ConsolidatedContext:
    """The passages that an edit chooses from. Raises Refused before there are any."""
    stored = await attempts.stored(connection, query.job_id, "consolidate", ConsolidatedContext)
    if stored is None:
        raise not_ready(query.id, "edit of passages", Step.CONSOLIDATE)
    return stored


def _new_expansion(old: Expansion, changes: QueryEdit) -> Expansion:
    parts: dict[str, Any] = {}
    if not isinstance(changes.expanded_queries, Unchanged):
        parts["queries"] = phrases("expanded_queries", changes.expanded_queries or ())
    if not isinstance(changes.hyde_answer, Unchanged):
        parts["hyde_answer"] = plain("hyde_answer", changes.hyde_answer or "", MAX_ANSWER_CHARS)
    if not isinstance(changes.intent, Unchanged):
        parts["intent"] = intent_of(plain("intent", changes.intent or "", MAX_INTENT_CHARS))
    if not isinstance(changes.entities, Unchanged):
        parts["entities"] = phrases("entities", changes.entities or ())
    if isinstance(changes.expansion_reply, Unchanged):
        return old.model_copy(update=parts | {"origin": Origin.EDITED})
    pasted = pasted_expansion(changes.expansion_reply)
    return pasted.model_copy(update=parts | {"origin": Origin.EDITED}) if parts else pasted


async def _new_context(connection: Connection, query: StoredQuery, changes: QueryEdit) -> ConsolidatedContext | None:
    """The passages that were chosen; None when none were, or all of them in the order they have."""
    if isinstance(changes.context, Unchanged):
        return None
    stored = await stored_context(connection, query)
    places, whole = list(changes.context), list(range(1, len(stored.groups) + 1))
    if not places or len(set(places)) < len(places) or not set(places) <= set(whole):
        raise QueryValueError(
            "context",
            f"has {len(whole)} passages in query {query.id}; name each passage to keep once, by its place from 1",
        )
    if places == whole:
        return None
    return stored.model_copy(update={"groups": tuple(stored.groups[place - 1] for place in places)})
