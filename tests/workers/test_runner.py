"""The runner around every stage, in one process: what it holds, its essential work, what it remembers of its runs."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from structlog.testing import capture_logs

from schemas.errors import EmptyTranscriptError, FailureCategory, LLMTimeoutError
from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Value
from schemas.values.participants import EmbeddedEvidence
from stages.failures import StageFailed, type_name
from store.database import Connection, Database, DatabaseUnavailableError
from store.runs import attempts, chain, failures, jobs, overviews, stages, workers
from store.runs.attempts import Attempt
from store.runs.runs import StoredRun
from tests.eventually import until
from tests.refusals import failing
from tests.store.conftest import StoreRun
from tests.store.scored import claimed, enroll
from tests.workers.processes import stage_runner
from workers import ledger_chat
from workers.leases import Leases, essential
from workers.ledger_chat import Remembered
from workers.runner import Outcome, StageRunner, frozen_run
from workers.work import Result, StageFunction, Work

FUNCTIONS: dict[tuple[str, str, str], StageFunction] = {}


async def nothing(work: Work) -> Result[Value]:
    return Result(Value())


def raising(error: Exception, cause: Exception | None = None) -> StageFunction:

    async def stage(work: Work) -> Result[Value]:
        raise error from cause

    return stage


@dataclass
class Process:
    connection: Connection
    runner: StageRunner

    def extract(self, job_id: int, function: StageFunction) -> "asyncio.Future[Outcome]":
        FUNCTIONS["participant", "few_shot", "extract"] = function
        return asyncio.ensure_future(self.runner.run("extract", job_id, is_redelivered=False))

    async def look(self, job_id: int) -> stages.StageState:
        found = await stages.look(self.connection, job_id, "extract")
        assert found is not None
        return found

    async def only_attempt(self, job_id: int) -> Attempt:
        (attempt,) = await attempts.history(self.connection, job_id)
        return attempt


@pytest.fixture
async def process(database: Database, connection: Connection) -> AsyncIterator[Process]:
    with stage_runner(database, FUNCTIONS) as runner:
        yield Process(connection, runner)
    FUNCTIONS.clear()


async def interrupt(connection: Connection, job_id: int, times: int) -> None:
    for _ in range(times):
        await stages.claim(connection, job_id, "extract", "dead worker", 0)
        await stages.expire(connection, max_interruptions=3)


async def test_a_stage_has_the_draw_of_its_run(process: Process, store_run: StoreRun) -> None:
    ordinary, drawn = await store_run("316"), await store_run("316")
    await process.connection.execute("""UPDATE run SET request = '{"draw": 7}' WHERE id = $1""", drawn.run_id)
    seen: list[int] = []

    async def stage(work: Work) -> Result[Value]:
        seen.append(work.draw)
        return Result(Value())

    for stored in (ordinary, drawn):
        await process.extract(stored.job_ids[0], stage)

    assert seen == [0, 7]


async def test_a_stage_at_its_last_attempt_runs_alone(process: Process, store_run: StoreRun) -> None:
    job_ids = (await store_run("316", "319", "330")).job_ids
    await interrupt(process.connection, job_ids[1], times=2)
    seen: list[str] = []

    async def stage(work: Work) -> Result[Value]:
        seen.append(f"+{work.claim.subject}")
        await asyncio.sleep(0.6)
        seen.append(f"-{work.claim.subject}")
        return Result(Value())

    running = []
    for job_id in job_ids:
        running.append(process.extract(job_id, stage))
        await asyncio.sleep(0.2)

    assert await asyncio.gather(*running) == [Outcome.STORED] * 3
    assert seen == ["+316", "-316", "+319", "-319", "+330", "-330"]


async def test_a_stage_that_was_interrupted_once_still_runs_with_others(process: Process, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    await interrupt(process.connection, stored.job_ids[1], times=1)
    together = asyncio.Barrier(2)

    async def stage(work: Work) -> Result[Value]:
        await asyncio.wait_for(together.wait(), timeout=5)
        return Result(Value())

    outcomes = [process.extract(job_id, stage) for job_id in stored.job_ids]

    assert await asyncio.gather(*outcomes) == [Outcome.STORED] * 2


async def test_a_stopped_process_gives_back_what_it_holds_and_claims_no_more(
    process: Process, store_run: StoreRun
) -> None:
    stored = await store_run("316", "319")
    is_running = asyncio.Event()

    async def stage(work: Work) -> Result[Value]:
        is_running.set()
        await asyncio.sleep(3600)
        return Result(Value())

    held = process.extract(stored.job_ids[0], stage)
    await is_running.wait()
    process.runner.stop()

    assert await held is Outcome.NOTHING_TO_DO
    assert await process.extract(stored.job_ids[1], stage) is Outcome.NOTHING_TO_DO
    looks = [await process.look(job_id) for job_id in stored.job_ids]
    assert [(look.status, look.interruptions) for look in looks] == [(StageStatus.READY, 0)] * 2
    histories = [await attempts.history(process.connection, job_id) for job_id in stored.job_ids]
    assert [len(history) for history in histories] == [1, 0]


async def test_what_runs_for_a_cancelled_job_is_ended_with_it(process: Process, store_run: StoreRun) -> None:
    stored = await store_run("316", "319")
    loop, connection = asyncio.get_running_loop(), process.connection
    process.runner._leases.on_cancelled = lambda attempts: loop.call_soon_threadsafe(process.runner.cancel, attempts)
    is_running, may_end = asyncio.Event(), asyncio.Event()

    async def stage(work: Work) -> Result[Value]:
        is_running.set()
        await may_end.wait()
        return Result(Value())

    cancelled, other = (process.extract(job_id, stage) for job_id in stored.job_ids)
    await is_running.wait()
    await jobs.hold(connection, JobStatus.CANCELLED, None, job_id=stored.job_ids[0])

    assert await cancelled is Outcome.NOTHING_TO_DO
    may_end.set()
    assert await other is Outcome.STORED
    attempt = await process.only_attempt(stored.job_ids[0])
    assert await failures.run_failures(connection, stored.run_id) == ()
    assert (await chain.audit(connection, stored.run_id))[1] == []
    assert attempt.error is not None
    assert (attempt.outcome, attempt.error.type) == ("interrupted", "JobCancelled")


async def test_an_unavailable_database_is_no_failure_of_the_stage(process: Process, one_run: StoredRun) -> None:
    unavailable = DatabaseUnavailableError(30, ConnectionRefusedError())

    assert await process.extract(one_run.job_ids[0], raising(unavailable)) is Outcome.NOTHING_TO_DO
    assert (await overviews.get(process.connection, one_run.run_id)).states == {JobStatus.RUNNING: 1}


async def test_after_an_outage_a_stage_is_taken_over_when_its_worker_could_renew_its_lease(
    process: Process, job_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stages.claim(process.connection, job_id, "extract", "silent worker", 0)
    for reachable_for_s, outcome in ((1.0, Outcome.NOTHING_TO_DO), (60.0, Outcome.STORED)):
        monkeypatch.setattr(Database, "reachable_for_s", reachable_for_s)
        assert await process.extract(job_id, nothing) is outcome


async def test_a_lost_reply_is_retried_as_often_as_the_run_permits(process: Process, one_run: StoredRun) -> None:
    await permit_retries(process.connection, one_run.run_id, 1)
    for status in (StageStatus.READY, StageStatus.FAILED):
        with pytest.raises(LLMTimeoutError):
            await process.extract(one_run.job_ids[0], raising(LLMTimeoutError(1)))
        assert (await process.look(one_run.job_ids[0])).status is status
        await process.connection.execute("UPDATE stage_run SET not_before = now()")


async def permit_retries(connection: Connection, run_id: int, retries: int) -> None:
    chosen = json.dumps({"RAGQ_RETRIES": {"value": retries, "source": "environment"}})
    await connection.execute("UPDATE run SET settings = $2 WHERE id = $1", run_id, chosen)


async def test_the_message_of_a_foreign_exception_is_stored_and_never_shown(process: Process, job_id: int) -> None:
    words = "i felt lucky the whole ride home"

    with capture_logs() as logged, pytest.raises(StageFailed) as caught:
        await process.extract(job_id, raising(KeyError(words), RuntimeError(words)))

    attempt = await process.only_attempt(job_id)
    assert attempt.error is not None and attempt.error.details is not None
    assert (attempt.error.type, attempt.error.category) == ("builtins.KeyError", "unknown")
    assert attempt.error.details["message"] == repr(words)
    assert attempt.error.details["cause"] == f"builtins.RuntimeError: {words}"
    assert [words in shown for shown in (attempt.error.message, repr(caught.value), str(logged))] == [False] * 3
    assert (caught.value.__cause__, caught.value.__suppress_context__) == (None, True)


async def test_an_exception_of_ragq_is_raised_unchanged_and_any_other_by_its_type(
    process: Process, store_run: StoreRun
) -> None:
    own = EmptyTranscriptError("The transcript of 316 has no text.")
    # What Postgres cannot hold still fails the stage.
    unholdable = [(RuntimeError(words), "unknown") for words in ("cut \0 here", "half a pair \ud83d", "\udcff")]
    cases = [(own, "transcript_empty"), (ConnectionError("refused"), "transport"), *unholdable]
    job_ids = (await store_run("1", "2", "3", "4", "5")).job_ids
    for job_id, (error, category) in zip(job_ids, cases, strict=True):
        with pytest.raises(EmptyTranscriptError if error is own else StageFailed):
            await process.extract(job_id, raising(error))

        failure = (attempt := await process.only_attempt(job_id)).error
        assert failure is not None
        assert (attempt.outcome, failure.type, failure.category) == ("failed", type_name(error), category)
        advice = f". `ragq doctor` shows whether the server answers; `ragq retry j{job_id}` continues then."
        assert failure.message.endswith(advice) is (category == "transport")
        assert (failure.message == str(error)) is (error is own)


async def test_a_missing_output_is_named(process: Process, job_id: int) -> None:
    async def stage(work: Work) -> Result[EmbeddedEvidence]:
        return Result(await work.output(EmbeddedEvidence))

    with failing(FailureCategory.INPUT_CHANGED, f"'extract' of job j{job_id} needs 'embed'"):
        await process.extract(job_id, stage)


async def test_runs_of_equal_settings_share_them(database: Database, store_run: StoreRun) -> None:
    first, second, third = [(await store_run("316")).run_id for _ in range(3)]
    await database.ask(permit_retries, third, 7)
    found = [await database.ask(frozen_run, run_id) for run_id in (first, second, third)]

    assert found[0][0] is found[1][0]
    assert found[2][0].run.ragq.retries == 7


async def test_what_was_forgotten_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_chat, "REMEMBERED", 1)
    remembered: Remembered[str, str] = Remembered()
    loaded: list[str] = []

    async def load(key: str) -> str:
        loaded.append(key)
        return key.upper()

    found = [await remembered.load(key, lambda key=key: load(key)) for key in "aabba"]  # type: ignore[misc]

    assert (found, loaded, len(remembered)) == ([*"AABBA"], [*"aba"], 1)


@pytest.fixture
def leases(database_url: str) -> Iterator[Leases]:
    made = Leases(database_url, "w", lease_s=600)
    yield made
    made.stop()


async def test_a_kind_counts_between_two_stages_of_a_job(connection: Connection, leases: Leases, job_id: int) -> None:
    held = await claimed(connection, job_id)
    assert leases.kinds(60) == set()
    leases.hold(held)
    assert leases.kinds(0) == {"participant"}
    leases.release(held)
    assert (leases.kinds(60), leases.kinds(0), leases.count) == ({"participant"}, set(), 0)
    await until(lambda: not leases.kinds(0.2))


async def test_a_worker_is_seen_every_second_however_long_its_leases_are(
    connection: Connection, leases: Leases
) -> None:
    await enroll(connection, "extract")
    for _ in range(2):
        await connection.execute("UPDATE worker SET seen_at = now() - interval '1 hour'")
        await until(lambda: workers.live(connection), timeout_s=15)


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    """Counts SIGTERM instead of ending."""
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


async def test_essential_work_may_be_cancelled_and_ends_the_process_when_it_ends_with_an_error(
    terminations: list[int],
) -> None:
    async def work() -> None:
        raise RuntimeError

    task = asyncio.create_task(asyncio.sleep(60))
    essential(task, "work")
    task.cancel()
    await asyncio.sleep(0.05)
    assert terminations == []

    essential(asyncio.create_task(work()), "work")
    await asyncio.sleep(0.05)
    assert terminations == [signal.SIGTERM]
