"""A query edited: its text, its expansion, or the passages of its context. What was computed from the old is stale."""

from typing import Any

from schemas.errors import QueryValueError
from schemas.values.queries import ConsolidatedContext, Expansion, Origin
from schemas.values.requests import QueryEdit
from services.questions.steps import Step, not_ready
from stages.queries.expand import intent_of, no_expansion, pasted_expansion
from stages.queries.retrieve import query_texts
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts, backlog
from store.runs.edits import carry_over, set_output, set_stages, stage_states


async def edit(connection: Connection, query: StoredQuery, changes: QueryEdit, *, run: bool) -> bool:
    """Change a query: everything that is given, or nothing. Returns whether stages run again.

    A new text keeps the expansion; a query without one is searched for by its text alone. After a new text, phrase
    or hypothetical answer every later stage is stale; after another intent or entity, which are not embedded, the
    search and what follows it; after new passages the prompt and the answer. With `run` the stale stages of the chain
    run again, up to the stage it ends with. Without, the chain ends with what was edited, and the query
    shows what it needs next. Values that are stored already change nothing.

    Raises QueryValueError for passages that there are not, and for passages chosen together with another text or
    expansion; LLMResponseParseError for a reply that cannot be used; StageRunningError, QueryMissingError, and
    Refused for passages before there is a context.
    """
    async with connection.transaction():
        query = await queries.hold(connection, query.id)
        chain = await stage_states(connection, query.job_id)
        old = await attempts.stored(connection, query.job_id, "expand", Expansion) or no_expansion()
        expansion = _new_expansion(old, changes)
        text = changes.original_query or query.original_query
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
            stages = [of.stage for of in chain]
            await set_stages(connection, query.job_id, stages[: stages.index(stage) + 1])
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
    given = changes.model_fields_set
    parts: dict[str, Any] = {}
    if "expanded_queries" in given:
        parts["queries"] = tuple(filter(None, changes.expanded_queries or ()))
    if "hyde_answer" in given:
        parts["hyde_answer"] = changes.hyde_answer or ""
    if "intent" in given:
        parts["intent"] = intent_of(changes.intent or "")
    if "entities" in given:
        parts["entities"] = tuple(filter(None, changes.entities or ()))
    if changes.expansion_reply is None:
        return old.model_copy(update=parts | {"origin": Origin.EDITED})
    pasted = pasted_expansion(changes.expansion_reply)
    return pasted.model_copy(update=parts | {"origin": Origin.EDITED}) if parts else pasted


async def _new_context(connection: Connection, query: StoredQuery, changes: QueryEdit) -> ConsolidatedContext | None:
    """The passages that were chosen; None when none were, or all of them in the order they have."""
    if changes.context is None:
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
