"""A query's chain, run step by step: each step runs some stages and ends the chain after them.

Rows change here; the dispatcher sends what is due once the change is committed, and before other work.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from schemas.chains import readers_of, stages_of
from schemas.errors import Refused
from schemas.settings.preset import PRESET_SETTINGS, is_preset_name
from schemas.settings.run import thaw
from schemas.statuses import JobStatus, Priority, QueryStatus, StageStatus
from schemas.values.queries import Expansion, Origin
from services.runs import Action
from store.database import Connection
from store.questions import presets, queries
from store.questions.queries import StoredQuery
from store.runs import attempts, backlog, edits, jobs, overviews, runs
from store.runs.chain import content_hash
from store.runs.jobs import Job, JobProgress
from store.runs.runs import NewJob, NewRun

# What a run was submitted with is frozen, so that every stored output can be explained. A query that continues with
# other values gets its own run with them; what was stored before the first stage that runs again is carried over.


def not_ready(query_id: int, what: str, needed: str) -> Refused:
    """Something about a question needs the output of a stage that is not stored."""
    run = f"`ragq query run {query_id}"
    why = (
        f"its expansion is not stored. {run} --until expand` asks the model again, "
        f"`ragq query edit {query_id} --mqe TEXT` stores search phrases of yours"
        if needed == "expand"
        else f"stage '{needed}' comes first. Run {run} --until {needed}`"
    )
    return Refused(
        f"Query {query_id} is not ready for {what}: {why}, or the whole chain: {run}`.", slug="step-not-ready"
    )


async def planned_run(
    connection: Connection,
    query: StoredQuery,
    job: Job,
    name: str | None,
    values: Mapping[str, Any],
    *,
    chain: Sequence[str],
    searches: bool,
) -> tuple[NewRun | None, str | None]:
    """The run that a query continues in with the preset of this name, or of its run, and with these values, and the
    first stage whose values differ; None where no value differs, and no run where the name is the same too.

    Without a name and values, a query that `searches` for the first time takes the default preset, unless its
    submission named one. Raises PresetValueError, and Refused for a query whose run has others.
    """
    run = await overviews.get(connection, query.run_id)
    settings = await runs.settings(connection, query.run_id)
    own = thaw(settings).preset
    assert own is not None
    options = frozenset(key for key in PRESET_SETTINGS if settings.get(key, {}).get("source") == "option")
    base_name, base = run.request["preset"], own
    takes_default = bool(job.inputs.get("takes_default")) and name is None and not values
    if name is not None or (takes_default and searches and not await queries.has_searched(connection, query.job_id)):
        stored = await presets.get(connection, name)
        base_name, base, options = stored.name, stored.preset, frozenset()
    preset = base.changed(values, origin="option --set") if values else base
    if (base_name, preset) == (run.request["preset"], own):
        return None, None
    if run.jobs > 1:
        raise Refused(
            f"Query {query.id} is one of {run.jobs} that run r{run.id} asks by one preset and its values; "
            "`ragq submit --query` asks it by itself, with others.",
            slug="query-set-preset",
        )
    before, whole = own.values(), stages_of("query", "answer")
    changed = [key for key, value in preset.values().items() if value != before[key]]
    differing = sorted({readers_of("query", "answer", key)[0] for key in changed}, key=whole.index)
    if differing[:1] == ["expand"]:
        stored_expansion = await attempts.stored(connection, query.job_id, "expand", Expansion)
        # One that was pasted, edited or skipped does not depend on the preset.
        if stored_expansion is not None and stored_expansion.origin is not Origin.MODEL:
            differing = differing[1:]
    kept = {key: entry for key, entry in settings.items() if not is_preset_name(key)}
    snapshot = kept | preset.snapshot(base_name, options=options | values.keys())
    inputs = {key: value for key, value in job.inputs.items() if key != "takes_default" or takes_default}
    inputs["moved_from"] = query.job_id
    moved = NewRun(
        kind="query",
        profile=run.profile,
        settings=snapshot,
        settings_hash=content_hash([thaw(snapshot).run.values(), preset.values()]),
        request=run.request | {"preset": base_name},
        priority=Priority.INTERACTIVE,
        jobs=[NewJob(mode=job.mode, subject=job.subject, inputs=inputs, stages=chain)],
    )
    return moved, differing[0] if differing else None


async def move(connection: Connection, query: StoredQuery, run: NewRun, *, first: str) -> StoredQuery:
    """The query with the job of a new run, whose stages before `first` are carried over. An unfinished old job is
    cancelled."""
    stored = await runs.store(connection, run, always_new=True)
    (job,), (job_id,) = run.jobs, stored.job_ids
    for stage in job.stages[: job.stages.index(first)]:
        output = await attempts.output(connection, query.job_id, stage)
        assert output is not None, stage
        await edits.carry_over(connection, output.attempt_id, job_id)
    note = f"its query moved to preset {run.request['preset']}, job j{job_id}"
    await jobs.hold(connection, JobStatus.CANCELLED, note, job_id=query.job_id)
    await queries.move(connection, query.id, job_id)
    return await queries.get(connection, query.id)


#: Sources that a prompt can show at most.
MAX_SOURCES: Final = 20


class Step(StrEnum):
    """A part of a query's chain."""

    EXPAND = "expand"
    EMBED = "embed"
    #: The search with everything that chooses among what it found.
    RETRIEVE = "retrieve"
    CONSOLIDATE = "consolidate"
    #: The prompt, and the answer to it.
    ANSWER = "answer"


