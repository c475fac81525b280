"""The cost of a run counts every attempt, and what was not computed again."""

from itertools import count
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.values.costs import ModelPrice, Prices
from schemas.values.runs import RunLimits, RunLimitState
from services.prices import prices_of
from services.reports import cost_of_run
from stages.reports.costs import cost_words
from store.database import Connection
from store.runs import backlog, jobs, stages
from store.runs.stages import Claim
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, call_model, claimed

PRICES = Prices(currency="EUR", models={"big": ModelPrice(prompt=2, reply=10)})


numbers = count()


async def call(connection: Connection, claim: Claim, *, model: str = "big", is_reused: bool = False, **of: Any) -> None:
    """A call of its own."""
    reply = {"seconds": 2, "prompt_tokens": 1000, "reply_tokens": 100} | of
    await call_model(connection, claim.attempt_id, f"{next(numbers)}", model=model, is_reused=is_reused, **reply)


async def test_a_retry_never_lowers_the_cost(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run()
    (job_id,) = stored.job_ids
    await stages.commit(connection, await claimed(connection, job_id, "extract"), inputs={}, output={"a": 1})
    failing = await claimed(connection, job_id, "embed")
    await call(connection, failing)
    await stages.fail(connection, failing, BROKEN, inputs={})
    before = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)
    await jobs.retry(connection, run_id=stored.run_id)
    again = await claimed(connection, job_id, "embed")
    await call(connection, again, is_reused=True)
    await call(connection, again)
    await stages.commit(connection, again, inputs={}, output={"b": 1})
    after = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)
    # A limit that is given later counts what was paid for and nothing else.
    await backlog.keep(connection, stored.run_id, RunLimits(max_llm_calls=5))

    assert await backlog.find(connection, stored.run_id) == RunLimitState(max_llm_calls=5, llm_calls=2, tokens=2200)
    assert (before.total.attempts, before.total.calls_paid, before.total.prompt_tokens) == (2, 1, 1000)
    assert before.total.money == pytest.approx(0.003)
    assert (after.total.attempts, after.total.calls_paid, after.total.prompt_tokens) == (3, 2, 2000)
    assert after.total.money == pytest.approx(0.006)
    assert after.total.saved_money == pytest.approx(0.003)
    assert (after.total.calls_reused, after.total.saved_prompt_tokens, after.total.saved_seconds) == (1, 1000, 2.0)
    assert after.stages["embed"].reply_tokens == after.jobs[f"j{job_id}"].reply_tokens == 200
    assert after.models["big"].calls_paid == 2
    assert (before.retries.stages, after.retries.stages) == (0, 1), "the stored stage `extract` was kept"
    words = list(cost_words(after))
    assert words[0].endswith("2 calls paid and 1 reused, 2,000 + 200 tokens, 0.0060 EUR")
    assert any(line.startswith("saved by the ledger: 1 call, 1,000 + 100 tokens") for line in words)
    assert any(line.startswith("saved by retries: 1 stored stage") for line in words)


async def test_what_a_fork_copied_is_saved_and_not_spent(connection: Connection, store_run: StoreRun) -> None:
    parent, child = await store_run(), await store_run("317")
    await stages.commit(connection, await claimed(connection, parent.job_ids[0], "extract"), inputs={}, output={"a": 1})
    await stages.commit(connection, await claimed(connection, child.job_ids[0], "extract"), inputs={}, output={"a": 1})
    await connection.execute("UPDATE stage_attempt SET started_at = ended_at - interval '7 s'")
    await connection.execute("UPDATE stage_attempt SET worker_id = 'copied' WHERE job_id = $1", child.job_ids[0])
    cost = await cost_of_run(connection, child.run_id)
    sums = await cost_of_run(connection, parent.run_id)

    assert (cost.total.attempts, cost.forks.stages, cost.forks.seconds) == (0, 1, 7.0)
    assert (sums.total.seconds, sums.jobs) == (7.0, {})
    assert any(line.startswith("saved by the fork: 1 stored stage") for line in cost_words(cost))


async def test_no_money_is_summed_that_lacks_a_price_or_a_count(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run()
    claim = await claimed(connection, stored.job_ids[0], "extract")
    await call(connection, claim, model="small")
    await call(connection, claim, prompt_tokens=None)
    cost = await cost_of_run(connection, stored.run_id, PRICES, by_job=True)

    assert (cost.total.money, cost.unpriced, cost.total.calls_uncounted) == (None, ("small",), 1)
    assert cost.models["big"].money == pytest.approx(0.001)
    assert "without a price: small" in list(cost_words(cost))


def test_a_price_file_is_read_or_refused_with_what_is_wrong(tmp_path: Any) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('currency = "EUR"\n[models.big]\nprompt = 2\nreply = 10\n')
    bad.write_text('currency = "EUR"\n[models.big]\nprompt = -2\n')

    assert prices_of(ProcessSettings(ragq_prices=good)) == PRICES
    with pytest.raises(Refused, match=r"models\.big\.prompt"):
        prices_of(ProcessSettings(ragq_prices=bad))
