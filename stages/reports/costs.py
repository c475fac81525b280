"""The cost of a run from its attempts and calls."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.chains import in_order
from schemas.settings.run import FrozenSettings
from schemas.values.costs import Prices, RunCost, Spent, StageCalls, StageWork
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.queries import QueryRun
from schemas.values.reports import ModeTimings, RunTimings, StageTelemetry
from schemas.values.runs import OutputTelemetry, ScoredRun
from stages.reports.words import counted, duration, tokens_in_words

_MILLION = 1_000_000


def run_cost(work: Sequence[StageWork], calls: Sequence[StageCalls], prices: Prices | None = None) -> RunCost:
    """Sums over every attempt, also those that failed or were replaced. Without prices there is no money."""
    work = [one for one in work if one.attempts]
    paid_models = {call.model for call in calls if call.calls_paid}
    return RunCost(
        currency=None if prices is None else prices.currency,
        unpriced=() if prices is None else tuple(sorted(paid_models - prices.models.keys())),
        total=_spent(work, calls, prices),
        stages=_grouped(work, calls, prices, lambda one: one.stage),
        models={
            model: _spent((), [call for call in calls if call.model == model], prices)
            for model in sorted({call.model for call in calls})
        },
        jobs=_grouped(work, calls, prices, lambda one: None if one.job_id is None else f"j{one.job_id}"),
    )


def tokens_by_job(calls: Sequence[StageCalls]) -> Counter[int]:
    """The tokens of prompts and replies that the calls of each job took, whoever paid for them."""
    found: Counter[int] = Counter()
    for call in calls:
        if call.job_id is not None:
            found[call.job_id] += call.prompt_tokens + call.reply_tokens
            found[call.job_id] += call.saved_prompt_tokens + call.saved_reply_tokens
    return found


def cost_words(cost: RunCost) -> Iterator[str]:
    """The cost in lines for people; each begins with what it is about."""
    busy = f"{counted(cost.total.attempts, 'attempt')}, {duration(cost.total.seconds)}"
    yield f"in all: {busy}; {_calls_in_words(cost.total, cost.currency)}"
    for model, spent in cost.models.items():
        yield f"{model}: {_calls_in_words(spent, cost.currency)}"
    for stage, at in cost.stages.items():
        if at.calls_paid:
            yield f"stage {stage}: {_calls_in_words(at, cost.currency)}"
    if cost.total.calls_reused:
        saved = tokens_in_words(cost.total.saved_prompt_tokens, cost.total.saved_reply_tokens)
        yield (
            f"saved by the ledger: {counted(cost.total.calls_reused, 'call')}, {saved} tokens, "
            f"{duration(cost.total.saved_seconds)}{_money(cost.total.saved_money, cost.currency)}"
        )
    if cost.total.calls_uncounted:
        yield f"without a count of tokens: {counted(cost.total.calls_uncounted, 'paid call')}, in no sum of tokens"
    if cost.unpriced:
        yield f"without a price: {', '.join(cost.unpriced)}"


def money_in_words(money: float | None, currency: str | None) -> str:
    """An amount with its currency; N/A where a price is missing."""
    return "N/A" if money is None else f"{money:,.4f} {currency}"


def _calls_in_words(spent: Spent, currency: str | None) -> str:
    reused = f" and {spent.calls_reused} reused" if spent.calls_reused else ""
    tokens = tokens_in_words(spent.prompt_tokens, spent.reply_tokens)
    return f"{counted(spent.calls_paid, 'call')} paid{reused}, {tokens} tokens{_money(spent.money, currency)}"


def _money(money: float | None, currency: str | None) -> str:
    return "" if currency is None else f", {money_in_words(money, currency)}"


def _grouped(
    work: Sequence[StageWork],
    calls: Sequence[StageCalls],
    prices: Prices | None,
    name_of: Callable[[StageWork | StageCalls], str | None],
) -> dict[str, Spent]:
    """What was spent on each of a name; what has none is left out."""
    by_name: dict[str | None, tuple[list[StageWork], list[StageCalls]]] = defaultdict(lambda: ([], []))
    for one in work:
        by_name[name_of(one)][0].append(one)
    for call in calls:
        by_name[name_of(call)][1].append(call)
    return {name: _spent(*of_name, prices) for name, of_name in by_name.items() if name is not None}


_SUMS: Final = Spent.model_fields.keys() & StageCalls.model_fields.keys()


def _spent(work: Sequence[StageWork], calls: Sequence[StageCalls], prices: Prices | None) -> Spent:
    sums = {name: sum(getattr(call, name) for call in calls) for name in _SUMS}
    saved = [(call.model, call.saved_prompt_tokens, call.saved_reply_tokens) for call in calls if call.calls_reused]
    return Spent(
        attempts=sum(one.attempts for one in work) if work else sums["calls_paid"],
        seconds=sum(one.seconds for one in work) if work else sums["llm_seconds"],
        money=priced(prices, (_at_full_price(call, prices) for call in calls if call.calls_paid)),
        saved_money=priced(prices, saved),
        **sums,
    )


def _at_full_price(call: StageCalls, prices: Prices | None) -> tuple[str, float, float]:
    """The tokens that would cost as much by themselves as these, some of which were part of batches."""
    saved = 0.0 if prices is None else 1 - prices.batch
    return (
        call.model,
        call.prompt_tokens - saved * call.batched_prompt_tokens,
        call.reply_tokens - saved * call.batched_reply_tokens,
    )


def priced(prices: Prices | None, tokens: Iterable[tuple[str, float | None, float | None]]) -> float | None:
    """The money for tokens of prompts and replies of models; None rather than a sum that lacks one of them."""
    if prices is None:
        return None
    money = 0.0
    for model, prompt, reply in tokens:
        price = prices.models.get(model)
        if price is None or prompt is None or reply is None:
            return None
        money += (prompt * price.prompt + reply * price.reply) / _MILLION
    return money


def most_calls(kind: str, stage: str, settings: FrozenSettings, inputs: Mapping[str, Any]) -> int | None:
    """Every call with all of its repetitions; 0 for a stage that asks no language model. None where it is not known
    before an earlier stage. Transport errors are not counted: a call that got no reply is not paid."""
    run, preset = settings.run, settings.preset
    if not settings.asks_model(kind, stage, inputs):
        return 0
    asked_again = 1 + run.ragq.reply_retries
    match kind, stage:
        case "participant", "validate":
            return len(PHQ8Item) * run.embedding.top_k_references * asked_again
        case "participant", "score":
            samples = 2 * run.consistency.n_samples if run.consistency.enabled else 1
            return samples * (1 + run.pydantic_ai.retries)
        case "query", "expand" | "generate":
            return 1
        case "query", "validate":
            assert preset is not None
            return preset.retrieval.top_n_final * asked_again
        case "work", "repair" | "select":
            return None
        case "evaluation", "judge":
            return int(inputs["verdicts_at_most"]) * asked_again
    return asked_again


def telemetry(outputs: Iterable[OutputTelemetry], *, kind: str) -> dict[str, StageTelemetry]:
    """The counts over these outputs, which are those that count, by stage in the order of the chain of a kind."""
    all_outputs, found = list(outputs), {}
    for stage in in_order(kind, {output.stage for output in all_outputs}):
        of_stage = [output for output in all_outputs if output.stage == stage]
        cut = [output.cut_texts for output in of_stage if output.cut_texts is not None]
        found[stage] = StageTelemetry(
            outputs=len(of_stage),
            repairs=dict(sorted(Counter(name for output in of_stage for name in output.repairs).items())),
            reasks=dict(sorted(Counter(name for output in of_stage for name in output.reasks).items())),
            cut_texts=sum(cut) if cut else None,
        )
    return found


def run_timings(run: ScoredRun | QueryRun, prices: Prices | None = None) -> RunTimings:
    """The times of a run, and what it took; of participants in each mode too."""
    work = run.work
    return RunTimings(
        submitted_at=run.submitted_at,
        started_at=min((one.started_at for one in work), default=None),
        finished_at=max((one.ended_at for one in work if one.ended_at is not None), default=None),
        modes={mode: _of_mode(run, mode, prices) for mode in run.modes} if isinstance(run, ScoredRun) else {},
        cost=run_cost(work, run.calls, prices),
    )


def _of_mode(run: ScoredRun, mode: AssessmentMode, prices: Prices | None) -> ModeTimings:
    ids = {job.job_id for job in run.jobs_of(mode)}
    work = [one for one in run.work if one.job_id in ids]
    ends = [one.ended_at for one in work if one.ended_at is not None]
    duration = max(ends) - min(one.started_at for one in work) if ends else None
    return ModeTimings(
        total_duration_seconds=None if duration is None else duration.total_seconds(),
        spent=_spent(work, [call for call in run.calls if call.job_id in ids], prices),
    )
