"""New runs: stored with what belongs to them. They are due once that is committed, and workers send them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import Field

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.run import thaw
from schemas.statuses import Priority
from schemas.values.base import Value
from schemas.values.chat import Message
from services.served_models import Warn, asked_models, askers, check_servers, served_models
from stack.home import this_environment
from stages.models import most_prompt_tokens, most_tokens, reply_room
from stages.participants.extract import extraction_messages
from stages.participants.score_prompt import scoring_messages
from stages.reports.words import index_in_words, notices
from stages.texts.characters import listed
from stages.webhooks import checked_url
from store.access import RequestKey, once
from store.database import Connection, Database, committed
from store.references import interviews
from store.runs import backlog, batches, jobs, notifications, runs, workers
from store.runs.runs import NewRun, StoredRun

_LISTED: Final = 5
_OTHERWISE: Final = {
    "extract": "QUANTITATIVE_EVIDENCE_EXTRACTOR=similarity (finds quotes without a language model)",
    "score": "RAGQ_SCORE_INPUT=evidence (scores the passages around the evidence)",
}


async def refuse_long_transcripts(connection: Connection, run: NewRun) -> None:
    """Raise Refused, with the tokens of each, for transcripts that a model of a run of participants cannot read whole.
    A model whose context its server does not tell is given any."""
    if run.kind != "participant":
        return
    settings = thaw(run.settings).run
    reported = {one.model: one.context_tokens for one in run.models}
    prompts: dict[str, Callable[[str], tuple[Message, ...]]] = {"extract": extraction_messages}
    if settings.ragq.score_input == "transcript":
        mode = settings.quantitative.severity_inference_mode
        prompts["score"] = lambda transcript: scoring_messages(transcript, "", severity_mode=mode)
    #: Stage -> the tokens that are left for a transcript, those of the whole context, and the model.
    rooms: dict[str, tuple[int, int, str]] = {}
    for stage, model in asked_models(run).items():
        context = settings.ragq.context_tokens or reported.get(model)
        if stage in prompts and context:
            taken = most_prompt_tokens(prompts[stage]("")) + reply_room(context, None)
            rooms[stage] = max(context - taken, 0), context, model
    if not rooms:
        return
    stage, (room, context, model) = min(rooms.items(), key=lambda found: found[1][0])
    hashes = {job.inputs.get("transcript_hash", ""): job.subject for job in run.jobs}
    texts = await interviews.texts_longer_than(connection, list(hashes), room)
    measured = ((most_tokens(text), hashes[one]) for one, text in texts.items())
    if not (long := sorted((one for one in measured if one[0] > room), reverse=True)):
        return
    named = listed([f"{subject} (about {tokens} tokens)" for tokens, subject in long], _LISTED)
    other = " and ".join(f"--set {_OTHERWISE[one]}" for one, (tokens, *_) in rooms.items() if tokens < long[0][0])
    raise Refused(
        f"{len(long)} of {len(hashes)} transcripts are longer than model '{model}' reads in stage '{stage}': "
        f"participant {named}. It reads and writes {context} tokens together, and {room} are left "
        f"beside the instructions and the reply. Nothing was submitted. Use a model with a longer context, or {other}."
    )


def webhook_url(settings: ProcessSettings, url: str | None) -> str | None:
    """The address to tell of a run; None for None. Raises Refused for one that cannot be told, and without a secret."""
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
    """Raise Refused for a run that is to send its calls as batches, and cannot."""
    if run.terms.batch_hours is None:
        return
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
    parent_id: int | None = None
    """The run that it was forked from; null for no fork."""
    left_out: dict[str, list[int]] = Field(default={}, examples=[{"stage 'retrieve' is not stored": [34]}])
    """Jobs of the parent that are not forked, by the reason."""


async def store_run(connection: Connection, run: NewRun, *, always_new: bool = False) -> StoredRun:
    """Store a run on its terms, in one transaction, or find the run of the same work. Raises Refused when the running
    workers ask another language model server than is named here, MissingError for a run to wait for that is not stored,
    and Refused where the run of the same work would have to wait."""
    await check_servers(connection, run)
    terms = run.terms
    async with connection.transaction():
        stored = await runs.store(connection, replace(run, environment=this_environment()), always_new=always_new)
        await backlog.keep(connection, stored.run_id, terms)
        if terms.batch_hours is not None:
            await batches.ask_for(connection, stored.run_id, terms.batch_hours)
        if terms.notify_url is not None:
            await notifications.keep(connection, stored.run_id, terms.notify_url)
        if terms.after_run_id is not None:
            if not stored.is_new:
                raise Refused(f"The same work is stored as r{stored.run_id}, which waits for no other run.")
            await runs.require(connection, terms.after_run_id)
            await jobs.wait_for(connection, stored.run_id, terms.after_run_id)
    return stored


async def submit_run(
    database: Database,
    run: NewRun,
    *,
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    warn: Warn | None = None,
) -> Submitted:
    """Store a run; or find the run of the same work, and retry its failed jobs. Both get the name and the priority.

    A new run is held to the language models that their server reports now. A request with a key is carried out once.
    `warn` hears, before anything is stored, of a server of language models that does not answer; without it, the
    notices say so.

    A run that was stored is returned, whatever fails afterwards. Raises StackError when the database did not answer
    whether it was stored. Before anything is stored it raises Refused for the name, for a key of another request, for
    transcripts that a model cannot read whole, and when the running workers ask other servers, or have no such model.
    """
    refuse_batches(run)
    live = await database.once(workers.live)
    warnings: list[str] = []
    # A run of a single question is not held to its models.
    is_held = run.kind != "query" or len(run.jobs) > 1
    if is_held or askers(run, live):
        models = await served_models(run, live, warn=warn or warnings.append)
        run = replace(run, models=models) if is_held else run
    await database.once(refuse_long_transcripts, run)

    async def store(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, run, always_new=always_new)
        if name is not None:
            await runs.rename(connection, stored.run_id, runs.checked(name))
        if priority is not None:
            await backlog.set_priority(connection, stored.run_id, priority)
        resumed = [] if stored.is_new else await jobs.retry(connection, run_id=stored.run_id)
        jobs_of_run = len(stored.job_ids)
        return {"run_id": stored.run_id, "is_new": stored.is_new, "jobs": jobs_of_run, "resumed": len(resumed)}

    made, is_first = await committed(database, lambda connection: once(connection, key, store))
    return Submitted(
        **made,
        is_replay=not is_first,
        searched=index_in_words(run.request) if run.request.get("searched") else None,
        notices=(*warnings, *notices(run.kind, run.profile, run.request)),
    )
