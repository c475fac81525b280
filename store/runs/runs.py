"""Runs: stored whole with their jobs and stages or not at all, and found again by identity."""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import asyncpg
import rfc8785

from schemas.errors import Refused, run_missing
from schemas.settings.run import FrozenSettings, thaw
from schemas.statuses import Priority
from schemas.values.chat import ModelIdentity
from schemas.values.requests import NO_TERMS, RunTerms
from schemas.values.runs import LONGEST_NAME, Environment, FrozenModel, run_name, run_number
from store import rows
from store.database import Connection, Lock, bulk_seconds, hold
from store.runs import jobs
from store.runs.chain import content_hash
from store.runs.jobs import BATCH, OPEN_JOBS

FREEZE = """
INSERT INTO run_model (run_id, model, identity, is_from_submission) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
"""

# A question is asked again over months, step by step, and each of its answers names its own model.
IS_HELD = "SELECT kind <> 'query' OR (SELECT count(*) FROM job WHERE run_id = run.id) > 1 FROM run WHERE id = $1"


async def freeze(
    connection: Connection, run_id: int, found: Sequence[ModelIdentity], *, is_from_submission: bool
) -> None:
    """Keep these models of a run; one that is kept already stays as it is."""
    of_run = [(run_id, one.model, json.dumps(one.model_dump()), is_from_submission) for one in found]
    await connection.executemany(FREEZE, of_run)


async def frozen(connection: Connection, run_id: int) -> list[FrozenModel]:
    """The models of a run, by name."""
    return await rows.find(connection, FrozenModel, "run_model", order="model", run_id=run_id)


async def is_held(connection: Connection, run_id: int) -> bool:
    """Whether all stages of the run have to use the same models: of every run but that of a single question."""
    return bool(await connection.fetchval(IS_HELD, run_id))


# What is there already is updated to itself, so that its id is returned.
KEEP = """
INSERT INTO environment (hash, content) VALUES ($1, $2)
ON CONFLICT (hash) DO UPDATE SET hash = excluded.hash RETURNING id
"""


async def keep(connection: Connection, environment: Environment) -> int:
    """The id of an environment, which is stored unless it is known."""
    content = environment.model_dump()
    return int(await connection.fetchval(KEEP, content_hash(content), json.dumps(content)))


FIND = "SELECT max(id) FROM run WHERE identity = $1 AND coalesce((request ->> 'draw')::bigint, 0) = $2"

# Numbers of a sequence rise within a session, so that jobs have theirs in the order of the run.
RESERVE = "SELECT nextval('job_id_seq') AS id FROM generate_series(1, $1)"

INSERT_STAGES = """
INSERT INTO stage_run
    (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, enq_at, queue)
SELECT j.job_id, s.stage, s.ordinal - 1, CASE WHEN s.ordinal = 1 THEN 'ready' ELSE 'waiting' END, 0, 0, 0, 0, 0,
       CASE WHEN s.ordinal = 1 THEN now() END, nullif(s.queue, s.stage)
FROM unnest($1::bigint[]) AS j (job_id)
CROSS JOIN unnest($2::text[], $3::text[]) WITH ORDINALITY AS s (stage, queue, ordinal)
"""

_JOB_COLUMNS: Final = ("id", "run_id", "ordinal", "kind", "mode", "subject", "inputs", "status")


@dataclass(frozen=True, kw_only=True)
class NewJob:
    """One job to store: what it is about, what its stages start from, and the stages in order."""

    mode: str
    subject: str
    inputs: Mapping[str, Any]
    stages: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """One submission to store."""

    kind: str
    profile: str
    settings: Mapping[str, Any]
    """The snapshot: every effective value and its source."""
    settings_hash: str
    request: Mapping[str, Any]
    version: str = field(default_factory=partial(version, "ragq"))
    """The release of ragq that it is submitted with."""
    models: Sequence[ModelIdentity] = ()
    """The language models that its stages are held to, as far as they are known at submission."""
    environment: Environment | None = None
    """Where it is submitted."""
    priority: Priority = Priority.NORMAL
    jobs: Sequence[NewJob]
    effect: Callable[[Connection, int], Awaitable[None]] | None = None
    """Stores what belongs to it, in the same transaction, by its id."""
    terms: RunTerms = NO_TERMS

    @property
    def draw(self) -> int:
        """The draw: the same work in another draw is another run, with answers of its own."""
        return int(self.request.get("draw", 0))

    def computed(self, job: NewJob) -> Sequence[str]:
        """The stages of a job that are to be computed."""
        return job.stages

    @cached_property
    def identity(self) -> str:
        """The same work has the same identity: kind, settings by value, and the inputs of every job in order. It is the
        hash of `{"jobs": [[mode, subject, inputs, stages], ...], "kind": ..., "settings": ...}`."""
        digest = hashlib.sha256(b'{"jobs":[')
        for number, job in enumerate(self.jobs):
            digest.update(b"," if number else b"")
            digest.update(rfc8785.dumps([job.mode, job.subject, dict(job.inputs), list(job.stages)]))
        digest.update(b"],")
        digest.update(rfc8785.dumps({"kind": self.kind, "settings": self.settings_hash})[1:])
        return digest.hexdigest()


