"""The ends of the chains of runs: kept elsewhere, they show later whether attempts were rewritten."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from store.database import Connection
from store.runs.links import Flaw

HEAD = """
SELECT a.job_id, a.hash FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.hash IS NOT NULL AND a.id <= $2 AND a.id <> ALL($3::bigint[])
ORDER BY a.id
"""

# A purge that kept the results of the run left the hashes of the replies that it deleted.
REPLIES = """
SELECT c.id,
       CASE WHEN c.reply = '' AND c.key LIKE 'purged:%' AND EXISTS (
                SELECT FROM tombstone AS t WHERE t.run_id = $1 AND t.what = 'outputs')
            THEN split_part(c.key, ':', 3)
            ELSE encode(sha256(convert_to(c.reply, 'UTF8')), 'hex') END AS hash
FROM llm_call_use AS u
JOIN llm_call AS c ON c.id = u.call_id
JOIN stage_attempt AS a ON a.id = u.attempt_id
JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.hash IS NOT NULL AND a.id <= $2 AND a.id <> ALL($3::bigint[])
ORDER BY u.attempt_id, u.ordinal
"""

NEWEST = """
SELECT coalesce(max(a.id), 0) AS last, coalesce(array_agg(a.id) FILTER (WHERE a.hash IS NULL), '{}') AS open
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1
"""

IDENTITY = "SELECT identity FROM run WHERE id = $1"


@dataclass(frozen=True, kw_only=True)
class Head:
    """The end of the chains of a run at one moment."""

    run: str
    identity: str
    attempts: int
    """Closed attempts that it covers."""
    last_attempt: int
    """The highest number of an attempt then."""
    open_attempts: tuple[int, ...]
    """Attempts that were not closed then, and are not covered."""
    hash: str
    """SHA-256 over the job and hash of each covered attempt."""
    replies: str
    """SHA-256 over the replies that these attempts used."""

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Self:
        """From the values of a file or a tombstone. Raises KeyError or TypeError for others."""
        return cls(**{**kept, "open_attempts": tuple(kept["open_attempts"])})


async def head(connection: Connection, run_id: int) -> Head:
    """The end of the chains of a run now."""
    newest = await connection.fetchrow(NEWEST, run_id)
    return await _head(connection, run_id, newest["last"], newest["open"])


async def head_flaws(connection: Connection, run_id: int, kept: Head) -> list[Flaw]:
    """How the chains of a run differ from a head that was kept; attempts that were added since are no difference."""
    return differences(await _head(connection, run_id, kept.last_attempt, kept.open_attempts), kept)


def differences(now: Head, kept: Head) -> list[Flaw]:
    """How a head of the same attempts differs from one that was kept."""
    flaws = []
    if now.attempts != kept.attempts:
        flaws.append(f"{kept.run}: the anchor has {kept.attempts} attempts, and {now.attempts} of them are stored")
    elif now.hash != kept.hash:
        flaws.append(f"{kept.run}: attempts were rewritten after the anchor was written")
    if now.replies != kept.replies:
        flaws.append(f"{kept.run}: replies of language models changed after the anchor was written")
    if now.identity != kept.identity:
        flaws.append(f"{kept.run}: it is another run, or lost a job, since the anchor was written")
    return [Flaw(None, "", 0, what) for what in flaws]


async def _head(connection: Connection, run_id: int, last: int, open_attempts: Sequence[int]) -> Head:
    among = (run_id, last, list(open_attempts))
    links = await connection.fetch(HEAD, *among)
    chain, replies = hashlib.sha256(), hashlib.sha256()
    for row in links:
        chain.update(f"{row['job_id']}:{row['hash']}\n".encode())
    async with connection.transaction():
        async for row in connection.cursor(REPLIES, *among):
            replies.update(f"{row['id']}:{row['hash']}\n".encode())
    return Head(
        run=f"r{run_id}",
        identity=await connection.fetchval(IDENTITY, run_id),
        attempts=len(links),
        last_attempt=last,
        open_attempts=tuple(open_attempts),
        hash=chain.hexdigest(),
        replies=replies.hexdigest(),
    )
