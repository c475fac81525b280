"""Work submitted: participants to assess, questions to answer, or phrases to find tags for.

And dry runs: what a submission would do, from its plan and the medians of past runs. Nothing is stored or sent.
"""

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemas.chains import CHAINS
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import thaw
from schemas.statuses import Priority
from schemas.values.costs import Effort, Estimate, Prices
from schemas.values.requests import NO_TERMS, ParticipantRequest, QueryRequest, RunTerms, TagsRequest
from services.new_runs import Submitted, refuse_batches, refuse_long_transcripts, submit_run, takes_batch
from services.participants import in_enabled_modes, plan_participants
from services.questions.submission import plan_queries
from services.served_models import Warn, asked_models, check_servers, served_models
from services.tags import plan_tags
from stages.reports.costs import most_calls, priced
from stages.reports.words import notices
from store.access import RequestKey
from store.database import Connection, Database
from store.runs import runs, workers
from store.runs.call_costs import past_work
from store.runs.runs import NewRun

Request = ParticipantRequest | QueryRequest | TagsRequest

MAX_SAMPLES = 20

_FRESH_FROM = 1 << 16
_FRESH_UNTIL = 1 << 31


def chosen_draws(*, fresh: bool = False, samples: int = 1) -> Sequence[int]:
    """The draws of a submission. The first of `samples` is the ordinary one, 0, and the others are 1, 2, ..., so that
    the same submission finds its runs again. With `fresh` each is a new number, and no run has answers to find."""
    if fresh:
        return [_FRESH_FROM + secrets.randbelow(_FRESH_UNTIL - _FRESH_FROM) for _ in range(samples)]
    return range(samples)


def in_draw(run: NewRun, draw: int) -> NewRun:
    """The run in a draw. Raises Refused where it asks no language model, so that its results cannot vary."""
    if not draw:
        return run
    if not asked_models(run):
        raise Refused(
            "No stage of this run asks a language model, so that --fresh and --samples would compute the same again. "
            "Leave them out; --new forces another run."
        )
    return replace(run, request={**run.request, "draw": draw})


async def submit(
    database: Database,
    request: Request,
    settings: EffectiveSettings,
    *,
    draws: Sequence[int] = (0,),
    always_new: bool = False,
    name: str | None = None,
    priority: Priority | None = None,
    key: RequestKey | None = None,
    terms: RunTerms = NO_TERMS,
    warn: Warn | None = None,
) -> list[Submitted]:
    """Store what is asked for as a run for each draw, or find the run of the same request and retry its failed jobs.

    `name`, `key` and `warn` are those of `submit_run`; the first two go with a single draw.
    Raises what the planning of the request raises, and Refused for a draw of a request that asks no language model;
    nothing is stored then.
    """
    planned = await database.once(plan_request, request, settings, terms=terms)
    return [
        await submit_run(database, one, always_new=always_new, name=name, priority=priority, key=key, warn=warn)
        for one in [in_draw(planned, draw) for draw in draws]
    ]


async def plan_request(
    connection: Connection, request: Request, settings: EffectiveSettings, *, draw: int = 0, terms: RunTerms = NO_TERMS
) -> NewRun:
    """The run for a request, in a draw. Raises what the planning of its kind raises, and as `in_draw`."""
    match request:
        case ParticipantRequest():
            run = await plan_participants(connection, in_enabled_modes(request, settings), settings)
        case QueryRequest():
            run = await plan_queries(connection, request, settings)
        case TagsRequest():
            run = await plan_tags(connection, request, settings)
    return in_draw(replace(run, terms=terms), draw)


Plan = Callable[[Connection], Awaitable[NewRun]]


async def estimate(database: Database, plan: Plan, prices: Prices | None = None) -> Estimate:
    """What a planned run would do: jobs, calls, tokens, seconds, money, and what is missing for it. Raises what the
    plan raises, and Refused for batches that cannot be sent."""
    async with database.connection() as connection:
        run = await plan(connection)
        refuse_batches(run)
        modes = Counter(job.mode for job in run.jobs)
        existing = await runs.find(connection, run)
        run_ids, at_once, medians = await past_work(connection, run.kind, modes, _choices(run))
        live = await workers.live(connection)
    missing: tuple[str, ...] = ()
    try:
        await database.once(check_servers, run)
        run = replace(run, models=await served_models(run, live))
        await database.once(refuse_long_transcripts, run)
    except Refused as refused:
        missing = (str(refused),)
    stages = _stages(run, medians)
    total = _total([(1, stage) for stage in stages.values()]) | {"jobs": len(run.jobs)}
    if total["seconds"] is not None:
        total["seconds"] /= min(at_once, max(len(run.jobs), 1))
    models, found = asked_models(run), {one.model for one in run.models}
    absent = "not known, since it would be refused" if missing else "not found, or its server did not answer"
    # A fork may copy what a model answered.
    asked = [(model, stages[stage]) for stage, model in models.items() if stage in stages]
    money = priced(prices, ((model, stage.prompt_tokens, stage.reply_tokens) for model, stage in asked))
    return Estimate(
        kind=run.kind,
        profile=run.profile,
        modes=dict(modes),
        existing_run=None if existing is None else f"r{existing}",
        stages=stages,
        **total,
        basis=tuple(f"r{run_id}" for run_id in run_ids),
        currency=prices and prices.currency,
        money=money,
        batch_money=money * prices.batch if prices and money is not None and takes_batch(run) else None,
        models={name: "available" if name in found else absent for name in sorted(set(models.values()))},
        missing=missing,
        notices=tuple(notices(run.kind, run.profile, run.request)),
    )


def _choices(run: NewRun) -> dict[str, Any]:
    """The settings that a past run has to share: models, samples, and what chooses in stages that can ask a model.
    Thresholds, temperatures and other numbers may differ."""
    chains = [chain for (kind, _), chain in CHAINS.items() if kind == run.kind]
    read = {name for chain in chains for stage in chain if stage.asks_llm for name in stage.reads}
    return {
        name: found["value"]
        for name, found in run.settings.items()
        if name.endswith(("_MODEL", "_BACKEND", "_SAMPLES"))
        or (name in read and isinstance(found["value"], str | bool))
    }


def _stages(run: NewRun, medians: Mapping[tuple[str, str], Effort]) -> dict[str, Effort]:
    """What the jobs of a run take in each stage, by the medians of each mode and stage."""
    frozen = thaw(run.settings)
    alike = Counter(
        (stage, job.mode, most_calls(run.kind, stage, frozen, job.inputs))
        for job in run.jobs
        for stage in run.computed(job)
    )
    found: dict[str, list[tuple[int, Effort]]] = {}
    for (stage, mode, bound), jobs in alike.items():
        past = medians.get((mode, stage), Effort())
        if bound == 0:
            past = Effort(calls_expected=0, prompt_tokens=0, reply_tokens=0, seconds=past.seconds)
        found.setdefault(stage, []).append((jobs, past.model_copy(update={"calls_at_most": bound})))
    return {stage: Effort(**_total(of)) for stage, of in found.items()}


def _total(parts: Collection[tuple[int, Effort]]) -> dict[str, Any]:
    """What so many of each take together; None where one of them is not known."""
    found = {name: [(count, getattr(one, name)) for count, one in parts] for name in Effort.model_fields}
    return {
        name: None if any(value is None for _, value in values) else sum(count * value for count, value in values)
        for name, values in found.items()
    }
