"""The chunks of works that a filter leaves."""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.statuses import VectorStatus
from schemas.values.works import WorkFilter
from store.database import Connection

# A comma ends a tag, with or without spaces around it.
_MATCHING = """
w.corpus_id = ANY($1::bigint[])
AND ($2::text IS NULL OR position(lower($2) IN lower(w.authors)) > 0)
AND ($3::text IS NULL OR position(lower($3) IN lower(w.title)) > 0)
AND ($4::text IS NULL OR lower($4) = ANY(regexp_split_to_array(btrim(lower(w.tags)), '\\s*,\\s*')))
AND ($5::int IS NULL OR w.year >= $5) AND ($6::int IS NULL OR w.year <= $6)
"""

CHUNKS = f"""
SELECT c.id FROM works AS w JOIN chunks AS c ON c.work_id = w.id
WHERE {_MATCHING} AND c.vector_status = '{VectorStatus.VEC}' ORDER BY c.id
"""

COUNT = f"""
SELECT count(*) AS works, count(*) FILTER (WHERE EXISTS (
    SELECT FROM chunks AS c WHERE c.work_id = w.id AND c.vector_status = '{VectorStatus.VEC}'
)) AS searchable
FROM works AS w WHERE {_MATCHING}
"""


class MatchingWorks(NamedTuple):
    """How many works a filter leaves."""

    works: int
    searchable: int
    """Those of them that have a chunk that can be found."""


async def matching_chunks(connection: Connection, corpus_ids: Sequence[int], works: WorkFilter) -> list[int]:
    """The chunks of these works that can be found, by id."""
    return [row["id"] for row in await connection.fetch(CHUNKS, list(corpus_ids), *_values(works))]


async def matching_works(connection: Connection, corpus_ids: Sequence[int], works: WorkFilter) -> MatchingWorks:
    """How many works a filter leaves."""
    return MatchingWorks(*await connection.fetchrow(COUNT, list(corpus_ids), *_values(works)))


def _values(works: WorkFilter) -> tuple[str | int | None, ...]:
    return works.author, works.title, works.tag, works.year_from, works.year_to
