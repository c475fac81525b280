"""Old runs go in short transactions, and what is left in their place says so."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from schemas.errors import RunActiveError
from schemas.statuses import JobStatus
from services.anchors import anchor_text, audit_runs, read_anchor
from services.purge import candidates, purge
from store.database import Connection, Database
from store.runs import attempts, audit, deletions, job_control, ledger, purging, runs, stages, stored_runs, tombstones
from store.runs.purging import Criteria, Purged
from store.runs.run_view import run_view
from store.runs.scored_runs import scored_run
from tests.api.pages.example_runs import participant_run
from tests.store.conftest import new_run
from tests.store.questions.test_deletions import a_marked_question, call_a_model, counted, marked
from tests.store.runs.test_deletions import OF_RUNS, finished_run
from tests.store.statements import until_blocked

PEOPLE = ("participant",)
NOW = Criteria(older_than=timedelta(), kinds=PEOPLE)


async def purged(connection: Connection, criteria: Criteria) -> list[Purged]:
    return await purge(connection, criteria, lambda one: None)


async def age(connection: Connection, run_id: int, days: int) -> None:
    """Let a run have been submitted and finished so long ago."""
    interval = timedelta(days=days)
    await connection.execute("UPDATE run SET created_at = created_at - $2::interval WHERE id = $1", run_id, interval)
    for column in ("created_at", "finished_at"):
        await connection.execute(
            f"UPDATE job SET {column} = {column} - $2::interval WHERE run_id = $1", run_id, interval
        )


async def a_finished_run(connection: Connection) -> int:
    """A run of one job that was cancelled."""
    stored = await runs.store(connection, new_run(), always_new=True)
    await job_control.hold(connection, JobStatus.CANCELLED, None, run_id=stored.run_id)
    return stored.run_id


async def test_a_purged_run_leaves_a_tombstone_that_covers_every_attempt(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        (count, calls) = await counted(connection, "stage_attempt", "llm_call")

        (done,) = await purged(connection, NOW)

        assert (done.what, done.jobs, done.attempts, done.calls, done.kept_calls) == ("run", 5, count, calls, 0)
        await purged(connection, Criteria(older_than=timedelta()))
        assert await counted(connection, *OF_RUNS) == [0] * len(OF_RUNS)
        ((stone,), flaws) = await tombstones.audit(connection, shown.run_id)
        assert (stone.run_id, stone.jobs, stone.attempts, flaws) == (shown.run_id, 5, count, [])
        assert stone.finished_at is not None


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ("UPDATE tombstone SET attempts = 7 WHERE run_id = 1", "the tombstone of r1 changed"),
        ("DELETE FROM tombstone WHERE run_id = 1", "the tombstone before that of r2 changed, or is gone"),
    ],
)
async def test_a_changed_or_missing_tombstone_is_found(database: Database, change: str, flaw: str) -> None:
    async with database.connection() as connection:
        for _ in range(2):
            await a_finished_run(connection)
        await purged(connection, NOW)
        await connection.execute(change)

        assert flaw in await tombstones.chain_flaws(connection)


async def test_only_runs_that_finished_long_ago_are_purged(database: Database) -> None:
    async with database.connection() as connection:
        old, young = await a_finished_run(connection), await a_finished_run(connection)
        unfinished = (await participant_run(connection)).run_id
        for run_id in (old, unfinished):
            await age(connection, run_id, 91)
        paused = await runs.store(connection, new_run(), always_new=True)
        await job_control.hold(connection, JobStatus.PAUSED, None, run_id=paused.run_id)
        await age(connection, paused.run_id, 91)

        found = await candidates(connection, Criteria(older_than=timedelta(days=90), kinds=PEOPLE))
        of_kind = await candidates(connection, Criteria(older_than=timedelta(days=90), kinds=["query"]))
        failed = await candidates(connection, Criteria(older_than=timedelta(), statuses=["failed"]))

        assert ([run.id for run in found], of_kind, failed) == ([old], [], [])
        assert [run.id for run in await candidates(connection, NOW)] == [old, young]


async def test_a_call_that_another_run_used_is_kept(database: Database) -> None:
    async with database.connection() as connection:
        made = [await runs.store(connection, new_run(stages=("expand",)), always_new=True) for _ in range(2)]
        for stored in made:
            await call_a_model(connection, stored.job_ids[0], "expand", "the same")
        await connection.execute("UPDATE job SET status = 'succeeded', finished_at = now()")
        await connection.execute("UPDATE stage_run SET status = 'done'")

        (done,) = await purged(connection, Criteria(older_than=timedelta(), run_id=made[0].run_id))

        assert (done.calls, done.kept_calls, await counted(connection, "llm_call")) == (0, 1, [1])


@pytest.mark.parametrize("keep_results", [False, True])
async def test_a_call_that_another_run_begins_to_use_during_a_purge_is_kept(
    database: Database, keep_results: bool
) -> None:
    old = Criteria(older_than=timedelta(), keep_results=keep_results)
    async with database.connection() as user, database.connection() as purger, database.connection() as third:
        made = [await runs.store(user, new_run(stages=("expand",)), always_new=True) for _ in range(2)]
        await call_a_model(user, made[0].job_ids[0], "expand", "the same")
        claim = await stages.claim(user, made[1].job_ids[0], "expand", "worker", 60)
        assert claim is not None
        await user.execute("UPDATE job SET status = 'succeeded', finished_at = now() WHERE id = $1", made[0].job_ids[0])
        async with user.transaction():
            call_id = await user.fetchval("SELECT id FROM llm_call")
            await ledger.use(user, claim.attempt_id, call_id, "expand", is_reused=True)
            purging_it = asyncio.create_task(purged(purger, replace(old, run_id=made[0].run_id)))
            await until_blocked(third, purger)
        (done,) = await purging_it

        assert (done.calls, done.kept_calls) == (0, 1)
        assert await user.fetchval("SELECT reply FROM llm_call") == "reply to the same"


@pytest.mark.parametrize("keep_results", [False, True])
async def test_a_broken_off_purge_is_continued(
    database: Database, monkeypatch: pytest.MonkeyPatch, keep_results: bool
) -> None:
    monkeypatch.setattr(purging, "AT_ONCE", 2)
    criteria = Criteria(older_than=timedelta(), kinds=PEOPLE, keep_results=keep_results)
    async with database.connection() as connection:
        shown = await finished_run(connection)
        (old,) = await candidates(connection, criteria)
        stone = await purging.begin(connection, old, criteria)
        if not keep_results:
            await deletions.delete_jobs(connection, [shown.succeeded, shown.failed])
        assert "not finished" in stone.words
        assert await candidates(connection, criteria) == []

        (done,) = await purged(connection, criteria)

        assert (done.run_id, await tombstones.unfinished(connection)) == (shown.run_id, [])
        assert (await tombstones.audit(connection, shown.run_id)).flaws == []
        assert await stored_runs.exists(connection, run_id=shown.run_id) is keep_results


async def test_a_run_that_became_active_is_not_purged(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        (old,) = await candidates(connection, NOW)
        stone = await purging.begin(connection, old, NOW)
        await job_control.retry(connection, job_id=shown.failed)

        with pytest.raises(RunActiveError):
            await purging.carry_out(connection, stone)


async def test_results_are_kept_and_what_led_to_them_is_gone(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        before, report = await run_view(connection, shown.run_id), await scored_run(connection, shown.run_id)
        # Settings and calls of these tests are stored without their real hashes.
        flaws = (await audit.audit(connection, shown.run_id)).flaws
        keep = Criteria(older_than=timedelta(), keep_results=True)

        (done,) = await purged(connection, keep)

        assert (done.what, done.attempts > 0) == ("outputs", True)
        after, again = await run_view(connection, shown.run_id), await scored_run(connection, shown.run_id)
        assert before is not None and after is not None and report is not None and again is not None
        assert [(job.status, job.kept) for job in after.jobs] == [(job.status, job.kept) for job in before.jobs]
        assert [job.scores for job in again.jobs] == [job.scores for job in report.jobs]
        assert await counted(connection, "stage_vector") == [0]
        assert set((await audit.audit(connection, shown.run_id)).flaws) <= set(flaws)
        assert (await tombstones.audit(connection, shown.run_id)).flaws == []
        assert await attempts.output(connection, shown.succeeded, "extract") is None
        assert await candidates(connection, keep) == []
        assert [run.id for run in await candidates(connection, NOW)] == [shown.run_id]


async def test_an_output_that_disappears_beside_a_purge_is_found(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        await purged(connection, Criteria(older_than=timedelta(), keep_results=True))
        await connection.execute("UPDATE stage_attempt SET output = NULL WHERE stage = 'score'")

        assert len((await tombstones.audit(connection, shown.run_id)).flaws) == 1


async def test_a_failed_job_without_its_outputs_starts_with_the_first_stage(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        await purged(connection, Criteria(older_than=timedelta(), keep_results=True))

        await job_control.retry(connection, job_id=shown.failed)

        rows = await connection.fetch("SELECT status FROM stage_run WHERE job_id = $1 ORDER BY position", shown.failed)
        assert [row["status"] for row in rows] == ["ready"] + ["waiting"] * (len(rows) - 1)


async def test_the_texts_of_a_purged_question_are_gone_except_question_and_answer(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_marked_question(connection)
        assert len(await marked(connection)) > 4
        await connection.execute("UPDATE job SET status = 'succeeded', finished_at = now() WHERE status <> 'succeeded'")
        await connection.execute("UPDATE stage_run SET status = 'done' WHERE status <> 'done'")

        await purged(connection, Criteria(older_than=timedelta(), run_id=query.run_id, keep_results=True))
        left = await marked(connection)
        await purged(connection, Criteria(older_than=timedelta(), run_id=query.run_id))

        assert not {"llm_call.reply", "llm_call.request"} & set(left)
        assert await marked(connection) == []


async def test_a_run_that_is_active_again_does_not_keep_others_from_being_purged(database: Database) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        (old,) = await candidates(connection, NOW)
        await purging.begin(connection, old, NOW)
        await job_control.retry(connection, job_id=shown.failed)
        other = await a_finished_run(connection)

        with pytest.raises(RunActiveError):
            await purged(connection, NOW)

        assert not await stored_runs.exists(connection, run_id=other)


@pytest.mark.parametrize("keep_results", [True, False])
async def test_an_anchor_of_before_a_purge_holds_after_it_and_says_what_it_covers(
    database: Database, keep_results: bool
) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        before, anchor = await audit_runs(connection, [])

        await purged(connection, Criteria(older_than=timedelta(), kinds=PEOPLE, keep_results=keep_results))
        await purged(connection, Criteria(older_than=timedelta(), kinds=PEOPLE, keep_results=keep_results))

        after, _ = await audit_runs(connection, [shown.run_id], read_anchor(anchor_text(anchor)))
        (first,) = [one for one in before if one.run == f"r{shown.run_id}"]
        # Settings and calls of these tests are stored without their real hashes.
        assert set(after[0].flaws) <= set(first.flaws)
        what = "what the anchor covers is as it was" if keep_results else "what was purged is what the anchor covers"
        assert what in after[0].purged[-1]


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ("UPDATE stage_attempt SET hash = 'forged' WHERE id = 1", "attempts were rewritten after the anchor"),
        ("UPDATE llm_call SET reply = 'forged'", "replies of language models changed after the anchor"),
    ],
)
@pytest.mark.parametrize("keep_results", [True, False])
async def test_an_anchor_shows_what_was_changed_before_a_purge(
    database: Database, keep_results: bool, change: str, flaw: str
) -> None:
    async with database.connection() as connection:
        shown = await finished_run(connection)
        _, anchor = await audit_runs(connection, [])
        await connection.execute(change)
        await purged(connection, Criteria(older_than=timedelta(), kinds=PEOPLE, keep_results=keep_results))

        (after, *_), _ = await audit_runs(connection, [shown.run_id], anchor)

        assert any(flaw in one.what for one in after.flaws)


async def test_an_anchor_finds_tombstones_that_are_gone_or_were_made_anew(database: Database) -> None:
    async with database.connection() as connection:
        await a_finished_run(connection)
        await purged(connection, NOW)
        _, anchor = await audit_runs(connection, [])
        await connection.execute("DELETE FROM tombstone")

        (found,), _ = await audit_runs(connection, [], anchor)

        gone = "the tombstones that the anchor covers changed, or some of them are gone"
        assert [flaw.what for flaw in found.flaws] == [gone]
