"""Corpora: works that are searched together, embedded by one model."""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from schemas.errors import DomainError, EmbeddingArtifactMismatchError, FailureCategory, Refused
from schemas.full_text import ENGLISH, configuration_of
from schemas.statuses import VectorStatus
from schemas.suggestions import did_you_mean
from schemas.values.documents import CorpusView, StoredCorpus
from stages.models import refuse_mixture
from store import rows
from store.database import BULK_SECONDS, Connection, Database, Lock, share, try_hold

_OF_JOBS = """
SELECT i.chunk_id::bigint FROM job AS j, jsonb_array_elements_text(j.inputs -> 'chunk_ids') AS i (chunk_id)
WHERE j.kind = 'index' AND j.mode = 'corpus' AND (j.inputs ->> 'corpus_id')::bigint = $1 AND j.status IN
"""

# Chunks of the corpus $1 whose job failed.
FAILED = f"{_OF_JOBS} ('failed', 'poisoned')"

# Chunks of the corpus $1 that were longer than the embedder reads.
CUT = """
SELECT i.chunk_id::bigint
FROM job AS j
JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'embed' AND a.status = 'done',
     jsonb_array_elements_text(a.output -> 'cut_chunk_ids') AS i (chunk_id)
WHERE j.kind = 'index' AND j.mode = 'corpus' AND (j.inputs ->> 'corpus_id')::bigint = $1
"""

# An index that is still being built, or whose building broke off, does not count.
HAS_INDEX = """
EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = to_regclass('chunk_vector_hnsw_' || k.id) AND i.indisvalid)
"""

VIEW = f"""
WITH asked AS (
    SELECT count(DISTINCT q.id) AS questions, count(r.id) AS answers
    FROM queries AS q LEFT JOIN results AS r ON r.query_id = q.id
    WHERE q.corpus_id = $1 OR $1 = ANY(q.other_corpus_ids)
)
SELECT {", ".join(f"k.{name}" for name in StoredCorpus.model_fields)},
       count(DISTINCT w.id) AS works, count(*) FILTER (WHERE c.vector_status = '{VectorStatus.NO_VEC}') AS sections,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.VEC}') AS searchable,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.TO_VEC}') AS waiting,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.TO_VEC}' AND c.id IN ({FAILED})) AS failed,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.TABLE}') AS tables,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.FIGURE}') AS figures,
       count(*) FILTER (WHERE c.vector_status = '{VectorStatus.VEC}' AND c.id IN ({CUT})
                           OR c.vector_status = '{VectorStatus.TO_VEC}' AND c.tokens > k.reads_tokens) AS cut,
       {HAS_INDEX} AS has_vector_index, a.questions, a.answers
FROM asked AS a, corpus AS k LEFT JOIN works AS w ON w.corpus_id = k.id LEFT JOIN chunks AS c ON c.work_id = w.id
WHERE k.id = $1 GROUP BY k.id, a.questions, a.answers
"""

# Chunks of an unfinished job are not embedded twice; those of a failed job are embedded by whichever run comes first.
WAITING = f"""
SELECT c.id
FROM chunks AS c JOIN works AS w ON w.id = c.work_id
WHERE w.corpus_id = $1 AND c.vector_status = '{VectorStatus.TO_VEC}'
  AND c.id NOT IN ({_OF_JOBS} ('waiting', 'running', 'interrupted', 'paused'))
ORDER BY c.work_id, c.id
"""

EMBEDDING_RUNS = """
SELECT DISTINCT run_id FROM job
WHERE kind = 'index' AND mode = 'corpus' AND (inputs ->> 'corpus_id')::bigint = $1
ORDER BY run_id DESC LIMIT $2
"""

TAKE_WEIGHTS = """
UPDATE corpus SET
    model_digest = coalesce(model_digest, $2),
    model_dtypes = CASE WHEN $3 = '' OR $3 = ANY(model_dtypes) THEN model_dtypes ELSE model_dtypes || $3::text END
WHERE id = $1 RETURNING model_digest, model_dtypes
"""


async def make(
    connection: Connection, name: str, *, language: str | None = ENGLISH, **made_with: str | int | None
) -> StoredCorpus:
    """The corpus of a name; it is made with these columns if there is none. One that is there is given as it is.
    Without a language it needs one by `take_language` before chunks are stored."""
    full_text = None if language is None else configuration_of(language)
    row = {"name": name, "language": language, "full_text": full_text, "searchable_chunks": 0, **made_with}
    places = ", ".join(f"${place}" for place in range(1, len(row) + 1))
    statement = f"INSERT INTO corpus ({', '.join(row)}) VALUES ({places}) ON CONFLICT (name) DO NOTHING"
    await connection.execute(statement, *row.values())
    found = await find(connection, name)
    assert found is not None
    return found


async def find(connection: Connection, name: str) -> StoredCorpus | None:
    """The corpus of a name."""
    return await rows.get(connection, StoredCorpus, "corpus", name=name)


async def copy_of(connection: Connection, corpus_id: int) -> StoredCorpus | None:
    """The copy of a corpus."""
    return await rows.get(connection, StoredCorpus, "corpus", copy_of_id=corpus_id)


def corpus_missing(corpus_id: int) -> DomainError:
    """For a corpus that is not stored, or no longer."""
    return DomainError(
        f"Corpus {corpus_id} is not stored; import its works again and submit again.",
        FailureCategory.CORPUS_MISSING,
        slug="corpus-missing",
    )


async def corpus(connection: Connection, corpus_id: int) -> StoredCorpus:
    """The corpus of a number. Raises DomainError when there is none."""
    found = await rows.get(connection, StoredCorpus, "corpus", id=corpus_id)
    if found is None:
        raise corpus_missing(corpus_id)
    return found


