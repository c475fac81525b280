"""Reports as they were shown: kept until the rows change that they were computed from, or a run of them is deleted."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

import asyncpg

from store.database import Connection

FIND = "SELECT words, hash, made_at FROM kept_report WHERE key = $1"

# A run that is being deleted is waited for, and then it is missing.
KEEP = """
WITH held AS (SELECT id FROM run WHERE id = $2 OR id = ANY($3::bigint[]) FOR KEY SHARE)
INSERT INTO kept_report (key, run_id, other_ids, words, hash)
SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM held) = 1 + cardinality($3::bigint[])
ON CONFLICT (key) DO UPDATE SET words = excluded.words, hash = excluded.hash, made_at = now()
"""

FORGET = """
DELETE FROM kept_report WHERE key IN (
    SELECT key FROM kept_report WHERE run_id = $1 ORDER BY made_at DESC OFFSET $2
)
"""

KEPT_OF_A_RUN: Final = 5


class KeptReport(NamedTuple):
    """What a command printed, and when it was computed."""

    words: str
    made_at: datetime


async def find(connection: Connection, key: bytes) -> KeptReport | None:
    """The report of a key; None where there is none, or its words are not those that were kept."""
    row = await connection.fetchrow(FIND, key)
    if row is None or row["hash"] != _hash(key, row["words"]):
        return None
    return KeptReport(row["words"], row["made_at"])


async def keep(connection: Connection, key: bytes, words: str, run_ids: Sequence[int]) -> None:
    """Keep a report of one run or more, and of the first run only the newest reports.

    Where nothing can be written, or a run was deleted meanwhile, it is not kept: a reader has it nevertheless.
    """
    first = run_ids[0]
    try:
        async with connection.transaction():
            await connection.execute(KEEP, key, first, sorted({*run_ids} - {first}), words, _hash(key, words))
            await connection.execute(FORGET, first, KEPT_OF_A_RUN)
    except asyncpg.PostgresError:
        return


def _hash(key: bytes, words: str) -> bytes:
    return hashlib.sha256(key + words.encode()).digest()