class StoredRun(NamedTuple):
    """A run that was stored or found."""

    run_id: int
    is_new: bool
    job_ids: list[int]


async def store(connection: Connection, run: NewRun, *, always_new: bool = False) -> StoredRun:
    """Store a run with its jobs and their stages, or find the newest run of the same identity and draw. Two submissions
    of the same work at the same time wait for each other, so that one finds the other's run."""
    identity: str = await asyncio.to_thread(getattr, run, "identity")
    async with connection.transaction():
        await hold(connection, Lock.RUN, identity)
        if not always_new:
            found = await find(connection, run)
            if found is not None:
                return StoredRun(found, False, await jobs.of_run(connection, found))
        run_id = await rows.insert(
            connection,
            "run",
            kind=run.kind,
            identity=identity,
            profile=run.profile,
            settings=run.settings,
            settings_hash=run.settings_hash,
            request=run.request,
            version=run.version,
            environment_id=None if run.environment is None else await keep(connection, run.environment),
            priority=run.priority,
        )
        await freeze(connection, run_id, run.models, is_from_submission=True)
        job_ids: list[int] = []
        upcoming, settings = iter(run.jobs), thaw(run.settings)
        while batch := await asyncio.to_thread(_prepared, run.kind, upcoming, settings):
            job_ids += await _write(connection, run_id, run.kind, batch, first=len(job_ids))
        if run.effect is not None:
            await run.effect(connection, run_id)
    return StoredRun(run_id, True, job_ids)


_Prepared: TypeAlias = tuple[NewJob, str, tuple[str, ...]]
"""A job, its inputs as JSON, and the queues of its stages."""


def _prepared(kind: str, upcoming: Iterator[NewJob], settings: FrozenSettings) -> list[_Prepared]:
    return [
        (
            job,
            json.dumps(job.inputs),
            tuple(settings.queue_of(kind, job.mode, stage, job.inputs) for stage in job.stages),
        )
        for job in islice(upcoming, BATCH)
    ]


async def _write(
    connection: Connection, run_id: int, kind: str, batch: Sequence[_Prepared], *, first: int
) -> list[int]:
    """Write jobs that follow the first so many of a run, with their stages. Their ids, in their order."""
    seconds = bulk_seconds(len(batch))
    ids = [row["id"] for row in await connection.fetch(RESERVE, len(batch), timeout=seconds)]
    await connection.copy_records_to_table(
        "job",
        columns=_JOB_COLUMNS,
        records=[
            (job_id, run_id, ordinal, kind, job.mode, job.subject, inputs, "waiting")
            for ordinal, (job_id, (job, inputs, _)) in enumerate(zip(ids, batch, strict=True), start=first)
        ],
        timeout=seconds,
    )
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for job_id, (job, _, queues) in zip(ids, batch, strict=True):
        alike[tuple(job.stages), queues].append(job_id)
    for (stages, queues), job_ids in alike.items():
        seconds = bulk_seconds(len(job_ids) * len(stages))
        await connection.execute(INSERT_STAGES, job_ids, stages, queues, timeout=seconds)
    return ids


async def find(connection: Connection, run: NewRun) -> int | None:
    """The newest run that did the same work in the same draw; None when there is none."""
    found: int | None = await connection.fetchval(FIND, run.identity, run.draw)
    return found


