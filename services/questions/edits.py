"""What people change about a question after it was submitted. What was computed from the old state comes again."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.chains import stages_of
from schemas.errors import QueryValueError, Refused
from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, Intent, Origin
from stages.queries.expand import no_expansion, pasted_expansion
from stages.queries.generate import pasted_answer
from store.database import Connection
from store.questions import queries, query_jobs
from store.questions.queries import StoredQuery
from store.runs import attempts, edits

#: Said with a job that waits after an edit.
EDITED = "edited; `ragq resume` lets it go on"


@dataclass(frozen=True, kw_only=True)
class ExpansionEdit:
    """New values of an expansion; None keeps the old one."""

    intent: Intent | None = None
    queries: Sequence[str] | None = None
    hyde_answer: str | None = None
    entities: Sequence[str] | None = None


async def edit_text(connection: Connection, query: StoredQuery, text: str, *, pause: bool) -> None:
    """Ask something else: the whole chain comes again."""
    async with connection.transaction():
        await queries.rewrite(connection, query.id, text)
        await edits.redo(connection, query.job_id, "expand", pause_note=_note(pause))


async def edit_expansion(connection: Connection, query: StoredQuery, edit: ExpansionEdit, *, pause: bool) -> None:
    """Change parts of the expansion; without one, the parts that are left out are empty."""
    stored = await attempts.output(connection, query.job_id, "expand")
    old = no_expansion() if stored is None else Expansion.model_validate(stored.value)
    new = Expansion(
        origin=Origin.EDITED,
        queries=old.queries if edit.queries is None else tuple(edit.queries),
        hyde_answer=old.hyde_answer if edit.hyde_answer is None else edit.hyde_answer,
        intent=edit.intent or old.intent,
        entities=old.entities if edit.entities is None else tuple(edit.entities),
    )
    await _give(connection, query, "expand", new, pause=pause)


async def paste_expansion(connection: Connection, query: StoredQuery, reply: str, *, pause: bool) -> None:
    """Take a model's reply as the expansion. Raises LLMResponseParseError for one that cannot be used."""
    await _give(connection, query, "expand", pasted_expansion(reply), pause=pause)


async def reorder_context(connection: Connection, query: StoredQuery, places: Sequence[int], *, pause: bool) -> None:
    """Keep the passages at these places (from 1) of the consolidated context, in this order.

    Raises QueryValueError for a place that there is not, or that is named twice, and Refused when there is no context
    yet.
    """
    stored = await attempts.output(connection, query.job_id, "consolidate")
    if stored is None:
        raise Refused(f"Query {query.id} has no consolidated context yet; `ragq query show {query.id}` says how far.")
    context = ConsolidatedContext.model_validate(stored.value)
    if not places or len(set(places)) < len(places) or not set(places) <= set(range(1, len(context.groups) + 1)):
        raise QueryValueError(
            "context",
            f"has {len(context.groups)} passages in query {query.id}; name each that is to stay once, by its place "
            "from 1",
        )
    kept = context.model_copy(update={"groups": tuple(context.groups[place - 1] for place in places)})
    await _give(connection, query, "consolidate", kept, pause=pause)


async def paste_answer(connection: Connection, query: StoredQuery, text: str) -> int:
    """Store an answer beside those that the question has; its number. Raises Refused before there is a prompt."""
    stored = await attempts.output(connection, query.job_id, "augment")
    if stored is None:
        raise Refused(f"Query {query.id} has no prompt yet; `ragq query show {query.id}` says how far it is.")
    augmented = AugmentedPrompt.model_validate(stored.value)
    return await queries.add_result(
        connection,
        query.id,
        pasted_answer(text, augmented),
        augmented.sources,
        attempt_id=None,
        preset=await queries.preset_name(connection, query.run_id),
    )


async def run_again(
    connection: Connection, query: StoredQuery, *, start: str | None, until: str | None, light: bool = False
) -> None:
    """Let the question go on: again from a stage, or from where it stands, to a stage or to the end of the chain.

    With `light` the light model of its run expands and answers. Raises Refused when the chain is at its end already
    and no stage is named.
    """
    async with connection.transaction():
        added = await edits.append_stages(connection, query.job_id, stages_of("query", "answer", until=until))
        if start is not None:
            await edits.redo(connection, query.job_id, start)
        elif not added:
            raise Refused(f"Query {query.id} has every stage up to there; name the first to do again with --from.")
        await query_jobs.ask_for_light_model(connection, query.job_id, light)


async def _give(
    connection: Connection, query: StoredQuery, stage: str, value: Expansion | ConsolidatedContext, *, pause: bool
) -> None:
    await edits.set_output(connection, query.job_id, stage, value.model_dump(mode="json"), pause_note=_note(pause))


def _note(pause: bool) -> str | None:
    return EDITED if pause else None
