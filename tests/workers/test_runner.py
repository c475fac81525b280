"""The runner around every stage, in one process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from schemas.errors import EmptyTranscriptError, InputChangedError
from schemas.settings.process import ProcessSettings
from schemas.statuses import JobStatus
from schemas.values.base import Value
from store.database import Database, DatabaseUnreachableError
from store.runs import attempts, job_control, overviews, stages
from store.runs.runs import StoredRun
from workers.leases import Leases
from workers.runner import Outcome, StageFailed, StageRunner
from workers.wiring import Wiring
from workers.work import Result, StageFunction, Work

StoreRun = Callable[..., Awaitable[StoredRun]]
RunStage = Callable[[int, StageFunction], Awaitable[Outcome]]


class Nothing(Value):
    """An output."""


@pytest.fixture
async def run_extract(database: Database, database_url: str) -> AsyncIterator[RunStage]:
    """Runs `extract` of a job with a function, in a process that poisons at the third interruption."""
    leases = Leases(database_url, "worker", lease_s=6, heartbeat_s=1)
    wiring = Wiring(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)
    runner = StageRunner(database, leases, wiring, worker_id="worker", lease_s=6, grace_s=5, max_interruptions=3)

    def run(job_id: int, function: StageFunction) -> Awaitable[Outcome]:
        return runner.run("extract", job_id, {"participant": function}, is_redelivered=False)

    yield run
    leases.stop()


async def interrupt(database: Database, job_id: int, times: int) -> None:
    async with database.connection() as connection:
        for _ in range(times):
            await stages.claim(connection, job_id, "extract", "dead worker", 0)
            await stages.expire(connection, max_interruptions=3)


async def test_a_stage_on_its_last_chance_runs_alone(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run("316", "319", "330")
    neighbour, suspect, newcomer = stored.job_ids
    await interrupt(database, suspect, times=2)
    seen: list[str] = []

    async def stage(work: Work) -> Result:
        seen.append(f"+{work.claim.subject}")
        await asyncio.sleep(0.2)
        seen.append(f"-{work.claim.subject}")
        return Result(Nothing())

    running = [asyncio.ensure_future(run_extract(neighbour, stage))]
    await asyncio.sleep(0.05)
    running.append(asyncio.ensure_future(run_extract(suspect, stage)))
    await asyncio.sleep(0.05)
    running.append(asyncio.ensure_future(run_extract(newcomer, stage)))

    assert await asyncio.gather(*running) == [Outcome.STORED] * 3
    assert seen == ["+316", "-316", "+319", "-319", "+330", "-330"]


async def test_a_stage_that_was_interrupted_once_still_runs_beside_others(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run("316", "319")
    await interrupt(database, stored.job_ids[1], times=1)
    together = asyncio.Barrier(2)

    async def stage(work: Work) -> Result:
        await asyncio.wait_for(together.wait(), timeout=5)
        return Result(Nothing())

    outcomes = await asyncio.gather(*(run_extract(job_id, stage) for job_id in stored.job_ids))

    assert outcomes == [Outcome.STORED] * 2


async def test_a_database_that_stays_away_is_no_failure_of_the_stage(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        raise DatabaseUnreachableError(30, "ConnectionRefusedError")

    assert await run_extract(stored.job_ids[0], stage) is Outcome.NOTHING_TO_DO
    async with database.connection() as connection:
        overview = await overviews.overview(connection, stored.run_id)
    assert overview is not None
    assert overview.states == {JobStatus.RUNNING: 1}


async def only_attempt(database: Database, stored: StoredRun) -> dict[str, Any]:
    async with database.connection() as connection:
        (attempt,) = await attempts.history(connection, stored.job_ids[0])
    return attempt


async def nothing(work: Work) -> Result:
    return Result(Nothing())


async def test_what_a_foreign_exception_says_is_stored_and_never_shown(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()
    words = "i felt lucky the whole ride home"

    async def stage(work: Work) -> Result:
        raise KeyError(words) from RuntimeError(words)

    with capture_logs() as logged, pytest.raises(StageFailed) as caught:
        await run_extract(stored.job_ids[0], stage)

    attempt = await only_attempt(database, stored)
    assert (attempt["error_type"], attempt["error_category"]) == ("builtins.KeyError", "unknown")
    assert attempt["error_details"]["message"] == repr(words)
    assert attempt["error_details"]["cause"] == f"builtins.RuntimeError: {words}"
    assert [words in shown for shown in (attempt["error_message"], repr(caught.value), str(logged))] == [False] * 3
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)


async def test_an_exception_of_our_own_is_raised_as_it_is(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        raise EmptyTranscriptError("The transcript of participant 316 has no text.")

    with pytest.raises(EmptyTranscriptError):
        await run_extract(stored.job_ids[0], stage)

    attempt = await only_attempt(database, stored)
    assert (attempt["error_type"], attempt["error_category"], attempt["error_message"]) == (
        "schemas.errors.EmptyTranscriptError",
        "transcript_empty",
        "The transcript of participant 316 has no text.",
    )


@pytest.mark.parametrize("words", ["cut \0 here", "half a pair \ud83d", "\udcff"], ids=["NUL", "surrogate", "byte"])
async def test_an_exception_whose_words_postgres_cannot_hold_still_fails_the_stage(
    database: Database, store_run: StoreRun, run_extract: RunStage, words: str
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        raise RuntimeError(words)

    with pytest.raises(StageFailed):
        await run_extract(stored.job_ids[0], stage)

    attempt = await only_attempt(database, stored)
    assert (attempt["outcome"], attempt["error_type"]) == ("failed", "builtins.RuntimeError")


async def test_a_second_copy_of_a_message_ends_where_the_first_is_at_work(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()
    (job_id,) = stored.job_ids
    outcomes = []

    async def stage(work: Work) -> Result:
        outcomes.append(await run_extract(job_id, nothing))
        return Result(Nothing())

    outcomes.append(await run_extract(job_id, stage))
    outcomes.append(await run_extract(job_id, nothing))

    assert outcomes == [Outcome.NOTHING_TO_DO, Outcome.STORED, Outcome.NOTHING_TO_DO]
    assert (await only_attempt(database, stored))["number"] == 1


async def test_an_output_that_is_not_stored_is_missed_by_name(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        return Result(await work.output("embed", Nothing))

    with pytest.raises(InputChangedError, match=f"'extract' of job j{stored.job_ids[0]} needs 'embed'"):
        await run_extract(stored.job_ids[0], stage)


async def test_a_result_that_comes_after_a_cancellation_is_kept_and_the_job_stays_cancelled(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    stored = await store_run()

    async def stage(work: Work) -> Result:
        async with database.connection() as connection:
            await job_control.hold(connection, JobStatus.CANCELLED, None, run_id=stored.run_id)
        return Result(Nothing())

    await run_extract(stored.job_ids[0], stage)

    assert (await only_attempt(database, stored))["outcome"] == "succeeded"
    async with database.connection() as connection:
        overview = await overviews.overview(connection, stored.run_id)
    assert overview is not None
    assert overview.states == {JobStatus.CANCELLED: 1}