# Each finds its rows in an index, by the time that lies ahead.
LEASES: Final = """
UPDATE stage_run SET lease_until = now() + $1 * interval '1 second'
WHERE status = 'running' AND lease_until > now() + $1 * interval '1 second'
"""
MESSAGES: Final = "UPDATE stage_run SET enq_at = now() WHERE status = 'ready' AND enq_at > now()"
# Who waits for a batch is made due by its answer.
RETRIES: Final = f"""
WITH ahead AS (
    SELECT id FROM job
    WHERE status IN {OPEN_JOBS} AND sent_at IS NOT NULL AND sent_at > now() + $1 * interval '1 second'
      AND NOT EXISTS (SELECT FROM llm_batch_stage AS b WHERE b.job_id = job.id)
), retried AS (
    UPDATE stage_run AS s SET not_before = now() + $1 * interval '1 second'
    FROM ahead WHERE s.job_id = ahead.id AND s.status = 'ready' AND s.not_before > now() + $1 * interval '1 second'
)
UPDATE job SET sent_at = now() + $1 * interval '1 second' FROM ahead WHERE job.id = ahead.id
"""


async def database_s(connection: Connection) -> float:
    """The database's clock, in seconds."""
    return float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))


async def bring_forward(connection: Connection, *, lease_s: float, longest_retry_s: float) -> None:
    """End waits that a clock which was set back has made longer: no lease lasts, no retry waits longer than this. What
    was sent in the future counts as sent now."""
    await connection.execute(LEASES, lease_s)
    await connection.execute(MESSAGES)
    await connection.execute(RETRIES, longest_retry_s)


FROZEN_SETTINGS = "SELECT settings, coalesce((request ->> 'draw')::bigint, 0) AS draw FROM run WHERE id = $1"


async def require(connection: Connection, run_id: int) -> None:
    """Raise MissingError unless there is a run of that number."""
    if await rows.value(connection, "run", "id", id=run_id) is None:
        raise run_missing(run_id)


async def count(connection: Connection) -> int:
    """How many runs there are."""
    return int(await rows.value(connection, "run", "count(*)"))


async def frozen_settings(connection: Connection, run_id: int) -> tuple[dict[str, Any], int]:
    """The settings of a run as they were frozen, value and source by name, and its draw. Raises MissingError."""
    row = await connection.fetchrow(FROZEN_SETTINGS, run_id)
    if row is None:
        raise run_missing(run_id)
    return row["settings"], row["draw"]


async def settings(connection: Connection, run_id: int) -> dict[str, Any]:
    """The settings of a run, likewise."""
    return (await frozen_settings(connection, run_id))[0]


def checked(words: str) -> str:
    """The name of a run as it is stored. Raises Refused for words that cannot be one."""
    name = run_name(words)
    if name is None:
        raise Refused(
            f"The name of a run is one line of 1 to {LONGEST_NAME} characters; it does not begin with '-' and is not "
            "the number of a run or job.",
            slug="run-value-unusable",
        )
    return name


async def by_words(connection: Connection, words: str) -> int | None:
    """The run that a number such as `r12`, or a name, stands for; None when there is none."""
    number = run_number(words)
    if number is not None:
        found: int | None = await rows.value(connection, "run", "id", id=number)
        return found
    name = run_name(words)
    return None if name is None else await by_name(connection, name)


async def by_name(connection: Connection, name: str) -> int | None:
    """The run of a name, compared without case; None when there is none."""
    found: int | None = await connection.fetchval("SELECT id FROM run WHERE lower(name) = lower($1)", name)
    return found


async def all_names(connection: Connection) -> list[str]:
    """The names of all runs, those of newer runs first."""
    named = await connection.fetch("SELECT name FROM run WHERE name IS NOT NULL ORDER BY id DESC")
    return [row["name"] for row in named]


async def rename(connection: Connection, run_id: int, name: str | None) -> None:
    """Give a run a name, or take it away. Raises Refused with the run that has it."""
    try:
        async with connection.transaction():
            await rows.update(connection, "run", {"id": run_id}, name=name)
    except asyncpg.UniqueViolationError:
        taken_by = None if name is None else await by_name(connection, name)
        if taken_by is None:
            raise
        raise Refused(
            f"Run r{taken_by} has this name already; `ragq set r{taken_by} --name ''` takes it away from that run.",
            slug="run-name-taken",
        ) from None


async def allow_partial(connection: Connection, run_id: int) -> None:
    """Allow a run to publish an index without the participants whose jobs fail, from now on."""
    allowed = rows.Sql("""request || '{"allow_partial": true}'""")
    await rows.update(connection, "run", {"id": run_id}, request=allowed)


async def annotate(connection: Connection, run_id: int, note: str | None) -> None:
    """Store what people note about a run, or remove it."""
    await rows.update(connection, "run", {"id": run_id}, note=note)
