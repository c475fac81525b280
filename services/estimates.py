"""Dry runs: what a submission would do, from its plan and the medians of past runs. Nothing is stored or sent."""

import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from schemas.errors import EmbeddingArtifactMismatchError, Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import thaw
from schemas.values.chat import ModelIdentity
from schemas.values.estimates import Estimate, Prices, StageEstimate
from services.few_shot import in_draw
from services.new_runs import refuse_batches, refuse_long_transcripts, takes_batch
from services.served_models import asked_models, check_servers, served_models
from services.submit import Request, plan_request
from stages.reports.costs import most_calls
from stages.reports.words import counted, notices
from store.database import Connection, Database
from store.runs import past_work, runs, workers
from store.runs.past_work import PastStage
from store.runs.runs import NewJob, NewRun

Plan = Callable[[Connection], Awaitable[NewRun]]

#: The newest runs of the kind with equal models that calls, tokens and seconds are estimated from.
COMPARED: Final = 10
#: Settings that decide which stages ask a language model, and how often, beside the models themselves.
_WHO_IS_ASKED: Final = (
    "LLM_BACKEND",
    "EMBEDDING_BACKEND",
    "QUANTITATIVE_EVIDENCE_EXTRACTOR",
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION",
    "CONSISTENCY_ENABLED",
    "CONSISTENCY_N_SAMPLES",
    "RAGQ_REFERENCE_VALIDATOR",
    "RAGQ_REPAIR_BY",
    "RAGQ_SCORER",
    "RAGQ_SELECT_BY",
    "validation.enabled",
)
_MILLION: Final = 1_000_000


def planned(request: Request, settings: EffectiveSettings, *, draw: int = 0, in_batches: bool = False) -> Plan:
    """What plans the submission of a request, in a draw."""

    async def plan(connection: Connection) -> NewRun:
        run = in_draw(await plan_request(connection, request, settings), draw)
        if in_batches:
            refuse_batches(run)
        return run

    return plan


async def estimate(
    database: Database, plan: Plan, settings: EffectiveSettings | None = None, *, prices: Prices | None = None
) -> Estimate:
    """What a planned run would do: jobs, calls, tokens, seconds, money, and what is missing for it.

    A reference index, a corpus or a model that is missing is part of the estimate. Raises Refused for a request that
    cannot be carried out whatever is there, such as settings that conflict. Without `settings`, of a run that has them
    from a stored one, what the plan raises is raised.
    """
    missing: list[str] = []
    async with database.connection() as connection:
        try:
            run = await plan(connection)
        except (EmbeddingArtifactMismatchError, Refused) as error:
            if settings is None:
                raise
            return Estimate(profile=settings.profile, missing=(str(error),))
        live = await workers.live(connection)
        with _noted(missing):
            await check_servers(connection, run)
        existing = await runs.find(connection, run)
        modes = Counter(job.mode for job in run.jobs)
        alike = await past_work.alike_runs(connection, run.kind, list(modes), _who_is_asked(run), limit=COMPARED)
    served: tuple[ModelIdentity, ...] = ()
    with _noted(missing):
        served = await served_models(run, live)
    async with database.connection() as connection:
        with _noted(missing):
            await refuse_long_transcripts(connection, replace(run, models=served))
        stages = _stages(run, await past_work.past_stages(connection, alike))
        at_once = await past_work.at_once(connection, alike)
    asking = [stage for stage in stages.values() if stage.calls_at_most != 0]
    models, found = asked_models(run), {one.model for one in served}
    seconds = _sum([stage.seconds for stage in stages.values()])
    money = None if prices is None else _money(models, stages, prices)
    return Estimate(
        kind=run.kind,
        profile=run.profile,
        jobs=len(run.jobs),
        modes=dict(modes),
        existing_run=None if existing is None else f"r{existing}",
        stages=stages,
        calls_at_most=_whole(_sum([stage.calls_at_most for stage in stages.values()])),
        calls_expected=_sum([stage.calls_expected for stage in asking]),
        prompt_tokens=_whole(_sum([stage.prompt_tokens for stage in asking])),
        reply_tokens=_whole(_sum([stage.reply_tokens for stage in asking])),
        seconds=None if seconds is None else seconds / min(at_once, max(len(run.jobs), 1)),
        basis=tuple(f"r{run_id}" for run_id in reversed(alike)),
        currency=None if prices is None else prices.currency,
        money=money,
        batch_money=None if money is None or prices is None or not takes_batch(run) else money * prices.batch,
        models={
            name: "available" if name in found else "not found, or its server did not answer"
            for name in sorted(set(models.values()))
        },
        missing=tuple(missing),
        notices=(*notices(run.kind, run.profile, run.request), *_notices_of_bounds(asking)),
    )