#: The first and the last stage of each step.
STAGES: Final = {
    Step.EXPAND: ("expand", "expand"),
    Step.EMBED: ("embed", "embed"),
    Step.RETRIEVE: ("retrieve", "validate"),
    Step.CONSOLIDATE: ("consolidate", "consolidate"),
    Step.ANSWER: ("augment", "generate"),
}


_CONTINUE: Final = {JobStatus.FAILED: Action.RETRY, JobStatus.POISONED: Action.RETRY, JobStatus.PAUSED: Action.RESUME}
_NEXT: Final = {QueryStatus.NEEDS_RETRIEVAL: Step.RETRIEVE, QueryStatus.NEEDS_CONSOLIDATION: Step.CONSOLIDATE}


def next_step(line: StoredQuery, progress: JobProgress) -> Step | Action | None:
    """The next step to run; None while the job is unfinished, and when only the answer is left."""
    if line.job_status.is_open or line.job_status in _CONTINUE:
        return _CONTINUE.get(line.job_status)
    if line.status is QueryStatus.NEEDS_EMBEDDINGS:
        return Step.EXPAND if progress.current == "expand" else Step.EMBED
    return _NEXT.get(line.status)


def can_run_all(line: StoredQuery) -> bool:
    """Whether all remaining stages can be run at once."""
    is_free = not line.job_status.is_open and line.job_status is not JobStatus.PAUSED
    return is_free and line.status is not QueryStatus.READY


async def run_stages(
    connection: Connection,
    query_id: int,
    step: Step | None = None,
    *,
    first: str | None = None,
    last: str | None = None,
    preset: str | None = None,
    values: Mapping[str, Any] = MappingProxyType({}),
    top_n: int | None = None,
    use_light_model: bool = False,
) -> StoredQuery:
    """Run the stages of a query from `first` to `last`, or those of a `step`, again where they ran before, and end its
    chain after them. The returned query names the job to wait for.

    Without `first` it continues with the first stage that is not done, a failed one too; without `last` it runs to
    the answer. A prompt or an answer without a consolidation is made from the retrieved chunks. `top_n` is the number
    of sources in the prompt; None uses the preset's. With `use_light_model` the light model of the run expands or
    answers, until the next step.

    With `preset`, or `values` that win over those of the preset, the query moves to a run with these values, unless
    it is in one, and the chain starts at the first stage whose values differ, if that is before `first`. A query that
    named none of them when it was submitted takes the default preset at its first search.

    Raises Refused while an earlier step is not done, without `first` when every stage is done, and for a stage that
    there is not; StageRunningError, MissingError, and what a move raises.
    """
    if step is not None:
        first, last = STAGES[step]
    chain = stages_of("query", "answer", until=last)
    async with connection.transaction():
        query = await queries.hold(connection, query_id)
        stored = await edits.stage_states(connection, query.job_id)
        done = {of.stage for of in stored if of.status == StageStatus.DONE}
        missing = next((stage for stage in chain if stage not in done), None)
        if first is not None and first not in chain:
            raise Refused(f"Stage '{first}' is not one of those up to '{chain[-1]}': {', '.join(chain)}.")
        if first in ("augment", "generate") and missing == "consolidate":
            # The prompt has the retrieved chunks as its sources, and states it.
            chain = tuple(stage for stage in chain if stage != "consolidate")
            missing = next(stage for stage in chain if stage not in done)
        if first is not None and missing is not None and chain.index(missing) < chain.index(first):
            raise not_ready(query.id, f"stage '{first}'", missing)
        is_search = "retrieve" in chain[chain.index(first or missing or chain[-1]) :]
        job = await jobs.get(connection, query.job_id)
        run, differs = await planned_run(connection, query, job, preset, values, chain=chain, searches=is_search)
        if first is None:
            # Where only the answer is missing and another prompt is wanted, that is made again too.
            is_other_prompt = run is not None or top_n != job.inputs.get("top_n")
            first = "augment" if missing == "generate" and is_other_prompt else missing
        first = min((stage for stage in (first, differs) if stage in chain), key=chain.index, default=None)
        if first is None:
            raise Refused(
                f"Every stage of query {query.id} up to its answer is done; run a step by itself to repeat it, "
                f"`ragq query run {query.id} --from generate` for another answer.",
                slug="nothing-to-do",
            )
        if run is not None:
            query = await move(connection, query, run, first=first)
        await edits.set_inputs(connection, query.job_id, top_n=top_n, light_model=use_light_model or None)
        await edits.set_stages(connection, query.job_id, chain)
        await edits.redo(connection, query.job_id, first)
        await backlog.hasten(connection, [query.job_id])
        return query
