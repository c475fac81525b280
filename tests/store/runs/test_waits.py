"""Runs that wait for another run, and the messages about runs that have nothing left to do."""

from collections.abc import Mapping
from typing import Any

from schemas.statuses import JobStatus
from store.database import Connection, Database
from store.references import references
from store.runs import deletions, jobs, notifications
from store.runs.notifications import DueMessage, Notification, notification_in_words
from store.runs.problems import problems
from store.views import run_state
from tests.stages.reports.builders import scores
from tests.store.scored import TIMED_OUT, store_scored_run

URL = "https://hooks.example.org/secret"

OPEN = {("zero_shot", 316): None}
DONE = {("zero_shot", 316): scores("1")}
FAILED = {("zero_shot", 316): scores("1"), ("zero_shot", 319): TIMED_OUT}


async def waiting_run(connection: Connection, first: Mapping[Any, Any]) -> tuple[int, int]:
    """A run of these jobs, and another that waits for it."""
    after_id, run_id = [await store_scored_run(connection, jobs) for jobs in (first, OPEN)]
    await jobs.wait_for(connection, run_id, after_id)
    return after_id, run_id


async def state(connection: Connection, run_id: int) -> tuple[str, str | None]:
    row = await connection.fetchrow("SELECT status, note FROM job WHERE run_id = $1", run_id)
    return row["status"], row["note"]


async def told_run(connection: Connection, jobs: Mapping[Any, Any]) -> int:
    run_id = await store_scored_run(connection, jobs)
    await notifications.keep(connection, run_id, URL)
    return run_id


async def make_due(connection: Connection) -> list[int]:
    return await notifications.make_due(connection, unless=references.is_publication_due)


async def found(connection: Connection, run_id: int) -> Notification:
    notification = await notifications.find(connection, run_id)
    assert notification is not None
    return notification


async def due(connection: Connection) -> DueMessage:
    (message,) = await notifications.claim(connection, limit=8)
    return message


async def test_a_run_waits_while_the_other_one_works_or_is_paused(connection: Connection) -> None:
    after_id, run_id = await waiting_run(connection, OPEN)
    await notifications.keep(connection, run_id, URL)

    assert await jobs.end_waits(connection) == []
    assert await state(connection, run_id) == ("paused", f"Waits until r{after_id} has succeeded.")
    assert not (await run_state(connection, run_id)).is_idle
    assert "paused" not in [one.what for one in await problems(connection, is_broker_away=False)]
    assert await make_due(connection) == []
    await jobs.hold(connection, JobStatus.PAUSED, None, run_id=after_id)
    assert await jobs.end_waits(connection) == []


async def test_it_begins_after_success_and_is_cancelled_with_a_reason_after_anything_else(
    connection: Connection,
) -> None:
    (succeeded, begun), (failed, second) = [await waiting_run(connection, first) for first in (DONE, FAILED)]
    assert await jobs.end_waits(connection) == [(begun, succeeded, True), (second, failed, False)]
    third = await store_scored_run(connection, OPEN)
    await jobs.wait_for(connection, third, second)
    deleted, of_deleted = await waiting_run(connection, DONE)
    await deletions.delete_run(connection, deleted)
    _, resumed = await waiting_run(connection, FAILED)
    await jobs.resume(connection, run_id=resumed)

    for ended in (3, 0):
        assert len(await jobs.end_waits(connection)) == ended

    assert await state(connection, begun) == ("waiting", None)
    assert await state(connection, second) == ("cancelled", f"r{failed}, which it waited for, did not succeed.")
    assert [(await state(connection, one))[0] for one in (third, of_deleted)] == ["cancelled"] * 2
    assert await state(connection, resumed) == ("waiting", None)


async def test_a_message_is_due_once_when_nothing_is_left_to_do(connection: Connection) -> None:
    working, finished = [await told_run(connection, jobs) for jobs in (OPEN, FAILED)]

    assert await make_due(connection) == [finished]
    assert await make_due(connection) == []
    message = await due(connection)

    assert (message.run_id, message.url, message.attempts) == (finished, URL, 1)
    assert message.message["type"] == "run.finished"
    assert message.message["data"] == {"run_id": finished, "states": {"succeeded": 1, "failed": 1}}
    assert message.message_id.startswith("msg_")
    assert await notifications.claim(connection, limit=8) == []
    assert (await found(connection, working)).due_at is None


async def test_a_pause_is_told_and_the_end_after_it_too(connection: Connection) -> None:
    run_id = await told_run(connection, OPEN)
    await jobs.hold(connection, JobStatus.PAUSED, "holidays", run_id=run_id)
    await make_due(connection)
    first = await due(connection)
    await notifications.sent(connection, first)
    await jobs.resume(connection, run_id=run_id)
    assert await make_due(connection) == []
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    await make_due(connection)
    second = await due(connection)

    assert [one.message["type"] for one in (first, second)] == ["run.paused", "run.finished"]
    assert first.message_id != second.message_id
    assert "holidays" not in str(first.message)


async def test_messages_are_claimed_once_until_who_claimed_is_dead(database: Database, connection: Connection) -> None:
    for _ in range(2):
        await told_run(connection, DONE)
    await make_due(connection)
    async with connection.transaction():
        (first,) = await notifications.claim(connection, limit=1)
        theirs = await database.once(due)
    assert first.run_id != theirs.run_id
    assert await notifications.claim(connection, limit=8) == []
    await connection.execute("UPDATE run_notification SET due_at = now() WHERE run_id = $1", first.run_id)

    second = await due(connection)

    assert (second.message_id, second.message, second.attempts) == (first.message_id, first.message, 2)


async def test_a_failure_is_shown_with_its_next_time_and_forgotten_when_accepted(connection: Connection) -> None:
    run_id = await told_run(connection, DONE)
    before = notification_in_words(await found(connection, run_id))
    await make_due(connection)
    message = await due(connection)
    await notifications.failed(connection, message, "answered with status 500", again_in_s=300)
    later = await found(connection, run_id)
    await notifications.failed(connection, message, "answered with status 410", again_in_s=None)
    given_up = await found(connection, run_id)
    await notifications.sent(connection, message)
    accepted = await found(connection, run_id)

    assert later.due_at is not None and given_up.due_at is None
    words = [before, *map(notification_in_words, (later, given_up, accepted))]
    assert all("secret" not in line and "https://hooks.example.org/…" in line for line in words)
    assert "status 500; sent again at" in words[1] and "status 410; given up after 1 attempt" in words[2]
    assert accepted.error is None and "accepted at" in words[3]
    assert "url" not in accepted.model_dump() and accepted.model_dump()["receiver"]
    # A newer message is not marked by the answer to an older one.
    await notifications.keep(connection, run_id, URL)
    await make_due(connection)
    await notifications.sent(connection, message)
    assert (await found(connection, run_id)).sent_at is None
    assert (await due(connection)).message_id != message.message_id
