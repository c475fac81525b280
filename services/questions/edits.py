"""A question asked, edited, and answered by a pasted reply; what was computed from the old is stale then."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.chains import stages_of
from schemas.errors import MissingError, QueryValueError, StageRunningError
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import thaw
from schemas.statuses import StageStatus
from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, Origin, ValidatedChunks
from schemas.values.requests import QueryEdit, QueryRequest
from services.new_runs import store_run
from services.questions.steps import not_ready
from services.questions.submission import plan_queries
from stages.queries.expand import expansion_prompt, intent_of, no_expansion, pasted_expansion
from stages.queries.query_files import query_text
from stages.queries.retrieve import query_texts
from stages.queries.templates import TemplateTag, pasted_answer
from store.access import RequestKey, once, release
from store.database import Connection
from store.questions import presets, queries, query_runs
from store.questions.answers import make_prompt
from store.questions.queries import StoredQuery
from store.runs import attempts, backlog, edits, jobs, runs

NO_CHANGES: Final = QueryEdit()


async def edit(
    connection: Connection,
    query_id: int,
    changes: QueryEdit = NO_CHANGES,
    *,
    context: Sequence[int] | None = None,
    run: bool,
) -> bool:
    """Change a query: everything that is given, or nothing. `context` are the places, from 1, of the passages to keep,
    in their new order. Whether anything was changed: values that are stored already change nothing.

    A new text keeps the expansion. Another intent or entity, which are not embedded, keeps the vectors. With `run` the
    stale stages run again, up to the stage that the chain ends with; without, it ends with what was edited.

    Raises QueryValueError for passages that there are not, and for passages chosen together with another text or
    expansion; StageRunningError, MissingError, and Refused for passages before there is a context.
    """
    async with connection.transaction():
        query = await queries.hold(connection, query_id)
        chain = await edits.stage_states(connection, query.job_id)
        old = await attempts.stored(connection, query.job_id, "expand", Expansion) or no_expansion()
        expansion = _new_expansion(old, changes)
        text = changes.original_query or query.original_query
        chosen = None if context is None else await _new_context(connection, query, context)
        output: Expansion | ConsolidatedContext
        embedded = None
        if text != query.original_query or expansion.model_copy(update={"origin": old.origin}) != old:
            if chosen is not None:
                raise QueryValueError(
                    "context", "was found by the query as it was; choose passages without changing the query too"
                )
            if text != query.original_query:
                await queries.rewrite(connection, query.id, text)
            stage, output = "expand", expansion
            is_embedded = text == query.original_query and query_texts(text, old) == query_texts(text, expansion)
            embedded = await attempts.output(connection, query.job_id, "embed") if is_embedded else None
        elif chosen is not None:
            stage, output = "consolidate", chosen
        else:
            return False
        await edits.set_output(connection, query.job_id, stage, output.model_dump(mode="json"))
        if embedded is not None:
            await edits.carry_over(connection, embedded.attempt_id, query.job_id)
            stage = "embed"
        if not run:
            stages = [of.stage for of in chain]
            await edits.set_stages(connection, query.job_id, stages[: stages.index(stage) + 1])
        elif stage != chain[-1].stage:
            await backlog.hasten(connection, [query.job_id])
    return True


async def stored_context(connection: Connection, query: StoredQuery) -> ConsolidatedContext:
    """The passages that an edit chooses from. Raises Refused before there are any."""
    stored = await attempts.stored(connection, query.job_id, "consolidate", ConsolidatedContext)
    if stored is None:
        raise not_ready(query.id, "an edit of its passages", "consolidate")
    return stored


def _new_expansion(old: Expansion, changes: QueryEdit) -> Expansion:
    given = changes.model_fields_set
    return Expansion(
        origin=Origin.EDITED,
        queries=(changes.expanded_queries or ()) if "expanded_queries" in given else old.queries,
        hyde_answer=(changes.hyde_answer or "") if "hyde_answer" in given else old.hyde_answer,
        intent=intent_of(changes.intent or "") if "intent" in given else old.intent,
        entities=(changes.entities or ()) if "entities" in given else old.entities,
    )


async def _new_context(connection: Connection, query: StoredQuery, places: Sequence[int]) -> ConsolidatedContext | None:
    """The passages that were chosen; None when all of them were, in the order they have."""
    stored = await stored_context(connection, query)
    whole = range(1, len(stored.groups) + 1)
    if not places or len(set(places)) < len(places) or not set(places) <= set(whole):
        raise QueryValueError(
            "context",
            f"has {len(whole)} passages in query {query.id}; name each passage to keep once, by its place from 1",
        )
    if [*places] == [*whole]:
        return None
    return stored.model_copy(update={"groups": tuple(stored.groups[place - 1] for place in places)})


async def preview(
    connection: Connection, query: StoredQuery, *, preset: str | None = None, top_n: int | None = None
) -> AugmentedPrompt:
    """The prompt that stage `augment` would make now: with `top_n` sources, or as many as `preset` has, or the preset
    of the query's run. Raises Refused while no search is stored and without such a preset, and TemplateMissingError."""
    expansion = await attempts.stored(connection, query.job_id, "expand", Expansion)
    validated = await attempts.stored(connection, query.job_id, "validate", ValidatedChunks)
    consolidated = await attempts.stored(connection, query.job_id, "consolidate", ConsolidatedContext)
    if expansion is None or validated is None:
        raise not_ready(query.id, "a prompt", "retrieve")
    frozen = thaw(await runs.settings(connection, query.run_id))
    asked_by = frozen.preset if preset is None else (await presets.get(connection, preset)).preset
    assert asked_by is not None
    tag = TemplateTag(frozen.run.ragq.answer_template)
    version = (await jobs.get(connection, query.job_id)).inputs["templates"].get(tag)
    return await make_prompt(
        connection,
        query.job_id,
        query.original_query,
        expansion,
        consolidated,
        validated,
        template=await presets.template(connection, tag, version),
        top_n=asked_by.augmentation.top_n_contexts if top_n is None else top_n,
    )


