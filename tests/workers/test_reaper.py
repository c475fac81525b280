"""What the reaper releases and takes back, and never takes back too much."""

import asyncio
import datetime

import pytest

from store.database import Connection, Database
from store.runs import backlog, stages
from store.runs.backlog import Flow, Unclaimed
from store.runs.runs import StoredRun
from tests.store.conftest import StoreRun
from tests.store.scored import committing, take
from workers.broker import NORMAL
from workers.reaper import LONGEST_WAIT_SECONDS, Reaper, overdue
from workers.turns import Depths


def make_reaper(database: Database, *, lease_s: float = 0) -> Reaper:
    return Reaper(database, lease_s=lease_s, grace_s=0.1, max_interruptions=3)


def holding(count: int = 0) -> Depths:
    """A broker with so many messages for `extract`."""
    return Depths({("extract", NORMAL): count}, {"extract": count})


def unclaimed(job_id: int = 1, *, waited_s: float, resent: int = 0, is_due_now: bool = False) -> Unclaimed:
    return Unclaimed(job_id, 1, "extract", resent, is_due_now, waited_s)


async def waiting(connection: Connection, stored: StoredRun) -> list[int]:
    """The jobs of a run that are in the backlog."""
    found = await backlog.oldest(connection, {}, {Flow(stored.run_id, False): 100})
    return found.get(Flow(stored.run_id, False), [])


def test_a_message_is_overdue_after_waits_that_double() -> None:
    for resent, after_s in enumerate((5, 10, 20, 40)):
        for waited_s, expected in ((after_s - 0.1, []), (after_s + 0.1, [1])):
            found = [unclaimed(waited_s=waited_s, resent=resent), unclaimed(2, waited_s=0)]
            assert overdue(found, holding(1), grace_s=5) == expected


def test_an_empty_queue_shortens_the_wait_a_covering_one_suspends_it_and_the_oldest_comes_first() -> None:
    lost, fresh = unclaimed(1, waited_s=6, resent=3), unclaimed(2, waited_s=1)
    now, longest = unclaimed(3, waited_s=0.1, is_due_now=True), unclaimed(4, waited_s=LONGEST_WAIT_SECONDS + 1)

    assert overdue([lost, fresh], holding(0), grace_s=5) == [1]
    assert overdue([lost, fresh], holding(1), grace_s=5) == []
    assert overdue([unclaimed(waited_s=6)], holding(1), grace_s=5) == []
    assert overdue([longest], holding(1), grace_s=5) == [4]
    # What waited for its time is due at once.
    assert overdue([now, lost], holding(), grace_s=5) == [1, 3]
    assert overdue([now, lost], holding(1), grace_s=5) == [3]


async def test_a_lost_message_puts_its_job_back_once_also_one_that_follows_a_stored_stage(
    database: Database, connection: Connection, store_run: StoreRun
) -> None:
    stored = await store_run("316", "319")
    reaper = make_reaper(database)
    await backlog.mark_sent(connection, dict.fromkeys(stored.job_ids))
    await take(connection, stored.job_ids[1], "extract", committing({}))
    assert await reaper.take_back(connection, holding()) == []
    await asyncio.sleep(0.12)

    assert [await reaper.take_back(connection, holding()) for _ in range(3)] == [stored.job_ids, [], []]
    assert await waiting(connection, stored) == stored.job_ids


async def test_after_an_outage_leases_are_taken_back_when_their_workers_could_renew_them(
    database: Database, connection: Connection, one_run: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    await backlog.mark_sent(connection, dict.fromkeys(one_run.job_ids))
    await stages.claim(connection, one_run.job_ids[0], "extract", "silent worker", 0)
    for reachable_for_s, taken_back in ((5.9, []), (6.0, one_run.job_ids)):
        monkeypatch.setattr(Database, "reachable_for_s", reachable_for_s)
        await make_reaper(database, lease_s=6).release(connection)
        assert await waiting(connection, one_run) == taken_back


async def test_work_that_waits_for_a_future_that_was_set_back_is_taken_up(
    database: Database, connection: Connection, store_run: StoreRun
) -> None:
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=6)
    stored = await store_run("316", "319", "320")
    sent, held, retried = stored.job_ids
    await backlog.mark_sent(connection, {sent: later, held: None, retried: later})
    await stages.claim(connection, held, "extract", "silent worker", 6 * 3600)
    for job_id, column in ((sent, "enq_at"), (retried, "not_before")):
        update = f"UPDATE stage_run SET {column} = $2 WHERE job_id = $1 AND stage = 'extract'"
        await connection.execute(update, job_id, later)

    await make_reaper(database).release(connection)

    # That of the silent worker; what was sent counts as sent now, and the retry waits for its time.
    assert await waiting(connection, stored) == [held]
    now, lease_until, enq_at, not_before, sent_at = await connection.fetchrow(
        """
        SELECT now(), max(lease_until), max(enq_at), max(not_before), (SELECT max(sent_at) FROM job) FROM stage_run
        """
    )
    assert lease_until is None
    assert enq_at <= now
    assert max(not_before, sent_at) - now < datetime.timedelta(seconds=61)
