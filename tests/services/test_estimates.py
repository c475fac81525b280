"""Dry runs say what would be done, and store and send nothing."""

from functools import partial

import pytest
import redis

from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.costs import Estimate, ModelPrice, Prices
from schemas.values.participants import AssessmentMode
from schemas.values.requests import ParticipantRequest
from schemas.values.runs import Target
from services.forks import plan_fork
from services.submit import estimate, plan_request
from store.database import Connection
from tests.embedded import ValkeyServer
from tests.workers.test_settings_matrix import JUDGED, REQUEST, STAGES, TESTED, Bench, bench

__all__ = ["bench"]

TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"


async def rows(connection: Connection) -> dict[str, int]:
    names = [row["table_name"] for row in await connection.fetch(TABLES)]
    return {name: await connection.fetchval(f'SELECT count(*) FROM "{name}"') for name in names}


def messages(broker: str) -> int:
    with redis.Redis.from_url(broker) as client:
        return len(list(client.scan_iter()))


async def estimated(
    bench: Bench, request: ParticipantRequest, settings: EffectiveSettings, prices: Prices | None = None
) -> Estimate:
    plan = partial(plan_request, request=request, settings=settings)
    return await estimate(bench.database, plan, prices)


async def test_calls_are_bounded_by_settings_and_nothing_is_stored_or_sent(bench: Bench, valkey: ValkeyServer) -> None:
    settings = resolve(profile="paper", options=JUDGED, environment={})
    whole = ParticipantRequest(participants=[TESTED], modes=tuple(AssessmentMode))
    async with bench.database.connection() as connection:
        before = await rows(connection), messages(valkey.url)

        given = await estimated(bench, REQUEST, settings)
        found = await estimated(bench, whole, settings)

        assert (await rows(connection), messages(valkey.url)) == before
    assert before[0]["run"] == 0
    assert (given.jobs, given.modes, given.existing_run) == (1, {"few_shot": 1}, None)
    # The quotes are given; of eight items two references each are judged, each asked for three times at most.
    assert {name: stage.calls_at_most for name, stage in given.stages.items()} == {
        **dict.fromkeys(STAGES, 0),
        "validate": 8 * 2 * 3,
    }
    # In both modes: evidence three times, scores six times.
    assert (found.stages["extract"].calls_at_most, found.stages["score"].calls_at_most) == (2 * 3, 2 * 6)
    assert found.calls_at_most == 6 + 48 + 12
    assert (found.calls_expected, found.seconds, found.basis) == (None, None, ())
    assert set(found.models) == {"gemma3:27b"}


async def test_calls_tokens_and_seconds_are_medians_of_past_jobs(bench: Bench) -> None:
    settings = resolve(profile="paper", options=JUDGED, environment={})
    others = resolve(profile="paper", options=JUDGED | {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.6"}, environment={})
    unlikes = resolve(profile="paper", options=JUDGED | {"LLM_BACKEND": "openai"}, environment={})
    prices = Prices(currency="EUR", models={"gemma3:27b": ModelPrice(prompt=1, reply=2)})
    job_id = await bench.plan(settings)
    await bench.compute(job_id)
    async with bench.database.connection() as connection:
        paid = await connection.fetchval("SELECT count(*) FROM llm_call")
        await connection.execute("UPDATE llm_call SET prompt_tokens = 100, reply_tokens = 10, seconds = 5")
        await connection.execute("UPDATE stage_attempt SET started_at = '2026-01-01', ended_at = '2026-01-01 00:00:12'")

        same, other, unlike = [await estimated(bench, REQUEST, of, prices) for of in (settings, others, unlikes)]
        plan = partial(plan_fork, target=Target(1, None), stage="assemble")
        fork = await estimate(bench.database, plan, prices)

        await connection.execute("UPDATE llm_call_use SET is_reused = true")
        await connection.execute("UPDATE stage_attempt SET worker_id = 'copied' WHERE stage = 'rerank'")
    answered_by_the_ledger = await estimated(bench, REQUEST, settings)

    assert (same.existing_run, other.existing_run) == ("r1", None)
    for one in (same, other):
        assert (one.calls_expected, one.basis) == (paid, ("r1",))
        assert (one.prompt_tokens, one.reply_tokens) == (100 * paid, 10 * paid)
        assert one.stages["rerank"].seconds == pytest.approx(12)
        # The only job computed one stage at a time, whatever the times say.
        assert one.seconds == pytest.approx(12 * len(STAGES))
        assert one.currency == "EUR"
        assert one.money == pytest.approx(120e-6 * paid)
    assert (unlike.calls_expected, unlike.basis) == (None, ())
    assert (unlike.models, len(unlike.missing)) == ({"gemma3:27b": "not known, since it would be refused"}, 1)
    assert "RAGQ_OPENAI_BASE_URL is not set" in unlike.missing[0]
    # What the calls of the parent cost is not paid again.
    assert (set(fork.stages), fork.calls_expected, fork.money) == ({"assemble"}, 0, 0)
    # What the ledger answered counts as asked, and copies say nothing.
    assert answered_by_the_ledger.stages["validate"].seconds == pytest.approx(12 + 5 * paid)
    assert (answered_by_the_ledger.stages["rerank"].seconds, answered_by_the_ledger.seconds) == (None, None)
