"""The cost of a run from its attempts and calls."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from schemas.settings.frozen import FrozenSettings
from schemas.values.costs import KeptStage, RunCost, SavedStages, Spent, StageCalls, StageWork
from schemas.values.phq8 import PHQ8Item
from stages.documents import repair_reply, select_reply
from stages.reports.numbers_in_words import counted, duration

if TYPE_CHECKING:
    from schemas.values.costs import Prices
    from schemas.values.scored_runs import AttemptTime


_MILLION = 1_000_000


def run_cost(
    work: Sequence[StageWork],
    calls: Sequence[StageCalls],
    retried: Sequence[KeptStage],
    copied: Sequence[KeptStage],
    prices: "Prices | None" = None,
) -> RunCost:
    """Sums over every attempt, also those that failed or were replaced. Without prices there is no money."""
    paid_models = {call.model for call in calls if call.paid}
    return RunCost(
        currency=None if prices is None else prices.currency,
        unpriced=() if prices is None else tuple(sorted(paid_models - prices.models.keys())),
        total=_spent(work, calls, prices),
        stages=_grouped(work, calls, prices, _stage),
        models={
            model: _spent((), [call for call in calls if call.model == model], prices)
            for model in sorted({call.model for call in calls})
        },
        jobs=_grouped(
            [one for one in work if one.job_id is not None],
            [one for one in calls if one.job_id is not None],
            prices,
            _job,
        ),
        retries=_saved(retried),
        forks=_saved(copied),
    )


def work_of(attempts: "Sequence[AttemptTime]") -> list[StageWork]:
    """The attempts by job and stage."""
    found: dict[tuple[int, str], tuple[int, float]] = {}
    for one in attempts:
        count, seconds = found.get((one.job_id, one.stage), (0, 0.0))
        took = 0.0 if one.ended_at is None else (one.ended_at - one.started_at).total_seconds()
        found[one.job_id, one.stage] = count + 1, seconds + took
    return [
        StageWork(job_id=job_id, stage=stage, attempts=count, seconds=seconds)
        for (job_id, stage), (count, seconds) in found.items()
    ]


def cost_words(cost: RunCost) -> Iterator[str]:
    """The cost in lines for people; each begins with what it is about."""
    yield f"in all: {_in_words(cost.total, cost.currency)}"
    for model, spent in cost.models.items():
        yield f"{model}: {_calls_in_words(spent, cost.currency)}"
    if cost.total.calls_reused:
        saved = _tokens(cost.total.saved_prompt_tokens, cost.total.saved_reply_tokens)
        yield (
            f"saved by the ledger: {counted(cost.total.calls_reused, 'call')}, {saved}, "
            f"{duration(cost.total.saved_seconds)}{_money(cost.total.saved_money, cost.currency)}"
        )
    for what, saved_stages in (("retries", cost.retries), ("the fork", cost.forks)):
        if saved_stages.stages:
            count, seconds = counted(saved_stages.stages, "stored stage"), duration(saved_stages.seconds)
            yield f"saved by {what}: {count} of {seconds} not computed again"
    if cost.total.calls_uncounted:
        yield f"without a count of tokens: {counted(cost.total.calls_uncounted, 'paid call')}, in no sum of tokens"
    if cost.unpriced:
        yield f"without a price: {', '.join(cost.unpriced)}"


def money_in_words(money: float | None, currency: str | None) -> str:
    """An amount with its currency; N/A where a price is missing."""
    return "N/A" if money is None else f"{money:,.4f} {currency}"


def _in_words(spent: Spent, currency: str | None) -> str:
    return f"{counted(spent.attempts, 'attempt')}, {duration(spent.seconds)}; {_calls_in_words(spent, currency)}"


def _calls_in_words(spent: Spent, currency: str | None) -> str:
    reused = f" and {spent.calls_reused} reused" if spent.calls_reused else ""
    return (
        f"{counted(spent.calls_paid, 'call')} paid{reused}, {_tokens(spent.prompt_tokens, spent.reply_tokens)}"
        f"{_money(spent.money, currency)}"
    )


def _tokens(prompt: int, reply: int) -> str:
    return f"{prompt:,} + {reply:,} tokens"


def _money(money: float | None, currency: str | None) -> str:
    return "" if currency is None else f", {money_in_words(money, currency)}"


def _saved(kept: Sequence[KeptStage]) -> SavedStages:
    return SavedStages(stages=len(kept), seconds=sum((one.seconds for one in kept), 0.0))


def _stage(one: StageWork | StageCalls) -> str:
    return one.stage


def _job(one: StageWork | StageCalls) -> str:
    return f"j{one.job_id}"


def _grouped(
    work: Sequence[StageWork],
    calls: Sequence[StageCalls],
    prices: "Prices | None",
    name_of: Callable[[StageWork | StageCalls], str],
) -> dict[str, Spent]:
    work_by: dict[str, list[StageWork]] = {}
    calls_by: dict[str, list[StageCalls]] = {}
    for one in work:
        work_by.setdefault(name_of(one), []).append(one)
    for call in calls:
        calls_by.setdefault(name_of(call), []).append(call)
    names = dict.fromkeys([*work_by, *calls_by])
    return {name: _spent(work_by.get(name, ()), calls_by.get(name, ()), prices) for name in names}


def _spent(work: Sequence[StageWork], calls: Sequence[StageCalls], prices: "Prices | None") -> Spent:
    return Spent(
        attempts=sum(one.attempts for one in work) if work else sum(call.paid for call in calls),
        seconds=sum((one.seconds for one in work), 0.0) if work else sum((call.seconds for call in calls), 0.0),
        calls_paid=sum(call.paid for call in calls),
        calls_reused=sum(call.reused for call in calls),
        calls_uncounted=sum(call.uncounted for call in calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        reply_tokens=sum(call.reply_tokens for call in calls),
        llm_seconds=sum((call.seconds for call in calls), 0.0),
        money=_priced(prices, ((call.model, call.prompt_tokens, call.reply_tokens) for call in calls if call.paid)),
        saved_prompt_tokens=sum(call.saved_prompt_tokens for call in calls),
        saved_reply_tokens=sum(call.saved_reply_tokens for call in calls),
        saved_seconds=sum((call.saved_seconds for call in calls), 0.0),
        saved_money=_priced(
            prices, ((call.model, call.saved_prompt_tokens, call.saved_reply_tokens) for call in calls if call.reused)
        ),
    )


def _priced(prices: "Prices | None", tokens: Iterable[tuple[str, int, int]]) -> float | None:
    """None rather than a sum that lacks a model."""
    if prices is None:
        return None
    money = 0.0
    for model, prompt, reply in tokens:
        price = prices.models.get(model)
        if price is None:
            return None
        money += (prompt * price.prompt + reply * price.reply) / _MILLION
    return money


def most_calls(kind: str, stage: str, settings: FrozenSettings, inputs: Mapping[str, Any]) -> int | None:
    """Every call with all of its repetitions; 0 for a stage that asks no language model.

    None where it is not known before an earlier stage. Transport errors are not counted: a call that got no reply is
    not paid.
    """
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
        case "work", "repair":
            return _calls(inputs.get("most_headings"), repair_reply.HEADINGS_OF_A_CALL, asked_again)
        case "work", "select":
            return _calls(inputs.get("most_headings"), select_reply.HEADINGS_OF_A_CALL, asked_again)
        case "evaluation", "judge":
            return int(inputs["verdicts_at_most"]) * asked_again
    return asked_again


def _calls(headings: int | None, of_a_call: int, asked_again: int) -> int | None:
    return None if headings is None else ceil(headings / of_a_call) * asked_again