async def answer(
    connection: Connection, query_id: int, text: str, *, top_n: int | None = None, key: RequestKey | None = None
) -> tuple[int, bool]:
    """Store a pasted answer, unless the key stands for one that was given before. Its number, and whether it is new.

    It answers the prompt with `top_n` sources; without `top_n` the one that was last shown, and otherwise the one that
    is stored. One that is not stored yet is stored as a manual output, and the chain ends with it. Raises Refused
    before a search and for a key of another request, StageRunningError, and LLMResponseParseError for a blank answer.
    """
    query = await queries.get(connection, query_id)

    async def make(connection: Connection) -> Mapping[str, Any]:
        shown = (await jobs.get(connection, query.job_id)).inputs.get("shown")
        augmented = await _kept_prompt(connection, query, shown if top_n is None else top_n)
        return {"result": await queries.add_result(connection, query, pasted_answer(text, augmented), augmented)}

    made, is_new = await once(connection, key, make)
    return made["result"], is_new


async def _kept_prompt(connection: Connection, query: StoredQuery, top_n: int | None) -> AugmentedPrompt:
    stored = await attempts.stored(connection, query.job_id, "augment", AugmentedPrompt)
    if stored is not None and top_n in (None, stored.top_n):
        return stored
    augmented = await preview(connection, query, top_n=top_n)
    is_consolidated = await attempts.output(connection, query.job_id, "consolidate") is not None
    chain = [
        stage for stage in stages_of("query", "answer", until="augment") if stage != "consolidate" or is_consolidated
    ]
    await edits.set_stages(connection, query.job_id, chain)
    await edits.set_output(connection, query.job_id, "augment", augmented.model_dump(mode="json"))
    return augmented


async def preview_expansion_prompt(
    connection: Connection, text: str, *, preset: str | None = None, n: int | None = None
) -> tuple[str, int]:
    """The prompt that asks a model to expand a query into `n` search phrases, and `n`; None uses the preset's number.
    `preset` None is the default one. Raises QueryValueError, Refused and TemplateMissingError."""
    stored = await presets.get(connection, preset)
    template = await presets.template(connection, TemplateTag.QUERY_EXPANSION)
    wanted = stored.preset.expansion.n if n is None else n
    return expansion_prompt(query_text(text), wanted, template=template.template_content), wanted


async def ask(
    connection: Connection, request: QueryRequest, settings: EffectiveSettings, *, key: RequestKey | None = None
) -> tuple[StoredQuery, bool]:
    """Store a request of one query as a new run, unless the key belongs to one that was made before. The query, and
    whether it is new. A pasted expansion is stored at once. Raises as `plan_queries` does; Refused for a key of another
    request, and MissingError when the query that was made under the key has been deleted since."""
    (_,) = request.queries

    async def make(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, await plan_queries(connection, request, settings), always_new=True)
        asked = await queries.of_job(connection, stored.job_ids[0])
        assert asked is not None
        if request.expansion_reply is not None:
            pasted = pasted_expansion(request.expansion_reply)
            await edits.set_output(connection, asked.job_id, "expand", pasted.model_dump(mode="json"))
        return {"query": asked.id}

    async with connection.transaction():
        made, is_new = await once(connection, key, make)
        return await queries.get(connection, made["query"]), is_new


async def withdraw(connection: Connection, query_id: int, *, key: RequestKey | None) -> bool:
    """Delete a question whose expansion failed, with its job and all attempts, and release the key of its request.
    False, and nothing is changed, when it has been retried, edited or deleted meanwhile."""
    try:
        async with connection.transaction():
            query = await queries.hold(connection, query_id)
            (expand, *_) = await edits.stage_states(connection, query.job_id)
            if expand.status != StageStatus.FAILED:
                return False
            await query_runs.delete_query(connection, query_id)
            await release(connection, key)
    except (MissingError, StageRunningError):
        return False
    return True
