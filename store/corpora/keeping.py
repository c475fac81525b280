"""How works are stored with their chunks, or replaced with their chunks."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum, auto
from hashlib import sha256
from typing import Any, Final

from schemas.errors import DuplicateWorkError, Refused
from schemas.statuses import VectorStatus
from schemas.values.documents import Bibliography, CutChunk
from store import rows
from store.corpora import corpora, works
from store.corpora.postings import MOST_CHUNKS, add_segment, chunks_of, withdraw_work
from store.database import BULK_SECONDS, Connection, Lock, hold, try_hold

_FIELDS = tuple(Bibliography.model_fields)
_CUT = ("level", "content", "heading_breadcrumbs", "start_line", "end_line")
_CHUNK_FIELDS = (*_CUT, "vector_status", "tokens")

# Two imports into a corpus at the same moment take turns, so that one sees what the other stored.

SAME_TEXT = f"""
SELECT id, original_hash, page_lines, job_id, {", ".join(_FIELDS)} FROM works WHERE corpus_id = $1 AND content_hash = $2
"""


# Whether they have their vectors yet does not matter.
CUT = f"""
SELECT id, parent_id, {", ".join(_CUT)},
       CASE vector_status WHEN '{VectorStatus.VEC}' THEN '{VectorStatus.TO_VEC}' ELSE vector_status END AS vector_status
FROM chunks WHERE work_id = $1 ORDER BY id
"""

NEW_IDS = "SELECT nextval(pg_get_serial_sequence('chunks', 'id')) AS id FROM generate_series(1, $1) ORDER BY id"


class ImportOutcome(StrEnum):
    """What became of a work that was imported."""

    NEW = auto()
    REPLACED = auto()
    """The same source had another text, or other metadata: its chunks are new ones."""
    UNCHANGED = auto()


async def keep(
    connection: Connection,
    corpus_id: int,
    described: Bibliography,
    chunks: Sequence[CutChunk],
    *,
    source_path: str,
    markdown: str,
    original_hash: str | None = None,
    page_lines: Sequence[int] = (),
    job_id: int | None = None,
) -> tuple[int, ImportOutcome]:
    """Store a work and its chunks, or replace the one of the same source; all or nothing. Its id, and its outcome.

    `original_hash` is that of the file that the markdown was converted from, `job_id` the document that cut it. A
    replaced work keeps its id, and everything that was computed from its old text then fails with WorkChangedError. One
    that was converted is also replaced when the same text is cut into other chunks, or others are embedded. Raises
    DuplicateWorkError when another work of the corpus has the same text.
    """
    content_hash = sha256(markdown.encode()).hexdigest()
    fields = described.model_dump()
    origin = {"original_hash": original_hash, "page_lines": list(page_lines), "job_id": job_id}
    columns = {"markdown": markdown, "content_hash": content_hash, **origin, **fields}
    async with connection.transaction():
        await hold(connection, Lock.WORKS, corpus_id)
        path = {"corpus_id": corpus_id, "source_path": source_path}
        work_id: int | None = await rows.value(connection, "works", "min(id)", **path)
        same_text = await connection.fetchrow(SAME_TEXT, corpus_id, content_hash)
        if same_text is not None and same_text["id"] != work_id:
            raise DuplicateWorkError(same_text["id"], same_text["title"])
        if same_text is not None and {name: same_text[name] for name in fields} == fields:
            uncounted = [chunk.model_copy(update={"tokens": None}) for chunk in chunks]
            if original_hash is None or await cut_chunks(connection, same_text["id"]) == uncounted:
                if any(same_text[name] != value for name, value in origin.items()):
                    await rows.update(connection, "works", {"id": work_id}, **origin)
                return same_text["id"], ImportOutcome.UNCHANGED
        if work_id is None:
            outcome = ImportOutcome.NEW
            work_id = await rows.insert(connection, "works", **path, **columns)
        else:
            outcome = ImportOutcome.REPLACED
            await withdraw_work(connection, work_id)
            await connection.execute("DELETE FROM chunks WHERE work_id = $1", work_id, timeout=BULK_SECONDS)
            await rows.update(connection, "works", {"id": work_id}, updated_at=rows.NOW, **columns)
        ids = [row["id"] for row in await connection.fetch(NEW_IDS, len(chunks))]
        await connection.copy_records_to_table(
            "chunks",
            columns=("id", "work_id", "parent_id", *_CHUNK_FIELDS),
            records=_chunk_records(work_id, ids, chunks),
            timeout=BULK_SECONDS,
        )
        return work_id, outcome


async def cut_chunks(connection: Connection, work_id: int) -> list[CutChunk]:
    """The chunks of a work as it was cut, but for their tokens."""
    cut = await connection.fetch(CUT, work_id, timeout=BULK_SECONDS)
    places = {row["id"]: place for place, row in enumerate(cut)}
    return [
        CutChunk(parent=places.get(row["parent_id"]), **{name: row[name] for name in (*_CUT, "vector_status")})
        for row in cut
    ]


def _chunk_records(work_id: int, ids: Sequence[int], chunks: Sequence[CutChunk]) -> Iterator[tuple[Any, ...]]:
    for chunk_id, chunk in zip(ids, chunks, strict=True):
        parent_id = None if chunk.parent is None else ids[chunk.parent]
        yield chunk_id, work_id, parent_id, *(getattr(chunk, field) for field in _CHUNK_FIELDS)


_MERGED_AT_ONCE: Final = 16
_SECONDS: Final = 120.0

# The lock of `postings.withdraw_work`. A corpus that is being deleted is waited for here, before any segment is locked.
HOLD_CORPUS = "SELECT id FROM corpus WHERE id = $1 FOR KEY SHARE"

SIZES = "SELECT id, chunks, live FROM posting_segment WHERE corpus_id = $1 ORDER BY id"

# The rows of merged segments leave room for the next ones. A process that already does it is not waited for.
VACUUM = "VACUUM (SKIP_LOCKED, TRUNCATE FALSE) posting_segment, posting"


def to_merge(segments: Sequence[tuple[int, int, int]]) -> list[int]:
    """Which segments to merge next into one, of those with these numbers, chunks, and chunks that can be found: sixteen
    of about the same size, or as many as one segment holds. A segment that lost more than half of its chunks is written
    again without them. Segments of more than half of MOST_CHUNKS stay as they are. So a chunk is written once for each
    power of sixteen, four times at most."""
    by_size: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for segment, chunks, live in segments:
        if 2 * live < chunks:
            return [segment]
        if 2 * live < MOST_CHUNKS:
            by_size[(live.bit_length() - 1) // 4].append((segment, live))
    for alike in by_size.values():
        chosen: list[int] = []
        found = 0
        for segment, live in alike[:_MERGED_AT_ONCE]:
            found += live
            if found > MOST_CHUNKS:
                return chosen
            chosen.append(segment)
        if len(chosen) == _MERGED_AT_ONCE:
            return chosen
    return []


async def merge(connection: Connection, corpus_id: int) -> None:
    """Merge the segments of a corpus as far as `to_merge` names some. Needs a connection outside of a transaction.
    Blocks no search and no batch that is published. Nothing happens while another process does it."""
    is_changed = False
    while True:
        async with connection.transaction():
            if not await try_hold(connection, Lock.POSTINGS, corpus_id):
                break
            await connection.execute(HOLD_CORPUS, corpus_id)
            chosen = to_merge([tuple(row) for row in await connection.fetch(SIZES, corpus_id)])
            if not chosen:
                break
            chunks = await chunks_of(connection, chosen)
            await rows.delete(connection, "posting_segment", id=chosen)
            if chunks:
                await add_segment(connection, corpus_id, chunks)
        is_changed = True
    if is_changed:
        await connection.execute(VACUUM, timeout=_SECONDS)


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
    dimension = o.dimension, reads_tokens = o.reads_tokens,
    has_old_vectors = c.has_old_vectors <> (c.copy_of_id IS NOT NULL)
FROM corpus AS o WHERE c.id IN ($1, $2) AND o.id IN ($1, $2) AND c.id <> o.id
"""

