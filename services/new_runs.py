"""New runs: stored with what belongs to them. They are due once that is committed, and workers send them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import Field

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.run import thaw
from schemas.statuses import Priority
from schemas.values.base import Value
from schemas.values.requests import RunTerms
from services.served_models import Warn, asked_models, check_servers, with_models
from stack.home import this_environment
from stages.reports.words import index_in_words, notices
from stages.webhooks import checked_url
from store.access import RequestKey, once
from store.database import Connection, Database
from store.runs import backlog, batches, jobs, notifications, overviews, runs, workers
from store.runs.answer_pieces import committed
from store.runs.runs import NewRun, StoredRun

NO_TERMS: Final = RunTerms()


class PlannedRun(NamedTuple):
    """A run that is ready to be stored."""

    run: NewRun
    effect: Callable[[Connection, int], Awaitable[None]] | None = None
    """Stores what belongs to a new run, in the same transaction, by the run's id."""
    terms: RunTerms = NO_TERMS


def webhook_url(settings: ProcessSettings, url: str | None) -> str | None:
    """The address that shall be told of a run; None for None.

    Raises Refused for one that cannot be told, and where nothing could be signed.
    """
    if url is None:
        return None
    if settings.webhook_key is None:
        raise Refused(
            "RAGQ_WEBHOOK_SECRET is not set, which signs messages. Set it here and for the workers, for example: "
            'echo "RAGQ_WEBHOOK_SECRET=whsec_$(openssl rand -base64 32)" >> .env'
        )
    return checked_url(url, allow_private=settings.ragq_webhook_allow_private)


def takes_batch(run: NewRun) -> bool:
    """Whether the server of a run's language models is one that may take batches."""
    return thaw(run.settings).run.llm.backend == "openai"


def refuse_batches(run: NewRun) -> None:
    """Raise Refused for a run whose calls cannot be sent as batches."""
    if not asked_models(run):
        raise Refused("The run asks no language model, so nothing of it can be sent as a batch. Leave --batch out.")
    if not takes_batch(run):
        raise Refused(
            "Batches go to OpenAI-compatible servers alone. Set RAGQ_OPENAI_BASE_URL and --set LLM_BACKEND=openai, or "
            "leave --batch out."
        )


class Submitted(Value):
    """What a submission led to."""

    run_id: int = Field(examples=[12])
    is_new: bool
    """False when the same work was submitted before: the run is that one."""
    jobs: int = Field(examples=[82])
    resumed: int = Field(examples=[0])
    """Failed or poisoned jobs of an existing run that continue."""
    notices: tuple[str, ...] = ()
    """Caveats about the results of the run."""
    is_replay: bool = False
    """The request was carried out before under the same key; now nothing was changed."""
    searched: str | None = None
    """The reference index that is searched, in words."""


async def store_run(connection: Connection, planned: PlannedRun, *, always_new: bool = False) -> StoredRun:
    """Store a run with what belongs to it, in one transaction, or find the run of the same work.

    Raises Refused when the running workers ask another language model server than is named here, RunMissingError for a
    run to wait for that is not stored, and Refused where the run of the same work would have to wait.
    """
    await check_servers(connection, planned.run)
    run = replace(planned.run, environment=this_environment())
    async with connection.transaction():
        stored = await runs.store(connection, run, always_new=always_new)
        if stored.is_new and planned.effect is not None:
            await planned.effect(connection, stored.run_id)
        terms = planned.terms
        await backlog.keep(connection, stored.run_id, terms)
        if terms.batch_hours is not None:
            await batches.ask_for(connection, stored.run_id, terms.batch_hours)
        if terms.notify_url is not None:
            await notifications.keep(connection, stored.run_id, terms.notify_url)
        if terms.after_run_id is not None:
            if not stored.is_new:
                raise Refused(f"The same work is stored as r{stored.run_id}, which waits for no other run.")
            await overviews.get(connection, terms.after_run_id)
            await jobs.wait_for(connection, stored.run_id, terms.after_run_id)
    return stored


async def submit_run(
    database: Database,
    planned: PlannedRun,
    *,
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    warn: Warn | None = None,
) -> Submitted:
    """Store a run; or find the run of the same work, and retry its failed jobs. Both get the name and the priority.

    A new run is held to the language models that their server reports now. A request with a key is carried out once.
    `warn` hears, before anything is stored, of a server of language
    models that does not answer; without it, the notices say so.

    A run that was stored is returned, whatever fails afterwards. Raises StackError when the database did not
    answer whether it was stored. Before anything is stored it raises Refused for the name, for a key of another
    request, and when the running workers ask other servers; and
    ModelUnavailableError when these could not ask the models of the run.
    """
    if planned.terms.batch_hours is not None:
        refuse_batches(planned.run)
    live = await database.once(workers.live)
    warnings: list[str] = []
    planned = planned._replace(run=await with_models(planned.run, live, warn=warn or warnings.append))

    async def store(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, planned, always_new=always_new)
        if name is not None:
            await runs.rename(connection, stored.run_id, runs.checked(name))
        if priority is not None:
            await backlog.set_priority(connection, stored.run_id, priority)
        resumed = [] if stored.is_new else await jobs.retry(connection, run_id=stored.run_id)
        if resumed:
            await backlog.forgive_failures(connection, run_id=stored.run_id)
        return {"run": stored.run_id, "is_new": stored.is_new, "jobs": len(stored.job_ids), "resumed": len(resumed)}

    made, is_first = await committed(database, lambda connection: once(connection, key, store))
    run = planned.run
    return Submitted(
        run_id=made["run"],
        is_new=made["is_new"],
        jobs=made["jobs"],
        resumed=made["resumed"],
        is_replay=not is_first,
        searched=index_in_words(run.request) if run.request.get("searched") else None,
        notices=(*warnings, *notices(run.kind, run.profile, run.request)),
    )
