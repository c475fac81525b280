"""Merges small segments of postings, so that a search reads few of them whatever the size of the imports was."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from store.corpora import postings
from store.corpora.postings import MOST_CHUNKS, Row, Segment, add_segment, of_rows
from store.database import Connection

_MERGED_AT_ONCE: Final = 16
_SECONDS: Final = 120.0

# The lock of `postings.withdraw`. A corpus that is being deleted is waited for here, before any segment is locked.
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('postings', $1))"
HOLD_CORPUS = "SELECT id FROM corpus WHERE id = $1 FOR KEY SHARE"

SIZES = "SELECT id, chunks, live FROM posting_segment WHERE corpus_id = $1 ORDER BY id"
SEGMENTS = "SELECT id, chunk_ids, lengths FROM posting_segment WHERE id = ANY($1::bigint[]) ORDER BY id"
ROWS = f"""
SELECT segment_id, {", ".join(Row._fields)} FROM posting
WHERE segment_id = ANY($1::bigint[]) ORDER BY segment_id
"""
DELETE = "DELETE FROM posting_segment WHERE id = ANY($1::bigint[])"

# The rows of merged segments leave room for the next ones. A process that already does it is not waited for.
VACUUM = "VACUUM (SKIP_LOCKED, TRUNCATE FALSE) posting_segment, posting"


class SegmentSize(NamedTuple):
    """A segment by its size."""

    id: int
    chunks: int
    live: int
    """Chunks of it that can be found."""


def to_merge(segments: Sequence[SegmentSize]) -> list[int]:
    """Which segments to merge next into one: sixteen of about the same size, or as many as one segment holds.

    A segment that lost more than half of its chunks is written again without them. Segments of more than half of
    MOST_CHUNKS stay as they are. So a chunk is written once for each power of sixteen, four times at most.
    """
    by_size: dict[int, list[SegmentSize]] = defaultdict(list)
    for segment in segments:
        if 2 * segment.live < segment.chunks:
            return [segment.id]
        if 2 * segment.live < MOST_CHUNKS:
            by_size[(segment.live.bit_length() - 1) // 4].append(segment)
    for alike in by_size.values():
        chosen: list[int] = []
        chunks = 0
        for segment in alike[:_MERGED_AT_ONCE]:
            chunks += segment.live
            if chunks > MOST_CHUNKS:
                return chosen
            chosen.append(segment.id)
        if len(chosen) == _MERGED_AT_ONCE:
            return chosen
    return []


async def merge(connection: Connection, corpus_id: int) -> None:
    """Merge the segments of a corpus as far as `to_merge` names some. Needs a connection outside of a transaction.

    Blocks no search and no batch that is published. Nothing happens while another process does it.
    """
    is_changed = False
    while await _merge_next(connection, corpus_id):
        is_changed = True
    if is_changed:
        await connection.execute(VACUUM, timeout=_SECONDS)


async def _merge_next(connection: Connection, corpus_id: int) -> bool:
    async with connection.transaction():
        if not await connection.fetchval(TRY_LOCK, corpus_id):
            return False
        await connection.execute(HOLD_CORPUS, corpus_id)
        chosen = to_merge([SegmentSize(*row) for row in await connection.fetch(SIZES, corpus_id)])
        if not chosen:
            return False
        segments = await _read(connection, chosen)
        new = await asyncio.to_thread(postings.merged, segments)
        await connection.execute(DELETE, chosen)
        if len(new.chunk_ids):
            await add_segment(connection, corpus_id, new)
        return True


async def _read(connection: Connection, segment_ids: Sequence[int]) -> list[Segment]:
    found = await connection.fetch(ROWS, segment_ids, timeout=_SECONDS)
    rows = {
        segment_id: [Row(*row[1:]) for row in of_segment]
        for segment_id, of_segment in groupby(map(tuple, found), key=itemgetter(0))
    }
    return [
        of_rows(row["chunk_ids"], row["lengths"], rows.get(row["id"], []))
        for row in await connection.fetch(SEGMENTS, segment_ids)
    ]
