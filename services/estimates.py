"""Dry runs: what a submission would do and cost, from its plan, the ledger and past runs. Nothing is stored or sent."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Final

from schemas.chains import CHAINS, reads_of
from schemas.errors import EmbeddingArtifactMismatchError, ModelUnavailableError, Refused
from schemas.settings.frozen import FrozenSettings, thaw
from schemas.settings.resolve import EffectiveSettings
from schemas.values.estimates import Estimate, Range, StageEstimate
from schemas.values.model_identities import ModelIdentity
from schemas.values.prices import Prices
from services.documents import MOST_HEADINGS
from services.draws import in_draw
from services.forks import ForkRequest, NewFork, plan_fork
from services.long_transcripts import refuse_long_transcripts
from services.model_roles import asked_models
from services.served_models import served_models
from services.submit import Request, plan_request
from services.vocabularies import SEED, GivenVectors, plan_vocabulary
from services.worker_servers import check_servers
from stages.reports.call_bounds import most_calls
from stages.reports.numbers_in_words import counted
from stages.reports.run_words import notices
from store.database import Connection, Database
from store.runs import past_work, runs, workers
from store.runs.past_work import Pace, PastRun, PastStage
from store.runs.runs import NewJob, NewRun

Plan = Callable[[Connection], Awaitable[NewRun]]

#: The newest runs of the kind that are looked at.
LOOKED_AT: Final = 100
#: Of these with equal models, the newest that seconds and tokens are estimated from.
COMPARED: Final = 10
#: The interval of a single past run: it may take half or double the time.
_ONE_RUN: Final = 2.0
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


async def estimate_request(
    database: Database, request: Request, settings: EffectiveSettings, *, draw: int = 0, prices: Prices | None = None
) -> Estimate:
    """What submitting a request would do. See `estimate`."""

    async def plan(connection: Connection) -> NewRun:
        return in_draw(await plan_request(connection, request, settings), draw).run

    return await estimate(database, plan, settings, prices=prices)


async def estimate_fork(database: Database, request: ForkRequest, *, prices: Prices | None = None) -> Estimate:
    """What a fork would compute: the stages before it are copied. Raises as `plan_fork` does."""

    async def plan(connection: Connection) -> NewRun:
        return (await plan_fork(connection, request)).planned.run

    return await estimate(database, plan, prices=prices)


async def estimate_vocabulary(
    database: Database,
    name: str,
    settings: EffectiveSettings,
    *,
    seed: int = SEED,
    vectors: GivenVectors | None = None,
    prices: Prices | None = None,
) -> Estimate:
    """What building the models of a vocabulary would do. See `estimate`."""

    async def plan(connection: Connection) -> NewRun:
        return (await plan_vocabulary(connection, name, settings, seed=seed, vectors=vectors))[0]

    return await estimate(database, plan, settings, prices=prices)


async def estimate(
    database: Database, plan: Plan, settings: EffectiveSettings | None = None, *, prices: Prices | None = None
) -> Estimate:
    """What a planned run would do: jobs, calls, tokens, seconds, money, and what is missing for it.

    A reference index, a corpus or a model that is missing is part of the estimate. Raises Refused for a request that
    cannot be carried out whatever is there, such as settings that conflict. Without `settings`, of a run that has them
    from a stored one, what the plan raises is raised.
    """
    async with database.connection() as connection:
        try:
            run = await plan(connection)
        except (EmbeddingArtifactMismatchError, Refused) as error:
            if settings is None:
                raise
            return _nothing(settings, str(error))
        live = await workers.live(connection)
        missing = await _missing_servers(connection, run)
        existing = await runs.find(connection, run)
        modes = Counter(job.mode for job in run.jobs)
        past = await past_work.past_runs(connection, run.kind, list(modes), draw=run.draw, limit=LOOKED_AT)
    try:
        served = await served_models(run, live)
    except ModelUnavailableError as error:
        served = ()
        missing.append(str(error))
    names = sorted(set(asked_models(run).values()))
    found = {one.model for one in served}
    frozen = thaw(run.settings)
    async with database.connection() as connection:
        try:
            await refuse_long_transcripts(connection, replace(run, models=served))
        except Refused as refused:
            missing.append(str(refused))
        held = await _held(connection, run, _equal_stages(run, past, served))
        alike = [one.id for one in past if _is_alike(one, run)]
        known = await past_work.past_stages(connection, alike[:COMPARED], list(modes))
        paces = await past_work.paces(connection, alike, _planned_stages(run))
    stages = _stages(run, frozen, held, known)
    to_pay = _sum([stage.calls_expected for stage in stages.values() if stage.calls_at_most != 0])
    paces = _comparable(paces, to_pay)
    asking = [stage for stage in stages.values() if stage.calls_at_most != 0]
    money, currency = _money(run, stages, prices)
    return Estimate(
        kind=run.kind,
        profile=run.profile,
        jobs=len(run.jobs),
        modes=dict(modes),
        existing_run=None if existing is None else f"r{existing}",
        stages=stages,
        calls_at_most=_whole(_sum([stage.calls_at_most for stage in stages.values()])),
        calls_held=sum(stage.calls_held for stage in stages.values()),
        calls_to_pay_at_most=_whole(_sum([stage.calls_to_pay_at_most for stage in stages.values()])),
        calls_expected=_sum([stage.calls_expected for stage in asking]),
        prompt_tokens=_whole(_sum([stage.prompt_tokens for stage in asking])),
        reply_tokens=_whole(_sum([stage.reply_tokens for stage in asking])),
        seconds=_seconds(
            [(pace.seconds, to_pay / pace.paid if to_pay else len(run.jobs) / pace.jobs) for pace in paces],
            is_whole=all(pace.is_whole for pace in paces),
        ),
        basis=tuple(f"r{pace.run_id}" for pace in reversed(paces)),
        basis_words=_basis_words(run, paces),
        currency=currency,
        money=money,
        models={name: "available" if name in found else "not found, or its server did not answer" for name in names},
        missing=tuple(missing),
        notices=(*notices(run.kind, run.profile, run.request), *_notices_of_bounds(asking)),
    )


def _notices_of_bounds(asking: Sequence[StageEstimate]) -> Iterator[str]:
    if unbounded := max((stage.jobs_unbounded for stage in asking), default=0):
        yield (
            f"Model calls have no bound yet: it follows from the headings of a document, and "
            f"{counted(unbounded, 'document')} {'is' if unbounded == 1 else 'are'} not converted yet, or not sent."
        )


async def _missing_servers(connection: Connection, run: NewRun) -> list[str]:
    try:
        await check_servers(connection, run)
    except Refused as error:
        return [str(error)]
    return []


def _nothing(settings: EffectiveSettings, missing: str) -> Estimate:
    """Of a request that cannot be planned."""
    return Estimate(
        kind="",
        profile=settings.profile,
        jobs=0,
        modes={},
        existing_run=None,
        stages={},
        calls_at_most=0,
        calls_held=0,
        calls_to_pay_at_most=0,
        calls_expected=None,
        prompt_tokens=None,
        reply_tokens=None,
        seconds=None,
        basis=(),
        basis_words="nothing can be planned",
        currency=None,
        money=None,
        models={},
        missing=(missing,),
        notices=(),
    )


def _equal_stages(
    run: NewRun, past: Sequence[PastRun], served: Sequence[ModelIdentity]
) -> dict[tuple[int, str], set[str]]:
    """Past run and mode -> the first stages of the chain for which both have equal settings and models."""
    own = {name: entry["value"] for name, entry in run.settings.items()}
    weights = {one.model: one for one in served}
    found = {}
    for one in past:
        theirs = {name: entry["value"] for name, entry in one.settings.items()}
        if any(
            ModelIdentity.read(identity).weights != weights[name].weights
            for name, identity in one.models.items()
            if name in weights
        ):
            continue
        for mode in {job.mode for job in run.jobs}:
            equal = set()
            for stage in CHAINS.get((run.kind, mode), ()):
                reads = reads_of(run.kind, mode, stage.name) or frozenset()
                if any(own.get(name) != theirs.get(name) for name in reads):
                    break
                equal.add(stage.name)
            found[one.id, mode] = equal
    return found


async def _held(
    connection: Connection, run: NewRun, equal: dict[tuple[int, str], set[str]]
) -> dict[tuple[int, str], int]:
    """Planned job and stage -> the calls of it that the ledger holds."""
    run_ids = sorted({run_id for (run_id, _), stages in equal.items() if stages})
    if not run_ids:
        return {}
    planned = list(run.jobs)
    jobs: list[tuple[str, str, Any]] = [
        (job.mode, job.subject, {name: value for name, value in job.inputs.items() if name != MOST_HEADINGS})
        for job in planned
    ]
    held: dict[tuple[int, str], int] = {}
    for found in await past_work.held_calls(connection, run.kind, run_ids, jobs):
        if found.stage in equal.get((found.run_id, planned[found.place].mode), ()):
            place = found.place, found.stage
            held[place] = max(held.get(place, 0), found.calls)
    return held


def _is_alike(past: PastRun, run: NewRun) -> bool:
    """Whether a past run asked the same models in the same stages."""
    names = [name for name in run.settings if name.startswith("MODEL_") or name.endswith("_MODEL")]
    return all(
        past.settings.get(name, {}).get("value") == run.settings.get(name, {}).get("value")
        for name in (*names, *_WHO_IS_ASKED)
    )


def _planned_stages(run: NewRun) -> set[tuple[str, str]]:
    """The modes of jobs with the stages that are computed in them."""
    return {(job.mode, stage) for job in run.jobs for stage in _computed(run, job)}


def _comparable(paces: Sequence[Pace], to_pay: float | None) -> list[Pace]:
    """Those whose time says something about stages that pay for so many calls; of whole runs alone where there are any.

    None when it is not known how many are paid for.
    """
    if to_pay is None:
        return []
    alike = [one for one in paces if (one.paid > 0) is (to_pay > 0)]
    return ([one for one in alike if one.is_whole] or alike)[:COMPARED]


def _stages(
    run: NewRun, frozen: FrozenSettings, held: dict[tuple[int, str], int], known: dict[str, PastStage]
) -> dict[str, StageEstimate]:
    jobs = list(run.jobs)
    computed = [_computed(run, job) for job in jobs]
    names = list(dict.fromkeys(stage for stages in computed for stage in stages))
    found = {}
    for name in names:
        places = [place for place, stages in enumerate(computed) if name in stages]
        bounds = {place: most_calls(run.kind, name, frozen, jobs[place].inputs) for place in places}
        to_pay = [place for place in places if bounds[place] != 0 and not held.get((place, name))]
        past = known.get(name)
        expected = None
        if not to_pay:
            expected = 0.0
        elif past is not None and past.paid_jobs:
            expected = len(to_pay) * past.paid / past.paid_jobs
        found[name] = StageEstimate(
            jobs=len(places),
            calls_at_most=_whole(_sum(list(bounds.values()))),
            jobs_unbounded=sum(bound is None for bound in bounds.values()),
            calls_held=sum(held.get((place, name), 0) for place in places),
            calls_to_pay_at_most=_whole(_sum([bounds[place] for place in to_pay])),
            calls_expected=expected,
            prompt_tokens=_tokens(expected, past, "prompt_tokens"),
            reply_tokens=_tokens(expected, past, "reply_tokens"),
            seconds=_of_stage(past, jobs=len(places), to_pay=len(to_pay)),
        )
    return found


def _of_stage(past: PastStage | None, *, jobs: int, to_pay: int) -> float | None:
    """The seconds of a stage in so many jobs, of which some pay for calls; the replies of others are in the ledger."""
    if past is None or not past.jobs or (to_pay and not past.paid_jobs):
        return None
    return jobs * past.seconds / past.jobs + (to_pay * past.call_seconds / past.paid_jobs if to_pay else 0.0)


def _computed(run: NewRun, job: NewJob) -> Sequence[str]:
    """The stages that are computed: a fork copies what those before its own stored."""
    return job.stages[job.stages.index(run.stage) :] if isinstance(run, NewFork) else job.stages


def _tokens(expected: float | None, past: PastStage | None, which: str) -> int | None:
    if expected == 0:
        return 0
    total: int | None = None if past is None else getattr(past, which)
    if expected is None or past is None or total is None or not past.counted:
        return None
    return round(expected * total / past.counted)


def _money(run: NewRun, stages: dict[str, StageEstimate], prices: Prices | None) -> tuple[float | None, str | None]:
    if prices is None:
        return None, None
    money = 0.0
    for stage, model in asked_models(run).items():
        price, found = prices.models.get(model), stages[stage]
        if price is None or found.prompt_tokens is None or found.reply_tokens is None:
            return None, prices.currency
        money += (found.prompt_tokens * price.prompt + found.reply_tokens * price.reply) / _MILLION
    return money, prices.currency


def _seconds(paces: Sequence[tuple[float, float]], *, is_whole: bool = True) -> Range | None:
    """From the seconds of past runs, and how many times as many calls, or jobs without any, there are now.

    The ends are a run whose jobs are worked on one after the other, and one that works on all of them at once. A share
    of the time of a run says as little as a single run does.
    """
    if not paces:
        return None
    spread = _ONE_RUN if len(paces) == 1 or not is_whole else 1.0
    return Range(
        low=min(took * min(1.0, times) for took, times in paces) / spread,
        value=median(took * times for took, times in paces),
        high=max(took * max(1.0, times) for took, times in paces) * spread,
    )


def _basis_words(run: NewRun, paces: Sequence[Pace]) -> str:
    if not paces:
        return f"no past run of kind {run.kind} with these models, modes and stages"
    jobs = counted(sum(pace.jobs for pace in paces), "job")
    if all(pace.is_whole for pace in paces):
        ends = "half to double its time" if len(paces) == 1 else "fastest to slowest of them"
        basis = f"{counted(len(paces), 'past run')} with these models, modes and stages ({jobs})"
    else:
        ends = "half to double that time"
        basis = f"the share of these stages in {counted(len(paces), 'past run')} with these models ({jobs})"
    return f"{basis}; interval: {ends}, with jobs at once or one after the other"


def _sum(values: Sequence[float | None]) -> float | None:
    """None when one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
