"""A query moves to another preset.

What a run was submitted with is frozen, so that every stored output can be explained. A query that continues with
another preset gets its own run with it; what was stored before the first stage that runs again is carried over.
"""

from collections.abc import Sequence

from schemas.errors import QuerySetPresetError
from schemas.settings.frozen import thaw
from schemas.settings.preset import is_preset_name
from schemas.statuses import JobStatus
from services.questions.lookup import get_query
from services.questions.submission import refuse_token_vectors
from stages.queries.templates import TemplateTag
from store.corpora import corpora
from store.database import Connection
from store.questions import presets, query_jobs, templates
from store.questions.queries import StoredQuery
from store.runs import attempts, edits, job_control, jobs, overviews, runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


async def with_preset(
    connection: Connection, query: StoredQuery, name: str, *, chain: Sequence[str], first: str
) -> StoredQuery:
    """The query with a job of that preset: its own, when its run was submitted with these very values.

    Otherwise a new run is stored, with one job of these stages. Its settings are those of the old run but for the
    preset, its templates are those that are active now, and the stages before `first` are carried over, with where
    they come from. Answers stay with the query; the old job is cancelled when it is unfinished.

    Raises PresetMissingError, QuerySetPresetError for a query whose run has others, and Refused for a preset that
    the corpus cannot serve.
    """
    stored = await presets.get(connection, name)
    old = await overviews.overview(connection, query.run_id)
    assert old is not None
    settings = await runs.settings(connection, query.run_id)
    frozen = thaw(settings)
    if (old.request["preset"], frozen.preset) == (stored.name, stored.preset):
        return query
    if old.jobs > 1:
        raise QuerySetPresetError(query.id, old.id, old.jobs)
    refuse_token_vectors(await corpora.corpus(connection, query.corpus_id), stored.preset)
    own = {name: entry for name, entry in settings.items() if not is_preset_name(name)}
    new = await runs.store(
        connection,
        NewRun(
            kind="query",
            profile=old.profile,
            settings=own | stored.preset.snapshot(stored.name),
            settings_hash=content_hash([frozen.run.values(), stored.preset.values()]),
            request=old.request | {"preset": stored.name},
            jobs=[await _job(connection, query, chain)],
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
        f"its query moved to preset {stored.name}, job j{job_id}",
        job_id=query.job_id,
    )
    await query_jobs.move(connection, query.id, job_id)
    return await get_query(connection, query.id)


async def _job(connection: Connection, query: StoredQuery, chain: Sequence[str]) -> NewJob:
    old = await jobs.job(connection, query.job_id)
    assert old is not None
    return NewJob(
        mode=old.mode,
        subject=old.subject,
        inputs=old.inputs
        | {
            "templates": {tag: (await templates.get(connection, tag)).version for tag in TemplateTag},
            "moved_from": query.job_id,
        },
        stages=chain,
    )
