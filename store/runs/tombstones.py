"""What was purged, as a chain of its own: each row covers the one before it, and accounts for a hole in a run."""

import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from typing import Final, NamedTuple

from store.database import Connection
from store.runs.chain import content_hash
from store.runs.heads import Head, differences
from store.runs.links import Flaw

#: Any number, the same for every ragq: one tombstone is added at a time.
_LOCK: Final = 7_241_691

LAST = "SELECT hash FROM tombstone ORDER BY id DESC LIMIT 1"

INSERT = """
INSERT INTO tombstone (run_id, what, kind, identity, settings_hash, reason, jobs, attempts, digest, head, previous_hash,
                       hash, purged_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING id
"""

FINISH = "UPDATE tombstone SET finished_at = now() WHERE id = $1"

COLUMNS: Final = """
       id, run_id, what, kind, identity, settings_hash, reason, jobs, attempts, digest, head, previous_hash, hash,
       purged_at, finished_at
"""

ALL = f"SELECT {COLUMNS} FROM tombstone ORDER BY id"

UNFINISHED = f"SELECT {COLUMNS} FROM tombstone WHERE finished_at IS NULL ORDER BY id"

OF_RUN = f"SELECT {COLUMNS} FROM tombstone WHERE run_id = $1 ORDER BY id"

END = "SELECT (SELECT count(*) FROM tombstone) AS count, (SELECT hash FROM tombstone ORDER BY id DESC LIMIT 1) AS hash"

NTH = "SELECT hash FROM tombstone ORDER BY id OFFSET $1 LIMIT 1"

EMPTY_OUTPUTS = """
SELECT a.id, a.output_hash AS hash FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND a.output IS NULL AND a.output_hash IS NOT NULL ORDER BY a.id
"""

RUN: Final = "run"
OUTPUTS: Final = "outputs"


class Digest(NamedTuple):
    """How many hashes, and one hash over all of them."""

    rows: int
    hash: str


class Tombstone(NamedTuple):
    """A run that was purged: whole, or but for its results."""

    id: int
    run_id: int
    what: str
    kind: str
    identity: str
    settings_hash: str
    reason: str
    jobs: int
    attempts: int
    digest: str
    head: str | None
    """The end of the chains of a run that was deleted, as JSON; None in tombstones of older versions too."""
    previous_hash: str | None
    hash: str
    purged_at: datetime
    finished_at: datetime | None

    @property
    def words(self) -> str:
        """What was purged, when and why."""
        day = f"{self.purged_at:%Y-%m-%d %H:%M}"
        counts = f"{self.jobs} jobs, {self.attempts} {'attempts' if self.what == RUN else 'outputs'}"
        what = "Run" if self.what == RUN else "All but the results of run"
        unfinished = "" if self.finished_at else " The purge is not finished; `ragq purge` continues it."
        return f"{what} r{self.run_id} was purged on {day} ({self.reason}): {counts}.{unfinished}"


class ChainEnd(NamedTuple):
    """How many tombstones there are, and the hash of the last one."""

    length: int
    hash: str | None


class AuditedTombstones(NamedTuple):
    """The tombstones of a run, and how what is there differs from them."""

    found: list[Tombstone]
    flaws: list[str]


async def digest(connection: Connection, statement: str, *arguments: object) -> Digest:
    """SHA-256 over the rows `id, hash` of a statement, in its order."""
    count, whole = 0, hashlib.sha256()
    async with connection.transaction(readonly=True):
        async for row in connection.cursor(statement, *arguments, prefetch=1000):
            whole.update(f"{row['id']}:{row['hash']}\n".encode())
            count += 1
    return Digest(count, whole.hexdigest())


