"""Dry runs: what a submission would do, from its plan and the medians of past runs. Nothing is stored or sent."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from schemas.chains import CHAINS
from schemas.errors import Refused
from schemas.settings.run import thaw
from schemas.values.costs import Effort, Estimate, Prices, StageEstimate
from services.new_runs import refuse_batches, refuse_long_transcripts, takes_batch
from services.served_models import asked_models, check_servers, served_models
from stages.reports.costs import most_calls, priced
from stages.reports.words import notices
from store.database import Connection, Database
from store.runs import runs, workers
from store.runs.call_costs import past_work
from store.runs.runs import NewRun

Plan = Callable[[Connection], Awaitable[NewRun]]


async def estimate(database: Database, plan: Plan, prices: Prices | None = None) -> Estimate:
    """What a planned run would do: jobs, calls, tokens, seconds, money, and what is missing for it.

    Raises what the plan raises, and Refused for batches that cannot be sent.
    """
    async with database.connection() as connection:
        run = await plan(connection)
        if run.terms.batch_hours is not None:
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
    total = _total([(1, stage) for stage in stages.values()])
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
        jobs=len(run.jobs),
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

    Thresholds, temperatures and other numbers may differ.
    """
    chains = [chain for (kind, _), chain in CHAINS.items() if kind == run.kind]
    read = {name for chain in chains for stage in chain if stage.asks_llm for name in stage.reads}
    return {
        name: found["value"]
        for name, found in run.settings.items()
        if name.endswith(("_MODEL", "_BACKEND", "_SAMPLES"))
        or (name in read and isinstance(found["value"], str | bool))
    }


def _stages(run: NewRun, medians: Mapping[tuple[str, str], Effort]) -> dict[str, StageEstimate]:
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
    return {stage: StageEstimate(jobs=sum(jobs for jobs, _ in of), **_total(of)) for stage, of in found.items()}


def _total(parts: Collection[tuple[int, Effort]]) -> dict[str, Any]:
    """What so many of each take together; None where one of them is not known."""
    found = {name: [(count, getattr(one, name)) for count, one in parts] for name in Effort.model_fields}
    return {
        name: None if any(value is None for _, value in values) else sum(count * value for count, value in values)
        for name, values in found.items()
    }