@contextmanager
def _noted(missing: list[str]) -> Iterator[None]:
    """Notes what is refused, instead of raising it."""
    try:
        yield
    except Refused as refused:
        missing.append(str(refused))


def _notices_of_bounds(asking: Sequence[StageEstimate]) -> Iterator[str]:
    if unbounded := max((stage.jobs_unbounded for stage in asking), default=0):
        yield (
            f"Model calls have no bound yet: it follows from the headings of a document, and "
            f"{counted(unbounded, 'document')} {'is' if unbounded == 1 else 'are'} not converted yet, or not sent."
        )


def _who_is_asked(run: NewRun) -> dict[str, Any]:
    """The settings in which a past run has to be the same to have asked the same models in the same stages."""
    return {
        name: found["value"]
        for name, found in run.settings.items()
        if name.startswith("MODEL_") or name.endswith("_MODEL") or name in _WHO_IS_ASKED
    }


def _stages(run: NewRun, known: Mapping[tuple[str, str], PastStage]) -> dict[str, StageEstimate]:
    """What the jobs of a run take in each stage, by the medians of each mode and stage."""
    frozen = thaw(run.settings)
    jobs: dict[str, list[NewJob]] = {}
    for job in run.jobs:
        for stage in run.computed(job):
            jobs.setdefault(stage, []).append(job)
    found = {}
    for stage, of_stage in jobs.items():
        bounds = [most_calls(run.kind, stage, frozen, job.inputs) for job in of_stage]
        past = [known.get((job.mode, stage)) for job in of_stage]
        asking = [one for one, bound in zip(past, bounds, strict=True) if bound != 0]
        found[stage] = StageEstimate(
            jobs=len(of_stage),
            calls_at_most=_whole(_sum(bounds)),
            jobs_unbounded=bounds.count(None),
            calls_expected=_sum([one and one.calls for one in asking]),
            prompt_tokens=_whole(_sum([one and one.prompt_tokens for one in asking])),
            reply_tokens=_whole(_sum([one and one.reply_tokens for one in asking])),
            seconds=_sum([one and one.seconds for one in past]),
        )
    return found


def _money(models: Mapping[str, str], stages: Mapping[str, StageEstimate], prices: Prices) -> float | None:
    """None where a model has no price, or its tokens are not known."""
    money = 0.0
    for stage, model in models.items():
        price, found = prices.models.get(model), stages[stage]
        if price is None or found.prompt_tokens is None or found.reply_tokens is None:
            return None
        money += (found.prompt_tokens * price.prompt + found.reply_tokens * price.reply) / _MILLION
    return money


def _sum(values: Sequence[float | None]) -> float | None:
    """None when one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


_LARGEST_PRICES: Final = 1024 * 1024
_PRICES: Final = 'currency = "EUR"\n[models."gemma3:27b"]\nprompt = 0.10\nreply = 0.20'


def prices_of(settings: ProcessSettings) -> Prices | None:
    """The prices of the TOML file that RAGQ_PRICES names; None where it is unset.

    Raises Refused for a file that has none, with what is wrong.
    """
    if (file := settings.ragq_prices) is None:
        return None
    try:
        if file.stat().st_size > _LARGEST_PRICES:
            raise Refused(f"{file} is larger than {_LARGEST_PRICES} bytes, which no price file is.")
        return Prices.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The price file {file} cannot be read ({type(error).__name__}).") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"The price file {file} is not TOML: {error}.") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        raise Refused(f"The price file {file} cannot be used: {problems}. It looks like this:\n{_PRICES}") from None
