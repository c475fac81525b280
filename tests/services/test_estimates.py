"""Dry runs: what a submission would do, without a row or a message."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import redis

from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.phq8 import AssessmentMode
from schemas.values.prices import ModelPrice, Prices
from services import estimates
from services.estimates import estimate_request
from services.participants import ParticipantRequest
from services.tags import TagsRequest
from stack.valkey import ValkeyServer
from store.database import Connection
from tests.workers.test_settings_matrix import EVIDENCE, STAGES, TESTED, Bench, Combination, bench
from workers.runner import Outcome

__all__ = ["bench"]

FULL = "every chunk has tags and scores"
CHOSEN = Combination(FULL, False, "participant", True, 0.0, budget=0, top_k=2, reranker="similarity")
OTHER = Combination(FULL, False, "participant", True, 0.6, budget=0, top_k=2, reranker="similarity")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

REQUEST = ParticipantRequest(
    participants=[TESTED], modes=[AssessmentMode.FEW_SHOT], until="assemble", evidence=EVIDENCE
)
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"


async def rows(connection: Connection) -> dict[str, int]:
    names = [row["table_name"] for row in await connection.fetch(TABLES)]
    return {name: await connection.fetchval(f'SELECT count(*) FROM "{name}"') for name in names}


def messages(broker: str) -> int:
    with redis.Redis.from_url(broker) as client:
        return len(list(client.scan_iter()))


async def test_nothing_is_stored_or_sent(bench: Bench, valkey: ValkeyServer) -> None:
    settings = resolve(profile="paper", options=CHOSEN.options, environment={})
    async with bench.database.connection() as connection:
        before = await rows(connection), messages(valkey.url)

        found = await estimate_request(bench.database, REQUEST, settings)

        assert (await rows(connection), messages(valkey.url)) == before
    assert (found.jobs, found.modes, found.existing_run) == (1, {"few_shot": 1}, None)
    assert before[0]["run"] == 0


async def ran(bench: Bench) -> EffectiveSettings:
    """The settings of a job that ran."""
    settings = resolve(profile="paper", options=CHOSEN.options, environment={})
    job_id = await bench.plan(settings)
    for stage in STAGES:
        assert await bench.runner.run(stage, job_id, is_redelivered=False) is Outcome.STORED
    return settings


async def test_calls_are_bounded_by_the_settings(bench: Bench) -> None:
    settings = resolve(profile="paper", options=CHOSEN.options, environment={})
    whole = ParticipantRequest(participants=[TESTED], modes=tuple(AssessmentMode))

    given = await estimate_request(bench.database, REQUEST, settings)
    found = await estimate_request(bench.database, whole, settings)

    # The quotes are given; of eight items two references each are judged, each asked for three times at most.
    assert {name: stage.calls_at_most for name, stage in given.stages.items()} == {
        **dict.fromkeys(STAGES, 0),
        "validate": 8 * 2 * 3,
    }
    # In both modes: evidence three times, scores six times.
    assert (found.stages["extract"].calls_at_most, found.stages["score"].calls_at_most) == (2 * 3, 2 * 6)
    assert found.calls_at_most == found.calls_to_pay_at_most == 6 + 48 + 12
    assert (found.calls_held, found.calls_expected, found.seconds) == (0, None, None)
    assert found.basis_words == "no past run of kind participant with these models, modes and stages"
    assert set(found.models) == {"gemma3:27b"}


async def test_the_ledger_and_past_runs_are_counted(bench: Bench) -> None:
    settings = await ran(bench)
    async with bench.database.connection() as connection:
        paid = await connection.fetchval("SELECT count(*) FROM llm_call")

    same = await estimate_request(bench.database, REQUEST, settings)
    other = await estimate_request(
        bench.database,
        REQUEST,
        resolve(profile="paper", options=OTHER.options, environment={}),
        prices=Prices(currency="EUR", models={"gemma3:27b": ModelPrice(prompt=1.0, reply=2.0)}),
    )

    assert (same.existing_run, same.calls_held, same.calls_to_pay_at_most, same.calls_expected) == ("r1", paid, 0, 0.0)
    # Another threshold: the references may be others from there on, so nothing is promised.
    assert (other.existing_run, other.calls_held, other.calls_to_pay_at_most) == (None, 0, 48)
    assert other.calls_expected == paid > 0
    assert other.basis == ("r1",)
    assert other.seconds is not None and other.seconds.low < other.seconds.value < other.seconds.high
    assert other.currency == "EUR"


async def test_calls_of_the_ledger_take_no_time(bench: Bench) -> None:
    await ran(bench)
    async with bench.database.connection() as connection:
        await connection.execute("UPDATE stage_attempt SET ended_at = started_at + interval '100 seconds'")
        await connection.execute("UPDATE llm_call SET seconds = 90.0 / (SELECT count(*) FROM llm_call)")

    same, other = [
        await estimate_request(
            bench.database, REQUEST, resolve(profile="paper", options=chosen.options, environment={})
        )
        for chosen in (CHOSEN, OTHER)
    ]

    assert [one.stages["validate"].seconds for one in (same, other)] == pytest.approx([10.0, 100.0])
    assert [one.stages["rerank"].seconds for one in (same, other)] == pytest.approx([100.0, 100.0])


async def test_what_is_missing_is_part_of_the_estimate(bench: Bench) -> None:
    options = CHOSEN.options | {"EMBEDDING_EMBEDDINGS_FILE": "nowhere"}
    tags = TagsRequest(phrase_sets=[], vocabulary="none")
    settings = resolve(profile="paper", options=options, environment={})

    index = await estimate_request(bench.database, REQUEST, settings)
    vocabulary = await estimate_request(bench.database, tags, settings)

    assert "no reference index 'nowhere'" in index.missing[0]
    assert "There is no vocabulary 'none'" in vocabulary.missing[0]
    assert index.jobs == vocabulary.jobs == 0


def test_an_interval_goes_from_all_jobs_at_once_to_one_after_the_other() -> None:
    one, fewer = estimates._seconds([(8.0, 4.0)]), estimates._seconds([(8.0, 0.25)])
    several = estimates._seconds([(10.0, 2.0), (40.0, 2.0), (20.0, 2.0)])

    assert one is not None and (one.low, one.value, one.high) == (4.0, 32.0, 64.0)
    assert fewer is not None and (fewer.low, fewer.value, fewer.high) == (1.0, 2.0, 16.0)
    assert several is not None and (several.low, several.value, several.high) == (10.0, 40.0, 80.0)


async def test_time_is_estimated_from_runs_of_the_planned_modes_and_stages_alone(bench: Bench) -> None:
    settings = await ran(bench)
    other = ParticipantRequest(participants=[TESTED], modes=[AssessmentMode.ZERO_SHOT])

    found = await estimate_request(bench.database, other, settings)
    whole = await estimate_request(bench.database, replace(REQUEST, until=None), settings)

    assert (found.seconds, found.basis) == (whole.seconds, whole.basis) == (None, ())


async def test_stages_that_no_run_computed_alone_have_their_share_of_the_time_of_a_run(bench: Bench) -> None:
    await ran(bench)
    async with bench.database.connection() as connection:
        await connection.execute(
            "UPDATE stage_attempt SET started_at = $1, ended_at = $1::timestamptz + interval '12 seconds'", BEGAN
        )
    other = resolve(profile="paper", options=OTHER.options, environment={})

    found, before = [
        await estimate_request(bench.database, replace(REQUEST, until=until), other) for until in ("validate", "rerank")
    ]

    assert found.seconds is not None and found.basis == ("r1",)
    assert found.seconds.value == pytest.approx(12 * (STAGES.index("validate") + 1) / len(STAGES))
    assert found.basis_words.startswith("the share of these stages in 1 past run with these models (1 job)")
    # None of these asks a model, and all that are known paid in other stages.
    assert before.seconds is not None and before.seconds.value < found.seconds.value