async def take_language(connection: Connection, corpus_id: int, language: str) -> StoredCorpus:
    """The corpus, in this language if it has none yet. Raises DomainError."""
    without = {"id": corpus_id, "language": None}
    await rows.update(connection, "corpus", without, language=language, full_text=configuration_of(language))
    return await corpus(connection, corpus_id)


async def all_corpora(connection: Connection) -> list[StoredCorpus]:
    """Every corpus, by name."""
    return await rows.find(connection, StoredCorpus, "corpus", order="name")


async def view(connection: Connection, corpus_id: int) -> CorpusView:
    """A corpus and what is in it. Raises MissingError."""
    row = await connection.fetchrow(VIEW, corpus_id)
    if row is None:
        raise corpus_missing(corpus_id)
    return CorpusView(**row)


async def views(connection: Connection) -> list[CorpusView]:
    """Every corpus and what is in it, by name."""
    return [await view(connection, one.id) for one in await all_corpora(connection)]


async def waiting(connection: Connection, corpus_id: int) -> list[int]:
    """The chunks that wait for a vector and that no unfinished job has, by work and then in the order of lines."""
    return [row["id"] for row in await connection.fetch(WAITING, corpus_id)]


async def pin_model(connection: Connection, corpus_id: int, model_digest: str, dtype: str) -> None:
    """Note the weights of the first batch, and each number format; every later batch must have come from the same
    weights, in a format whose vectors can be compared. Needs a transaction, which an error has to end. Raises
    EmbeddingArtifactMismatchError when it did not, and DomainError when the corpus is gone."""
    row = await connection.fetchrow(TAKE_WEIGHTS, corpus_id, model_digest, dtype)
    if row is None:
        raise corpus_missing(corpus_id)
    built_with: str = row["model_digest"]
    if built_with != model_digest:
        raise EmbeddingArtifactMismatchError(
            f"Corpus {corpus_id} was embedded by the weights {built_with[:12] or 'unknown'}, and this batch by "
            f"{model_digest[:12] or 'unknown'}; use one version of the model on every worker, or import the works "
            "into a new corpus."
        )
    refuse_mixture(dtype, row["model_dtypes"], what=f"Corpus {corpus_id}", then="import the works again")


async def delete(connection: Connection, corpus_id: int) -> None:
    """Delete a corpus with its works, chunks and vectors, and with the queries that were asked of it. The files that
    its works were converted from go with the runs that converted them."""
    await rows.delete(connection, "corpus", id=corpus_id)
    await drop_unused(connection)


async def embedding_runs(connection: Connection, corpus_id: int, *, limit: int) -> list[int]:
    """The newest runs that embed chunks of a corpus, newest first."""
    return [row["run_id"] for row in await connection.fetch(EMBEDDING_RUNS, corpus_id, limit)]


KEEP_ORIGINAL = "INSERT INTO original (hash, content) VALUES ($1, $2) ON CONFLICT DO NOTHING"

DROP_ORIGINALS = """
DELETE FROM original AS o
WHERE NOT EXISTS (SELECT FROM works AS w WHERE w.original_hash = o.hash)
  AND NOT EXISTS (SELECT FROM job AS j WHERE j.kind = 'work' AND j.inputs ->> 'original' = o.hash)
"""


@asynccontextmanager
async def importing(database: Database) -> AsyncIterator[None]:
    """Until the end of the block, no file is dropped for want of a job. Holds a connection of its own."""
    one = Database(database.url, pool_size=1, application_name="ragq import")
    async with one as own, own.connection() as connection:
        await share(connection, Lock.ORIGINALS)
        yield


async def drop_unused(connection: Connection) -> None:
    """Delete the files that no work was converted from and no job is about; while files are imported, none."""
    # Those of an import that has no jobs yet are not looked at while it has its lock.
    async with connection.transaction():
        if await try_hold(connection, Lock.ORIGINALS):
            await connection.execute(DROP_ORIGINALS)


async def keep_original(connection: Connection, original: bytes) -> str:
    """Store a file, once. Its hash: SHA-256, in hexadecimal."""
    named = sha256(original).hexdigest()
    await connection.execute(KEEP_ORIGINAL, named, original, timeout=BULK_SECONDS)
    return named


async def original(connection: Connection, named: str) -> bytes:
    """A file by its hash. Raises DomainError when it is gone, or is another one."""
    found: bytes | None = await connection.fetchval(
        "SELECT content FROM original WHERE hash = $1", named, timeout=BULK_SECONDS
    )
    if found is None or sha256(found).hexdigest() != named:
        raise DomainError(
            "The file of the document is gone or changed since it was imported; import it again.",
            FailureCategory.INPUT_CHANGED,
        )
    return found


async def imported(connection: Connection, corpus_id: int) -> dict[str, str]:
    """The hash of the file of each work that was converted, by its source."""
    hashes = await rows.pairs(connection, "works", "source_path", "original_hash", corpus_id=corpus_id)
    return {path: named for path, named in hashes.items() if named is not None}


DEFAULT_CORPUS: Final = "default"
"""The corpus of questions that name none."""


async def corpus_of_name(connection: Connection, name: str) -> StoredCorpus:
    """The corpus of a name. Raises Refused, naming those that exist, when it does not exist."""
    found = await find(connection, name)
    if found is None:
        known = [corpus.name for corpus in await all_corpora(connection)]
        raise Refused(
            f"There is no corpus '{name}'.{did_you_mean(name, known)} There are: {', '.join(known) or 'none yet'}. "
            f"`ragq import works PATH --corpus {shlex.quote(name)}` makes one.",
            slug="corpus-missing",
        )
    return found
