"""Copies of corpora that another model embeds, and how a corpus takes the vectors of its copy.

A copy has the same works, cut into the same chunks, and is a corpus like any other: it can be searched by its name, for
a comparison. The corpus keeps its works, chunks and questions when it takes the vectors; the copy gets its old ones.
"""

from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.values.documents import Bibliography
from store.corpora import corpora, keeping, sources
from store.corpora.corpora import StoredCorpus
from store.corpora.keeping import NewWork
from store.database import Connection
from store.locks import Lock, hold

LINK: Final = "INSERT INTO corpus_copy (corpus_id, of_id, has_old_vectors) VALUES ($1, $2, false)"

OF: Final = "SELECT corpus_id, has_old_vectors FROM corpus_copy WHERE of_id = $1"

ORIGINAL: Final = """
SELECT k.name FROM corpus_copy AS c JOIN corpus AS k ON k.id = c.of_id WHERE c.corpus_id = $1
"""

# Works are alike when they have the same text, and chunks at the same lines.
_CUTS: Final = """
WITH cuts AS (
    SELECT w.corpus_id, w.id, w.content_hash,
           (SELECT md5(string_agg(concat_ws(' ', c.level, c.start_line, c.end_line), ',' ORDER BY c.id))
            FROM chunks AS c WHERE c.work_id = w.id) AS cut
    FROM works AS w WHERE w.corpus_id IN ($1, $2)
)
SELECT id FROM cuts AS one WHERE corpus_id = $1 AND NOT EXISTS (
    SELECT FROM cuts AS other WHERE other.corpus_id = $2 AND other.content_hash = one.content_hash
                                AND other.cut IS NOT DISTINCT FROM one.cut
)
ORDER BY id
"""

WORK: Final = "SELECT * FROM works WHERE id = $1"

LOCK: Final = "SELECT id FROM corpus WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"

# Chunks by their place in their work: works that are alike have the same chunks in the same order.
_PLACED: Final = """
WITH placed AS (
    SELECT c.id, w.corpus_id, w.content_hash,
           row_number() OVER (PARTITION BY w.id ORDER BY c.id) AS place
    FROM chunks AS c JOIN works AS w ON w.id = c.work_id WHERE w.corpus_id IN ($1, $2)
), pairs AS (
    SELECT one.id AS chunk_id, other.id AS other_id
    FROM placed AS one JOIN placed AS other USING (content_hash, place)
    WHERE one.corpus_id <> other.corpus_id
)
"""

EXCHANGE_VECTORS: Final = f"""
{_PLACED}
UPDATE chunk_vector AS v SET vector = o.vector
FROM pairs AS p JOIN chunk_vector AS o ON o.chunk_id = p.other_id WHERE v.chunk_id = p.chunk_id
"""

EXCHANGE_MODELS: Final = """
UPDATE corpus AS c
SET backend = o.backend, model = o.model, model_digest = o.model_digest, model_dtypes = o.model_dtypes,
    dimension = o.dimension, reads_tokens = o.reads_tokens
FROM corpus AS o WHERE c.id IN ($1, $2) AND o.id IN ($1, $2) AND c.id <> o.id
"""

# Tokens are counted by the embedder.
FORGET_TOKENS: Final = """
UPDATE chunks SET tokens = NULL FROM works AS w
WHERE w.id = chunks.work_id AND w.corpus_id IN ($1, $2) AND tokens IS NOT NULL
"""

EXCHANGED: Final = "UPDATE corpus_copy SET has_old_vectors = NOT has_old_vectors WHERE corpus_id = $1"

_BULK_SECONDS: Final = 3600.0


class Copy(NamedTuple):
    """The copy of a corpus."""

    corpus_id: int
    has_old_vectors: bool
    """The corpus has taken its vectors, and it those of the corpus."""


async def link(connection: Connection, copy: StoredCorpus, of: StoredCorpus) -> None:
    """Note that a corpus is the copy of another one."""
    await connection.execute(LINK, copy.id, of.id)


async def copy_of(connection: Connection, corpus_id: int) -> Copy | None:
    """The copy of a corpus; None without one."""
    row = await connection.fetchrow(OF, corpus_id)
    return None if row is None else Copy(*row)


async def original_of(connection: Connection, corpus_id: int) -> str | None:
    """The name of the corpus that this one is a copy of; None for a corpus of its own."""
    name: str | None = await connection.fetchval(ORIGINAL, corpus_id)
    return name


async def follow(connection: Connection, corpus_id: int, copy_id: int) -> int:
    """Give a copy the works that its corpus has, and take those away that it has no more. How many are new to it."""
    for row in await connection.fetch(_CUTS, copy_id, corpus_id, timeout=_BULK_SECONDS):
        await sources.remove(connection, copy_id, row["id"])
    missing = await connection.fetch(_CUTS, corpus_id, copy_id, timeout=_BULK_SECONDS)
    for row in missing:
        work = await connection.fetchrow(WORK, row["id"])
        if work is not None:
            await keeping.keep(
                connection,
                copy_id,
                NewWork(
                    bibliography=Bibliography(**{name: work[name] for name in Bibliography.model_fields}),
                    source_path=work["source_path"],
                    markdown=work["markdown"],
                    original_hash=work["original_hash"],
                    page_lines=work["page_lines"],
                    chunks=await keeping.cut_chunks(connection, row["id"]),
                ),
            )
    return len(missing)


async def refuse_unless_embedded(connection: Connection, corpus_id: int, copy_id: int) -> None:
    """Raise Refused unless a corpus and its copy have as many chunks, and a vector for each."""
    of, copy = [await corpora.content(connection, one) for one in (corpus_id, copy_id)]
    if of.waiting or copy.waiting or of.searchable != copy.searchable:
        raise Refused(
            f"The corpus has {of.searchable} chunks that can be found and its copy {copy.searchable}; "
            f"{of.waiting + copy.waiting} wait for a vector. The same command with --model instead of --switch or "
            "--back embeds what the copy lacks."
        )


async def exchange(connection: Connection, corpus_id: int, copy_id: int) -> None:
    """Let a corpus and its copy change vectors and models, in one transaction.

    Needs that neither has a vector index. Raises Refused, and changes nothing, unless both have the same chunks and a
    vector for each.
    """
    both = (corpus_id, copy_id)
    async with connection.transaction():
        for one in sorted(both):
            await hold(connection, Lock.WORKS, one)
        await connection.fetch(LOCK, list(both))
        await refuse_unless_embedded(connection, *both)
        done = await connection.execute(EXCHANGE_VECTORS, *both, timeout=_BULK_SECONDS)
        if int(done.rsplit(" ", 1)[1]) != 2 * (await corpora.content(connection, copy_id)).searchable:
            raise Refused("The works of the corpus were changed meanwhile. Run the same command again.")
        await connection.execute(EXCHANGE_MODELS, *both)
        await connection.execute(FORGET_TOKENS, *both, timeout=_BULK_SECONDS)
        await connection.execute(EXCHANGED, copy_id)
