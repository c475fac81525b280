"""A query moves to other values: another preset, or values that win over it.

What a run was submitted with is frozen, so that every stored output can be explained. A query that continues with
other values gets its own run with them; what was stored before the first stage that runs again is carried over.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas.chains import first_reader, stages_of
from schemas.errors import Refused
from schemas.settings.frozen import FrozenSettings, thaw
from schemas.settings.preset import Preset
from schemas.settings.preset_groups import PRESET_SETTINGS
from schemas.settings.preset_names import is_preset_name
from schemas.statuses import JobStatus, Priority
from schemas.values.queries import Expansion, Origin
from services.questions.lookup import get_query
from services.questions.submission import refuse_idle_expansion
from stages.queries.templates import OF_QUESTIONS
from store.database import Connection
from store.questions import presets, query_jobs, templates
from store.questions.queries import StoredQuery
from store.runs import attempts, edits, job_control, jobs, overviews, runs, stored_runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


class Move(NamedTuple):
    """The values that a query continues with."""

    name: str
    """Of the preset."""
    preset: Preset
    options: frozenset[str]
    """Values that were chosen apart from the preset."""
    first: str | None
    """The first stage whose values differ from those of the query's run; None when none differs."""
    is_same: bool
    """Name and values are those of the query's run."""
    takes_default: bool
    """The query takes the default preset at its first search."""


async def planned_move(
    connection: Connection, query: StoredQuery, name: str | None, values: Mapping[str, Any], *, searches: bool
) -> Move:
    """The preset of this name, or of the query's run, with these values.

    Without either, a query that `searches` for the first time takes the default preset, unless its submission named
    a preset or values. Raises Refused and PresetValueError.
    """
    run = await overviews.get(connection, query.run_id)
    job = await jobs.get(connection, query.job_id)
    settings = await stored_runs.settings(connection, query.run_id)
    frozen = thaw(settings)
    own = frozen.preset
    assert own is not None
    takes_default = bool(job.inputs.get("takes_default"))
    options = frozenset(key for key in PRESET_SETTINGS if settings.get(key, {}).get("source") == "option")
    base_name, base = run.request["preset"], own
    if name is not None:
        stored = await presets.get(connection, name)
        base_name, base, options = stored.name, stored.preset, frozenset()
    elif searches and takes_default and not values and not await query_jobs.has_searched(connection, query.job_id):
        stored = await presets.default(connection)
        base_name, base = stored.name, stored.preset
    preset = base.changed(values, origin="option --set") if values else base
    refuse_idle_expansion(frozen.run, preset, values)
    before, after = own.values(), preset.values()
    chain = stages_of("query", "answer")
    changed = [key for key in after if after[key] != before[key]]
    differing = sorted({first_reader("query", "answer", key) for key in changed}, key=chain.index)
    if differing and differing[0] == "expand" and await _is_given(connection, query, frozen):
        differing = differing[1:]
    return Move(
        name=base_name,
        preset=preset,
        options=options | values.keys(),
        first=differing[0] if differing else None,
        is_same=(base_name, preset) == (run.request["preset"], own),
        takes_default=takes_default and name is None and not values,
    )


async def move(
    connection: Connection, query: StoredQuery, to: Move, *, chain: Sequence[str], first: str
) -> StoredQuery:
    """The query with a job of these values: a new run is stored, with one job of these stages.

    Its settings are those of the old run but for the preset, its templates are those that are active now, and the
    stages before `first` are carried over, with where they come from. Answers stay with the query; the old job is
    cancelled when it is unfinished.

    Raises Refused for a query whose run has others.
    """
    old = await overviews.get(connection, query.run_id)
    if old.jobs > 1:
        raise Refused(
            f"Query {query.id} is one of {old.jobs} that run r{old.id} asks by one preset and its values; "
            "`ragq submit --query` asks it by itself, with others.",
            slug="query-set-preset",
        )
    settings = await stored_runs.settings(connection, query.run_id)
    own = {name: entry for name, entry in settings.items() if not is_preset_name(name)}
    new = await runs.store(
        connection,
        NewRun(
            kind="query",
            profile=old.profile,
            settings=own | to.preset.snapshot(to.name, options=to.options),
            settings_hash=content_hash([thaw(settings).run.values(), to.preset.values()]),
            request=old.request | {"preset": to.name},
            priority=Priority.INTERACTIVE,
            jobs=[await _job(connection, query, chain, to)],
        ),
        always_new=True,
    )
    (job_id,) = new.job_ids
    for stage in chain[: chain.index(first)]:
        output = await attempts.output(connection, query.job_id, stage)
        assert output is not None, stage
        await edits.carry_over(connection, output.attempt_id, job_id)
    await job_control.hold(
        connection,
        JobStatus.CANCELLED,
        f"its query moved to preset {to.name}, job j{job_id}",
        job_id=query.job_id,
    )
    await query_jobs.move(connection, query.id, job_id)
    return await get_query(connection, query.id)


async def _is_given(connection: Connection, query: StoredQuery, own: FrozenSettings) -> bool:
    """Whether the expansion does not depend on the preset: it was pasted, edited, or skipped by the submission."""
    stored = await attempts.output(connection, query.job_id, "expand")
    if stored is None:
        return False
    origin = Expansion.model_validate(stored.value).origin
    assert own.preset is not None
    skipped = own.preset.expansion.enabled or own.run.ragq.expander == "none"
    return origin in (Origin.PASTED, Origin.EDITED) or (origin is Origin.NONE and skipped)


async def _job(connection: Connection, query: StoredQuery, chain: Sequence[str], to: Move) -> NewJob:
    old = await jobs.get(connection, query.job_id)
    own = thaw(await stored_runs.settings(connection, query.run_id))
    inputs = {name: value for name, value in old.inputs.items() if name != "takes_default" or to.takes_default}
    origin = old.inputs["expansion"]["origin"]
    if origin == Origin.MODEL or (origin == Origin.NONE and not own.expands):
        inputs["expansion"] = {"origin": Origin.MODEL if own._replace(preset=to.preset).expands else Origin.NONE}
    return NewJob(
        mode=old.mode,
        subject=old.subject,
        inputs=inputs
        | {
            "templates": {tag: (await templates.get(connection, tag)).version for tag in OF_QUESTIONS},
            "moved_from": query.job_id,
        },
        stages=chain,
    )