async def add(
    connection: Connection,
    *,
    run_id: int,
    what: str,
    kind: str,
    identity: str,
    settings_hash: str,
    reason: str,
    jobs: int,
    of: Digest,
    head: Head | None = None,
) -> Tombstone:
    """Record that a purge begins."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        stone = Tombstone(
            id=0,
            run_id=run_id,
            what=what,
            kind=kind,
            identity=identity,
            settings_hash=settings_hash,
            reason=reason,
            jobs=jobs,
            attempts=of.rows,
            digest=of.hash,
            head=None if head is None else json.dumps(asdict(head)),
            previous_hash=await connection.fetchval(LAST),
            hash="",
            purged_at=await connection.fetchval("SELECT now()"),
            finished_at=None,
        )
        stone = stone._replace(hash=_hash(stone))
        # All but the id, which the database gives, and the end.
        return stone._replace(id=await connection.fetchval(INSERT, *stone[1:-1]))


async def finish(connection: Connection, stone: Tombstone) -> None:
    """Record that everything it names is gone."""
    await connection.execute(FINISH, stone.id)


async def unfinished(connection: Connection) -> list[Tombstone]:
    """The purges that were broken off."""
    return [Tombstone(**dict(row)) for row in await connection.fetch(UNFINISHED)]


async def chain_flaws(connection: Connection) -> list[str]:
    """What is wrong with the chain of all tombstones."""
    flaws = []
    previous: str | None = None
    for row in await connection.fetch(ALL):
        stone = Tombstone(**dict(row))
        if stone.previous_hash != previous:
            flaws.append(f"the tombstone before that of r{stone.run_id} changed, or is gone")
        if stone.hash != _hash(stone):
            flaws.append(f"the tombstone of r{stone.run_id} changed")
        previous = stone.hash
    return flaws


async def audit(connection: Connection, run_id: int) -> AuditedTombstones:
    """Compare the tombstones of a run with what is there."""
    found = [Tombstone(**dict(row)) for row in await connection.fetch(OF_RUN, run_id)]
    kept = [stone for stone in found if stone.what == OUTPUTS and stone.finished_at is not None]
    flaws = []
    if kept and RUN not in {stone.what for stone in found}:
        here = await digest(connection, EMPTY_OUTPUTS, run_id)
        if here != Digest(kept[-1].attempts, kept[-1].digest):
            flaws.append(f"the outputs that are missing from r{run_id} are not those that were purged")
    return AuditedTombstones(found, flaws)


def anchor_flaws(stone: Tombstone, kept: Head) -> list[Flaw]:
    """How the tombstone of a run that was deleted differs from a head that was kept before."""
    if stone.head is None:
        return []
    found = Head.read(json.loads(stone.head))
    if found.attempts > kept.attempts and found.identity == kept.identity:
        return []
    return differences(found, kept)


def covers(stone: Tombstone, kept: Head) -> bool:
    """Whether a tombstone shows that what was deleted was what the head was taken of, and nothing after it."""
    return stone.head is not None and Head.read(json.loads(stone.head)).attempts == kept.attempts


async def last(connection: Connection) -> ChainEnd:
    """The end of the chain of all tombstones."""
    return ChainEnd(*await connection.fetchrow(END))


async def end_flaws(connection: Connection, kept: ChainEnd) -> list[str]:
    """Whether the tombstones that an anchor covers are stored as they were."""
    if kept.length and await connection.fetchval(NTH, kept.length - 1) != kept.hash:
        return ["the tombstones that the anchor covers changed, or some of them are gone"]
    return []


async def purged_outputs(connection: Connection, run_id: int) -> frozenset[int]:
    """The attempts of a run without an output that a tombstone accounts for; `audit` compares them with it."""
    if await connection.fetchval(
        "SELECT EXISTS (SELECT FROM tombstone WHERE run_id = $1 AND what = 'outputs')", run_id
    ):
        return frozenset(row["id"] for row in await connection.fetch(EMPTY_OUTPUTS, run_id))
    return frozenset()


def _hash(stone: Tombstone) -> str:
    covered = stone._asdict()
    # Tombstones of older versions have no head.
    for name in ("id", "hash", "finished_at", *(() if stone.head else ("head",))):
        del covered[name]
    return content_hash(covered | {"purged_at": stone.purged_at.isoformat()})