# Tokens are counted by the embedder.
FORGET_TOKENS: Final = """
UPDATE chunks SET tokens = NULL FROM works AS w
WHERE w.id = chunks.work_id AND w.corpus_id IN ($1, $2) AND tokens IS NOT NULL
"""

_BULK_SECONDS: Final = 3600.0


async def follow(connection: Connection, corpus_id: int, copy_id: int) -> int:
    """Give a copy the works that its corpus has, and take those away that it has no more. How many are new to it."""
    for row in await connection.fetch(_CUTS, copy_id, corpus_id, timeout=_BULK_SECONDS):
        await works.remove(connection, copy_id, row["id"])
    missing = await connection.fetch(_CUTS, corpus_id, copy_id, timeout=_BULK_SECONDS)
    for row in missing:
        work = await connection.fetchrow("SELECT * FROM works WHERE id = $1", row["id"])
        if work is not None:
            described = Bibliography(**{name: work[name] for name in _FIELDS})
            others = {name: work[name] for name in ("source_path", "markdown", "original_hash", "page_lines")}
            await keep(connection, copy_id, described, await cut_chunks(connection, row["id"]), **others)
    return len(missing)


async def refuse_unless_embedded(connection: Connection, corpus_id: int, copy_id: int) -> None:
    """Raise Refused unless a corpus and its copy have as many chunks, and a vector for each."""
    of, copy = [await corpora.view(connection, one) for one in (corpus_id, copy_id)]
    if of.waiting or copy.waiting or of.searchable != copy.searchable:
        raise Refused(
            f"The corpus has {of.searchable} chunks that can be found and its copy {copy.searchable}; "
            f"{of.waiting + copy.waiting} wait for a vector. The same command with --model instead of --switch or "
            "--back embeds what the copy lacks."
        )


async def exchange(connection: Connection, corpus_id: int, copy_id: int) -> None:
    """Let a corpus and its copy change vectors and models, in one transaction. Needs that neither has a vector index.
    Raises Refused, and changes nothing, unless both have the same chunks and a vector for each."""
    both = (corpus_id, copy_id)
    async with connection.transaction():
        for one in sorted(both):
            await hold(connection, Lock.WORKS, one)
        await connection.fetch("SELECT id FROM corpus WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE", list(both))
        await refuse_unless_embedded(connection, *both)
        done = await connection.execute(EXCHANGE_VECTORS, *both, timeout=_BULK_SECONDS)
        if int(done.rsplit(" ", 1)[1]) != 2 * (await corpora.view(connection, copy_id)).searchable:
            raise Refused("The works of the corpus were changed meanwhile. Run the same command again.")
        await connection.execute(EXCHANGE_MODELS, *both)
        await connection.execute(FORGET_TOKENS, *both, timeout=_BULK_SECONDS)
