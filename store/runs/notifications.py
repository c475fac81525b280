"""Who is told when a run has finished or is paused: a row a run, which is also the outbox of the message.

A notification is armed while its run has something to do. When nothing is left to do, a message becomes due under an id
of its own, by which the receiver knows it again; who claims it sends it, and whoever claims it a minute later sends it
again.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import Field, computed_field

from schemas.values.base import Value
from stages.reports.words import counted
from stages.webhooks import shown_url
from store import rows
from store.database import Connection
from store.runs.jobs import OPEN_JOBS

ARM: Final = f"""
UPDATE run_notification AS n SET is_armed = true
WHERE NOT is_armed
  AND EXISTS (SELECT FROM job WHERE run_id = n.run_id AND status IN {OPEN_JOBS})
"""

IDLE: Final = f"""
SELECT run_id FROM run_notification AS n
WHERE is_armed
  AND NOT EXISTS (SELECT FROM job WHERE run_id = n.run_id AND status IN {OPEN_JOBS})
  AND NOT EXISTS (SELECT FROM run WHERE id = n.run_id AND after_id IS NOT NULL)
ORDER BY run_id FOR UPDATE SKIP LOCKED
"""

MAKE_DUE: Final = """
UPDATE run_notification
SET is_armed = false, message_id = 'msg_' || replace(gen_random_uuid()::text, '-', ''), due_at = now(), attempts = 0,
    sent_at = NULL, error = NULL,
    message = (
        SELECT jsonb_build_object(
            'type', CASE WHEN bool_or(status = 'paused') THEN 'run.paused' ELSE 'run.finished' END,
            'timestamp', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
            'data', jsonb_build_object('run_id', $1::bigint, 'states', jsonb_object_agg(status, jobs)))
        FROM (SELECT status, count(*) AS jobs FROM job WHERE run_id = $1 GROUP BY status) AS s
    )
WHERE run_id = $1
"""

CLAIM: Final = """
UPDATE run_notification SET attempts = attempts + 1, due_at = now() + $1 * interval '1 second'
WHERE run_id IN (
    SELECT run_id FROM run_notification WHERE due_at <= now() ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
RETURNING run_id, url, message_id, message, attempts
"""

FAILED: Final = """
UPDATE run_notification SET error = $3, due_at = now() + $4::float8 * interval '1 second'
WHERE run_id = $1 AND message_id = $2
"""

#: How long whoever claimed a message has for it: nobody else sends it before.
_CLAIMED_S: Final = 60.0


class DueMessage(NamedTuple):
    """A message that is to be sent now."""

    run_id: int
    url: str
    message_id: str
    message: Mapping[str, Any]
    attempts: int
    """How often it is sent, with this time."""


class Notification(Value):
    """Who is told of a run, and how far that is."""

    url: str = Field(exclude=True, repr=False)
    sent_at: datetime | None
    """When the receiver accepted the last message; None before."""
    attempts: int
    """How often the message was sent that is due or was sent last."""
    due_at: datetime | None
    """When it is sent next; None when nothing is due: nothing happened yet, it was accepted, or given up."""
    error: str | None
    """Why it was not accepted."""

    @computed_field(examples=["https://hooks.example.org/…"])  # type: ignore[prop-decorator]
    @property
    def receiver(self) -> str:
        """Scheme and host of the address."""
        return shown_url(self.url)


def notification_in_words(of: Notification) -> str:
    """Who is told of a run, and how far that is, as a line."""
    told = f"tells {of.receiver} when it has finished or is paused"
    if of.sent_at is not None:
        return f"{told}: accepted at {of.sent_at:%Y-%m-%d %H:%M:%S} UTC"
    if of.error is None:
        return told
    then = "given up" if of.due_at is None else f"sent again at {of.due_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{told}: not accepted, {of.error}; {then} after {counted(of.attempts, 'attempt')}"


async def keep(connection: Connection, run_id: int, url: str) -> None:
    """Let an address be told of a run, in place of another one."""
    await rows.put(connection, "run_notification", {"run_id": run_id}, url=url, is_armed=True)


async def make_due(connection: Connection, *, unless: Callable[[Connection, int], Awaitable[bool]]) -> list[int]:
    """Let the messages of runs be sent that have nothing left to do since they had. Returns these runs. `unless` says
    of a run whose jobs have ended whether another one is about to begin."""
    await connection.execute(ARM)
    due: list[int] = []
    async with connection.transaction():
        for row in await connection.fetch(IDLE):
            if not await unless(connection, row["run_id"]):
                await connection.execute(MAKE_DUE, row["run_id"])
                due.append(row["run_id"])
    return due


async def claim(connection: Connection, *, limit: int) -> list[DueMessage]:
    """Take messages that are due, for a minute."""
    return [DueMessage(**dict(row)) for row in await connection.fetch(CLAIM, _CLAIMED_S, limit)]


async def sent(connection: Connection, of: DueMessage) -> None:
    """Store that a message was accepted, unless a newer one has taken its place."""
    message = {"run_id": of.run_id, "message_id": of.message_id}
    await rows.update(connection, "run_notification", message, sent_at=rows.NOW, due_at=None, error=None)


async def failed(connection: Connection, of: DueMessage, error: str, *, again_in_s: float | None) -> None:
    """Store why a message was not accepted, and when it is sent again; None gives it up."""
    await connection.execute(FAILED, of.run_id, of.message_id, error, again_in_s)


async def find(connection: Connection, run_id: int) -> Notification | None:
    """Who is told of a run; None when nobody is."""
    return await rows.get(connection, Notification, "run_notification", run_id=run_id)
