"""The postings of a corpus: in segments, one per batch at first, each with its chunks and its blocks of terms."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np

from store.corpora.packed_postings import IDS, LENGTHS, MOST_CHUNKS, WITHDRAWN, Block, CountedChunk, Segment, blocks
from store.corpora.packed_postings import of_chunks as segment_of
from store.database import Connection

_ROWS_AT_ONCE: Final = 500

ADD = """
INSERT INTO posting_segment (corpus_id, chunks, live, first_chunk_id, last_chunk_id, chunk_ids, lengths)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
"""

# Lists inside of lists would be encoded element by element. No term has a blank, so none has a line break.
ADD_BLOCKS = r"""
INSERT INTO posting_block (segment_id, first_term, part, terms, ends, places, frequencies)
SELECT $1, b.first_term, b.part, string_to_array(b.terms, E'\n'), b.ends::smallint[], b.places, b.frequencies
FROM unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
    AS b (first_term, part, terms, ends, places, frequencies)
"""

# Who takes chunks out of segments and who merges segments take turns: neither then changes a row that the other
# replaces. Who adds a segment waits for neither.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('postings', $1))"

WITH_CHUNKS = """
SELECT id, chunk_ids, lengths FROM posting_segment
WHERE corpus_id = $1 AND live > 0 AND first_chunk_id <= $3 AND last_chunk_id >= $2
"""

WITHDRAW = "UPDATE posting_segment SET lengths = $2, live = live - $3 WHERE id = $1"


async def add(connection: Connection, corpus_id: int, chunks: Sequence[CountedChunk]) -> int:
    """Store the postings of chunks, which come in the order of their ids. The sum of their lengths."""
    length = 0
    for first in range(0, len(chunks), MOST_CHUNKS):
        segment = segment_of(chunks[first : first + MOST_CHUNKS])
        await add_segment(connection, corpus_id, segment)
        length += int(segment.lengths.sum())
    return length


async def add_segment(connection: Connection, corpus_id: int, segment: Segment) -> None:
    """Store a segment that has chunks. Needs a transaction."""
    segment_id = await connection.fetchval(
        ADD,
        corpus_id,
        len(segment.chunk_ids),
        segment.live,
        int(segment.chunk_ids[0]),
        int(segment.chunk_ids[-1]),
        segment.chunk_ids.astype(IDS).tobytes(),
        segment.lengths.astype(LENGTHS).tobytes(),
    )
    rows = blocks(segment)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        await connection.execute(ADD_BLOCKS, segment_id, *zip(*map(_sent, some), strict=True))


async def withdraw(connection: Connection, corpus_id: int, chunk_ids: Sequence[int]) -> int:
    """Take chunks out of the postings. The sum of their lengths. Needs a transaction."""
    if not chunk_ids:
        return 0
    await connection.execute(LOCK, corpus_id)
    withdrawn = 0
    for row in await connection.fetch(WITH_CHUNKS, corpus_id, min(chunk_ids), max(chunk_ids)):
        lengths = np.frombuffer(row["lengths"], LENGTHS).copy()
        gone = np.isin(np.frombuffer(row["chunk_ids"], IDS), chunk_ids) & (lengths != WITHDRAWN)
        if gone.any():
            withdrawn += int(lengths[gone].sum())
            lengths[gone] = WITHDRAWN
            await connection.execute(WITHDRAW, row["id"], lengths.tobytes(), int(np.count_nonzero(gone)))
    return withdrawn


def _sent(block: Block) -> tuple[object, ...]:
    ends = f"{{{','.join(map(str, block.ends))}}}"
    return block.first_term, block.part, "\n".join(block.terms), ends, block.places, block.frequencies
