"""The questions that were asked of a corpus."""

from typing import NamedTuple

from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery

# The lock on the corpus holds new questions back until the transaction ends.
HOLD = "SELECT FROM corpus WHERE id = $1 FOR UPDATE"

IDS = "SELECT id FROM queries WHERE corpus_id = $1 OR $1 = ANY(other_corpus_ids) ORDER BY id"

COUNTS = """
SELECT count(DISTINCT q.id) AS questions, count(r.id) AS answers
FROM queries AS q LEFT JOIN results AS r ON r.query_id = q.id
WHERE q.corpus_id = $1 OR $1 = ANY(q.other_corpus_ids)
"""


class Asked(NamedTuple):
    """What was asked of a corpus."""

    questions: int
    answers: int


async def counts(connection: Connection, corpus_id: int) -> Asked:
    """How many questions were asked of a corpus, and how many answers they have."""
    return Asked(*await connection.fetchrow(COUNTS, corpus_id))


async def hold(connection: Connection, corpus_id: int) -> list[StoredQuery]:
    """The questions of a corpus, which gets no other before the transaction ends."""
    await connection.execute(HOLD, corpus_id)
    return [await queries.get(connection, row["id"]) for row in await connection.fetch(IDS, corpus_id)]
